package rpc

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file lets tests look inside.

// Connections returns the number of open connections of s.
func Connections(s *Server) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Draining reports whether every open connection of s takes no more calls.
func Draining(s *Server) bool {
	s.mu.Lock()
	conns := slices.Collect(maps.Keys(s.conns))
	s.mu.Unlock()
	for _, c := range conns {
		c.mu.Lock()
		draining := c.draining
		c.mu.Unlock()
		if !draining {
			return false
		}
	}
	return true
}

// Leaving reports whether s has told every open connection that it stops, as
// far as that can be told.
func Leaving(s *Server) bool {
	return s.stopping.Load() && !slices.ContainsFunc(s.open(), func(c *serverConn) bool {
		c.mu.Lock() // drain has more to do once leaving is set
		defer c.mu.Unlock()
		return !c.leaving.Load()
	})
}

// Old returns the number of open connections that s leaves for their age.
func Old(s *Server) int {
	n := 0
	for _, c := range s.open() {
		c.mu.Lock()
		if c.aged.Load() || c.draining {
			n++
		}
		c.mu.Unlock()
	}
	return n
}

// Completed returns the number of replies of s that are complete and not written.
func Completed(s *Server) int {
	s.mu.Lock()
	conns := slices.Collect(maps.Keys(s.conns))
	s.mu.Unlock()
	n := 0
	for _, c := range conns {
		c.mu.Lock()
		for call := c.order.head; call != nil; call = call.behind {
			if call.ready {
				n++
			}
		}
		c.mu.Unlock()
	}
	return n
}

// InFlight returns the server's count of calls in flight.
func InFlight(s *Server) int { return int(s.inFlight.Load()) }

// Exchange answers a message as one that has come over HTTP.
func Exchange(ctx context.Context, s *Server, message []byte) ([]byte, error) {
	in := transport.NewReader(bytes.NewReader(message), &s.blocks)
	defer in.Close()
	for in.Fill(len(message)) == nil {
	}
	view, block := in.Take(len(in.Bytes()))
	reply, err := s.exchange(ctx, &thrifthttp.Request{Message: view, Block: block, Header: http.Header{}})
	out := bytes.Join(reply.Message, nil)
	if reply.Release != nil {
		reply.Release()
	}
	return out, err
}

// StartRetired tries to start a call and a stream on the connection of c after
// it was retired, as by another call between two steps of this one.
func StartRetired(c *MessageClient) (call, stream bool) {
	cc := c.conn
	cc.mu.Lock()
	cc.retired = true
	c.retire(cc, GivenUp)
	cc.mu.Unlock()
	call, _ = cc.start(c.newCall("", false))
	w := c.newWire(context.Background(), cc, &MessageStreamCall{})
	defer w.ms.OnLost(errStreamOver)
	stream, _ = cc.startStream(w)
	return call, stream
}

// OpenLate opens a stream whose context has ended, after that has ended the
// stream, and returns how many streams the connection has then.
func OpenLate(c *MessageClient) (streams int, err error) {
	cc, _ := c.current()
	ctx, cancel := context.WithCancel(context.Background())
	w := c.newWire(ctx, cc, &MessageStreamCall{})
	over := make(chan struct{})
	w.conn = telling{cc, over}
	cancel()
	<-over
	w.conn = cc
	_, err = cc.open(w)
	cc.mu.Lock()
	defer cc.mu.Unlock()
	return len(cc.streams), err
}

// telling is a connection that tells when a stream has ended.
type telling struct {
	*clientConn
	over chan struct{}
}

func (c telling) forgetStream(w *trpcWire) {
	c.clientConn.forgetStream(w)
	close(c.over)
}

// Holding reports whether a connection of s waits for its client to read.
func Holding(s *Server) bool {
	return slices.ContainsFunc(s.open(), func(c *serverConn) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.holding && c.clogged.Load()
	})
}

// nowhere is the connection of a stream that sends nothing.
type nowhere struct{}

func (nowhere) newFrame() *buffer          { return &buffer{} }
func (nowhere) dropFrame(*buffer)          {}
func (nowhere) blockPool() *transport.Pool { return new(transport.Pool) }
func (nowhere) queueFrame(*buffer) bool    { return false }
func (nowhere) writable() <-chan struct{}  { return nil }
func (nowhere) forgetStream(*trpcWire)     {}

// KeepsBlock reports whether a message of size bytes that waits in a stream over
// tRPC is a view of what was read.
func KeepsBlock(size int, o stream.Owner) bool {
	w := &trpcWire{conn: nowhere{}, ms: &MessageStream{}}
	w.ms.Stream = stream.New(context.Background(), w, stream.Options{Role: stream.Server})
	return w.receive(trpc.Head{Type: trpc.Stream, Stream: trpc.StreamData}, make([]byte, trpc.HeadSize+size), o)
}

// Queued returns the number of calls of c that no writer has taken.
func Queued(c *Client) int { return c.queued() }

// QueuedMessages is Queued for clients of methods on messages.
func QueuedMessages(c *MessageClient) int { return c.queued() }

func (c *clientCore) queued() int {
	cc, _ := c.current()
	if cc == nil {
		return 0
	}
	cc.mu.Lock()
	defer cc.mu.Unlock()
	return len(cc.queue)
}

// RestAfter makes connections of s rest that have had no call for d, before there are any.
func RestAfter(s *Server, d time.Duration) {
	s.rests.mu.Lock()
	defer s.rests.mu.Unlock()
	s.rests.interval = d
}

// Resting returns the number of open connections of s that rest.
func Resting(s *Server) int {
	n := 0
	for _, c := range s.open() {
		c.mu.Lock()
		if c.turns > 0 && !c.restless && !c.resting {
			n++
		}
		c.mu.Unlock()
	}
	return n
}
