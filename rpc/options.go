package rpc

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/thrum-rpc/thrum/rpc/internal/overload"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
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
	maxUnpacked  int // of a message that came compressed, in bytes; 0 for the limit of one that did not
	writeTimeout time.Duration
	stream       streamOptions
	tls          *tls.Config // nil for none
}

// unpacked returns the limit of messages that come compressed, where others have limit bytes at most.
func (s *shared) unpacked(limit int) int {
	if s.maxUnpacked > 0 {
		return s.maxUnpacked
	}
	return limit
}

type serverOptions struct {
	shared
	maxConns      int
	maxInFlight   int
	maxPerConn    int
	maxStreams    int // of one connection
	maxConcurrent int // 0 for no limit
	maxMemory     int64
	inOrder       bool
	readTimeout   time.Duration
	idleTimeout   time.Duration
	maxAge        time.Duration
	grace, quiet  time.Duration // of Shutdown
	maxHead       int
	logger        *slog.Logger
	interceptors  []Interceptor
	nonStrict     bool
	perConn       func(ConnInfo) []*Service
	loops         int
	tlsPermitted  bool
	fallback      http.Handler

	workers  int
	extra    [5]int
	maxQueue int

	overloaded   func(CallInfo) error
	rate         int
	burst        int
	queueTimeout time.Duration
	taskExpiry   time.Duration
	codel        *codelOptions
	adaptive     *overload.AdaptiveOptions
}

type codelOptions struct{ interval, target time.Duration }

type clientOptions struct {
	shared
	form        form // of requests
	maxPending  int
	dialTimeout time.Duration
	callTimeout time.Duration
	lost        func(Loss) // told when new calls use a connection no longer
	dial        func(ctx context.Context, network, address string) (net.Conn, error)
	url         string // with HTTP
	http2       bool

	interceptors        []ClientInterceptor
	messageInterceptors []MessageInterceptor
	streamInterceptors  []StreamInterceptor
	service             string // that is called

	messageStreamInterceptors []MessageStreamInterceptor

	packing trpc.Compression // of messages
}

func defaultServerOptions() serverOptions {
	return serverOptions{
		shared:      shared{maxFrame: DefaultMaxFrameSize, writeTimeout: time.Minute},
		maxConns:    10_000,
		maxInFlight: 1 << 16,
		maxPerConn:  2000,
		maxStreams:  1000,
		maxMemory:   1 << 30,
		readTimeout: time.Minute,
		maxHead:     64 << 10,
		grace:       3 * time.Second,
		quiet:       500 * time.Millisecond,

		workers:      max(64, 16*runtime.GOMAXPROCS(0)),
		extra:        [5]int{2, 2, 2, 0, 2},
		maxQueue:     1 << 16,
		queueTimeout: time.Second,
		taskExpiry:   5 * time.Second,
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
// without the frame's own length; default [DefaultMaxFrameSize]. A call beyond it is answered with ProtocolError, and the
// connection ends; a reply beyond it becomes InternalError. It is at
// least 64 and at most 1 GiB, and is cut to that range. Over tRPC it counts with all headers, and the
// default is 10 MiB, as its peers have it.
func MaxFrameSize(bytes int) Option {
	return sharedOption(func(o *shared) { o.maxFrame = min(max(bytes, 64), 1<<30) })
}

// MaxDecompressedSize limits what a message that arrives compressed may hold, in bytes; default
// that of [MaxFrameSize], which limits it as it travels. It is at most 1 GiB. A call beyond it is answered with ProtocolError, over HTTP
// with status 413; no more memory than the limit is used to find that out. Messages of streams have the limit of MaxFrameSize.
func MaxDecompressedSize(bytes int) Option {
	return sharedOption(func(o *shared) { o.maxUnpacked = min(max(bytes, 64), 1<<30) })
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
// answered, and so the replies that wait for an earlier one; default 2,000. Beyond it the server stops reading from the
// connection until one is answered. It also stops while the requests in
// flight, or the replies that wait to be sent, hold more bytes than MaxFrameSize.
func MaxInFlightPerConn(n int) ServerOption {
	return serverOption(func(o *serverOptions) { o.maxPerConn = max(n, 1) })
}

// MaxConcurrentPerConn limits how many calls of one connection workers run at the
// same time; default 0, which means no limit but that of the workers. With 1 the calls of a connection run strictly one
// after another, in order of arrival. It is not for callbacks.
func MaxConcurrentPerConn(n int) ServerOption {
	return serverOption(func(o *serverOptions) { o.maxConcurrent = max(n, 0) })
}

// MaxMemory limits the bytes of requests in flight, of large ones that have
// arrived in part, and of replies that wait to be sent, over all connections;
// default 1 GiB. Beyond it the server goes on with one large request at a time, and takes
// small calls, of up to 64 KiB, of connections that have none in flight, so that
// clients which do not read cannot keep out the others.
func MaxMemory(bytes int64) ServerOption {
	return serverOption(func(o *serverOptions) { o.maxMemory = max(bytes, 1) })
}

// InOrder makes the replies of every connection keep the order of the calls,
// even if the client takes them in any.
func InOrder() ServerOption {
	return serverOption(func(o *serverOptions) { o.inOrder = true })
}

// NonStrict lets clients speak the binary protocol without the version that
// messages start with, as very old ones do; replies have it. By default they are refused,
// because such a stream can hardly be told from noise.
func NonStrict() ServerOption {
	return serverOption(func(o *serverOptions) { o.nonStrict = true })
}

// ServicesFor is asked, once the dialect of a connection is known, which
// services to serve on it instead of those that are registered; nil means
// those. Services that Register would refuse end the connection. On a connection that is HTTP it is asked before the
// first message of Thrift, and before the first request of gRPC. Several connections may be asked about at once.
func ServicesFor(f func(ConnInfo) []*Service) ServerOption {
	return serverOption(func(o *serverOptions) { o.perConn = f })
}

// IOLoops limits the connections that are served at the same time: whose calls
// are read, decoded and, if they are callbacks, run. Connections that wait for their clients do
// not count. The default 0 means no limit but the processors that Go uses.
func IOLoops(n int) ServerOption {
	return serverOption(func(o *serverOptions) { o.loops = max(n, 0) })
}

// Workers sets the number of goroutines that run calls whose handlers are not
// callbacks; default 16 for each processor that Go uses, and 64 at least, because a Go handler
// that waits holds no processor. Each takes the oldest call of the highest priority.
func Workers(n int) ServerOption {
	return serverOption(func(o *serverOptions) { o.workers = max(n, 1) })
}

// ExtraWorkers sets the number of workers that run calls of one priority only,
// so that these advance whatever else there is to do; default 2 for each but
// Normal, as fbthrift has it.
func ExtraWorkers(p Priority, n int) ServerOption {
	return serverOption(func(o *serverOptions) {
		if p >= HighImportant && p <= BestEffort {
			o.extra[p-1] = max(n, 0)
		}
	})
}

// MaxQueue limits the calls of each priority that wait for a worker; default
// 65,536. A call beyond it is answered with LoadShedding.
func MaxQueue(n int) ServerOption {
	return serverOption(func(o *serverOptions) { o.maxQueue = max(n, 1) })
}

// QueueTimeout limits the time that a call may wait for a worker; default
// 1 s, 0 means no limit. A call beyond it is answered with Timeout, give or take 10 ms, and never run. What a client
// asks for in its header queue_timeout counts instead.
func QueueTimeout(d time.Duration) ServerOption {
	return serverOption(func(o *serverOptions) { o.queueTimeout = max(d, 0) })
}

// TaskExpiry limits the time of a call from its arrival to its reply; default
// 5 s, 0 means no limit. When it has passed, give or take 10 ms, the context of the call ends and
// the client is answered with Timeout, even if the handler runs on. If the
// client says how long it waits, a tenth more than that counts instead; a method's own Expiry counts before
// the server's. Without a limit only the context of such a call ends, when its client no longer waits.
func TaskExpiry(d time.Duration) ServerOption {
	return serverOption(func(o *serverOptions) { o.taskExpiry = max(d, 0) })
}

// Overloaded is asked for every call before it is admitted, on its
// connection's loop, which it must not hold up. An error refuses the call with LoadShedding
// and the error's text.
func Overloaded(f func(call CallInfo) error) ServerOption {
	return serverOption(func(o *serverOptions) { o.overloaded = f })
}

// MaxRate limits the calls that are admitted per second, after a burst of that
// many; default no limit. A call beyond it is answered with LoadShedding.
func MaxRate(perSecond, burst int) ServerOption {
	return serverOption(func(o *serverOptions) { o.rate, o.burst = max(perSecond, 1), max(burst, 1) })
}

// CoDel refuses calls that have waited for a worker for more than twice the target while
// even the shortest wait of an interval exceeds the target, with LoadShedding; default off. Zeros mean an interval of 100 ms and a
// target of 5 ms, which are fbthrift's.
func CoDel(interval, target time.Duration) ServerOption {
	return serverOption(func(o *serverOptions) { o.codel = &codelOptions{interval, target} })
}

// AdaptiveConcurrency limits the calls in flight, over all connections, to
// what latency shows that the server can do: between least and most, which are 10
// and 1000 if they are 0; default off. A call beyond it is answered with LoadShedding.
func AdaptiveConcurrency(least, most int) ServerOption {
	return serverOption(func(o *serverOptions) { o.adaptive = &overload.AdaptiveOptions{Min: least, Max: most} })
}

// Intercept adds an interceptor, which sees calls after those added before.
func Intercept(f Interceptor) ServerOption {
	return serverOption(func(o *serverOptions) { o.interceptors = append(o.interceptors, f) })
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

// MaxConnectionAge ends connections about d after they were accepted, give or
// take a tenth, when none of their calls is in flight; default 0, which means never. Clients
// of dialects that can say so are told, and go elsewhere: that is how load moves to new servers. Over HTTP a connection
// ends with the first answer after that time.
func MaxConnectionAge(d time.Duration) ServerOption {
	return serverOption(func(o *serverOptions) { o.maxAge = max(d, 0) })
}

// Grace sets how long Shutdown goes on serving connections that are open, so
// that clients can learn that the server leaves and lose no call: each of them until its client has
// closed it or sent nothing for the time quiet, and none longer than longest.
// The default is 3 s and 500 ms. With 0 and 0 calls are refused as soon as Shutdown begins.
//
// Clients of framed and unframed messages cannot be told. What they send while the server
// closes a quiet connection is lost, as with any server; handing connections over
// to a new process, as package handover does, loses nothing. Inside TLS, in dialects with headers, our clients know of
// such a call that it was not begun, unless it is the first of its connection: [Error.Sent] is false, and package cluster makes it again.
func Grace(longest, quiet time.Duration) ServerOption {
	return serverOption(func(o *serverOptions) { o.grace, o.quiet = max(longest, 0), max(quiet, 0) })
}

// MaxHeaderSize limits the headers of a message of THeader or TTHeader, in
// bytes; default 64 KiB, 0 means the 256 KiB that a frame can have. A message beyond it is
// answered with ProtocolError. A request over HTTP/1.1 with more, and 4 KiB that count for nothing, has status 431; a
// client of HTTP/2 is told the limit, and loses its connection where it goes far beyond it.
func MaxHeaderSize(bytes int) ServerOption {
	return serverOption(func(o *serverOptions) { o.maxHead = max(bytes, 0) })
}

// Logger takes what a server has to say: at Warn level why it closed a
// connection or refused one, at Error level handlers that panicked, at Debug
// level clients that went away and connections that were idle for too long. The default is slog.Default() at the time of
// NewServer, because a close reason that nobody sees is none; to be silent
// pass slog.New(slog.DiscardHandler).
func Logger(l *slog.Logger) ServerOption {
	return serverOption(func(o *serverOptions) { o.logger = l })
}

// Framed makes a client speak framed binary, which is the default.
func Framed() ClientOption {
	return clientOption(func(o *clientOptions) { o.form.dialect, o.form.flags = transport.Framed, 0 })
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

// CompressMessages makes a client of [DialMessages] compress the messages that
// it sends; servers answer alike. The default is trpc.None; trpc's Compression.Supported says what else
// there is. gRPC has trpc.None and trpc.Gzip.
func CompressMessages(c trpc.Compression) ClientOption {
	return clientOption(func(o *clientOptions) { o.packing = c })
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

// Loss is why new calls no longer use a connection.
type Loss uint8

const (
	ConnectionFailed Loss = iota + 1 // it broke, or was silent beyond a deadline
	ServerLeaves                     // its server has said so
	GivenUp                          // the only call on it was given up, which is how its server learns of that
)

// Disconnected is told whenever new calls no longer use the connection that they used. Calls that run on it
// may go on. The next call makes a new connection, as ever. f must not wait, and is not told of calls over HTTP or of Close.
func Disconnected(f func(why Loss)) ClientOption {
	return clientOption(func(o *clientOptions) { o.lost = f })
}

// Dialer replaces net.Dialer as the way to make a connection.
func Dialer(dial func(ctx context.Context, network, address string) (net.Conn, error)) ClientOption {
	return clientOption(func(o *clientOptions) { o.dial = dial })
}
