package flatbuffers

import (
	"fmt"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/flatpack"
	"github.com/thrum-rpc/thrum/schema"
)

// This file makes messages of values of Go.

// Make returns a message whose root is the table d, with the file identifier
// of its schema if d is the root type there. x holds the fields as Any returns
// them. Numbers may be of any type of Go that holds a number of the field's
// type; enums may be names, several of an enum with bit_flags with spaces between
// them; vectors may be []string, []map[string]any or slices of numbers too, and
// a Value stands for what it is. A vector of tables or structs with a key is sorted. nil
// leaves a field out.
func Make(d *schema.StructDef, x any) ([]byte, error) {
	b := flatbuf.NewBuilder(0)
	if err := Build(b, d, x); err != nil {
		return nil, err
	}
	return b.FinishedBytes(), nil
}

// Build is Make into a Builder in which nothing is begun, which it finishes. After an
// error b must be reset.
func Build(b *flatbuf.Builder, d *schema.StructDef, x any) error {
	if d.Fixed() || d.Flavor() != schema.PlainStruct {
		return diag.NewFault(diag.Unsupported, -1, d.FullName()+" is no table")
	}
	m := maker{p: flatpack.Packer{Builder: b}}
	root, fault := m.table(d, x, 0)
	if fault != nil {
		return fault
	}
	if id := d.File().Identifier(); id != "" && d.File().Root() == d {
		b.FinishWithFileIdentifier(root, []byte(id))
	} else {
		b.Finish(root)
	}
	return nil
}

// AppendSet appends to dst a copy of the message of which v is the root, with
// the value at a path exchanged for x, or, if x is nil, without it. The path
// leads over tables, structs and vectors, by names, ids and indexes; what it leads through exists.
// A message with fields, or members of unions, that the schema does not have is an UnknownField:
// they would be lost.
func (v Value) AppendSet(dst []byte, x any, path ...Step) ([]byte, error) {
	if v.kind != table {
		return dst, v.mismatch("a table")
	}
	w := anyWalk{left: 16*len(v.b) + 1<<16, whole: true}
	all, fault := w.value(v, 0)
	if fault != nil {
		return dst, fault
	}
	all, fault = exchange(v.t, all, x, path)
	if fault != nil {
		return dst, fault
	}
	b, err := Make(v.t.Struct(), all)
	if err != nil {
		return dst, err
	}
	return append(dst, b...), nil
}

// exchange returns in, a value of type t, with the value at path exchanged.
func exchange(t *schema.Type, in, x any, path []Step) (any, *diag.Fault) {
	if len(path) == 0 {
		return x, nil
	}
	s := path[0]
	fail := func(code diag.Code, detail string) (any, *diag.Fault) {
		fault := diag.NewFault(code, -1, detail)
		s.Locate(fault)
		return nil, fault
	}
	if u, ok := in.(Union); ok && t.Struct() != nil {
		m := t.Struct().FieldByName(u.Member)
		if m == nil {
			return fail(diag.NotFound, "the union is not set")
		}
		y, fault := exchange(m.Type(), u.Value, x, path)
		return Union{u.Member, y}, fault
	}
	switch s.Kind() {
	case dynamic.FieldStep, dynamic.NameStep:
		fields, ok := in.(map[string]any)
		if !ok {
			return fail(diag.NotFound, "there is no table or struct")
		}
		f, fault := s.FieldOf(t.Struct())
		if fault != nil {
			s.Locate(fault)
			return nil, fault
		}
		y, fault := exchange(f.Type(), fields[f.Name()], x, path[1:])
		if fault != nil {
			s.Locate(fault)
			return nil, fault
		}
		fields[f.Name()] = y
		return fields, nil
	case dynamic.IndexStep, dynamic.NumberStep:
		i := s.Number()
		if b, ok := in.([]byte); ok {
			in = make([]any, len(b))
			for j := range b {
				in.([]any)[j] = b[j]
			}
		}
		list, ok := in.([]any)
		if !ok || i < 0 || i >= int64(len(list)) {
			return fail(diag.NotFound, "there is no such element")
		}
		y, fault := exchange(t.Elem(), list[i], x, path[1:])
		if fault != nil {
			s.Locate(fault)
			return nil, fault
		}
		if y == nil {
			return append(list[:i], list[i+1:]...), nil
		}
		list[i] = y
		return list, nil
	}
	return fail(diag.Unsupported, "a message is not changed along the step "+s.String())
}

// maker makes one message.
type maker struct{ p flatpack.Packer }

func wrong(t *schema.Type, x any) *diag.Fault {
	return diag.NewFault(diag.InvalidValue, -1, fmt.Sprintf("a %T is no value of type %s", x, t))
}

func (m *maker) table(d *schema.StructDef, x any, depth int) (flatbuf.UOffsetT, *diag.Fault) {
	if depth >= maxDepth {
		return 0, diag.NewFault(diag.DepthLimit, -1, fmt.Sprintf("tables nest deeper than %d levels", maxDepth))
	}
	values, fault := fieldsOf(d, x)
	if fault != nil {
		return 0, fault
	}
	mark := m.p.Start()
	for _, f := range d.Fields() {
		y := values[f.Name()]
		if y == nil || f.Deprecated() {
			continue
		}
		if fault := m.field(f, y, depth); fault != nil {
			return 0, fault.Field(f.Name())
		}
	}
	if f := m.p.Missing(d); f != nil {
		return 0, diag.NewFault(diag.MissingRequired, -1, "a required field is missing").Field(f.Name())
	}
	return m.p.EndTable(mark), nil
}

// fieldsOf returns the fields of a table or struct by name.
func fieldsOf(d *schema.StructDef, x any) (map[string]any, *diag.Fault) {
	if v, ok := x.(Value); ok {
		var err error
		if x, err = v.Any(); err != nil {
			return nil, diag.NewFault(diag.InvalidValue, -1, err.Error())
		}
	}
	values, ok := x.(map[string]any)
	if !ok {
		return nil, wrong(d.Type(), x)
	}
	for name := range values {
		if d.FieldByName(name) == nil {
			return nil, diag.NewFault(diag.UnknownField, -1, d.Name()+" has no such field").Field(name)
		}
	}
	return values, nil
}

func (m *maker) field(f *schema.Field, x any, depth int) *diag.Fault {
	t, slot := f.Type(), int(f.ID())
	switch {
	case t.InlineSize() > 0 && t.Kind() == schema.Struct:
		data := make([]byte, t.InlineSize())
		if fault := m.inline(data, t, x); fault != nil {
			return fault
		}
		m.p.Struct(slot, data, t.InlineAlign())
		return nil
	case t.InlineSize() > 0:
		bits, fault := number64(t, x)
		if fault == nil {
			m.p.Number(f, bits)
		}
		return fault
	case flatpack.IsUnion(t):
		tag, off, fault := m.union(t, x, depth)
		if fault == nil && tag != 0 {
			m.p.Scalar(slot-1, tag, t.Struct().Tag().InlineSize())
			m.p.Offset(slot, off, false)
		}
		return fault
	case t.Kind() == schema.List && flatpack.IsUnion(t.Elem()):
		return m.unions(f, x, depth)
	}
	if b, ok := x.([]byte); ok && f.Nested() != nil {
		wide := t.Encoding() == schema.Vector64 // a message inside is aligned as one that stands alone
		m.p.Offset(slot, flatpack.Vector(m.p.Builder, b, len(b), 1, flatpack.MessageAlign(b), wide), wide || t.Encoding() == schema.Offset64)
		return nil
	}
	var off flatbuf.UOffsetT
	var fault *diag.Fault
	if t.Kind() == schema.List {
		off, fault = m.vector(t, x, depth, flatpack.VectorAlign(f))
	} else {
		off, fault = m.part(t, x, depth)
	}
	if fault == nil {
		m.p.Offset(slot, off, t.Encoding() == schema.Offset64 || t.Encoding() == schema.Vector64)
	}
	return fault
}

// part writes a table, string or vector.
func (m *maker) part(t *schema.Type, x any, depth int) (flatbuf.UOffsetT, *diag.Fault) {
	switch t.Kind() {
	case schema.String:
		s, ok := textOf(x)
		if !ok {
			return 0, wrong(t, x)
		}
		return m.p.Builder.CreateString(s), nil
	case schema.List:
		return m.vector(t, x, depth, 1)
	}
	return m.table(t.Struct(), x, depth+1)
}

func textOf(x any) (string, bool) {
	switch x := x.(type) {
	case string:
		return x, true
	case []byte:
		return string(x), true
	case Value:
		s, err := x.Text()
		return s, err == nil
	}
	return "", false
}

// vector writes a vector, whose elements stand at multiples of align at least.
func (m *maker) vector(t *schema.Type, x any, depth, align int) (flatbuf.UOffsetT, *diag.Fault) {
	elem := t.Elem()
	wide := t.Encoding() == schema.Vector64
	if b, ok := x.([]byte); ok && elem.Kind() == schema.U8 {
		return flatpack.Vector(m.p.Builder, b, len(b), 1, align, wide), nil
	}
	list, ok := elementsOf(x)
	if !ok {
		return 0, wrong(t, x)
	}
	if size := elem.InlineSize(); size > 0 {
		data := make([]byte, len(list)*size)
		for i, e := range list {
			if fault := m.inline(data[i*size:(i+1)*size], elem, e); fault != nil {
				return 0, fault.Index(i)
			}
		}
		flatpack.SortStructs(elem, data)
		return flatpack.Vector(m.p.Builder, data, len(list), size, max(elem.InlineAlign(), align), wide), nil
	}
	offsets := make([]flatbuf.UOffsetT, len(list))
	for i, e := range list {
		var fault *diag.Fault
		if offsets[i], fault = m.part(elem, e, depth); fault != nil {
			return 0, fault.Index(i)
		}
	}
	m.p.SortTables(elem, offsets)
	return m.p.Builder.CreateVectorOfTables(offsets), nil
}

// union writes the member of a union, and returns its type.
func (m *maker) union(t *schema.Type, x any, depth int) (tag uint64, off flatbuf.UOffsetT, fault *diag.Fault) {
	if v, ok := x.(Value); ok && v.member != nil {
		x = Union{v.member.Name(), Value{b: v.b, t: v.t, kind: v.kind, pos: v.pos, n: v.n}}
	}
	u, ok := x.(Union)
	if !ok {
		return 0, 0, wrong(t, x)
	}
	if u.Member == "" {
		return 0, 0, nil
	}
	f := t.Struct().FieldByName(u.Member)
	if f == nil {
		return 0, 0, diag.NewFault(diag.InvalidUnion, -1, t.Struct().Name()+" has no member "+u.Member)
	}
	if f.Type().InlineSize() > 0 {
		data := make([]byte, f.Type().InlineSize())
		if fault := m.inline(data, f.Type(), u.Value); fault != nil {
			return 0, 0, fault
		}
		off = flatpack.Inline(m.p.Builder, data, f.Type().InlineAlign())
	} else if off, fault = m.part(f.Type(), u.Value, depth); fault != nil {
		return 0, 0, fault
	}
	return flatpack.Low(uint64(f.ID()), t.Struct().Tag().InlineSize()), off, nil
}

func (m *maker) unions(f *schema.Field, x any, depth int) *diag.Fault {
	elem := f.Type().Elem()
	list, ok := elementsOf(x)
	if !ok {
		return wrong(f.Type(), x)
	}
	size := elem.Struct().Tag().InlineSize()
	types := make([]byte, len(list)*size)
	offsets := make([]flatbuf.UOffsetT, len(list))
	for i, e := range list {
		tag, off, fault := m.union(elem, e, depth)
		if fault != nil {
			return fault.Index(i)
		}
		flatpack.Put(types[i*size:], tag, size)
		offsets[i] = off
	}
	flatpack.Unions(&m.p, int(f.ID()), types, size, offsets)
	return nil
}

// inline writes a number, struct or array to data.
func (m *maker) inline(data []byte, t *schema.Type, x any) *diag.Fault {
	switch t.Kind() {
	case schema.Struct:
		values, fault := fieldsOf(t.Struct(), x)
		if fault != nil {
			return fault
		}
		for _, f := range t.Struct().Fields() {
			if y := values[f.Name()]; y != nil {
				if fault := m.inline(data[f.Offset():f.Offset()+f.Type().InlineSize()], f.Type(), y); fault != nil {
					return fault.Field(f.Name())
				}
			}
		}
		return nil
	case schema.Array:
		list, ok := elementsOf(x)
		if !ok {
			return wrong(t, x)
		}
		if len(list) > t.Len() {
			return diag.NewFault(diag.OutOfRange, -1, fmt.Sprintf("%d elements for an array of %d", len(list), t.Len()))
		}
		size := t.Elem().InlineSize()
		for i, e := range list {
			if fault := m.inline(data[i*size:(i+1)*size], t.Elem(), e); fault != nil {
				return fault.Index(i)
			}
		}
		return nil
	}
	bits, fault := number64(t, x)
	if fault == nil {
		flatpack.Put(data, bits, t.InlineSize())
	}
	return fault
}

// number64 returns the bits of a number of type t.
func number64(t *schema.Type, x any) (uint64, *diag.Fault) {
	kind, size := flatpack.KindOf(t), t.InlineSize()
	switch y := x.(type) {
	case bool:
		if kind != schema.Bool {
			return 0, wrong(t, x)
		}
		return map[bool]uint64{true: 1}[y], nil
	case string:
		if t.Kind() != schema.Enum {
			return 0, wrong(t, x)
		}
		return enumBits(t.Enum(), y)
	case Value:
		bits, from, ok := y.scalar()
		if !ok {
			return 0, wrong(t, x)
		}
		return rangeChecked(t, fromBits(bits, from), kind, size)
	}
	n, ok := numberOf(x)
	if !ok {
		return 0, wrong(t, x)
	}
	return rangeChecked(t, n, kind, size)
}

func rangeChecked(t *schema.Type, n number, kind schema.Kind, size int) (uint64, *diag.Fault) {
	bits, ok := bitsOf(n, kind, size)
	if !ok {
		return 0, diag.NewFault(diag.OutOfRange, -1, "the number is beyond the range of "+t.String())
	}
	return bits, nil
}

// enumBits returns the number of a name, or of several with spaces between them.
func enumBits(e *schema.EnumDef, names string) (bits uint64, fault *diag.Fault) {
	for _, name := range strings.Fields(names) {
		value := e.ByName(name)
		if value == nil || bits != 0 && !e.Flags() {
			return 0, diag.NewFault(diag.UnknownEnum, -1, fmt.Sprintf("%s has no value %q", e.Name(), names))
		}
		bits |= uint64(value.Value)
	}
	return bits, nil
}

// elementsOf returns the elements of a list.
func elementsOf(x any) ([]any, bool) {
	switch x := x.(type) {
	case []any:
		return x, true
	case []string:
		return boxed(x), true
	case []map[string]any:
		return boxed(x), true
	case []Union:
		return boxed(x), true
	case []bool:
		return boxed(x), true
	case []byte:
		return boxed(x), true
	case []int8:
		return boxed(x), true
	case []int16:
		return boxed(x), true
	case []uint16:
		return boxed(x), true
	case []int32:
		return boxed(x), true
	case []uint32:
		return boxed(x), true
	case []int64:
		return boxed(x), true
	case []uint64:
		return boxed(x), true
	case []int:
		return boxed(x), true
	case []float32:
		return boxed(x), true
	case []float64:
		return boxed(x), true
	case Value:
		if x.kind != elements {
			return nil, false
		}
		list := make([]any, x.n)
		for i, e := range x.Elements() {
			list[i] = e
		}
		return list, true
	}
	return nil, false
}

func boxed[T any](list []T) []any {
	all := make([]any, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return all
}
