package transcode_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// This file turns Google's descriptors into schemas, so that Google's library
// and ours can be given the same message types.

// describe returns the schema of md.
func describe(md protoreflect.MessageDescriptor) *schema.StructDef {
	d := describer{files: map[string]*schema.File{}, structs: map[protoreflect.FullName]*schema.StructDef{}, enums: map[protoreflect.FullName]*schema.EnumDef{}}
	return d.message(md)
}

type describer struct {
	files   map[string]*schema.File
	structs map[protoreflect.FullName]*schema.StructDef
	enums   map[protoreflect.FullName]*schema.EnumDef
}

// spec names a declaration as it is called in its package.
func (d *describer) spec(x protoreflect.Descriptor) schema.DeclSpec {
	pkg := string(x.ParentFile().Package())
	f := d.files[pkg]
	if f == nil {
		f = schema.NewFile(x.ParentFile().Path())
		f.Complete(schema.FileSpec{Package: pkg})
		d.files[pkg] = f
	}
	name := string(x.FullName())
	if pkg != "" {
		name = name[len(pkg)+1:]
	}
	return schema.DeclSpec{Name: name, File: f}
}

func (d *describer) message(md protoreflect.MessageDescriptor) *schema.StructDef {
	if s := d.structs[md.FullName()]; s != nil {
		return s
	}
	s := schema.NewStruct(d.spec(md), schema.PlainStruct)
	d.structs[md.FullName()] = s
	oneofs := map[protoreflect.FullName]*schema.Oneof{}
	var fields []*schema.Field
	for i := range md.Fields().Len() {
		f := md.Fields().Get(i)
		spec := schema.FieldSpec{ID: int32(f.Number()), Name: string(f.Name()), Packed: f.IsPacked(), JSONName: f.JSONName()}
		switch {
		case f.IsMap():
			spec.Type = schema.MapOf(d.typ(f.MapKey()), d.typ(f.MapValue()))
		case f.IsList():
			spec.Type = schema.ListOf(d.typ(f))
		default:
			spec.Type = d.typ(f)
			if f.Cardinality() == protoreflect.Required {
				spec.Requiredness = schema.Required
			} else if f.HasPresence() {
				spec.Requiredness = schema.Optional
			}
			if f.HasDefault() {
				spec.Default = d.constant(f)
			}
		}
		if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
			if oneofs[o.FullName()] == nil {
				oneofs[o.FullName()] = schema.NewOneof(schema.DeclSpec{Name: string(o.Name())})
			}
			spec.Oneof = oneofs[o.FullName()]
		}
		fields = append(fields, schema.NewField(spec))
	}
	s.Complete(fields)
	return s
}

func (d *describer) typ(f protoreflect.FieldDescriptor) *schema.Type {
	basic := schema.Basic
	switch f.Kind() {
	case protoreflect.BoolKind:
		return basic(schema.Bool)
	case protoreflect.Int32Kind:
		return basic(schema.I32)
	case protoreflect.Sint32Kind:
		return basic(schema.I32).WithEncoding(schema.ZigZag)
	case protoreflect.Sfixed32Kind:
		return basic(schema.I32).WithEncoding(schema.Fixed)
	case protoreflect.Uint32Kind:
		return basic(schema.U32)
	case protoreflect.Fixed32Kind:
		return basic(schema.U32).WithEncoding(schema.Fixed)
	case protoreflect.Int64Kind:
		return basic(schema.I64)
	case protoreflect.Sint64Kind:
		return basic(schema.I64).WithEncoding(schema.ZigZag)
	case protoreflect.Sfixed64Kind:
		return basic(schema.I64).WithEncoding(schema.Fixed)
	case protoreflect.Uint64Kind:
		return basic(schema.U64)
	case protoreflect.Fixed64Kind:
		return basic(schema.U64).WithEncoding(schema.Fixed)
	case protoreflect.FloatKind:
		return basic(schema.Float)
	case protoreflect.DoubleKind:
		return basic(schema.Double)
	case protoreflect.StringKind:
		return basic(schema.String)
	case protoreflect.BytesKind:
		return basic(schema.Binary)
	case protoreflect.EnumKind:
		return d.enum(f.Enum()).Type()
	case protoreflect.GroupKind:
		return d.message(f.Message()).Type().WithEncoding(schema.Delimited)
	default:
		return d.message(f.Message()).Type()
	}
}

func (d *describer) enum(ed protoreflect.EnumDescriptor) *schema.EnumDef {
	if e := d.enums[ed.FullName()]; e != nil {
		return e
	}
	var values []*schema.EnumValue
	for i := range ed.Values().Len() {
		v := ed.Values().Get(i)
		values = append(values, &schema.EnumValue{Name: string(v.Name()), Value: int64(v.Number())})
	}
	e := schema.NewEnum(d.spec(ed), values)
	if ed.IsClosed() {
		e = schema.NewClosedEnum(d.spec(ed), values)
	}
	d.enums[ed.FullName()] = e
	return e
}

// constant returns the declared default of f.
func (d *describer) constant(f protoreflect.FieldDescriptor) *schema.Value {
	v := f.Default()
	switch f.Kind() {
	case protoreflect.BoolKind:
		return &schema.Value{Kind: schema.BoolValue, Bool: v.Bool()}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return &schema.Value{Kind: schema.FloatValue, Float: v.Float()}
	case protoreflect.StringKind:
		return &schema.Value{Kind: schema.StringValue, String: v.String()}
	case protoreflect.BytesKind:
		return &schema.Value{Kind: schema.StringValue, String: string(v.Bytes())}
	case protoreflect.EnumKind:
		return &schema.Value{Kind: schema.EnumeratorValue, Int: int64(v.Enum())}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return &schema.Value{Kind: schema.IntValue, Int: int64(v.Uint())}
	default:
		return &schema.Value{Kind: schema.IntValue, Int: v.Int()}
	}
}

func protobufConverter(t testing.TB, d *schema.StructDef, opts ...transcode.Option) *transcode.ProtobufConverter {
	t.Helper()
	c, err := transcode.NewProtobuf(d, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
