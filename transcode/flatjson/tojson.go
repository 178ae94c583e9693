package flatjson

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/flatbuf/flexbuf"
	"github.com/thrum-rpc/thrum/internal/flatpack"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
)

// This file holds the way from messages to JSON.

// writer writes one message.
type writer struct {
	opt   *options
	out   []byte
	limit int // of out
}

func (w *writer) value(v flatbuffers.Value, depth int) *diag.Fault {
	if len(w.out) > w.limit {
		return diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("more than %d bytes of JSON", w.opt.maxOutput))
	}
	switch t := v.Type(); {
	case t == nil:
		w.out = append(w.out, "null"...)
		return nil
	case t.Kind() == schema.List || t.Kind() == schema.Array:
		return w.vector(v, depth)
	case t.Kind() == schema.Struct:
		return w.object(v, depth)
	case t.Kind() == schema.String:
		b, err := v.Bytes()
		if err != nil {
			return diag.NewFault(diag.InvalidData, -1, err.Error())
		}
		return w.text(b)
	default:
		return w.scalar(v)
	}
}

func (w *writer) text(b []byte) *diag.Fault {
	out, ok := jsonwire.AppendQuoted(w.out, b)
	if !ok {
		return diag.NewFault(diag.InvalidData, -1, "the text is not UTF-8")
	}
	w.out = out
	return nil
}

func (w *writer) scalar(v flatbuffers.Value) *diag.Fault {
	switch t := v.Type(); t.Kind() {
	case schema.Bool:
		x, _ := v.Bool()
		w.out = strconv.AppendBool(w.out, x)
	case schema.Float:
		f, _ := v.Float()
		w.float(f, 32)
	case schema.Double:
		f, _ := v.Float()
		w.float(f, 64)
	case schema.Enum:
		if !w.opt.numbers && w.enum(v) {
			return nil
		}
		fallthrough
	default:
		if flatpack.KindOf(t).IsUnsigned() {
			n, _ := v.Uint()
			w.out = jsonwire.AppendUint(w.out, n)
		} else {
			n, _ := v.Int()
			w.out = jsonwire.AppendInt(w.out, n)
		}
	}
	return nil
}

func (w *writer) float(f float64, bits int) {
	switch {
	case math.IsNaN(f):
		w.out = append(w.out, `"nan"`...)
	case math.IsInf(f, 1):
		w.out = append(w.out, `"inf"`...)
	case math.IsInf(f, -1):
		w.out = append(w.out, `"-inf"`...)
	default:
		w.out = jsonwire.AppendFloat(w.out, f, bits)
	}
}

// enum writes the name of an enum's value, or the names of its bits, and
// reports whether it has any.
func (w *writer) enum(v flatbuffers.Value) bool {
	if name, _ := v.EnumName(); name != "" {
		w.out = append(append(append(w.out, '"'), name...), '"')
		return true
	}
	e := v.Type().Enum()
	n, err := v.Int()
	bits := uint64(n)
	if err != nil {
		bits, _ = v.Uint()
	}
	if !e.Flags() || bits == 0 {
		return false
	}
	start := len(w.out)
	w.out = append(w.out, '"')
	for _, x := range e.Values() {
		if bit := uint64(x.Value); bit != 0 && bits&bit == bit {
			if len(w.out) > start+1 {
				w.out = append(w.out, ' ')
			}
			w.out = append(w.out, x.Name...)
			bits &^= bit
		}
	}
	if bits != 0 { // flatc writes such a value as a number too
		w.out = w.out[:start]
		return false
	}
	w.out = append(w.out, '"')
	return true
}

func (w *writer) vector(v flatbuffers.Value, depth int) *diag.Fault {
	w.out = append(w.out, '[')
	for i, e := range v.Elements() {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if fault := w.value(e, depth); fault != nil {
			return fault.Index(i)
		}
	}
	w.out = append(w.out, ']')
	return nil
}

// name writes the name of the next member.
func (w *writer) name(first *bool, name, suffix string) {
	if !*first {
		w.out = append(w.out, ',')
	}
	*first = false
	w.out = append(append(append(append(w.out, '"'), name...), suffix...), `":`...)
}

func (w *writer) object(v flatbuffers.Value, depth int) *diag.Fault {
	d := v.Type().Struct()
	if depth > maxDepth && !d.Fixed() {
		return diag.NewFault(diag.DepthLimit, -1, fmt.Sprintf("tables nest deeper than %d levels", maxDepth))
	}
	w.out = append(w.out, '{')
	first := true
	for _, f := range d.Fields() {
		x := v.FieldOf(f)
		if !x.Written() && !w.anyway(f, x) {
			if fault := flatpack.NoMember(f.Type(), v.UnionTag(f)); fault != nil {
				return fault.Field(f.Name())
			}
			continue
		}
		if fault := w.member(v, f, x, &first, depth); fault != nil {
			return fault.Field(f.Name())
		}
	}
	w.out = append(w.out, '}')
	return nil
}

// anyway tells whether a field that the message leaves out is written: one that says what is
// found by it, or any where defaults are wanted.
func (w *writer) anyway(f *schema.Field, x flatbuffers.Value) bool {
	if f.Type().Kind() == schema.String {
		return w.opt.defaults && x.Exists()
	}
	return (w.opt.defaults || f.Key()) && !f.Deprecated() && f.Type().InlineSize() > 0 && f.Type().Kind() != schema.Struct
}

// member writes a field, and before the value of a union its type.
func (w *writer) member(v flatbuffers.Value, f *schema.Field, x flatbuffers.Value, first *bool, depth int) *diag.Fault {
	switch t := f.Type(); {
	case flatpack.IsUnion(t):
		w.name(first, f.Name(), "_type")
		w.out = append(append(append(w.out, '"'), x.Member().Name()...), '"')
	case t.Kind() == schema.List && flatpack.IsUnion(t.Elem()):
		w.name(first, f.Name(), "_type")
		w.out = append(w.out, '[')
		for i, e := range x.Elements() {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			name := "NONE"
			if m := e.Member(); m != nil {
				name = m.Name()
			} else if fault := flatpack.NoMember(t.Elem(), x.ElementTag(i)); fault != nil {
				return fault.Index(i)
			}
			w.out = append(append(append(w.out, '"'), name...), '"')
		}
		w.out = append(w.out, ']')
	case f.Nested() != nil:
		w.name(first, f.Name(), "")
		inner, _ := v.Nested(f)
		return w.value(inner, depth+1)
	case f.Flex():
		if b, err := x.Bytes(); err == nil && len(b) > 0 {
			w.name(first, f.Name(), "")
			return w.plain(flexbuf.Root(b).Any())
		}
	}
	w.name(first, f.Name(), "")
	return w.value(x, depth+1)
}

// plain writes a value of a FlexBuffer.
func (w *writer) plain(x any) *diag.Fault {
	if len(w.out) > w.limit {
		return diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("more than %d bytes of JSON", w.opt.maxOutput))
	}
	switch x := x.(type) {
	case bool:
		w.out = strconv.AppendBool(w.out, x)
	case int64:
		w.out = jsonwire.AppendInt(w.out, x)
	case uint64:
		w.out = jsonwire.AppendUint(w.out, x)
	case float64:
		w.float(x, 64)
	case string:
		return w.text([]byte(x))
	case []byte:
		w.out = append(w.out, '"')
		w.out = append(jsonwire.AppendBase64(w.out, x), '"')
	case []any:
		w.out = append(w.out, '[')
		for i, e := range x {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			if fault := w.plain(e); fault != nil {
				return fault.Index(i)
			}
		}
		w.out = append(w.out, ']')
	case map[string]any:
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		w.out = append(w.out, '{')
		for i, k := range keys {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			if fault := w.text([]byte(k)); fault != nil {
				return fault
			}
			w.out = append(w.out, ':')
			if fault := w.plain(x[k]); fault != nil {
				return fault.Key(k)
			}
		}
		w.out = append(w.out, '}')
	default:
		w.out = append(w.out, "null"...)
	}
	return nil
}
