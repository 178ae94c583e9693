package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds how a server's connection comes to speak TLS.

// handshakeTime limits a TLS handshake.
const handshakeTime = 10 * time.Second

// errInsecure ends the reading of a connection in the clear where TLS is required.
var errInsecure = errors.New("the client speaks in the clear, and TLS is required")

// errHandshake ends a connection whose TLS handshake has failed, of which the client knows.
var errHandshake = fmt.Errorf("no TLS: %w", io.EOF)

// serverTLS returns the configuration of handshakes: the user's, with names for ALPN.
func serverTLS(config *tls.Config) *tls.Config {
	if config == nil || config.NextProtos != nil {
		return config
	}
	config = config.Clone()
	config.NextProtos = []string{"thrift", "h2", "http/1.1"}
	return config
}

// replayed is a connection whose beginning has been read.
type replayed struct {
	net.Conn
	rest []byte
}

// Read returns what has been read before first.
func (r *replayed) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		return r.Conn.Read(b)
	}
	n := copy(b, r.rest)
	if r.rest = r.rest[n:]; len(r.rest) == 0 {
		r.rest = nil
	}
	return n, nil
}

// startTLS makes the connection one of TLS. What it reads next is inside.
func (c *serverConn) startTLS() error {
	plain := c.sock
	secured := tls.Server(&replayed{plain.nc, slices.Clone(plain.in.Bytes())}, c.srv.opt.tls)
	plain.in.Close()
	c.mu.Lock()
	c.shaking = true
	plain.nc.SetDeadline(time.Now().Add(handshakeTime))
	c.mu.Unlock()
	if err := secured.HandshakeContext(context.Background()); err != nil {
		c.srv.counts.handshakes.Add(1)
		level := slog.LevelWarn
		if errors.Is(err, io.EOF) { // as what looks whether a port is open
			level = slog.LevelDebug
		}
		c.log(level, "rpc: TLS handshake failed", err)
		return errHandshake
	}
	state := secured.ConnectionState()
	inside := newSocket(secured, &c.srv.blocks)
	inside.end = plain.end
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shaking, c.woken, c.stale = false, false, true
	if c.dead || c.finished {
		return net.ErrClosed
	}
	plain.nc.SetDeadline(time.Time{})
	c.sock, c.tls, c.timed, c.armed = inside, &state, false, false
	return nil
}

// refuseInsecure refuses a client that does not speak TLS: HTTP at once, which
// it reports, other dialects that are served when their first call is there.
func (c *serverConn) refuseInsecure(dialect transport.Dialect) bool {
	c.insecure = true
	if dialect != transport.HTTP {
		return false
	}
	c.srv.counts.refused[RefusedInsecure].Add(1)
	c.tellHTTP("400 Bad Request", refusalTexts[RefusedInsecure].message)
	return true
}
