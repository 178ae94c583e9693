package dynamic_test

import (
	"bytes"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"pgregory.net/rapid"
)

// This file holds trimming by a smaller type and by a mask.

// shrinker makes smaller types by dropping random fields.
type shrinker struct {
	t    *rapid.T
	done map[*schema.StructDef]*schema.StructDef
}

func (s *shrinker) typ(t *schema.Type) *schema.Type {
	switch t.Kind() {
	case schema.Struct:
		return s.structure(t.Struct()).Type()
	case schema.List:
		return schema.ListOf(s.typ(t.Elem()))
	case schema.Set:
		return schema.SetOf(s.typ(t.Elem()))
	case schema.Map:
		return schema.MapOf(s.typ(t.Key()), s.typ(t.Elem()))
	default:
		return t
	}
}

func (s *shrinker) structure(d *schema.StructDef) *schema.StructDef {
	if small := s.done[d]; small != nil {
		return small
	}
	small := schema.NewStruct(schema.DeclSpec{Name: "Small" + d.Name()}, d.Flavor())
	s.done[d] = small
	var fields []*schema.Field
	for _, f := range d.Fields() {
		if rapid.Bool().Draw(s.t, "keep") {
			fields = append(fields, schema.NewField(schema.FieldSpec{ID: f.ID(), Name: f.Name(), Type: s.typ(f.Type()), Requiredness: f.Requiredness()}))
		}
	}
	small.Complete(fields)
	return small
}

// shrunk is the model's value without the fields that the smaller type lacks.
func shrunk(v *schema.Value, to *schema.Type) *schema.Value {
	out := *v
	out.List, out.Map, out.Fields = nil, nil, nil
	for _, e := range v.List {
		out.List = append(out.List, shrunk(e, to.Elem()))
	}
	for _, e := range v.Map {
		out.Map = append(out.Map, schema.MapEntry{Key: shrunk(e.Key, to.Key()), Value: shrunk(e.Value, to.Elem())})
	}
	for _, f := range v.Fields {
		if small := to.Struct().FieldByID(f.Field.ID()); small != nil {
			out.Fields = append(out.Fields, schema.FieldValue{Field: small, Value: shrunk(f.Value, small.Type())})
		}
	}
	return &out
}

func TestRandomMessagesAreTrimmedAsTheModelIs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		typ, model, b := randomMessage(rt)
		small := (&shrinker{rt, map[*schema.StructDef]*schema.StructDef{}}).typ(typ)
		trimmer, err := dynamic.NewTrimmer(typ, small)
		if err != nil {
			rt.Fatal(err)
		}
		want := append([]byte("kept"), binary(small, shrunk(model, small))...)
		got, n, err := trimmer.Append([]byte("kept"), append(b, "rest"...))
		if err != nil || n != len(b) || !bytes.Equal(got, want) {
			rt.Fatalf("%s\nbecame %x\nwant   %x (n %d of %d, %v)", conform.Format(typ, model), got, want, n, len(b), err)
		}
		damaged := conform.Damaged(rt, b)
		out, n, err := trimmer.Append(nil, damaged)
		if err != nil {
			checkIsFault(rt, err, len(damaged))
		} else if _, _, err := conform.Decode(conform.Binary, small, out, conform.Rules{Strict: true}); err != nil || len(out) > n {
			rt.Fatalf("%x was trimmed to %x: %v", damaged, out, err)
		}
	})
}

func TestTrimmingDropsWhatTheTypesDoNotKnow(t *testing.T) {
	v := of(t, simple.Type(), `{byteField: 1, i64Field: 2, doubleField: 3, stringField: "s", binaryField: x'00'}`)
	b := append([]byte("\x0c\x00\x63\x08\x00\x01\x00\x00\x00\x07\x00"), v.Raw()...)
	trimmer, err := dynamic.NewTrimmer(simple.Type(), partialSimple.Type())
	if err != nil {
		t.Fatal(err)
	}
	out, n, err := trimmer.Append(nil, b)
	if err != nil || n != len(b) || shown(t, dynamic.NewValue(partialSimple.Type(), out)) != `{byteField: 1, doubleField: 3, binaryField: x'00'}` {
		t.Errorf("%x, %d, %v", out, n, err)
	}
}

func TestPairsOfTypesThatCannotBeTrimmedAreRefused(t *testing.T) {
	big := structOf("Big", field(1, "a", tI32), field(2, "b", schema.MapOf(tString, schema.ListOf(point.Type()))))
	wrong := structOf("Point", field(2, "y", tI64))
	for _, c := range []struct {
		to   *schema.Type
		code diag.Code
		path string
	}{
		{structOf("Small", field(3, "c", tI32)).Type(), diag.UnknownField, "c"},
		{structOf("Small", field(1, "a", tI64)).Type(), diag.TypeMismatch, "a"},
		{structOf("Small", field(2, "b", schema.MapOf(tString, tI32))).Type(), diag.TypeMismatch, "b[value]"},
		{structOf("Small", field(2, "b", schema.MapOf(tI32, schema.ListOf(point.Type())))).Type(), diag.TypeMismatch, "b[key]"},
		{structOf("Small", field(2, "b", schema.MapOf(tString, schema.ListOf(wrong.Type())))).Type(), diag.TypeMismatch, "b[value][element].y"},
		{tI32, diag.Unsupported, ""},
	} {
		_, err := dynamic.NewTrimmer(big.Type(), c.to)
		checkFault(t, c.to.String(), err, c.code, -1, c.path)
	}
}

func TestARequiredFieldMustBeThereUnlessAllowed(t *testing.T) {
	var all, required []*schema.Field
	for i := range int32(70) {
		name := "f" + string(rune('0'+i))
		all = append(all, field(i*700-20000, name, tI8))
		required = append(required, schema.NewField(schema.FieldSpec{ID: i*700 - 20000, Name: name, Type: tI8, Requiredness: schema.Required}))
	}
	from, to := structOf("All", all...), structOf("Required", required...)
	b := []byte{}
	for i := range int16(70) {
		b = thriftwire.AppendI8(thriftwire.AppendField(b, thriftwire.I8, i*700-20000), int8(i))
	}
	trimmer, err := dynamic.NewTrimmer(from.Type(), to.Type())
	if err != nil {
		t.Fatal(err)
	}
	whole := thriftwire.AppendStop(b)
	if out, n, err := trimmer.Append(nil, whole); err != nil || n != len(whole) || !bytes.Equal(out, whole) {
		t.Errorf("%x, %v", out, err)
	}
	short := thriftwire.AppendStop(b[: len(b)-4 : len(b)-4])
	_, _, err = trimmer.Append(nil, short)
	checkFault(t, "without the last", err, diag.MissingRequired, len(short)-1, "")
	lenient, err := dynamic.NewTrimmer(from.Type(), to.Type(), dynamic.AllowMissing())
	if err != nil {
		t.Fatal(err)
	}
	if out, _, err := lenient.Append(nil, short); err != nil || !bytes.Equal(out, short) {
		t.Errorf("%x, %v", out, err)
	}
}

func TestAMaskKeepsWhatItNames(t *testing.T) {
	v := of(t, shop.Type(), `{open: true, name: "n", point: {x: 1, y: 2}, points: [{x: 1, y: 2}, {y: 4}], byString: {"a": 1}, byPoints: {1: [{x: 5, y: 6}]}, byPoint: {{x: 1, y: 2}: "p"}, odd: 7}`)
	for mask, want := range map[string]string{
		"":                           `{}`,
		"name":                       `{name: "n"}`,
		" name , 1,-3 ":              `{odd: 7, open: true, name: "n"}`,
		"point":                      `{point: {x: 1, y: 2}}`,
		"point.y":                    `{point: {y: 2}}`,
		"point(y)":                   `{point: {y: 2}}`,
		"point()":                    `{point: {}}`,
		"points(x),name":             `{name: "n", points: [{x: 1}, {}]}`,
		"points.y,points.x":          `{points: [{x: 1, y: 2}, {y: 4}]}`,
		"points(x),points":           `{points: [{x: 1, y: 2}, {y: 4}]}`,
		"points,points(x)":           `{points: [{x: 1, y: 2}, {y: 4}]}`,
		"byPoints(x),byString,point": `{point: {x: 1, y: 2}, byString: {"a": 1}, byPoints: {1: [{x: 5}]}}`,
		"byPoint":                    `{byPoint: {{x: 1, y: 2}: "p"}}`,
		"i8":                         `{}`,
	} {
		trimmer, err := dynamic.NewMask(shop.Type(), mask)
		if err != nil {
			t.Errorf("%q: %v", mask, err)
			continue
		}
		out, n, err := trimmer.Append(nil, v.Raw())
		if err != nil || n != len(v.Raw()) {
			t.Errorf("%q: %v", mask, err)
		} else if got := shown(t, dynamic.NewValue(shop.Type(), out)); got != want {
			t.Errorf("%q: %s, want %s", mask, got, want)
		}
	}
}

func TestTextThatIsNoMaskIsRefused(t *testing.T) {
	for _, c := range []struct {
		mask   string
		code   diag.Code
		offset int
		path   string
	}{
		{",", diag.Syntax, 0, ""}, {"name,", diag.Syntax, 5, ""}, {"point(", diag.Syntax, 6, ""}, {"point(x", diag.Syntax, 7, ""},
		{"point(x))", diag.Syntax, 8, ""}, {"point x", diag.Syntax, 6, ""}, {"point.", diag.Syntax, 6, ""}, {"point.(x)", diag.Syntax, 6, ""},
		{"none", diag.UnknownField, 0, ""}, {"point.z", diag.UnknownField, 6, "point"}, {"points(x, z)", diag.UnknownField, 10, "points"},
		{"name.x", diag.TypeMismatch, 5, "name"}, {"name()", diag.TypeMismatch, 5, "name"}, {"byString(x)", diag.TypeMismatch, 9, "byString"}, {"byPoint(x)", diag.TypeMismatch, 8, "byPoint"},
	} {
		_, err := dynamic.NewMask(shop.Type(), c.mask)
		checkFault(t, c.mask, err, c.code, c.offset, c.path)
	}
	if _, err := dynamic.NewMask(tI32, ""); diag.CodeOf(err) != diag.Unsupported {
		t.Error(err)
	}
}

func TestDefectTrimmingTrustsTheFieldTable(t *testing.T) {
	trimmer, err := dynamic.NewMask(simple.Type(), "byteField,i64Field")
	if err != nil {
		t.Fatal(err)
	}
	b := thriftwire.AppendString(thriftwire.AppendField([]byte("\x03\x00\x01\x01"), thriftwire.String, 2), "12345678")
	out, _, err := trimmer.Append([]byte("kept"), thriftwire.AppendStop(b))
	checkFault(t, "an i64 that is a string", err, diag.TypeMismatch, 4, "i64Field")
	if string(out) != "kept" {
		t.Errorf("%q", out)
	}
}

// FuzzTrim cuts any bytes by any mask, and by a pair of types.
func FuzzTrim(f *testing.F) {
	f.Add(nestingMessage(), "listSimple(byteField,6),simple.doubleField,mapStringSimple")
	f.Add(simpleMessage(), "1,3,6")
	f.Add([]byte("\x0d\x00\x1b\x0c\x0b\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00"), "byPoint,points(x,y),point()")
	pair, err := dynamic.NewTrimmer(nesting.Type(), partialNesting.Type())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte, mask string) {
		trimmers := []*dynamic.Trimmer{pair}
		for _, d := range []*schema.StructDef{shop, nesting, simple} {
			if trimmer, err := dynamic.NewMask(d.Type(), mask); err == nil {
				trimmers = append(trimmers, trimmer)
			}
		}
		for _, trimmer := range trimmers {
			out, n, err := trimmer.Append(nil, b)
			if err != nil {
				checkIsFault(t, err, len(b))
				continue
			}
			if n > len(b) || len(out) > n || dynamic.NewNode(thriftwire.Struct, out).Check() != nil {
				t.Fatalf("%x became %x", b, out)
			}
			if again, _, err := trimmer.Append(nil, out); err != nil || !bytes.Equal(again, out) {
				t.Fatalf("%x became %x when cut again (%v)", out, again, err)
			}
		}
	})
}
