// Package protoidl reads Protobuf IDL (.proto files: proto2, proto3 and the
// editions that protocompile knows) and produces [schema] files.
//
// Parsing, linking and checking are protocompile's, the field's own library;
// this package finds the files, bounds what they may do, turns what is wrong into
// diagnostics with positions, and turns what it gets into the schema:
//
//	message, group           a struct named as in its package, such as Outer.Inner
//	int32 sint32 sfixed32    i32; how it is written is the type's Encoding
//	uint32 fixed32           u32, and likewise for 64 bits
//	bytes                    binary
//	repeated, map            list, map
//	optional, oneof members  Optional: they can be absent
//	other proto3 fields      Default: zero is absent
//	oneof                    a schema.Oneof
//	enum                     closed in proto2, open in proto3
//	rpc                      a method with one argument, and a Stream if it streams
//	option                   an annotation with the name of the option, such as
//	                         api.get for an extension get of a package api
//	extend                   nothing: extensions are unknown fields to all that reads messages
//
// The package reads files and nothing else: it knows no wire format, no Go
// types and no generator. It alone imports protocompile.
package protoidl
