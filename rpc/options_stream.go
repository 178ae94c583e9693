package rpc

import (
	"time"

	"github.com/thrum-rpc/thrum/rpc/stream"
)

// This file holds the options of streams, and their defaults.

// streamOptions are those of both sides.
type streamOptions struct {
	maxBytes, maxMessages int
	expiry, idle, stall   time.Duration
}

// limits returns the options of one stream.
func (o *streamOptions) limits() stream.Options {
	return stream.Options{MaxBytes: o.maxBytes, MaxMessages: o.maxMessages, Expiry: o.expiry, Idle: o.idle}
}

// StreamQueue limits what a stream has received and its user has not taken, in
// bytes and in messages; default 1 MiB, where a message counts 64 bytes beside its own, and 4096. One message is taken
// whatever its size. Beyond that the connection is not read, until there is room.
func StreamQueue(bytes, messages int) Option {
	return sharedOption(func(o *shared) { o.stream.maxBytes, o.stream.maxMessages = max(bytes, 1), max(messages, 1) })
}

// StreamStall limits the time that a full stream, of which nothing is taken,
// holds up its connection; default 10 s. Then the stream is reset.
func StreamStall(d time.Duration) Option {
	return sharedOption(func(o *shared) { o.stream.stall = d })
}

// StreamExpiry limits the time that one Send waits for the peer to take what
// was sent before; default one minute, as fbthrift has it, less than 0 means no limit. Then the stream is reset.
func StreamExpiry(d time.Duration) Option {
	return sharedOption(func(o *shared) { o.stream.expiry = d })
}

// StreamIdle ends streams on which no message has come or gone for d; default
// 0, which means never, since a stream that waits for events may be quiet for long.
func StreamIdle(d time.Duration) Option {
	return sharedOption(func(o *shared) { o.stream.idle = max(d, 0) })
}

// MaxStreamsPerConn limits the streams of one connection whose handlers run;
// default 1000. A stream beyond it is answered with LoadShedding.
func MaxStreamsPerConn(n int) ServerOption {
	return serverOption(func(o *serverOptions) { o.maxStreams = max(n, 1) })
}
