package rpc

import (
	"context"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"

	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
)

// This file holds what a client over gRPC knows of its connections: whether a server may have a request.

// grpcConn is a connection on which only what comes first, in the clear the preface, is written until the server has said
// something, as each does at once: a server that stops resets connections that it has not accepted, and what was written on one of them
// would be lost, where it could have gone to another server.
type grpcConn struct {
	net.Conn
	wrote  atomic.Bool // the preface
	served atomic.Bool // the server has said something
	once   sync.Once
	ready  chan struct{} // closed when it has, or never will
	stop   func() bool   // ends the watch over the client
}

// newGRPCConn returns a connection of a client, with whose last call it ends: net/http does not close one on which it
// has something left to do.
func newGRPCConn(g *grpcClient, nc net.Conn) *grpcConn {
	c := &grpcConn{Conn: nc, ready: make(chan struct{})}
	c.stop = context.AfterFunc(g.use, func() { nc.Close() })
	return c
}

func (c *grpcConn) release() { c.once.Do(func() { close(c.ready) }) }

// Read tells writers what they wait for.
func (c *grpcConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.served.Load() {
		c.served.Store(true)
		c.release()
	}
	if err != nil {
		c.release()
	}
	return n, err
}

// Write writes the preface, which net/http writes at once, and then what follows the server's.
func (c *grpcConn) Write(b []byte) (int, error) {
	if c.wrote.Load() && !c.served.Load() {
		<-c.ready
		if !c.served.Load() {
			return 0, net.ErrClosed
		}
	}
	c.wrote.Store(true)
	return c.Conn.Write(b)
}

// Close ends a Write that waits.
func (c *grpcConn) Close() error {
	c.release()
	c.stop()
	return c.Conn.Close()
}

// grpcSent knows whether a server may have a request.
type grpcSent struct {
	connected atomic.Bool
	conn      atomic.Pointer[grpcConn] // nil for one inside TLS, where the handshake has shown that there is a server
	wrote     func()                   // called when the header has been written to the connection; may be nil
}

// trace returns a context for the request. net/http looks for another connection only when the server has said that it did
// not begin with the request, and up to Go 1.26 also when it has reset it with PROTOCOL_ERROR before it answered.
func (s *grpcSent) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { s.connected.Store(false) },
		GotConn: func(info httptrace.GotConnInfo) {
			var c *grpcConn
			if nc, ok := info.Conn.(*thrifthttp.Conn); ok {
				c, _ = nc.Conn.(*grpcConn)
			}
			s.conn.Store(c)
			s.connected.Store(true)
		},
		WroteHeaders: s.wrote,
	})
}

func (s *grpcSent) maybe() bool {
	if !s.connected.Load() {
		return false
	}
	c := s.conn.Load()
	return c == nil || c.served.Load()
}
