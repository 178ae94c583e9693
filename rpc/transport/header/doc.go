// Package header reads and writes the frames of fbthrift's header transport
// (THeader), which Apache Thrift's C++, Go, Python and Java libraries speak
// too: a message with a sequence id, flags, key/value headers and, if asked,
// compression around it.
//
// It works on one frame at a time, on bytes without the frame's own length,
// which package framed finds; it never reads from a network and does not know
// what a method or a call is. What it parses aliases the frame.
//
// Where implementations differ it accepts what each of them writes and writes
// what all of them accept; RATIONALE.md has the list.
package header
