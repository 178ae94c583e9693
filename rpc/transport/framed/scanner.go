package framed

import (
	"encoding/binary"
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
)

// This file holds the Scanner, and the framed half of it.

// HeaderSize is the size of a frame's length in bytes.
const HeaderSize = 4

// Scanner finds the end of each message of a stream. It remembers how far it
// has come, so that a message that arrives byte by byte is looked at once.
type Scanner struct {
	framed  bool
	limit   int
	skip    skipper         // the message at the front, for unframed streams
	compact *compactSkipper // the same in the compact protocol, nil in the binary one
	want    int
}

// NewScanner returns a Scanner for a framed or unframed stream whose messages
// have at most limit bytes, not counting the frame's length.
func NewScanner(framed bool, limit int) *Scanner {
	return &Scanner{framed: framed, limit: limit}
}

// NewLooseScanner returns a Scanner for an unframed stream of the binary
// protocol whose messages start without a version, as old clients write them.
func NewLooseScanner(limit int) *Scanner {
	return &Scanner{limit: limit, skip: skipper{loose: true}}
}

// NewCompactScanner returns a Scanner for an unframed stream of the compact
// protocol, in either dialect, whose messages have at most limit bytes.
func NewCompactScanner(limit int) *Scanner {
	return &Scanner{limit: limit, compact: new(compactSkipper)}
}

// Next looks for the message at the front of b. When it is complete, Next
// returns the message without the frame's length, and the bytes to take from
// the front; message aliases b. When it is not, n is 0: Next must be called
// again with the same bytes and more behind them. An error is a [*diag.Fault]
// and final: the stream cannot be followed any further.
func (s *Scanner) Next(b []byte) (message []byte, n int, err error) {
	if s.framed {
		return s.nextFrame(b)
	}
	if s.compact != nil {
		end, err := s.compact.next(b, s.limit)
		if err != nil || end == 0 {
			s.want = s.compact.pos
			return nil, 0, err
		}
		s.compact.reset()
		return b[:end:end], end, nil
	}
	end, err := s.skip.next(b, s.limit)
	if err != nil || end == 0 {
		s.want = s.skip.pos
		return nil, 0, err
	}
	s.skip.reset()
	return b[:end:end], end, nil
}

// Want returns the number of bytes that the message needs at least, as far as
// is known after a Next that found it incomplete. A peer may claim any number
// up to the limit: it is no reason to allocate that much.
func (s *Scanner) Want() int { return s.want }

func (s *Scanner) nextFrame(b []byte) ([]byte, int, error) {
	if len(b) < HeaderSize {
		s.want = HeaderSize
		return nil, 0, nil
	}
	size := binary.BigEndian.Uint32(b)
	switch {
	case size == 0 || size>>31 != 0:
		return nil, 0, diag.NewFault(diag.InvalidLength, 0, fmt.Sprintf("frame of length %d", int32(size)))
	case int64(size) > int64(s.limit):
		return nil, 0, tooLarge(0, s.limit)
	}
	end := HeaderSize + int(size)
	if len(b) < end {
		s.want = end
		return nil, 0, nil
	}
	return b[HeaderSize:end:end], end, nil
}

func tooLarge(offset, limit int) error {
	return diag.NewFault(diag.SizeLimit, offset, fmt.Sprintf("message exceeds the limit of %d bytes", limit))
}
