package transcode

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file reads Thrift and writes JSON: runs of fields as most writers write
// them.

// fieldRoom is what plainFields has room for before each: a short name and a
// number with a comma, more than there is so that an index of five bits needs no check.
const fieldRoom = 32 + jsonwire.MaxFloat + 1

// writing returns the form in which plainFields writes values of that kind.
func (o *options) writing(kind schema.Kind) form {
	if kind == schema.I64 && o.int64Strings || kind == schema.String && o.lossyText {
		return notPlain
	}
	return o.reading(kind)
}

// plainFields writes fields as long as they are those of fields in that order,
// hold scalars or text, and nothing is wrong with them. It returns how many it has
// written. What it stops at only structure's own loop can write, skip or refuse.
func (w *toJSON) plainFields(dst []byte, p int, fields []field) (out []byte, end, count int) {
	in := w.in
	for i := range fields {
		f := &fields[i]
		// The last field of a message may be too near its end to be looked at here.
		if f.writes == notPlain || len(in)-p < 12 || binary.LittleEndian.Uint32(in[p:])&0xffffff != f.headWord {
			return dst, p, i
		}
		n := len(dst)
		if cap(dst)-n < fieldRoom {
			dst = slices.Grow(dst, fieldRoom)
		}
		b := (*[fieldRoom]byte)(dst[n : n+fieldRoom])
		binary.LittleEndian.PutUint64(b[:8], f.words[0])
		binary.LittleEndian.PutUint64(b[8:16], f.words[1])
		binary.LittleEndian.PutUint64(b[16:24], f.words[2])
		at := int(f.nameSize & 31)
		if f.writes <= plainDouble {
			bits := binary.BigEndian.Uint64(in[p+3:])
			if f.writes == plainInteger {
				at += jsonwire.PutInt((*[jsonwire.MaxInt]byte)(b[at:]), int64(bits)>>(f.shift&63))
			} else if v := math.Float64frombits(bits); v-v == 0 {
				at += jsonwire.PutFloat((*[jsonwire.MaxFloat]byte)(b[at:]), v)
			} else {
				return dst, p, i
			}
			b[at] = ','
			dst, p = dst[:n+at+1], p+int(f.wide)
			continue
		}
		text, size := thriftwire.ConsumeBytes(in[p+3:])
		if size < 0 {
			return dst, p, i
		}
		out, ok := dst[:n+at], true
		if f.writes == plainText {
			out, ok = jsonwire.AppendQuoted(out, text)
		} else {
			out = append(jsonwire.AppendBase64(append(out, '"'), text), '"')
		}
		if !ok || len(out) > w.limit {
			return dst, p, i
		}
		dst, p = append(out, ','), p+3+size
	}
	return dst, p, len(fields)
}

// numbers writes up to size numbers, each with a comma, as long as nothing is
// wrong with them, and returns the position after them and how many they were.
func (w *toJSON) numbers(dst []byte, p int, kind schema.Kind, size int) ([]byte, int, int) {
	in := w.in
	width := 8
	switch {
	case kind == schema.I32:
		width = 4
	case kind == schema.I64 && !w.conv.opts.int64Strings, kind == schema.Double:
	default:
		return dst, p, 0
	}
	count := min(size, (len(in)-p)/width)
	for i := range count {
		if len(dst) > w.limit {
			return dst, p, i
		}
		switch kind {
		case schema.I32:
			dst = jsonwire.AppendInt(dst, int64(int32(binary.BigEndian.Uint32(in[p:]))))
		case schema.I64:
			dst = jsonwire.AppendInt(dst, int64(binary.BigEndian.Uint64(in[p:])))
		case schema.Double:
			v := math.Float64frombits(binary.BigEndian.Uint64(in[p:]))
			if v-v != 0 {
				return dst, p, i
			}
			dst = jsonwire.AppendFloat(dst, v, 64)
		}
		dst = append(dst, ',')
		p += width
	}
	return dst, p, count
}
