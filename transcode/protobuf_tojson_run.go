package transcode

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file reads Protobuf and writes JSON: runs of fields as most writers
// write them.

// plainNumber is the number up to which plainFields looks fields up: those
// whose tags have one byte.
const plainNumber = 16

// writesPlain reports whether plainFields writes f, which stands at i.
func (o *options) writesPlain(f *protoField, i int) bool {
	if f.shape != single || f.number >= plainNumber || f.typ.closed || f.typ.null || f.rivals != nil || i >= 64 || len(f.quoted) == 0 {
		return false
	}
	switch f.typ.kind {
	case protoString:
		return !o.lossyText
	case protoBytes:
		return !o.rawBinary
	case protoMessage, protoGroup, protoFloat:
		return false
	}
	return true
}

// quickField is a field that plainFields writes and its place in a set.
type quickField struct {
	*protoField
	bit uint64
}

// indexPlain fills the table of the fields that plainFields writes.
func (m *protoTable) indexPlain(o *options) {
	for i := range m.fields {
		if f := &m.fields[i]; o.writesPlain(f, i) {
			m.plain = true
			m.quick[f.number] = quickField{f, 1 << i}
		}
	}
}

// plainFields writes fields as long as they hold scalars or text, have not
// stood before, and nothing is wrong with them. It stops before the first that
// is otherwise, which only the loop of fields can write, skip or refuse.
func (w *protoToJSON) plainFields(dst, in []byte, p int, t *protoTable, seen uint64) ([]byte, int, uint64) {
	for len(in)-p >= 2 {
		tag := in[p]
		f, bit := t.quick[tag>>3&(plainNumber-1)].protoField, t.quick[tag>>3&(plainNumber-1)].bit
		if f == nil || uint32(tag) != f.tag || seen&bit != 0 {
			break
		}
		// A number, or the length of a text.
		u, q := uint64(in[p+1]), p+2
		if f.typ.wire == protowire.Fixed64 {
			if q = p + 9; q > len(in) {
				break
			}
			u = binary.LittleEndian.Uint64(in[p+1:])
		} else if f.typ.wire == protowire.Fixed32 {
			if q = p + 5; q > len(in) {
				break
			}
			u = uint64(binary.LittleEndian.Uint32(in[p+1:]))
		} else if u >= 0x80 {
			n := 0
			if u, n = w.longVarint(in, p+1); n < 0 {
				break
			}
			q = p + 1 + n
		}
		if uint32(u) == 0 && f.implicit && (u == 0 || f.typ.kind.truncated()) {
			if t.needs {
				break
			}
			seen |= bit
			p = q
			continue
		}
		from := len(dst)
		if cap(dst)-from < fieldRoom {
			dst = slices.Grow(dst, fieldRoom)
		}
		dst = f.appendName(dst)
		ok := true
		switch f.typ.kind {
		case protoInt32:
			dst = jsonwire.AppendInt(dst, int64(int32(u)))
		case protoInt64:
			if w.conv.opts.int64Strings {
				dst = append(jsonwire.AppendInt(append(dst, '"'), int64(u)), '"')
			} else {
				dst = jsonwire.AppendInt(dst, int64(u))
			}
		case protoString:
			if ok = u <= uint64(len(in)-q); ok {
				dst, ok = jsonwire.AppendQuoted(dst, in[q:q+int(u)])
				q += int(u)
			}
		case protoBytes:
			if ok = u <= uint64(len(in)-q); ok {
				dst = append(jsonwire.AppendBase64(append(dst, '"'), in[q:q+int(u)]), '"')
				q += int(u)
			}
		case protoDouble:
			v := math.Float64frombits(u)
			if ok = v-v == 0; ok {
				dst = jsonwire.AppendFloat(dst, v, 64)
			}
		default:
			dst = w.number(dst, u, &f.typ)
		}
		if !ok || len(dst) > w.limit {
			return dst[:from], p, seen
		}
		dst = append(dst, ',')
		seen |= bit
		p = q
	}
	return dst, p, seen
}
