// Package plan defines the small programs that engines run: what one job on
// one type does to bytes and to the memory of a Go value, as pure data. A
// program can be printed, parsed, compared and verified without a Go type.
//
// # Structure
//
// A [Program] is a list of procedures; the first is the entry. A [Proc] works on
// a base address and holds a run of ops. A struct's procedure reads or writes
// fields: each [Op] stands for one field, with its header and the offset of
// its memory from the base. A value's procedure has exactly one op at offset
// zero without a header: the element of a list or the key or value of a map.
//
// What needs Go's runtime types, such as allocating a struct, an op names by a
// slot, a number that a Binding (package engine) fills when codec links the
// program to a type.
//
// # Jobs
//
//   - Encode: the ops of a procedure run in order. Those flagged Optional write
//     nothing when their pointer is nil, those flagged Default nothing when the
//     memory equals their default.
//   - Size: as Encode, but ops whose size is known are folded into Proc.Base.
//   - Decode: ops are a table. An engine guesses that the next field on the wire
//     is the next op, compares the whole header, and looks the header up by Find if not.
//
// The package knows schemas only by name. It knows no Go types and no engine.
package plan
