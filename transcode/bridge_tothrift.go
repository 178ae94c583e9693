package transcode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file reads Protobuf and writes Thrift: messages as encoders write them.
// What is in pieces is put together first, by bridge_merge.go.

// protoToThrift is a conversion from Protobuf to Thrift. Its methods take the
// input up to the end of the innermost message, list or entry.
type protoToThrift struct{ protoToJSON }

// AppendThrift converts the Protobuf message in protobuf, all of it, and
// appends it as a Thrift struct to dst, which must not overlap protobuf. On an error dst comes back
// as it was. The result does not alias protobuf.
func (b *Bridge) AppendThrift(dst, protobuf []byte) ([]byte, error) {
	var w protoToThrift
	w.start(b.conv, dst, protobuf)
	if w.tooLong() {
		return dst, w.fault
	}
	out, p := w.structure(dst, protobuf, 0, b.root, 0)
	if p < 0 {
		out, p = w.again(b, dst, protobuf)
	}
	b.conv.release(w.mem)
	if p < 0 {
		return dst, w.fault
	}
	return out, nil
}

// again converts the message once more with its pieces put together. If that
// fails for the reason for which the first pass did, its fault is kept, since it
// says where.
func (w *protoToThrift) again(b *Bridge, dst, protobuf []byte) ([]byte, int) {
	first := w.fault
	b.conv.release(w.mem)
	*w = protoToThrift{}
	w.start(b.conv, dst, protobuf)
	whole, p := w.whole(nil, []piece{{0, len(protobuf), 0}}, b.root.proto)
	if p < 0 {
		return dst, p
	}
	w.state.in = whole
	out, p := w.structure(dst, whole, 0, b.root, 0)
	switch {
	case p >= 0:
	case first != nil && w.fault != nil && first.Code == w.fault.Code:
		w.fault = first
	case w.fault != nil:
		w.fault.Offset = -1
	}
	return out, p
}

// structure writes the message that stands from p to the end of in, or to the
// end of the group with that number.
func (w *protoToThrift) structure(dst, in []byte, p int, t *bridgeTable, group int32) ([]byte, int) {
	start := p
	if w.depth == 0 {
		return dst, w.tooDeep(p)
	}
	w.depth--
	set, given := w.open(len(t.links)), w.open(len(t.back))
	count := 0
	for p < len(in) {
		at := p
		number, wire, n := protowire.ConsumeTag(in[p:])
		if n < 0 {
			return dst, w.protoError(n, p)
		}
		p += n
		i := t.proto.byNumber(number)
		tag := uint32(protowire.Tag(number, wire))
		if i < 0 || t.back[i] < 0 || tag != t.proto.fields[i].tag && tag != t.proto.fields[i].packedTag {
			done := false
			if p, done = w.stranger(in, p, at, t.proto, i, group); p < 0 {
				return dst, p
			}
			if done {
				group = 0
				break
			}
			if i >= 0 {
				w.mark(&given, i)
			}
			continue
		}
		f := &t.proto.fields[i]
		if w.mark(&given, i) || f.rivals != nil && w.any(&given, f.rivals) {
			return dst, w.inPieces()
		}
		if f.peek {
			if next, absent := w.absentValue(in, p, f); absent {
				p = next
				continue
			}
		}
		j := int(t.back[i])
		to := &t.thrift.fields[j]
		if dst, p = w.field(append(dst, to.head[:]...), in, p, f, &to.typ, t.links[j].table, tag != f.tag); p < 0 {
			return dst, w.within(f)
		}
		w.mark(&set, j)
		count++
	}
	switch {
	case group != 0:
		return dst, w.protoError(protowire.ErrEOF, p)
	case t.thrift.union && count != 1:
		return dst, w.badUnion(start, t.thrift, count)
	}
	if t.needs {
		if dst = w.zeros(dst, t, &set); !w.complete(start, t, &set, &given) {
			return dst, failed
		}
	}
	w.drop(&given, len(t.back))
	w.drop(&set, len(t.links))
	w.depth++
	if dst = thriftwire.AppendStop(dst); len(dst) > w.limit {
		return dst, w.tooLarge(start)
	}
	return dst, p
}

// zeros writes the fields whose zero Protobuf leaves out and Thrift needs.
func (w *protoToThrift) zeros(dst []byte, t *bridgeTable, set *fields) []byte {
	for i := range t.links {
		if z := t.links[i].zero; z != nil && w.present(set, len(t.links), i/64)>>(i%64)&1 == 0 {
			dst = append(dst, z...)
			w.mark(set, i)
		}
	}
	return dst
}

// field writes the value, elements or entries at p behind the field's header.
func (w *protoToThrift) field(dst, in []byte, p int, f *protoField, t *typ, table *bridgeTable, packed bool) ([]byte, int) {
	switch f.shape {
	case repeated:
		return w.list(dst, in, p, f, t, table, packed)
	case mapped:
		return w.mapping(dst, in, p, f, t, table)
	default:
		return w.value(dst, in, p, &f.typ, t, table)
	}
}

// list writes the elements that stand one after another, the first of them
// behind its tag at p.
func (w *protoToThrift) list(dst, in []byte, p int, f *protoField, t *typ, table *bridgeTable, packed bool) ([]byte, int) {
	if w.depth == 0 {
		return dst, w.tooDeep(p)
	}
	w.depth--
	dst = thriftwire.AppendList(dst, t.elem.wire, 0)
	size := len(dst)
	unique := t.kind == schema.Set && !w.conv.opts.allowDuplicates
	base := len(w.memory().entries)
	for count := 0; ; {
		part := in
		if packed {
			l, n := w.length(in, p)
			if n < 0 {
				return dst, w.protoError(n, p)
			}
			part = in[:p+n+l]
			p += n
		}
		for first := !packed; first || packed && p < len(part); first = false {
			at, from := p, len(dst)
			if f.typ.closed {
				if next, absent := w.absentValue(part, p, f); absent {
					p = next
					continue
				}
			}
			if dst, p = w.value(dst, part, p, &f.typ, t.elem, table); p < 0 {
				if w.fault != nil {
					w.fault.Index(count)
				}
				return dst, p
			}
			if unique {
				w.mem.add(dst[w.base:], at, from-w.base)
			}
			if count++; len(dst) > w.limit {
				return dst, w.tooLarge(at)
			}
		}
		binary.BigEndian.PutUint32(dst[size-4:], uint32(count))
		if p, packed = nextElement(in, p, f); p < 0 {
			p = ^p
			break
		}
	}
	w.depth++
	if unique {
		if at := w.mem.close(&w.conv.secret, base, dst[w.base:]); at >= 0 {
			return dst, w.fail(diag.DuplicateKey, at, "the set element stands twice")
		}
	}
	return dst, p
}

// nextElement returns the position after the tag of another element of f at p
// and whether it is packed, or the complement of p if there is none.
func nextElement(in []byte, p int, f *protoField) (int, bool) {
	switch {
	case f.follows(in, p):
		return p + len(f.head), false
	case f.packedTag != 0 && head(in, p, f.packedHead):
		return p + len(f.packedHead), true
	}
	return ^p, false
}

// mapping writes the entries that stand one after another, the first of them
// behind its tag at p.
func (w *protoToThrift) mapping(dst, in []byte, p int, f *protoField, t *typ, table *bridgeTable) ([]byte, int) {
	if w.depth == 0 {
		return dst, w.tooDeep(p)
	}
	w.depth--
	dst = thriftwire.AppendMap(dst, t.key.wire, t.elem.wire, 0)
	size := len(dst)
	base := len(w.memory().entries)
	for count := 1; ; count++ {
		l, n := w.length(in, p)
		if n < 0 {
			return dst, w.protoError(n, p)
		}
		if dst, p = w.entry(dst, in[:p+n+l], p+n, f, t, table); p < 0 {
			return dst, p
		}
		if len(dst) > w.limit {
			return dst, w.tooLarge(p)
		}
		binary.BigEndian.PutUint32(dst[size-4:], uint32(count))
		if !f.follows(in, p) {
			break
		}
		p += len(f.head)
	}
	w.depth++
	if w.mem.close(&w.conv.secret, base, dst[w.base:]) >= 0 {
		return dst, w.inPieces() // of entries with one key, the last one counts
	}
	return dst, p
}

// entry writes the key and the value of the entry that stands from p to the end
// of in. One that is absent is zero.
func (w *protoToThrift) entry(dst, in []byte, p int, f *protoField, t *typ, table *bridgeTable) ([]byte, int) {
	at, from := p, len(dst)
	if p < len(in) && in[p] == keyNumber|byte(f.key.wire) {
		if dst, p = w.value(dst, in, p+1, &f.key, t.key, nil); p < 0 {
			return dst, p
		}
	} else {
		dst = appendThriftZero(dst, t.key)
	}
	w.mem.add(dst[w.base:], at, from-w.base)
	switch {
	case p < len(in) && in[p] == valueNumber|byte(f.typ.wire):
		if p++; f.typ.closed {
			if _, absent := w.absentValue(in, p, f); absent {
				return dst, w.inPieces()
			}
		}
		dst, p = w.value(dst, in, p, &f.typ, t.elem, table)
	case f.typ.message != nil:
		dst, p = w.structure(dst, in[:p], p, table, 0)
	case f.typ.kind == protoEnum && len(f.typ.enum.values) > 0:
		dst, p = w.integer(dst, p, p, int64(f.typ.enum.values[0]), t.elem.kind)
	default:
		dst = appendThriftZero(dst, t.elem)
	}
	if p >= 0 && p != len(in) {
		return dst, w.inPieces()
	}
	return dst, p
}

// value writes the value at p, which has type t, as one of type to.
func (w *protoToThrift) value(dst, in []byte, p int, t *protoTyp, to *typ, table *bridgeTable) ([]byte, int) {
	switch t.kind {
	case protoMessage:
		l, n := w.length(in, p)
		if n < 0 {
			return dst, w.protoError(n, p)
		}
		return w.structure(dst, in[:p+n+l], p+n, table, 0)
	case protoGroup:
		return w.structure(dst, in, p, table, t.group)
	case protoString, protoBytes:
		l, n := w.length(in, p)
		if n < 0 {
			return dst, w.protoError(n, p)
		}
		return w.bytes(dst, in[p+n:p+n+l], p, p+n+l, t.kind, to.kind)
	}
	u, n := w.raw(in, p, t.wire)
	if n < 0 {
		return dst, w.protoError(n, p)
	}
	switch t.kind {
	case protoBool:
		return thriftwire.AppendBool(dst, u != 0), p + n
	case protoFloat:
		return appendFloating(dst, float64(math.Float32frombits(uint32(u))), to.kind), p + n
	case protoDouble:
		v := math.Float64frombits(u)
		if to.kind == schema.Float && float64(float32(v)) != v && v == v {
			return dst, w.fail(diag.OutOfRange, p, fmt.Sprintf("a float cannot hold %v", v))
		}
		return appendFloating(dst, v, to.kind), p + n
	}
	v := signedOf(u, t.kind)
	if v < 0 && (t.kind == protoUint64 || t.kind == protoFixed64) {
		return dst, w.fail(diag.OutOfRange, p, fmt.Sprintf("%d is not in the range of %s", u, to.kind))
	}
	return w.integer(dst, p, p+n, v, to.kind)
}

// signedOf returns the number that came as u; of an unsigned one of 64 bits the bits.
func signedOf(u uint64, kind protoKind) int64 {
	switch kind {
	case protoInt32, protoSfixed32, protoEnum:
		return int64(int32(u))
	case protoSint32:
		return protowire.ZagZig(u & math.MaxUint32)
	case protoUint32, protoFixed32:
		return int64(uint32(u))
	case protoSint64:
		return protowire.ZagZig(u)
	default:
		return int64(u)
	}
}

// integer writes v, which stands from p to end.
func (w *protoToThrift) integer(dst []byte, p, end int, v int64, kind schema.Kind) ([]byte, int) {
	width := 32 // of an enum
	if kind != schema.Enum {
		width = intBits[kind]
	}
	if bits.Len64(uint64(v^v>>63)) >= width {
		return dst, w.fail(diag.OutOfRange, p, fmt.Sprintf("%d is not in the range of %s", v, kind))
	}
	if kind == schema.Enum {
		kind = schema.I32
	}
	return appendInteger(dst, v, kind), end
}

// bytes writes b, which stands from p to end, as a string, binary or uuid.
func (w *protoToThrift) bytes(dst, b []byte, p, end int, kind protoKind, to schema.Kind) ([]byte, int) {
	if to == schema.UUID {
		var id [16]byte
		ok := len(b) == len(id)
		if kind == protoString {
			id, ok = parseUUID(b)
		} else if ok {
			id = [16]byte(b)
		}
		if !ok {
			return dst, w.fail(diag.InvalidData, p, fmt.Sprintf("%q is no uuid", shorten(b)))
		}
		return thriftwire.AppendUUID(dst, id), end
	}
	if kind == protoString && !utf8.Valid(b) {
		if !w.conv.opts.lossyText {
			return dst, w.fail(diag.InvalidData, p, "the string is not UTF-8")
		}
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	if dst = thriftwire.AppendBytes(dst, b); len(dst) > w.limit {
		return dst, w.tooLarge(p)
	}
	return dst, end
}
