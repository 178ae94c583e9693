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
		var size int
		switch f.typ.kind {
		case schema.Bool:
			if size = jsonwire.SkipLiteral(in[q:], "true"); size > 0 {
				b[3] = 1
			} else {
				size = jsonwire.SkipLiteral(in[q:], "false")
			}
			q += size
			n += 4
		case schema.I8:
			v, m := jsonwire.ConsumeInt(in[q:], 8)
			b[3] = byte(v)
			q, size = q+m, m
			n += 4
		case schema.I32:
			v, m := jsonwire.ConsumeInt(in[q:], 32)
			binary.BigEndian.PutUint32(b[3:], uint32(v))
			q, size = q+m, m
			n += 7
		case schema.I64:
			v, m := jsonwire.ConsumeInt(in[q:], 64)
			binary.BigEndian.PutUint64(b[3:], uint64(v))
			q, size = q+m, m
			n += 11
		case schema.Double:
			v, m := jsonwire.ConsumeFloat(in[q:], 64)
			binary.BigEndian.PutUint64(b[3:], math.Float64bits(v))
			q, size = q+m, m
			n += 11
		case schema.String:
			var out []byte
			out, size = jsonwire.AppendUnquoted(dst[:n+7], in[q:])
			if size > 0 && len(out) <= r.limit {
				binary.BigEndian.PutUint32(out[n+3:], uint32(len(out)-n-7))
				dst, n = out, len(out)
				q += size
			} else {
				size = 0
			}
		case schema.Binary:
			if r.conv.opts.rawBinary {
				break
			}
			var out []byte
			out, size = jsonwire.ConsumeBase64(dst[:n+7], in[q:], r.conv.opts.looseBase64)
			if size > 0 && len(out) <= r.limit {
				binary.BigEndian.PutUint32(out[n+3:], uint32(len(out)-n-7))
				dst, n = out, len(out)
				q += size
			} else {
				size = 0
			}
		}
		if size <= 0 {
			break
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

// maxScalar is what plainMembers has room for before each: a header and eight bytes,
// written as words.
const maxScalar = 12
