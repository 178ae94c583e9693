package schema_test

import (
	"slices"
	"testing"

	"github.com/thrum-rpc/thrum/schema"
)

func newStruct(name string, flavor schema.Flavor, fields ...schema.FieldSpec) *schema.StructDef {
	s := schema.NewStruct(schema.DeclSpec{Name: name}, flavor)
	list := make([]*schema.Field, len(fields))
	for i, f := range fields {
		list[i] = schema.NewField(f)
	}
	s.Complete(list)
	return s
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s did not panic", what)
		}
	}()
	f()
}

func TestTypesAreWrittenAsInThrift(t *testing.T) {
	item := newStruct("Item", schema.PlainStruct)
	color := schema.NewEnum(schema.DeclSpec{Name: "Color"}, nil)
	for want, typ := range map[string]*schema.Type{
		"void": schema.Basic(schema.Void), "bool": schema.Basic(schema.Bool), "uuid": schema.Basic(schema.UUID),
		"Item": item.Type(), "Color": color.Type(), "set<Color>": schema.SetOf(color.Type()),
		"map<string, list<Item>>": schema.MapOf(schema.Basic(schema.String), schema.ListOf(item.Type())),
	} {
		if got := typ.String(); got != want {
			t.Errorf("%s is written %q", want, got)
		}
	}
}

func TestATypeKnowsItsParts(t *testing.T) {
	item := newStruct("Item", schema.PlainStruct)
	m := schema.MapOf(schema.Basic(schema.I32), item.Type())
	if m.Kind() != schema.Map || m.Key().Kind() != schema.I32 || m.Elem().Struct() != item || m.Enum() != nil || m.Typedef() != nil {
		t.Errorf("the parts of %s are wrong", m)
	}
	if !m.Kind().IsContainer() || m.Kind().IsInteger() || !schema.I64.IsInteger() || schema.Bool.IsInteger() || schema.Struct.IsContainer() {
		t.Error("a kind is classed wrongly")
	}
	if schema.Kind(200).String() != "invalid" {
		t.Error("an unknown kind has a name")
	}
}

func TestBaseTypesAreShared(t *testing.T) {
	if a, b := schema.Basic(schema.I32), schema.Basic(schema.I32); a != b {
		t.Error("two uses of i32 differ")
	}
	for _, k := range []schema.Kind{schema.Invalid, schema.Enum, schema.List, schema.Struct, schema.Kind(200)} {
		mustPanic(t, "Basic of "+k.String(), func() { schema.Basic(k) })
	}
}

func TestATypedefIsItsTargetUnderAnotherName(t *testing.T) {
	id := schema.NewTypedef(schema.DeclSpec{Name: "Id", Annotations: schema.Annotations{{Name: "of", Value: "Id"}}})
	id.Complete(schema.Basic(schema.I64).WithAnnotations(schema.Annotations{{Name: "of", Value: "i64"}}))
	userID := schema.NewTypedef(schema.DeclSpec{Name: "UserId", Annotations: schema.Annotations{{Name: "of", Value: "UserId"}}})
	userID.Complete(id.Type())
	use := userID.Type().WithAnnotations(schema.Annotations{{Name: "of", Value: "use"}})

	if use.Kind() != schema.I64 || use.Typedef() != userID || use.String() != "i64" {
		t.Errorf("use is %s under %v", use, use.Typedef())
	}
	var order []string
	for _, a := range use.Annotations() {
		order = append(order, a.Value)
	}
	if want := []string{"use", "UserId", "Id", "i64"}; !slices.Equal(order, want) {
		t.Errorf("annotations come in the order %v, want %v", order, want)
	}
	if len(schema.Basic(schema.I64).Annotations()) != 0 || len(userID.Type().Annotations()) != 3 {
		t.Error("a use changed what it uses")
	}
	mustPanic(t, "completing a typedef twice", func() { id.Complete(schema.Basic(schema.I64)) })
}

func TestFieldsAreFoundByIDAndName(t *testing.T) {
	typ := schema.Basic(schema.I32)
	ids := []int32{1, 255, 256, 32767, -1, -32768, 0}
	specs := make([]schema.FieldSpec, len(ids))
	for i, id := range ids {
		specs[i] = schema.FieldSpec{ID: id, Name: string(rune('a' + i)), Type: typ}
	}
	s := newStruct("S", schema.PlainStruct, specs...)
	for i, id := range ids {
		f := s.FieldByID(id)
		if f == nil || f.ID() != id || f.Index() != i || f.Struct() != s || s.FieldByName(f.Name()) != f {
			t.Errorf("the field %d is found as %v", id, f)
		}
	}
	for _, id := range []int32{2, 254, 257, -2, 100000, -100000} {
		if f := s.FieldByID(id); f != nil {
			t.Errorf("the id %d finds %v", id, f)
		}
	}
	if s.FieldByName("zz") != nil {
		t.Error("a name that does not stand is found")
	}
	mustPanic(t, "completing a struct twice", func() { s.Complete(nil) })
}

func TestAFieldIsWrittenAsInThrift(t *testing.T) {
	s := newStruct("S", schema.PlainStruct,
		schema.FieldSpec{ID: 3, Name: "name", Type: schema.Basic(schema.String), Requiredness: schema.Optional},
		schema.FieldSpec{ID: 4, Name: "id", Type: schema.Basic(schema.I64)})
	for i, want := range []string{"3: optional string name", "4: i64 id"} {
		if got := s.Fields()[i].String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestStructsMayContainThemselves(t *testing.T) {
	node := schema.NewStruct(schema.DeclSpec{Name: "Node"}, schema.PlainStruct)
	node.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 1, Name: "next", Type: node.Type(), Requiredness: schema.Optional}),
		schema.NewField(schema.FieldSpec{ID: 2, Name: "all", Type: schema.ListOf(node.Type())}),
	})
	if node.FieldByID(1).Type().Struct() != node || node.FieldByID(2).Type().String() != "list<Node>" {
		t.Error("the cycle is not closed")
	}
}

func TestStructsHaveIdentity(t *testing.T) {
	a, b := newStruct("S", schema.PlainStruct), newStruct("S", schema.PlainStruct)
	if a.Type() == b.Type() {
		t.Error("two declarations are one")
	}
}

func TestTheFirstNameOfANumberIsItsName(t *testing.T) {
	e := schema.NewEnum(schema.DeclSpec{Name: "E"}, []*schema.EnumValue{{Name: "A", Value: 1}, {Name: "B", Value: 1}, {Name: "C", Value: -5}})
	if e.ByValue(1).Name != "A" || e.ByName("B").Value != 1 || e.ByValue(-5).Name != "C" {
		t.Error("a name or a number is not found")
	}
	if e.ByName("D") != nil || e.ByValue(2) != nil || len(e.Values()) != 3 || e.Type().Enum() != e {
		t.Error("the enum holds something else than was given")
	}
}

func method(name string, result ...schema.FieldSpec) *schema.Method {
	return schema.NewMethod(schema.MethodSpec{
		DeclSpec: schema.DeclSpec{Name: name},
		Args:     newStruct(name+"_args", schema.PlainStruct),
		Result:   newStruct(name+"_result", schema.PlainStruct, result...),
	})
}

func TestMethodsAreInherited(t *testing.T) {
	root, base, child := schema.NewService(schema.DeclSpec{Name: "Root"}), schema.NewService(schema.DeclSpec{Name: "Base"}), schema.NewService(schema.DeclSpec{Name: "Child"})
	root.Complete(nil, []*schema.Method{method("a")})
	base.Complete(root, []*schema.Method{method("b")})
	child.Complete(base, []*schema.Method{method("c"), method("d")})
	var names string
	for _, m := range child.AllMethods() {
		names += m.Name()
		if child.Method(m.Name()) != m {
			t.Errorf("%s is not found by its name", m.Name())
		}
	}
	if names != "abcd" || len(child.Methods()) != 2 || child.Extends() != base {
		t.Errorf("all methods are %q", names)
	}
	if child.Method("a").Service() != root || base.Method("c") != nil {
		t.Error("a method belongs to the wrong service")
	}
	if again := child.AllMethods(); len(again) != 4 || len(base.AllMethods()) != 2 {
		t.Error("asking for all methods changed something")
	}
	mustPanic(t, "completing a service twice", func() { root.Complete(nil, nil) })
}

func TestAMethodKnowsWhatItReturnsAndThrows(t *testing.T) {
	oops := newStruct("Oops", schema.Exception)
	success := schema.FieldSpec{ID: 0, Name: "success", Type: schema.Basic(schema.I32), Requiredness: schema.Optional}
	thrown := schema.FieldSpec{ID: 1, Name: "oops", Type: oops.Type(), Requiredness: schema.Optional}
	for _, c := range []struct {
		m       *schema.Method
		returns schema.Kind
		throws  int
	}{
		{method("a"), schema.Void, 0}, {method("b", success), schema.I32, 0},
		{method("c", success, thrown), schema.I32, 1}, {method("d", thrown), schema.Void, 1},
		{schema.NewMethod(schema.MethodSpec{Oneway: true}), schema.Void, 0},
	} {
		if c.m.Returns().Kind() != c.returns || len(c.m.Throws()) != c.throws {
			t.Errorf("%s returns %s and throws %d exceptions", c.m.Name(), c.m.Returns(), len(c.m.Throws()))
		}
	}
}

func TestAFileFindsWhatItDeclares(t *testing.T) {
	f := schema.NewFile("shop.thrift")
	item := newStruct("Item", schema.PlainStruct)
	color := schema.NewEnum(schema.DeclSpec{Name: "Color", File: f}, nil)
	id := schema.NewTypedef(schema.DeclSpec{Name: "Id"})
	id.Complete(schema.Basic(schema.I64))
	limit := schema.NewConst(schema.DeclSpec{Name: "LIMIT"}, schema.Basic(schema.I32))
	limit.Complete(&schema.Value{Kind: schema.IntValue, Int: 7})
	shop := schema.NewService(schema.DeclSpec{Name: "Shop"})
	shop.Complete(nil, nil)
	f.Complete(schema.FileSpec{
		Structs: []*schema.StructDef{item}, Enums: []*schema.EnumDef{color}, Typedefs: []*schema.Typedef{id},
		Consts: []*schema.Const{limit}, Services: []*schema.Service{shop},
	})
	if f.Struct("Item") != item || f.Enum("Color") != color || f.Typedef("Id") != id || f.Const("LIMIT") != limit || f.Service("Shop") != shop {
		t.Error("a declaration is not found")
	}
	if f.Struct("Color") != nil || f.Enum("Item") != nil || f.Typedef("LIMIT") != nil || f.Const("Shop") != nil || f.Service("Id") != nil {
		t.Error("a name is found as what it is not")
	}
	if color.File() != f || f.Path() != "shop.thrift" || f.Const("LIMIT").Value().Int != 7 {
		t.Error("a declaration lost something")
	}
	mustPanic(t, "completing a file twice", func() { f.Complete(schema.FileSpec{}) })
	mustPanic(t, "completing a const twice", func() { limit.Complete(&schema.Value{}) })
}

func TestANamespaceForALanguageComesBeforeTheGeneralOne(t *testing.T) {
	f := schema.NewFile("f")
	f.Complete(schema.FileSpec{Namespaces: []schema.Namespace{{Language: "*", Name: "all"}, {Language: "go", Name: "mine"}}})
	if f.Namespace("go") != "mine" || f.Namespace("java") != "all" {
		t.Errorf("go: %q, java: %q", f.Namespace("go"), f.Namespace("java"))
	}
	empty := schema.NewFile("g")
	empty.Complete(schema.FileSpec{})
	if empty.Namespace("go") != "" {
		t.Error("a namespace came from nowhere")
	}
}

func TestAnnotationsKeepTheirOrderAndMayRepeat(t *testing.T) {
	a := schema.Annotations{{Name: "x", Value: "1", HasValue: true}, {Name: "x", Value: "2", HasValue: true}, {Name: "bare"}}
	if a.Value("x") != "1" || !a.Has("bare") || a.Has("y") || a.Value("y") != "" {
		t.Error("an annotation is found wrongly")
	}
	if bare, ok := a.Get("bare"); !ok || bare.HasValue {
		t.Error("a bare annotation has a value")
	}
}

func TestUnsignedIntegersAreKindsOfTheirOwn(t *testing.T) {
	for k, name := range map[schema.Kind]string{schema.U8: "u8", schema.U16: "u16", schema.U32: "u32", schema.U64: "u64"} {
		if !k.IsInteger() || !k.IsUnsigned() || k.IsContainer() || schema.Basic(k).String() != name {
			t.Errorf("%s is classed wrongly", name)
		}
	}
	if schema.I64.IsUnsigned() || schema.Float.IsUnsigned() || schema.Float.IsInteger() {
		t.Error("a kind is taken for unsigned")
	}
}

func TestAnEncodingBelongsToAUse(t *testing.T) {
	plain := schema.Basic(schema.I32)
	zigzag := plain.WithEncoding(schema.ZigZag)
	if zigzag.Encoding() != schema.ZigZag || zigzag.Kind() != schema.I32 || plain.Encoding() != schema.StandardEncoding {
		t.Error("the use changed what it uses, or has no encoding")
	}
	if plain.WithEncoding(schema.StandardEncoding) != plain {
		t.Error("the same use is made twice")
	}
	if schema.Delimited.String() != "delimited" || schema.Encoding(9).String() != "invalid" {
		t.Error("an encoding is named wrongly")
	}
}

func TestOneofsGatherTheirFields(t *testing.T) {
	typ := schema.Basic(schema.I32)
	second, first := schema.NewOneof(schema.DeclSpec{Name: "second"}), schema.NewOneof(schema.DeclSpec{Name: "first"})
	s := newStruct("S", schema.PlainStruct,
		schema.FieldSpec{ID: 1, Name: "a", Type: typ, Oneof: first}, schema.FieldSpec{ID: 2, Name: "b", Type: typ},
		schema.FieldSpec{ID: 3, Name: "c", Type: typ, Oneof: second}, schema.FieldSpec{ID: 4, Name: "d", Type: typ, Oneof: first})
	if !slices.Equal(s.Oneofs(), []*schema.Oneof{first, second}) || first.Struct() != s {
		t.Errorf("the oneofs are %v", s.Oneofs())
	}
	if !slices.Equal(first.Fields(), []*schema.Field{s.FieldByID(1), s.FieldByID(4)}) || s.FieldByID(2).Oneof() != nil {
		t.Error("a oneof holds other fields than it was given")
	}
	mustPanic(t, "a oneof in two structs", func() {
		newStruct("T", schema.PlainStruct, schema.FieldSpec{ID: 1, Name: "a", Type: typ, Oneof: first})
	})
}

func TestAFieldHasANameInJSON(t *testing.T) {
	for name, want := range map[string]string{"a": "a", "field_name": "fieldName", "_a_b__c_1_D": "ABC1D", "end_": "end", "": ""} {
		if got := schema.NewField(schema.FieldSpec{Name: name}).JSONName(); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	if got := schema.NewField(schema.FieldSpec{Name: "a_b", JSONName: "x_y"}).JSONName(); got != "x_y" {
		t.Errorf("a declared name becomes %q", got)
	}
}

func TestFullNamesHaveThePackage(t *testing.T) {
	f := schema.NewFile("f")
	decl := schema.DeclSpec{Name: "Outer.Inner", File: f}
	d, e, s := schema.NewStruct(decl, schema.PlainStruct), schema.NewClosedEnum(decl, nil), schema.NewService(decl)
	f.Complete(schema.FileSpec{Package: "shop.v1"})
	const want = "shop.v1.Outer.Inner"
	if d.FullName() != want || e.FullName() != want || s.FullName() != want {
		t.Errorf("the names are %s, %s and %s", d.FullName(), e.FullName(), s.FullName())
	}
	if alone := schema.NewEnum(schema.DeclSpec{Name: "E"}, nil); alone.FullName() != "E" || alone.Closed() || !e.Closed() {
		t.Error("an enum without a file has a package, or is closed")
	}
}

// Files may share what they include, and those of FlatBuffers include each other in circles.
func TestAFileHasEachOfItsIncludesOnce(t *testing.T) {
	a, b, c, d := schema.NewFile("a"), schema.NewFile("b"), schema.NewFile("c"), schema.NewFile("d")
	include := func(f *schema.File, files ...*schema.File) {
		var spec schema.FileSpec
		for _, i := range files {
			spec.Includes = append(spec.Includes, schema.Include{File: i})
		}
		f.Complete(spec)
	}
	include(a, b, c)
	include(b, d, a)
	include(c, b)
	include(d)
	if got, want := a.WithIncludes(), []*schema.File{a, b, c, d}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
