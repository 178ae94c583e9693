package thrifthttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds the Server: its options, and how connections come and go.

// Exchange answers one message. ctx ends when the client goes away, or takes
// its request back. The connection is busy until Exchange returns, or with
// HTTP/2 one of its streams.
//
// A [*StatusError] is answered with its status and text; any other error, and a panic,
// with 500 and without its text.
type Exchange func(ctx context.Context, r *Request) (Reply, error)

// Request is one message with what arrived around it.
type Request struct {
	// Message is a view of Block, which Exchange must release when nobody
	// reads the message any more; that may be after it has returned.
	Message []byte
	Block   *transport.Block

	Path       string
	Header     http.Header // must not be changed
	RemoteAddr net.Addr
	LocalAddr  net.Addr
	TLS        *tls.ConnectionState // nil outside TLS
	Proto      string               // "HTTP/1.1" or "HTTP/2.0"
	Conn       net.Conn             // as ServeConn took it; nil for requests of another server
}

// Reply is the answer to a message. An empty Message answers a oneway call.
type Reply struct {
	Message [][]byte    // in pieces
	Header  http.Header // further header fields; may be nil
	Release func()      // is called when the reply has been written, or cannot be; may be nil
}

// Options say what a Server does. Exchange is needed; the others have the stated defaults when zero.
type Options struct {
	Exchange Exchange
	// Fallback serves every request that is no post of a Thrift message;
	// default: an answer that says so.
	Fallback http.Handler
	// GRPC serves the requests of gRPC, under time limits of its own; default: as all others.
	GRPC http.Handler
	// Report is told of every request that is answered with a status of this package
	// other than 200, and why. It may be called from several goroutines at once.
	Report func(r *http.Request, status int, reason error)

	MaxBody     int // bytes of a message; default 16 MiB
	MaxUnpacked int // bytes of a message that came compressed; default MaxBody
	// MaxHeld limits the bytes of all messages at a time, those that are arriving and those in Exchange; default 256 MiB.
	// Beyond it one message alone is taken, and of each connection one at a time of up to 64 KiB.
	MaxHeld    int64
	MaxHeader  int           // bytes of header fields; default 64 KiB
	MaxStreams int           // of one HTTP/2 connection; default 256
	ReadTime   time.Duration // for a header to arrive, and then for a body; default a minute, negative: no limit
	WriteTime  time.Duration // for a reply to leave; default a minute, negative: no limit
	IdleTime   time.Duration // of a connection without requests; default: no limit
	Logger     *slog.Logger  // of net/http's complaints; default: discarded
}

// complete sets what is zero to its default.
func (o *Options) complete() {
	o.MaxBody = orDefault(o.MaxBody, 16<<20)
	o.MaxUnpacked = orDefault(o.MaxUnpacked, o.MaxBody)
	o.MaxHeld = orDefault(o.MaxHeld, 256<<20)
	o.MaxHeader = orDefault(o.MaxHeader, 64<<10)
	o.MaxStreams = orDefault(o.MaxStreams, 256)
	o.ReadTime = orDefault(o.ReadTime, time.Minute)
	o.WriteTime = orDefault(o.WriteTime, time.Minute)
	o.IdleTime = orDefault(o.IdleTime, -1)
	if o.Report == nil {
		o.Report = func(*http.Request, int, error) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

func orDefault[T int | int64 | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// Server serves HTTP connections. Its methods are safe for concurrent use.
type Server struct {
	opt       Options
	http      http.Server
	blocks    transport.Pool
	unpackers sync.Pool    // of *gzip.Reader
	held      atomic.Int64 // bytes of messages
}

// New returns a Server. It has nothing to close before its first connection.
func New(o Options) *Server {
	o.complete()
	s := &Server{opt: o}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // inside TLS too: see ServeConn
	s.http = http.Server{
		Handler:                      s,
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            o.ReadTime,
		IdleTimeout:                  o.IdleTime,
		MaxHeaderBytes:               o.MaxHeader,
		Protocols:                    protocols,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: o.MaxStreams, WriteByteTimeout: max(o.WriteTime, 0),
			MaxReceiveBufferPerStream: streamWindow, MaxReceiveBufferPerConnection: connWindow},
		ErrorLog:    slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	return s
}

// ServeConn serves a connection of which read has been read already, and
// returns at once. c is closed, exactly once, when the connection is over; if the server
// has been stopped, before ServeConn returns. read is copied.
//
// state is that of TLS, after the handshake, or nil. Whether the client speaks HTTP/2 is seen from its first bytes,
// whatever its ALPN says.
func (s *Server) ServeConn(c net.Conn, read []byte, state *tls.ConnectionState) {
	held := &conn{Conn: c, read: slices.Clone(read), tls: state}
	if s.opt.ReadTime > 0 && IsHTTP2(read) {
		held.prefaceTime = s.opt.ReadTime
	}
	l := &oneConn{conn: held}
	if err := s.http.Serve(l); !l.accepted {
		s.opt.Logger.Debug("thrifthttp: connection not served", "remote", c.RemoteAddr(), "reason", err)
		held.Close()
	}
}

// Shutdown stops the server gracefully: clients are told not to send more
// (Connection: close, GOAWAY), requests that have arrived are answered, and connections
// are closed when they are idle. When ctx ends first, its error is returned
// and connections stay open: call Close.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }

// Close closes all connections at once and so ends the contexts of requests.
func (s *Server) Close() error { return s.http.Close() }

// The windows of HTTP/2, in bytes: what a client may send that nobody has read. Seven streams that are not
// read leave room for the others of their connection; eight hold them up until one of them ends.
const (
	streamWindow = 512 << 10
	connWindow   = 4<<20 - 1 // the most that net/http takes
)

type connKey struct{}

// ConnOf returns the connection of a request, as ServeConn took it; nil for requests of another server.
func ConnOf(r *http.Request) net.Conn {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		return c.Conn
	}
	return nil
}

// conn is a connection whose beginning has been read. It does not show its TLS
// state to net/http, which would expect to find out about HTTP/2 by ALPN alone.
type conn struct {
	net.Conn
	tls      *tls.ConnectionState
	messages atomic.Int64 // that the server holds
	closed   sync.Once
	err      error // of closing

	mu          sync.Mutex // net/http reads from one goroutine at a time, but not always the same
	read        []byte
	prefaceTime time.Duration // for the preface of HTTP/2 to arrive; 0 when it has, or is none
}

// preface is what a client says first in HTTP/2.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// IsHTTP2 tells whether a client whose first bytes are b speaks HTTP/2 by prior knowledge.
func IsHTTP2(b []byte) bool { return bytes.HasPrefix(b, []byte(preface[:3])) }

// awaitPreface reads the whole preface in its time, which net/http does not
// limit before Go 1.26. c.mu is held.
func (c *conn) awaitPreface() error {
	c.Conn.SetReadDeadline(time.Now().Add(c.prefaceTime))
	c.prefaceTime = 0
	for len(c.read) < len(preface) {
		more := make([]byte, len(preface)-len(c.read))
		n, err := c.Conn.Read(more)
		if c.read = append(c.read, more[:n]...); err != nil {
			return err
		}
	}
	return c.Conn.SetReadDeadline(time.Time{})
}

// Read returns what has been read before first.
func (c *conn) Read(b []byte) (int, error) {
	c.mu.Lock()
	if c.prefaceTime > 0 {
		if err := c.awaitPreface(); err != nil {
			c.mu.Unlock()
			return 0, err
		}
	}
	if len(c.read) == 0 || len(b) == 0 {
		c.mu.Unlock()
		return c.Conn.Read(b)
	}
	defer c.mu.Unlock()
	n := copy(b, c.read)
	if c.read = c.read[n:]; len(c.read) == 0 {
		c.read = nil
	}
	return n, nil
}

// Close closes the connection once.
func (c *conn) Close() error {
	c.closed.Do(func() { c.err = c.Conn.Close() })
	return c.err
}

// CloseWrite ends the sending half, where there are halves.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// oneConn is a listener that has one connection. net/http takes connections from listeners only.
type oneConn struct {
	conn     *conn
	accepted bool
}

// Accept returns the connection, and the next time io.EOF.
func (l *oneConn) Accept() (net.Conn, error) {
	if l.accepted {
		return nil, io.EOF
	}
	l.accepted = true
	return l.conn, nil
}

func (l *oneConn) Close() error { return nil }

func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }
