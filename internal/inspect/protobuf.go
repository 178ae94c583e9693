package inspect

import (
	"fmt"
	"math"
	"strconv"
	"unicode"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file goes over Protobuf messages. Their bytes tell less than Thrift's:
// without a schema, bytes that can be read as a message and are no text are
// shown as one.

// protobufItem reads a message, which is all of the input, or is delimited by
// the length before it.
func (k *walker) protobufItem(p int) int {
	end := len(k.in)
	at := p
	if k.format.Framing == Delimited {
		size, n := protowire.ConsumeLength(k.in[p:])
		if n < 0 {
			return k.protoError(n, p)
		}
		p += n
		end = p + size
	}
	label := "message"
	if k.options.Struct != nil {
		label += " " + k.options.Struct.Name()
	}
	if k.format.Framing == Delimited {
		label += " of " + count(end-p, "byte")
	}
	k.out.line(at, k.level, label, "", "")
	return k.message(p, end, k.options.Struct, 0)
}

// message reads the fields of a message that ends at end, or of the group with
// that number, which ends at its own tag. def is nil where nobody knows it.
func (k *walker) message(p, end int, def *schema.StructDef, group int32) int {
	if k.depth == maxDepth {
		return k.protoError(protowire.ErrDepth, p)
	}
	k.depth++
	k.level++
	seen := make(map[int32]int)
	var hidden []hiddenField
	for p < end || group != 0 {
		number, t, n := protowire.ConsumeTag(k.in[p:end])
		if n < 0 {
			return k.protoError(n, p)
		}
		if t == protowire.EndGroup {
			if number != group {
				return k.protoError(protowire.ErrGroup, p)
			}
			p += n
			break
		}
		seen[number]++
		hide := k.options.MaxParts > 0 && seen[number] > k.options.MaxParts
		if hide {
			if seen[number] == k.options.MaxParts+1 {
				hidden = append(hidden, hiddenField{number, p})
			}
			k.out.silent++
		}
		next := k.protoField(p, p+n, end, number, t, def)
		if hide {
			k.out.silent--
		}
		if next < 0 {
			name := strconv.Itoa(int(number))
			if def != nil && def.FieldByID(number) != nil {
				name = def.FieldByID(number).Name()
			}
			k.fault.Field(name)
			return failed
		}
		p = next
	}
	for _, h := range hidden {
		k.out.line(h.at, k.level, fmt.Sprintf("… %d more of field %d", seen[h.number]-k.options.MaxParts, h.number), "", "")
	}
	k.level--
	k.lacking(p, def, seen)
	k.depth--
	return p
}

// hiddenField is a repeated field of which not all is shown.
type hiddenField struct {
	number int32
	at     int
}

// lacking remarks on what a message that ends at p lacks or has too much of.
func (k *walker) lacking(p int, def *schema.StructDef, seen map[int32]int) {
	if def == nil || !k.out.visible() {
		return
	}
	for _, f := range def.Fields() {
		if f.Requiredness() == schema.Required && seen[f.ID()] == 0 {
			k.out.line(p, k.level, "", "", "the required field "+f.Name()+" is missing")
		}
	}
	for _, o := range def.Oneofs() {
		n := 0
		for _, f := range o.Fields() {
			n += min(1, seen[f.ID()])
		}
		if n > 1 {
			k.out.line(p, k.level, "", "", fmt.Sprintf("the oneof %s has %d members; the last one counts", o.Name(), n))
		}
	}
}

// protoWire returns the wire type of a value of type t.
func protoWire(t *schema.Type) protowire.Type {
	fixed := t.Encoding() == schema.Fixed
	switch t.Kind() {
	case schema.Float:
		return protowire.Fixed32
	case schema.Double:
		return protowire.Fixed64
	case schema.I32, schema.U32:
		if fixed {
			return protowire.Fixed32
		}
	case schema.I64, schema.U64:
		if fixed {
			return protowire.Fixed64
		}
	case schema.Struct:
		if t.Encoding() == schema.Delimited {
			return protowire.StartGroup
		}
		return protowire.Bytes
	case schema.String, schema.Binary, schema.Map:
		return protowire.Bytes
	}
	return protowire.Varint
}

// protoField reads the field whose tag stands at at and whose value stands at p
// in a message that ends at end.
func (k *walker) protoField(at, p, end int, number int32, t protowire.Type, def *schema.StructDef) int {
	l := label{prefix: strconv.Itoa(int(number)), field: true}
	var st *schema.Type
	if def != nil {
		if f := def.FieldByID(number); f == nil {
			k.odd++
			l.note = "unknown to " + def.Name()
		} else {
			l.name, st = f.Name(), f.Type()
		}
	}
	if st != nil && st.Kind() == schema.List {
		elem := st.Elem()
		if want := protoWire(elem); t == protowire.Bytes && want != protowire.Bytes && want != protowire.StartGroup {
			k.known++
			return k.packed(at, p, end, st, l)
		}
		l.name += "[]"
		st = elem
	}
	if st != nil && protoWire(st) != t {
		k.odd++
		l.note = "the schema has " + st.String()
		st = nil
	} else if st != nil {
		k.known++
	}
	return k.protoValue(at, p, end, number, t, st, l)
}

// protoValue reads a value that is not packed. st is its type in the schema,
// nil where nobody knows it.
func (k *walker) protoValue(at, p, end int, number int32, t protowire.Type, st *schema.Type, l label) int {
	switch t {
	case protowire.StartGroup:
		typ, def := "group", (*schema.StructDef)(nil)
		if st != nil {
			def = st.Struct()
			typ = def.Name()
		}
		k.out.line(at, k.level, l.text(typ, false), "", l.note)
		return k.message(p, end, def, number)
	case protowire.Bytes:
		return k.protoBytes(at, p, end, st, l)
	}
	text, n := protoScalar(k.in[p:end], t, st)
	if n < 0 {
		return k.protoError(n, p)
	}
	typ := t.String()
	if st != nil {
		typ = st.String()
	}
	k.out.line(at, k.level, l.text(typ, true), text, l.note)
	return p + n
}

// protoBytes reads what has its length before it.
func (k *walker) protoBytes(at, p, end int, st *schema.Type, l label) int {
	v, n := protowire.ConsumeBytes(k.in[p:end])
	if n < 0 {
		return k.protoError(n, p)
	}
	from, to := p+n-len(v), p+n
	switch {
	case st == nil && !readable(v) && looksLikeMessage(v):
		k.out.line(at, k.level, l.text("message", false), "", l.note)
		return k.message(from, to, nil, 0)
	case st == nil:
		text := quote(v, k.options.MaxText)
		if !plain(v) {
			text = hexText(v, k.options.MaxText)
		}
		k.out.line(at, k.level, l.text("bytes", true), text, l.note)
	case st.Kind() == schema.Struct:
		k.out.line(at, k.level, l.text(st.Struct().Name(), false), "", l.note)
		return k.message(from, to, st.Struct(), 0)
	case st.Kind() == schema.Map:
		k.out.line(at, k.level, l.text(st.String(), false)+", 1 entry", "", l.note)
		return k.message(from, to, k.entryOf(st), 0)
	case st.Kind() == schema.Binary:
		k.out.line(at, k.level, l.text("binary", true), hexText(v, k.options.MaxText), l.note)
	default:
		k.out.line(at, k.level, l.text(st.String(), true), quote(v, k.options.MaxText), l.note)
	}
	return to
}

// entryOf returns an entry of a map as the message that it is.
func (k *walker) entryOf(t *schema.Type) *schema.StructDef {
	if d := k.entries[t]; d != nil {
		return d
	}
	d := schema.NewStruct(schema.DeclSpec{Name: "entry"}, schema.PlainStruct)
	d.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 1, Name: "key", Type: t.Key()}),
		schema.NewField(schema.FieldSpec{ID: 2, Name: "value", Type: t.Elem()}),
	})
	if k.entries == nil {
		k.entries = make(map[*schema.Type]*schema.StructDef)
	}
	k.entries[t] = d
	return d
}

// packed reads the elements of a packed list.
func (k *walker) packed(at, p, end int, st *schema.Type, l label) int {
	v, n := protowire.ConsumeBytes(k.in[p:end])
	if n < 0 {
		return k.protoError(n, p)
	}
	from, to := p+n-len(v), p+n
	wire := protoWire(st.Elem())
	size := 0
	for q := from; q < to; size++ {
		_, n := protoScalar(k.in[q:to], wire, st.Elem())
		if n < 0 {
			break // reported when it is shown
		}
		q += n
	}
	k.out.line(at, k.level, l.text(st.String(), false)+", packed, "+count(size, "element"), "", l.note)
	size = max(size, 1) // a fault in the first is a fault
	if from == to {
		return to
	}
	next := k.parts(from, size, "element", func(q, i int) int {
		text, n := protoScalar(k.in[q:to], wire, st.Elem())
		if n < 0 {
			k.protoError(n, q)
			k.fault.Index(i)
			return failed
		}
		k.out.line(q, k.level, "["+strconv.Itoa(i)+"]", text, "")
		return q + n
	})
	if next >= 0 && next < to {
		return k.protoError(protowire.ErrEOF, next)
	}
	return next
}

// protoScalar renders the number at the front of b and returns its length, or a
// negative error of package protowire.
func protoScalar(b []byte, t protowire.Type, st *schema.Type) (text string, n int) {
	switch t {
	case protowire.Varint:
		u, n := protowire.ConsumeVarint(b)
		return varintText(u, st), n
	case protowire.Fixed32:
		u, n := protowire.ConsumeFixed32(b)
		float := strconv.FormatFloat(float64(math.Float32frombits(u)), 'g', -1, 32)
		switch {
		case st == nil:
			return fmt.Sprintf("%d (float %s)", u, float), n
		case st.Kind() == schema.Float:
			return float, n
		case st.Kind() == schema.U32:
			return strconv.FormatUint(uint64(u), 10), n
		default:
			return strconv.Itoa(int(int32(u))), n
		}
	default:
		u, n := protowire.ConsumeFixed64(b)
		double := strconv.FormatFloat(math.Float64frombits(u), 'g', -1, 64)
		switch {
		case st == nil:
			return fmt.Sprintf("%d (double %s)", u, double), n
		case st.Kind() == schema.Double:
			return double, n
		case st.Kind() == schema.U64:
			return strconv.FormatUint(u, 10), n
		default:
			return strconv.FormatInt(int64(u), 10), n
		}
	}
}

// varintText renders a varint as its type says.
func varintText(u uint64, st *schema.Type) string {
	v := int64(u)
	switch {
	case st == nil && v < 0:
		return fmt.Sprintf("%d (%d)", u, v)
	case st == nil || st.Kind() == schema.U64:
		return strconv.FormatUint(u, 10)
	case st.Kind() == schema.Bool:
		return strconv.FormatBool(u != 0)
	case st.Kind() == schema.U32:
		return strconv.FormatUint(uint64(uint32(u)), 10)
	case st.Encoding() == schema.ZigZag:
		v = protowire.ZagZig(u)
	case st.Kind() != schema.I64:
		v = int64(int32(u))
	}
	if st.Kind() == schema.Enum {
		return enumText(v, st.Enum())
	}
	return strconv.FormatInt(v, 10)
}

// readable reports whether b is text of one line.
func readable(b []byte) bool {
	for _, r := range string(b) {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return false
		}
	}
	return true
}

// looksLikeMessage reports whether b can be read as fields to its end.
func looksLikeMessage(b []byte) bool {
	for p := 0; p < len(b); {
		number, t, n := protowire.ConsumeTag(b[p:])
		if n < 0 {
			return false
		}
		end, code := protowire.SkipAt(b, p+n, number, t, protowire.MaxDepth)
		if code < 0 {
			return false
		}
		p = end
	}
	return true
}

// protoError is the fault for the negative result n of package protowire at p.
func (k *walker) protoError(n, p int) int {
	switch n {
	case protowire.ErrEOF:
		return k.fail(diag.UnexpectedEOF, p, "the message ends inside a value")
	case protowire.ErrLength:
		return k.fail(diag.InvalidLength, p, "a length exceeds the limit")
	case protowire.ErrDepth:
		return k.fail(diag.DepthLimit, p, fmt.Sprintf("nested deeper than the limit of %d", maxDepth))
	case protowire.ErrType:
		return k.fail(diag.InvalidType, p, "a wire type that does not exist")
	default:
		return k.fail(diag.InvalidData, p, protowire.Describe(n))
	}
}
