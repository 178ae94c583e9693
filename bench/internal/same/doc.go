// Package same tells whether two contestants did the same work: whether two
// messages say the same, and whether two Go values hold the same, when the
// only freedom is the order of map entries and, on the wire, of fields (Frugal
// and FastCodec write those of fixed size first).
//
// Both answers come from a canonical form in which these are sorted. A
// map with struct keys holds pointers in Go, so reflect.DeepEqual cannot
// compare two of them, and the peers' Go types differ in name; the canonical
// form sees values only.
package same
