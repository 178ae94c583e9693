package transcode_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file builds the schemas that the tests use.

var (
	tBool   = schema.Basic(schema.Bool)
	tI8     = schema.Basic(schema.I8)
	tI16    = schema.Basic(schema.I16)
	tI32    = schema.Basic(schema.I32)
	tI64    = schema.Basic(schema.I64)
	tFloat  = schema.Basic(schema.Float)
	tDouble = schema.Basic(schema.Double)
	tString = schema.Basic(schema.String)
	tBinary = schema.Basic(schema.Binary)
	tUUID   = schema.Basic(schema.UUID)
)

func field(id int32, name string, t *schema.Type) *schema.Field {
	return schema.NewField(schema.FieldSpec{ID: id, Name: name, Type: t})
}

func required(id int32, name string, t *schema.Type) *schema.Field {
	return schema.NewField(schema.FieldSpec{ID: id, Name: name, Type: t, Requiredness: schema.Required})
}

func optional(id int32, name string, t *schema.Type) *schema.Field {
	return schema.NewField(schema.FieldSpec{ID: id, Name: name, Type: t, Requiredness: schema.Optional})
}

func structOf(name string, fields ...*schema.Field) *schema.StructDef {
	return flavored(schema.PlainStruct, name, fields...)
}

func flavored(f schema.Flavor, name string, fields ...*schema.Field) *schema.StructDef {
	d := schema.NewStruct(schema.DeclSpec{Name: name}, f)
	d.Complete(fields)
	return d
}

// holding returns a struct whose only field is v of type t.
func holding(t *schema.Type) *schema.StructDef { return structOf("Holder", field(1, "v", t)) }

var color = schema.NewEnum(schema.DeclSpec{Name: "Color"}, []*schema.EnumValue{
	{Name: "RED", Value: 1}, {Name: "GREEN", Value: 2}, {Name: "CRIMSON", Value: 1},
})

func converter(t testing.TB, d *schema.StructDef, opts ...transcode.Option) *transcode.Converter {
	t.Helper()
	c, err := transcode.New(d, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
