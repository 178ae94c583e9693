// Package idl keeps the schema of IDL that changes while programs use it.
//
// A [Source] loads Thrift and FlatBuffers IDL from a file, from a directory or from memory, as its
// [Origin] says. [Source.Reload] reads it anew, [Source.Watch] does so when files
// have changed, and [Source.Replace] takes another origin. What was loaded is a [Set],
// which never changes: whoever took one goes on with it, and the Source keeps
// only the newest. IDL that is wrong changes nothing and is reported.
//
// [Source.Follow] hands each new Set to those who use it, such as
// a generic.Client, an rpc.Server or a gateway.Gateway, which replace their own
// schema in one step.
//
// The package knows files and front ends. It must not know what a schema is used
// for.
package idl
