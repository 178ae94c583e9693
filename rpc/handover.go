package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds how a connection goes from one server to another, in another
// process: between two messages, with what has been read of the next one.

// HandOver is Shutdown for a server whose place another process takes. Connections
// that a descriptor is all of are not closed but given away, when what has been read
// of them is answered, by give, which passes the descriptor and the state on
// to [Server.Adopt] of the new process. Their clients notice nothing. Clients that take replies in any order
// are told first, as by Shutdown, so that a slow call of theirs holds up no other; those
// which have not left in the time that [Grace] says are given away then.
// Connections inside TLS and those of HTTP end as by Shutdown.
//
// give may be called by many goroutines at the same time. It must not close
// the connection, nor use it after it has returned. Where it fails, the connection is closed.
func (s *Server) HandOver(ctx context.Context, give func(conn net.Conn, state []byte) error) error {
	s.mu.Lock()
	s.give = give
	s.mu.Unlock()
	return s.Shutdown(ctx)
}

// Adopt serves a connection that a server in another process has given away,
// as if the server had accepted it. It fails, and closes conn, if state is not of HandOver or the
// server has too many connections or is stopping.
func (s *Server) Adopt(conn net.Conn, state []byte) error {
	unread, sticky, err := parseState(state)
	if err != nil {
		conn.Close()
		return err
	}
	if !s.take(conn, func(c *serverConn) { c.resume(unread, sticky) }) {
		return errNotAdopted
	}
	return nil
}

// errNotAdopted is the error of Adopt where the server takes no connection.
var errNotAdopted = errors.New("rpc: the server takes no more connections")

// stateVersion is the first byte of the state of a connection.
const stateVersion = 1

// appendState appends what the next server must know of a connection: what
// has been read of a message, and the persistent headers.
func appendState(b, unread []byte, sticky []transport.Pair) []byte {
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	b = append(b, stateVersion)
	b = append(binary.AppendUvarint(b, uint64(len(unread))), unread...)
	b = binary.AppendUvarint(b, uint64(len(sticky)))
	for _, p := range sticky {
		text(p.Key)
		text(p.Value)
	}
	return b
}

// parseState reads what appendState has written. unread aliases b.
func parseState(b []byte) (unread []byte, sticky []transport.Pair, err error) {
	broken := diag.NewFault(diag.InvalidHeader, 0, "not the state of a connection")
	if len(b) == 0 || b[0] != stateVersion {
		return nil, nil, broken
	}
	b = b[1:]
	next := func() []byte {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			err = broken
			return nil
		}
		piece := b[n : n+int(size)]
		b = b[n+int(size):]
		return piece
	}
	unread = next()
	count, n := binary.Uvarint(b)
	if err != nil || n <= 0 || count > maxSticky {
		return nil, nil, broken
	}
	b = b[n:]
	for range count {
		sticky = append(sticky, transport.Pair{Key: string(next()), Value: string(next())})
	}
	if err != nil || len(b) > 0 {
		return nil, nil, broken
	}
	return unread, sticky, nil
}

// resume makes a new connection go on where another server has stopped.
func (c *serverConn) resume(unread []byte, sticky []transport.Pair) {
	c.sticky = sticky
	for rest := unread; len(rest) > 0; {
		n := copy(c.sock.in.Room(len(unread)), rest)
		c.sock.in.Filled(n)
		rest = rest[n:]
	}
}

// errParting ends the reading of a connection that is given away.
var errParting = errors.New("given to another server")

// movable reports whether the connection can be given away. c.mu is held.
func (c *serverConn) movable() bool {
	return c.srv.stopping.Load() && c.srv.give != nil && c.sock != nil && c.sock.raw != nil && c.tls == nil && !c.shaking && !c.handed && !c.refuse && !c.insecure
}

// awaitAnswers waits until nothing of the connection is left to answer, and
// reports whether it is to be given away then. It is for the loop.
func (c *serverConn) awaitAnswers() bool {
	if !c.leaving.Load() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.parting || !c.movable() {
		return false
	}
	for !c.answeredAll() && !c.dead {
		c.room.Wait()
	}
	return !c.dead
}

// mayPart reports whether the connection, which may end, is given away.
func (c *serverConn) mayPart() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.movable()
}

// giveAway gives the connection, on which nothing is left to answer, to
// another server, and reports whether it could.
func (c *serverConn) giveAway() bool {
	state := appendState(nil, c.sock.in.Bytes(), c.sticky)
	if err := c.srv.give(c.sock.nc, state); err != nil {
		c.log(slog.LevelWarn, "rpc: connection not handed over", err)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone.Store(true)
	c.readDone, c.dead, c.finished = true, true, true
	return true
}
