// Package structs joins tagged Go structs to the values of package dynamic, to
// Go maps, and to each other, on demand and without generated code. Package
// dynamic/protobuf/structs does so for Protobuf.
//
//   - A [Mapper] reads a [dynamic.Node] or a Go map into a struct, and makes a
//     value or a map of a struct.
//   - A [Converter] makes a struct of one type from one of another that shares
//     fields with it, by id or by name.
//
// Tags and what they mean are those of package codec. All ways lead over a message:
// what a message cannot tell is lost, such as the difference between a nil list and an
// empty one in a field that is not optional. Nothing that comes out aliases what went in.
//
// Numbers are checked against the range of where they go. Errors are [*diag.Fault]s
// with the path to the field, and *codec.TypeError for types that have no tags that codec takes.
//
// Mappers and converters are compiled once, immutable and safe for concurrent use.
// The package knows codec and dynamic. It must not know wire formats beyond the
// binary protocol, nor reflect.
package structs
