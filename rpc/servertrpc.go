package rpc

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds calls over tRPC on the server: from the frame to the call,
// and from what the handler returns to the frame of the reply.

// trpcForm is what a reply over tRPC repeats of its call.
type trpcForm struct {
	version     uint8 // of the head
	callType    trpc.CallType
	messageType uint32
	content     transport.ContentType
	encoding    trpc.Compression
}

// trpcLimit returns the size in bytes of the largest frame of tRPC, for a
// limit on messages: where that is the default, the default of tRPC.
func trpcLimit(maxFrame int) int {
	if maxFrame == DefaultMaxFrameSize {
		return trpc.DefaultMaxFrame
	}
	return maxFrame
}

// acceptTRPC takes the frame at the front of the stream, which has n bytes.
func (c *serverConn) acceptTRPC(frame []byte, n int) error {
	head, err := trpc.ParseHead(frame)
	if head.Type == trpc.Stream && err == nil {
		return c.acceptStream(head, frame, n)
	}
	call := c.nextCall()
	call.size = n
	c.arrivals++
	call.form.sequence, call.form.trpc.version = head.ID, head.Version
	refused := refusal{}
	if err != nil {
		refused = c.unreadableTRPC(err)
	} else {
		refused = c.openTRPC(call, head, frame)
	}
	_, call.block = c.sock.in.Take(n)
	return c.takeFrame(call, refused)
}

// unreadableTRPC refuses a call whose frame cannot be read, because of err.
func (c *serverConn) unreadableTRPC(err error) refusal {
	return refusal{cause: RefusedMessage, told: &StatusError{Code: trpc.ServerDecode, Message: err.Error()}}
}

// openTRPC reads a call's header and finds its method, or the reason to refuse it.
func (c *serverConn) openTRPC(call *serverCall, head trpc.Head, frame []byte) refusal {
	if head.Type != trpc.Unary {
		return c.unreadableTRPC(diag.NewFault(diag.InvalidHeader, 2, fmt.Sprintf("a frame of type %d", head.Type)))
	}
	end := trpc.HeadSize + int(head.Header)
	var req trpc.Request
	if err := req.Parse(frame[trpc.HeadSize:end]); err != nil {
		return c.unreadableTRPC(err)
	}
	f := &call.form.trpc
	f.callType, f.messageType, f.content, f.encoding = req.CallType, req.MessageType, req.ContentType, req.Encoding
	call.oneway = req.CallType == trpc.CallOneway
	call.timeout = time.Duration(req.Timeout) * time.Millisecond
	call.heads.trans = req.TransInfo
	c.readHeads(call)
	switch limit := c.srv.opt.maxHead; {
	case req.ID != 0 && req.ID != head.ID:
		call.form.sequence = req.ID // which clients look at
	case limit > 0 && int(head.Header) > limit:
		return c.unreadableTRPC(diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("a header of %d bytes exceeds the limit of %d", head.Header, limit)))
	case uint64(req.AttachmentSize) > uint64(len(frame)-end):
		return c.unreadableTRPC(diag.NewFault(diag.InvalidLength, -1, fmt.Sprintf("an attachment of %d bytes in a frame of %d", req.AttachmentSize, len(frame))))
	}
	body := len(frame) - int(req.AttachmentSize)
	call.attachment = frame[body:]
	call.args = frame[end:body]
	method, unknown := c.services.lookupMessage(req.Func)
	if unknown != nil {
		return refusal{cause: RefusedMethod, told: unknown}
	}
	if method.MessageStream != nil {
		return refusal{cause: RefusedMethod, told: &StatusError{Code: trpc.NoFunc, Message: fmt.Sprintf("method %q streams", clip(req.Func))}}
	}
	call.method, call.name = method, method.Name
	call.oneway = call.oneway || method.Oneway
	if req.Encoding == trpc.None || len(call.args) == 0 {
		return refusal{}
	}
	return c.unpackTRPC(call, frame)
}

// unpackTRPC decompresses the body of a call.
func (c *serverConn) unpackTRPC(call *serverCall, frame []byte) refusal {
	c.beginUnpacking(frame, len(frame))
	call.arrived = c.arrived
	limit := c.srv.opt.unpacked(trpcLimit(c.srv.opt.maxFrame))
	body, err := c.srv.compressor.Decompress(nil, call.args, call.form.trpc.encoding, limit)
	call.size = max(call.size, cap(body))
	c.endUnpacking(call.size)
	if err != nil {
		if !call.form.trpc.encoding.Supported() {
			call.form.trpc.encoding = trpc.None // for the reply
		}
		return c.unreadableTRPC(err)
	}
	call.args = body
	return refusal{}
}

// isSmallTRPC reports whether a compressed call is small when it is decompressed.
func (c *serverConn) isSmallTRPC(frame []byte) bool {
	head, err := trpc.ParseHead(frame)
	var req trpc.Request
	if err != nil || req.Parse(frame[trpc.HeadSize:trpc.HeadSize+int(head.Header)]) != nil {
		return true // and will be refused
	}
	body := frame[trpc.HeadSize+int(head.Header):]
	if uint64(req.AttachmentSize) > uint64(len(body)) {
		return true
	}
	_, err = c.srv.compressor.Decompress(nil, body[:len(body)-int(req.AttachmentSize)], req.Encoding, smallCall)
	return err == nil
}

// refuseOversizedTRPC answers a call whose frame exceeds the limit.
func (c *serverConn) refuseOversizedTRPC(fault *diag.Fault) {
	head := c.sock.in.Bytes()[:trpc.HeadSize]
	call := c.srv.newCall(c)
	call.form.sequence, call.form.trpc.version = binary.BigEndian.Uint32(head[10:]), head[14]
	_, call.block = c.sock.in.Take(0)
	c.mu.Lock()
	err := c.enter(call)
	c.mu.Unlock()
	if err == nil {
		c.dispatch(call, c.unreadableTRPC(fault))
	}
}

// encodeMessage returns the reply with the message that the handler returns by
// appendResult, as replyWith makes it.
func (c *serverConn) encodeMessage(call *serverCall, ctx *callContext, appendResult func(*result) error,
	replyWith func(*serverCall, *callContext, *Message) (reply, error)) (reply, error) {
	r := &call.result
	*r = result{}
	err := appendResult(r)
	m := r.message
	r.message = Message{}
	if err == nil {
		var out reply
		if out, err = replyWith(call, ctx, &m); err == nil {
			return out, nil
		}
	}
	m.release()
	return reply{}, err
}

// messageReply returns the reply with a message, which is still the caller's if it fails.
func (c *serverConn) messageReply(call *serverCall, ctx *callContext, m *Message) (reply, error) {
	var pairs []transport.Pair
	var tail []byte
	if ctx != nil {
		pairs, tail = c.replyPairs(ctx), ctx.takeAttachment()
	}
	rsp := call.form.response()
	rsp.ContentType, rsp.AttachmentSize = m.Type, uint32(len(tail))
	if rsp.Encoding != trpc.None && len(m.Body) > 0 {
		packed, err := c.srv.compressor.Compress(nil, m.Body, rsp.Encoding)
		if err != nil {
			return reply{}, err
		}
		m.release()
		*m = Message{Type: m.Type, Body: packed}
	}
	if size := len(m.Body) + len(tail) + trpc.HeadSize; size > trpcLimit(c.srv.opt.maxFrame) {
		return reply{}, &tooLargeError{size, trpcLimit(c.srv.opt.maxFrame)}
	}
	buf := c.srv.buffers.get()
	b, header := call.form.appendResponse(buf.b, &rsp, pairs)
	out := reply{buf: buf}
	beside := len(m.Body) + len(tail)
	if beside <= joinLimit {
		b = append(append(b, m.Body...), tail...)
		beside = 0
	}
	if err := trpc.Seal(b, 0, header, beside); err != nil {
		c.srv.buffers.put(buf)
		return reply{}, &StatusError{Code: trpc.ServerEncode, Message: err.Error()}
	}
	buf.b = b
	if beside == 0 {
		m.release()
	} else {
		out.body, out.tail = *m, tail
	}
	return out, nil
}

// response returns what the header of a reply repeats of its call.
func (f *form) response() trpc.Response {
	return trpc.Response{
		Version: trpc.Version, CallType: f.trpc.callType, ID: f.sequence, MessageType: f.trpc.messageType,
		ContentType: f.trpc.content, Encoding: f.trpc.encoding,
	}
}

// appendResponse appends head and header of a reply, and returns the header's size.
func (f *form) appendResponse(b []byte, rsp *trpc.Response, pairs []transport.Pair) (out []byte, header int) {
	start := len(b)
	b = trpc.Head{Type: trpc.Unary, ID: f.sequence, Version: f.trpc.version}.Append(b)
	b = rsp.Append(b, pairs)
	return b, len(b) - start - trpc.HeadSize
}

// trpcFailure encodes the reply that tells the client of a failure.
func (c *serverConn) trpcFailure(call *serverCall, status *StatusError) reply {
	rsp := call.form.response()
	rsp.Ret, rsp.FuncRet, rsp.Message = status.Code, status.app, []byte(clipText(status.Message))
	buf := c.srv.buffers.get()
	var pairs []transport.Pair
	if ctx := call.ctx.Load(); ctx != nil {
		pairs = c.replyPairs(ctx)
	}
	b, header := call.form.appendResponse(buf.b, &rsp, pairs)
	if header > trpc.MaxHeader {
		b, header = call.form.appendResponse(buf.b[:0], &rsp, nil)
	}
	if err := trpc.Seal(b, 0, header, 0); err != nil {
		c.log(slog.LevelError, "rpc: cannot answer with a failure", err)
		c.srv.buffers.put(buf)
		return reply{}
	}
	buf.b = b
	return reply{buf: buf}
}

// Attachment returns the bytes that a call over tRPC has beside its message,
// nil if there are none. They are valid until the handler returns.
func (i CallInfo) Attachment() []byte {
	x := i.x
	x.conn.mu.Lock()
	defer x.conn.mu.Unlock()
	if x.call == nil || x.call.generation() != x.generation {
		return nil
	}
	return x.call.attachment
}

// SetReplyAttachment sends bytes beside the reply's message, over tRPC. They
// must not change any more. It reports false when the reply is on its way already.
func (i CallInfo) SetReplyAttachment(b []byte) bool {
	i.x.mu.Lock()
	defer i.x.mu.Unlock()
	if i.x.closed || i.x.err != nil {
		return false
	}
	i.x.extra().attachment = b
	return true
}

// takeAttachment returns what goes beside the reply's message.
func (x *callContext) takeAttachment() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.extras == nil {
		return nil
	}
	b := x.extras.attachment
	x.extras.attachment = nil
	return b
}
