// Package dynamic reads, changes and cuts down Thrift messages without Go
// structs, on their bytes.
//
// A [Node] is a value on the wire, a [Value] a Node whose type a schema knows.
// Both are cheap to copy and hold no state. A path leads from a
// value to one of its parts: to a field by id or name, an element by index, an
// entry by key of any type. Paths are given step by step or as text
// ([ParsePath]), and compiled for repeated use: [Path] is one, [Paths] a set
// that is followed in one pass over the message.
//
// # Protocols
//
// A Node knows its [Protocol], and whatever is made of it has the same: parts,
// changed copies, what a Tree or Trimmer writes. Compact messages are worked on as
// they stand. One path, set of paths or Trimmer serves messages of all protocols. A value that
// is set into a message of another protocol is brought into that of the message;
// [Node.AppendIn] does it for any value.
//
// Constructors without a protocol in their name make binary values; [Protocol.NewNode],
// [Protocol.NewValue] and [Protocol.AppendAny] make others. Two things differ in compact
// messages: an empty map does not say its types, so without a schema an integer key
// cannot be added to it, and leaving a field out needs the header of the next one to be
// whole.
//
// # Reading
//
// Walks read what lies before the part that they look for and nothing behind
// it, so a fault behind it is not seen; [Node.Check] reads all. What is absent is no error:
// it is a value that does not exist. A value of another wire type than the schema's is an
// error, wherever a walk meets it, and so is a step that the schema does not have.
// Of a field or key that stands twice, which no writer sends, paths lead to the first.
//
// # Changing
//
// AppendSet appends a changed copy of a message to the caller's buffer:
// replaced, deleted and inserted parts, many in one pass. Counts of containers
// are put right. AppendFilter leaves out the parts of a list, map or struct that a function
// refuses.
//
// A [Tree] is a message taken apart, for many changes that depend on one
// another: its parts are visited, replaced, added, moved, sorted, filtered and
// merged, taken to other trees, and written back. Package structs below this one joins
// values to tagged Go structs.
//
// A [Trimmer] cuts messages down to the fields of a smaller type or of a mask.
//
// # Aliasing and concurrency
//
// Nodes, values and iterators alias the bytes they were made from, with their
// capacity cut; nothing in the package writes to these. So any number of
// goroutines may read one message, as long as nobody changes its bytes. (A bool
// field of a compact message has no bytes; its node has one that all share.) What was
// appended to a buffer aliases nothing else. A Tree is for one goroutine at a time.
//
// # Errors
//
// Errors are [*diag.Fault]: a code, the offset in the bytes of the node that
// the method was called on (-1 where there is none) and the path from it. No bytes, paths or
// schemas make anything panic, read outside its input, or recurse deeper than 1024 levels
// of structs and containers.
//
// The package knows wire formats and schemas. It must not know IDL text, Go
// struct tags, JSON or RPC.
package dynamic
