package flatbuf_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/schema"
)

// monsterSchema is the schema of monsterLayout.
func monsterSchema() *schema.StructDef {
	basic := schema.Basic
	field := func(id int32, name string, t *schema.Type) *schema.Field {
		return schema.NewField(schema.FieldSpec{ID: id, Name: name, Type: t})
	}
	v := schema.NewFixedStruct(schema.DeclSpec{Name: "Vec"}, 1)
	v.Complete([]*schema.Field{field(0, "x", basic(schema.Double)), field(1, "y", basic(schema.Double)), field(2, "z", basic(schema.I32))})
	m := schema.NewStruct(schema.DeclSpec{Name: "Monster"}, schema.PlainStruct)
	u := schema.NewTaggedUnion(schema.DeclSpec{Name: "Any"}, basic(schema.U8))
	u.Complete([]*schema.Field{field(isVec, "vec", v.Type()), field(isMonster, "monster", m.Type()), field(isString, "string", basic(schema.String))})
	bytes := schema.ListOf(basic(schema.U8))
	m.Complete([]*schema.Field{
		field(slotFlag, "flag", basic(schema.Bool)),
		field(slotPos, "pos", v.Type()),
		field(slotMana, "mana", basic(schema.I16)),
		field(slotHP, "hp", basic(schema.I64)),
		schema.NewField(schema.FieldSpec{ID: slotName, Name: "name", Type: basic(schema.String), Requiredness: schema.Required}),
		field(slotFriends, "friends", schema.ListOf(m.Type())),
		field(slotInventory, "inventory", bytes),
		field(slotTags, "tags", schema.ListOf(basic(schema.String))),
		field(slotTest, "test", u.Type()),
		field(slotAnys, "anys", schema.ListOf(u.Type())),
		schema.NewField(schema.FieldSpec{ID: slotNested, Name: "nested", Type: bytes, Nested: m}),
		field(slotPath, "path", schema.ListOf(v.Type())),
		field(slotWide, "wide", schema.ListOf(basic(schema.U16)).WithEncoding(schema.Vector64)),
		field(slotEnemy, "enemy", m.Type()),
		schema.NewField(schema.FieldSpec{ID: slotWideNested, Name: "wide_nested", Type: bytes.WithEncoding(schema.Vector64), Nested: m}),
		schema.NewField(schema.FieldSpec{ID: slotEnemy + 10, Name: "old", Type: basic(schema.I32), Deprecated: true}),
	})
	return m
}

func TestLayoutOfASchema(t *testing.T) {
	got, err := flatbuf.LayoutOf(monsterSchema())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*got, monsterLayout) {
		t.Errorf("\n got %+v\nwant %+v", *got, monsterLayout)
	}
}

func TestFlexBuffersAreNoPlainBytes(t *testing.T) {
	s := schema.NewStruct(schema.DeclSpec{Name: "T"}, schema.PlainStruct)
	s.Complete([]*schema.Field{schema.NewField(schema.FieldSpec{
		ID: 3, Name: "f", Type: schema.ListOf(schema.Basic(schema.U8)), Flex: true,
	})})
	l, err := flatbuf.LayoutOf(s)
	if want := (flatbuf.FieldLayout{Name: "f", Slot: 3, Kind: flatbuf.FlexField}); err != nil || l.Tables[0].Fields[0] != want {
		t.Errorf("%v %+v", err, l)
	}
}

func TestRootsStandFirst(t *testing.T) {
	m := monsterSchema()
	outer := schema.NewStruct(schema.DeclSpec{Name: "Outer"}, schema.PlainStruct)
	outer.Complete([]*schema.Field{schema.NewField(schema.FieldSpec{ID: 0, Name: "m", Type: m.Type()})})
	other := schema.NewStruct(schema.DeclSpec{Name: "Other"}, schema.PlainStruct)
	other.Complete(nil)
	l, err := flatbuf.LayoutOf(outer, other)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, table := range l.Tables {
		names = append(names, table.Name)
	}
	if !slices.Equal(names, []string{"Outer", "Other", "Monster"}) {
		t.Errorf("%v", names)
	}
}

func TestOtherSchemasHaveNoLayout(t *testing.T) {
	for _, c := range []struct {
		typ  *schema.Type
		want string
	}{
		{schema.MapOf(schema.Basic(schema.I8), schema.Basic(schema.I8)), "T.f: FlatBuffers has no type map<i8, i8>"},
		{schema.ListOf(schema.ListOf(schema.Basic(schema.I8))), "T.f: FlatBuffers has no type list<i8>"},
		{schema.Basic(schema.UUID), "T.f: FlatBuffers has no type uuid"},
	} {
		s := schema.NewStruct(schema.DeclSpec{Name: "T"}, schema.PlainStruct)
		s.Complete([]*schema.Field{schema.NewField(schema.FieldSpec{ID: 0, Name: "f", Type: c.typ})})
		if _, err := flatbuf.LayoutOf(s); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	m := monsterSchema()
	if _, err := flatbuf.LayoutOf(m, m); err == nil {
		t.Error("a root twice: accepted")
	}
	if _, err := flatbuf.LayoutOf(m.FieldByName("pos").Type().Struct()); err == nil {
		t.Error("a struct for a root: accepted")
	}
}
