package transcode

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file reads Thrift and writes Protobuf.

// thriftToProto is a conversion from Thrift to Protobuf.
type thriftToProto struct{ toJSON }

// AppendProtobuf converts the Thrift struct at the front of thrift and appends
// it as a Protobuf message to dst, which must not overlap thrift. It returns
// the number of bytes that the struct took; what follows it is not looked at.
// Fields are written in the order in which they stand. On an error dst comes
// back as it was and n is 0. The result does not alias thrift.
func (b *Bridge) AppendProtobuf(dst, thrift []byte) (out []byte, n int, err error) {
	var w thriftToProto
	w.start(b.conv, dst, thrift)
	p := failed
	out = dst
	if !w.tooLong() {
		out, p = w.structure(dst, 0, b.root)
	}
	b.conv.release(w.mem)
	if p < 0 {
		return dst, 0, w.fault
	}
	return out, p, nil
}

// structure reads a struct and writes the fields of its message.
func (w *thriftToProto) structure(dst []byte, p int, t *bridgeTable) ([]byte, int) {
	start := p
	if w.depth == 0 {
		return dst, w.tooDeep(p)
	}
	w.depth--
	set, given := w.open(len(t.links)), w.open(len(t.back))
	for count, next := 0, 0; ; {
		if p >= len(w.in) {
			return dst, w.wireError(thriftwire.ErrEOF, p)
		}
		if w.in[p] == byte(thriftwire.Stop) {
			if p++; t.thrift.union && count != 1 {
				return dst, w.badUnion(start, t.thrift, count)
			}
			break
		}
		i, at := -1, p
		if i, p = w.header(p, t.thrift, next); p < 0 {
			return dst, p
		}
		count++
		if i < 0 || t.links[i].proto == nil {
			if p = w.unknown(p, at, t.thrift); p < 0 {
				return dst, p
			}
			continue
		}
		f, l := &t.thrift.fields[i], &t.links[i]
		if w.mark(&set, i) {
			return dst, w.twice(at, t.thrift, f)
		}
		if w.mark(&given, l.index); l.proto.rivals != nil && w.any(&given, l.proto.rivals) {
			return dst, w.fail(diag.InvalidUnion, at, fmt.Sprintf("field %q of %s stands beside another one of its oneof", f.name, t.proto.name))
		}
		if dst, p = w.field(dst, p, &f.typ, l); p < 0 {
			w.fault.Field(f.name)
			return dst, p
		}
		next = i + 1
	}
	if t.needs && !w.complete(start, t, &set, &given) {
		return dst, failed
	}
	w.drop(&given, len(t.back))
	w.drop(&set, len(t.links))
	w.depth++
	if len(dst) > w.limit {
		return dst, w.tooLarge(start)
	}
	return dst, p
}

// complete checks what must be present on either side; the struct starts at start.
func (s *state) complete(start int, t *bridgeTable, set, given *fields) bool {
	for i, m := range t.thrift.required {
		if m &^= s.present(set, len(t.links), i); m != 0 {
			s.missing(start, t.thrift, i*64+bits.TrailingZeros64(m))
			return false
		}
	}
	for i, m := range t.proto.needed {
		if m &^= s.present(given, len(t.back), i); m != 0 {
			s.protoMissing(start, t.proto, i*64+bits.TrailingZeros64(m))
			return false
		}
	}
	return true
}

// field writes the value at p behind the tag of its partner.
func (w *thriftToProto) field(dst []byte, p int, t *typ, l *bridgeLink) ([]byte, int) {
	switch l.proto.shape {
	case repeated:
		return w.list(dst, p, t, l)
	case mapped:
		return w.mapping(dst, p, t, l)
	}
	from := len(dst)
	dst = append(dst, l.proto.head...)
	value := len(dst)
	if dst, p = w.value(dst, p, t, &l.proto.typ, l.table); p >= 0 && l.proto.implicit && isZero(dst[value:], l.proto.typ.wire) {
		dst = dst[:from]
	}
	return dst, p
}

// list writes a list or set.
func (w *thriftToProto) list(dst []byte, p int, t *typ, l *bridgeLink) ([]byte, int) {
	elem, size, n := thriftwire.ConsumeList(w.in[p:])
	switch {
	case n < 0:
		return dst, w.wireError(n, p)
	case size > 0 && elem != t.elem.wire:
		return dst, w.mismatch(p, "elements of "+wireName(t.elem.wire), wireName(elem))
	case w.depth == 0:
		return dst, w.tooDeep(p)
	case size == 0:
		return dst, p + n
	}
	w.depth--
	p += n
	from := 0
	if l.proto.packed {
		dst = openLength(append(dst, l.proto.packedHead...))
		from = len(dst)
	}
	for i := range size {
		if !l.proto.packed {
			dst = append(dst, l.proto.head...)
		}
		at := p
		if dst, p = w.value(dst, p, t.elem, &l.proto.typ, l.table); p < 0 {
			w.fault.Index(i)
			return dst, p
		}
		if len(dst) > w.limit {
			return dst, w.tooLarge(at)
		}
	}
	if l.proto.packed {
		dst = closeLength(dst, from)
	}
	w.depth++
	return dst, p
}

// mapping writes a map. A key that stands twice passes: the last one counts.
func (w *thriftToProto) mapping(dst []byte, p int, t *typ, l *bridgeLink) ([]byte, int) {
	key, elem, size, n := thriftwire.ConsumeMap(w.in[p:])
	switch {
	case n < 0:
		return dst, w.wireError(n, p)
	case size > 0 && (key != t.key.wire || elem != t.elem.wire):
		return dst, w.mismatch(p, "entries of "+wireName(t.key.wire)+" to "+wireName(t.elem.wire), wireName(key)+" to "+wireName(elem))
	case w.depth == 0:
		return dst, w.tooDeep(p)
	}
	w.depth--
	p += n
	for i := range size {
		at := p
		dst = openLength(append(dst, l.proto.head...))
		from := len(dst)
		dst = append(dst, keyNumber|byte(l.proto.key.wire))
		if dst, p = w.value(dst, p, t.key, &l.proto.key, nil); p >= 0 {
			dst = append(dst, valueNumber|byte(l.proto.typ.wire))
			dst, p = w.value(dst, p, t.elem, &l.proto.typ, l.table)
		}
		if p < 0 {
			w.fault.Index(i)
			return dst, p
		}
		if dst = closeLength(dst, from); len(dst) > w.limit {
			return dst, w.tooLarge(at)
		}
	}
	w.depth++
	return dst, p
}

// value writes the value at p, which has type t, as one of type to.
func (w *thriftToProto) value(dst []byte, p int, t *typ, to *protoTyp, table *bridgeTable) ([]byte, int) {
	switch t.kind {
	case schema.Struct:
		if to.kind == protoGroup {
			if dst, p = w.structure(dst, p, table); p >= 0 {
				dst = protowire.AppendTag(dst, to.group, protowire.EndGroup)
			}
			return dst, p
		}
		dst = openLength(dst)
		from := len(dst)
		if dst, p = w.structure(dst, p, table); p >= 0 {
			dst = closeLength(dst, from)
		}
		return dst, p
	case schema.String, schema.Binary:
		return w.bytes(dst, p, to)
	}
	if !w.need(p, t.size) {
		return dst, failed
	}
	end := p + t.size
	switch t.kind {
	case schema.Bool:
		return protowire.AppendBool(dst, w.in[p] != 0), end
	case schema.UUID:
		id := [16]byte(w.in[p:])
		if to.kind == protoBytes {
			return protowire.AppendBytes(dst, id[:]), end
		}
		return appendUUID(append(dst, 36), id), end
	case schema.Float:
		return w.floating(dst, p, end, float64(math.Float32frombits(w.u32(p))), to.kind)
	case schema.Double:
		return w.floating(dst, p, end, math.Float64frombits(w.u64(p)), to.kind)
	}
	return w.integer(dst, p, end, w.signed(p, t.kind), to)
}

// signed reads the integer or enum at p, which is there.
func (w *thriftToProto) signed(p int, kind schema.Kind) int64 {
	switch kind {
	case schema.I8:
		return int64(int8(w.in[p]))
	case schema.I16:
		return int64(int16(uint16(w.in[p])<<8 | uint16(w.in[p+1])))
	case schema.I64:
		return int64(w.u64(p))
	default:
		return int64(int32(w.u32(p)))
	}
}

// integer writes v, which stands from p to end.
func (w *thriftToProto) integer(dst []byte, p, end int, v int64, to *protoTyp) ([]byte, int) {
	var fits bool
	switch to.kind {
	case protoInt32, protoSint32, protoSfixed32, protoEnum:
		fits = v == int64(int32(v))
	case protoUint32, protoFixed32:
		fits = v == int64(uint32(v))
	case protoUint64, protoFixed64:
		fits = v >= 0
	default:
		fits = true
	}
	if !fits {
		return dst, w.fail(diag.OutOfRange, p, fmt.Sprintf("%d is not in the range of Protobuf's %s", v, to.kind))
	}
	if to.closed && !to.enum.has(int32(v)) {
		return dst, w.fail(diag.UnknownEnum, p, fmt.Sprintf("%s has no value %d", to.enum.name, v))
	}
	return appendProtoInteger(dst, v, to.kind), end
}

// floating writes v, which stands from p to end.
func (w *thriftToProto) floating(dst []byte, p, end int, v float64, kind protoKind) ([]byte, int) {
	if kind == protoFloat && float64(float32(v)) != v && v == v {
		return dst, w.fail(diag.OutOfRange, p, fmt.Sprintf("Protobuf's float cannot hold %v", v))
	}
	return appendProtoFloat(dst, v, kind), end
}

// bytes writes the string or binary at p.
func (w *thriftToProto) bytes(dst []byte, p int, to *protoTyp) ([]byte, int) {
	b, n := thriftwire.ConsumeBytes(w.in[p:])
	if n < 0 {
		return dst, w.wireError(n, p)
	}
	if to.kind == protoString && !utf8.Valid(b) {
		if !w.conv.opts.lossyText {
			return dst, w.fail(diag.InvalidData, p, "the string is not UTF-8")
		}
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	if dst = protowire.AppendBytes(dst, b); len(dst) > w.limit {
		return dst, w.tooLarge(p)
	}
	return dst, p + n
}
