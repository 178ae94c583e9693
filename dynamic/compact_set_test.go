package dynamic_test

import (
	"bytes"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
	"pgregory.net/rapid"
)

// This file holds changing compact messages: the same as their binary twins.

// change is a path, and a value to set there in the binary protocol, or none.
type change struct {
	path []dynamic.Step
	x    dynamic.Node
}

// someChanges draws changes of a message: what it has is replaced or deleted,
// what it lacks is added. Some cannot be done.
func (d dialect) someChanges(t *rapid.T, typ *schema.Type, model *schema.Value) []change {
	all := places(typ, model, nil, 4)
	var changes []change
	for range rapid.IntRange(1, 6).Draw(t, "changes") {
		p := rapid.SampledFrom(all).Draw(t, "place")
		step, part, ok := d.someStep(t, p)
		if !ok {
			continue
		}
		c := change{path: append(p.path[:len(p.path):len(p.path)], step)}
		switch rapid.IntRange(0, 9).Draw(t, "change") {
		case 0, 1, 2:
		case 3:
			c.x = dynamic.NewI8(1)
		default:
			c.x = dynamic.NewNode(conform.Wire(part), binary(part, conform.Value(t, part, 3)))
		}
		changes = append(changes, c)
	}
	return changes
}

// someStep draws a step from a place, and the type of what it leads to.
func (d dialect) someStep(t *rapid.T, p place) (dynamic.Step, *schema.Type, bool) {
	at := rapid.IntRange(0, len(p.value.List)+1)
	switch p.typ.Kind() {
	case schema.List, schema.Set:
		step := rapid.SampledFrom([]dynamic.Step{dynamic.Index(at.Draw(t, "index")), dynamic.Before(at.Draw(t, "before")), dynamic.End()}).Draw(t, "step")
		return step, p.typ.Elem(), true
	case schema.Map:
		key := conform.Value(t, p.typ.Key(), 3)
		if n := len(p.value.Map); n > 0 && rapid.Bool().Draw(t, "present") {
			key = p.value.Map[rapid.IntRange(0, n-1).Draw(t, "entry")].Key
		}
		return keyStep(p.typ.Key(), key), p.typ.Elem(), true
	case schema.Struct:
		if fields := p.typ.Struct().Fields(); len(fields) > 0 {
			f := rapid.SampledFrom(fields).Draw(t, "field")
			return dynamic.Field(int16(f.ID())), f.Type(), true
		}
	}
	return dynamic.Step{}, nil, false
}

// inProtocol returns the node in a protocol.
func inProtocol(t interface{ Fatalf(string, ...any) }, n dynamic.Node, p dynamic.Protocol) dynamic.Node {
	if !n.Exists() {
		return n
	}
	b, err := n.AppendIn(nil, p)
	if err != nil {
		t.Fatalf("%v %x in %s: %v", n.WireType(), n.Raw(), p, err)
	}
	return p.NewNode(n.WireType(), b)
}

func TestCompactMessagesChangeAsTheirBinaryTwins(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d, typ, model, b, twin := randomTwins(rt)
		var paths [][]dynamic.Step
		var values, mixed []dynamic.Node
		for _, c := range d.someChanges(rt, typ, model) {
			paths, values = append(paths, c.path), append(values, c.x)
			x := c.x
			if rapid.Bool().Draw(rt, "native") {
				x = inProtocol(rt, x, d.Protocol)
			}
			mixed = append(mixed, x)
		}
		set, err := dynamic.CompileAll(typ, paths...)
		if err != nil {
			rt.Fatal(err)
		}
		want, wantErr := set.AppendSet(nil, dynamic.NewValue(typ, twin).Node, values)
		got, err := set.AppendSet([]byte("kept"), d.NewValue(typ, b).Node, mixed)
		if !sameFault(err, wantErr) {
			rt.Fatalf("%v, but the twin: %v", err, wantErr)
		}
		if err != nil {
			if string(got) != "kept" {
				rt.Fatalf("after %v there is %q", err, got)
			}
			return
		}
		native := inProtocol(rt, dynamic.NewNode(thriftwire.Struct, want), d.Protocol)
		if string(got) != "kept"+string(native.Raw()) {
			rt.Fatalf("%x became\n     %x\nwant %x", b, got[4:], native.Raw())
		}
		// And from a compact value into a binary message.
		if again, err := set.AppendSet(nil, dynamic.NewValue(typ, twin).Node, mixed); err != nil ||
			!bytes.Equal(inProtocol(rt, dynamic.NewNode(thriftwire.Struct, again), d.Protocol).Raw(), native.Raw()) {
			rt.Fatalf("mixed values: %x, %v", again, err)
		}
	})
}

// checkChanging makes changes to compact bytes of any kind. Whatever is a
// message must become what its binary twin becomes, the rest gives faults.
func checkChanging(t interface{ Fatalf(string, ...any) }, c dynamic.Value, paths [][]dynamic.Step, values []dynamic.Node) {
	set, err := dynamic.CompileAll(c.Type(), paths...)
	if err != nil {
		return
	}
	got, err := set.AppendSet(nil, c.Node, values)
	if err != nil {
		checkIsFault(t, err, len(c.Raw()))
	}
	twin, twinErr := c.AppendIn(nil, dynamic.Binary)
	if twinErr != nil {
		return
	}
	v := dynamic.NewNode(c.WireType(), twin)
	want, wantErr := set.AppendSet(nil, v, values)
	if !sameFault(err, wantErr) && diag.CodeOf(err) != diag.Unsupported {
		t.Fatalf("%x: %v, but the twin: %v", c.Raw(), err, wantErr)
	}
	if err != nil {
		return
	}
	p := c.Protocol()
	normal := inProtocol(t, inProtocol(t, p.NewNode(c.WireType(), got), dynamic.Binary), p)
	if native := inProtocol(t, dynamic.NewNode(c.WireType(), want), p); !bytes.Equal(normal.Raw(), native.Raw()) {
		t.Fatalf("%x became %x, want %x", c.Raw(), got, native.Raw())
	}
}

func TestDamagedCompactMessagesChangeAsTheirBinaryTwinsOrFail(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d, typ, model, b, _ := randomTwins(rt)
		damaged := conform.Damaged(rt, b)
		var values []dynamic.Node
		var paths [][]dynamic.Step
		for _, path := range d.pathsOf(typ, model, 3, 30) {
			if rapid.Bool().Draw(rt, "changed") {
				v, _ := d.NewValue(typ, b).Get(path...)
				paths, values = append(paths, path), append(values, rapid.SampledFrom([]dynamic.Node{v.Node, {}}).Draw(rt, "x"))
			}
		}
		checkChanging(rt, d.NewValue(typ, damaged), paths, values)
		checkChanging(rt, dynamic.Value{Node: d.NewNode(thriftwire.Struct, damaged)}, paths, values)
	})
}

func TestRandomCompactMessagesBecomeGoValuesAndReturn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d, typ, model, b, _ := randomTwins(rt)
		x, err := d.NewValue(typ, b).Any()
		if err != nil {
			rt.Fatal(err)
		}
		back, err := d.AppendAny([]byte("kept"), typ, x)
		if err != nil {
			rt.Fatalf("%v: %v", x, err)
		}
		got, n, err := conform.Decode(d.model, typ, back[4:], conform.Rules{})
		if err != nil || n != len(back)-4 || conform.Format(typ, got) != conform.Format(typ, model) {
			rt.Fatalf("%v became %x (%v)", x, back, err)
		}
	})
}

func TestCompactMessagesAreFilteredAsTheirBinaryTwins(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d, typ, model, b, twin := randomTwins(rt)
		p := rapid.SampledFrom(places(typ, model, nil, 4)).Draw(rt, "place")
		path, err := dynamic.Compile(typ, p.path...)
		if err != nil {
			rt.Fatal(err)
		}
		dropped := rapid.SliceOfN(rapid.Bool(), 32, 32).Draw(rt, "dropped")
		keep := func(it *dynamic.Iterator) bool { return !dropped[it.Index()%len(dropped)] }
		want, wantErr := path.AppendFilter(nil, dynamic.NewValue(typ, twin).Node, keep)
		got, err := path.AppendFilter(nil, d.NewValue(typ, b).Node, keep)
		if !sameFault(err, wantErr) {
			rt.Fatalf("%v, but the twin: %v", err, wantErr)
		}
		if err != nil {
			return
		}
		if native := inProtocol(rt, dynamic.NewNode(thriftwire.Struct, want), d.Protocol); !bytes.Equal(got, native.Raw()) {
			rt.Fatalf("%x became %x, want %x", b, got, native.Raw())
		}
	})
}

// A header that follows a field which is left out, moved or added has the
// distance to what stands before it now.
func TestCompactHeadersFollowWhatStandsBeforeThem(t *testing.T) {
	// 1: i8, 2: bool, 9: bool, 30: i8
	b := []byte("\x13\x07\x11\x72\x03\x3c\x08\x00")
	f := dynamic.Field
	for _, c := range []struct {
		what  string
		paths [][]dynamic.Step
		x     []dynamic.Node
		want  string
	}{
		{"the first left out", [][]dynamic.Step{{f(1)}}, make([]dynamic.Node, 1), "\x21\x72\x03\x3c\x08\x00"},
		{"two in the middle left out", [][]dynamic.Step{{f(2)}, {f(9)}}, make([]dynamic.Node, 2), "\x13\x07\x03\x3c\x08\x00"},
		{"the last left out", [][]dynamic.Step{{f(30)}}, make([]dynamic.Node, 1), "\x13\x07\x11\x72\x00"},
		{"a bool changed", [][]dynamic.Step{{f(9)}}, []dynamic.Node{dynamic.NewBool(true)}, "\x13\x07\x11\x71\x03\x3c\x08\x00"},
		{"a bool for a number", [][]dynamic.Step{{f(1)}}, []dynamic.Node{dynamic.NewBool(false)}, "\x12\x11\x72\x03\x3c\x08\x00"},
		{"one left out, the next changed", [][]dynamic.Step{{f(1)}, {f(2)}}, []dynamic.Node{{}, dynamic.NewI16(-1)}, "\x24\x01\x72\x03\x3c\x08\x00"},
		{"fields added", [][]dynamic.Step{{f(31)}, {f(5)}}, []dynamic.Node{dynamic.NewBool(true), dynamic.NewI8(1)}, "\x13\x07\x11\x72\x03\x3c\x08\x03\x0a\x01\x01\x3e\x00"},
	} {
		set, err := dynamic.CompileAll(nil, c.paths...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := set.AppendSet(nil, dynamic.Compact.NewNode(thriftwire.Struct, b), c.x)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %x, %v, want %x", c.what, got, err, c.want)
		}
	}
}

// The head of a list takes one byte up to 14 elements, and that of a map one if
// it is empty.
func TestCompactHeadsOfContainersGrowAndShrink(t *testing.T) {
	end, list := dynamic.End(), compact.Apache.AppendList(nil, thriftwire.I8, 14)
	list = append(list, make([]byte, 14)...)
	n := dynamic.Compact.NewNode(thriftwire.List, list)
	longer, err := n.AppendSet(nil, dynamic.NewI8(9), end)
	if want := "\xf3\x0f" + string(make([]byte, 14)) + "\x09"; err != nil || string(longer) != want {
		t.Errorf("%x, %v", longer, err)
	}
	shorter, err := dynamic.Compact.NewNode(thriftwire.List, longer).AppendDelete(nil, dynamic.Index(14))
	if err != nil || !bytes.Equal(shorter, list) {
		t.Errorf("%x, %v", shorter, err)
	}
	empty := dynamic.Compact.NewNode(thriftwire.Map, []byte{0})
	filled, err := empty.AppendSet(nil, dynamic.NewBool(true), dynamic.Key("k"))
	if err != nil || string(filled) != "\x01\x81\x01k\x01" {
		t.Errorf("%x, %v", filled, err)
	}
	again, err := dynamic.Compact.NewNode(thriftwire.Map, filled).AppendDelete(nil, dynamic.Key("k"))
	if err != nil || string(again) != "\x00" {
		t.Errorf("%x, %v", again, err)
	}
	if _, err := empty.AppendSet(nil, dynamic.NewBool(true), dynamic.IntKey(1)); diag.CodeOf(err) != diag.NotFound {
		t.Errorf("a key of unknown width: %v", err)
	}
}

func TestWhatADialectDoesNotHaveIsRefused(t *testing.T) {
	for _, c := range []struct {
		p   dynamic.Protocol
		typ *schema.Type
		x   dynamic.Node
		any any
	}{
		{dynamic.Compact, schema.Basic(schema.Float), dynamic.NewFloat(1), float32(1)},
		{dynamic.CompactFBThrift, tUUID, dynamic.NewUUID([16]byte{1}), [16]byte{1}},
	} {
		holder := structOf("Holder", field(1, "one", c.typ), field(2, "many", schema.ListOf(c.typ)), field(3, "byKey", schema.MapOf(c.typ, tBool)), field(4, "truth", tBool))
		n := c.p.NewValue(holder.Type(), []byte{0})
		for _, path := range []string{"one", "many[$]"} {
			steps, _ := dynamic.ParsePath(path)
			if _, err := n.AppendSet(nil, c.x, steps...); diag.CodeOf(err) != diag.Unsupported {
				t.Errorf("%s of %s: %v", path, c.p, err)
			}
		}
		if _, err := n.AppendSet(nil, dynamic.NewBool(true), dynamic.Name("byKey"), dynamic.NodeKey(c.x)); diag.CodeOf(err) != diag.Unsupported {
			t.Errorf("a key in %s: %v", c.p, err)
		}
		for _, x := range []any{map[string]any{"one": c.any}, map[string]any{"many": []any{c.any}}, map[string]any{"byKey": map[any]any{c.any: true}}} {
			if _, err := c.p.AppendAny(nil, holder.Type(), x); diag.CodeOf(err) != diag.Unsupported {
				t.Errorf("%v in %s: %v", x, c.p, err)
			}
		}
		b, err := c.p.AppendAny(nil, holder.Type(), map[string]any{"many": []any{}, "byKey": map[any]any{}, "truth": true})
		if v, anyErr := c.p.NewValue(holder.Type(), b).Any(); err != nil || anyErr != nil || len(v.(map[string]any)) != 3 {
			t.Errorf("empty containers in %s: %x, %v, %v", c.p, b, v, err)
		}
		if _, err := c.x.AppendIn(nil, c.p); diag.CodeOf(err) != diag.Unsupported {
			t.Errorf("brought into %s: %v", c.p, err)
		}
	}
	if _, err := dynamic.Compact.NewNode(thriftwire.Struct, []byte{0}).AppendSet(nil, dynamic.Compact.NewNode(thriftwire.Bool, []byte{7}), dynamic.Field(1)); diag.CodeOf(err) != diag.InvalidValue {
		t.Errorf("a bool of 7: %v", err)
	}
}

// FuzzCompactPaths follows any path into any bytes of the compact protocols,
// and sets any value there.
func FuzzCompactPaths(f *testing.F) {
	seed := func(b []byte) []byte {
		out, err := dynamic.NewNode(thriftwire.Struct, b).AppendIn(nil, dynamic.Compact)
		if err != nil {
			f.Fatal(err)
		}
		return out
	}
	f.Add(seed(simpleMessage()), "i64Field", "6", []byte("\x00\x00\x00\x01a"), byte(thriftwire.String), false)
	f.Add(seed(nestingMessage()), `mapStringSimple["3"].binaryField`, `listSimple[3].1`, []byte{1}, byte(thriftwire.I8), false)
	f.Add([]byte{0}, `mapI64String[7]`, `listI32[$]`, []byte{0, 0, 0, 1}, byte(thriftwire.I32), true)
	f.Add([]byte("\x0b\x36\x01\xc8\x00\x01a\x00"), `27[#12:00]`, `byDouble[1.5]`, []byte{}, byte(0), true)
	f.Add([]byte("\x11\x12\x03\x3c\x08\x00"), `1`, `2`, []byte{1}, byte(thriftwire.Bool), true)
	f.Fuzz(func(t *testing.T, b []byte, text1, text2 string, x []byte, typ byte, fb bool) {
		one, err1 := dynamic.ParsePath(text1)
		two, err2 := dynamic.ParsePath(text2)
		if err1 != nil || err2 != nil {
			return
		}
		d := dialects[0]
		if fb {
			d = dialects[1]
		}
		paths := [][]dynamic.Step{one, two}
		for _, def := range []*schema.StructDef{shop, simple, nesting, nil} {
			c := dynamic.Value{Node: d.NewNode(thriftwire.Struct, b)}
			if def != nil {
				c = d.NewValue(def.Type(), b)
			}
			checkReading(t, c, paths)
			checkChanging(t, c, paths, []dynamic.Node{dynamic.NewNode(thriftwire.Type(typ), x), {}})
		}
	})
}

func TestEveryKindOfKeyIsWrittenAndFoundInCompactMaps(t *testing.T) {
	id := []byte("0123456789abcdef")
	origin := of(t, point.Type(), "{x: 1}").Node
	for _, c := range []struct {
		name string
		key  dynamic.Step
		x    dynamic.Node
	}{
		{"byString", dynamic.Key("k"), dynamic.NewI32(-7)},
		{"byInt", dynamic.IntKey(-1 << 40), dynamic.NewString("s")},
		{"byBool", dynamic.BoolKey(true), dynamic.NewI8(1)},
		{"byBool", dynamic.NodeKey(dynamic.NewBool(false)), dynamic.NewI8(1)},
		{"byDouble", dynamic.DoubleKey(1.5), dynamic.NewI8(1)},
		{"byColor", dynamic.IntKey(2), dynamic.NewI8(1)},
		{"byBinary", dynamic.BinaryKey([]byte{0, 255}), dynamic.NewI8(1)},
		{"byUUID", dynamic.BinaryKey(id), dynamic.NewI8(1)},
		{"byPoint", dynamic.NodeKey(origin), dynamic.NewString("p")},
		{"byPoints", dynamic.IntKey(3), dynamic.NewNode(thriftwire.List, []byte("\x0c\x00\x00\x00\x01\x00"))},
	} {
		for _, d := range dialects {
			if c.name == "byUUID" && d.Protocol == dynamic.CompactFBThrift {
				continue
			}
			path := []dynamic.Step{dynamic.Name(c.name), c.key}
			want, err := dynamic.NewValue(shop.Type(), []byte{0}).AppendSet(nil, c.x, path...)
			if err != nil {
				t.Fatal(err)
			}
			native := inProtocol(t, dynamic.NewNode(thriftwire.Struct, want), d.Protocol).Raw()
			got, err := d.NewValue(shop.Type(), []byte{0}).AppendSet(nil, c.x, path...)
			if err != nil || !bytes.Equal(got, native) {
				t.Errorf("%s %v in %s: %x, %v, want %x", c.name, c.key, d, got, err, native)
			}
			var tree dynamic.Tree
			if err := tree.Load(d.NewValue(shop.Type(), native)); err != nil {
				t.Fatal(err)
			}
			part := tree.Root().Get(path...)
			found, err := part.Value()
			if err != nil || !bytes.Equal(inBinary(t, found.Node), c.x.Raw()) {
				t.Errorf("in a tree %v is %x, %v", c.key, found.Raw(), err)
			}
			if err := part.Remove(); err != nil {
				t.Fatal(err)
			}
			if _, err := tree.Root().Get(path[0]).Put(c.key, c.x); err != nil || !bytes.Equal(written(t, &tree), native) {
				t.Errorf("put into a tree: %x, %v", written(t, &tree), err)
			}
			if found, err := d.NewValue(shop.Type(), got).Get(path...); err != nil || !bytes.Equal(inBinary(t, found.Node), c.x.Raw()) {
				t.Errorf("%v is %x, %v", c.key, found.Raw(), err)
			}
		}
	}
}

// A set of paths holds keys that are values in every protocol, so that following
// it needs no memory.
func TestKeysThatAreValuesNeedNoMemoryInSetsOfPaths(t *testing.T) {
	twin := of(t, shop.Type(), `{byPoint: {{x: 1}: "p", {x: 2}: "q"}}`)
	set, err := dynamic.CompileAll(shop.Type(), []dynamic.Step{dynamic.Name("byPoint"), dynamic.NodeKey(of(t, point.Type(), "{x: 2}").Node)})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]dynamic.Value, 1)
	for _, p := range []dynamic.Protocol{dynamic.Binary, dynamic.Compact, dynamic.CompactFBThrift} {
		n := inProtocol(t, twin.Node, p)
		if n := allocations(func() { err = set.Get(n, out) }); n != 0 {
			t.Errorf("%s: %v allocations", p, n)
		}
		if text, textErr := out[0].Text(); err != nil || textErr != nil || text != "q" {
			t.Errorf("%s: %q, %v, %v", p, text, err, textErr)
		}
	}
}

// Other writers pad varints and have 0 for false. A key that is a value leads to
// them as it does to the shortest form.
func TestKeysAreFoundInEveryFormThatTheyMayHave(t *testing.T) {
	for _, c := range []struct {
		in  string
		key dynamic.Node
	}{
		{"\x01\x53\x82\x80\x00\x07", dynamic.NewI32(1)},
		{"\x01\x13\x00\x07", dynamic.NewBool(false)},
		{"\x01\x83\x81\x00k\x07", dynamic.NewString("k")},
		{"\x01\x13\x02\x07", dynamic.Compact.NewNode(thriftwire.Bool, []byte{0})},
	} {
		n := dynamic.Compact.NewNode(thriftwire.Map, []byte(c.in))
		v, err := n.Get(dynamic.NodeKey(c.key))
		if x, _ := v.Int(); err != nil || x != 7 {
			t.Errorf("%x in %x: %v, %v", c.key.Raw(), c.in, v, err)
		}
	}
}

func TestAnUnknownProtocolGivesFaultsOnly(t *testing.T) {
	p := dynamic.Protocol(9)
	b := inProtocol(t, dynamic.NewNode(thriftwire.Struct, nestingMessage()), dynamic.Compact).Raw()
	v := p.NewValue(nesting.Type(), b)
	paths := [][]dynamic.Step{{dynamic.Field(2), dynamic.Index(1)}, {dynamic.Field(15), dynamic.Key("1")}, {dynamic.Field(9), dynamic.NodeKey(dynamic.NewI32(1))}}
	everything(t, v, paths)
	if diag.CodeOf(v.Check()) != diag.InvalidType {
		t.Error(v.Check())
	}
	if _, err := dynamic.NewBool(true).AppendIn(nil, p); err == nil {
		t.Error("a bool in an unknown protocol")
	}
	var tree dynamic.Tree
	if err := tree.Load(p.NewValue(nesting.Type(), []byte{0})); diag.CodeOf(err) != diag.Unsupported {
		t.Errorf("a tree: %v", err)
	}
	if _, err := p.NewValue(nesting.Type(), []byte{0}).AppendSet(nil, dynamic.NewI8(1), dynamic.Field(14)); diag.CodeOf(err) != diag.Unsupported {
		t.Errorf("a change: %v", err)
	}
	if _, err := p.AppendAny(nil, nesting.Type(), map[string]any{"i32": 1}); err == nil {
		t.Error("a message in an unknown protocol")
	}
}
