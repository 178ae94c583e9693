package structs

import (
	"math"
	"reflect"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds the conversion of structs to others.

// ByName matches fields by their names, on every level, and not by their numbers.
func ByName() Option { return func(c *compiler) { c.byName = true } }

// Converter makes structs of type B from those of type A. It is immutable and
// safe for concurrent use.
type Converter[A, B any] struct{ root *pairing }

// Between compiles the way from A to B: fields with one number or, by the option ByName, with
// one name, on every level. Fields that only A has are dropped, and so are unknown ones; fields that only B
// has keep the values that they have in the struct that is filled. Between two fields
//
//   - an integer or enum becomes any integer or enum, within its range;
//   - an integer, float or double becomes a float or double: an integer if it
//     is exact, a double as the nearest float within the range;
//   - string and bytes become each other;
//   - elements, keys and values of containers follow the same rules.
//
// Anything else is a TypeMismatch with the path to it.
func Between[A, B any](opts ...Option) (*Converter[A, B], error) {
	c := newCompiler(opts)
	from, f := c.message(reflect.TypeFor[A]())
	if f != nil {
		return nil, f
	}
	to, f := c.message(reflect.TypeFor[B]())
	if f != nil {
		return nil, f
	}
	root, f := c.pair(from, to)
	if f != nil {
		return nil, f
	}
	return &Converter[A, B]{root}, nil
}

// Convert fills to from from, of which nothing is aliased. A nil pointer and a
// member of a oneof that is not set are absent, and leave a field of to as it is. A number out of range is
// OutOfRange with the path in A. After an error to is as it was.
func (c *Converter[A, B]) Convert(from *A, to *B) error {
	made := reflect.New(c.root.to.typ).Elem()
	seen := map[int]bool{}
	if f := c.root.convert(reflect.ValueOf(from).Elem(), made, seen, maxDepth); f != nil {
		return f
	}
	out := reflect.ValueOf(to).Elem()
	for i := range seen {
		out.Field(i).Set(made.Field(i))
	}
	return nil
}

// pairing is what makes a message of one type from that of another.
type pairing struct {
	to     *message
	fields []fieldPair
}

// fieldPair is a field that both messages have.
type fieldPair struct {
	from, to   *field
	key, value conversion
}

// conversion is what makes a value of one type from that of another.
type conversion struct {
	from, to *value
	msg      *pairing
}

func (c *compiler) pair(from, to *message) (*pairing, *diag.Fault) {
	key := [2]*message{from, to}
	if p := c.pairs[key]; p != nil {
		return p, nil
	}
	p := &pairing{to: to}
	c.pairs[key] = p
	for _, f := range from.fields {
		other := to.byNumber[f.number]
		if c.byName {
			other = to.named(f.name)
		}
		if other == nil {
			continue
		}
		fp, fault := c.pairFields(f, other)
		if fault != nil {
			return nil, fault.Field(f.name)
		}
		p.fields = append(p.fields, fp)
	}
	return p, nil
}

// named returns the field of that name, or nil.
func (m *message) named(name string) *field {
	if f := m.def.FieldByName(name); f != nil {
		return m.byNumber[f.ID()]
	}
	return nil
}

func (c *compiler) pairFields(from, to *field) (out fieldPair, f *diag.Fault) {
	out = fieldPair{from: from, to: to}
	if from.shape != to.shape {
		return out, mismatch("a singular field, list or map does not become another one of these")
	}
	if from.shape == mapping {
		if out.key, f = c.pairValues(from.key, to.key); f != nil {
			return out, f.Key("key")
		}
	}
	out.value, f = c.pairValues(&from.value, &to.value)
	return out, f
}

func mismatch(detail string) *diag.Fault { return diag.NewFault(diag.TypeMismatch, -1, detail) }

func (c *compiler) pairValues(from, to *value) (conversion, *diag.Fault) {
	out := conversion{from: from, to: to}
	a, b := from.kind, to.kind
	text := func(k schema.Kind) bool { return k == schema.String || k == schema.Binary }
	switch {
	case a == schema.Struct && b == schema.Struct:
		var f *diag.Fault
		out.msg, f = c.pair(from.msg, to.msg)
		return out, f
	case a == schema.Bool && b == schema.Bool, text(a) && text(b), isInteger(a) && isInteger(b),
		(isInteger(a) || isFloating(a)) && isFloating(b):
		return out, nil
	}
	return out, mismatch(from.typ.String() + " does not become " + to.typ.String())
}

func isFloating(k schema.Kind) bool { return k == schema.Float || k == schema.Double }
func isInteger(k schema.Kind) bool {
	switch k {
	case schema.I32, schema.I64, schema.U32, schema.U64, schema.Enum:
		return true
	}
	return false
}

// convert fills the zero struct to from from. seen, if not nil, gets the
// indices of the Go fields that it fills.
func (p *pairing) convert(from, to reflect.Value, seen map[int]bool, depth int) *diag.Fault {
	if depth == 0 {
		return tooDeep()
	}
	for i := range p.fields {
		fp := &p.fields[i]
		src, ok := fp.from.present(from.Field(fp.from.index))
		if !ok {
			continue
		}
		note(seen, fp.to.index)
		if f := fp.convert(src, to.Field(fp.to.index), depth-1); f != nil {
			return f.Field(fp.from.name)
		}
	}
	return nil
}

// present returns what a field holds, and whether it is there: zero is there
// where it is not absence.
func (f *field) present(v reflect.Value) (reflect.Value, bool) {
	if f.shape != single {
		return v, true
	}
	out, ok := f.held(v)
	return out, ok || !f.presence
}

func (fp *fieldPair) convert(src, dst reflect.Value, depth int) *diag.Fault {
	switch fp.from.shape {
	case list:
		if src.IsNil() {
			return nil
		}
		dst.Set(reflect.MakeSlice(dst.Type(), src.Len(), src.Len()))
		for i := range src.Len() {
			if f := fp.value.convert(src.Index(i), dst.Index(i), depth); f != nil {
				return f.Index(i)
			}
		}
		return nil
	case mapping:
		return fp.entries(src, dst, depth)
	}
	if fp.to.wrapper != nil {
		dst.Set(reflect.New(fp.to.wrapper))
		dst = dst.Elem().Elem().Field(0)
	}
	if fp.to.pointer {
		dst.Set(reflect.New(fp.to.value.typ))
		dst = dst.Elem()
	}
	return fp.value.convert(src, dst, depth)
}

func (fp *fieldPair) entries(src, dst reflect.Value, depth int) *diag.Fault {
	if src.IsNil() {
		return nil
	}
	t := dst.Type()
	dst.Set(reflect.MakeMapWithSize(t, src.Len()))
	for it := src.MapRange(); it.Next(); {
		key, val := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		if f := fp.key.convert(it.Key(), key, depth); f != nil {
			return f.Key("key")
		}
		if f := fp.value.convert(it.Value(), val, depth); f != nil {
			return f.Key(keyText(it.Key()))
		}
		dst.SetMapIndex(key, val)
	}
	return nil
}

// convert sets dst, which is zero, to src.
func (c *conversion) convert(src, dst reflect.Value, depth int) *diag.Fault {
	switch a, b := c.from.kind, c.to.kind; {
	case a == schema.Struct:
		if c.to.ptr {
			dst.Set(reflect.New(c.to.typ))
			dst = dst.Elem()
		}
		if c.from.ptr {
			if src.IsNil() { // an element, which cannot be absent
				return nil
			}
			src = src.Elem()
		}
		return c.msg.convert(src, dst, nil, depth)
	case a == schema.Bool:
		dst.SetBool(src.Bool())
	case a == schema.String && b == schema.String:
		dst.SetString(src.String())
	case a == schema.String:
		dst.SetBytes([]byte(src.String()))
	case b == schema.String:
		dst.SetString(string(src.Bytes()))
	case a == schema.Binary && src.IsNil():
	case a == schema.Binary:
		dst.SetBytes(append([]byte{}, src.Bytes()...))
	case isFloating(b):
		return c.floating(src, dst)
	default:
		return c.integer(src, dst)
	}
	return nil
}

func (c *conversion) outOfRange(number string) *diag.Fault {
	return diag.NewFault(diag.OutOfRange, -1, "the number "+number+" is not in the range of "+c.to.typ.String())
}

func (c *conversion) integer(src, dst reflect.Value) *diag.Fault {
	signed, high := int64(0), false
	if src.CanUint() {
		signed, high = int64(src.Uint()), src.Uint() > math.MaxInt64
	} else {
		signed = src.Int()
	}
	switch {
	case dst.CanUint() && (high || signed >= 0) && !dst.OverflowUint(uint64(signed)):
		dst.SetUint(uint64(signed))
	case dst.CanInt() && !high && !dst.OverflowInt(signed):
		dst.SetInt(signed)
	default:
		return c.outOfRange(keyText(src))
	}
	return nil
}

func (c *conversion) floating(src, dst reflect.Value) *diag.Fault {
	if src.CanFloat() {
		v := src.Float()
		if c.to.kind == schema.Float && math.IsInf(float64(float32(v)), 0) && !math.IsInf(v, 0) {
			return c.outOfRange(strconv.FormatFloat(v, 'g', -1, 64))
		}
		dst.SetFloat(v)
		return nil
	}
	v, exact := 0.0, false
	if src.CanUint() {
		u := src.Uint()
		v = float64(u)
		if c.to.kind == schema.Float {
			v = float64(float32(u))
		}
		exact = v < 1<<64 && uint64(v) == u
	} else {
		i := src.Int()
		v = float64(i)
		if c.to.kind == schema.Float {
			v = float64(float32(i))
		}
		exact = v < 1<<63 && int64(v) == i
	}
	if !exact {
		return c.outOfRange(keyText(src))
	}
	dst.SetFloat(v)
	return nil
}
