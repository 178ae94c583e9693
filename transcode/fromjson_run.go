package transcode

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
)

// This file reads JSON and writes Thrift: runs of members as most writers write
// them.

// run is where a struct's conversion stands.
type run struct {
	next  int    // the index of the field that is likely to come
	seen  uint64 // the fields that have stood, of the first 64
	count int    // how many fields had a value
	done  bool   // the input position is that after a value, not that of a name
}

// plainMembers reads members as long as they stand in the order of the fields
// without white space, hold scalars or text, and nothing is wrong with them.
// It stops before the first that is otherwise, which only structure's own loop
// can read or refuse.
func (r *fromJSON) plainMembers(dst []byte, p int, t *structTable, s run) ([]byte, int, run) {
	in := r.in
	for s.next < min(len(t.fields), 64) {
		f := &t.fields[s.next]
		bit := uint64(1) << s.next
		if s.seen&bit != 0 || !f.expect.at(in, p) {
			break
		}
		q := p + f.expect.size
		n := len(dst)
		if cap(dst)-n < maxScalar {
			dst = slices.Grow(dst, maxScalar)
		}
		b := dst[n : n+maxScalar]
		binary.LittleEndian.PutUint32(b, f.headWord)
		switch f.typ.kind {
		case schema.Bool:
			if m := jsonwire.SkipLiteral(in[q:], "true"); m > 0 {
				b[3], q = 1, q+m
			} else if m = jsonwire.SkipLiteral(in[q:], "false"); m > 0 {
				q += m
			} else {
				return dst, p, s
			}
			n += 4
		case schema.I8:
			var v int64
			v, q = jsonwire.ConsumeIntAt(in, q, 8)
			b[3] = byte(v)
			n += 4
		case schema.I32:
			var v int64
			v, q = jsonwire.ConsumeIntAt(in, q, 32)
			binary.BigEndian.PutUint32(b[3:], uint32(v))
			n += 7
		case schema.I64:
			var v int64
			v, q = jsonwire.ConsumeIntAt(in, q, 64)
			binary.BigEndian.PutUint64(b[3:], uint64(v))
			n += 11
		case schema.Double:
			var v float64
			v, q = jsonwire.ConsumeFloatAt(in, q, 64)
			binary.BigEndian.PutUint64(b[3:], math.Float64bits(v))
			n += 11
		case schema.String:
			var out []byte
			if out, q = jsonwire.AppendUnquotedAt(dst[:n+7], in, q); q <= 0 || len(out) > r.limit {
				return dst, p, s
			}
			binary.BigEndian.PutUint32(out[n+3:], uint32(len(out)-n-7))
			dst, n = out, len(out)
		case schema.Binary:
			var out []byte
			if out, q = jsonwire.ConsumeBase64At(dst[:n+7], in, q, r.conv.opts.looseBase64); q <= 0 || len(out) > r.limit {
				return dst, p, s
			}
			binary.BigEndian.PutUint32(out[n+3:], uint32(len(out)-n-7))
			dst, n = out, len(out)
		default:
			return dst, p, s
		}
		if q <= 0 {
			return dst, p, s
		}
		dst = dst[:n]
		s.seen |= bit
		s.next++
		s.count++
		if len(in)-q < 2 || in[q] != ',' || in[q+1] <= ' ' {
			p, s.done = q, true
			break
		}
		p = q + 1
	}
	return dst, p, s
}

// elements reads elements of an array as long as they stand without white
// space, are numbers or text, nothing is wrong with them and others follow. It
// returns the position of the one after them, and their number.
func (r *fromJSON) elements(dst []byte, p int, kind schema.Kind) ([]byte, int, int) {
	in := r.in
	for count := 0; ; count++ {
		n := len(dst)
		if cap(dst)-n < maxScalar {
			dst = slices.Grow(dst, maxScalar)
		}
		b := dst[n : n+maxScalar]
		q := p
		switch kind {
		case schema.I32:
			var v int64
			v, q = jsonwire.ConsumeIntAt(in, p, 32)
			binary.BigEndian.PutUint32(b, uint32(v))
			n += 4
		case schema.I64:
			var v int64
			v, q = jsonwire.ConsumeIntAt(in, p, 64)
			binary.BigEndian.PutUint64(b, uint64(v))
			n += 8
		case schema.Double:
			var v float64
			v, q = jsonwire.ConsumeFloatAt(in, p, 64)
			binary.BigEndian.PutUint64(b, math.Float64bits(v))
			n += 8
		case schema.String:
			var out []byte
			if out, q = jsonwire.AppendUnquotedAt(dst[:n+4], in, p); q <= 0 {
				return dst, p, count
			}
			binary.BigEndian.PutUint32(out[n:], uint32(len(out)-n-4))
			n = len(out)
			b = out
		default:
			return dst, p, count
		}
		if q <= 0 || len(in)-q < 2 || in[q] != ',' || in[q+1] <= ' ' || n > r.limit {
			return dst, p, count
		}
		if kind == schema.String {
			dst = b
		}
		dst, p = dst[:n], q+1
	}
}

// maxScalar is what plainMembers has room for before each: a header and eight bytes,
// written as words.
const maxScalar = 12
