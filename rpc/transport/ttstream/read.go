package ttstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/framed"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file holds the reading half of a connection: from frames to streams.

// viewed is the size in bytes from which on a message that waits is a view of
// what was read. A shorter one is copied, or a byte of it might hold a whole block.
const viewed = transport.WideBlock / 4

// memoryPause is how long reading pauses before it asks again for memory.
const memoryPause = 2 * time.Millisecond

// Serve reads until the connection ends, and returns why. Its streams have
// ended by then, though their handlers may still run.
func (c *Conn) Serve() (err error) {
	err = errExit // unless read returns
	defer func() {
		c.Close(err)
		c.in.Close()
		err = c.Err()
	}()
	return c.read()
}

// errExit is why a connection ends whose Accept has ended the goroutine.
var errExit = errors.New("ttstream: the reading goroutine has ended")

// read takes frames until the connection ends.
func (c *Conn) read() error {
	scan := framed.NewScanner(true, c.opt.MaxFrame+ttheader.MaxHeader+64)
	for {
		for {
			f, n, err := scan.Next(c.in.Bytes())
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			view, block := c.in.Take(n)
			if err := c.take(view[n-len(f):], block); err != nil {
				return err
			}
		}
		if err := c.more(scan.Want()); err != nil {
			return err
		}
		for wait := c.out.flooded(); wait != nil; wait = c.out.flooded() {
			<-wait // or refusals to a peer that does not read would pile up
		}
	}
}

// more reads once, with the deadline that fits what is being waited for.
func (c *Conn) more(want int) error {
	begun := time.Now()
	for {
		limit, since := c.opt.IdleTimeout, c.quietSince(begun)
		partial := len(c.in.Bytes()) > 0
		if partial {
			limit, since = c.opt.ReadTimeout, time.Now()
		}
		var deadline time.Time
		if limit > 0 {
			deadline = since.Add(limit)
		}
		c.nc.SetReadDeadline(deadline)
		for {
			before := len(c.in.Bytes())
			err := c.fill(want)
			switch {
			case err == nil && (!partial || len(c.in.Bytes()) >= want):
				return nil
			case err == nil && len(c.in.Bytes()) > before: // the frame keeps its deadline
				continue
			case err == nil:
				return nil
			case partial || !isTimeout(err):
				return err
			case c.Streams() == 0 && time.Since(c.quietSince(begun)) >= limit:
				return c.endIdle(want)
			}
			break
		}
	}
}

// endIdle reads what has come already; where nothing has, the connection ends.
func (c *Conn) endIdle(want int) error {
	if c.opt.Look != nil {
		if err := c.opt.Look(want); !isTimeout(err) {
			return err
		}
	}
	return fmt.Errorf("%w for %v", ErrIdle, c.opt.IdleTimeout)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// take takes one frame, and block with it. An error is about the connection.
func (c *Conn) take(b []byte, block *transport.Block) error {
	handed := false
	defer func() {
		if !handed {
			block.Release()
		}
	}()
	var f frame
	if err := f.parse(b); err != nil {
		return err
	}
	if c.opt.Closing != nil && f.closing() {
		c.opt.Closing()
	}
	if f.kind == metaFrame || f.SequenceID == controlStream {
		return nil
	}
	c.mu.Lock()
	w := c.streams[f.SequenceID]
	c.mu.Unlock()
	switch {
	case w == nil && f.kind == headerFrame && c.opt.Role == stream.Server:
		c.accept(&f)
	case w == nil: // it has ended
	case c.opt.MaxHead > 0 && f.head > c.opt.MaxHead:
		w.s.Cancel(&stream.Error{Code: stream.Protocol, Err: headTooLarge(f.head, c.opt.MaxHead)})
	case f.kind == headerFrame:
		w.s.OnHeader(f.metadata())
	case f.kind == dataFrame:
		handed = c.message(w, f.Payload, block)
	case f.kind == trailerFrame:
		w.s.OnClose(c.outcome(&f), f.metadata())
	case f.kind == resetFrame:
		w.s.OnReset(c.outcome(&f))
	}
	return nil
}

func headTooLarge(size, limit int) error {
	return diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("headers of %d bytes exceed the limit of %d", size, limit))
}

// outcome returns what a trailer or reset says went wrong, nil for nothing.
func (c *Conn) outcome(f *frame) error {
	e, err := f.exception()
	if err != nil {
		return &stream.Error{Code: stream.Protocol, Err: fmt.Errorf("the outcome cannot be read: %w", err)}
	}
	return c.opt.ReadOutcome(e, f.Strings)
}

// message hands a message to its stream, once there is room for it. It reports
// whether block was handed over, too.
func (c *Conn) message(w *wire, b []byte, block *transport.Block) bool {
	if len(b) > c.opt.MaxFrame {
		w.s.Cancel(&stream.Error{Code: stream.Overflow, Err: fmt.Errorf("a message of %d bytes exceeds the limit of %d", len(b), c.opt.MaxFrame)})
		return false
	}
	if !c.awaitMemory(w, len(b)) || !w.s.AwaitRoom(len(b), c.opt.Stall) {
		return false
	}
	if len(b) < viewed {
		w.s.OnData(bytes.Clone(b), nil)
		return false
	}
	w.s.OnData(b, block)
	return true
}

// awaitMemory waits until there is memory for a message. A stream that gets
// none for too long is reset.
func (c *Conn) awaitMemory(w *wire, size int) bool {
	if c.opt.Starved == nil {
		return true
	}
	for start := time.Now(); c.opt.Starved(size); time.Sleep(memoryPause) {
		if w.s.Context().Err() != nil {
			return false
		}
		if time.Since(start) > c.opt.Stall {
			w.s.Cancel(&stream.Error{Code: stream.Overflow, Err: errors.New("no memory for the message")})
			return false
		}
	}
	return true
}

// Incoming is a stream that a client opens. Start or Refuse is called once,
// before Accept returns.
type Incoming struct {
	Method   string // that the client calls
	Metadata stream.Metadata
	Ints     map[ttheader.IntKey]string
	Broken   error // why it cannot be served, nil if it can

	conn *Conn
	id   uint32
}

// accept tells of a stream that a client opens.
func (c *Conn) accept(f *frame) {
	in := &Incoming{conn: c, id: f.SequenceID}
	switch {
	case c.opt.MaxHead > 0 && f.head > c.opt.MaxHead:
		in.Broken = headTooLarge(f.head, c.opt.MaxHead)
	case f.Protocol != ttheader.StreamData:
		in.Broken = diag.NewFault(diag.Unsupported, -1, fmt.Sprintf("messages are in protocol %#02x; Thrift's structs are served", uint8(f.Protocol)))
	default:
		in.Metadata = f.metadata()
		in.Ints = map[ttheader.IntKey]string{}
		for k, v := range f.Ints.All() {
			in.Ints[k] = string(v)
		}
	}
	method, _ := f.Ints.Get(ttheader.ToMethod)
	in.Method = string(method[:min(len(method), maxMethod)])
	c.opt.Accept(in)
}

// maxMethod bounds the name of a method, in bytes. A longer one is cut, and so not found.
const maxMethod = 4096

// Start starts to serve the stream, whose context is made from ctx. It returns
// nil if the connection takes no more streams.
func (in *Incoming) Start(ctx context.Context, o stream.Options) *stream.Stream {
	c := in.conn
	w := newWire(c, in.id, in.Method)
	o.Role = stream.Server
	c.mu.Lock()
	if c.draining {
		c.mu.Unlock()
		return nil
	}
	w.s = stream.New(ctx, w, o)
	c.streams[w.id] = w
	c.begun++
	c.mu.Unlock()
	w.s.OnHeader(in.Metadata)
	return w.s
}

// Refuse answers the stream with an outcome.
func (in *Incoming) Refuse(outcome error) {
	w := newWire(in.conn, in.id, in.Method)
	_ = w.SendClose(outcome, nil) // or the connection has ended
}
