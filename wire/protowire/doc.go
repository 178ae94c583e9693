// Package protowire reads and writes the primitive parts of Protobuf's wire
// format on byte slices. Every function is stateless: AppendX extends the slice
// it is given, ConsumeX reads from the front of one, SkipX steps over a value.
// The package knows no schema: what a number or some bytes mean to a field is
// its caller's business.
//
// # Results and errors
//
// A ConsumeX function returns the value and the number of bytes it took. A
// negative number is an error, which [Error] turns into a Go error; the value
// is then the zero value. No function panics, reads outside its slice or
// allocates in proportion to a length that the input merely claims.
//
// # Strictness
//
// A varint has at most 10 bytes and 64 bits; zeros that pad it within that
// length are accepted, as every other reader does. Field numbers lie between 1
// and 2^29-1. A group ends with its own number.
//
// # Aliasing
//
// ConsumeBytes returns a slice of its input with its capacity cut, so that
// appending to it never changes the input.
//
// The format is that of "Encoding" in Protobuf's documentation.
package protowire
