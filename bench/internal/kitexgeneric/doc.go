// Package kitexgeneric reads and writes messages as the generic calls of Kitex
// do, without its network: a [Type] turns the bytes of a struct into the
// map[string]any or the JSON that a generic handler gets, and back.
//
// Kitex reaches types through the one argument of a method and wraps them in
// the struct of arguments. The wrapping is taken off here, as Kitex itself does for
// streams, so that its work is on the same bytes as everybody's.
//
// The package knows Kitex only. What is measured with it is its callers' matter.
package kitexgeneric
