package load

import (
	"math"
	"math/rand/v2"
	"time"
)

// This file holds the writing half of a connection, and when requests are due.

const (
	// flush is how many bytes are gathered for one write.
	flush = 64 << 10
	// maxCopy is the largest request that is gathered as a whole. Of a larger
	// one the head is, and the rest is written from where it stands.
	maxCopy = 32 << 10
	// blocked is the length of a write that had to wait for the server to read.
	blocked = 10 * time.Millisecond
)

// refill sends what may be sent, on the reader's goroutine.
func (c *conn) refill() error {
	for {
		now := c.r.now()
		c.mu.Lock()
		c.fill(now)
		c.mu.Unlock()
		if len(c.batch) == 0 {
			return nil
		}
		if err := c.send(); err != nil {
			return err
		}
	}
}

// write sends what may be sent until the connection or the run ends.
func (c *conn) write(gone <-chan struct{}) {
	for {
		now := c.r.now()
		c.mu.Lock()
		c.fill(now)
		due := int64(math.MaxInt64)
		if len(c.batch) == 0 {
			if now >= c.r.end.Load() {
				c.done = true
				c.mu.Unlock()
				c.poke() // the reader may wait for replies to nothing
				return
			}
			if c.waiting = len(c.out.free) == 0; !c.waiting {
				due = c.at
			}
		}
		c.mu.Unlock()
		if len(c.batch) > 0 {
			if c.send() != nil { // the reader will see it
				c.close()
				return
			}
			if after := c.r.now(); after-now > int64(blocked) { // the server did not read
				c.mu.Lock()
				c.room = after
				c.mu.Unlock()
			}
			continue
		}
		c.due.Store(due)
		select {
		case <-c.wake:
			c.due.Store(math.MaxInt64)
		case <-gone:
			c.due.Store(math.MaxInt64)
			return
		}
	}
}

// fill encodes requests that may be sent now to the batch. mu is held.
func (c *conn) fill(now int64) {
	c.batch, c.tail = c.batch[:0], nil
	end := c.r.end.Load()
	if now >= end && c.gap == 0 {
		return
	}
	measured := false
	for len(c.out.free) > 0 && len(c.batch) < flush && c.tail == nil {
		from := now
		if c.gap > 0 {
			if c.at > now || c.at >= end || now >= end && c.at < c.room {
				break // what a busy server did not take before the end is not sent behind it
			}
			from = c.at
			c.advance()
			if from >= c.r.begin {
				if !measured {
					measured = true
					c.rec.mu.Lock()
				}
				c.rec.lag.add(now - max(from, min(c.room, now)))
			}
		}
		c.encode(from, now)
	}
	if measured {
		c.rec.mu.Unlock()
	}
}

// encode appends a request to the batch.
func (c *conn) encode(from, now int64) {
	i := c.r.order[c.next]
	if c.next++; c.next == len(c.r.order) {
		c.next = 0
	}
	request := &c.r.cfg.Requests[i]
	seq := c.out.add(i, from, now)
	start := len(c.batch)
	if len(request.frame) <= maxCopy {
		c.batch = append(c.batch, request.frame...)
	} else {
		head := request.head()
		c.batch = append(c.batch, request.frame[:head]...)
		c.tail = request.frame[head:]
	}
	request.patch(c.batch[start:], seq)
}

// send writes the batch.
func (c *conn) send() error {
	size := len(c.batch) + len(c.tail)
	var err error
	if c.tail == nil {
		_, err = c.nc.Write(c.batch)
	} else {
		c.vec = [2][]byte{c.batch, c.tail}
		c.buffers = c.vec[:]
		_, err = c.buffers.WriteTo(c.nc)
	}
	if err == nil {
		c.rec.mu.Lock()
		c.rec.sent += int64(size)
		c.rec.mu.Unlock()
	}
	return err
}

// schedule is when the requests of one connection are due in an open loop.
type schedule struct {
	gap  float64    // mean time between requests in ns; 0 in a closed loop
	at   int64      // when the next one is due
	k    float64    // number of the next one, where they come evenly
	rng  *rand.Rand // nil where they come evenly
	base float64    // when the first one was due
	sum  float64
}

// newSchedule makes the schedule of connection i. Together the connections come
// at the rate: evenly, one after another, or independently of each other.
func newSchedule(c *Config, i int) schedule {
	if c.Rate == 0 {
		return schedule{}
	}
	s := schedule{gap: 1e9 / c.Rate * float64(c.Connections)}
	if c.Poisson {
		s.rng = rand.New(rand.NewPCG(c.Seed, uint64(i)+2))
		s.advance()
		return s
	}
	s.base = 1e9 / c.Rate * float64(i)
	s.at = int64(s.base)
	s.k = 1
	return s
}

// advance goes to the next request.
func (s *schedule) advance() {
	if s.rng != nil {
		s.sum += s.rng.ExpFloat64() * s.gap
		s.at = int64(s.sum)
		return
	}
	s.at = int64(s.base + s.k*s.gap)
	s.k++
}

// countUnsent counts the requests that were due within the time that is measured
// and have not been sent. mu is held.
func (c *conn) countUnsent() {
	if c.gap == 0 {
		return
	}
	n := 0
	for end := c.r.end.Load(); c.at < end; c.advance() {
		if c.at >= c.r.begin {
			n++
		}
	}
	c.rec.mu.Lock()
	defer c.rec.mu.Unlock()
	c.rec.fail(Unsent, n, func() string { return "the server did not keep up with the rate" })
}
