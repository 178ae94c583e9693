package trpc

import (
	"encoding/binary"
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
)

// This file holds what every frame starts with.

// HeadSize is the size in bytes of a frame's head.
const HeadSize = 16

// Magic is the number that frames start with.
const Magic = 0x0930

// DefaultMaxFrame is the size in bytes, head and all, of the largest frame
// that peers take unless they are told otherwise.
const DefaultMaxFrame = 10 << 20

// MaxHeader is the size in bytes of the largest header of a unary call.
const MaxHeader = 1<<16 - 1

// FrameType is what a frame belongs to.
type FrameType uint8

const (
	Unary  FrameType = 0 // a call or its reply
	Stream FrameType = 1 // a stream
)

// StreamType is what a frame of a stream is.
type StreamType uint8

const (
	StreamInit     StreamType = 1 // opens a stream, and answers that
	StreamData     StreamType = 2 // a message
	StreamFeedback StreamType = 3 // room for more messages
	StreamClose    StreamType = 4 // the end, of one direction or of both
)

// FirstStreamID is the first id that clients give to streams. Those below are reserved.
const FirstStreamID = 100

// Version is the protocol's version in the heads of unary frames; streams have 0.
const Version = 1

// Head is what a frame starts with.
type Head struct {
	Type    FrameType
	Stream  StreamType // of frames of a stream
	Total   uint32     // bytes of the frame, with this head
	Header  uint16     // bytes of the header that follows; 0 for streams
	ID      uint32     // of the request or stream
	Version uint8
}

// ParseHead parses the head at the front of a whole frame. An error is a
// [*diag.Fault].
func ParseHead(frame []byte) (Head, error) {
	if len(frame) < HeadSize {
		return Head{}, diag.NewFault(diag.UnexpectedEOF, len(frame), fmt.Sprintf("a frame of %d bytes has no head", len(frame)))
	}
	if m := binary.BigEndian.Uint16(frame); m != Magic {
		return Head{}, diag.NewFault(diag.InvalidHeader, 0, fmt.Sprintf("the frame starts with %#04x, not %#04x", m, Magic))
	}
	h := Head{
		Type: FrameType(frame[2]), Stream: StreamType(frame[3]),
		Total:  binary.BigEndian.Uint32(frame[4:]),
		Header: binary.BigEndian.Uint16(frame[8:]),
		ID:     binary.BigEndian.Uint32(frame[10:]), Version: frame[14],
	}
	if uint64(h.Total) != uint64(len(frame)) {
		return h, diag.NewFault(diag.InvalidLength, 4, fmt.Sprintf("a frame of %d bytes says that it has %d", len(frame), h.Total))
	}
	if HeadSize+int(h.Header) > len(frame) {
		return h, diag.NewFault(diag.UnexpectedEOF, 8, fmt.Sprintf("a header of %d bytes in a frame of %d", h.Header, len(frame)))
	}
	return h, nil
}

// Append appends h.
func (h Head) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, Magic)
	dst = append(dst, byte(h.Type), byte(h.Stream))
	dst = binary.BigEndian.AppendUint32(dst, h.Total)
	dst = binary.BigEndian.AppendUint16(dst, h.Header)
	dst = binary.BigEndian.AppendUint32(dst, h.ID)
	return append(dst, h.Version, 0)
}

// Seal writes the lengths of the frame that starts at start in b: header bytes
// of header, and beside bytes behind b that will be sent from elsewhere. A header or frame
// beyond what fits is an error.
func Seal(b []byte, start, header, beside int) error {
	total := len(b) - start + beside
	if header > MaxHeader {
		return diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("a header of %d bytes, more than %d", header, MaxHeader))
	}
	if uint64(total) > 1<<32-1 {
		return diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("a frame of %d bytes", total))
	}
	binary.BigEndian.PutUint32(b[start+4:], uint32(total))
	binary.BigEndian.PutUint16(b[start+8:], uint16(header))
	return nil
}

// Scanner finds the frames of a stream.
type Scanner struct {
	limit, want int
}

// NewScanner returns a Scanner for frames of limit bytes at most, head and all.
func NewScanner(limit int) *Scanner { return &Scanner{limit: limit} }

// Next returns the frame at the front of b, which it aliases. n is its size;
// while the frame is not complete it is 0, and Next must be called again with more
// bytes. An error is a [*diag.Fault] and final.
func (s *Scanner) Next(b []byte) (frame []byte, n int, err error) {
	if len(b) < HeadSize {
		s.want = HeadSize
		return nil, 0, nil
	}
	if m := binary.BigEndian.Uint16(b); m != Magic {
		return nil, 0, diag.NewFault(diag.InvalidHeader, 0, fmt.Sprintf("the frame starts with %#04x, not %#04x", m, Magic))
	}
	size := binary.BigEndian.Uint32(b[4:])
	switch {
	case size < HeadSize:
		return nil, 0, diag.NewFault(diag.InvalidLength, 4, fmt.Sprintf("frame of length %d", size))
	case int64(size) > int64(s.limit):
		return nil, 0, diag.NewFault(diag.SizeLimit, 4, fmt.Sprintf("frame of %d bytes exceeds the limit of %d", size, s.limit))
	case len(b) < int(size):
		s.want = int(size)
		return nil, 0, nil
	}
	return b[:size:size], int(size), nil
}

// Want returns the number of bytes that the frame needs at least, as far as is
// known after a Next that found it incomplete. It is no reason to allocate as much.
func (s *Scanner) Want() int { return s.want }
