package ttstream

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file holds the connection: its streams, and how it ends.

// Options are what a connection needs to know. All functions may be called by
// any goroutine, and must not wait.
type Options struct {
	Role   stream.Role
	Stream stream.Options // the limits of each stream

	// Accept is told of a stream that a client opens. It calls Start or Refuse.
	Accept func(*Incoming)
	// Outcome returns how an outcome travels: in headers, or as the struct of an exception.
	Outcome func(err error) (pairs []transport.Pair, exception []byte)
	// ReadOutcome returns the outcome that has travelled so, nil for success.
	// The exception is nil if there is none.
	ReadOutcome func(exception []byte, pairs ttheader.StringPairs) error
	// Closing, unless it is nil, is told that the peer is leaving the connection.
	Closing func()

	MaxFrame     int           // bytes of a message
	MaxHead      int           // bytes of a frame's header; 0 for any
	MaxStreams   int           // that a client has open
	MaxUnsent    int           // bytes that wait to be sent before messages wait; 0 for 1 MiB
	Stall        time.Duration // that a full stream may hold up its connection; 0 for 10 s
	WriteTimeout time.Duration // of one write; 0 for none
	ReadTimeout  time.Duration // from a frame's first byte to its last; 0 for none
	IdleTimeout  time.Duration // without a stream; 0 for none

	// Starved, unless it is nil, tells whether there is no memory for a message of size bytes.
	Starved func(size int) bool
	// Look, unless it is nil, reads what has arrived already, as fill does; a timeout says that nothing has. It
	// is asked before a connection ends as idle, since a busy machine may have been too late to read.
	Look func(want int) error
}

// The defaults of Options.
const (
	DefaultMaxUnsent = 1 << 20
	DefaultStall     = 10 * time.Second
)

// lingerTime is how long a connection that this side ends goes on discarding
// what the peer sends, so that the peer reads the last frames before a reset.
const lingerTime = 250 * time.Millisecond

// ErrClosing is why no stream can be opened on a connection that is being left.
var ErrClosing = errors.New("ttstream: the connection is being closed")

// ErrIdle is why a connection ends that has had no stream for Options.IdleTimeout.
var ErrIdle = errors.New("ttstream: no stream")

// ErrTooManyStreams is why no stream can be opened beyond Options.MaxStreams.
var ErrTooManyStreams = errors.New("ttstream: too many streams on the connection")

// Conn is a connection of streams. Its methods are safe for concurrent use.
//
// Invariant: streams holds those that have not ended; once draining is set,
// none is added.
type Conn struct {
	nc   net.Conn
	in   *transport.Reader
	fill func(want int) error
	opt  Options
	out  writer

	mu       sync.Mutex
	streams  map[uint32]*wire
	last     uint32        // the id of the stream that a client opened last
	begun    int           // streams that a client has opened
	ended    time.Time     // when the last of streams has; zero before
	leaving  bool          // the client has been told
	quiet    time.Duration // of Leave
	draining bool
	err      error // why it has ended
}

// New returns a connection. in holds what has been read of nc, and fill reads
// more into it; nil for in.Fill. Serve must be called.
func New(nc net.Conn, in *transport.Reader, fill func(want int) error, o Options) *Conn {
	if o.MaxUnsent <= 0 {
		o.MaxUnsent = DefaultMaxUnsent
	}
	if o.Stall <= 0 {
		o.Stall = DefaultStall
	}
	if fill == nil {
		fill = in.Fill
	}
	o.Stream.Role = o.Role
	c := &Conn{nc: nc, in: in, fill: fill, opt: o, streams: map[uint32]*wire{}}
	c.out.nc, c.out.limit, c.out.timeout = nc, o.MaxUnsent, o.WriteTimeout
	c.out.failed = func(err error) { c.Close(err) }
	return c
}

// Open opens a stream, for a client, and sends its header: md, pairs, which
// count more, and ints. An error of the connection is [ErrClosing], [ErrTooManyStreams] or why it
// has ended; one of the stream is a [*stream.Error].
func (c *Conn) Open(ctx context.Context, method string, md stream.Metadata, pairs []transport.Pair, ints []ttheader.IntPair) (*stream.Stream, error) {
	c.mu.Lock()
	switch {
	case c.err != nil || c.draining:
		err := c.err
		c.mu.Unlock()
		return nil, errors.Join(ErrClosing, err)
	case len(c.streams) >= c.opt.MaxStreams:
		c.mu.Unlock()
		return nil, ErrTooManyStreams
	}
	c.last++
	for c.last == controlStream || c.streams[c.last] != nil {
		c.last++
	}
	w := newWire(c, c.last, method)
	w.pairs, w.ints = pairs, ints
	w.s = stream.New(ctx, w, c.opt.Stream)
	c.streams[w.id] = w
	c.mu.Unlock()
	if err := w.s.Open(md); err != nil {
		return nil, err
	}
	return w.s, nil
}

// Streams returns the number of streams that have not ended.
func (c *Conn) Streams() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.streams)
}

// quietSince returns since when there has been no stream, and nothing since t; now if there is one.
func (c *Conn) quietSince(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.streams) > 0:
		return time.Now()
	case c.ended.After(t):
		return c.ended
	}
	return t
}

// forget forgets a stream that has ended.
func (c *Conn) forget(w *wire) {
	c.mu.Lock()
	if c.streams[w.id] == w {
		delete(c.streams, w.id)
	}
	last := len(c.streams) == 0
	if last {
		c.ended = time.Now()
	}
	draining, leaving := c.draining, c.leaving
	c.mu.Unlock()
	switch {
	case !last:
	case draining:
		go c.close()
	case leaving:
		c.watchQuiet()
	}
}

// Leave tells a client that its server leaves the connection, serves what it
// opens until it knows of that, and drains when no stream has run for quiet.
func (c *Conn) Leave(quiet time.Duration) {
	c.mu.Lock()
	again := c.leaving || c.draining
	c.leaving, c.quiet = true, quiet
	c.mu.Unlock()
	if !again {
		c.announce()
		c.watchQuiet()
	}
}

// watchQuiet drains the connection if no stream runs, and none begins while it waits.
func (c *Conn) watchQuiet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	begun := c.begun
	time.AfterFunc(c.quiet, func() {
		c.mu.Lock()
		still := len(c.streams) == 0 && c.begun == begun
		c.mu.Unlock()
		if still {
			c.Drain()
		}
	})
}

// Drain lets no more streams begin, tells the peer of it if this side is the
// server, and closes the connection when those that run have ended.
func (c *Conn) Drain() {
	c.mu.Lock()
	again := c.draining || c.err != nil
	announced := c.leaving
	c.draining = true
	last := len(c.streams) == 0
	c.mu.Unlock()
	if again {
		return
	}
	if c.opt.Role == stream.Server && !announced {
		c.announce()
	}
	if last {
		go c.close()
	}
}

// announce tells the peer that the connection is being left, in a frame of no
// stream, which Kitex ignores.
func (c *Conn) announce() {
	pairs := []transport.Pair{{Key: ttheader.KeyClosing, Value: "1"}}
	f := c.out.get()
	f.b, _ = appendFrame(f.b, outgoing(controlStream, metaFrame, "", pairs), "", nil)
	c.out.queue(f, true)
}

// close closes the connection once everything has been written.
func (c *Conn) close() {
	for !c.out.idle() && c.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || c.opt.Role == stream.Client || half.CloseWrite() != nil {
		c.Close(ErrClosing)
		return
	}
	time.AfterFunc(lingerTime, func() { c.Close(ErrClosing) })
}

// Err returns why the connection has ended, nil if it has not.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection and its streams at once. They end with err.
func (c *Conn) Close(err error) {
	if err == nil {
		err = net.ErrClosed
	}
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err, c.draining = err, true
	lost := c.streams
	c.streams = map[uint32]*wire{}
	c.mu.Unlock()
	c.out.close()
	c.nc.Close()
	for _, w := range lost {
		w.s.OnLost(err)
	}
}
