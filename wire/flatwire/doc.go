// Package flatwire reads and checks the parts of the FlatBuffers format on byte
// slices: tables with their vtables, vectors, strings, offsets of 32 and 64
// bits, size prefixes and file identifiers. Every function is stateless. The
// package knows no schema: which fields a table has and what they are is its
// caller's business.
//
// # Reading
//
// A position is a byte offset from the start of the slice. A load returns 0 if
// what it reads does not lie wholly inside the slice, and a function that looks
// for a part returns position 0 if there is none, or if it cannot lie where the
// bytes say: position 0 holds the root offset or the size prefix, so it is never
// a table, field, vector or string. So reading never panics and never leaves
// the slice, whatever the bytes are; but it cannot tell what is absent from what
// is broken.
//
// # Checking
//
// A CheckX function tells it: it returns 0, or a negative error, which [Error]
// turns into a Go error. The rules are those of the verifier of Google's C++
// library, with the same strictness: what these functions let pass, reading finds
// where it was found when it was checked. Following all offsets of a message,
// and bounding depth and number, is the work of who knows the schema.
//
// # Aliasing
//
// Bytes and Bytes64 return slices of their input with their capacity cut, so
// that appending to one never changes the input.
//
// The format is that of "FlatBuffers Internals" in FlatBuffers' documentation.
package flatwire
