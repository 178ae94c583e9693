package rpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds how a server reads what stands around the arguments of a call: its headers
// and envelope, and which method it is for.

// open reads what stands around a call's arguments, and finds its method or
// the reason to refuse it.
func (c *serverConn) open(call *serverCall, frame []byte) (refusal, error) {
	c.arrivals++
	message, err := call.form.open(frame, &call.heads, &c.srv.transformer, &c.srv.opt.shared)
	unread := unreadable(err)
	if err != nil && unread == nil {
		return refusal{}, err
	}
	if err := c.checkFlags(&call.form); err != nil {
		return refusal{}, err
	}
	c.readHeads(call)
	call.oneway = call.form.oneway()
	if unread != nil {
		call.seq = int32(call.form.sequence)
		return refusal{cause: RefusedMessage, exception: unread}, nil
	}
	call.size = max(call.size, cap(message)) // it is more than the frame if it was compressed
	if c.openAgain(call, message) {
		return refusal{}, nil
	}
	m, n := call.form.envelope(message)
	if n < 0 {
		return refusal{}, &diag.Fault{Code: diag.InvalidHeader, Offset: 0, Detail: "broken message envelope", Cause: thriftwire.Error(n)}
	}
	call.seq, call.args = m.SequenceID, message[n:]
	call.oneway = call.oneway || m.Type == thriftwire.Oneway
	return c.find(call, m), nil
}

// openAgain reads the message of a call that is of the same method as the last one, which
// most are, has a reply and is in the binary protocol. It reports false for all others.
func (c *serverConn) openAgain(call *serverCall, message []byte) bool {
	n := len(c.head)
	if n == 0 || len(message) < n+4 || string(message[:n]) != c.head || c.latestOf != c.services {
		return false
	}
	m := c.latest
	call.seq, call.args = int32(binary.BigEndian.Uint32(message[n:])), message[n+4:]
	call.method, call.name = m, m.Name
	return true
}

// unreadable returns why a message cannot be read though the stream goes on,
// nil if it is not for that.
func unreadable(err error) *ApplicationException {
	if err == nil {
		return nil // before there is a variable, which takes memory
	}
	var e *ApplicationException
	errors.As(err, &e)
	return e
}

// find finds the method that a message calls, or the reason to refuse it.
func (c *serverConn) find(call *serverCall, m thriftwire.Message) refusal {
	if m.Type != thriftwire.Call && m.Type != thriftwire.Oneway {
		call.name = string(bareName(m.Name))
		return refusal{cause: RefusedMessage, exception: exceptionf(InvalidMessageType, "a server takes calls, not a %s", m.Type)}
	}
	method, unknown := c.latest, (*ApplicationException)(nil)
	if method == nil || c.latestOf != c.services || string(m.Name) != method.Name {
		method, unknown = c.services.lookup(m.Name, m.Type == thriftwire.Oneway)
	}
	named := false
	if unknown != nil {
		if method = c.findNamed(call, m); method == nil {
			call.name = string(bareName(m.Name))
			return refusal{cause: RefusedMethod, exception: unknown}
		}
		named = true
	}
	if method.form == formStream {
		call.name = method.Name
		return refusal{cause: RefusedMethod, exception: exceptionf(UnknownMethod, "method %q streams, and is called so", clip(m.Name))}
	}
	if !named && !method.unknown && string(m.Name) == method.Name { // which stands for one service alone
		c.latest, c.latestOf, c.head = method, c.services, ""
		if call.form.protocol == 0 && !method.Oneway {
			c.head = method.head
		}
	}
	if method.Oneway && m.Type != thriftwire.Oneway {
		c.silence()
	}
	call.method, call.name = method, method.Name
	call.oneway = call.oneway || method.Oneway
	return refusal{}
}

// findNamed finds a method that no bare name leads to in the service that the headers name, as Kitex's clients do. It
// returns nil if there is none.
func (c *serverConn) findNamed(call *serverCall, m thriftwire.Message) *Method {
	if call.form.dialect != transport.TTHeader || call.heads.strings.Len() == 0 {
		return nil
	}
	service, ok := call.heads.strings.Get(ttheader.KeyServiceName)
	if !ok || bytes.Contains(m.Name, []byte(separator)) {
		return nil
	}
	name := slices.Concat(service, []byte(separator), m.Name)
	method, _ := c.services.lookup(name, m.Type == thriftwire.Oneway)
	return method
}

// silence notes that a call which waits for a reply, as its client's IDL says, gets none.
func (c *serverConn) silence() {
	c.mu.Lock()
	c.mute = true
	c.mu.Unlock()
}

// checkFlags sees to it that a connection's calls agree on the order of
// replies; the first one decides.
func (c *serverConn) checkFlags(f *form) error {
	if !f.hasHeaders() {
		return nil
	}
	anyOrder := f.flags&header.OutOfOrder != 0 // the same bit in TTHeader
	if !c.flagged {
		c.mu.Lock()
		c.flagged, c.anyOrder = true, anyOrder
		c.outOfOrder = anyOrder && !c.srv.opt.inOrder
		c.mu.Unlock()
	}
	if c.anyOrder != anyOrder {
		return diag.NewFault(diag.InvalidHeader, -1, "the client changed its mind about the order of replies")
	}
	f.flags &= header.OutOfOrder // no other is for a reply
	return nil
}

// consumeEnvelope reads a message's envelope. A message type that does not
// exist is no error, so that it can be answered.
func consumeEnvelope(b []byte) (thriftwire.Message, int) {
	m, n := thriftwire.ConsumeMessage(b)
	if n != thriftwire.ErrType {
		return m, n
	}
	m.Type = thriftwire.MessageType(b[3])
	name, n := thriftwire.ConsumeBytes(b[4:])
	if n < 0 {
		return m, n
	}
	seq, k := thriftwire.ConsumeI32(b[4+n:])
	if k < 0 {
		return m, k
	}
	m.Name, m.SequenceID = name, seq
	return m, 4 + n + k
}

// consumeLooseEnvelope reads the envelope of a message without a version: its
// name, type and sequence id.
func consumeLooseEnvelope(b []byte) (m thriftwire.Message, n int) {
	name, n := thriftwire.ConsumeBytes(b)
	switch {
	case n < 0:
		return m, n
	case len(b) <= n:
		return m, thriftwire.ErrEOF
	}
	seq, k := thriftwire.ConsumeI32(b[n+1:])
	if k < 0 {
		return m, k
	}
	return thriftwire.Message{Name: name, Type: thriftwire.MessageType(b[n]), SequenceID: seq}, n + 1 + k
}
