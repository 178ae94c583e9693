package rpc

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/framed"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds how a message travels: in which dialect, and in which
// protocol inside it. Handlers and callers see the binary protocol; structs of the
// compact one are rewritten here.

// form is how a message travels. A reply has the form of its call.
type form struct {
	dialect  transport.Dialect
	protocol compact.Dialect // of the message; 0 for the binary one
	loose    bool            // binary messages of the client have no version

	// Of the dialects with headers.
	maxHead   int // bytes of headers that a server takes; 0 for any
	flags     uint16
	sequence  uint32
	transform header.Transform
	inner     bool // the message in a TTHeader frame has a frame of its own

	trpc trpcForm // of a call over tRPC, whose id is the sequence; over gRPC only content and encoding
}

// headerRoom is the size in bytes of the largest header around a message.
const headerRoom = ttheader.MaxHeader + 32

// maxNesting is the deepest nesting of a struct that is rewritten, as deep as
// the codec decodes by default.
const maxNesting = 1024

// serves tells whether a server speaks the dialect.
func serves(d transport.Dialect) bool {
	switch d {
	case transport.Unframed, transport.UnframedCompact, transport.Framed, transport.FramedCompact, transport.Header, transport.TTHeader, transport.TRPC:
		return true
	default:
		return false
	}
}

// check completes what a client's options chose, or says why they do not go together.
func (f *form) check() error {
	if f.transform != header.None && !f.transform.Supported() {
		return fmt.Errorf("requests cannot be compressed by %s", f.transform)
	}
	switch {
	case f.dialect == transport.GRPC:
		return errors.New("gRPC is for methods on messages, of DialMessages")
	case f.protocol == 0 || f.dialect == transport.Header || f.dialect == transport.HTTP:
		return nil
	case !f.protocol.Valid():
		return fmt.Errorf("there is no dialect %d of the compact protocol", f.protocol)
	case f.dialect == transport.Framed:
		f.dialect = transport.FramedCompact
		return nil
	case f.dialect == transport.Unframed:
		f.dialect = transport.UnframedCompact
		return nil
	}
	return fmt.Errorf("the compact protocol does not go with %s", f.dialect)
}

// hasHeaders tells whether the dialect's frames have headers.
func (f *form) hasHeaders() bool {
	return f.dialect == transport.Header || f.dialect == transport.TTHeader
}

// oneway tells whether the headers say that a call has no reply.
func (f *form) oneway() bool {
	return f.dialect == transport.Header && f.sequence == header.OnewaySequence
}

// carriesPairs tells whether keys and values travel beside a message.
func (f *form) carriesPairs() bool {
	return f.hasHeaders() || f.dialect == transport.HTTP || f.dialect == transport.TRPC || f.dialect == transport.GRPC
}

// scanner finds the messages of a stream, as a [framed.Scanner] does.
type scanner interface {
	Next(b []byte) (message []byte, n int, err error)
	Want() int
}

// scanner returns what finds the messages of the dialect, which have limit
// bytes at most, without headers.
func (f *form) scanner(limit int) scanner {
	switch f.dialect {
	case transport.TRPC:
		return trpc.NewScanner(trpcLimit(limit))
	case transport.Unframed:
		if f.loose {
			return framed.NewLooseScanner(limit)
		}
	case transport.UnframedCompact:
		return framed.NewCompactScanner(limit)
	case transport.Header, transport.TTHeader:
		limit += headerRoom
	}
	return framed.NewScanner(f.dialect != transport.Unframed, limit)
}

// open returns the message in a frame, and notes how it travelled and its headers. An
// [*ApplicationException] says why the message cannot be read though the
// stream goes on; another error is about the stream.
func (f *form) open(frame []byte, h *heads, x *header.Transformer, o *shared) (message []byte, err error) {
	limit := o.maxFrame
	switch f.dialect {
	case transport.Header:
		message, err = f.openHeader(frame, h, x, o.unpacked(limit))
	case transport.TTHeader:
		message, err = f.openTTHeader(frame, h)
	default:
		return frame, nil // the scanner knows the limit
	}
	if err == nil && f.transform == header.None && len(message) > limit {
		err = exceptionf(ProtocolError, "message of %d bytes exceeds the limit of %d", len(message), limit)
	}
	return message, err
}

// openHeader is open for THeader; a compressed message may hold unpacked bytes.
func (f *form) openHeader(frame []byte, to *heads, x *header.Transformer, unpacked int) ([]byte, error) {
	var h header.Frame
	if err := h.Parse(frame); err != nil {
		return nil, err
	}
	f.flags, f.sequence = h.Flags, h.SequenceID
	to.pairs, to.sticky = h.Headers, h.Persistent
	if err := f.checkHead(len(frame) - len(h.Payload)); err != nil {
		return nil, err
	}
	if h.Protocol != header.Binary && h.Protocol != header.Compact {
		return nil, exceptionf(InvalidProtocol, "the payload is in the %s protocol; binary and compact are served", h.Protocol)
	}
	if len(h.Transforms) == 0 {
		return h.Payload, nil
	}
	message, err := x.Undo(nil, &h, unpacked)
	var fault *diag.Fault
	switch {
	case err == nil:
		f.transform = h.Transforms[0]
		return message, nil
	case errors.As(err, &fault) && fault.Code == diag.Unsupported:
		return nil, &ApplicationException{Type: InvalidTransform, Message: fault.Detail}
	}
	return nil, &ApplicationException{Type: ProtocolError, Message: err.Error()}
}

// peek reads the headers of a frame that exceeds the limit, as far as a reply needs them, and returns what has
// arrived of its message, nil if it is compressed. It reports false if the headers have not arrived whole.
func (f *form) peek(frame []byte) (message []byte, ok bool) {
	if f.dialect == transport.TTHeader {
		var h ttheader.Frame
		if h.Parse(frame) != nil {
			return nil, false
		}
		f.flags, f.sequence = h.Flags, h.SequenceID
		b := h.Payload
		if n := framed.HeaderSize; len(b) > n && b[0]&0x80 == 0 {
			f.inner = true
			b = b[n:]
		}
		return b, true
	}
	var h header.Frame
	if h.Parse(frame) != nil {
		return nil, false
	}
	f.flags, f.sequence = h.Flags, h.SequenceID
	if len(h.Transforms) == 0 {
		return h.Payload, true
	}
	if h.Protocol == header.Compact {
		f.protocol = compact.FBThrift // the message cannot say in which dialect it is
	}
	if t := h.Transforms[0]; t.Supported() {
		f.transform = t
	}
	return nil, true
}

// checkHead refuses a message with too large headers.
func (f *form) checkHead(size int) error {
	if f.maxHead > 0 && size > f.maxHead {
		return exceptionf(ProtocolError, "headers of %d bytes exceed the limit of %d", size, f.maxHead)
	}
	return nil
}

func (f *form) openTTHeader(frame []byte, to *heads) ([]byte, error) {
	var h ttheader.Frame
	if err := h.Parse(frame); err != nil {
		return nil, err
	}
	f.flags, f.sequence = h.Flags, h.SequenceID
	to.strings, to.ints = h.Strings, h.Ints
	if err := f.checkHead(len(frame) - len(h.Payload)); err != nil {
		return nil, err
	}
	switch h.Protocol {
	case ttheader.Binary, ttheader.Compact, ttheader.CompactV2:
	default:
		return nil, exceptionf(InvalidProtocol, "the payload is in protocol %#02x; binary and compact are served", uint8(h.Protocol))
	}
	if len(h.Transforms) > 0 {
		return nil, exceptionf(InvalidTransform, "the payload is transformed by % x; nothing is undone here", h.Transforms)
	}
	b := h.Payload
	if n := framed.HeaderSize; len(b) > n && binary.BigEndian.Uint32(b) == uint32(len(b)-n) {
		f.inner = true
		b = b[n:]
	}
	return b, nil
}

// envelope reads the envelope of a message in the protocol that the dialect
// allows, and notes which it was.
func (f *form) envelope(b []byte) (thriftwire.Message, int) {
	isCompact := len(b) > 0 && b[0] == 0x82
	switch {
	case isCompact && f.dialect != transport.Framed && f.dialect != transport.Unframed:
		m, d, n := compact.ConsumeMessage(b)
		f.protocol = d
		return m, n
	case f.dialect == transport.FramedCompact || f.dialect == transport.UnframedCompact:
		return thriftwire.Message{}, thriftwire.ErrVersion
	case f.loose && len(b) > 0 && b[0]&0x80 == 0:
		return consumeLooseEnvelope(b)
	default:
		return consumeEnvelope(b)
	}
}

// begin appends to the empty b what stands before the struct of a message, and
// returns where the message starts. Dialects without headers leave h away, and so do the
// others if it does not fit into a frame.
func (f *form) begin(b []byte, t thriftwire.MessageType, name string, seq int32, h outHeads) (out []byte, message int) {
	switch f.dialect {
	case transport.Framed, transport.FramedCompact:
		b = append(b, 0, 0, 0, 0) // finish writes the length
	case transport.Header:
		b = f.beginHeader(b, h)
	case transport.TTHeader:
		b = f.beginTTHeader(b, h)
	}
	message = len(b)
	if f.protocol != 0 {
		return f.protocol.AppendMessage(b, t, name, seq), message
	}
	return thriftwire.AppendMessage(b, t, name, seq), message
}

// largeHeads is the size in bytes from which on headers may not fit into a frame.
const largeHeads = 32 << 10

// checkRoom refuses the headers of a request that fit into no frame. A reply goes without them, but a server that
// does not see who calls, or what else its client has said, may do what nobody wants.
func (f *form) checkRoom(h outHeads) (err error) {
	if !f.hasHeaders() {
		return nil
	}
	size := 8 * (len(h.pairs) + len(h.ints))
	for _, p := range h.pairs {
		size += len(p.Key) + len(p.Value)
	}
	if size < largeHeads {
		return nil
	}
	if f.dialect == transport.Header {
		o := header.Outgoing{Transform: f.transform, Headers: h.pairs}
		_, err = o.Append(nil)
	} else {
		o := ttheader.Outgoing{Strings: h.pairs, Ints: h.ints}
		_, err = o.Append(nil)
	}
	return err
}

func (f *form) beginHeader(b []byte, h outHeads) []byte {
	o := header.Outgoing{Flags: f.flags, SequenceID: f.sequence, Transform: f.transform, Headers: h.pairs}
	if f.protocol != 0 {
		o.Protocol = header.Compact
	}
	out, err := o.Append(b)
	if err != nil {
		o.Headers = nil
		out, _ = o.Append(b)
	}
	return out
}

func (f *form) beginTTHeader(b []byte, h outHeads) []byte {
	var o ttheader.Outgoing // a literal would be made elsewhere and copied, by loads wider than the stores before, which wait
	o.Flags, o.SequenceID, o.Strings, o.Ints = f.flags, f.sequence, h.pairs, h.ints
	if f.protocol != 0 {
		o.Protocol = ttheader.Compact
	}
	out, err := o.Append(b)
	if err != nil {
		o.Strings, o.Ints = nil, nil
		out, _ = o.Append(b)
	}
	if f.inner {
		out = append(out, 0, 0, 0, 0)
	}
	return out
}

// outHeads are the headers of a message to send.
type outHeads struct {
	pairs []transport.Pair
	ints  []ttheader.IntPair
}

// finish writes the lengths of what begin started, once the struct stands
// behind it; beside are the bytes of the struct that will be sent from elsewhere.
func (f *form) finish(b []byte, message, beside int, x *header.Transformer) ([]byte, error) {
	var err error
	switch f.dialect {
	case transport.Framed, transport.FramedCompact:
		binary.BigEndian.PutUint32(b, uint32(len(b)-message))
	case transport.Header:
		b, err = x.Seal(b, 0, message, f.transform)
	case transport.TTHeader:
		if f.inner {
			binary.BigEndian.PutUint32(b[message-framed.HeaderSize:], uint32(len(b)-message+beside))
		}
		ttheader.Seal(b, 0)
	default:
		return b, nil
	}
	if beside > 0 && err == nil {
		binary.BigEndian.PutUint32(b, uint32(len(b)-framed.HeaderSize+beside))
	}
	return b, err
}

// toBinary returns a struct of the form's protocol in the binary one.
func (f *form) toBinary(b []byte) ([]byte, error) {
	if f.protocol == 0 {
		return b, nil
	}
	out, n := f.protocol.AppendToBinary(nil, b, thriftwire.Struct, maxNesting)
	if n < 0 {
		return nil, thriftwire.Error(n)
	}
	return out, nil
}

// appendStruct appends a struct of the binary protocol in the form's.
func (f *form) appendStruct(dst, b []byte) ([]byte, error) {
	if f.protocol == 0 {
		return append(dst, b...), nil
	}
	out, n := f.protocol.AppendFromBinary(dst, b, thriftwire.Struct, maxNesting)
	if n < 0 {
		return dst, thriftwire.Error(n)
	}
	return out, nil
}
