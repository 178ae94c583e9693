package rpc

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file joins HTTP to the engine. A connection that turns out to be HTTP is
// handed to package thrifthttp, which has its own way to read and write; each message that
// it brings is then a connection of its own to the engine, with one call, whose reply is
// not written but taken out of the queue.

// errHTTP ends the reading of a connection that is HTTP.
var errHTTP = errors.New("HTTP")

// newHTTP returns what serves the connections that are HTTP.
func (s *Server) newHTTP() *thrifthttp.Server {
	streams := min(s.opt.maxPerConn, 1000)
	if s.opt.maxConcurrent > 0 {
		streams = min(streams, s.opt.maxConcurrent)
	}
	return thrifthttp.New(thrifthttp.Options{
		Exchange: s.exchange, Fallback: s.opt.fallback, GRPC: http.HandlerFunc(s.serveGRPC), Report: s.reportHTTP,
		MaxBody: s.opt.maxFrame, MaxUnpacked: s.opt.maxUnpacked, MaxHeader: cmp.Or(s.opt.maxHead, ttheader.MaxHeader), MaxHeld: s.opt.maxMemory, MaxStreams: streams,
		ReadTime: orNone(s.opt.readTimeout), WriteTime: orNone(s.opt.writeTimeout), IdleTime: orNone(s.opt.idleTimeout),
		Logger: s.opt.logger,
	})
}

// orNone returns a limit as thrifthttp has it, where 0 is the default and less is none.
func orNone(d time.Duration) time.Duration {
	if d <= 0 {
		return -1
	}
	return d
}

// reportHTTP notes a request that is refused.
func (s *Server) reportHTTP(r *http.Request, status int, reason error) {
	s.counts.httpRefused.Add(1)
	level := slog.LevelWarn
	if r.Context().Err() != nil { // the client has gone
		level = slog.LevelDebug
	}
	s.opt.logger.LogAttrs(context.Background(), level, "rpc: HTTP request refused",
		slog.String("remote", r.RemoteAddr), slog.Int("status", status), slog.Any("reason", reason))
}

// refuseHTTP answers a connection beyond MaxConnections that is HTTP, and returns why reading ends.
func (c *serverConn) refuseHTTP() error {
	if !c.refuse {
		return errHTTP
	}
	c.srv.counts.refused[RefusedConnection].Add(1)
	c.tellHTTP("503 Service Unavailable", refusalTexts[RefusedConnection].message)
	return errRefused
}

// tellHTTP writes an answer to a connection that is HTTP and is not served.
func (c *serverConn) tellHTTP(status, text string) {
	c.sock.nc.SetWriteDeadline(time.Now().Add(refusalTime))
	io.WriteString(c.sock.nc, "HTTP/1.1 "+status+"\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\n"+text+"\n")
}

// handOver gives the connection to the server's HTTP. It reports false if the
// connection has ended.
func (c *serverConn) handOver() bool {
	c.mu.Lock()
	if c.dead || c.finished {
		c.mu.Unlock()
		return false
	}
	c.handed = true
	read, block := c.sock.in.Take(len(c.sock.in.Bytes()))
	web := &httpConn{Conn: c.sock.nc, conn: c}
	if thrifthttp.IsHTTP2(read) {
		web.http2 = newGatheredConn(c.sock, &c.srv.buffers, c.srv.opt.writeTimeout)
		web.http2.bye = &farewell{pending: c.leaving.Load()}
		web.Conn = web.http2
	} else {
		c.sock.in.Close()
	}
	if c.aged.Load() { // when its first request had not come, or so it seemed
		c.until = c.srv.clock()
		web.aged.Store(c.until)
	}
	c.web = web
	c.mu.Unlock()
	c.sock.nc.SetReadDeadline(time.Time{})
	c.srv.http.ServeConn(web, read, c.tls)
	block.Release()
	return true
}

// httpConn is a connection that was handed over.
type httpConn struct {
	net.Conn
	conn    *serverConn
	http2   *gatheredConn // that Conn is; nil for HTTP/1.1
	streams atomic.Int64  // over gRPC, whose handlers run
	aged    atomic.Int64  // when the first answer was given that found the connection too old; 0 for none

	mu  sync.Mutex
	own map[transport.Dialect]*registry // of this connection alone, once they were asked for; nil for the server's
}

// services returns the services of the connection for a dialect: its own, or the server's.
func (h *httpConn) services(s *Server, d transport.Dialect) (*registry, error) {
	if h == nil || s.opt.perConn == nil {
		return s.registry.Load(), nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	own, asked := h.own[d]
	if !asked {
		var err error
		own, err = s.servicesFor(ConnInfo{Remote: h.RemoteAddr(), Local: h.LocalAddr(), Dialect: d, TLS: h.conn.tls})
		if err != nil {
			h.conn.log(slog.LevelWarn, "rpc: connection closed", err)
			s.counts.brokenConns.Add(1)
			h.Close()
			return nil, err
		}
		if h.own == nil {
			h.own = map[transport.Dialect]*registry{}
		}
		h.own[d] = own
	}
	if own == nil {
		return s.registry.Load(), nil
	}
	return own, nil
}

// old reports whether the connection is to end for its age, and for how long its client may have known.
func (h *httpConn) old(s *Server) (known time.Duration, old bool) {
	if h == nil || h.conn.until == 0 {
		return 0, false
	}
	now := s.clock()
	if now < h.conn.until {
		return 0, false
	}
	if h.aged.CompareAndSwap(0, now) {
		s.counts.aged.Add(1)
	}
	return time.Duration(now - h.aged.Load()), true
}

// Close closes the connection, and its server forgets it.
func (h *httpConn) Close() error {
	err := h.Conn.Close()
	h.conn.srv.remove(h.conn)
	return err
}

// CloseWrite ends the sending half, where there are halves.
func (h *httpConn) CloseWrite() error {
	if half, ok := h.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// exchange answers one message that has come over HTTP.
func (s *Server) exchange(ctx context.Context, r *thrifthttp.Request) (thrifthttp.Reply, error) {
	c := s.newExchange(transport.HTTP, r.RemoteAddr, r.TLS)
	web, _ := r.Conn.(*httpConn)
	var err error
	if c.methods, err = web.services(s, transport.HTTP); err != nil {
		r.Block.Release()
		return thrifthttp.Reply{}, err
	}
	taken := false
	defer c.abandon(&taken)
	oneway, err := c.takeMessage(r)
	taken = true
	if err != nil || oneway {
		return thrifthttp.Reply{Header: s.leaving(web, nil)}, err
	}
	select {
	case <-c.replied:
	case <-ctx.Done():
		c.giveUp()
		return thrifthttp.Reply{}, ctx.Err()
	}
	reply := c.takeReply()
	reply.Header = s.leaving(web, reply.Header)
	return reply, nil
}

// newExchange returns a connection of its own to the engine, for one call.
func (s *Server) newExchange(d transport.Dialect, remote net.Addr, state *tls.ConnectionState) *serverConn {
	c := &serverConn{srv: s, remote: remote, tls: state, replied: make(chan struct{})}
	c.writing = true // there is nothing to write to
	c.form.dialect, c.form.loose = d, d == transport.HTTP && s.opt.nonStrict
	c.room.L = &c.mu
	c.out.pool = &s.buffers
	return c
}

// leaving adds to the fields of an answer that the client is to use the
// connection no more, if the server is stopping or web is old. HTTP/2 has a farewell for that. A client that goes on for long with
// an old connection is cut off by the field, which becomes net/http's GOAWAY.
func (s *Server) leaving(web *httpConn, h http.Header) http.Header {
	known, old := web.old(s)
	if !s.stopping.Load() && !old {
		return h
	}
	if web != nil && web.http2 != nil && known <= farewellTime {
		web.http2.leave()
		return h
	}
	if h == nil {
		h = http.Header{}
	}
	h.Set("Connection", "close")
	return h
}

// takeMessage takes the call in a message, and reports whether it has no reply.
func (c *serverConn) takeMessage(r *thrifthttp.Request) (oneway bool, err error) {
	c.beginTurn()
	defer c.endTurn()
	call := c.srv.newCall(c)
	call.size = len(r.Message)
	call.heads.given, err = pairsOf(r.Header)
	var refused refusal
	if err == nil {
		if refused, err = c.open(call, r.Message); err != nil {
			err = &thrifthttp.StatusError{Status: http.StatusBadRequest, Detail: err.Error()}
		}
	}
	if err != nil {
		r.Block.Release()
		return false, err
	}
	call.block, oneway = r.Block, call.oneway // the call is another one's once it has left
	return oneway, c.take(call, refused)
}

// takeReply takes the reply, which is in the queue.
func (c *serverConn) takeReply() thrifthttp.Reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := thrifthttp.Reply{Header: fieldsOf(c.replyHeads), Release: c.releaseReply}
	for _, s := range c.out.segments {
		out.Message = append(out.Message, s.view)
	}
	return out
}

// releaseReply gives the reply's memory back.
func (c *serverConn) releaseReply() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.srv.memory.Add(-int64(c.out.size))
	c.out.release()
}

// giveUp ends the call of a client that has gone.
func (c *serverConn) giveUp() {
	c.mu.Lock()
	c.gone.Store(true)
	c.dead = true
	c.cancelCalls(context.Canceled)
	c.mu.Unlock()
	c.releaseReply() // which may have come meanwhile
}

// abandon gives up a call whose callback, or the user's judge of load, has ended the goroutine that serves it. Then net/http
// ends the connection, or over HTTP/2 the stream.
func (c *serverConn) abandon(taken *bool) {
	if !*taken {
		c.uncountPartial()
		c.giveUp()
	}
}

// pairsOf returns the headers of a request under their names in the other dialects.
func pairsOf(h http.Header) ([]transport.Pair, error) {
	m, err := thrifthttp.ParseMetadata(h, thrifthttp.DefaultLimits())
	if err != nil {
		return nil, err
	}
	pairs := m.Plain
	for _, p := range m.Transient {
		pairs = append(pairs, transport.Pair{Key: transientPrefix + p.Key, Value: p.Value})
	}
	for _, p := range m.Persistent {
		pairs = append(pairs, transport.Pair{Key: persistentPrefix + p.Key, Value: p.Value})
	}
	return pairs, nil
}

// fieldsOf returns pairs as header fields, without those that no field can
// hold. Fields have no case, so a key in capitals is one of Kitex's, which come back so.
func fieldsOf(pairs []transport.Pair) http.Header {
	if len(pairs) == 0 {
		return nil
	}
	h := http.Header{}
	for _, p := range pairs {
		var m thrifthttp.Metadata
		if key, ok := strings.CutPrefix(p.Key, persistentPrefix); ok {
			m.Persistent = []transport.Pair{{Key: key, Value: p.Value}}
		} else if key, _ := strings.CutPrefix(p.Key, transientPrefix); key == strings.ToUpper(key) && key != strings.ToLower(key) {
			m.Transient = []transport.Pair{{Key: key, Value: p.Value}}
		} else {
			m.Plain = []transport.Pair{p}
		}
		_ = m.AppendTo(h) // refused as a whole, like what does not fit into a frame
	}
	return h
}
