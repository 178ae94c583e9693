package dynamic_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds what changes do, case by case.

// edit is a path and the Go value to set there; nil deletes.
type edit struct {
	path string
	to   any
}

func set(t *testing.T, v dynamic.Value, edits ...edit) (dynamic.Value, error) {
	t.Helper()
	var paths [][]dynamic.Step
	for _, e := range edits {
		steps, err := dynamic.ParsePath(e.path)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, steps)
	}
	set, err := dynamic.CompileAll(v.Type(), paths...)
	if err != nil {
		return dynamic.Value{}, err
	}
	values := make([]dynamic.Node, len(edits))
	for i, e := range edits {
		if n, ok := e.to.(dynamic.Node); ok {
			values[i] = n
		} else if e.to != nil {
			b, err := dynamic.AppendAny(nil, set.Type(i), e.to)
			if err != nil {
				t.Fatal(err)
			}
			values[i] = dynamic.NewValue(set.Type(i), b).Node
		}
	}
	out, err := set.AppendSet(nil, v.Node, values)
	return dynamic.NewValue(v.Type(), out), err
}

func TestChangesAtEveryKindOfPlace(t *testing.T) {
	type object = map[string]any
	for _, c := range []struct {
		what  string
		in    string
		edits []edit
		want  string
	}{
		{"a field is replaced", `{i8: 1, name: "n", i64: 2}`, []edit{{"name", "longer"}}, `{i8: 1, i64: 2, name: "longer"}`},
		{"a field is added", `{i8: 1}`, []edit{{"name", "n"}}, `{i8: 1, name: "n"}`},
		{"a field is deleted", `{i8: 1, name: "n"}`, []edit{{"i8", nil}}, `{name: "n"}`},
		{"an absent field is deleted", `{i8: 1}`, []edit{{"name", nil}}, `{i8: 1}`},
		{"several at once, in any order", `{i8: 1, i16: 2, i32: 3, i64: 4}`, []edit{{"i64", nil}, {"i8", 9}, {"name", "n"}, {"i32", 7}}, `{i8: 9, i16: 2, i32: 7, name: "n"}`},
		{"a subtree is replaced", `{point: {x: 1}}`, []edit{{"point", object{"y": 2}}}, `{point: {y: 2}}`},
		{"within subtrees", `{point: {x: 1}, points: [{x: 1}, {x: 2}]}`, []edit{{"points[1].y", 5}, {"point.x", nil}}, `{point: {}, points: [{x: 1}, {x: 2, y: 5}]}`},
		{"an element is replaced", `{list: [1, 2, 3]}`, []edit{{"list[1]", 9}}, `{list: [1, 9, 3]}`},
		{"elements are deleted", `{list: [1, 2, 3]}`, []edit{{"list[0]", nil}, {"list[2]", nil}}, `{list: [2]}`},
		{"all elements are deleted", `{set: ["a", "b"]}`, []edit{{"set[0]", nil}, {"set[1]", nil}}, `{set: []}`},
		{"an absent element is deleted", `{list: [1]}`, []edit{{"list[1]", nil}, {"list[-1]", nil}}, `{list: [1]}`},
		{"before and after", `{list: [1, 2]}`, []edit{{"list[$]", 8}, {"list[^0]", 5}, {"list[^2]", 7}, {"list[$]", 9}, {"list[^1]", 6}}, `{list: [5, 1, 6, 2, 7, 8, 9]}`},
		{"indexes are those before the change", `{list: [1, 2, 3]}`, []edit{{"list[0]", nil}, {"list[^0]", 7}, {"list[2]", 9}}, `{list: [7, 2, 9]}`},
		{"into an empty list", `{list: []}`, []edit{{"list[$]", 1}}, `{list: [1]}`},
		{"into an absent list", `{}`, []edit{{"list[$]", 1}, {"list[^0]", 0}}, `{list: [0, 1]}`},
		{"an entry is replaced", `{byString: {"a": 1, "b": 2}}`, []edit{{`byString["a"]`, 3}}, `{byString: {"a": 3, "b": 2}}`},
		{"entries are added and deleted", `{byInt: {1: "a", 2: "b"}}`, []edit{{"byInt[1]", nil}, {"byInt[3]", "c"}, {"byInt[4]", nil}}, `{byInt: {2: "b", 3: "c"}}`},
		{"entries of other keys", `{byBool: {true: 1}, byDouble: {1.5: 1}, byColor: {RED: 1}}`, []edit{{"byBool[false]", 2}, {"byDouble[2.0]", 3}, {`byColor["BLUE"]`, 4}},
			`{byBool: {false: 2, true: 1}, byDouble: {1.5: 1, 2: 3}, byColor: {BLUE: 4, RED: 1}}`},
		{"an entry with a struct for a key", `{byPoint: {{x: 1}: "p"}}`, []edit{{"byPoint[#12:00]", "q"}}, `{byPoint: {{x: 1}: "p", {}: "q"}}`},
		{"into an absent map", `{}`, []edit{{`byString["a"]`, 1}, {`byString["b"]`, nil}}, `{byString: {"a": 1}}`},
		{"all that leads there is made", `{}`, []edit{{"byPoints[3][$]", object{"x": 1}}, {"point.x", 2}}, `{point: {x: 2}, byPoints: {3: [{x: 1}]}}`},
		{"nothing is made for a deletion", `{}`, []edit{{"point.x", nil}, {"byPoints[3][$]", nil}}, `{}`},
		{"the whole", `{i8: 1}`, []edit{{"", object{"i16": 2}}}, `{i16: 2}`},
		{"nothing", `{i8: 1}`, nil, `{i8: 1}`},
	} {
		v := of(t, shop.Type(), c.in)
		if got, err := set(t, v, c.edits...); err != nil {
			t.Errorf("%s: %v", c.what, err)
		} else if text := shown(t, got); text != c.want {
			t.Errorf("%s: %s, want %s", c.what, text, c.want)
		}
		if text := shown(t, v); text != shown(t, of(t, shop.Type(), c.in)) {
			t.Errorf("%s: the input became %s", c.what, text)
		}
	}
}

func TestChangesThatCannotBeAreRefused(t *testing.T) {
	in := `{i8: 1, list: [1, 2], byInt: {1: "a"}, points: [{x: 1}]}`
	for _, c := range []struct {
		what   string
		edits  []edit
		code   diag.Code
		offset int
		path   string
	}{
		{"a field of another type", []edit{{"i8", dynamic.NewI64(1)}}, diag.TypeMismatch, -1, "i8"},
		{"an element of another type", []edit{{"list[$]", dynamic.NewI64(1)}}, diag.TypeMismatch, -1, "list[$]"},
		{"a list of other elements", []edit{{"list", dynamic.NewNode(thriftwire.List, []byte("\x08\x00\x00\x00\x01\x00\x00\x00\x01"))}}, diag.TypeMismatch, -1, "list"},
		{"half a value", []edit{{"name", dynamic.NewNode(thriftwire.String, []byte("\x00\x00\x00\x05abc"))}}, diag.InvalidValue, -1, "name"},
		{"a value and more", []edit{{"i8", dynamic.NewNode(thriftwire.I8, []byte("ab"))}}, diag.InvalidValue, -1, "i8"},
		{"an index beyond the end", []edit{{"list[2]", 1}}, diag.OutOfRange, 7, "list[2]"},
		{"a gap beyond the end", []edit{{"list[^3]", 1}}, diag.OutOfRange, 7, "list[^3]"},
		{"an index of an absent list", []edit{{"byPoints[1][0].x", 1}}, diag.OutOfRange, -1, "byPoints[1][0]"},
		{"one place twice", []edit{{"i8", 1}, {"2", 2}}, diag.InvalidValue, -1, "i8"},
		{"a place and a part of it", []edit{{"points[0].x", 1}, {"points", nil}}, diag.InvalidValue, -1, "points"},
		{"the whole and a part of it", []edit{{"", nil}, {"i8", nil}}, diag.InvalidValue, -1, ""},
		{"behind a gap", []edit{{"points[$].x", 1}}, diag.Unsupported, -1, "points[$]"},
		{"a key that is not whole", []edit{{"byPoint[#12:0800]", "p"}}, diag.InvalidValue, -1, "byPoint[entry]"},
		{"the whole deleted", []edit{{"", nil}}, diag.NotFound, -1, ""},
	} {
		_, err := set(t, of(t, shop.Type(), in), c.edits...)
		checkFault(t, c.what, err, c.code, c.offset, c.path)
	}
}

func TestWithoutASchemaTheMessageSaysWhatMayBeSet(t *testing.T) {
	n := of(t, shop.Type(), `{list: [1], byInt: {1: "a"}}`).Node
	if out, err := n.AppendSet(nil, dynamic.NewI16(2), dynamic.Field(12), dynamic.End()); err != nil || shown(t, dynamic.NewValue(shop.Type(), out)) != `{list: [1, 2], byInt: {1: "a"}}` {
		t.Errorf("%x, %v", out, err)
	}
	if out, err := n.AppendSet(nil, dynamic.NewString("b"), dynamic.Field(21), dynamic.IntKey(2)); err != nil || shown(t, dynamic.NewValue(shop.Type(), out)) != `{list: [1], byInt: {1: "a", 2: "b"}}` {
		t.Errorf("%x, %v", out, err)
	}
	_, err := n.AppendSet(nil, dynamic.NewI32(2), dynamic.Field(12), dynamic.End())
	checkFault(t, "an element of another type", err, diag.TypeMismatch, -1, "12[$]")
	_, err = n.AppendSet(nil, dynamic.NewI32(2), dynamic.Field(14), dynamic.Field(1))
	checkFault(t, "a part of what is absent", err, diag.NotFound, -1, "14")
	empty := dynamic.NewNode(thriftwire.Map, []byte("\x00\x00\x00\x00\x00\x00"))
	if out, err := empty.AppendSet(nil, dynamic.NewI8(1), dynamic.Key("k")); err != nil || string(out) != "\x0b\x03\x00\x00\x00\x01\x00\x00\x00\x01k\x01" {
		t.Errorf("%q, %v", out, err)
	}
	_, err = empty.AppendSet(nil, dynamic.NewI8(1), dynamic.IntKey(1))
	checkFault(t, "an integer key of unknown size", err, diag.NotFound, -1, "[1]")
}

func TestAfterAFaultTheBufferIsAsItWas(t *testing.T) {
	v := of(t, shop.Type(), `{i8: 1, list: [1, 2]}`)
	path, err := dynamic.Compile(shop.Type(), dynamic.Name("list"), dynamic.Index(5))
	if err != nil {
		t.Fatal(err)
	}
	buf := append(make([]byte, 0, 100), "kept"...)
	out, err := path.AppendSet(buf, v.Node, dynamic.NewI16(1))
	if err == nil || string(out) != "kept" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestManyKeysAreFoundByBisection(t *testing.T) {
	var paths [][]dynamic.Step
	var values []dynamic.Node
	entries := map[any]any{}
	strings := map[any]any{}
	for i := range 200 {
		k := string(rune('a'+i%26)) + string(rune('a'+i/26))
		entries[int64(i*i-100)] = k
		strings[k] = i
		paths = append(paths, []dynamic.Step{dynamic.Name("byInt"), dynamic.IntKey(int64(i*i - 100))}, []dynamic.Step{dynamic.Name("byString"), dynamic.Key(k)})
		values = append(values, dynamic.NewString("-"+k), dynamic.NewI32(int32(-i)))
	}
	b, err := dynamic.AppendAny(nil, shop.Type(), map[string]any{"byInt": entries, "byString": strings})
	if err != nil {
		t.Fatal(err)
	}
	set, err := dynamic.CompileAll(shop.Type(), paths...)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]dynamic.Value, set.Len())
	for round, message := range [][]byte{b, nil} {
		if round == 1 {
			if message, err = set.AppendSet(nil, dynamic.NewValue(shop.Type(), b).Node, values); err != nil {
				t.Fatal(err)
			}
		}
		if err := set.Get(dynamic.NewValue(shop.Type(), message).Node, out); err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			k, err1 := out[2*i].Text()
			n, err2 := out[2*i+1].Int()
			want := paths[2*i+1][1].String()
			if round == 1 {
				k, n = k[1:], -n
			}
			if err1 != nil || err2 != nil || `["`+k+`"]` != want || n != int64(i) {
				t.Fatalf("entry %d is %q and %d (%v, %v)", i, k, n, err1, err2)
			}
		}
	}
}

func TestFieldsFarApartAreFound(t *testing.T) {
	var fields []*schema.Field
	var paths [][]dynamic.Step
	object := map[int16]any{}
	for i := range 100 {
		id := int16(i*600 - 30000)
		fields = append(fields, field(int32(id), "f"+string(rune('A'+i)), tI16))
		paths = append(paths, []dynamic.Step{dynamic.Field(id)})
		object[id] = id
	}
	d := structOf("Far", fields...)
	b, err := dynamic.AppendAny(nil, d.Type(), object)
	if err != nil {
		t.Fatal(err)
	}
	set, err := dynamic.CompileAll(d.Type(), paths...)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]dynamic.Value, len(paths))
	if err := set.Get(dynamic.NewValue(d.Type(), b).Node, out); err != nil {
		t.Fatal(err)
	}
	for i := range out {
		if n, err := out[i].Int(); err != nil || n != int64(i*600-30000) {
			t.Errorf("field %d is %d, %v", i, n, err)
		}
	}
}
