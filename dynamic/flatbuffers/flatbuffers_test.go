package flatbuffers_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/internal/conform/fbs"
	"github.com/thrum-rpc/thrum/schema"
)

func load(t testing.TB, text string) *schema.File {
	t.Helper()
	file, list := fbsidl.Load("every.fbs", fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{"every.fbs": []byte(text)}))
	if file == nil {
		t.Fatal(list.Err())
	}
	return file
}

// full has a value in every field of Every.
func full() map[string]any {
	item := map[string]any{"name": "lamp", "price": 2.5, "color": uint64(9)}
	return map[string]any{
		"b": false, "i8": int64(-8), "u8": uint64(8), "i16": int64(16), "u16": uint64(16), "i32": int64(-32),
		"u32": uint64(math.MaxUint32), "i64": int64(math.MinInt64), "u64": uint64(math.MaxUint64), "f": 0.25, "d": -0.5,
		"opt": int64(0), "color": uint64(3), "mood": int64(-1), "s": "text", "lacking": "there",
		"point": map[string]any{"x": 1.5, "y": int64(-2)},
		"box":   map[string]any{"from": map[string]any{"x": 0.5, "y": int64(3)}, "marks": []byte{1, 2, 3}, "mood": int64(4), "id": uint64(5)},
		"item":  item, "thing": flatbuffers.Union{Member: "Point", Value: map[string]any{"x": 7.0, "y": int64(8)}},
		"things": []any{
			flatbuffers.Union{Member: "Other", Value: item}, flatbuffers.Union{}, flatbuffers.Union{Member: "Text", Value: "words"},
		},
		"bytes": []byte("bytes"), "shorts": []any{int64(-1), int64(2)}, "doubles": []any{1.0, 0.5}, "texts": []any{"a", ""},
		"items":    []any{map[string]any{"name": "a"}, map[string]any{"name": "b", "price": 1.0}},
		"boxes":    []any{map[string]any{"from": map[string]any{"x": 0.0, "y": int64(0)}, "marks": []byte{0, 0, 1}, "mood": int64(0), "id": uint64(1)}},
		"numbered": []any{map[string]any{}, map[string]any{"id": uint64(3)}, map[string]any{"id": uint64(1 << 63)}},
		"self":     map[string]any{"s": "inner"}, "nested": []byte{}, "far": "away", "wide": []byte{9}, "empty": []any{int64(1)},
		"flex": []byte{7, 4, 1}, "h": uint64(1), "ha": int64(-2), "h64": uint64(3), "moods": []any{int64(-1), int64(4)},
	}
}

func made(t testing.TB, d *schema.StructDef, x any) []byte {
	t.Helper()
	b, err := flatbuffers.Make(d, x)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// verifier accepts whole messages of a root type.
func verifier(t testing.TB, d *schema.StructDef, opts ...flatbuf.VerifyOption) *flatbuf.Verifier {
	t.Helper()
	l, err := flatbuf.LayoutOf(d)
	if err != nil {
		t.Fatal(err)
	}
	v, err := flatbuf.NewVerifier(l, 0, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWhatIsMadeReadsTheSame(t *testing.T) {
	file := load(t, fbs.Every())
	x := full()
	x["nested"] = made(t, file.Struct("Item"), map[string]any{"name": "inside"})
	b := made(t, file.Root(), x)
	if err := verifier(t, file.Root(), flatbuf.FileIdentifier("EVRY")).Verify(b); err != nil {
		t.Fatal(err)
	}
	root := flatbuffers.Root(file.Root(), b)
	got, err := root.Any()
	if err != nil || !reflect.DeepEqual(got, any(x)) {
		t.Errorf("%v\n%v\n%v", err, got, x)
	}
	inside, err := root.Nested(file.Root().FieldByName("nested"))
	if name, _ := inside.Field("name").Text(); err != nil || name != "inside" {
		t.Errorf("%q, %v", name, err)
	}
	if inner, err := root.Field("nested").Bytes(); err != nil || bytes.Index(b, inner)%8 != 0 {
		t.Errorf("the nested message stands at %d, %v", bytes.Index(b, inner), err)
	}
	again := made(t, file.Root(), root)
	if got, err := flatbuffers.Root(file.Root(), again).Any(); err != nil || !reflect.DeepEqual(got, any(x)) {
		t.Errorf("a Value is made otherwise: %v\n%v", err, got)
	}
}

func TestWhatIsLeftOutIsTheDefault(t *testing.T) {
	file := load(t, fbs.Every())
	root := flatbuffers.Root(file.Root(), made(t, file.Root(), map[string]any{"s": "", "i16": -7, "lacking": nil}))
	if b, err := root.Field("b").Bool(); !b || err != nil || root.Field("b").Written() {
		t.Error(b, err)
	}
	if n, err := root.Field("i16").Int(); n != -7 || err != nil || root.Field("i16").Written() {
		t.Error(n, err)
	}
	if f, err := root.Field("f").Float(); f != 1.5 || err != nil {
		t.Error(f, err)
	}
	if name, err := root.Field("mood").EnumName(); name != "Glad" || err != nil {
		t.Error(name, err)
	}
	if s, err := root.Field("lacking").Text(); s != "none" || err != nil || root.Field("lacking").Len() != 4 {
		t.Error(s, err)
	}
	for _, name := range []string{"opt", "item", "thing", "items", "point", "none"} {
		if v := root.Field(name); v.Exists() {
			t.Errorf("%s exists: %v", name, v)
		}
	}
	if v := root.Field("empty"); !v.Exists() || v.Len() != 0 {
		t.Error("no empty vector")
	}
	_, err := root.Field("opt").Int()
	if diag.CodeOf(err) != diag.NotFound {
		t.Error(err)
	}
}

func TestATypeWithoutAValueIsNoUnion(t *testing.T) {
	file := load(t, fbs.Every())
	slot := func(name string) int { return int(file.Root().FieldByName(name).ID()) }
	b := flatbuf.NewBuilder(0)
	text := b.CreateString("")
	types := b.CreateByteVector([]byte{4})
	b.StartVector(4, 1, 4)
	b.Pad(4)
	values := b.EndVector(1)
	b.StartObject(slot("things") + 1)
	b.PrependUOffsetTSlot(slot("s"), text, 0)
	b.PrependUOffsetTSlot(slot("things")-1, types, 0)
	b.PrependUOffsetTSlot(slot("things"), values, 0)
	b.Finish(b.EndObject())
	root := flatbuffers.Root(file.Root(), b.FinishedBytes())
	if e := root.Field("things").Index(0); e.Exists() || e.Member() != nil {
		t.Errorf("%v", e)
	}
	x, err := root.Any()
	if want := map[string]any{"s": "", "things": []any{flatbuffers.Union{}}}; err != nil || !reflect.DeepEqual(x, any(want)) {
		t.Errorf("%v, %v", x, err)
	}
	made(t, file.Root(), x)
}

func TestPathsLeadToValues(t *testing.T) {
	file := load(t, fbs.Every())
	root := flatbuffers.Root(file.Root(), made(t, file.Root(), full()))
	for text, want := range map[string]any{
		"item.price": 2.5, "items[1].name": "b", `items["b"].price`: 1.0, "box.from.y": int64(3), "box.marks[2]": uint64(3),
		"thing.y": int64(8), "things[0].name": "lamp", "things[2]": "words", "shorts[0]": int64(-1), "self.s": "inner",
		"self.f": 1.5, "boxes[0].id": uint64(1), "far": "away",
	} {
		path, err := dynamic.ParsePath(text)
		if err != nil {
			t.Fatal(text, err)
		}
		v, err := root.Get(path...)
		if err != nil {
			t.Error(text, err)
			continue
		}
		got, err := v.Any()
		if u, ok := got.(flatbuffers.Union); ok {
			got = u.Value
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]struct {
		code diag.Code
		path string
	}{
		"item.nothing":     {diag.UnknownField, "item.nothing"},
		"shorts[2]":        {diag.NotFound, "shorts[2]"},
		`items["c"]`:       {diag.NotFound, `items["c"]`},
		"self.item.price":  {diag.NotFound, "self.item"},
		"i8.x":             {diag.TypeMismatch, "i8.x"},
		"point[0]":         {diag.TypeMismatch, "point[0]"},
		"things[1].member": {diag.NotFound, "things[1]"},
	} {
		path, err := dynamic.ParsePath(text)
		if err != nil {
			t.Fatal(text, err)
		}
		_, err = root.Get(path...)
		fault, _ := err.(*diag.Fault)
		if fault == nil || fault.Code != want.code || fault.Path() != want.path {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSortedVectorsAreLookedUp(t *testing.T) {
	file := load(t, fbs.Every())
	var items, numbered []map[string]any
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(100) {
		items = append(items, map[string]any{"name": string(rune('!' + i)), "price": float64(i)})
		numbered = append(numbered, map[string]any{"id": uint64(i) << 57})
	}
	root := flatbuffers.Root(file.Root(), made(t, file.Root(), map[string]any{"s": "", "items": items, "numbered": numbered}))
	for i := range 100 {
		v := root.Field("items").Lookup(string(rune('!' + i)))
		if price, err := v.Field("price").Float(); price != float64(i) || err != nil {
			t.Errorf("%d: %v, %v", i, price, err)
		}
		if id, err := root.Field("numbered").Lookup(uint64(i) << 57).Field("id").Uint(); id != uint64(i)<<57 || err != nil {
			t.Errorf("%d: %v, %v", i, id, err)
		}
	}
	if root.Field("items").Lookup("zz").Exists() || root.Field("items").Lookup(3).Exists() || root.Field("numbered").Lookup("1").Exists() || root.Field("shorts").Lookup(1).Exists() {
		t.Error("found what is not there")
	}
}

func TestNumbersAreChangedInPlace(t *testing.T) {
	file := load(t, fbs.Every())
	b := made(t, file.Root(), full())
	root := flatbuffers.Root(file.Root(), b)
	for _, err := range []error{
		root.Field("i8").SetInt(-128), root.Field("u64").SetUint(1 << 63), root.Field("d").SetFloat(3), root.Field("b").SetBool(true),
		root.Field("box").Field("marks").Index(1).SetUint(77), root.Field("shorts").Index(1).SetInt(-9),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	want := full()
	want["i8"], want["u64"], want["d"], want["b"], want["shorts"] = int64(-128), uint64(1<<63), 3.0, true, []any{int64(-1), int64(-9)}
	want["box"].(map[string]any)["marks"] = []byte{1, 77, 3}
	if got, err := root.Any(); err != nil || !reflect.DeepEqual(got, any(want)) {
		t.Errorf("%v\n%v", got, err)
	}
	for _, c := range []struct {
		err  error
		code diag.Code
	}{
		{root.Field("i8").SetInt(128), diag.OutOfRange}, {root.Field("u8").SetInt(-1), diag.OutOfRange},
		{root.Field("s").SetInt(1), diag.TypeMismatch}, {root.Field("i8").SetFloat(1), diag.TypeMismatch},
		{root.Field("self").Field("i8").SetInt(1), diag.NotFound}, {root.Field("opts").SetBool(true), diag.NotFound},
	} {
		if diag.CodeOf(c.err) != c.code {
			t.Error(c.err)
		}
	}
}

func TestPartsAreExchanged(t *testing.T) {
	file := load(t, fbs.Every())
	b := made(t, file.Root(), full())
	root := flatbuffers.Root(file.Root(), b)
	v := verifier(t, file.Root(), flatbuf.SkipNested())
	set := func(x any, path string) flatbuffers.Value {
		t.Helper()
		steps, err := dynamic.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := root.AppendSet([]byte("before"), x, steps...)
		if err != nil {
			t.Fatal(path, err)
		}
		if string(got[:6]) != "before" {
			t.Errorf("%s: what stood before is %q", path, got[:6])
		}
		got = append([]byte(nil), got[6:]...)
		if err := v.Verify(got); err != nil {
			t.Error(path, err)
		}
		return flatbuffers.Root(file.Root(), got)
	}
	if s, err := set("longer than it was", "items[0].name").Field("items").Index(1).Field("name").Text(); s != "longer than it was" || err != nil {
		t.Error(s, err) // the vector is sorted
	}
	if set(nil, "item").Field("item").Exists() {
		t.Error("the item is still there")
	}
	if n := set(nil, "texts[0]").Field("texts").Len(); n != 1 {
		t.Error(n)
	}
	if y, err := set(12, "thing.y").Field("thing").Field("y").Int(); y != 12 || err != nil {
		t.Error(y, err)
	}
	if s, err := set(flatbuffers.Union{Member: "Text", Value: "new"}, "thing").Field("thing").Text(); s != "new" || err != nil {
		t.Error(s, err)
	}
	if x, err := set(5, "bytes[1]").Field("bytes").Bytes(); string(x) != "b\x05tes" || err != nil {
		t.Error(x, err)
	}
	if _, err := root.AppendSet(nil, nil, dynamic.Name("s")); diag.CodeOf(err) != diag.MissingRequired {
		t.Error(err)
	}
	newer := load(t, "table Every { a: int; b: int; } root_type Every;")
	older := load(t, "table Every { a: int; } root_type Every;")
	b = made(t, newer.Root(), map[string]any{"a": 1, "b": 2})
	if _, err := flatbuffers.Root(older.Root(), b).AppendSet(nil, 3, dynamic.Name("a")); diag.CodeOf(err) != diag.UnknownField {
		t.Error(err)
	}
}

// A copy by an older schema would lose what a newer one says.
func TestMembersThatTheSchemaDoesNotHaveAreNotLost(t *testing.T) {
	newer := load(t, `table A { x: int; } table B { y: int; } union U { A, B } table R { n: int; u: U; us: [U]; } root_type R;`)
	older := load(t, `table A { x: int; } union U { A } table R { n: int; u: U; us: [U]; } root_type R;`)
	member := flatbuffers.Union{Member: "B", Value: map[string]any{"y": 1}}
	for path, x := range map[string]any{"u": member, "us[1]": []any{flatbuffers.Union{}, member}} {
		name, _, _ := strings.Cut(path, "[")
		b := made(t, newer.Root(), map[string]any{name: x})
		root := flatbuffers.Root(older.Root(), b)
		_, err := root.AppendSet(nil, 7, dynamic.Name("n"))
		if diag.CodeOf(err) != diag.UnknownField || !strings.Contains(err.Error(), "at "+path) {
			t.Errorf("%s: %v", path, err)
		}
		if x, err := root.Any(); err != nil {
			t.Errorf("%v, %v", x, err)
		}
		if _, err := flatbuffers.Root(newer.Root(), b).AppendSet(nil, 7, dynamic.Name("n")); err != nil {
			t.Error(err)
		}
		if us := root.Field("us"); us.ElementTag(0) != 0 || us.Len() > 1 && us.ElementTag(1) != 2 || us.ElementTag(2) != 0 || us.ElementTag(-1) != 0 {
			t.Error("other numbers of members")
		}
	}
}

func TestMembersMayHaveNegativeNumbers(t *testing.T) {
	d := load(t, `table A { a: int; } union U: byte { A = -5, S: string = -128 } table T { u: U; us: [U]; n: int; } root_type T;`).Root()
	u := flatbuffers.Union{Member: "A", Value: map[string]any{"a": int64(3)}}
	want := map[string]any{"u": u, "us": []any{flatbuffers.Union{Member: "S", Value: "x"}, flatbuffers.Union{}, u}}
	b, err := flatbuffers.Make(d, want)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = flatbuffers.Root(d, b).AppendSet(nil, 7, dynamic.Name("n")); err != nil {
		t.Fatal(err)
	}
	want["n"] = int64(7)
	if got, err := flatbuffers.Root(d, b).Any(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWhatHasNoPlaceIsRefused(t *testing.T) {
	file := load(t, fbs.Every())
	for name, c := range map[string]struct {
		x    any
		code diag.Code
		path string
	}{
		"no map":          {3, diag.InvalidValue, ""},
		"required":        {map[string]any{}, diag.MissingRequired, "s"},
		"unknown":         {map[string]any{"s": "", "x": 1}, diag.UnknownField, "x"},
		"range":           {map[string]any{"s": "", "u8": 256}, diag.OutOfRange, "u8"},
		"sign":            {map[string]any{"s": "", "u64": -1}, diag.OutOfRange, "u64"},
		"fraction":        {map[string]any{"s": "", "i32": 0.5}, diag.OutOfRange, "i32"},
		"float":           {map[string]any{"s": "", "f": 1e300}, diag.OutOfRange, "f"},
		"enum":            {map[string]any{"s": "", "mood": "Bad"}, diag.UnknownEnum, "mood"},
		"two moods":       {map[string]any{"s": "", "mood": "Sad Glad"}, diag.UnknownEnum, "mood"},
		"element":         {map[string]any{"s": "", "shorts": []any{1, "a"}}, diag.InvalidValue, "shorts[1]"},
		"array":           {map[string]any{"s": "", "box": map[string]any{"marks": []int{1, 2, 3, 4}}}, diag.OutOfRange, "box.marks"},
		"member":          {map[string]any{"s": "", "thing": flatbuffers.Union{Member: "Every"}}, diag.InvalidUnion, "thing"},
		"no union":        {map[string]any{"s": "", "thing": "Text"}, diag.InvalidValue, "thing"},
		"text":            {map[string]any{"s": 5}, diag.InvalidValue, "s"},
		"inner":           {map[string]any{"s": "", "self": map[string]any{}}, diag.MissingRequired, "self.s"},
		"union's content": {map[string]any{"s": "", "things": []any{flatbuffers.Union{Member: "Item", Value: 3}}}, diag.InvalidValue, "things[0]"},
	} {
		_, err := flatbuffers.Make(file.Root(), c.x)
		fault, _ := err.(*diag.Fault)
		if fault == nil || fault.Code != c.code || fault.Path() != c.path {
			t.Errorf("%s: %v", name, err)
		}
	}
	deep := map[string]any{"s": ""}
	for range 70 {
		deep = map[string]any{"s": "", "self": deep}
	}
	if _, err := flatbuffers.Make(file.Root(), deep); diag.CodeOf(err) != diag.DepthLimit {
		t.Error(err)
	}
	if _, err := flatbuffers.Make(file.Struct("Point"), map[string]any{}); diag.CodeOf(err) != diag.Unsupported {
		t.Error(err)
	}
}

// walk reads what there is, in every way, a thousand values at most.
func walk(v flatbuffers.Value, left *int) {
	if *left--; *left < 0 {
		return
	}
	v.Bool()
	v.Int()
	v.Uint()
	v.Float()
	v.Text()
	v.Bytes()
	v.Lookup("b")
	v.Lookup(3)
	for _, x := range v.Elements() {
		if walk(x, left); *left < 0 {
			return
		}
	}
	for _, x := range v.Fields() {
		walk(x, left)
	}
}

func TestPathsFromNothingLeadToNothing(t *testing.T) {
	file := load(t, fbs.Every())
	root := flatbuffers.Root(file.Root(), []byte("no message"))
	for _, s := range []dynamic.Step{dynamic.Name("s"), dynamic.Field(1), dynamic.Index(0), dynamic.Key("s"), dynamic.IntKey(1)} {
		if _, err := root.Get(s); diag.CodeOf(err) != diag.NotFound {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestTablesCountForWhatTheirMapsTake(t *testing.T) {
	file := load(t, fbs.Every())
	// A table without fields in many places: offsets of four bytes, one more map each.
	build := func(refs, tables int) []byte {
		b := flatbuf.NewBuilder(0)
		all := make([]flatbuf.UOffsetT, refs)
		for i := range all {
			if i < tables {
				b.StartObject(0)
				all[i] = b.EndObject()
				continue
			}
			all[i] = all[i%tables]
		}
		vector := b.CreateVectorOfTables(all)
		slot := int(file.Root().FieldByName("numbered").ID())
		b.StartObject(slot + 1)
		b.PrependUOffsetTSlot(slot, vector, 0)
		inner := b.EndObject()
		self := int(file.Root().FieldByName("self").ID())
		b.StartObject(max(slot, self) + 1)
		b.PrependUOffsetTSlot(slot, vector, 0)
		b.PrependUOffsetTSlot(self, inner, 0)
		b.Finish(b.EndObject())
		return b.FinishedBytes()
	}
	if _, err := flatbuffers.Root(file.Root(), build(50_000, 50_000)).Any(); err != nil {
		t.Error(err)
	}
	if _, err := flatbuffers.Root(file.Root(), build(50_000, 1)).Any(); diag.CodeOf(err) != diag.SizeLimit {
		t.Errorf("100,000 maps of 200 KB: %v", err)
	}
}

func FuzzReading(f *testing.F) {
	file := load(f, fbs.Every())
	f.Add(made(f, file.Root(), full()))
	f.Add(made(f, file.Root(), map[string]any{"s": "", "self": map[string]any{"s": "", "things": []any{flatbuffers.Union{Member: "Text", Value: "x"}}}}))
	v := verifier(f, file.Root(), flatbuf.SkipNested())
	f.Fuzz(func(t *testing.T, b []byte) {
		before := string(b)
		root := flatbuffers.Root(file.Root(), b)
		left := 1000
		walk(root, &left)
		x, err := root.Any()
		if string(b) != before {
			t.Fatal("reading changed the message")
		}
		if v.Verify(b) != nil || err != nil {
			return
		}
		again, err := flatbuffers.Make(file.Root(), x)
		if err != nil {
			t.Fatalf("%v: %v", x, err)
		}
		if err := v.Verify(again); err != nil {
			t.Fatal(err)
		}
	})
}
