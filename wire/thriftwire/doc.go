// Package thriftwire reads and writes the primitive parts of Thrift's wire
// formats on byte slices. Every function is stateless: AppendX extends the
// slice it is given, ConsumeX reads from the front of one, SkipX steps over a
// value.
//
// # Results and errors
//
// A ConsumeX function returns the value and the number of bytes it took. A
// negative number is an error, which [Error] turns into a Go error; the value
// is then the zero value. No function panics, reads outside its slice or
// allocates in proportion to a length that the input merely claims.
//
// # Aliasing
//
// ConsumeBytes and ConsumeMessage return slices of their input, with their
// capacity cut, so that appending to one never changes the input.
//
// The formats are those of the Apache Thrift specification ("Thrift Binary
// protocol encoding") and of fbthrift where it differs.
package thriftwire
