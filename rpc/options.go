package rpc

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds the options of servers and clients and their defaults.

// ServerOption configures [NewServer].
type ServerOption interface{ applyServer(*serverOptions) }

// ClientOption configures [Dial].
type ClientOption interface{ applyClient(*clientOptions) }

// Option configures both servers and clients.
type Option interface {
	ServerOption
	ClientOption
}

// DefaultMaxFrameSize is the largest message accepted and sent unless told otherwise, in bytes.
const DefaultMaxFrameSize = 16 << 20

// shared are the options that both sides have.
type shared struct {
	maxFrame     int
	writeTimeout time.Duration
}

type serverOptions struct {
	shared
	maxConns       int
	maxInFlight    int
	maxPerConn     int
	maxConcurrent  int
	readTimeout    time.Duration
	idleTimeout    time.Duration
	handlerTimeout time.Duration
	logger         *slog.Logger
}

type clientOptions struct {
	shared
	form        form // of requests
	maxPending  int
	dialTimeout time.Duration
	callTimeout time.Duration
	dial        func(ctx context.Context, network, address string) (net.Conn, error)
}

func defaultServerOptions() serverOptions {
	return serverOptions{
		shared:        shared{maxFrame: DefaultMaxFrameSize, writeTimeout: time.Minute},
		maxConns:      10_000,
		maxInFlight:   1 << 16,
		maxPerConn:    256,
		maxConcurrent: 64,
		readTimeout:   time.Minute,
	}
}

func defaultClientOptions() clientOptions {
	return clientOptions{
		shared:      shared{maxFrame: DefaultMaxFrameSize, writeTimeout: time.Minute},
		maxPending:  4096,
		form:        form{dialect: transport.Framed},
		dialTimeout: 10 * time.Second,
		dial:        new(net.Dialer).DialContext,
	}
}

type sharedOption func(*shared)

func (f sharedOption) applyServer(o *serverOptions) { f(&o.shared) }
func (f sharedOption) applyClient(o *clientOptions) { f(&o.shared) }

type serverOption func(*serverOptions)

func (f serverOption) applyServer(o *serverOptions) { f(o) }

type clientOption func(*clientOptions)

func (f clientOption) applyClient(o *clientOptions) { f(o) }

// MaxFrameSize limits the messages that are accepted and sent, in bytes
// without the frame's own length; default [DefaultMaxFrameSize]. It is at
// least 64 and at most 1 GiB, and is cut to that range.
func MaxFrameSize(bytes int) Option {
	return sharedOption(func(o *shared) { o.maxFrame = min(max(bytes, 64), 1<<30) })
}

// WriteTimeout limits the time that one write to the network may take before
// the connection is given up; default one minute, 0 means no limit.
func WriteTimeout(d time.Duration) Option {
	return sharedOption(func(o *shared) { o.writeTimeout = d })
}

// MaxConnections limits the open connections; default 10,000. A connection
// beyond it has its first call answered with LoadShedding and is closed.
func MaxConnections(n int) ServerOption {
	return serverOption(func(o *serverOptions) { o.maxConns = max(n, 1) })
}

// MaxInFlight limits the calls that a server has accepted and not yet answered, over
// all connections; default 65,536. A call beyond it is answered with LoadShedding.
func MaxInFlight(n int) ServerOption {
	return serverOption(func(o *serverOptions) { o.maxInFlight = max(n, 1) })
}

// MaxInFlightPerConn limits the calls of one connection that are accepted and not yet
// answered; default 256. Beyond it the server stops reading from the
// connection until one is answered. It also stops while the requests in
// flight hold more bytes than MaxFrameSize.
func MaxInFlightPerConn(n int) ServerOption {
	return serverOption(func(o *serverOptions) { o.maxPerConn = max(n, 1) })
}

// MaxConcurrentPerConn limits how many calls of one connection run at the
// same time; default 64. With 1 the calls of a connection run strictly one
// after another, in order of arrival.
func MaxConcurrentPerConn(n int) ServerOption {
	return serverOption(func(o *serverOptions) { o.maxConcurrent = max(n, 1) })
}

// ReadTimeout limits the time that a message may take to arrive, from its
// first byte to its last; default one minute, 0 means no limit.
func ReadTimeout(d time.Duration) ServerOption {
	return serverOption(func(o *serverOptions) { o.readTimeout = d })
}

// IdleTimeout closes connections on which no call has run or arrived for d;
// default 0, which means never.
func IdleTimeout(d time.Duration) ServerOption {
	return serverOption(func(o *serverOptions) { o.idleTimeout = d })
}

// HandlerTimeout limits the time of one call from the moment it starts to
// run; default 0, which means no limit. When it has passed, the handler's
// context ends and the client is answered with Timeout, even if the handler
// runs on.
func HandlerTimeout(d time.Duration) ServerOption {
	return serverOption(func(o *serverOptions) { o.handlerTimeout = d })
}

// Logger takes what a server has to say: at Warn level why it closed a
// connection or refused one, at Error level handlers that panicked, at Debug
// level clients that went away. The default is slog.Default() at the time of
// NewServer, because a close reason that nobody sees is none; to be silent
// pass slog.New(slog.DiscardHandler).
func Logger(l *slog.Logger) ServerOption {
	return serverOption(func(o *serverOptions) { o.logger = l })
}

// Unframed makes a client speak unframed binary, as Apache's buffered
// transport does. The default is framed.
func Unframed() ClientOption {
	return clientOption(func(o *clientOptions) { o.form.dialect = transport.Unframed })
}

// THeader makes a client speak fbthrift's header transport, and take replies
// in any order. Requests are compressed by transform, which may be header.None,
// and servers answer alike.
func THeader(transform header.Transform) ClientOption {
	return clientOption(func(o *clientOptions) {
		o.form.dialect, o.form.flags, o.form.transform = transport.Header, header.OutOfOrder, transform
	})
}

// TTHeader makes a client speak CloudWeGo's header transport, as Kitex does,
// and take replies in any order.
func TTHeader() ClientOption {
	return clientOption(func(o *clientOptions) { o.form.dialect, o.form.flags = transport.TTHeader, ttheader.OutOfOrder })
}

// Compact makes a client speak the compact protocol in the given dialect:
// compact.Apache, or compact.FBThrift for fbthrift's servers. It goes with all
// dialects but TTHeader, whose servers do not know it.
func Compact(d compact.Dialect) ClientOption {
	return clientOption(func(o *clientOptions) { o.form.protocol = d })
}

// MaxPending limits the calls of a client that wait for a reply, together
// with those that were given up and whose reply has not come; default 4096.
// A call beyond it fails with [ErrTooManyCalls].
func MaxPending(n int) ClientOption {
	return clientOption(func(o *clientOptions) { o.maxPending = max(n, 1) })
}

// DialTimeout limits the time to make a connection; default ten seconds, 0
// means no limit but the context's.
func DialTimeout(d time.Duration) ClientOption {
	return clientOption(func(o *clientOptions) { o.dialTimeout = d })
}

// CallTimeout limits the calls whose context has no deadline; default 0,
// which means no limit.
func CallTimeout(d time.Duration) ClientOption {
	return clientOption(func(o *clientOptions) { o.callTimeout = d })
}

// Dialer replaces net.Dialer as the way to make a connection.
func Dialer(dial func(ctx context.Context, network, address string) (net.Conn, error)) ClientOption {
	return clientOption(func(o *clientOptions) { o.dial = dial })
}
