// Package dynamicsuite is the suite "dynamic": messages read, changed and cut
// down without Go structs, ours against dynamicgo.
//
// What a ratio means here:
//
//   - Both sides work on the same message with the types of the same IDL. What
//     can be compiled ahead (descriptors, paths) is compiled ahead on both.
//   - skip steps over the message by wire types; get-one and get-many return
//     parts that alias it. set-one and set-many copy the message with parts
//     replaced, marshal-many makes a message of parts, trim cuts it down to a smaller
//     type. Ours appends to a reused buffer; dynamicgo has no such form and
//     returns new memory.
//   - dom-new loads the message into a tree of fresh memory, dom-reuse into a
//     tree of the pool, dom-marshal writes a loaded tree in which one field
//     was set; on our side what was not touched is copied as it was.
//
// Before anything is timed the results are compared.
package dynamicsuite
