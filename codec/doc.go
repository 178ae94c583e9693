// Package codec encodes tagged Go structs as Thrift and decodes them, compiled
// at run time, without generated code.
//
// # Tags
//
// A field is part of the message if it is exported and tagged:
//
//	thrift:"name,id[,required|optional|default[,type]]"
//	frugal:"id[,required|optional|default[,type[,nocopy]]]"
//
// Where both stand, frugal tells everything but the name. The type is written
// as in IDL, with map<key:value>, and may be left out where the Go type tells
// it; lists, sets and enums need it. Go types: bool, int8 … int64, int (i64, where it has 64 bits), float64 (double), float32 (float, only
// where the tag says so), string, []byte (binary), [16]byte (uuid, only where
// the tag says so), named int64, int32 or int (enums), slices (lists and sets), maps,
// structs by pointer or by value. An optional scalar may be a pointer.
//
// # Semantics
//
// A nil optional field is absent. A nil struct that is not optional is written
// as an empty one, a nil list or map as an empty one. An optional field that is
// a plain value is left out if it equals what the method InitDefault of its struct sets, and
// always written if the struct has no such method. InitDefault is called
// on every struct that decoding makes, though not on the one that the caller passes; a method that
// sets nothing when the type is compiled is not called again.
// Fields that the struct does not know, and fields of another wire type than
// the tag's, are skipped, or kept in a field `_unknownFields []byte` if there is
// one. Required fields that are absent are an error.
//
// # Memory
//
// Decoding copies: the result never aliases the input, unless asked by the
// option [NoCopy] or by nocopy in a field's tag. Short strings, binaries and
// number lists are cut from 16 KiB chunks that messages share, with capped
// capacity; keeping one keeps its chunk alive. The structs of one list or map
// are allocated together; keeping one keeps that list's.
//
// # Errors
//
// Errors about types come from For or from the first use. Errors about data
// are *[diag.Fault]: code, byte offset and field path. No input panics or makes decoding allocate more
// than a small multiple of what arrived. A value that another goroutine changes
// while it is encoded gives wrong bytes or an error, never a write outside the buffer.
//
// All functions and handles are safe for concurrent use.
package codec
