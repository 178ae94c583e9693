package rpc

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds how a Client's replies are read and find their calls.

// deliver hands a reply to the call that waits for it.
func (c *Client) deliver(cc *clientConn, frame []byte, block *transport.Block) (taken bool, err error) {
	f := form{dialect: c.opt.form.dialect}
	var h heads
	message, err := f.open(frame, &h, &c.transformer, &c.opt.shared)
	if err != nil {
		return false, err
	}
	cc.hear(&h)
	if h.closing() {
		cc.leaveAlone()
		if f.dialect == transport.TTHeader && f.sequence == 0 {
			return false, nil // it answers no call
		}
	}
	m, n := f.envelope(message)
	if n < 0 {
		return false, &diag.Fault{Code: diag.InvalidHeader, Offset: 0, Detail: "broken reply envelope", Cause: thriftwire.Error(n)}
	}
	if m.Type != thriftwire.Reply && m.Type != thriftwire.Exception {
		return false, exceptionf(InvalidMessageType, "the server sent a %s", m.Type)
	}
	if f.hasHeaders() {
		m.SequenceID = int32(f.sequence) // fbthrift's servers answer that one
	}
	cc.mu.Lock()
	defer cc.mu.Unlock()
	p := cc.pending[uint32(m.SequenceID)]
	if p == nil && m.Type == thriftwire.Exception && cc.said.has(uint32(m.SequenceID)) {
		return false, nil // nobody waits for it
	}
	if p == nil || !p.sending {
		return false, exceptionf(BadSequenceID, "reply to %q has sequence id %d, which no call has", clip(m.Name), m.SequenceID)
	}
	if !p.answeredBy(m) {
		return false, exceptionf(WrongMethodName, "reply to %q where one to %q was expected", clip(m.Name), p.thrift.name)
	}
	delete(cc.pending, p.id)
	if p.abandoned {
		return false, nil
	}
	p.reply, p.block = message[n:], block
	t := &p.thrift
	t.replyType, t.form, t.status = m.Type, f, readBizStatus(h.strings)
	if t.wanted != nil {
		t.replyHeads = h.copyOfReply()
	}
	if m.Type == thriftwire.Exception {
		t.code = h.exceptionCode()
	}
	cc.end(p, nil)
	return true, nil
}

// exceptionCode returns the code that an exception comes with, empty for none.
func (h *heads) exceptionCode() string {
	code, ok := h.pairs.Get(keyExceptionCode)
	if !ok {
		code, _ = h.strings.Get(keyExceptionCode)
	}
	return string(code)
}

// closing tells whether the headers of a reply say that the server is stopping.
func (h *heads) closing() bool {
	if v, ok := h.strings.Get(ttheader.KeyClosing); ok && string(v) == "1" {
		return true
	}
	v, ok := h.pairs.Get("connection")
	return ok && string(v) == "goaway"
}

// answeredBy reports whether the name of a reply is that of the call. Servers
// leave the service away; some send exceptions without a name.
func (p *pendingCall) answeredBy(m thriftwire.Message) bool {
	return string(m.Name) == p.method || string(m.Name) == p.thrift.name ||
		(m.Type == thriftwire.Exception && len(m.Name) == 0)
}
