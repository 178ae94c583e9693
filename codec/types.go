package codec

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/lower"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/schema"
)

// This file turns a tagged Go struct type into its schema, the layout that
// lowering works on, and the binding.

// TypeError says why a Go type cannot be encoded or decoded.
type TypeError struct {
	Type   reflect.Type // the struct that declares the field, or the type itself
	Field  string       // the Go name of the field, or ""
	Reason string
}

// Error names type, field and reason.
func (e *TypeError) Error() string {
	if e.Field == "" {
		return "codec: " + e.Type.String() + ": " + e.Reason
	}
	return "codec: " + e.Type.String() + "." + e.Field + ": " + e.Reason
}

// initializer is what structs with defaults implement.
type initializer interface{ InitDefault() }

var initializerType = reflect.TypeFor[initializer]()

// builder collects the structs that a type reaches.
type builder struct {
	structs map[reflect.Type]*lower.Layout
	slots   []engine.Slot
	open    map[reflect.Type]bool // maps whose key or element is at hand
}

// layoutOf returns the layout of the struct type t and its binding.
func layoutOf(t reflect.Type) (*lower.Layout, *engine.Binding, error) {
	b := &builder{structs: make(map[reflect.Type]*lower.Layout), open: make(map[reflect.Type]bool)}
	l, err := b.structure(t)
	if err != nil {
		return nil, nil, err
	}
	return l, &engine.Binding{Slots: b.slots}, nil
}

func (b *builder) slot(s engine.Slot) int32 {
	b.slots = append(b.slots, s)
	return int32(len(b.slots) - 1)
}

func (b *builder) structure(t reflect.Type) (*lower.Layout, error) {
	if l := b.structs[t]; l != nil {
		return l, nil
	}
	if t.Kind() != reflect.Struct {
		return nil, &TypeError{Type: t, Reason: "not a struct"}
	}
	if uint64(t.Size()) > 1<<31 {
		return nil, &TypeError{Type: t, Reason: "larger than 2 GiB"}
	}
	name := t.Name()
	if name == "" {
		name = "struct"
	}
	def := schema.NewStruct(schema.DeclSpec{Name: name}, flavorOf(t))
	l := &lower.Layout{Def: def, Memory: uint32(t.Size()), Unknown: -1, Init: -1}
	b.structs[t] = l
	var sample reflect.Value // with its defaults set
	if reflect.PointerTo(t).Implements(initializerType) {
		sample = reflect.New(t)
		sample.Interface().(initializer).InitDefault()
		if !sample.Elem().IsZero() { // generators write empty methods too
			l.Init = b.slot(initSlot(t))
		}
	}
	var fields []*schema.Field
	ids := make(map[int16]string)
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "_unknownFields" && f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Uint8 {
			l.Unknown = int32(f.Offset)
			continue
		}
		if !f.IsExported() || f.Anonymous {
			continue
		}
		fl, err := b.field(f, sample)
		if err == nil && fl == nil {
			continue
		}
		if err == nil {
			id := int16(fl.Field.ID())
			if other, ok := ids[id]; ok {
				err = fmt.Errorf("duplicated field id %d, which %s has", id, other)
			}
			ids[id] = f.Name
		}
		if err != nil {
			if _, ok := err.(*TypeError); ok {
				return nil, err
			}
			return nil, &TypeError{Type: t, Field: f.Name, Reason: err.Error()}
		}
		l.Fields = append(l.Fields, *fl)
		fields = append(fields, fl.Field)
	}
	def.Complete(fields)
	return l, nil
}

// flavorOf recognises what generated code declares: exceptions are errors,
// unions count their fields.
func flavorOf(t reflect.Type) schema.Flavor {
	p := reflect.PointerTo(t)
	if _, ok := p.MethodByName("CountSetFields" + t.Name()); ok {
		return schema.Union
	}
	if p.Implements(reflect.TypeFor[error]()) {
		return schema.Exception
	}
	return schema.PlainStruct
}

// field returns the layout of f, or nil if it is not tagged.
func (b *builder) field(f reflect.StructField, sample reflect.Value) (*lower.FieldLayout, error) {
	tag, ok, err := parseTag(f)
	if err != nil || !ok {
		return nil, err
	}
	l := &lower.FieldLayout{Offset: uint32(f.Offset), DerefSlot: -1}
	t := f.Type
	if t.Kind() == reflect.Pointer && t.Elem().Kind() != reflect.Struct {
		t = t.Elem()
		switch {
		case tag.requiredness != schema.Optional:
			return nil, fmt.Errorf("only an optional field may be a pointer to %s", t)
		case t.Kind() == reflect.Pointer || t.Kind() == reflect.Map || t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
			return nil, fmt.Errorf("a pointer to %s is not supported", t)
		}
		l.Deref = true
		if t.Kind() == reflect.String || t.Kind() == reflect.Slice {
			l.DerefSlot = b.slot(newSlot(t))
		}
	}
	v, err := b.value(t, tag.typ)
	if err != nil {
		return nil, err
	}
	l.Value = *v
	text := v.Code == plan.String || v.Code == plan.Binary
	if tag.noCopy && !text {
		return nil, fmt.Errorf("nocopy is for string and binary")
	}
	l.Alias = tag.noCopy
	if sample.IsValid() && !l.Deref && tag.requiredness == schema.Optional && (text || v.Code.Width() > 0) {
		// A binary without a default is absent if it is nil, and only then.
		if value := sample.Elem().FieldByIndex(f.Index); v.Code != plan.Binary || !value.IsNil() {
			d := defaultText(value, v)
			l.Default = &d
		}
	}
	l.Field = schema.NewField(schema.FieldSpec{ID: int32(tag.id), Name: tag.name, Type: v.Type, Requiredness: tag.requiredness})
	return l, nil
}

// defaultText returns a default as plan.Program.Defaults holds it.
func defaultText(v reflect.Value, l *lower.ValueLayout) string {
	switch l.Code {
	case plan.String:
		return v.String()
	case plan.Binary:
		return string(v.Bytes())
	default:
		return string(mem.View[byte](v.Addr().UnsafePointer(), int(l.Memory)))
	}
}

// value returns the layout of a value of type t; text is what the tag says of
// it, nil for nothing.
func (b *builder) value(t reflect.Type, text *typeText) (*lower.ValueLayout, error) {
	v := &lower.ValueLayout{Memory: uint32(t.Size()), Slot: -1}
	name := ""
	if text != nil {
		name = text.name
	}
	if s, ok := scalars[t.Kind()]; ok && (name == "" && s.plain || s.accepts(name)) {
		v.Code, v.Type = s.code, schema.Basic(s.kind)
		return v, nil
	}
	switch t.Kind() {
	case reflect.Int64, reflect.Int32, reflect.Int:
		if name == "" || t.Name() == "" || keywords[name] || t.Kind() == reflect.Int && t.Size() != 8 {
			break
		}
		v.Code = plan.Enum64
		if t.Kind() == reflect.Int32 {
			v.Code = plan.I32
		}
		v.Type = schema.NewEnum(schema.DeclSpec{Name: t.Name()}, nil).Type()
		return v, nil
	case reflect.Array:
		if name == "uuid" && t.Len() == 16 && t.Elem().Kind() == reflect.Uint8 {
			v.Code, v.Type = plan.UUID, schema.Basic(schema.UUID)
			return v, nil
		}
	case reflect.Slice:
		return b.slice(v, t, text)
	case reflect.Map:
		return b.mapping(v, t, text)
	case reflect.Struct:
		if keywords[name] {
			break
		}
		return b.structValue(v, t, plan.Struct)
	case reflect.Pointer:
		if t.Elem().Kind() != reflect.Struct || keywords[name] {
			break
		}
		return b.structValue(v, t.Elem(), plan.Pointer)
	}
	return nil, mismatch(t, text)
}

func (b *builder) structValue(v *lower.ValueLayout, t reflect.Type, code plan.Code) (*lower.ValueLayout, error) {
	l, err := b.structure(t)
	if err != nil {
		return nil, err
	}
	v.Code, v.Struct, v.Type = code, l, l.Def.Type()
	if code == plan.Pointer {
		v.Slot = b.slot(newSlot(t))
	}
	return v, nil
}

func (b *builder) slice(v *lower.ValueLayout, t reflect.Type, text *typeText) (*lower.ValueLayout, error) {
	if t.Elem().Kind() == reflect.Uint8 {
		if text != nil && text.name != "binary" && text.name != "string" {
			return nil, mismatch(t, text)
		}
		v.Code, v.Type = plan.Binary, schema.Basic(schema.Binary)
		return v, nil
	}
	if text == nil {
		return nil, fmt.Errorf("the tag of a %s must say whether it is a list or a set, such as list<i64>", t)
	}
	if text.name != "list" && text.name != "set" {
		return nil, mismatch(t, text)
	}
	elem, err := b.value(t.Elem(), text.args[0])
	if err != nil {
		return nil, err
	}
	v.Code, v.Elem = plan.List, elem
	v.Type = schema.ListOf(elem.Type)
	if text.name == "set" {
		v.Type = schema.SetOf(elem.Type)
	}
	v.PointerFree = elem.Code.Width() > 0
	if !v.PointerFree && elem.Code != plan.String && elem.Code != plan.Pointer {
		v.Slot = b.slot(sliceSlot(t))
	}
	return v, nil
}

func (b *builder) mapping(v *lower.ValueLayout, t reflect.Type, text *typeText) (*lower.ValueLayout, error) {
	var kt, et *typeText
	if text != nil {
		if text.name != "map" {
			return nil, mismatch(t, text)
		}
		kt, et = text.args[0], text.args[1]
	} else if b.open[t] {
		return nil, fmt.Errorf("the map type %s holds itself, which no Thrift type does", t)
	}
	outer := b.open[t]
	b.open[t] = true
	defer func() { b.open[t] = outer }()
	key, err := b.value(t.Key(), kt)
	if err != nil {
		return nil, err
	}
	elem, err := b.value(t.Elem(), et)
	if err != nil {
		return nil, err
	}
	v.Code, v.Key, v.Elem = plan.Map, key, elem
	v.Type = schema.MapOf(key.Type, elem.Type)
	v.Slot = b.slot(mapSlot(t))
	return v, nil
}

// scalar is what a Go kind stands for.
type scalar struct {
	code  plan.Code
	kind  schema.Kind
	plain bool // without a type in the tag
	names []string
}

func (s scalar) accepts(name string) bool {
	for _, n := range s.names {
		if n == name {
			return true
		}
	}
	return false
}

var scalars = map[reflect.Kind]scalar{
	reflect.Int:     {plan.I64, schema.I64, strconv.IntSize == 64, int64Names},
	reflect.Bool:    {plan.Bool, schema.Bool, true, []string{"bool"}},
	reflect.Int8:    {plan.I8, schema.I8, true, []string{"i8", "byte"}},
	reflect.Int16:   {plan.I16, schema.I16, true, []string{"i16"}},
	reflect.Int32:   {plan.I32, schema.I32, true, []string{"i32"}},
	reflect.Int64:   {plan.I64, schema.I64, true, []string{"i64"}},
	reflect.Float32: {plan.Float, schema.Float, false, []string{"float"}},
	reflect.Float64: {plan.Double, schema.Double, true, []string{"double"}},
	reflect.String:  {plan.String, schema.String, true, []string{"string", "binary"}},
}

// int64Names are the types that a Go int has: none where it has 32 bits, since
// messages must not depend on the machine.
var int64Names = []string{"i64"}[:strconv.IntSize/64]

// keywords are the names that cannot be declared types.
var keywords = map[string]bool{
	"bool": true, "i8": true, "byte": true, "i16": true, "i32": true, "i64": true, "double": true, "float": true,
	"string": true, "binary": true, "uuid": true, "list": true, "set": true, "map": true,
}

// mismatch says why a Go type does not fit, with a hint where one helps.
func mismatch(t reflect.Type, text *typeText) error {
	hint := map[reflect.Kind]string{
		reflect.Uint8: "use int8 instead", reflect.Uint16: "use int16 instead", reflect.Uint32: "use int32 instead",
		reflect.Uint64: "use int64 instead", reflect.Int: "use int64 instead", reflect.Uint: "use int64 instead",
		reflect.Float32: "use float64, or name the type float in the tag", reflect.Array: "use a slice, or [16]byte with the type uuid in the tag",
		reflect.Interface: "use a concrete type", reflect.Pointer: "pointers stand to structs, and to scalars in optional fields only",
	}[t.Kind()]
	if hint != "" {
		hint = ": " + hint
	}
	if text == nil {
		return fmt.Errorf("the Go type %s is not supported%s", t, hint)
	}
	return fmt.Errorf("the Go type %s does not fit the type %s%s", t, text, hint)
}
