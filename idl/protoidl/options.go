package protoidl

import (
	"cmp"
	"slices"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// This file turns options into annotations and defaults into values.

// annotations returns the options that were set, in the order of their
// numbers: those of Protobuf by name, extensions by full name. Of a repeated
// option each element is an annotation.
func (c *converter) annotations(options protoreflect.ProtoMessage, span diag.Span) schema.Annotations {
	m := options.ProtoReflect()
	if !m.IsValid() {
		return nil
	}
	var out schema.Annotations
	for _, f := range setFields(m) {
		name := string(f.desc.Name())
		if f.desc.IsExtension() {
			name = string(f.desc.FullName())
		}
		switch {
		case f.desc.IsMap() || name == "features" || name == "packed": // which the schema says in its own words
		case f.desc.IsList():
			for i := range f.value.List().Len() {
				out = append(out, c.annotation(name, f.desc, f.value.List().Get(i), span))
			}
		default:
			out = append(out, c.annotation(name, f.desc, f.value, span))
		}
	}
	return out
}

func (c *converter) annotation(name string, fd protoreflect.FieldDescriptor, v protoreflect.Value, span diag.Span) schema.Annotation {
	a := schema.Annotation{Name: name, Span: span}
	if fd.Message() != nil {
		a.Structured = c.message(v.Message())
		return a
	}
	a.HasValue, a.Value = true, v.String()
	switch fd.Kind() {
	case protoreflect.BytesKind:
		a.Value = string(v.Bytes())
	case protoreflect.EnumKind:
		a.Value = strconv.Itoa(int(v.Enum()))
		if e := fd.Enum().Values().ByNumber(v.Enum()); e != nil {
			a.Value = string(e.Name())
		}
	}
	return a
}

type setField struct {
	desc  protoreflect.FieldDescriptor
	value protoreflect.Value
}

// setFields returns the fields that are set, by number.
func setFields(m protoreflect.Message) []setField {
	var out []setField
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		out = append(out, setField{fd, v})
		return true
	})
	slices.SortFunc(out, func(a, b setField) int { return cmp.Compare(a.desc.Number(), b.desc.Number()) })
	return out
}

// message returns a message of an option as a constant. Its fields are added
// when all messages are complete.
func (c *converter) message(m protoreflect.Message) *schema.Value {
	v := &schema.Value{Kind: schema.StructValue}
	c.later = append(c.later, func() { c.fill(v, m) })
	return v
}

// fill gives v the fields of m, without those that the schema does not have.
func (c *converter) fill(v *schema.Value, m protoreflect.Message) {
	d := c.structs[m.Descriptor().FullName()]
	if d == nil {
		return
	}
	for _, f := range setFields(m) {
		if field := d.FieldByID(int32(f.desc.Number())); field != nil && !f.desc.IsExtension() {
			v.Fields = append(v.Fields, schema.FieldValue{Field: field, Value: c.value(f.desc, f.value)})
		}
	}
}

// value returns the value of a field as a constant.
func (c *converter) value(fd protoreflect.FieldDescriptor, v protoreflect.Value) *schema.Value {
	switch {
	case fd.IsMap():
		out := &schema.Value{Kind: schema.MapValue}
		v.Map().Range(func(k protoreflect.MapKey, e protoreflect.Value) bool {
			out.Map = append(out.Map, schema.MapEntry{Key: c.scalar(fd.MapKey(), k.Value()), Value: c.scalar(fd.MapValue(), e)})
			return true
		})
		slices.SortFunc(out.Map, func(a, b schema.MapEntry) int {
			return cmp.Or(cmp.Compare(a.Key.String, b.Key.String), cmp.Compare(a.Key.Int, b.Key.Int), compareBool(a.Key.Bool, b.Key.Bool))
		})
		return out
	case fd.IsList():
		out := &schema.Value{Kind: schema.ListValue}
		for i := range v.List().Len() {
			out.List = append(out.List, c.scalar(fd, v.List().Get(i)))
		}
		return out
	}
	return c.scalar(fd, v)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// scalar returns one value as a constant.
func (c *converter) scalar(fd protoreflect.FieldDescriptor, v protoreflect.Value) *schema.Value {
	switch x := v.Interface().(type) {
	case bool:
		return &schema.Value{Kind: schema.BoolValue, Bool: x}
	case int32:
		return &schema.Value{Kind: schema.IntValue, Int: int64(x)}
	case int64:
		return &schema.Value{Kind: schema.IntValue, Int: x}
	case uint32:
		return &schema.Value{Kind: schema.IntValue, Int: int64(x)}
	case uint64:
		return &schema.Value{Kind: schema.IntValue, Int: int64(x)}
	case float32:
		return &schema.Value{Kind: schema.FloatValue, Float: float64(x)}
	case float64:
		return &schema.Value{Kind: schema.FloatValue, Float: x}
	case string:
		return &schema.Value{Kind: schema.StringValue, String: x}
	case []byte:
		return &schema.Value{Kind: schema.StringValue, String: string(x)}
	case protoreflect.EnumNumber:
		out := &schema.Value{Kind: schema.EnumeratorValue, Int: int64(x)}
		if e := c.enums[fd.Enum().FullName()]; e != nil {
			out.Enumerator = e.ByValue(int64(x))
		}
		return out
	case protoreflect.Message:
		return c.message(x)
	}
	return nil
}

// defaultOf returns the declared default of a proto2 field, or nil.
func (c *converter) defaultOf(fd protoreflect.FieldDescriptor) *schema.Value {
	if !fd.HasDefault() {
		return nil
	}
	v := c.scalar(fd, fd.Default())
	if e := fd.DefaultEnumValue(); e != nil { // several names may have one number
		v.Enumerator = c.enums[fd.Enum().FullName()].ByName(string(e.Name()))
	}
	return v
}
