// Package framed finds messages in a byte stream, with frames (a 32-bit length
// before each message) and without them, where a message of the binary or compact protocol ends
// where its struct does.
//
// It looks at bytes that its caller has read, and never reads or allocates
// itself; it does not know what a method or a call is.
package framed
