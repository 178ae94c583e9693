package transcode

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
)

// This file reads JSON and writes Thrift: runs of members as most writers write
// them.

// shortName bounds the names, quoted and with their colon, that are compared
// and written as three words.
const shortName = 24

// form is how plainMembers reads and plainFields writes a field. It stands for
// kind so that a few comparisons tell it: a jump through a table of kinds was
// seen to be guessed wrong often, depending on nothing but where the code lies.
type form uint8

const (
	notPlain form = iota
	plainInteger
	plainDouble
	plainText
	plainBase64
)

// reading returns the form in which plainMembers reads values of that kind.
func (o *options) reading(kind schema.Kind) form {
	switch kind {
	case schema.I8, schema.I16, schema.I32, schema.I64:
		return plainInteger
	case schema.Double:
		return plainDouble
	case schema.String:
		return plainText
	case schema.Binary:
		if !o.rawBinary {
			return plainBase64
		}
	}
	return notPlain
}

// plain returns the fields of t that may come next in a run: those from next on
// that have not stood yet.
func (t *structTable) plain(next int, seen uint64) []field {
	if next >= min(len(t.fields), 64) {
		return nil
	}
	end := next + bits.TrailingZeros64(seen>>next) // beyond all if none has stood
	return t.fields[next:min(end, len(t.fields), 64)]
}

// bitsOf returns the set of n fields from next on.
func bitsOf(next, n int) uint64 { return (1<<n - 1) << next }

// plainMembers reads members as long as they are those of fields in that order,
// stand without white space, hold scalars or text, and nothing is wrong with them.
// It returns how many it has read, and whether the last one is the last of its
// struct as far as is known here: the position is then that after its value, else
// that of the next name. What it stops at only structure's own loop can read or refuse.
func (r *fromJSON) plainMembers(dst []byte, p int, fields []field) (out []byte, end, count int, last bool) {
	in := r.in
	for i := range fields {
		f := &fields[i]
		if f.reads == notPlain || len(in)-p < shortName {
			return dst, p, i, false
		}
		w := in[p : p+shortName]
		if (binary.LittleEndian.Uint64(w)^f.words[0])&f.masks[0]|
			(binary.LittleEndian.Uint64(w[8:])^f.words[1])&f.masks[1]|
			(binary.LittleEndian.Uint64(w[16:])^f.words[2])&f.masks[2] != 0 {
			return dst, p, i, false
		}
		q := p + int(f.nameSize)
		n := len(dst)
		if cap(dst)-n < maxScalar {
			dst = slices.Grow(dst, maxScalar)
		}
		b := (*[maxScalar]byte)(dst[n : n+maxScalar])
		binary.LittleEndian.PutUint32(b[:], f.headWord)
		switch f.reads {
		case plainInteger:
			var v int64
			v, q = jsonwire.ConsumeIntAt(in, q, f.bits)
			binary.BigEndian.PutUint64(b[3:], uint64(v)<<(f.shift&63))
			n += int(f.wide)
		case plainDouble:
			var v float64
			v, q = jsonwire.ConsumeFloatAt(in, q, 64)
			binary.BigEndian.PutUint64(b[3:], math.Float64bits(v))
			n += 11
		case plainText:
			var out []byte
			if out, q = jsonwire.AppendUnquotedAt(dst[:n+7], in, q); q <= 0 || len(out) > r.limit {
				return dst, p, i, false
			}
			binary.BigEndian.PutUint32(out[n+3:], uint32(len(out)-n-7))
			dst, n = out, len(out)
		case plainBase64:
			var out []byte
			if out, q = jsonwire.ConsumeBase64At(dst[:n+7], in, q, r.conv.opts.looseBase64); q <= 0 || len(out) > r.limit {
				return dst, p, i, false
			}
			binary.BigEndian.PutUint32(out[n+3:], uint32(len(out)-n-7))
			dst, n = out, len(out)
		}
		if q <= 0 {
			return dst, p, i, false
		}
		dst = dst[:n]
		if len(in)-q < 2 || in[q] != ',' || in[q+1] <= ' ' {
			return dst, q, i + 1, true
		}
		p = q + 1
	}
	return dst, p, len(fields), false
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
