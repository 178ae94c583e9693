package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// This file holds a connection: making it, its reading half and its end.

// conn is one connection of a run, and those that replace it when it fails.
//
// Two goroutines use it: one reads, one writes. Where that cannot block, in a
// closed loop of small requests, the reading goroutine writes too, which saves
// waking the other one for every batch.
type conn struct {
	r      *run
	rec    *recorder
	inline bool // the reader writes
	wake   chan struct{}
	due    atomic.Int64 // when the pacer is to wake the writer

	mu  sync.Mutex // guards what follows; taken once for all replies of a read
	nc  net.Conn
	out outstanding
	schedule
	next    int   // in run.order
	waiting bool  // the writer waits for a place
	room    int64 // since when there has been a place
	done    bool  // nothing will be sent any more
	batch   []byte
	tail    []byte // of a large request, which is not copied to batch
	vec     [2][]byte
	buffers net.Buffers

	// Of the reader.
	replies *replies
	buf     []byte
	end     int // buf[:end] has been read and not been taken
	tick    int64
	heard   int64 // when bytes last came
	good    bool  // the connection has had a good reply
	scratch []byte
}

// maxInline bounds what may be outstanding for the reader to write: sockets take
// that much though nobody reads, so a write does not block, whatever the size
// of replies. If it blocked, both sides could wait for the other to read.
const maxInline = 32 << 10

func newConn(r *run, i, next int) *conn {
	c := &conn{
		r: r, rec: &r.recorders[i%len(r.recorders)], wake: make(chan struct{}, 1),
		next: next, out: newOutstanding(r.cfg.Depth, r.ordered), schedule: newSchedule(r.cfg, i),
	}
	c.due.Store(math.MaxInt64)
	largest := 0
	for j := range r.cfg.Requests {
		largest = max(largest, len(r.cfg.Requests[j].frame))
	}
	c.inline = r.cfg.Rate == 0 && largest*r.cfg.Depth <= maxInline
	return c
}

// dial makes the connection.
func (c *conn) dial() error {
	cfg := c.r.cfg
	ctx, cancel := context.WithTimeout(c.r.ctx, cfg.Timeout)
	defer cancel()
	nc, err := cfg.Dial(ctx, cfg.Network, cfg.Address)
	if err != nil {
		return err
	}
	switch nc.(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		c.inline = false // its writes may wait for the other side to read
	}
	c.mu.Lock()
	c.nc = nc
	c.mu.Unlock()
	return nil
}

// close closes the connection if there is one.
func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nc != nil {
		c.nc.Close()
	}
}

// poke makes both halves look whether the run has ended.
func (c *conn) poke() {
	c.signal()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nc != nil {
		c.nc.SetReadDeadline(time.Unix(1, 0))
	}
}

// signal wakes the writer.
func (c *conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run keeps the connection busy until the run ends.
func (c *conn) run() {
	pause := time.Millisecond
	for c.session(); c.redial(pause); c.session() {
		pause = min(2*pause, time.Second)
		if c.good {
			pause = time.Millisecond
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.countUnsent()
}

// redial makes a connection in the place of one that has failed. It reports false
// when the run has ended.
func (c *conn) redial(pause time.Duration) bool {
	for {
		t := time.NewTimer(pause)
		select {
		case <-c.r.ended:
			t.Stop()
			return false
		case <-t.C:
		}
		if c.r.now() >= c.r.end.Load() {
			return false
		}
		err := c.dial()
		c.rec.mu.Lock()
		if err == nil {
			c.rec.reconnects++
		} else if c.r.ctx.Err() == nil {
			c.rec.fail(NoDial, 1, err.Error)
		}
		c.rec.mu.Unlock()
		if err == nil {
			return true
		}
		pause = min(2*pause, time.Second)
	}
}

// session uses one connection to its end.
func (c *conn) session() {
	c.replies = newReplies(&c.r.cfg.Form, c.r.cfg.MaxReply)
	c.end, c.tick, c.heard, c.good = 0, 0, c.r.now(), false
	var wg sync.WaitGroup
	gone := make(chan struct{})
	if !c.inline {
		wg.Go(func() { c.write(gone) })
	}
	kind, err := c.read()
	close(gone)
	c.close()
	wg.Wait()
	c.mu.Lock()
	c.rec.mu.Lock()
	if kind == Garbage {
		c.rec.fail(Garbage, 1, err.Error)
		kind = Lost
	}
	if err != nil {
		c.rec.fail(kind, c.out.n, err.Error)
	}
	c.rec.mu.Unlock()
	c.out.clear()
	c.mu.Unlock()
}

// errDead ends a connection on which nothing comes any more.
var errDead = errors.New("nothing came on the connection for the time of a timeout")

// read takes replies until the connection or the run ends. Without an error it is
// the run that has ended. Otherwise the kind is what became of the requests that
// have no reply.
func (c *conn) read() (ErrorKind, error) {
	if c.buf == nil {
		c.buf = make([]byte, 16<<10)
	}
	if c.inline {
		if err := c.refill(); err != nil {
			return failure(err)
		}
	}
	for {
		now := c.r.now()
		if now >= c.tick {
			if err := c.expire(now); err != nil {
				return Lost, err
			}
			now = c.r.now() // who has ended the run just before the new deadline was set wakes nobody any more
		}
		if c.over(now) {
			return 0, nil
		}
		n, err := c.nc.Read(c.buf[c.end:])
		c.end += n
		if n > 0 {
			if err := c.take(n); err != nil {
				return Garbage, err
			}
			if c.inline {
				if err := c.refill(); err != nil {
					return failure(err)
				}
			}
		}
		if err != nil {
			if !isTimeout(err) {
				return failure(err)
			}
			c.tick = 0
		}
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// failure says what became of the requests on a connection that ended with err.
func failure(err error) (ErrorKind, error) {
	if errors.Is(err, io.EOF) {
		return Closed, errors.New("the server closed the connection")
	}
	return Reset, err
}

// over reports whether the run has ended for this connection.
func (c *conn) over(now int64) bool {
	if now < c.r.end.Load() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.n == 0 && (c.inline || c.done) || now >= c.r.stop.Load()
}

// expire gives up what has waited too long and sets the time of the next look.
func (c *conn) expire(now int64) error {
	timeout := int64(c.r.cfg.Timeout)
	soon := int64(time.Millisecond)
	c.tick = min(now+max(timeout/8, soon), max(c.r.stop.Load(), now+soon))
	c.nc.SetReadDeadline(c.r.start.Add(time.Duration(c.tick)))
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.out.expire(now - timeout)
	if n == 0 {
		return nil
	}
	c.rec.mu.Lock()
	c.rec.fail(Timeout, n, func() string { return fmt.Sprintf("no reply in %v", c.r.cfg.Timeout) })
	c.rec.mu.Unlock()
	if c.heard <= now-timeout {
		return errDead
	}
	c.freed()
	return nil
}

// take takes the whole replies of what has been read, of which n bytes are new.
func (c *conn) take(n int) error {
	now := c.r.now()
	c.heard = now
	c.mu.Lock()
	c.rec.mu.Lock()
	defer c.mu.Unlock()
	defer c.rec.mu.Unlock()
	if len(c.out.free) == 0 {
		c.room = now
	}
	c.rec.received += int64(n)
	end := c.r.end.Load()
	start := 0
	for start < c.end {
		rep, n, err := c.replies.next(c.buf[start:c.end])
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		start += n
		c.settle(&rep, now, end)
	}
	c.freed()
	copy(c.buf, c.buf[start:c.end])
	c.end -= start
	if c.end == len(c.buf) { // grows with what has come, not with what is claimed
		c.buf = append(c.buf, make([]byte, len(c.buf))...)
	}
	return nil
}

// freed wakes the writer if it waits for a place and there is one. mu is held.
func (c *conn) freed() {
	if c.waiting && len(c.out.free) > 0 {
		c.waiting = false
		c.signal()
	}
}
