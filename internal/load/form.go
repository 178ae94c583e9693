package load

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds how requests travel, and making them.

// Dialect is a way of carrying messages.
type Dialect uint8

const (
	Framed         Dialect = iota // a 32-bit length before each message
	Unframed                      // messages one after another
	Header                        // fbthrift's header transport, THeader
	TTHeader                      // CloudWeGo's header transport
	TTHeaderFramed                // the same with a frame of its own around the message inside
	HTTP                          // POST of HTTP/1.1 on a connection that stays open
	HTTP2                         // POST of HTTP/2, at most 100 of a connection at a time
	TRPC                          // tRPC's unary calls, of messages: see Form.Message
	GRPC                          // gRPC's, at most 100 of a connection at a time
)

// String returns the name of the dialect, such as "ttheader-framed".
func (d Dialect) String() string {
	if names := DialectNames(); int(d) < len(names) {
		return names[d]
	}
	return fmt.Sprintf("dialect %d", uint8(d))
}

// DialectNames returns the names of the dialects, in the order of their numbers.
func DialectNames() []string {
	return []string{"framed", "unframed", "theader", "ttheader", "ttheader-framed", "http", "http2", "trpc", "grpc"}
}

// Pair is a header of a request.
type Pair struct{ Key, Value string }

// Form says how requests travel, and so how replies are read. The zero value
// is framed binary.
type Form struct {
	Dialect   Dialect
	Protocol  compact.Dialect  // of messages; 0 is the binary protocol
	Transform header.Transform // of messages: Header alone has any
	// Compression of messages: TRPC has all, GRPC has gzip, others have none.
	Compression trpc.Compression
	InOrder     bool               // tell the server of a dialect with headers that replies must keep the order
	Headers     []Pair             // of each request, in dialects with headers, HTTP, HTTP2, TRPC and GRPC
	Numbered    []ttheader.IntPair // of each request, in TTHeader: what Kitex's clients send
	Host        string             // of HTTP, HTTP2 and GRPC; "localhost" if it is empty
	Path        string             // of HTTP and HTTP2; "/" if it is empty
}

// Ordered reports whether replies come in the order of requests: the dialect has
// no other way, or the form says so.
func (f *Form) Ordered() bool {
	return f.InOrder || !f.hasHeaders() && !f.messages() && f.Dialect != HTTP2
}

// messages reports whether the dialect carries messages that nobody looks into.
func (f *Form) messages() bool { return f.Dialect == TRPC || f.Dialect == GRPC }

func (f *Form) hasHeaders() bool {
	return f.Dialect == Header || f.Dialect == TTHeader || f.Dialect == TTHeaderFramed
}

// check says what does not go together.
func (f *Form) check() error {
	switch {
	case f.Dialect > GRPC:
		return fmt.Errorf("load: there is no %s", f.Dialect)
	case f.Protocol != 0 && !f.Protocol.Valid():
		return fmt.Errorf("load: there is no dialect %d of the compact protocol", f.Protocol)
	case f.Transform != header.None && (f.Dialect != Header || !f.Transform.Supported()):
		return fmt.Errorf("load: %s does not compress by %s", f.Dialect, f.Transform)
	case f.Compression != trpc.None && (!f.messages() || !f.Compression.Supported() || f.Dialect == GRPC && f.Compression != trpc.Gzip):
		return fmt.Errorf("load: %s does not compress by %s", f.Dialect, f.Compression)
	case f.messages() && (f.Protocol != 0 || f.InOrder):
		return fmt.Errorf("load: %s has no protocols of Thrift, and no way to ask for order", f.Dialect)
	case f.Dialect == GRPC && slices.ContainsFunc(f.Headers, func(p Pair) bool { return grpc.IsReserved(p.Key) }):
		return errors.New("load: gRPC has fields of its own, whose names are no header's")
	case len(f.Numbered) > 0 && f.Dialect != TTHeader && f.Dialect != TTHeaderFramed:
		return fmt.Errorf("load: %s has no headers with numbers", f.Dialect)
	case f.Dialect == HTTP2 && f.InOrder:
		return errors.New("load: HTTP/2 has no way to ask for order")
	case len(f.Headers) > 0 && (f.Dialect == Framed || f.Dialect == Unframed):
		return fmt.Errorf("load: %s has no headers", f.Dialect)
	}
	return nil
}

// Request is one request, ready to be sent but for its sequence id.
// [Form.Request] makes it, or [Form.Message].
type Request struct {
	// Kind names the requests that have a histogram together; "" is a kind too.
	Kind string
	// Weight is the share of the request in a mix, 1 if it is 0.
	Weight int
	// Expect, unless it is nil, is what every reply must hold behind the
	// envelope of its message, byte for byte: the result struct in the protocol
	// of the form, or the message as it travels.
	Expect []byte
	// Same makes the first good reply what all later ones must equal.
	Same bool

	frame []byte
	ids   []place // of the sequence id
}

// Size returns the size of the request in bytes, as it is sent.
func (r *Request) Size() int { return len(r.frame) }

// place is where a sequence id stands in a frame.
type place struct {
	offset int
	varint bool // of five bytes
}

// Sequence ids lie in the upper half of the positive numbers, which take five
// bytes in the compact protocol, all of them.
const (
	sequenceBase = 1 << 30
	sequenceMask = sequenceBase - 1
)

// Request encodes a call of a method, whose name in a multiplexed protocol holds
// the service. args is the struct of the arguments in the binary protocol.
func (f *Form) Request(method string, args []byte) (Request, error) {
	if err := f.check(); err != nil {
		return Request{}, err
	}
	if f.messages() {
		return Request{}, fmt.Errorf("load: %s carries messages, not structs", f.Dialect)
	}
	var message []byte
	at := place{offset: 8 + len(method)}
	if f.Protocol != 0 {
		at = place{offset: 2, varint: true}
		message = f.Protocol.AppendMessage(nil, thriftwire.Call, method, sequenceBase)
		var n int
		if message, n = f.Protocol.AppendFromBinary(message, args, thriftwire.Struct, maxNesting); n != len(args) {
			return Request{}, fmt.Errorf("load: the arguments of %s are not a struct that the protocol has", method)
		}
	} else {
		if n := thriftwire.Skip(args, thriftwire.Struct, maxNesting); n != len(args) {
			return Request{}, fmt.Errorf("load: the arguments of %s are not a struct", method)
		}
		message = append(thriftwire.AppendMessage(nil, thriftwire.Call, method, sequenceBase), args...)
	}
	return f.wrap(message, at)
}

// maxNesting is the deepest nesting of arguments.
const maxNesting = 1024

// wrap puts a message, whose sequence id stands at the place, into the dialect.
func (f *Form) wrap(message []byte, at place) (r Request, err error) {
	var b []byte
	switch f.Dialect {
	case Framed:
		b = binary.BigEndian.AppendUint32(b, uint32(len(message)))
	case Header:
		return f.wrapHeader(message, at)
	case TTHeader, TTHeaderFramed:
		o := ttheader.Outgoing{Flags: ttheader.OutOfOrder, Ints: f.Numbered}
		if f.InOrder {
			o.Flags = 0
		}
		if f.Protocol != 0 {
			o.Protocol = ttheader.Compact
		}
		for _, p := range f.Headers {
			o.Strings = append(o.Strings, ttheader.StringPair(p))
		}
		if b, err = o.Append(b); err != nil {
			return Request{}, err
		}
		r.ids = append(r.ids, place{offset: headerSequence})
		if f.Dialect == TTHeaderFramed {
			b = binary.BigEndian.AppendUint32(b, uint32(len(message)))
		}
	case HTTP:
		b = f.appendHTTP(b, len(message))
	case HTTP2: // a tunnel makes HTTP/2 of it
		b = binary.BigEndian.AppendUint32(b, uint32(tunnelHead+len(message)))
		r.ids = append(r.ids, place{offset: len(b)})
		b = binary.BigEndian.AppendUint32(b, sequenceBase)
	}
	at.offset += len(b)
	r.ids = append(r.ids, at)
	r.frame = append(b, message...)
	if f.hasHeaders() {
		ttheader.Seal(r.frame, 0)
	}
	return r, nil
}

// headerSequence is where frames with headers have their sequence id.
const headerSequence = 8

// wrapHeader wraps a message in a THeader frame. A compressed message has the
// same sequence id in all requests: that of the frame counts.
func (f *Form) wrapHeader(message []byte, at place) (r Request, err error) {
	o := header.Outgoing{Flags: header.OutOfOrder, Transform: f.Transform}
	if f.InOrder {
		o.Flags = 0
	}
	if f.Protocol != 0 {
		o.Protocol = header.Compact
	}
	for _, p := range f.Headers {
		o.Headers = append(o.Headers, header.Pair(p))
	}
	b, err := o.Append(nil)
	if err != nil {
		return Request{}, err
	}
	r.ids = append(r.ids, place{offset: headerSequence})
	start := len(b)
	if f.Transform == header.None {
		at.offset += start
		r.ids = append(r.ids, at)
	}
	r.frame, err = new(header.Transformer).Seal(append(b, message...), 0, start, f.Transform)
	return r, err
}

// appendHTTP appends the head of a POST of size bytes.
func (f *Form) appendHTTP(b []byte, size int) []byte {
	b = fmt.Appendf(b, "POST %s HTTP/1.1\r\nHost: %s\r\n", f.path(), f.host())
	for _, h := range f.Headers {
		b = fmt.Appendf(b, "%s: %s\r\n", h.Key, h.Value)
	}
	return fmt.Appendf(b, "Content-Type: application/x-thrift\r\nContent-Length: %d\r\n\r\n", size)
}

func (f *Form) host() string { return cmp.Or(f.Host, "localhost") }
func (f *Form) path() string { return cmp.Or(f.Path, "/") }

// patch writes the sequence id into a copy of the frame, as far as head has it.
func (r *Request) patch(head []byte, seq uint32) {
	for _, at := range r.ids {
		b := head[at.offset:]
		if !at.varint {
			binary.BigEndian.PutUint32(b, seq)
			continue
		}
		_ = b[4]
		b[0], b[1], b[2], b[3] = byte(seq)|0x80, byte(seq>>7)|0x80, byte(seq>>14)|0x80, byte(seq>>21)|0x80
		b[4] = byte(seq >> 28)
	}
}

// head returns the number of bytes up to the end of the last sequence id.
func (r *Request) head() int {
	end := 0
	for _, at := range r.ids {
		end = max(end, at.offset+5) // a message is never so short that this exceeds it
	}
	return min(end, len(r.frame))
}

// order returns a series of indexes of the requests in which each has the share
// of its weight, evenly mixed.
func order(requests []Request, shuffle func(n int, swap func(i, j int))) []uint16 {
	unit := 0 // the largest that all weights are a multiple of
	for _, r := range requests {
		for n := max(r.Weight, 1); n != 0; {
			unit, n = n, unit%n
		}
	}
	var list []uint16
	for i, r := range requests {
		list = append(list, slices.Repeat([]uint16{uint16(i)}, max(r.Weight, 1)/unit)...)
	}
	if len(requests) > 1 {
		// Long enough that connections which start at different places differ.
		list = slices.Repeat(list, 1+4096/len(list))
		shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return list
}
