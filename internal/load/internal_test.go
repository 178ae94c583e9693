package load

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/framed"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file tests the parts that a run does not show.

func TestQuantilesAreExactToABucket(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, spread := range []float64{10, 1e4, 1e9} {
		h := new(histogram)
		values := make([]int64, 10_000)
		for i := range values {
			values[i] = int64(rng.ExpFloat64() * spread)
			h.add(values[i])
		}
		slices.Sort(values)
		for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 0.999, 1} {
			want := values[max(int(q*10_000+0.5)-1, 0)]
			if got := int64(h.quantile(q)); got < want || float64(got) > float64(want)*1.008 {
				t.Errorf("spread %v: quantile %v is %d, want %d", spread, q, got, want)
			}
		}
		if s := h.summary(); s.Min != time.Duration(values[0]) || s.Max != time.Duration(values[9999]) || s.Count != 10_000 {
			t.Errorf("%+v", s)
		}
		if p := h.points(); p[0].Percent != 0 || p[len(p)-1].Latency != time.Duration(values[9999]) {
			t.Errorf("points from %v to %v", p[0], p[len(p)-1])
		}
	}
}

func TestBucketsAreInOrderAndMeetTheirBounds(t *testing.T) {
	last := -1
	for i := range buckets {
		low, high := upper(last), upper(i)
		if i == 0 {
			low = -1
		}
		if bucket(low+1) != i || bucket(high) != i {
			t.Fatalf("bucket %d goes from %d to %d, which are in %d and %d", i, low+1, high, bucket(low+1), bucket(high))
		}
		last = i
	}
	if upper(buckets-1) != maxLatency {
		t.Errorf("the last bucket ends at %d", upper(buckets-1))
	}
	h := new(histogram)
	h.add(-5)
	h.add(1 << 62)
	if h.min != 0 || h.max != maxLatency {
		t.Errorf("extremes %d and %d", h.min, h.max)
	}
}

func TestAHistogramSinceAnother(t *testing.T) {
	h, o := new(histogram), new(histogram)
	for _, v := range []int64{3, 1000, 70_000} {
		h.add(v)
	}
	before := *h
	for _, v := range []int64{5, 2000} {
		h.add(v)
		o.add(v)
	}
	if d := h.since(&before); d.n != 2 || d.quantile(0) != 5 || d.quantile(1) < 2000 || d.quantile(1) > 2016 || d.counts != o.counts {
		t.Errorf("%d values from %v to %v", d.n, d.quantile(0), d.quantile(1))
	}
	if d := h.since(h); d.n != 0 || d.summary() != (Latency{}) {
		t.Errorf("nothing since itself: %+v", d.summary())
	}
}

func TestPatchedRequestsHaveTheSequenceIdEverywhere(t *testing.T) {
	for _, f := range []Form{
		{}, {Dialect: Unframed}, {Protocol: compact.Apache}, {Dialect: Unframed, Protocol: compact.FBThrift},
		{Dialect: Header}, {Dialect: Header, Protocol: compact.Apache}, {Dialect: Header, Transform: header.Zstd},
		{Dialect: TTHeader}, {Dialect: TTHeaderFramed}, {Dialect: TTHeaderFramed, Protocol: compact.Apache}, {Dialect: HTTP},
		{Dialect: HTTP2}, {Dialect: HTTP2, Protocol: compact.Apache},
	} {
		r, err := f.Request("Service:method", []byte{0})
		if err != nil {
			t.Fatal(err)
		}
		for _, seq := range []uint32{sequenceBase, sequenceBase | sequenceMask, sequenceBase | 0x1234567} {
			frame := slices.Clone(r.frame)
			r.patch(frame[:r.head()], seq)
			rep := asReply(t, f, frame)
			if rep.seq != seq || rep.mismatch || len(rep.payload) != 1 || rep.kind != thriftwire.Call {
				t.Errorf("%v: %+v", f, rep)
			}
		}
	}
	f := Form{Dialect: TRPC, Headers: []Pair{{"a", "b"}}} // which reads a call as a reply
	r, err := f.Message("/package.Service/Method", transport.FlatBuffers, []byte{7})
	if err != nil {
		t.Fatal(err)
	}
	frame := slices.Clone(r.frame)
	r.patch(frame[:r.head()], sequenceBase|0x1234567)
	if rep := asReply(t, f, frame); rep.seq != sequenceBase|0x1234567 || rep.mismatch || !bytes.Equal(rep.payload, []byte{7}) {
		t.Errorf("%+v", rep)
	}
}

// asReply reads a request as a reply.
func asReply(t *testing.T, f Form, frame []byte) reply {
	t.Helper()
	if f.Dialect == HTTP {
		_, message, _ := bytes.Cut(frame, []byte("\r\n\r\n"))
		frame = append(fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(message)), message...)
	}
	if f.Dialect == HTTP2 { // a reply has its status behind the sequence id
		at := framed.HeaderSize + tunnelHead
		frame = slices.Insert(frame, at, 0, 0)
		binary.BigEndian.PutUint32(frame, uint32(len(frame)-framed.HeaderSize))
	}
	rep, n, err := newReplies(&f, 1<<20).next(frame)
	if err != nil || n != len(frame) {
		t.Fatalf("%v: %d of %d bytes, %v: %q", f, n, len(frame), err, frame)
	}
	return rep
}

func TestRepliesOfHTTP(t *testing.T) {
	message := string(thriftwire.AppendMessage(nil, thriftwire.Reply, "m", 7)) + "\x00"
	for in, want := range map[string]int{ // status, 200 for a message, 0 for too little, -1 for an error
		"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n" + message:                                                 200,
		"HTTP/1.0 200 OK\r\nX: y\r\nCONTENT-LENGTH:14\r\n\r\n" + message:                                          200,
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n" + message:                    200,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ne;x=y\r\n" + message + "\r\n0\r\nTrail: er\r\n\r\n": 200,
		"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy":                                                      503,
		"HTTP/1.1 204 None\r\n\r\n":                                                          204,
		"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n" + message:                            0,
		"HTTP/1.1 200 OK\r\nContent-Le":                                                      0,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n" + message:               -1,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n" + message + "\r\n0\r\n": 0,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n":                     -1,
		"HTTP/1.1 200 OK\r\n\r\n":                                                            -1,
		"HTTP/1.1 200 OK\r\nContent-Length: 1e3\r\n\r\n":                                     -1,
		"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n":                                   -1,
		"HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n":                                       -1,
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc":                                    -1,
		"SSH-2.0-server\r\n":                                                                 -1,
		"\x15\x03\x01":                                                                       -1,
	} {
		rep, n, err := newReplies(&Form{Dialect: HTTP}, 1000).next([]byte(in))
		got := rep.status
		switch {
		case err != nil:
			got = -1
		case n > 0 && rep.status == 0 && rep.seq == 7 && rep.kind == thriftwire.Reply:
			got = 200
		}
		if got != want || want > 0 && n != len(in) {
			t.Errorf("%q: %d after %d bytes, %v; want %d", in, got, n, err, want)
		}
	}
}

func TestSequenceIdsOfASlotAreNotUsedAgainSoon(t *testing.T) {
	o := newOutstanding(3, true)
	seen := map[uint32]bool{}
	for i := range 1000 {
		for range 1 + i%3 {
			seq := o.add(0, 0, 0)
			if seen[seq] || seq&sequenceBase == 0 || seq>>31 != 0 {
				t.Fatalf("%#x", seq)
			}
			seen[seq] = true
		}
		for s := o.first(); s != nil; s = o.first() {
			o.release(s)
		}
		if o.n != 0 || len(o.free) != 3 || len(o.fifo) > 16 {
			t.Fatalf("%d busy, %d free, %d in the queue", o.n, len(o.free), len(o.fifo))
		}
	}
}

func FuzzReplies(f *testing.F) {
	forms := []Form{
		{}, {Dialect: Unframed}, {Dialect: Unframed, Protocol: compact.Apache}, {Dialect: Header}, {Dialect: Header, Transform: header.Zlib},
		{Dialect: TTHeader}, {Dialect: TTHeaderFramed}, {Dialect: HTTP},
	}
	for i := range forms {
		r, err := forms[i].Request("method", []byte{0})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(i, r.frame)
	}
	f.Add(8, []byte("\x00\x00\x00\x06\x40\x00\x00\x00\x01\xf7"))
	forms = append(forms, Form{Dialect: HTTP2}, Form{Dialect: TRPC})
	r, err := forms[len(forms)-1].Message("/Service/method", transport.FlatBuffers, []byte{0})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(len(forms)-1, r.frame)
	f.Add(7, []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, i int, b []byte) {
		r := newReplies(&forms[uint(i)%uint(len(forms))], 1<<16)
		for len(b) > 0 {
			rep, n, err := r.next(b)
			if n == 0 || err != nil {
				return
			}
			if n > len(b) {
				t.Fatalf("took %d of %d bytes", n, len(b))
			}
			rep.declared()
			rep.refusal(nil)
			b = b[n:]
		}
	})
}

func TestRequestsOfAnOrderHaveTheSharesOfTheirWeights(t *testing.T) {
	for _, weights := range [][]int{{0}, {9, 1}, {1000, 2000, 3000}, {7, 0, 5}} {
		requests := make([]Request, len(weights))
		sum := 0
		for i, w := range weights {
			requests[i].Weight = w
			sum += max(w, 1)
		}
		list := order(requests, rand.New(rand.NewPCG(1, 1)).Shuffle)
		counts := make([]int, len(weights))
		for _, i := range list {
			counts[i]++
		}
		for i, w := range weights {
			if counts[i]*sum != max(w, 1)*len(list) {
				t.Errorf("weights %v: %v of %d", weights, counts, len(list))
			}
		}
		if len(list) > 9000 {
			t.Errorf("weights %v: %d entries", weights, len(list))
		}
	}
}
