package transport

import (
	"encoding/binary"
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
)

// This file holds what the frames of THeader and TTHeader start with, behind
// their length. All numbers are big-endian:
//
//	u16 magic · u16 flags · u32 sequence id · u16 length of the header in words of four bytes

// Pair is a header to be written.
type Pair struct{ Key, Value string }

// PrefixSize is the size in bytes of what a frame with headers starts with.
const PrefixSize = 10

// Prefix is what a frame with headers starts with.
type Prefix struct {
	Flags      uint16
	SequenceID uint32
	End        int // of the header, in the frame; the payload follows
}

// ParsePrefix parses the start of a frame with that magic number. The header
// lies within the frame: from [PrefixSize] to End. An error is a [*diag.Fault] with the
// offset in the frame.
func ParsePrefix(frame []byte, magic uint16) (Prefix, error) {
	if len(frame) < PrefixSize {
		return Prefix{}, diag.NewFault(diag.UnexpectedEOF, len(frame), fmt.Sprintf("a frame of %d bytes is too short for its header", len(frame)))
	}
	if m := binary.BigEndian.Uint16(frame); m != magic {
		return Prefix{}, diag.NewFault(diag.InvalidHeader, 0, fmt.Sprintf("the frame starts with %#04x, not %#04x", m, magic))
	}
	p := Prefix{
		Flags:      binary.BigEndian.Uint16(frame[2:]),
		SequenceID: binary.BigEndian.Uint32(frame[4:]),
		End:        PrefixSize + 4*int(binary.BigEndian.Uint16(frame[8:])),
	}
	if p.End > len(frame) {
		return Prefix{}, diag.NewFault(diag.UnexpectedEOF, 8, fmt.Sprintf("the header ends %d bytes behind the frame", p.End-len(frame)))
	}
	return p, nil
}

// AppendPrefix appends a frame's length and prefix, in both of which the
// lengths are left open. The header goes behind and [SealHeader] after it.
func AppendPrefix(dst []byte, magic, flags uint16, sequence uint32) []byte {
	b := append(dst, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, magic)
	b = binary.BigEndian.AppendUint16(b, flags)
	b = binary.BigEndian.AppendUint32(b, sequence)
	return append(b, 0, 0)
}

// SealHeader fills up the header that starts at start with zeros to whole
// words and sets its length in the prefix before it. A header of more than
// limit bytes is an error.
func SealHeader(b []byte, start, limit int) ([]byte, error) {
	for (len(b)-start)%4 != 0 {
		b = append(b, 0)
	}
	size := len(b) - start
	if size > limit {
		return nil, diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("a header of %d bytes, more than %d", size, limit))
	}
	binary.BigEndian.PutUint16(b[start-2:], uint16(size/4))
	return b, nil
}
