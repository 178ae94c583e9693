package thrifthttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// This file holds the connections of clients, which are those of net/http.

// Transport makes requests. Those over HTTP/2 share a connection: if the server is silent on it for all the time that a
// request has, later requests go over a new one, and the others end where they are. It is safe for concurrent use.
type Transport struct {
	options ClientOptions
	line    atomic.Pointer[line] // of new requests

	mu   sync.Mutex
	left []*line // which may have connections
}

// line is the connections that some requests share.
type line struct {
	*http.Transport
	heard atomic.Int64 // how often something has been read from them
	open  atomic.Int64 // how many there are
}

// NewTransport returns the transport of a client with these options, of which Header and
// MaxReply do not matter.
func NewTransport(o ClientOptions) *Transport {
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	t := &Transport{options: o}
	t.line.Store(t.newLine())
	return t
}

func (t *Transport) newLine() *line {
	o := &t.options
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!o.HTTP2)
	protocols.SetHTTP2(o.HTTP2)
	protocols.SetUnencryptedHTTP2(o.HTTP2)
	config := o.TLS.Clone() // nil stays nil
	if config != nil {
		config.NextProtos = nil // those of net/http, and no other that a server could choose
	}
	idle := orDefault(o.MaxConns, 256)
	l := &line{}
	l.Transport = &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			nc, err := o.Dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			l.open.Add(1)
			return &Conn{Conn: nc, line: l}, nil
		},
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    orDefault(o.HandshakeTime, 10*time.Second),
		DisableCompression:     true, // Thrift is small as it is, and compressing costs more than the call
		MaxIdleConnsPerHost:    idle,
		MaxConnsPerHost:        idle,
		IdleConnTimeout:        orDefault(o.IdleTime, 90*time.Second),
		MaxResponseHeaderBytes: 64 << 10,
		Protocols:              protocols,
	}
	return l
}

// Conn is a connection that Dial has made, as net/http has it where there is no TLS.
type Conn struct {
	net.Conn
	line   *line
	closed atomic.Bool
}

// Read implements [net.Conn].
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.line.heard.Add(1)
	}
	return n, err
}

// Close implements [net.Conn].
func (c *Conn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.line.open.Add(-1)
	}
	return c.Conn.Close()
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	l := t.line.Load()
	heard := l.heard.Load()
	reply, err := l.RoundTrip(r)
	if err != nil && errors.Is(r.Context().Err(), context.DeadlineExceeded) && l.heard.Load() == heard {
		t.leave(l)
	}
	return reply, err
}

// lingerTime is how long a connection that was left may need to end what was given up on it.
const lingerTime = time.Second

// leave makes new requests go over a new connection. With HTTP/1.1 the old one has been closed.
func (t *Transport) leave(l *line) {
	if !t.options.HTTP2 || t.options.KeepSilent || !t.line.CompareAndSwap(l, t.newLine()) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = append(t.closeLeft(), l)
	time.AfterFunc(lingerTime, l.CloseIdleConnections)
}

// closeLeft closes the connections that were left and that no request uses, and returns the others. t.mu is held.
func (t *Transport) closeLeft() []*line {
	return slices.DeleteFunc(t.left, func(l *line) bool {
		l.CloseIdleConnections()
		return l.open.Load() == 0
	})
}

// CloseIdleConnections closes the connections that no request uses.
func (t *Transport) CloseIdleConnections() {
	t.line.Load().CloseIdleConnections()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = t.closeLeft()
}
