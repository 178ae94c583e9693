// Package protobuf reads, changes and cuts down Protobuf messages without Go
// structs, on their bytes, by a schema that package protoidl reads at run time.
// It is package dynamic for Protobuf: names mean the same, and steps, paths and
// masks are the same types.
//
// A [Node] is a value with its wire type, a [Value] a Node whose type a schema
// knows. Without a schema, paths go along field numbers only, and bytes are
// taken for a message where a path leads on into them.
//
// # What a message means
//
// Protobuf lets the fields of a message stand in any order and more than once.
// What counts here is what Google's parsers make of it:
//
//   - Of a singular field that stands several times the last counts. If it is a
//     message, what stands is merged: its parts are those of all of them together,
//     which are copied for that; offsets of faults are then -1.
//   - Of the members of a oneof the one that stands last is set.
//   - The elements of a list may be packed or not, in one message too. They may
//     stand apart, and so may the entries of a map. Of a key that stands twice the last
//     entry counts.
//   - An entry without a key or value has the key or value zero.
//   - A field of another wire type than the schema's is an unknown field. So is
//     an extension. Unknown fields are kept where a message is changed.
//   - Enums are open, also those of proto2. Text is not checked to be UTF-8.
//   - A message that does not hold a field has no value there: zero is not made up.
//
// Merging copies what is merged, on each level anew. [Value.Any], [Tree.Load],
// [Tree.Open] and [Trimmer.Append], which go down all levels, copy up to 8 times
// the message and 256 KiB for that; a message that takes more is a SizeLimit. Other
// methods copy at most the message for each step of a path.
//
// A list or map that stands alone, outside of a message, is written as the
// field 1 of one. A list or map that a path led to is the stretch of its
// message from its first element or entry to its last; other fields may stand in
// between.
//
// # Changing
//
// AppendSet appends a changed copy of a message to the caller's buffer, many
// parts at once; a [Tree] is a message taken apart, for many changes that depend
// on one another; a [Trimmer] cuts messages down to the fields of a smaller type
// or of a mask.
//
// # Aliasing and concurrency
//
// Nodes, values and iterators alias the bytes they were made from, with their
// capacity cut; nothing in the package writes to these. So any number of
// goroutines may read one message, as long as nobody changes its bytes. What was
// appended to a buffer aliases nothing else. A Tree is for one goroutine at a time.
//
// # Errors
//
// Errors are [*diag.Fault]: a code, the offset in the bytes of the node that
// the method was called on (-1 where there is none) and the path from it. No
// bytes, paths or schemas make anything panic, read outside its input, or recurse
// deeper than 1024 levels of messages and groups.
//
// Package structs below joins tagged Go structs to all this.
//
// The package knows Protobuf's wire format and schemas. It must not know IDL
// text, Go's generated messages, JSON or RPC.
package protobuf
