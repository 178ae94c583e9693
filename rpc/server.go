package rpc

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thrum-rpc/thrum/rpc/internal/overload"
	"github.com/thrum-rpc/thrum/rpc/internal/workers"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds the Server: its listeners, its set of connections and how it stops.

// Server serves registered services on any number of listeners. Its methods
// are safe for concurrent use.
//
// The calls of one connection run concurrently, up to a bound. Their replies
// go out as they complete if the client says in its headers that it takes them so, else in order of
// arrival, because framed and unframed clients cannot take them in another one.
// Callbacks run where their connection is read, all other calls on workers that
// the connections share.
type Server struct {
	opt      serverOptions
	epoch    time.Time // of its clock
	registry atomic.Pointer[registry]
	stopping atomic.Bool                  // by Shutdown or Close; set with mu held
	closing  atomic.Bool                  // and calls are refused
	closed   atomic.Bool                  // by Close, which ends all that runs
	give     func(net.Conn, []byte) error // of HandOver; constant once the server is stopping
	inFlight atomic.Int64                 // calls admitted that have not left
	memory   atomic.Int64                 // bytes of requests in flight and replies that wait to be sent
	favoured atomic.Pointer[serverConn]   // the one that may exceed MaxMemory
	counts   counters

	loops chan struct{} // holds a token for each connection in a turn; nil for no limit
	pool  *workers.Pool

	unpacking chan struct{}         // holds a token for each call that is being decompressed
	sweeper   sweeper               // of calls that may expire
	rests     sweeper               // of connections that may rest
	rate      *overload.TokenBucket // these are nil if not asked for
	codel     *overload.CoDel
	adaptive  *overload.Adaptive

	calls       sync.Pool // of *serverCall
	http        *thrifthttp.Server
	blocks      transport.Pool
	buffers     bufferPool
	batches     batchPool
	transformer header.Transformer
	compressor  trpc.Compressor

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*serverConn]struct{} // with those that are being refused
	served    int                      // conns without those that are being refused
	empty     chan struct{}            // closed once the server is stopping and no listener and connection is left
}

// NewServer returns a server without services. See the ServerOption and
// Option functions for its limits and their defaults.
func NewServer(opts ...ServerOption) *Server {
	s := &Server{
		opt:       defaultServerOptions(),
		epoch:     time.Now(),
		listeners: map[net.Listener]struct{}{},
		conns:     map[*serverConn]struct{}{},
	}
	for _, o := range opts {
		o.applyServer(&s.opt)
	}
	if s.opt.logger == nil {
		s.opt.logger = slog.Default()
	}
	s.opt.tls = serverTLS(s.opt.tls)
	s.registry.Store(&registry{})
	s.empty = make(chan struct{})
	s.sweeper = sweeper{srv: s, interval: sweepInterval, look: (*serverConn).expire, round: s.refuseLate}
	s.rests = sweeper{srv: s, interval: restInterval, look: (*serverConn).rest}
	s.unpacking = make(chan struct{}, runtime.GOMAXPROCS(0))
	if s.opt.loops > 0 {
		s.loops = make(chan struct{}, s.opt.loops)
	}
	s.pool = workers.New(workers.Options{Workers: s.opt.workers, Extra: s.opt.extra, MaxQueue: s.opt.maxQueue})
	s.newOverload()
	s.http = s.newHTTP()
	return s
}

// Serves reports whether a service of that name is registered.
func (s *Server) Serves(service string) bool {
	return slices.ContainsFunc(s.registry.Load().services, func(own *Service) bool { return own.Name == service })
}

// clock returns the nanoseconds since the server was made, which no change of
// the system's time disturbs. It is never 0.
func (s *Server) clock() int64 { return int64(time.Since(s.epoch)) + 1 }

// Register adds a service, before or while the server serves.
//
// Each method can be called as "Service:method" (Apache's multiplexed
// protocol) and by its bare name. A bare name that several services have is
// no error, because services often extend the same base; calls to it go to the service that their headers name, as those
// of Kitex's clients do over TTHeader, and others are answered with UnknownMethod and a message that names the services.
//
// Register refuses a service name that is taken (one service may have the
// empty name, and be called by bare names only), a method that stands twice or
// has no Serve, and names that contain ":". A refused service changes nothing.
func (s *Server) Register(service *Service) error { return s.register(service, false) }

// Replace puts a service in the place of the one that has its name, or adds it.
// Calls that have arrived end with the methods that they found; no call in between
// finds neither. A service that Register would refuse for another reason
// than its name changes nothing.
func (s *Server) Replace(service *Service) error { return s.register(service, true) }

func (s *Server) register(service *Service, replace bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.registry.Load().with(service, replace)
	if err != nil {
		return err
	}
	s.registry.Store(next)
	return nil
}

// Serve accepts connections from l until the server stops, and then returns
// [ErrServerClosed]; any other error is the listener's. It closes l before it returns.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.stopping.Load() {
		s.mu.Unlock()
		l.Close()
		return ErrServerClosed
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer func() {
		l.Close() // before Shutdown can return
		s.mu.Lock()
		delete(s.listeners, l)
		s.checkEmpty()
		s.mu.Unlock()
	}()

	var pause time.Duration
	for {
		nc, err := l.Accept()
		if err == nil {
			pause = 0
			s.start(nc)
			continue
		}
		var temporary interface{ Temporary() bool }
		switch {
		case s.stopping.Load():
			s.acceptLast(l, err)
			return ErrServerClosed
		case errors.As(err, &temporary) && temporary.Temporary():
			// Out of descriptors, most likely: waiting lets some be closed.
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.opt.logger.Warn("rpc: cannot accept a connection", "reason", err, "retry", pause)
			time.Sleep(pause)
		default:
			return err
		}
	}
}

// maxRefusing bounds the connections beyond MaxConnections that are kept long
// enough to tell the client why; further ones are closed at once.
const maxRefusing = 64

// start makes nc a connection of the server.
func (s *Server) start(nc net.Conn) { s.take(nc, nil) }

// take is start, and reports whether the server takes the connection; prepare
// may change it before it is served.
func (s *Server) take(nc net.Conn, prepare func(*serverConn)) bool {
	s.mu.Lock()
	refuse, late := s.served >= s.opt.maxConns, s.tooLate()
	if late || refuse && (prepare != nil || len(s.conns)-s.served >= maxRefusing) {
		s.mu.Unlock()
		s.reject(nc, late)
		return false
	}
	c := newServerConn(s, nc, refuse)
	s.conns[c] = struct{}{}
	if !refuse {
		s.served++
	}
	stopping := s.stopping.Load()
	s.mu.Unlock()
	if prepare != nil {
		prepare(c)
	}
	s.counts.conns.Add(1)
	if stopping {
		c.drain()
	}
	go c.loop()
	return true
}

// tooLate reports whether the server takes no more connections. While it only
// has begun to stop, it takes those that had been made for it. s.mu is held.
func (s *Server) tooLate() bool {
	select {
	case <-s.empty:
		return true
	default:
		return s.closing.Load()
	}
}

// reject closes a connection that is not served.
func (s *Server) reject(nc net.Conn, late bool) {
	nc.Close()
	if !late {
		s.counts.refused[RefusedConnection].Add(1)
		s.opt.logger.Warn("rpc: connection refused", "remote", nc.RemoteAddr(), "reason", "too many connections")
	}
}

// remove forgets a connection that has ended.
func (s *Server) remove(c *serverConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.conns[c]; !ok {
		return
	}
	delete(s.conns, c)
	s.favoured.CompareAndSwap(c, nil)
	if !c.refuse {
		s.served--
	}
	s.checkEmpty()
}

// checkEmpty closes empty when nothing is left of a server that is stopping. s.mu is held.
func (s *Server) checkEmpty() {
	if !s.stopping.Load() || len(s.conns) > 0 || len(s.listeners) > 0 {
		return
	}
	select {
	case <-s.empty:
	default:
		close(s.empty)
	}
}

// Close stops the server at once: it closes the listeners and the connections
// and ends the contexts of running calls, without waiting for their handlers.
func (s *Server) Close() error {
	s.closing.Store(true)
	s.closed.Store(true)
	conns, _ := s.stop(false)
	for _, c := range conns {
		c.abort()
	}
	s.http.Close()
	now, cancel := context.WithCancel(context.Background())
	cancel()
	s.pool.Close(now) // which lets what runs end, and does not wait for it
	return nil
}
