// Package flexbuf reads and writes FlexBuffers, the format of FlatBuffers for
// values without a schema: null, bools, numbers, strings, keys, blobs, vectors and maps.
//
// Reading is total, as in flatbuf: a [Ref] is a place in a buffer, and whatever
// the bytes are, its methods neither panic nor read outside of them; what is not there is null,
// 0 or empty. [Verify] tells whether a buffer is whole. Slices that Bytes returns
// alias the buffer.
//
// A [Builder] writes values one after another; vectors and maps take those that
// were written since they were started. Its zero value is ready, it is for one goroutine at a
// time, and misuse panics. Append writes a Go value as a whole, and Ref.Any reads one.
//
// The package knows no schema and nothing of tables. The format is that of
// "FlexBuffers" in FlatBuffers' documentation.
package flexbuf
