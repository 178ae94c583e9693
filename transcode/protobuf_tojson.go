package transcode

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file reads Protobuf and writes JSON: messages, lists and maps in one
// pass, as every encoder writes them. Protobuf allows more: a field may stand
// again, a list or map in pieces. What this pass does not convert is given to
// protobuf_merge.go from the start, whose word counts.

// protoToJSON is a conversion from Protobuf to JSON. Its methods take the
// input up to the end of the innermost message, list or entry, and a position in it.
type protoToJSON struct {
	toJSON
	merge  bool    // whether messages may be in pieces
	pieces []piece // those of the message that comes next, if it is in several
}

// AppendJSON converts the Protobuf message in protobuf, all of it, and appends
// it as JSON to dst, which must not overlap protobuf. Members are written in
// the order of the fields on the wire, or, if a field stands in pieces, in the
// schema's. On an error dst comes back as it was. The result does not alias
// protobuf.
func (c *ProtobufConverter) AppendJSON(dst, protobuf []byte) ([]byte, error) {
	var w protoToJSON
	w.start(c.conv, dst, protobuf)
	if w.tooLong() {
		return dst, w.fault
	}
	out, p := w.message(dst, protobuf, 0, c.root, 0)
	if p < 0 {
		// The message is in pieces, or broken. A part of it that lacks something
		// may be such a piece, so what is wrong is not known yet either.
		c.conv.release(w.mem)
		w = protoToJSON{merge: true}
		w.start(c.conv, dst, protobuf)
		out, p = w.message(dst, protobuf, 0, c.root, 0)
	}
	c.conv.release(w.mem)
	if p < 0 {
		return dst, w.fault
	}
	return out, nil
}

// inPieces ends the first pass, without a fault.
func (w *protoToJSON) inPieces() int { return failed }

// within adds f to the path of the fault, if there is one.
func (w *protoToJSON) within(f *protoField) int {
	if w.fault != nil && len(f.quoted) > 0 {
		w.fault.Field(f.name)
	}
	return failed
}

// protoError is the fault for the negative result n of package protowire at p.
func (s *state) protoError(n, p int) int {
	switch n {
	case protowire.ErrEOF:
		return s.fail(diag.UnexpectedEOF, p, "the message ends inside a value")
	case protowire.ErrLength:
		return s.fail(diag.InvalidLength, p, "a length exceeds what remains")
	case protowire.ErrDepth:
		return s.tooDeep(p)
	case protowire.ErrType:
		return s.fail(diag.InvalidType, p, "a wire type that does not exist")
	default:
		return s.fail(diag.InvalidData, p, protowire.Describe(n))
	}
}

// message writes the message that stands from p to the end of in, or to the
// end of the group with that number.
func (w *protoToJSON) message(dst, in []byte, p int, t *protoTable, group int32) ([]byte, int) {
	if t.form != formPlain {
		return w.wellKnown(dst, in, p, t, group)
	}
	if w.depth == 0 {
		return dst, w.tooDeep(p)
	}
	w.depth--
	start := p
	dst = append(dst, '{')
	switch {
	case w.merge:
		dst, p = w.mergedFields(dst, in, p, t, group)
	case t.plain:
		var seen uint64
		if dst, p, seen = w.plainFields(dst, in, p, t, 0); p < len(in) || group != 0 || t.needs {
			dst, p = w.fields(dst, in, p, t, group, seen)
		}
	default:
		dst, p = w.fields(dst, in, p, t, group, 0)
	}
	if p < 0 {
		return dst, p
	}
	w.depth++
	if dst = end(dst, '}'); len(dst) > w.limit {
		return dst, w.tooLarge(start)
	}
	return dst, p
}

// fields writes the fields of a message, each with a comma after it. Those in
// seen, of the first 64, have been written.
func (w *protoToJSON) fields(dst, in []byte, p int, t *protoTable, group int32, seen uint64) ([]byte, int) {
	start := p
	set := w.open(len(t.fields))
	for set.word = seen; p < len(in); {
		at := p
		tag := uint64(in[p])
		if p++; tag >= 0x80 {
			n := 0
			if tag, n = protowire.ConsumeVarint(in[at:]); n < 0 {
				return dst, w.protoError(n, at)
			}
			p = at + n
		}
		i := -1
		if number := tag >> 3; number < uint64(len(t.dense)) {
			i = int(t.dense[number]) - 1
		} else if number <= protowire.MaxNumber {
			i = t.byNumber(int32(number))
		}
		if i < 0 || tag != uint64(t.fields[i].tag) && tag != uint64(t.fields[i].packedTag) {
			done := false
			if p, done = w.stranger(in, p, at, t, i, group); p < 0 {
				return dst, p
			}
			if done {
				group = 0
				break
			}
			continue
		}
		f := &t.fields[i]
		if w.mark(&set, i) || f.rivals != nil && w.any(&set, f.rivals) {
			return dst, w.inPieces()
		}
		from := len(dst)
		switch {
		case f.shape == repeated:
			dst, p = w.list(dst, in, p, f, tag != uint64(f.tag))
		case f.shape == mapped:
			dst, p = w.mapping(dst, in, p, f)
		default:
			if f.peek {
				if next, absent := w.absentValue(in, p, f); absent {
					w.markNull(&set, len(t.fields), i)
					p = next
					continue
				}
			}
			dst, p = w.value(f.appendName(dst), in, p, &f.typ)
		}
		if p < 0 {
			return dst, w.within(f)
		}
		if len(dst) > from {
			dst = append(dst, ',')
		} else {
			w.markNull(&set, len(t.fields), i)
		}
		if t.plain {
			dst, p, set.word = w.plainFields(dst, in, p, t, set.word)
		}
	}
	if group != 0 {
		return dst, w.protoError(protowire.ErrEOF, p)
	}
	if t.needs {
		var ok bool
		if dst, ok = w.absentFields(dst, start, t, &set); !ok {
			return dst, failed
		}
	}
	w.drop(&set, len(t.fields))
	return dst, p
}

// varint reads the varint at p, which must end with in. The input around it
// lets it be read a word at a time.
func (w *protoToJSON) varint(in []byte, p int) (uint64, int) {
	if p < len(in) && in[p] < 0x80 {
		return uint64(in[p]), 1
	}
	return w.longVarint(in, p)
}

// longVarint is varint where the first byte is not the last one.
func (w *protoToJSON) longVarint(in []byte, p int) (uint64, int) {
	u, n := protowire.ConsumeLongVarint(w.state.in[p:])
	if n > len(in)-p {
		return 0, protowire.ErrEOF
	}
	return u, n
}

// length reads the length at p of what must end with in.
func (w *protoToJSON) length(in []byte, p int) (int, int) {
	if p < len(in) && int(in[p]) < min(0x80, len(in)-p) {
		return int(in[p]), 1
	}
	return protowire.ConsumeLength(in[p:])
}

// appendName appends the name of f and the colon.
func (f *protoField) appendName(dst []byte) []byte {
	n := len(dst)
	if size := len(f.quoted); size <= shortName && cap(dst)-n >= shortName {
		b := dst[n : n+shortName]
		binary.LittleEndian.PutUint64(b, f.words[0])
		binary.LittleEndian.PutUint64(b[8:], f.words[1])
		binary.LittleEndian.PutUint64(b[16:], f.words[2])
		return dst[:n+size]
	}
	return append(dst, f.quoted...)
}

// any reports whether the set holds one of those fields.
func (s *state) any(f *fields, those []uint64) bool {
	for i, m := range those {
		if i == 0 && f.word&m != 0 || i > 0 && s.mem.wide[f.wide+i-1]&m != 0 {
			return true
		}
	}
	return false
}

// stranger handles the field whose tag stands from at to p: the end of the
// group, which is the last one, or a field to step over, which is unknown or
// of another type than field i of the schema.
func (w *protoToJSON) stranger(in []byte, p, at int, t *protoTable, i int, group int32) (next int, done bool) {
	number, wire, n := protowire.ConsumeTag(in[at:])
	switch {
	case n < 0:
		return w.protoError(n, at), false
	case wire == protowire.EndGroup && number == group && group != 0:
		return p, true
	case i >= 0 && w.conv.opts.strictTypes && wire != protowire.EndGroup:
		f := &t.fields[i]
		w.mismatch(at, protoWireName(protowire.Type(f.tag&7)), protoWireName(wire))
		return w.within(f), false
	case w.conv.opts.rejectUnknown && wire != protowire.EndGroup:
		return w.fail(diag.UnknownField, at, fmt.Sprintf("%s has no field %d of type %s", t.name, number, protoWireName(wire))), false
	}
	end, code := protowire.SkipAt(in, p, number, wire, w.depth)
	if code == protowire.ErrGroup && wire == protowire.EndGroup {
		end = at
	}
	if code < 0 {
		w.protoError(code, end)
		w.fault.Field(strconv.Itoa(int(number)))
		return failed, false
	}
	return end, false
}

// protoWireName renders a wire type as its number with its name.
func protoWireName(t protowire.Type) string { return fmt.Sprintf("%d (%s)", byte(t), t) }

// absentFields checks and fills in what set lacks; the message starts at start.
func (w *protoToJSON) absentFields(dst []byte, start int, t *protoTable, set *fields) ([]byte, bool) {
	for i := range t.needed {
		lacks := ^w.present(set, len(t.fields), i)
		if m := lacks & t.needed[i]; m != 0 {
			w.protoMissing(start, t, i*64+bits.TrailingZeros64(m))
			return dst, false
		}
		for m := lacks & t.fill[i]; m != 0; m &= m - 1 {
			dst = append(dst, t.fields[i*64+bits.TrailingZeros64(m)].absentJSON...)
			dst = append(dst, ',')
		}
	}
	return dst, true
}

func (s *state) protoMissing(p int, t *protoTable, i int) int {
	return s.fail(diag.MissingRequired, p, fmt.Sprintf("required field %q of %s is missing", t.fields[i].name, t.name))
}

// follows reports whether the tag before a value or element of f stands at p.
func (f *protoField) follows(in []byte, p int) bool {
	if f.tag < 0x80 {
		return p < len(in) && in[p] == byte(f.tag)
	}
	return head(in, p, f.head)
}

// head reports whether head, a tag, stands at p.
func head(in []byte, p int, head []byte) bool {
	return len(in)-p >= len(head) && string(in[p:p+len(head)]) == string(head)
}

// list writes the name of a list and the elements that stand one after
// another, the first of them behind its tag at p; nothing if there are none.
func (w *protoToJSON) list(dst, in []byte, p int, f *protoField, packed bool) ([]byte, int) {
	if w.depth == 0 {
		return dst, w.tooDeep(p)
	}
	w.depth--
	before := len(dst)
	dst = append(f.appendName(dst), '[')
	empty := len(dst)
	for count := 0; ; {
		if packed {
			dst, p = w.packed(dst, in, p, f, &count)
		} else {
			dst, p = w.element(dst, in, p, f, &count)
		}
		if p < 0 {
			return dst, p
		}
		if len(dst) > w.limit {
			return dst, w.tooLarge(p)
		}
		switch {
		case f.follows(in, p):
			p += len(f.head)
			packed = false
			continue
		case f.packedTag != 0 && head(in, p, f.packedHead):
			p += len(f.packedHead)
			packed = true
			continue
		}
		break
	}
	w.depth++
	if len(dst) == empty {
		return dst[:before], p
	}
	return end(dst, ']'), p
}

// element writes the element at p, which has count before it, and a comma.
func (w *protoToJSON) element(dst, in []byte, p int, f *protoField, count *int) ([]byte, int) {
	if f.typ.closed {
		if next, absent := w.absentValue(in, p, f); absent {
			return dst, next
		}
	}
	switch {
	case f.typ.kind == protoString:
		dst, p = w.text(dst, in, p, protoString)
	case f.typ.kind == protoMessage && p < len(in) && int(in[p]) < min(0x80, len(in)-p):
		p++
		dst, p = w.message(dst, in[:p+int(in[p-1])], p, f.typ.message, 0)
	default:
		dst, p = w.value(dst, in, p, &f.typ)
	}
	if p < 0 {
		if w.fault != nil {
			w.fault.Index(*count)
		}
		return dst, p
	}
	*count++
	return append(dst, ','), p
}

// packed writes the packed elements whose length stands at p.
func (w *protoToJSON) packed(dst, in []byte, p int, f *protoField, count *int) ([]byte, int) {
	l, n := w.length(in, p)
	if n < 0 {
		return dst, w.protoError(n, p)
	}
	in = in[:p+n+l]
	p += n
	if f.typ.wire == protowire.Varint && !f.typ.closed {
		quoted := w.conv.opts.int64Strings
		for p < len(in) {
			u, n := uint64(in[p]), 1
			if u >= 0x80 {
				u, n = w.longVarint(in, p)
			}
			if n < 0 {
				w.protoError(n, p)
				w.fault.Index(*count)
				return dst, failed
			}
			switch {
			case f.typ.kind == protoInt32:
				dst = jsonwire.AppendInt(dst, int64(int32(u)))
			case f.typ.kind == protoInt64 && !quoted:
				dst = jsonwire.AppendInt(dst, int64(u))
			default:
				dst = w.number(dst, u, &f.typ)
			}
			dst = append(dst, ',')
			p += n
			*count++
		}
		return dst, p
	}
	for p < len(in) {
		if dst, p = w.element(dst, in, p, f, count); p < 0 {
			return dst, p
		}
	}
	return dst, p
}
