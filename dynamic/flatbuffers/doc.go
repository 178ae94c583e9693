// Package flatbuffers reads and makes FlatBuffers messages without generated
// code, by a schema that package fbsidl reads at run time.
//
// # Reading
//
// Root is the root table of a message, and a Value any part of it. Field, Index,
// Lookup and Get lead on; Bool, Int, Uint, Float, Text, Bytes and EnumName
// read. A scalar that a message leaves out is its default; an optional one, a
// table, vector, string or union that is left out does not exist. Paths are
// those of package dynamic: names, ids, indexes, and keys of sorted vectors.
//
// Reading is total: whatever the bytes are, nothing panics or reads outside of
// them, and what they cannot hold does not exist. Whether a message is whole
// a flatbuf.Verifier tells.
//
// # Making and changing
//
// Append makes a message of Go values, AppendSet a message from another with
// parts exchanged. SetBool, SetInt, SetUint and SetFloat change a number in
// place, if it stands in the message.
//
// # Aliasing and concurrency
//
// Values alias their message. Any number of goroutines may read one message, as
// long as nobody changes it. What Append and AppendSet return aliases nothing.
//
// # Errors
//
// Errors are *diag.Fault, with a path from the value that the method was called on.
// Depth is limited to 64 levels of tables, as verifiers do.
package flatbuffers
