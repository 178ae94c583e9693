package structs

import (
	"fmt"
	"reflect"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file makes tables of Go types.

// message is a struct type. Messages refer to each other in cycles where types do;
// they never change once they are compiled.
type message struct {
	typ      reflect.Type
	def      *schema.StructDef
	fields   []*field // in the order of the Go struct
	byNumber map[int32]*field
	unknown  int // the index of XXX_unrecognized, or -1
}

// field is a field of a message.
type field struct {
	name     string
	number   int32
	index    int          // in the Go struct
	wrapper  reflect.Type // of a member of a oneof: the struct around it
	shape    shape
	pointer  bool // whether it is a pointer to what value describes
	presence bool // whether absent is not zero
	required bool
	packed   bool
	key      *value // of a map
	value    value
}

type shape uint8

const (
	single shape = iota
	list
	mapping
)

// value is the type of a field, an element, a key or an entry's value.
type value struct {
	typ    reflect.Type // without the pointer to a struct
	kind   schema.Kind
	wire   protowire.Type
	zigzag bool
	msg    *message // of a struct
	ptr    bool     // whether a struct is held by a pointer
}

// Option changes what For and Between compile.
type Option func(*compiler)

// Members tells the members of oneofs: pointers to the structs around them, such as
// &Book_Digital{}, which may belong to any message. Types that protoc-gen-go writes today do not tell theirs.
func Members(wrappers ...any) Option {
	return func(c *compiler) {
		for _, w := range wrappers {
			c.members = append(c.members, reflect.TypeOf(w))
		}
	}
}

type compiler struct {
	messages map[reflect.Type]*message
	members  []reflect.Type
	byName   bool // Between
	pairs    map[[2]*message]*pairing
}

func newCompiler(opts []Option) *compiler {
	c := &compiler{messages: map[reflect.Type]*message{}, pairs: map[[2]*message]*pairing{}}
	for _, o := range opts {
		o(c)
	}
	return c
}

func invalid(format string, args ...any) *diag.Fault {
	return diag.NewFault(diag.Unsupported, -1, fmt.Sprintf(format, args...))
}

// message compiles the struct type t.
func (c *compiler) message(t reflect.Type) (*message, *diag.Fault) {
	if m := c.messages[t]; m != nil {
		return m, nil
	}
	if t.Kind() != reflect.Struct {
		return nil, invalid("%s is no struct", t)
	}
	name := t.Name()
	if name == "" {
		name = "struct"
	}
	m := &message{typ: t, unknown: -1, byNumber: map[int32]*field{}, def: schema.NewStruct(schema.DeclSpec{Name: name}, schema.PlainStruct)}
	c.messages[t] = m
	b := builder{compiler: c, message: m, names: map[string]bool{}}
	for i := range t.NumField() {
		if f := b.field(i, t.Field(i)); f != nil {
			return nil, f.Field(t.Field(i).Name)
		}
	}
	m.def.Complete(b.specs)
	return m, nil
}

// builder compiles the fields of one message.
type builder struct {
	*compiler
	*message
	names map[string]bool
	specs []*schema.Field
}

func (b *builder) field(i int, f reflect.StructField) *diag.Fault {
	if f.Name == "XXX_unrecognized" && f.Type == reflect.TypeFor[[]byte]() {
		b.unknown = i
		return nil
	}
	text, ok := f.Tag.Lookup("protobuf")
	oneof, is := f.Tag.Lookup("protobuf_oneof")
	switch {
	case !ok && !is:
		return nil
	case !f.IsExported():
		return invalid("a field with a tag must be exported")
	case f.Type.Kind() == reflect.Interface:
		return b.oneof(i, f.Type, oneof)
	case !ok:
		return invalid("a oneof is a field of an interface type, not %s", f.Type)
	}
	return b.tagged(&field{index: i}, f, text, nil)
}

// oneof compiles the members of a oneof.
func (b *builder) oneof(i int, t reflect.Type, name string) *diag.Fault {
	group := schema.NewOneof(schema.DeclSpec{Name: name})
	wrappers := b.members
	if m, ok := reflect.New(b.typ).Interface().(interface{ XXX_OneofWrappers() []any }); ok {
		for _, w := range m.XXX_OneofWrappers() {
			wrappers = append(wrappers[:len(wrappers):len(wrappers)], reflect.TypeOf(w))
		}
	}
	found := map[reflect.Type]bool{}
	for _, w := range wrappers {
		if w == nil || w.Kind() != reflect.Pointer || !w.Implements(t) || found[w] {
			continue
		}
		found[w] = true
		if w.Elem().Kind() != reflect.Struct || w.Elem().NumField() != 1 {
			return invalid("%s is no struct around a member", w.Elem())
		}
		f := w.Elem().Field(0)
		if err := b.tagged(&field{index: i, wrapper: w.Elem(), presence: true}, f, f.Tag.Get("protobuf"), group); err != nil {
			return err.Field(f.Name)
		}
	}
	if len(found) == 0 {
		return invalid("nobody tells the members of the oneof: by the option Members or a method XXX_OneofWrappers")
	}
	return nil
}

// tagged compiles a field with that tag into out.
func (b *builder) tagged(out *field, f reflect.StructField, text string, group *schema.Oneof) *diag.Fault {
	t, fault := parseTag(text)
	if fault != nil {
		return fault
	}
	if out.name = t.name; out.name == "" {
		out.name = f.Name
	}
	out.number, out.packed, out.required = t.number, t.packed, t.label == "req"
	typ, fault := b.shaped(out, f, t)
	switch {
	case fault != nil:
		return fault
	case b.byNumber[out.number] != nil || b.names[out.name]:
		return invalid("a second field has the number %d or the name %s", out.number, out.name)
	case group != nil && out.shape != single:
		return invalid("a member of a oneof is no list and no map")
	}
	spec := schema.FieldSpec{ID: out.number, Name: out.name, Type: typ, JSONName: t.json, Packed: out.packed, Oneof: group}
	switch {
	case out.required:
		spec.Requiredness = schema.Required
	case out.presence:
		spec.Requiredness = schema.Optional
	}
	b.names[out.name], b.byNumber[out.number] = true, out
	b.fields, b.specs = append(b.fields, out), append(b.specs, schema.NewField(spec))
	return nil
}

// shaped compiles the type of a field.
func (b *builder) shaped(out *field, f reflect.StructField, t tag) (*schema.Type, *diag.Fault) {
	typ := f.Type
	switch {
	case typ.Kind() == reflect.Map:
		return b.mapping(out, f, t)
	case t.label == "rep":
		if typ.Kind() != reflect.Slice {
			return nil, invalid("a field that is repeated must be a slice or map, not %s", typ)
		}
		out.shape = list
		elem, fault := b.value(&out.value, typ.Elem(), t)
		if fault != nil {
			return nil, fault
		}
		if out.packed && !packable(out.value.wire) {
			return nil, invalid("%s cannot be packed", typ)
		}
		return schema.ListOf(elem), nil
	case typ.Kind() == reflect.Pointer && typ.Elem().Kind() != reflect.Struct:
		out.pointer, out.presence = true, true
		typ = typ.Elem()
	case typ.Kind() == reflect.Slice:
		out.presence = out.presence || !t.proto3 || t.presence
	}
	elem, fault := b.value(&out.value, typ, t)
	out.presence = out.presence || out.value.msg != nil
	return elem, fault
}

func (b *builder) mapping(out *field, f reflect.StructField, t tag) (*schema.Type, *diag.Fault) {
	key, fault := parseTag(f.Tag.Get("protobuf_key"))
	if fault != nil {
		return nil, fault
	}
	val, fault := parseTag(f.Tag.Get("protobuf_val"))
	if fault != nil {
		return nil, fault
	}
	if t.wire != protowire.Bytes || t.label != "rep" || key.number != 1 || val.number != 2 {
		return nil, invalid("the tags of a map start with bytes, n, rep and have a key 1 and a value 2")
	}
	out.shape, out.packed, out.key = mapping, false, &value{}
	k, fault := b.value(out.key, f.Type.Key(), key)
	if fault != nil {
		return nil, fault
	}
	switch out.key.kind {
	case schema.Bool, schema.I32, schema.I64, schema.U32, schema.U64, schema.String:
	default:
		return nil, invalid("a map cannot have keys of type %s", f.Type.Key())
	}
	v, fault := b.value(&out.value, f.Type.Elem(), val)
	if fault != nil {
		return nil, fault
	}
	return schema.MapOf(k, v), nil
}

var scalarKinds = map[reflect.Kind]schema.Kind{
	reflect.Bool: schema.Bool, reflect.Int32: schema.I32, reflect.Int64: schema.I64, reflect.Uint32: schema.U32,
	reflect.Uint64: schema.U64, reflect.Float32: schema.Float, reflect.Float64: schema.Double, reflect.String: schema.String,
}

// value compiles the Go type typ, as the tag has it written, into out.
func (b *builder) value(out *value, typ reflect.Type, t tag) (*schema.Type, *diag.Fault) {
	out.typ, out.wire, out.zigzag = typ, t.wire, t.zigzag
	kind, scalar := scalarKinds[typ.Kind()]
	elem := typ
	if typ.Kind() == reflect.Pointer {
		out.ptr, elem = true, typ.Elem()
	}
	var ok bool
	switch {
	case scalar:
		ok = suits(kind, t)
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Uint8:
		kind, ok = schema.Binary, t.wire == protowire.Bytes
	case elem.Kind() == reflect.Struct:
		var f *diag.Fault
		if out.msg, f = b.compiler.message(elem); f != nil {
			return nil, f
		}
		out.typ, out.kind = elem, schema.Struct
		switch t.wire {
		case protowire.Bytes:
			return out.msg.def.Type(), nil
		case protowire.StartGroup:
			return out.msg.def.Type().WithEncoding(schema.Delimited), nil
		}
	}
	if !ok {
		return nil, invalid("the tag does not suit the type %s", typ)
	}
	if out.kind = kind; t.enum != "" {
		if kind != schema.I32 || t.zigzag {
			return nil, invalid("an enum is an int32, not %s", typ)
		}
		out.kind = schema.Enum
		return schema.NewEnum(schema.DeclSpec{Name: t.enum}, nil).Type(), nil
	}
	return schema.Basic(kind).WithEncoding(encodingOf(kind, t)), nil
}

// suits reports whether a scalar may be written as the tag says.
func suits(kind schema.Kind, t tag) bool {
	switch kind {
	case schema.Bool:
		return t.wire == protowire.Varint && !t.zigzag
	case schema.I32, schema.U32:
		return t.wire == protowire.Fixed32 || t.wire == protowire.Varint && (!t.zigzag || kind == schema.I32)
	case schema.I64, schema.U64:
		return t.wire == protowire.Fixed64 || t.wire == protowire.Varint && (!t.zigzag || kind == schema.I64)
	case schema.Float:
		return t.wire == protowire.Fixed32
	case schema.Double:
		return t.wire == protowire.Fixed64
	default:
		return t.wire == protowire.Bytes
	}
}

// encodingOf returns the encoding in the schema, where floats have but one.
func encodingOf(kind schema.Kind, t tag) schema.Encoding {
	if kind == schema.Float || kind == schema.Double {
		return schema.StandardEncoding
	}
	return t.encoding()
}

func packable(w protowire.Type) bool { return w != protowire.Bytes && w != protowire.StartGroup }
