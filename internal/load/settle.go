package load

import (
	"bytes"
	"fmt"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds which requests are outstanding, and judging replies.

// slot is a place for an outstanding request. The low bits of a sequence id are
// the slot's index; the bits above count its uses, so that a second reply to an
// earlier request is known as that.
type slot struct {
	seq     uint32 // of the last request; 0 before the first
	lost    uint32 // the sequence id that was given up last, whose reply may come
	request uint16
	busy    bool
	from    int64 // when latency starts
	sent    int64
}

// outstanding is the outstanding requests of a connection.
type outstanding struct {
	slots []slot
	free  []uint32 // indexes
	n     int      // busy slots
	shift int      // of the count of uses
	// fifo has the sequence ids in the order of sending, from head on, where
	// replies are in that order; those that are no longer outstanding too.
	ordered bool
	fifo    []uint32
	head    int
}

func newOutstanding(depth int, ordered bool) outstanding {
	o := outstanding{slots: make([]slot, depth), free: make([]uint32, depth), ordered: ordered}
	for i := range o.free {
		o.free[i] = uint32(depth - 1 - i)
	}
	for 1<<o.shift < depth {
		o.shift++
	}
	return o
}

// add takes a free slot.
func (o *outstanding) add(request uint16, from, sent int64) (seq uint32) {
	i := o.free[len(o.free)-1]
	o.free = o.free[:len(o.free)-1]
	s := &o.slots[i]
	if s.seq == 0 {
		seq = sequenceBase | i
	} else {
		seq = sequenceBase | (s.seq+1<<o.shift)&sequenceMask
	}
	s.seq, s.request, s.busy, s.from, s.sent = seq, request, true, from, sent
	o.n++
	if o.ordered {
		if o.head == len(o.fifo) {
			o.fifo, o.head = o.fifo[:0], 0
		} else if o.head > len(o.slots) {
			o.fifo = o.fifo[:copy(o.fifo, o.fifo[o.head:])]
			o.head = 0
		}
		o.fifo = append(o.fifo, seq)
	}
	return seq
}

// of returns the slot that a sequence id may belong to, nil if there is none.
func (o *outstanding) of(seq uint32) *slot {
	i := seq & (1<<o.shift - 1)
	if seq&^sequenceMask != sequenceBase || i >= uint32(len(o.slots)) {
		return nil
	}
	return &o.slots[i]
}

// release frees a busy slot.
func (o *outstanding) release(s *slot) {
	s.busy = false
	o.n--
	o.free = append(o.free, s.seq&(1<<o.shift-1))
}

// first returns the slot whose reply is the next in order, nil if there is none.
func (o *outstanding) first() *slot {
	for ; o.head < len(o.fifo); o.head++ {
		if s := o.of(o.fifo[o.head]); s.busy && s.seq == o.fifo[o.head] {
			return s
		}
	}
	return nil
}

// expire gives up what was sent before a time and returns how many.
func (o *outstanding) expire(before int64) (n int) {
	if o.n == 0 {
		return 0
	}
	for i := range o.slots {
		if s := &o.slots[i]; s.busy && s.sent <= before {
			s.lost = s.seq
			o.release(s)
			n++
		}
	}
	return n
}

// clear forgets all requests, whose connection has ended.
func (o *outstanding) clear() {
	for i := range o.slots {
		s := &o.slots[i]
		s.lost = 0
		if s.busy {
			o.release(s)
		}
	}
	o.fifo, o.head = o.fifo[:0], 0
}

// settle judges a reply. mu and the recorder's mutex are held.
func (c *conn) settle(rep *reply, now, end int64) {
	s := c.match(rep)
	if s == nil {
		return
	}
	c.out.release(s)
	measured := s.from >= c.r.begin && s.from < end
	switch {
	case rep.status != 0:
		c.rec.fail(Status, 1, func() string { return fmt.Sprintf("status %d", rep.status) })
	case rep.mismatch:
		c.rec.fail(Sequence, 1, func() string { return "the message has another sequence id than its frame" })
	case rep.kind == thriftwire.Exception:
		var code int32
		code, c.scratch = rep.refusal(c.scratch)
		c.rec.fail(Refusal, 1, func() string {
			if rep.message {
				return fmt.Sprintf("code %d: %s", code, rep.ex)
			}
			return fmt.Sprintf("type %d", code)
		})
		c.rec.refuse(code, rep.ex)
		if measured {
			c.rec.refused.add(now - s.from)
		}
	case rep.kind != thriftwire.Reply:
		c.rec.fail(Type, 1, func() string { return fmt.Sprintf("a message of type %d", rep.kind) })
	case !c.r.expected(s.request, rep.payload):
		c.rec.fail(Payload, 1, func() string { return difference(rep.payload, c.r.expect[s.request].Load()) })
	default:
		c.good = true
		c.rec.replies++
		if measured {
			if rep.declared() {
				c.rec.declared++
			}
			c.rec.kinds[c.r.kindOf[s.request]].add(now - s.from)
		}
	}
}

// match finds the request of a reply. Where replies are in order, one with a
// sequence id that nobody knows is taken as that of the next request, which
// then is the one that failed.
func (c *conn) match(rep *reply) *slot {
	o := &c.out
	if rep.status != 0 && o.ordered { // there is no message, and so no sequence id
		if first := o.first(); first != nil {
			return first
		}
	}
	s := o.of(rep.seq)
	if s != nil && s.seq == rep.seq && s.busy {
		if o.ordered {
			if first := o.first(); s != first {
				c.rec.fail(Order, 1, func() string { return fmt.Sprintf("%#x comes before %#x", rep.seq, first.seq) })
				o.release(s)
				return nil
			}
			o.head++
		}
		return s
	}
	switch {
	case s != nil && s.lost == rep.seq:
		s.lost = 0 // its request has been counted
		return nil
	case s != nil && s.seq != 0 && (s.seq-rep.seq)&sequenceMask < sequenceBase/2:
		c.rec.fail(Repeated, 1, func() string { return fmt.Sprintf("second reply to %#x", rep.seq) })
		return nil
	}
	c.rec.fail(Sequence, 1, func() string { return fmt.Sprintf("no request has the sequence id %#x", rep.seq) })
	if o.ordered {
		if first := o.first(); first != nil {
			o.release(first)
		}
	}
	return nil
}

// expected reports whether a payload is what a request's reply must hold.
func (r *run) expected(request uint16, payload []byte) bool {
	want := r.expect[request].Load()
	if want == nil && r.cfg.Requests[request].Same {
		first := bytes.Clone(payload)
		if r.expect[request].CompareAndSwap(nil, &first) {
			return true
		}
		want = r.expect[request].Load()
	}
	return want == nil || bytes.Equal(payload, *want)
}

// difference says where two payloads differ.
func difference(got []byte, expect *[]byte) string {
	want := *expect
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("byte %d is %#02x, not %#02x", i, got[i], want[i])
		}
	}
	return fmt.Sprintf("%d bytes, not %d", len(got), len(want))
}
