// Package static holds the few functions that code generated with the option
// gen.Static calls: headers, lengths and faults of the binary protocol, with the
// meaning that package codec's interpreter gives them. Generated methods and
// this package use no unsafe.
//
// A read function takes the input and the offset at which to read, and
// returns the value, the offset behind it, and a fault or nil.
//
// The package knows no types but the basic ones, and neither codec nor schema.
package static
