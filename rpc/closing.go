package rpc

import (
	"crypto/tls"
	"encoding/hex"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds how a client inside TLS knows that a call was not begun when its server closes the connection.
//
// A server that closes in order has answered every call that it has read before it says close_notify, and serves nothing that
// it reads later. It says so, once, in the headers of a connection's first reply. A client that then finds a call
// without a reply behind a close_notify, which nobody can forge, knows that the call was not begun.

// keyUnread is the header of that promise. Its value is known to both ends of one TLS connection alone, so that a
// proxy that ends TLS and passes headers on does not make the promise for itself.
const keyUnread = "close_notify"

// unreadTime is how long a client that cannot write looks for a close_notify.
const unreadTime = time.Second

// unreadLabel is what the value is derived by, as RFC 5705 has it.
const unreadLabel = "EXPORTER-thrum-close-notify"

// unreadToken returns the value for a connection, empty if it can have none: before TLS 1.3 without extended master secrets.
func unreadToken(state *tls.ConnectionState) string {
	token, err := state.ExportKeyingMaterial(unreadLabel, nil, 16)
	if err != nil {
		return ""
	}
	return hex.EncodeToString(token)
}

// promise adds the promise to the headers of a connection's first reply.
func (c *serverConn) promise(pairs []transport.Pair) []transport.Pair {
	if c.tls == nil || !c.form.hasHeaders() || c.promised.Swap(true) {
		return pairs
	}
	if token := unreadToken(c.tls); token != "" {
		pairs = append(pairs, transport.Pair{Key: keyUnread, Value: token})
	}
	return pairs
}

// clientTLS is a connection that does not hold up who closes it.
type clientTLS struct {
	*tls.Conn
	under *watched
}

// Close says goodbye, for which a server that reads no more has five seconds, on a goroutine.
func (c *clientTLS) Close() error {
	go c.Conn.Close()
	return nil
}

// watched is a connection that knows whether reading it has failed. package crypto/tls takes its end for a close_notify.
type watched struct {
	net.Conn
	ended atomic.Bool
}

// Read notes an error.
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if err != nil {
		w.ended.Store(true)
	}
	return n, err
}

// hear notes the promise, if the headers of a reply hold that of this connection.
func (cc *clientConn) hear(h *heads) {
	secured, ok := cc.sock.nc.(*clientTLS)
	if !ok || cc.promised.Load() {
		return
	}
	token, ok := h.pairs.Get(keyUnread)
	if !ok {
		token, ok = h.strings.Get(keyUnread)
	}
	if !ok {
		return
	}
	state := secured.ConnectionState()
	if want := unreadToken(&state); want != "" && string(token) == want {
		cc.promised.Store(true)
	}
}

// unread reports whether the server, which the connection has ended with err, has read no call that it has not answered.
func (cc *clientConn) unread(err error) bool {
	if !cc.promised.Load() || len(cc.sock.in.Bytes()) > 0 {
		return false
	}
	secured := cc.sock.nc.(*clientTLS)
	return err == io.EOF && !secured.under.ended.Load()
}
