package rpc

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
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
	conns := s.open()
	return s.stopping.Load() && !slices.ContainsFunc(conns, func(c *serverConn) bool { return !c.leaving.Load() })
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
