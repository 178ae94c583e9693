package schema_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/schema"
)

func field(id int32, name string, t *schema.Type) *schema.Field {
	return schema.NewField(schema.FieldSpec{ID: id, Name: name, Type: t})
}

func TestFixedStructsAreLaidOutByAlignment(t *testing.T) {
	small := schema.NewFixedStruct(schema.DeclSpec{Name: "Small"}, 1)
	small.Complete([]*schema.Field{field(0, "a", schema.Basic(schema.I16)), field(1, "b", schema.Basic(schema.I8))})
	color := schema.NewEnumOf(schema.DeclSpec{Name: "Color"}, nil, schema.U8, false)
	s := schema.NewFixedStruct(schema.DeclSpec{Name: "S"}, 16)
	s.Complete([]*schema.Field{
		field(0, "tag", color.Type()),
		field(1, "wide", schema.Basic(schema.Double)),
		field(2, "pair", schema.ArrayOf(small.Type(), 3)),
		field(3, "flag", schema.Basic(schema.Bool)),
	})
	if !s.Fixed() || small.Size() != 4 || small.Align() != 2 || s.Size() != 32 || s.Align() != 16 {
		t.Errorf("small %d aligned to %d, S %d aligned to %d", small.Size(), small.Align(), s.Size(), s.Align())
	}
	want := []struct{ offset, padding int }{{0, 7}, {8, 0}, {16, 0}, {28, 3}}
	for i, f := range s.Fields() {
		if f.Offset() != want[i].offset || f.Padding() != want[i].padding {
			t.Errorf("%s at %d, then %d bytes of padding", f.Name(), f.Offset(), f.Padding())
		}
	}
	if got := s.FieldByName("pair").Type().String(); got != "array<Small, 3>" {
		t.Errorf("the array is %s", got)
	}
}

func TestOnlyTypesOfOneSizeHaveIt(t *testing.T) {
	table := schema.NewStruct(schema.DeclSpec{Name: "T"}, schema.PlainStruct)
	for _, typ := range []*schema.Type{schema.Basic(schema.String), table.Type(), schema.ListOf(schema.Basic(schema.I8)), schema.ArrayOf(table.Type(), 2)} {
		if typ.InlineSize() != 0 || typ.InlineAlign() != 0 {
			t.Errorf("%s has the size %d", typ, typ.InlineSize())
		}
	}
	if table.Fixed() || table.Size() != 0 || table.Align() != 0 || table.Tag() != nil {
		t.Error("a table has a layout")
	}
}

func TestTaggedUnionsHaveTheirTag(t *testing.T) {
	u := schema.NewTaggedUnion(schema.DeclSpec{Name: "U"}, schema.Basic(schema.U8))
	u.Complete([]*schema.Field{field(1, "text", schema.Basic(schema.String))})
	if u.Flavor() != schema.Union || u.Tag().Kind() != schema.U8 || u.FieldByID(1).Name() != "text" {
		t.Errorf("union %v with the tag %v", u.Flavor(), u.Tag())
	}
}

func TestEnumsHaveTheKindOfTheirNumbers(t *testing.T) {
	flags := schema.NewEnumOf(schema.DeclSpec{Name: "F"}, []*schema.EnumValue{{Name: "TOP", Value: -1 << 63}}, schema.U64, true)
	if flags.Base() != schema.U64 || !flags.Flags() || flags.Type().InlineSize() != 8 {
		t.Errorf("base %v, flags %t", flags.Base(), flags.Flags())
	}
	if plain := schema.NewEnum(schema.DeclSpec{Name: "E"}, nil); plain.Base() != schema.I32 || plain.Flags() {
		t.Errorf("base %v, flags %t", plain.Base(), plain.Flags())
	}
}

func TestAFileOfSeveralPackagesFindsFullNames(t *testing.T) {
	f := schema.NewFile("m.fbs")
	decl := func(pkg, name string) *schema.StructDef {
		return schema.NewStruct(schema.DeclSpec{Name: name, Package: pkg, File: f}, schema.PlainStruct)
	}
	first, second, bare, lone := decl("a.b", "Item"), decl("c", "Item"), decl("", "Thing"), decl("c", "Lone")
	f.Complete(schema.FileSpec{Structs: []*schema.StructDef{first, second, decl("a", "Thing"), bare, lone}, Root: second, Identifier: "ITEM", Extension: "itm"})
	if f.Struct("Item") != first || f.Struct("a.b.Item") != first || f.Struct("c.Item") != second || f.Struct("Thing") != bare || f.Struct("Lone") != lone {
		t.Error("a name finds another declaration")
	}
	if first.FullName() != "a.b.Item" || bare.FullName() != "Thing" || lone.Package() != "c" {
		t.Errorf("full names %s and %s", first.FullName(), bare.FullName())
	}
	if f.Root() != second || f.Identifier() != "ITEM" || f.Extension() != "itm" {
		t.Error("the file forgot what its buffers are")
	}
}

func TestFieldsSayWhatFlatBuffersAddsToThem(t *testing.T) {
	root := schema.NewStruct(schema.DeclSpec{Name: "T"}, schema.PlainStruct)
	f := schema.NewField(schema.FieldSpec{Name: "f", Type: schema.ListOf(schema.Basic(schema.U8)).WithEncoding(schema.Vector64), Deprecated: true, Key: true, Nested: root})
	if !f.Deprecated() || !f.Key() || f.Nested() != root || f.Type().Encoding().String() != "vector64" {
		t.Errorf("field %v", f)
	}
}
