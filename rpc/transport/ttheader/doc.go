// Package ttheader reads and writes the frames of CloudWeGo's TTHeader
// transport, which Kitex and volo speak: a message with a sequence id, flags and
// key/value headers around it.
//
// It works on one frame at a time, on bytes without the frame's own length,
// which package framed finds; it never reads from a network and does not know
// what a method or a call is. What it parses aliases the frame.
package ttheader
