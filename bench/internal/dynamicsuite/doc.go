// Package dynamicsuite is the suite "dynamic": messages read, changed and cut
// down without Go structs, ours against dynamicgo, against generated code
// (FastCodec), which decodes, works on Go structs and encodes, and against the maps of
// Kitex's generic calls, which do the same on a map[string]any.
//
// What a ratio means here:
//
//   - All sides work on the same message with the types of the same IDL. What
//     can be compiled ahead (descriptors, paths) is compiled ahead on all.
//   - skip steps over the message by wire types; get-one and get-many return
//     parts that alias it. set-one and set-many copy the message with parts
//     replaced, marshal-many makes a message of parts, trim cuts it down to a smaller
//     type, filter-list finds the rows of a list that break a rule and copies the message
//     without them. Ours and generated code write into a reused buffer; dynamicgo has no
//     such form and returns new memory.
//   - dom-new loads the message into a tree of fresh memory, dom-reuse into a
//     tree of the pool, dom-marshal writes a loaded tree in which one field
//     was set; on our side what was not touched is copied as it was. For generated
//     code the tree is the Go struct, and trim decodes into the smaller one. For Kitex
//     the tree is the map, which it cannot reuse, and trim encodes it as the smaller type.
//   - limit is get-one and trim by hand for the type: it knows the order of the
//     fields and refuses any other.
//
// Before anything is timed the results are compared. A new contender is a
// function that makes a contender of a shape and stands in groups.
package dynamicsuite
