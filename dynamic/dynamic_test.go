package dynamic_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds what paths, reads, iterators and conversions do, case by case.

var color = schema.NewEnum(schema.DeclSpec{Name: "Color"}, []*schema.EnumValue{{Name: "RED", Value: 1}, {Name: "BLUE", Value: 2}})

// shop has a map with every kind of key, and a field of every other kind.
var shop = structOf("Shop",
	field(1, "open", tBool), field(2, "i8", tI8), field(3, "i16", tI16), field(4, "i32", tI32), field(5, "i64", tI64),
	field(6, "float", schema.Basic(schema.Float)), field(7, "double", tDouble), field(8, "name", tString), field(9, "logo", tBinary),
	field(10, "uuid", tUUID), field(11, "color", color.Type()), field(12, "list", schema.ListOf(tI16)), field(13, "set", schema.SetOf(tString)),
	field(14, "point", point.Type()), field(15, "points", schema.ListOf(point.Type())),
	field(20, "byString", schema.MapOf(tString, tI32)), field(21, "byInt", schema.MapOf(tI64, tString)),
	field(22, "byBool", schema.MapOf(tBool, tI8)), field(23, "byDouble", schema.MapOf(tDouble, tI8)),
	field(24, "byColor", schema.MapOf(color.Type(), tI8)), field(25, "byBinary", schema.MapOf(tBinary, tI8)),
	field(26, "byUUID", schema.MapOf(tUUID, tI8)), field(27, "byPoint", schema.MapOf(point.Type(), tString)),
	field(28, "byPoints", schema.MapOf(tI8, schema.ListOf(point.Type()))), field(-3, "odd", tI32), field(5000, "far", tI32))

var point = structOf("Point", field(1, "x", tI32), field(2, "y", tI32))

// of encodes a value of the corpus's notation.
func of(t testing.TB, typ *schema.Type, text string) dynamic.Value {
	t.Helper()
	v, err := conform.Parse(typ, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return dynamic.NewValue(typ, binary(typ, v))
}

// shown is a value in the corpus's notation.
func shown(t testing.TB, v dynamic.Value) string {
	t.Helper()
	if !v.Exists() {
		return "nothing"
	}
	holder := structOf("Holder", field(1, "v", v.Type()))
	b := append(thriftwire.AppendField(nil, v.WireType(), 1), v.Raw()...)
	got, n, err := conform.Decode(conform.Binary, holder.Type(), append(b, 0), conform.Rules{Strict: true})
	if err != nil || n != len(b)+1 {
		t.Fatalf("%x: %v", v.Raw(), err)
	}
	text := conform.Format(holder.Type(), got)
	return strings.TrimSuffix(strings.TrimPrefix(text, "{v: "), "}")
}

func checkFault(t *testing.T, what string, err error, code diag.Code, offset int, path string) {
	t.Helper()
	var f *diag.Fault
	if !errors.As(err, &f) {
		t.Errorf("%s: the error is %v, want code %s", what, err, code)
		return
	}
	if f.Code != code || f.Offset != offset || f.Path() != path {
		t.Errorf("%s: code %s, offset %d, path %q; want %s, %d, %q (%v)", what, f.Code, f.Offset, f.Path(), code, offset, path, err)
	}
}

// get follows the text of a path in all ways and insists on one answer.
func get(t *testing.T, v dynamic.Value, text string) (dynamic.Value, error) {
	t.Helper()
	steps, err := dynamic.ParsePath(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	one, err1 := v.Get(steps...)
	if err1 != nil {
		return one, err1
	}
	path, err := dynamic.Compile(v.Type(), steps...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	two, err2 := path.Get(v.Node)
	set, err := dynamic.CompileAll(v.Type(), steps)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	three := make([]dynamic.Value, 1)
	err3 := set.Get(v.Node, three)
	if err2 != nil || err3 != nil || !bytes.Equal(one.Raw(), two.Raw()) || !bytes.Equal(one.Raw(), three[0].Raw()) || one.Type() != two.Type() || one.Type() != three[0].Type() {
		t.Errorf("%s: %x, %x (%v) and %x (%v)", text, one.Raw(), two.Raw(), err2, three[0].Raw(), err3)
	}
	return one, nil
}

func TestAPathOfEveryKindLeadsToItsPart(t *testing.T) {
	v := of(t, shop.Type(), `{open: true, i8: -8, i64: 5, name: "n", logo: x'00ff', color: BLUE, list: [1, -2, 3], set: ["a", "b"],
		point: {x: 1, y: 2}, points: [{}, {x: 7}], byString: {"a": 1, "": 2, "é": 3}, byInt: {-1: "m", 9223372036854775807: "b"},
		byBool: {true: 1, false: 2}, byDouble: {1.5: 1, 2: 2, inf: 3}, byColor: {RED: 4}, byBinary: {x'00': 5},
		byUUID: {"6ba7b810-9dad-11d1-80b4-00c04fd430c8": 6}, byPoint: {{x: 1}: "p"}, byPoints: {3: [{y: 4}]}, odd: -3, far: 5000}`)
	for text, want := range map[string]string{
		"open": "true", "2": "-8", "i64": "5", "name": `"n"`, "logo": "x'00ff'", "color": "BLUE", "-3": "-3", "odd": "-3", "5000": "5000",
		"list[0]": "1", "list[2]": "3", "list[3]": "nothing", "list[-1]": "nothing", "set[1]": `"b"`, "list[$]": "nothing", "list[^1]": "nothing",
		"point": "{x: 1, y: 2}", "point.y": "2", "14.2": "2", "points[1].x": "7", "points[0].x": "nothing",
		`byString["a"]`: "1", `byString[""]`: "2", `byString["é"]`: "3", `byString["b"]`: "nothing",
		"byInt[-1]": `"m"`, "byInt[9223372036854775807]": `"b"`, "byInt[0]": "nothing",
		"byBool[true]": "1", "byBool[false]": "2", "byDouble[1.5]": "1", "byDouble[2.0]": "2", "byDouble[+Inf]": "3", "byDouble[-0.0]": "nothing",
		"byColor[1]": "4", `byColor["RED"]`: "4", `byColor["BLUE"]`: "nothing", `byBinary["\x00"]`: "5",
		`byUUID["k\xa7\xb8\x10\x9d\xad\x11р\x80\xb4\x00\xc0O\xd40"]`: "nothing",
		"byPoint[#12:0800010000000100]":                              `"p"`, "byPoint[#12:00]": "nothing", "byPoints[3][0].y": "4", "byPoints[4][0].y": "nothing",
		"": shown(t, v), "i16": "nothing", "byPoint": `{{x: 1}: "p"}`,
	} {
		if text == `byUUID["k\xa7\xb8\x10\x9d\xad\x11р\x80\xb4\x00\xc0O\xd40"]` {
			continue // 17 bytes cannot be the key of a uuid; see the faults
		}
		part, err := get(t, v, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := shown(t, part); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	uuid := []byte("\x6b\xa7\xb8\x10\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8")
	if n, err := v.Get(dynamic.Name("byUUID"), dynamic.BinaryKey(uuid)); err != nil || shown(t, n) != "6" {
		t.Errorf("by uuid: %v, %v", n, err)
	}
}

func TestAStepThatTheSchemaDoesNotHaveIsAFaultThatNamesItsPlace(t *testing.T) {
	v := of(t, shop.Type(), `{byInt: {1: "a"}}`)
	for text, want := range map[string]struct {
		code diag.Code
		path string
	}{
		"none": {diag.UnknownField, ""}, "99": {diag.UnknownField, ""}, "point.z": {diag.UnknownField, "point"},
		"points[0].z": {diag.UnknownField, "points[0]"}, "name[0]": {diag.TypeMismatch, "name"}, "name.x": {diag.TypeMismatch, "name"},
		"list.x": {diag.TypeMismatch, "list"}, `list["a"]`: {diag.TypeMismatch, "list"}, `byInt["a"]`: {diag.TypeMismatch, "byInt"},
		"[0]": {diag.TypeMismatch, ""}, "byBool[1]": {diag.TypeMismatch, "byBool"}, "points[1][1]": {diag.TypeMismatch, "points[1]"},
		`byColor["GREEN"]`: {diag.TypeMismatch, "byColor"}, `byUUID["short"]`: {diag.TypeMismatch, "byUUID"}, "byPoints[300]": {diag.TypeMismatch, "byPoints"},
		"byPoint[#11:00]": {diag.TypeMismatch, "byPoint"}, "byString[$]": {diag.TypeMismatch, "byString"},
	} {
		steps, err := dynamic.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = v.Get(steps...)
		checkFault(t, "Get "+text, err, want.code, -1, want.path)
		_, err = dynamic.Compile(shop.Type(), steps...)
		checkFault(t, "Compile "+text, err, want.code, -1, want.path)
		_, err = dynamic.CompileAll(shop.Type(), nil, steps)
		checkFault(t, "CompileAll "+text, err, want.code, -1, want.path)
	}
	_, err := v.Node.Get(dynamic.Name("byInt"))
	checkFault(t, "a name without a schema", err, diag.TypeMismatch, 0, "byInt")
	_, err = dynamic.CompileAll(nil, []dynamic.Step{dynamic.Name("byInt")})
	checkFault(t, "a name without a schema", err, diag.Unsupported, -1, "")
	_, err = v.Get(dynamic.Step{})
	checkFault(t, "the zero step", err, diag.TypeMismatch, -1, "")
}

func TestAPathCompiledWithoutASchemaLeadsByTheMessage(t *testing.T) {
	n := of(t, shop.Type(), `{list: [1, 2]}`).Node
	path, err := dynamic.Compile(nil, dynamic.Field(12), dynamic.Index(1))
	if err != nil {
		t.Fatal(err)
	}
	v, err := path.Get(n)
	if i, err2 := v.Int(); err != nil || err2 != nil || i != 2 || v.Type() != nil {
		t.Errorf("%d, %v, %v", i, err, err2)
	}
	out, err := path.AppendSet(nil, n, dynamic.NewI16(3))
	if err != nil || shown(t, dynamic.NewValue(shop.Type(), out)) != `{list: [1, 3]}` {
		t.Errorf("%x, %v", out, err)
	}
	for _, wrong := range []dynamic.Node{{}, dynamic.NewI16(1)} {
		if _, err := path.Get(wrong); err == nil {
			t.Errorf("%v has a field", wrong)
		}
		if _, err := path.AppendSet(nil, wrong, dynamic.NewI16(3)); err == nil {
			t.Errorf("%v has a field", wrong)
		}
	}
	typed, err := dynamic.Compile(shop.Type(), dynamic.Field(12))
	if err != nil {
		t.Fatal(err)
	}
	_, err = typed.Get(dynamic.NewI16(1))
	checkFault(t, "a number for a struct", err, diag.TypeMismatch, 0, "")
}

func TestTextThatIsNoPathIsRefused(t *testing.T) {
	for text, at := range map[string]int{
		".a": 0, "a.": 2, "a..b": 2, "a[": 2, "a[]": 2, "a[x]": 2, `a["b]`: 2, `a["b"`: 2, "a[0]b": 4, "a b": 1, "3000000000": 0, "a[^-1]": 2, "a[#1]x": 5, "[#300:00]": 1, "-": 0,
	} {
		if steps, err := dynamic.ParsePath(text); err == nil {
			t.Errorf("%q is a path: %v", text, steps)
		} else if f := err.(*diag.Fault); f.Code != diag.Syntax || f.Offset != at {
			t.Errorf("%q: %v, want offset %d", text, err, at)
		}
	}
}

func TestTypedReadsReturnWhatIsThereOrSayWhatIs(t *testing.T) {
	v := of(t, shop.Type(), `{open: true, i8: -8, i16: -16, i32: -32, i64: -64, float: 0.5, double: 0.25, name: "n", logo: x'00ff', color: BLUE, list: [1, 2], uuid: "00000000-0000-0000-0000-000000000001", byString: {"a": 1}}`)
	part := func(name string) dynamic.Value {
		p, err := v.Get(dynamic.Name(name))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if b, err := part("open").Bool(); !b || err != nil {
		t.Error(b, err)
	}
	for name, want := range map[string]int64{"i8": -8, "i16": -16, "i32": -32, "i64": -64, "color": 2} {
		if n, err := part(name).Int(); n != want || err != nil {
			t.Error(name, n, err)
		}
	}
	for name, want := range map[string]float64{"float": 0.5, "double": 0.25} {
		if f, err := part(name).Float(); f != want || err != nil {
			t.Error(name, f, err)
		}
	}
	for name, want := range map[string]string{"name": "n", "logo": "\x00\xff"} {
		if s, err := part(name).Text(); s != want || err != nil {
			t.Error(name, s, err)
		}
	}
	for name, want := range map[string]int{"name": 1, "logo": 2, "list": 2, "byString": 1} {
		if n, err := part(name).Len(); n != want || err != nil {
			t.Error(name, n, err)
		}
	}
	if u, err := part("uuid").UUID(); u[15] != 1 || err != nil {
		t.Error(u, err)
	}
	if s, err := part("color").EnumName(); s != "BLUE" || err != nil {
		t.Error(s, err)
	}
	_, err := part("name").Int()
	checkFault(t, "a string as a number", err, diag.TypeMismatch, 0, "")
	_, err = part("i32").EnumName()
	checkFault(t, "a number as an enum", err, diag.TypeMismatch, 0, "")
	_, err = part("far").Int()
	checkFault(t, "nothing as a number", err, diag.NotFound, -1, "")
	_, err = dynamic.NewNode(thriftwire.I64, []byte{1}).Int()
	checkFault(t, "half a number", err, diag.UnexpectedEOF, 0, "")
	if err := dynamic.NewNode(thriftwire.I8, []byte{1, 2}).Check(); diag.CodeOf(err) != diag.TrailingData {
		t.Error(err)
	}
}

func TestIteratorsVisitFieldsElementsAndEntriesInOrder(t *testing.T) {
	v := of(t, shop.Type(), `{open: true, list: [5, 6], byString: {"a": 1, "b": 2}}`)
	v = dynamic.NewValue(shop.Type(), append([]byte("\x03\x00\x63_"), v.Raw()...)) // field 99 is unknown
	var seen []string
	fields := v.Iterate()
	for fields.Next() {
		name := "unknown"
		if fields.Field() != nil {
			name = fields.Field().Name()
		}
		seen = append(seen, name)
		if fields.Value().WireType() == thriftwire.Bool || fields.Value().Type() == nil {
			continue
		}
		parts := fields.Value().Iterate()
		for parts.Next() {
			seen = append(seen, shown(t, parts.Value()))
			if parts.Key().Exists() {
				seen = append(seen, shown(t, parts.Key()))
			}
		}
		if parts.Err() != nil || parts.Next() {
			t.Error(parts.Err())
		}
	}
	if got := strings.Join(seen, " "); fields.Err() != nil || fields.Next() || got != `unknown open list 5 6 byString 1 "a" 2 "b"` {
		t.Errorf("%s, %v", got, fields.Err())
	}
	name, _ := v.Get(dynamic.Name("open"))
	it := name.Iterate()
	if it.Next() {
		t.Error("a bool has parts")
	}
	checkFault(t, "parts of a bool", it.Err(), diag.TypeMismatch, 0, "")
	cut := dynamic.NewNode(thriftwire.List, []byte("\x08\x00\x00\x00\x01abc")).Iterate()
	if cut.Next() {
		t.Error("a list that cannot be has parts")
	}
	checkFault(t, "a list that cannot be", cut.Err(), diag.UnexpectedEOF, 0, "")
}

func TestGoValuesBecomeMessagesOrAFaultWithTheirPlace(t *testing.T) {
	got, err := dynamic.AppendAny([]byte("kept"), shop.Type(), map[string]any{
		"open": true, "i8": 1, "double": 2, "name": []byte("n"), "color": "BLUE", "list": []any{int64(3)}, "set": []string{"s"},
		"byString": map[string]any{"a": uint8(4)}, "byPoint": []dynamic.Entry{{Key: map[int16]any{1: 5}, Value: "p"}}, "point": nil,
		"i64": dynamic.NewI64(6),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{open: true, i8: 1, i64: 6, double: 2, name: "n", color: BLUE, list: [3], set: ["s"], byString: {"a": 4}, byPoint: {{x: 5}: "p"}}`
	if text := shown(t, dynamic.NewValue(shop.Type(), got[4:])); text != want {
		t.Error(text)
	}
	type object = map[string]any
	must := structOf("Must", schema.NewField(schema.FieldSpec{ID: 1, Name: "id", Type: tI32, Requiredness: schema.Required}))
	for _, c := range []struct {
		typ  *schema.Type
		in   any
		code diag.Code
		path string
	}{
		{shop.Type(), object{"i8": 128}, diag.OutOfRange, "i8"},
		{shop.Type(), object{"i64": uint64(math.MaxUint64)}, diag.OutOfRange, "i64"},
		{shop.Type(), object{"double": int64(math.MaxInt64)}, diag.OutOfRange, "double"},
		{shop.Type(), object{"float": 1e300}, diag.OutOfRange, "float"},
		{shop.Type(), object{"i8": 1.5}, diag.InvalidValue, "i8"},
		{shop.Type(), object{"color": "GREEN"}, diag.UnknownEnum, "color"},
		{shop.Type(), object{"none": 1}, diag.UnknownField, ""},
		{shop.Type(), object{"none": nil}, diag.UnknownField, ""},
		{shop.Type(), map[int16]any{99: 1}, diag.UnknownField, ""},
		{shop.Type(), object{"points": []any{object{"x": "1"}}}, diag.InvalidValue, "points[0].x"},
		{shop.Type(), object{"byString": map[any]any{"k": "v"}}, diag.InvalidValue, `byString["k"]`},
		{shop.Type(), object{"byInt": map[any]any{"k": "v"}}, diag.InvalidValue, "byInt[key]"},
		{shop.Type(), object{"i64": dynamic.NewI32(1)}, diag.InvalidValue, "i64"},
		{must.Type(), object{}, diag.MissingRequired, ""},
		{must.Type(), nil, diag.InvalidValue, ""},
	} {
		out, err := dynamic.AppendAny([]byte("kept"), c.typ, c.in)
		checkFault(t, "of a Go value", err, c.code, -1, c.path)
		if string(out) != "kept" {
			t.Errorf("%v left %q", c.in, out)
		}
	}
}
