package trpc

import (
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds the headers of unary calls and of their replies.

// CallType is whether a call wants a reply.
type CallType uint32

const (
	CallUnary  CallType = 0
	CallOneway CallType = 1
)

// Request is the header of a call.
type Request struct {
	Version        uint32
	CallType       CallType
	ID             uint32
	Timeout        uint32 // milliseconds that the client waits; 0 if it has not said
	Caller         []byte
	Callee         []byte
	Func           []byte // "/package.Service/Method"
	MessageType    uint32
	TransInfo      Pairs // of what was parsed; Append is given what to write
	ContentType    transport.ContentType
	Encoding       Compression
	AttachmentSize uint32
}

// Parse parses a header, which r aliases. An error is a [*diag.Fault].
func (r *Request) Parse(b []byte) error {
	*r = Request{}
	f := fields{b: b}
	for f.next() {
		v := uint32(f.value)
		switch {
		case f.typ == protowire.Bytes:
			switch f.number {
			case 5:
				r.Caller = f.bytes
			case 6:
				r.Callee = f.bytes
			case 7:
				r.Func = f.bytes
			case 9:
				if err := r.TransInfo.add(&f); err != nil {
					return err
				}
			}
		case f.typ != protowire.Varint:
		case f.number == 1:
			r.Version = v
		case f.number == 2:
			r.CallType = CallType(v)
		case f.number == 3:
			r.ID = v
		case f.number == 4:
			r.Timeout = v
		case f.number == 8:
			r.MessageType = v
		case f.number == 10:
			r.ContentType = transport.ContentType(v)
		case f.number == 11:
			r.Encoding = Compression(v)
		case f.number == 12:
			r.AttachmentSize = v
		}
	}
	return f.err
}

// Append appends the header, with pairs as its keys and values.
func (r *Request) Append(dst []byte, pairs []transport.Pair) []byte {
	dst = appendUint(dst, 1, uint64(r.Version))
	dst = appendUint(dst, 2, uint64(r.CallType))
	dst = appendUint(dst, 3, uint64(r.ID))
	dst = appendUint(dst, 4, uint64(r.Timeout))
	dst = appendText(dst, 5, r.Caller)
	dst = appendText(dst, 6, r.Callee)
	dst = appendText(dst, 7, r.Func)
	return r.appendRest(dst, pairs)
}

// AppendTo is Append of a request with that method and service in place of
// Func and Callee.
func (r *Request) AppendTo(dst []byte, method, service string, pairs []transport.Pair) []byte {
	dst = appendUint(dst, 1, uint64(r.Version))
	dst = appendUint(dst, 2, uint64(r.CallType))
	dst = appendUint(dst, 3, uint64(r.ID))
	dst = appendUint(dst, 4, uint64(r.Timeout))
	dst = appendText(dst, 5, r.Caller)
	dst = appendText(dst, 6, service)
	dst = appendText(dst, 7, method)
	return r.appendRest(dst, pairs)
}

func (r *Request) appendRest(dst []byte, pairs []transport.Pair) []byte {
	dst = appendUint(dst, 8, uint64(r.MessageType))
	dst = appendPairs(dst, 9, pairs)
	dst = appendUint(dst, 10, uint64(r.ContentType))
	dst = appendUint(dst, 11, uint64(r.Encoding))
	return appendUint(dst, 12, uint64(r.AttachmentSize))
}

// Response is the header of a reply.
type Response struct {
	Version        uint32
	CallType       CallType
	ID             uint32
	Ret            Code  // of the framework
	FuncRet        int32 // of the application
	Message        []byte
	MessageType    uint32
	TransInfo      Pairs
	ContentType    transport.ContentType
	Encoding       Compression
	AttachmentSize uint32
}

// Parse parses a header, which r aliases. An error is a [*diag.Fault].
func (r *Response) Parse(b []byte) error {
	*r = Response{}
	f := fields{b: b}
	for f.next() {
		v := uint32(f.value)
		switch {
		case f.typ == protowire.Bytes:
			switch f.number {
			case 6:
				r.Message = f.bytes
			case 8:
				if err := r.TransInfo.add(&f); err != nil {
					return err
				}
			}
		case f.typ != protowire.Varint:
		case f.number == 1:
			r.Version = v
		case f.number == 2:
			r.CallType = CallType(v)
		case f.number == 3:
			r.ID = v
		case f.number == 4:
			r.Ret = Code(v)
		case f.number == 5:
			r.FuncRet = int32(v)
		case f.number == 7:
			r.MessageType = v
		case f.number == 9:
			r.ContentType = transport.ContentType(v)
		case f.number == 10:
			r.Encoding = Compression(v)
		case f.number == 12:
			r.AttachmentSize = v
		}
	}
	return f.err
}

// Append appends the header, with pairs as its keys and values.
func (r *Response) Append(dst []byte, pairs []transport.Pair) []byte {
	dst = appendUint(dst, 1, uint64(r.Version))
	dst = appendUint(dst, 2, uint64(r.CallType))
	dst = appendUint(dst, 3, uint64(r.ID))
	dst = appendInt(dst, 4, int32(r.Ret))
	dst = appendInt(dst, 5, r.FuncRet)
	dst = appendText(dst, 6, r.Message)
	dst = appendUint(dst, 7, uint64(r.MessageType))
	dst = appendPairs(dst, 8, pairs)
	dst = appendUint(dst, 9, uint64(r.ContentType))
	dst = appendUint(dst, 10, uint64(r.Encoding))
	return appendUint(dst, 12, uint64(r.AttachmentSize))
}
