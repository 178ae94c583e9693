// Package flatbuf is the FlatBuffers runtime: it builds, verifies and reads
// messages. Types, functions and methods that Google's Go runtime has keep their
// names and signatures here, so that code written for that needs another import and no
// other change; but [Codec] is something else here, and Google's string of that name is
// FlatbuffersCodec{}.Name(). What generated code does is done here; it knows no schema but what a
// [Layout] says, no transport and no other format.
//
// # Building
//
// A [Builder] makes a message from its end to its start. Its zero value is
// ready, and a [Pool] keeps builders and learns how large their messages are.
// A builder that is reused allocates nothing once its memory is large enough.
// The methods with Google's names produce the very bytes of Google's builder;
// StartTable is the faster way to write a table, for generated code, and StartFullTable the
// fastest, for one with all its fields.
//
// FinishedBytes is overwritten by the builder's next message. Whoever sends it
// either keeps the builder until it is sent, or takes it by Detach.
//
// # Reading
//
// Accessors never read outside the buffer and never panic, on any bytes: a
// number that lies outside is 0, a part that lies outside is absent or empty.
// Only a [Verifier] tells a whole message from a broken one; by the rules of
// Google's C++ verifier, with limits on depth, number of tables and work. After
// it has said yes, accessors find everything that the message refers to.
//
// Byte slices that accessors return alias the buffer. A buffer that nobody changes
// may be read by several goroutines; a Builder belongs to one.
//
// # Go structs
//
// A [Codec] converts between messages and plain Go structs, without generated code.
// A field is part of the table if it is exported and tagged:
//
//	flatbuf:"name[,id=N][,default=V][,required][,struct][,union][,key=N][,value=N]"
//
// The name is for errors; without one it is Go's. Either all fields of a struct have ids
// or none, and then they are numbered in their order; the id of a union is that of its
// value, one after that of its type. The fields of an untagged embedded struct are
// those of the struct that embeds it.
//
//   - A bool, an integer with its size in its name or a float is a scalar, which
//     is absent if it equals its default; a pointer to one is an optional scalar.
//   - A string is absent if it is empty and not required, a *string if it is nil.
//   - A slice is a vector, absent if it is nil: of scalars, strings, or
//     structs by pointer or by value.
//   - A map is a vector of tables with a key and a value, whose ids are 0 and 1
//     unless the options key and value say otherwise; it is absent if it is nil. Keys are
//     strings, integers with their size in their name or bools, values all that a field may be but unions and
//     optional scalars; the option struct is for the value. Marshal writes the entries
//     in the order of their keys, as a field with the attribute key asks for, so that generated code
//     finds them by LookupByKey. Unmarshal takes any order, and refuses a message in which
//     a key stands twice with diag.DuplicateKey: by which of the two would be found, readers differ.
//   - A struct is a table, absent if it is a nil pointer. With the option struct it, or the
//     elements of the slice, are FlatBuffers structs: all their fields count, in their
//     order and untagged, and are scalars, structs or arrays.
//   - With the option union a struct, a pointer to one or a slice of them are unions with a
//     type of one byte. Their fields are pointers to the members, whose ids are
//     the types; one at most is not nil.
//
// Marshal writes a value in one go; a builder without memory for it gets that by a
// pass over the lengths first. Text and numbers that Unmarshal copies are cut from chunks of 16 KiB
// that messages share, with capped capacity; keeping one keeps its chunk alive.
//
// # Errors
//
// Errors about messages and values are *[diag.Fault]: code, byte offset and field path. Errors
// about Go types are *[TypeError], from For.
// Misuse of a Builder panics, as in Google's runtime.
//
// # Limits
//
// A message is shorter than 2 GiB, also one with offsets and vectors of 64 bits.
package flatbuf
