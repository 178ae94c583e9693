package trpc

import (
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds what frames of streams carry, beside messages, which are bare.

// DefaultWindow is the window in bytes that both sides start with, and the least there is.
const DefaultWindow = 65535

// Init opens a stream, and answers that.
type Init struct {
	IsRequest, IsResponse bool // which of the two parts it has

	Caller      []byte // of the request, up to TransInfo
	Callee      []byte
	Func        []byte
	MessageType uint32
	TransInfo   Pairs // of what was parsed; Append is given what to write

	Ret     Code // of the response
	Message []byte

	Window      uint32 // bytes of messages that its sender takes at first; 0 for any number, both ways
	ContentType transport.ContentType
	Encoding    Compression
}

// Parse parses what follows the head of a frame, which i aliases. An error is a [*diag.Fault].
func (i *Init) Parse(b []byte) error {
	*i = Init{}
	f := fields{b: b}
	for f.next() {
		var err error
		switch {
		case f.typ == protowire.Bytes && f.number == 1:
			i.IsRequest = true
			err = i.parseRequest(f.bytes)
		case f.typ == protowire.Bytes && f.number == 2:
			i.IsResponse = true
			err = i.parseResponse(f.bytes)
		case f.typ != protowire.Varint:
		case f.number == 3:
			i.Window = uint32(f.value)
		case f.number == 4:
			i.ContentType = transport.ContentType(f.value)
		case f.number == 5:
			i.Encoding = Compression(f.value)
		}
		if err != nil {
			return err
		}
	}
	return f.err
}

func (i *Init) parseRequest(b []byte) error {
	f := fields{b: b}
	for f.next() {
		switch {
		case f.typ == protowire.Varint && f.number == 4:
			i.MessageType = uint32(f.value)
		case f.typ != protowire.Bytes:
		case f.number == 1:
			i.Caller = f.bytes
		case f.number == 2:
			i.Callee = f.bytes
		case f.number == 3:
			i.Func = f.bytes
		case f.number == 5:
			if err := i.TransInfo.add(&f); err != nil {
				return err
			}
		}
	}
	return f.err
}

func (i *Init) parseResponse(b []byte) error {
	f := fields{b: b}
	for f.next() {
		switch {
		case f.typ == protowire.Varint && f.number == 1:
			i.Ret = Code(f.value)
		case f.typ == protowire.Bytes && f.number == 2:
			i.Message = f.bytes
		}
	}
	return f.err
}

// Append appends the frame of i for a stream, with pairs as the keys and values of a request.
func (i *Init) Append(dst []byte, id uint32, pairs []transport.Pair) []byte {
	var part []byte
	start := len(dst)
	dst = Head{Type: Stream, Stream: StreamInit, ID: id}.Append(dst)
	if i.IsRequest {
		part = appendText(part, 1, i.Caller)
		part = appendText(part, 2, i.Callee)
		part = appendText(part, 3, i.Func)
		part = appendUint(part, 4, uint64(i.MessageType))
		part = appendPairs(part, 5, pairs)
		dst = protowire.AppendBytes(protowire.AppendTag(dst, 1, protowire.Bytes), part)
	}
	if i.IsResponse {
		part = appendInt(part[:0], 1, int32(i.Ret))
		part = appendText(part, 2, i.Message)
		dst = protowire.AppendBytes(protowire.AppendTag(dst, 2, protowire.Bytes), part)
	}
	dst = appendUint(dst, 3, uint64(i.Window))
	dst = appendUint(dst, 4, uint64(i.ContentType))
	dst = appendUint(dst, 5, uint64(i.Encoding))
	return sealed(dst, start)
}

// sealed sets the length of a stream's frame, which is never too long for it.
func sealed(b []byte, start int) []byte {
	_ = Seal(b, start, 0, 0)
	return b
}

// ParseFeedback parses what follows the head of a feedback: the bytes of
// messages that may be sent beyond those allowed before.
func ParseFeedback(b []byte) (increment uint32, err error) {
	f := fields{b: b}
	for f.next() {
		if f.number == 1 && f.typ == protowire.Varint {
			increment = uint32(f.value)
		}
	}
	return increment, f.err
}

// AppendFeedback appends a frame of feedback for a stream.
func AppendFeedback(dst []byte, id, increment uint32) []byte {
	start := len(dst)
	dst = Head{Type: Stream, Stream: StreamFeedback, ID: id}.Append(dst)
	return sealed(appendUint(dst, 1, uint64(increment)), start)
}

// Close ends a stream; one of a client without a reset ends only its half.
type Close struct {
	Reset       bool // the stream ends in both directions, because of a failure
	Ret         Code
	Message     []byte
	MessageType uint32
	TransInfo   Pairs // of what was parsed; Append is given what to write
	FuncRet     int32
}

// Parse parses what follows the head of a frame, which c aliases. An error is a [*diag.Fault].
func (c *Close) Parse(b []byte) error {
	*c = Close{}
	f := fields{b: b}
	for f.next() {
		switch {
		case f.typ == protowire.Bytes && f.number == 3:
			c.Message = f.bytes
		case f.typ == protowire.Bytes && f.number == 5:
			if err := c.TransInfo.add(&f); err != nil {
				return err
			}
		case f.typ != protowire.Varint:
		case f.number == 1:
			c.Reset = uint32(f.value) == 1
		case f.number == 2:
			c.Ret = Code(f.value)
		case f.number == 4:
			c.MessageType = uint32(f.value)
		case f.number == 6:
			c.FuncRet = int32(f.value)
		}
	}
	return f.err
}

// Failed tells whether the stream has ended by a failure.
func (c *Close) Failed() bool { return c.Reset || c.Ret != 0 || c.FuncRet != 0 }

// Append appends the frame of c for a stream, with pairs as its keys and values.
func (c *Close) Append(dst []byte, id uint32, pairs []transport.Pair) []byte {
	start := len(dst)
	dst = Head{Type: Stream, Stream: StreamClose, ID: id}.Append(dst)
	if c.Reset {
		dst = appendUint(dst, 1, 1)
	}
	dst = appendInt(dst, 2, int32(c.Ret))
	dst = appendText(dst, 3, c.Message)
	dst = appendUint(dst, 4, uint64(c.MessageType))
	dst = appendPairs(dst, 5, pairs)
	dst = appendInt(dst, 6, c.FuncRet)
	return sealed(dst, start)
}
