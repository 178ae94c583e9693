// Package jsonwire reads and writes the primitive parts of JSON (RFC 8259) on
// byte slices: strings, numbers, literals and whole values to step over. Every
// function is stateless: AppendX extends the slice it is given, ConsumeX reads
// from the front of one, SkipX steps over what stands there. The package knows
// nothing of types or schemas; what a value means is its caller's business.
//
// # Results and errors
//
// A ConsumeX function returns the value and the number of bytes it took. A
// negative number is an error, which [Error] turns into a Go error; the value
// is then the zero value. No function panics, reads outside its slice or
// allocates in proportion to anything but the bytes it is given.
//
// # Strictness
//
// The grammar is that of RFC 8259 and nothing more. Strings must be valid
// UTF-8, must not hold raw control characters, and \u escapes must form code
// points: a lone half of a surrogate pair is an error. The functions with
// Lossy in their name put U+FFFD for what is not Unicode instead.
//
// Functions that read a token expect it at the front; SkipSpace steps over
// white space before it.
package jsonwire
