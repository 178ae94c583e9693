package conform

import (
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds the model's decoder. It says what every engine does with
// bytes, the wrong ones too:
//
//   - A field that the schema does not have, or has with another wire type, is
//     skipped; with Rules.Strict the latter is a type mismatch at its header.
//   - Of a field that stands twice the last one counts.
//   - A container whose elements have another wire type is a type mismatch at
//     the container's header. An empty one has no elements that could.
//   - A required field that is absent is reported at the stop of its struct.
//   - A union without exactly one field, where that is checked, is reported at
//     its start; an element that its set has already, at the element.
//   - What cannot be read is reported where the part begins: a number, the
//     length before a string, the header of a field or container.

// Rules are the options that change results.
type Rules struct {
	MaxDepth     int  // levels of structs and containers; 0 means thriftwire.MaxDepth
	MaxContainer int  // elements of a list, set or map; 0 means no limit
	Strict       bool // refuse fields of another wire type than the schema's
	CheckUnions  bool // refuse unions that have not exactly one field set
	CheckSets    bool // refuse sets with equal elements
}

// Decode reads a struct from the front of b and returns it with the number of
// bytes that it took. Its fields are in the order of the schema and only
// those that were there.
func Decode(p Protocol, t *schema.Type, b []byte, rules Rules) (v *schema.Value, n int, err error) {
	if rules.MaxDepth == 0 {
		rules.MaxDepth = thriftwire.MaxDepth
	}
	r := &reader{p: p, b: b, rules: rules}
	defer func() {
		if f, ok := recover().(*diag.Fault); ok {
			v, n, err = nil, 0, f
		} else if f != nil {
			panic(f)
		}
	}()
	v = r.value(t, rules.MaxDepth)
	return v, r.pos, nil
}

// reader reads values. It panics with a *diag.Fault, which keeps the model
// free of everything but the rules.
type reader struct {
	p     Protocol
	b     []byte
	pos   int
	rules Rules
}

func fail(code diag.Code, at int, detail string) { panic(diag.NewFault(code, at, detail)) }

// within runs f and adds a step to the path of the fault that it may end with.
func within(step func(*diag.Fault) *diag.Fault, f func()) {
	defer func() {
		if fault, ok := recover().(*diag.Fault); ok {
			panic(step(fault))
		} else if fault != nil {
			panic(fault)
		}
	}()
	f()
}

// CodeOf returns the code of a fault for a negative result of a wire function.
func CodeOf(n int) diag.Code {
	return map[int]diag.Code{
		thriftwire.ErrEOF: diag.UnexpectedEOF, thriftwire.ErrLength: diag.InvalidLength, thriftwire.ErrType: diag.InvalidType,
		thriftwire.ErrDepth: diag.DepthLimit, thriftwire.ErrData: diag.InvalidData, thriftwire.ErrVersion: diag.InvalidHeader,
	}[n]
}

// took moves on by n bytes, or fails with n as the code of an error.
func (r *reader) took(n int) {
	if n < 0 {
		fail(CodeOf(n), r.pos, thriftwire.Error(n).Error())
	}
	r.pos += n
}

// limit refuses a container of more elements than the rules allow.
func (r *reader) limit(size int) {
	if r.rules.MaxContainer > 0 && size > r.rules.MaxContainer {
		fail(diag.SizeLimit, r.pos, "too many elements")
	}
}

func (r *reader) value(t *schema.Type, depth int) *schema.Value {
	if (t.Kind().IsContainer() || t.Kind() == schema.Struct) && depth <= 0 {
		fail(diag.DepthLimit, r.pos, "nested too deeply")
	}
	switch t.Kind() {
	case schema.List, schema.Set:
		return r.list(t, depth-1)
	case schema.Map:
		return r.mapping(t, depth-1)
	case schema.Struct:
		return r.structure(t.Struct(), depth-1)
	default:
		v, n := r.scalar(t)
		r.took(n)
		return v
	}
}

func (r *reader) scalar(t *schema.Type) (*schema.Value, int) {
	b, binary := r.b[r.pos:], r.p == Binary
	integer := &schema.Value{Kind: schema.IntValue}
	switch t.Kind() {
	case schema.Bool:
		v, n := pick(binary, thriftwire.ConsumeBool, compact.ConsumeBool)(b)
		return &schema.Value{Kind: schema.BoolValue, Bool: v}, n
	case schema.I8:
		v, n := thriftwire.ConsumeI8(b)
		integer.Int = int64(v)
		return integer, n
	case schema.I16:
		v, n := pick(binary, thriftwire.ConsumeI16, compact.ConsumeI16)(b)
		integer.Int = int64(v)
		return integer, n
	case schema.I32:
		v, n := pick(binary, thriftwire.ConsumeI32, compact.ConsumeI32)(b)
		integer.Int = int64(v)
		return integer, n
	case schema.Enum:
		v, n := pick(binary, thriftwire.ConsumeI32, compact.ConsumeI32)(b)
		return &schema.Value{Kind: schema.EnumeratorValue, Int: int64(v), Enumerator: t.Enum().ByValue(int64(v))}, n
	case schema.I64:
		v, n := pick(binary, thriftwire.ConsumeI64, compact.ConsumeI64)(b)
		integer.Int = v
		return integer, n
	case schema.Float:
		v, n := thriftwire.ConsumeFloat(b)
		return &schema.Value{Kind: schema.FloatValue, Float: float32Value(v)}, n
	case schema.Double:
		v, n := pick(binary, thriftwire.ConsumeDouble, r.p.dialect().ConsumeDouble)(b)
		return &schema.Value{Kind: schema.FloatValue, Float: v}, n
	case schema.UUID:
		v, n := thriftwire.ConsumeUUID(b)
		return &schema.Value{Kind: schema.StringValue, String: uuidText(v)}, n
	default: // String, Binary
		v, n := pick(binary, thriftwire.ConsumeBytes, compact.ConsumeBytes)(b)
		return &schema.Value{Kind: schema.StringValue, String: string(v)}, n
	}
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

func (r *reader) list(t *schema.Type, depth int) *schema.Value {
	v := &schema.Value{Kind: schema.ListValue}
	elem, size, n := pick(r.p == Binary, thriftwire.ConsumeList, r.p.dialect().ConsumeList)(r.b[r.pos:])
	r.limit(size)
	if size > 0 && elem != Wire(t.Elem()) {
		fail(diag.TypeMismatch, r.pos, "type mismatch")
	}
	r.took(n)
	starts := make([]int, 0, size)
	for i := range size {
		starts = append(starts, r.pos)
		within(func(f *diag.Fault) *diag.Fault { return f.Index(i) }, func() { v.List = append(v.List, r.value(t.Elem(), depth)) })
	}
	if t.Kind() == schema.Set && r.rules.CheckSets {
		seen := map[string]bool{}
		for i, e := range v.List {
			if text := Format(t.Elem(), e); seen[text] {
				within(func(f *diag.Fault) *diag.Fault { return f.Index(i) }, func() { fail(diag.DuplicateKey, starts[i], "equal elements") })
			} else {
				seen[text] = true
			}
		}
	}
	return v
}

func (r *reader) mapping(t *schema.Type, depth int) *schema.Value {
	v := &schema.Value{Kind: schema.MapValue}
	key, elem, size, n := pick(r.p == Binary, thriftwire.ConsumeMap, r.p.dialect().ConsumeMap)(r.b[r.pos:])
	r.limit(size)
	if size > 0 && (key != Wire(t.Key()) || elem != Wire(t.Elem())) {
		fail(diag.TypeMismatch, r.pos, "type mismatch")
	}
	r.took(n)
	for range size {
		var e schema.MapEntry
		within(func(f *diag.Fault) *diag.Fault { return f.Key("key") }, func() { e.Key = r.value(t.Key(), depth) })
		step := func(f *diag.Fault) *diag.Fault { return f.Key(KeyText(t.Key(), e.Key)) }
		within(step, func() { e.Value = r.value(t.Elem(), depth) })
		put(t.Key(), v, e)
	}
	return v
}

// put adds an entry to a map, in place of one with the same key. Floats are the same
// where Go's maps say so: NaN is never, 0 and -0 are.
func put(t *schema.Type, m *schema.Value, e schema.MapEntry) {
	same := func(k *schema.Value) bool { return k.Float == e.Key.Float }
	if t.Kind() != schema.Float && t.Kind() != schema.Double {
		key := Format(t, e.Key)
		same = func(k *schema.Value) bool { return Format(t, k) == key }
	}
	for i := range m.Map {
		if same(m.Map[i].Key) {
			m.Map[i] = e
			return
		}
	}
	m.Map = append(m.Map, e)
}

// KeyText renders a map key for the path of a fault: a number, a bool, an
// enum's number or a quoted string as in Format, anything else as "entry".
func KeyText(t *schema.Type, v *schema.Value) string {
	switch t.Kind() {
	case schema.Enum:
		return strconv.FormatInt(v.Int, 10)
	case schema.Struct, schema.List, schema.Set, schema.Map, schema.UUID:
		return "entry"
	case schema.Binary:
		return strconv.Quote(v.String)
	case schema.Float:
		return strconv.FormatFloat(v.Float, 'g', -1, 32)
	case schema.Double:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	default:
		return Format(t, v)
	}
}

func (r *reader) structure(s *schema.StructDef, depth int) *schema.Value {
	fields := make([]*schema.Value, len(s.Fields()))
	begin, count := r.pos, 0
	var last int16
	for {
		start := r.pos
		h := r.header(last)
		if h.Type == thriftwire.Stop {
			break
		}
		last = h.ID
		f := s.FieldByID(int32(h.ID))
		switch {
		case f != nil && Wire(f.Type()) == h.Type:
			count++
			within(func(e *diag.Fault) *diag.Fault { return e.Field(f.Name()) }, func() {
				if h.Type == thriftwire.Bool && r.p != Binary {
					fields[f.Index()] = &schema.Value{Kind: schema.BoolValue, Bool: h.True}
				} else {
					fields[f.Index()] = r.value(f.Type(), depth)
				}
			})
		case f != nil && r.rules.Strict:
			within(func(e *diag.Fault) *diag.Fault { return e.Field(f.Name()) }, func() { fail(diag.TypeMismatch, start, "type mismatch") })
		default:
			within(func(e *diag.Fault) *diag.Fault { return e.Field(strconv.Itoa(int(h.ID))) }, func() { r.skip(h.Type, depth) })
		}
	}
	if s.Flavor() == schema.Union && r.rules.CheckUnions && count != 1 {
		fail(diag.InvalidUnion, begin, "not one field")
	}
	v := &schema.Value{Kind: schema.StructValue}
	for i, f := range s.Fields() {
		if fields[i] != nil {
			v.Fields = append(v.Fields, schema.FieldValue{Field: f, Value: fields[i]})
		} else if f.Requiredness() == schema.Required {
			fail(diag.MissingRequired, r.pos-1, "missing required field "+f.Name())
		}
	}
	return v
}

func (r *reader) header(last int16) compact.Field {
	var h compact.Field
	var n int
	if r.p == Binary {
		h.Type, h.ID, n = thriftwire.ConsumeField(r.b[r.pos:])
	} else {
		h, n = r.p.dialect().ConsumeField(r.b[r.pos:], last)
	}
	r.took(n)
	return h
}

func (r *reader) skip(t thriftwire.Type, depth int) {
	if t == thriftwire.Bool && r.p != Binary {
		return // its value was in the header
	}
	end, code := r.p.Skip(r.b, r.pos, t, depth)
	r.pos = end
	if code < 0 {
		fail(CodeOf(code), end, thriftwire.Error(code).Error())
	}
}
