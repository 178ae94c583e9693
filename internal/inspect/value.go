package inspect

import (
	"fmt"
	"strconv"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file goes over values: structs, containers, and what has no parts.

// label is how a value is introduced: "3: i64 price" for a field, "[2]" for an
// element.
type label struct {
	prefix string
	name   string // of a field that the schema has
	field  bool
	note   string
}

// text renders l for a value of the type that is named.
func (l label) text(typ string, scalar bool) string {
	switch {
	case !l.field && scalar:
		return l.prefix
	case l.name == "":
		return l.prefix + ": " + typ
	default:
		return l.prefix + ": " + typ + " " + l.name
	}
}

// structure reads a struct; def is nil where nobody knows it.
func (k *walker) structure(p int, def *schema.StructDef) int {
	if k.depth == maxDepth {
		return k.wireError(thriftwire.ErrDepth, p)
	}
	k.depth++
	k.level++
	var seen map[int16]bool
	if def != nil {
		seen = make(map[int16]bool)
	}
	last := int16(0)
	for {
		f, n := k.wire.field(k.in[p:], last)
		if n < 0 {
			return k.wireError(n, p)
		}
		if f.Type == thriftwire.Stop {
			k.level--
			k.missing(p, def, seen)
			k.level++
			p += n
			break
		}
		l, st := k.field(f.Type, f.ID, def, seen)
		if f.Type == thriftwire.Bool && k.wire.boolHeader() {
			if k.out.visible() {
				k.out.line(p, k.level, l.text("bool", true), strconv.FormatBool(f.True), l.note)
			}
			p += n
		} else if next := k.value(p, p+n, f.Type, st, l); next < 0 {
			name := l.name
			if name == "" {
				name = l.prefix
			}
			k.fault.Field(name)
			return failed
		} else {
			p = next
		}
		last = f.ID
	}
	k.level--
	k.depth--
	return p
}

// field says what the schema knows of a field.
func (k *walker) field(t thriftwire.Type, id int16, def *schema.StructDef, seen map[int16]bool) (label, *schema.Type) {
	l := label{prefix: strconv.Itoa(int(id)), field: true}
	if def == nil {
		return l, nil
	}
	f := def.FieldByID(int32(id))
	if f == nil {
		k.odd++
		l.note = "unknown to " + def.Name()
		return l, nil
	}
	l.name = f.Name()
	if seen[id] {
		l.note = "stands twice"
	}
	seen[id] = true
	if wireTypes[f.Type().Kind()] != t {
		k.odd++
		l.note = "the schema has " + f.Type().String()
		return l, nil
	}
	k.known++
	return l, f.Type()
}

// missing remarks on what a struct that ends at p lacks.
func (k *walker) missing(p int, def *schema.StructDef, seen map[int16]bool) {
	if def == nil || !k.out.visible() {
		return
	}
	if def.Flavor() == schema.Union && len(seen) != 1 {
		k.out.line(p, k.level, "", "", fmt.Sprintf("the union %s needs one field, it has %d that are known", def.Name(), len(seen)))
	}
	for _, f := range def.Fields() {
		if f.Requiredness() == schema.Required && !seen[int16(f.ID())] {
			k.out.line(p, k.level, "", "", "the required field "+f.Name()+" is missing")
		}
	}
}

// value reads the value of type t at p, which is shown at the offset at. st is
// its type in the schema, nil where nobody knows it.
func (k *walker) value(at, p int, t thriftwire.Type, st *schema.Type, l label) int {
	switch t {
	case thriftwire.Struct:
		typ, def := "struct", (*schema.StructDef)(nil)
		if st != nil {
			def = st.Struct()
			typ = def.Name()
		}
		k.out.line(at, k.level, l.text(typ, false), "", l.note)
		return k.structure(p, def)
	case thriftwire.List, thriftwire.Set:
		return k.list(at, p, t, st, l)
	case thriftwire.Map:
		return k.mapping(at, p, st, l)
	}
	end := k.pass(p, t)
	if end >= 0 && k.out.visible() {
		typ := t.String()
		if st != nil {
			typ = st.String()
		}
		k.out.line(at, k.level, l.text(typ, true), k.show(p, t, st), l.note)
	}
	return end
}

// list reads a list or set.
func (k *walker) list(at, p int, t thriftwire.Type, st *schema.Type, l label) int {
	elem, size, n := k.wire.list(k.in[p:])
	if n < 0 {
		return k.wireError(n, p)
	}
	var est *schema.Type
	typ := t.String()
	if size > 0 {
		typ += "<" + elem.String() + ">"
	}
	if st != nil && (size == 0 || wireTypes[st.Elem().Kind()] == elem) {
		typ, est = st.String(), st.Elem()
	} else if st != nil {
		k.odd++
		l.note = "the schema has " + st.String()
	}
	k.out.line(at, k.level, l.text(typ, false)+", "+count(size, "element"), "", l.note)
	return k.parts(p+n, size, "element", func(p, i int) int {
		p = k.value(p, p, elem, est, label{prefix: "[" + strconv.Itoa(i) + "]"})
		if p < 0 {
			k.fault.Index(i)
		}
		return p
	})
}

// mapping reads a map.
func (k *walker) mapping(at, p int, st *schema.Type, l label) int {
	key, elem, size, n := k.wire.mapping(k.in[p:])
	if n < 0 {
		return k.wireError(n, p)
	}
	var kst, est *schema.Type
	typ := "map"
	if size > 0 {
		typ += "<" + key.String() + ", " + elem.String() + ">"
	}
	if st != nil && (size == 0 || wireTypes[st.Key().Kind()] == key && wireTypes[st.Elem().Kind()] == elem) {
		typ, kst, est = st.String(), st.Key(), st.Elem()
	} else if st != nil {
		k.odd++
		l.note = "the schema has " + st.String()
	}
	k.out.line(at, k.level, l.text(typ, false)+", "+entries(size), "", l.note)
	return k.parts(p+n, size, "entry", func(p, i int) int { return k.entry(p, i, key, elem, kst, est) })
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return strconv.Itoa(n) + " entries"
}

// entry reads a key and its value.
func (k *walker) entry(p, i int, key, elem thriftwire.Type, kst, est *schema.Type) int {
	switch key {
	case thriftwire.Struct, thriftwire.List, thriftwire.Set, thriftwire.Map:
		index := "[" + strconv.Itoa(i) + "]"
		if p = k.value(p, p, key, kst, label{prefix: index + " key"}); p >= 0 {
			p = k.value(p, p, elem, est, label{prefix: index + " value"})
		}
		if p < 0 {
			k.fault.Index(i)
		}
		return p
	}
	end := k.pass(p, key)
	if end < 0 {
		k.fault.Index(i)
		return end
	}
	l := label{}
	if k.out.visible() {
		l.prefix = "[" + k.show(p, key, kst) + "]"
	}
	next := k.value(p, end, elem, est, l)
	if next < 0 {
		k.fault.Key(k.show(p, key, kst))
	}
	return next
}

// parts reads n elements or entries, of which it shows as many as the options
// allow.
func (k *walker) parts(p, n int, noun string, each func(p, i int) int) int {
	if k.depth == maxDepth {
		return k.wireError(thriftwire.ErrDepth, p)
	}
	k.depth++
	k.level++
	limit := k.options.MaxParts
	hidden := -1 // where the first one stands that is not shown
	for i := 0; i < n; i++ {
		if i == limit && limit > 0 {
			hidden = p
			k.out.silent++
		}
		if p = each(p, i); p < 0 {
			break
		}
	}
	if hidden >= 0 {
		k.out.silent--
		text := count(n-limit, "more element")
		if noun == "entry" {
			text = entries(n-limit) + " more"
		}
		k.out.line(hidden, k.level, "… "+text, "", "")
	}
	if p < 0 {
		return p
	}
	k.level--
	k.depth--
	return p
}

// pass steps over the value of type t at p, which has no parts.
func (k *walker) pass(p int, t thriftwire.Type) int {
	b := k.in[p:]
	var n int
	switch t {
	case thriftwire.Bool:
		_, n = k.wire.boolean(b)
	case thriftwire.I8, thriftwire.I16, thriftwire.I32, thriftwire.I64:
		_, n = k.wire.integer(b, t)
	case thriftwire.String:
		_, n = k.wire.text(b)
	default: // Double, Float, UUID: as wide in every protocol
		if n = t.FixedSize(); n > len(b) {
			n = thriftwire.ErrEOF
		}
	}
	if n < 0 {
		return k.wireError(n, p)
	}
	return p + n
}

// show renders the value of type t at p, over which pass has stepped.
func (k *walker) show(p int, t thriftwire.Type, st *schema.Type) string {
	b := k.in[p:]
	switch t {
	case thriftwire.Bool:
		v, _ := k.wire.boolean(b)
		return strconv.FormatBool(v)
	case thriftwire.Double:
		v, _ := k.wire.double(b)
		return strconv.FormatFloat(v, 'g', -1, 64)
	case thriftwire.Float:
		v, _ := thriftwire.ConsumeFloat(b)
		return strconv.FormatFloat(float64(v), 'g', -1, 32)
	case thriftwire.UUID:
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
	case thriftwire.String:
		v, _ := k.wire.text(b)
		if st != nil && st.Kind() == schema.Binary || st == nil && !plain(v) {
			return hexText(v, k.options.MaxText)
		}
		return quote(v, k.options.MaxText)
	}
	v, _ := k.wire.integer(b, t)
	if st != nil && st.Kind() == schema.Enum {
		return enumText(v, st.Enum())
	}
	return strconv.FormatInt(v, 10)
}

// enumText renders a value of e.
func enumText(v int64, e *schema.EnumDef) string {
	if named := e.ByValue(v); named != nil {
		return fmt.Sprintf("%s (%d)", named.Name, v)
	}
	return fmt.Sprintf("%d (no value of %s)", v, e.Name())
}

// wireTypes has the wire types of the kinds.
var wireTypes = [...]thriftwire.Type{
	schema.Void: 0, schema.Bool: thriftwire.Bool, schema.I8: thriftwire.I8, schema.I16: thriftwire.I16,
	schema.I32: thriftwire.I32, schema.I64: thriftwire.I64, schema.Float: thriftwire.Float,
	schema.Double: thriftwire.Double, schema.String: thriftwire.String, schema.Binary: thriftwire.String,
	schema.UUID: thriftwire.UUID, schema.Enum: thriftwire.I32, schema.List: thriftwire.List,
	schema.Set: thriftwire.Set, schema.Map: thriftwire.Map, schema.Struct: thriftwire.Struct,
}
