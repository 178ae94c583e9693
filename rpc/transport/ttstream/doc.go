// Package ttstream carries streams over a connection in frames of TTHeader, as
// Kitex 0.16 does: any number of them, in both roles.
//
// A frame of a stream has the flag ttheader.Streaming, the stream's id as its
// sequence id, the protocol ttheader.StreamData, the method as
// ttheader.ToMethod and its kind as ttheader.FrameType. The client opens a
// stream with a header frame; the server answers with one before its first
// message. The payload of a data frame is one struct in the binary protocol,
// without an envelope. A trailer frame closes a half: the client's is empty,
// the server's has the outcome, as a business status in its headers or as an
// exception message. A reset frame ends the stream at once, with an exception that
// says why. Frames of unknown streams are ignored, because one that has ended may have some on the way.
//
// # Flow control
//
// The protocol has none. A connection is not read while the stream that its
// next message is for holds as much as it may; so a slow reader slows its peer down, by
// the network's own means, and the other streams of the connection with it. A stream
// whose user takes nothing for Options.Stall is reset, so that the others go
// on. What waits to be sent is bounded, too: see stream.Wire.
//
// # Errors
//
// What breaks one stream resets that stream: a message that is too large, a
// second header, a message after the close. What cannot be followed ends the connection, as a
// [*diag.Fault]: a frame that is no stream's, of an unknown kind or protocol, or larger than any may be.
//
// The package must not know how a message is encoded, which methods there
// are, or what an exception means.
package ttstream
