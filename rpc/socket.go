package rpc

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds how a connection meets the network: a socket that
// holds no buffer while it waits, and that can be asked to write only what it
// takes at once.

// socket is a connection's way to the network. Reads and writes may happen at
// the same time, but no two of either.
type socket struct {
	nc  net.Conn
	end net.Conn // what is closed: nc, or what TLS runs on, since its Close may wait for the client
	in  *transport.Reader
	raw syscall.RawConn // nil for what is no plain socket of the system, as TLS

	// Of the reader.
	want    int
	readErr error
	read    func(fd uintptr) bool // readOnce, made once

	// Of the writer.
	out      []byte
	written  int
	writeErr error
	write    func(fd uintptr) bool // writeOnce, made once
}

// errAgain is what readSome and writeSome return if the system has nothing or
// no room.
var errAgain = errors.New("try again")

func newSocket(nc net.Conn, pool *transport.Pool) *socket {
	s := &socket{nc: nc, end: nc, in: transport.NewReader(nc, pool)}
	if raw := rawConn(nc); raw != nil {
		s.raw = raw
		s.read, s.write = s.readOnce, s.writeOnce
	}
	return s
}

// rawConn returns the descriptor of a plain socket, nil for all else: what
// embeds one and has a Read or Write of its own is not passed by.
func rawConn(nc net.Conn) syscall.RawConn {
	if !rawSockets {
		return nil
	}
	var c syscall.Conn
	switch nc := nc.(type) {
	case *net.TCPConn:
		c = nc
	case *net.UnixConn:
		c = nc
	default:
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// close closes the connection at once.
func (s *socket) close() { s.end.Close() }

// fill reads once into the Reader; want is as in its Fill. While nothing
// arrives and no message has begun, a plain socket holds no memory.
func (s *socket) fill(want int) error {
	if s.raw == nil {
		return s.in.Fill(want)
	}
	s.want, s.readErr = want, nil
	if err := s.raw.Read(s.read); err != nil {
		return err
	}
	return s.readErr
}

// readOnce reads what has arrived; false waits for more.
func (s *socket) readOnce(fd uintptr) bool {
	n, err := readSome(fd, s.in.Room(s.want))
	switch {
	case err == errAgain:
		s.in.Yield()
		return false
	case err != nil:
		s.readErr = err
	case n == 0:
		s.readErr = io.EOF
	}
	s.in.Filled(n)
	return true
}

// fillNow reads into the Reader what has arrived. If that is nothing, the
// error is a timeout.
func (s *socket) fillNow(want int) error {
	if s.raw == nil {
		s.nc.SetReadDeadline(time.Now().Add(time.Millisecond)) // none would be read once it has passed
		return s.in.Fill(want)
	}
	s.want, s.readErr = want, nil
	nothing := false
	if err := s.raw.Control(func(fd uintptr) { nothing = !s.readOnce(fd) }); err != nil {
		return err
	}
	if nothing {
		return syscall.EAGAIN
	}
	return s.readErr
}

// tryWrite writes what the system takes without waiting.
func (s *socket) tryWrite(b []byte) (int, error) {
	if s.raw == nil {
		return 0, nil
	}
	s.out, s.written, s.writeErr = b, 0, nil
	err := s.raw.Write(s.write)
	s.out = nil
	if err == nil {
		err = s.writeErr
	}
	return s.written, err
}

// writeOnce never waits, and so always returns true.
func (s *socket) writeOnce(fd uintptr) bool {
	n, err := writeSome(fd, s.out)
	if err != errAgain {
		s.written, s.writeErr = n, err
	}
	return true
}
