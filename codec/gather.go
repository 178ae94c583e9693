package codec

import (
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file encodes without copying large strings and binaries.

// DirectSize is the length in bytes from which EncodeInto hands strings and
// binaries to its writer instead of copying them.
const DirectSize = 4 << 10

// Cut is a piece of an encoding that is not copied: Data, which aliases the
// value, belongs before the byte at Offset.
type Cut = engine.Cut

// AppendCuts appends the encoding of v to dst, but for its strings and binaries of at
// least threshold bytes: these it appends to cuts, in their order. On an error
// dst and cuts are returned as they were.
func (c *Codec[T]) AppendCuts(dst []byte, cuts []Cut, v *T, threshold int) ([]byte, []Cut, error) {
	if v == nil {
		return dst, cuts, errNil
	}
	if c.c.empty {
		return append(dst, byte(thriftwire.Stop)), cuts, nil
	}
	b, all, err := c.c.encoder.Gather(dst, cuts, mem.Of(v), max(1, threshold))
	if err != nil {
		return dst, cuts, err
	}
	return b, all, nil
}

// AppendSegments encodes v as segments, which together are its encoding: it
// appends them to segments. Strings and binaries of at least threshold bytes
// are segments of their own that alias v; the rest is appended to buf, which other segments
// alias. The result suits net.Buffers. On an error segments are returned as they were.
func (c *Codec[T]) AppendSegments(segments [][]byte, buf []byte, v *T, threshold int) ([][]byte, error) {
	start := len(buf)
	b, cuts, err := c.AppendCuts(buf, nil, v, threshold)
	if err != nil {
		return segments, err
	}
	for _, cut := range cuts {
		if cut.Offset > start {
			segments = append(segments, b[start:cut.Offset:cut.Offset])
		}
		segments = append(segments, cut.Data)
		start = cut.Offset
	}
	return append(segments, b[start:]), nil
}

// NocopyWriter takes large strings and binaries while EncodeInto fills a
// buffer; it is what Frugal and Kitex call by this name.
type NocopyWriter interface {
	// WriteDirect says that b belongs where remainCap bytes of the buffer remain.
	// b aliases the value that is encoded.
	WriteDirect(b []byte, remainCap int) error
	// MallocAck is for the caller of EncodeInto, which does not call it.
	MallocAck(n int) error
}

// EncodeInto writes the encoding of v, a tagged struct or a pointer to one,
// to the start of buf and returns the number of bytes written. It never
// writes past len(buf); a buffer of Size(v) bytes suffices, a shorter one is
// an error. If w is not nil, strings and binaries of at least DirectSize bytes are handed to w
// instead, which makes the result shorter by their length.
func (s *Set) EncodeInto(buf []byte, w NocopyWriter, v any) (int, error) {
	c, p, err := s.target(v)
	if err != nil {
		return 0, err
	}
	if w == nil {
		b, err := c.encoder.Append(buf[:0:len(buf)], p)
		if err != nil {
			return 0, err
		}
		return len(b), short(len(b), len(buf))
	}
	b, cuts, err := c.encoder.Gather(buf[:0:len(buf)], nil, p, DirectSize)
	if err != nil {
		return 0, err
	}
	if err := short(len(b), len(buf)); err != nil {
		return 0, err
	}
	return len(b), direct(w, cuts, len(buf))
}

func direct(w NocopyWriter, cuts []engine.Cut, size int) error {
	for _, cut := range cuts {
		if err := w.WriteDirect(cut.Data, size-cut.Offset); err != nil {
			return err
		}
	}
	return nil
}

func short(need, have int) error {
	if need <= have {
		return nil
	}
	return diag.NewFault(diag.SizeLimit, have, "the buffer of "+strconv.Itoa(have)+" bytes is shorter than the encoding of "+strconv.Itoa(need))
}
