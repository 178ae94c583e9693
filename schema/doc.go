// Package schema is the one type graph of Thrum: types, fields, services,
// methods, constants and annotations, whatever language declared them. Every
// front end (Thrift IDL, FlatBuffers, Protobuf, Go struct tags) ends here, and
// nothing after it knows where a type came from.
//
// # Construction and immutability
//
// A node is made from a spec value and then never changes, but for one step:
// types may refer to each other in cycles, so a struct, a typedef, a service
// and a file are first declared and then completed, once, by the front end that makes
// them. A graph that a front end has returned is complete, immutable and safe
// for concurrent use. Slices that accessors return belong to the graph and
// must not be changed.
//
// Structs have identity: two declarations are different types even if they
// look the same.
package schema
