package ttstream

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the frames.

// kind is what a frame is, as ttheader.FrameType has it.
type kind byte

const (
	metaFrame    kind = '1' // about the connection or the stream; may be ignored
	headerFrame  kind = '2'
	dataFrame    kind = '3'
	trailerFrame kind = '4'
	resetFrame   kind = '5'
)

// controlStream is the id of frames that belong to no stream.
const controlStream = 0

// IsStream tells whether a connection that starts with b, transport.DetectBytes
// at least, and speaks TTHeader, carries streams.
func IsStream(b []byte) bool {
	return len(b) >= transport.DetectBytes && binary.BigEndian.Uint16(b[6:])&ttheader.Streaming != 0
}

// frame is what a frame says. Slices are views of it.
type frame struct {
	ttheader.Frame
	kind kind
	head int // bytes that are not payload
}

// parse parses a frame. An error means that the connection cannot be followed.
func (f *frame) parse(b []byte) error {
	if err := f.Frame.Parse(b); err != nil {
		return err
	}
	f.head = len(b) - len(f.Payload)
	text, _ := f.Ints.Get(ttheader.FrameType)
	switch {
	case f.Flags&ttheader.Streaming == 0:
		return diag.NewFault(diag.InvalidHeader, 0, "a frame of no stream, on a connection of streams")
	case f.Protocol != ttheader.StreamData && f.Protocol != ttheader.StreamPB && f.SequenceID != controlStream:
		return diag.NewFault(diag.InvalidHeader, 0, fmt.Sprintf("a stream in the protocol %#02x", uint8(f.Protocol)))
	case len(f.Transforms) > 0:
		return diag.NewFault(diag.Unsupported, 0, fmt.Sprintf("the payload is transformed by % x; nothing is undone here", f.Transforms))
	case len(text) != 1 || text[0] < byte(metaFrame) || text[0] > byte(resetFrame):
		return diag.NewFault(diag.InvalidHeader, 0, fmt.Sprintf("a frame of the unknown kind %q", text[:min(len(text), 16)]))
	}
	f.kind = kind(text[0])
	return nil
}

// metadata returns the string headers of a frame, copied.
func (f *frame) metadata() stream.Metadata {
	if f.Strings.Len() == 0 {
		return nil
	}
	md := stream.Metadata{}
	for k, v := range f.Strings.All() {
		md[string(k)] = string(v)
	}
	return md
}

// closing tells whether the frame says that its sender leaves the connection.
func (f *frame) closing() bool {
	v, ok := f.Strings.Get(ttheader.KeyClosing)
	return ok && string(v) == "1"
}

// exception returns the exception's struct in the payload, nil for none.
func (f *frame) exception() ([]byte, error) {
	if len(f.Payload) == 0 {
		return nil, nil
	}
	m, n := thriftwire.ConsumeMessage(f.Payload)
	if n < 0 {
		return nil, thriftwire.Error(n)
	}
	if m.Type != thriftwire.Exception {
		return nil, fmt.Errorf("a %s where an exception was expected", m.Type)
	}
	return f.Payload[n:], nil
}

// outgoing returns the header of a frame to write.
func outgoing(id uint32, k kind, method string, pairs []transport.Pair, ints ...ttheader.IntPair) ttheader.Outgoing {
	o := ttheader.Outgoing{Flags: ttheader.Streaming, SequenceID: id, Protocol: ttheader.StreamData, Strings: pairs}
	o.Ints = append(o.Ints, ttheader.IntPair{Key: ttheader.FrameType, Value: string(rune(k))})
	if method != "" {
		o.Ints = append(o.Ints, ttheader.IntPair{Key: ttheader.ToMethod, Value: method})
	}
	o.Ints = append(o.Ints, ints...)
	return o
}

// appendFrame appends a frame with a payload that is an exception, or nothing.
func appendFrame(b []byte, o ttheader.Outgoing, method string, exception []byte) ([]byte, error) {
	start := len(b)
	out, err := o.Append(b)
	if err != nil {
		return b, err
	}
	if len(exception) > 0 {
		out = thriftwire.AppendMessage(out, thriftwire.Exception, method, int32(o.SequenceID))
		out = append(out, exception...)
	}
	ttheader.Seal(out[start:], 0)
	return out, nil
}

// pairsOf returns metadata as it is written, in the order of its keys.
func pairsOf(md stream.Metadata) []transport.Pair {
	if len(md) == 0 {
		return nil
	}
	pairs := make([]transport.Pair, 0, len(md))
	for _, k := range slices.Sorted(maps.Keys(md)) {
		pairs = append(pairs, transport.Pair{Key: k, Value: md[k]})
	}
	return pairs
}

// The types of exceptions that reset streams. The numbers are Kitex's.
const (
	typeProtocol  = 12004
	typeMisuse    = 12005
	typeCancelled = 12007
	typeInternal  = 12011
	typeLost      = 12013
	typeDeadline  = 12015
)

// resetException returns the struct of the exception that tells why a stream is reset.
func resetException(reason *stream.Error) []byte {
	t := int32(typeInternal)
	switch reason.Code {
	case stream.Protocol:
		t = typeProtocol
	case stream.Misuse:
		t = typeMisuse
	case stream.Cancelled:
		t = typeCancelled
	case stream.Lost:
		t = typeLost
	case stream.DeadlineExceeded:
		t = typeDeadline
	}
	text := reason.Error()
	b := thriftwire.AppendField(nil, thriftwire.String, 1)
	b = thriftwire.AppendString(b, text[:min(len(text), maxReason)])
	b = thriftwire.AppendField(b, thriftwire.I32, 2)
	b = thriftwire.AppendI32(b, t)
	return thriftwire.AppendStop(b)
}

// maxReason bounds the text of a reset, in bytes.
const maxReason = 1024
