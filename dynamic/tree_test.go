package dynamic_test

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"pgregory.net/rapid"
)

// This file holds trees: loaded, changed and written back.

// loads are the two ways to fill a tree.
var loads = map[string]func(*dynamic.Tree, dynamic.Value) error{"loaded": (*dynamic.Tree).Load, "opened": (*dynamic.Tree).Open}

func written(t interface{ Fatal(...any) }, tree *dynamic.Tree) []byte {
	b, err := tree.Append([]byte("kept"))
	if err != nil || string(b[:4]) != "kept" {
		t.Fatal(string(b), err)
	}
	return b[4:]
}

func TestATreeOfARandomMessageHasEveryPart(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		typ, model, b := randomMessage(rt)
		for how, load := range loads {
			var tree dynamic.Tree
			if err := load(&tree, dynamic.NewValue(typ, append(b, "rest"...))); err != nil {
				rt.Fatal(err)
			}
			all := places(typ, model, nil, 4)
			for _, p := range all[:min(len(all), 100)] {
				item := tree.Root().Get(p.path...)
				v, err := item.Value()
				if err != nil || !bytes.Equal(v.Raw(), binary(p.typ, p.value)) || v.Type() != p.typ || item.Type() != p.typ {
					rt.Fatalf("%s: %v is %x, %v", how, p.path, v.Raw(), err)
				}
				if n := len(p.value.Fields) + len(p.value.List) + len(p.value.Map); item.Len() != n {
					rt.Fatalf("%s: %v has %d parts, not %d", how, p.path, item.Len(), n)
				}
			}
			if !bytes.Equal(written(rt, &tree), b) {
				rt.Fatalf("%s: written as %x", how, written(rt, &tree))
			}
		}
	})
}

func TestARandomTreeIsChangedAsTheModelIs(t *testing.T) {
	var tree dynamic.Tree // one for all, so that nothing may stay behind
	rapid.Check(t, func(rt *rapid.T) {
		typ, model, b := randomMessage(rt)
		load := loads[rapid.SampledFrom([]string{"loaded", "opened"}).Draw(rt, "how")]
		if err := load(&tree, dynamic.NewValue(typ, b)); err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 6).Draw(rt, "changes") {
			all := places(typ, model, nil, 4)[1:]
			if len(all) == 0 {
				return
			}
			p := rapid.SampledFrom(all).Draw(rt, "place")
			item := tree.Root().Get(p.path...)
			parent := tree.Root().Get(p.path[:len(p.path)-1]...)
			if item.Parent() != parent {
				rt.Fatalf("the parent of %v is another", p.path)
			}
			switch rapid.IntRange(0, 2).Draw(rt, "change") {
			case 0:
				if err := item.Remove(); err != nil {
					rt.Fatal(err)
				}
				model = changed(typ, model, p.path, nil)
			case 1:
				x := conform.Value(rt, p.typ, 3)
				if err := item.Set(dynamic.NewNode(conform.Wire(p.typ), binary(p.typ, x))); err != nil {
					rt.Fatal(err)
				}
				model = changed(typ, model, p.path, x)
			default: // to the end, by removing and adding
				v, err := item.Value()
				if err != nil {
					rt.Fatal(err)
				}
				step := p.path[len(p.path)-1]
				if err := item.Remove(); err != nil {
					rt.Fatal(err)
				}
				model = changed(typ, model, p.path, nil)
				if parent.WireType() == thriftwire.List || parent.WireType() == thriftwire.Set {
					step = dynamic.End()
				}
				if added, err := parent.Put(step, v.Node); err != nil || added != parent.Last() {
					rt.Fatal(err)
				}
				model = appended(typ, model, p)
			}
			if got, want := written(rt, &tree), binary(typ, model); !bytes.Equal(got, want) {
				rt.Fatalf("%x, want %x", got, want)
			}
		}
	})
}

// appended is a copy of the model's value with a part added after its siblings.
func appended(t *schema.Type, v *schema.Value, p place) *schema.Value {
	parent := place{path: p.path[:len(p.path)-1]}
	for _, q := range places(t, v, nil, len(parent.path)) {
		if slices.Equal(q.path, parent.path) {
			parent = q
		}
	}
	c := *parent.value
	last := p.path[len(p.path)-1]
	switch parent.typ.Kind() {
	case schema.Struct:
		for _, f := range parent.typ.Struct().Fields() {
			if dynamic.Field(int16(f.ID())) == last {
				c.Fields = append(slices.Clone(c.Fields), schema.FieldValue{Field: f, Value: p.value})
			}
		}
	case schema.Map:
		c.Map = append(slices.Clone(c.Map), schema.MapEntry{Key: keyOf(parent.typ.Key(), last), Value: p.value})
	default:
		c.List = append(slices.Clone(c.List), p.value)
	}
	return changed(t, v, parent.path, &c)
}

// keyOf is the model's key that a step leads to.
func keyOf(t *schema.Type, s dynamic.Step) *schema.Value {
	holder := schema.MapOf(t, tI8)
	b, err := dynamic.NewValue(holder, []byte{byte(conform.Wire(t)), 3, 0, 0, 0, 0}).AppendSet(nil, dynamic.NewI8(0), s)
	if err != nil {
		panic(err)
	}
	outer := structOf("Holder", field(1, "m", holder))
	v, _, err := conform.Decode(conform.Binary, outer.Type(), append(append([]byte("\x0d\x00\x01"), b...), 0), conform.Rules{})
	if err != nil {
		panic(err)
	}
	return v.Fields[0].Value.Map[0].Key
}

func orders(t *testing.T, tree *dynamic.Tree) dynamic.Item {
	t.Helper()
	if err := tree.Load(of(t, shop.Type(), `{name: "n", points: [{x: 3, y: 1}, {x: 1}, {x: 2, y: 1}, {x: 1, y: 1}], list: [4, 5], byString: {"a": 1}}`)); err != nil {
		t.Fatal(err)
	}
	return tree.Root().Get(dynamic.Name("points"))
}

func x(i dynamic.Item) int64 {
	v, _ := i.Get(dynamic.Name("x")).Value()
	n, _ := v.Int()
	return n
}

func TestElementsAreSortedFilteredMovedAndMerged(t *testing.T) {
	var tree, other dynamic.Tree
	show := func() string {
		v, err := tree.Root().Get(dynamic.Name("points")).Value()
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(shown(t, v), ": ", "")
	}
	for _, c := range []struct {
		what string
		do   func(points dynamic.Item) error
		want string
	}{
		{"sorted, equal ones as they stood", func(p dynamic.Item) error {
			p.Sort(func(a, b dynamic.Item) int { return cmp.Compare(x(a), x(b)) })
			return nil
		}, "[{x1}, {x1, y1}, {x2, y1}, {x3, y1}]"},
		{"filtered", func(p dynamic.Item) error {
			if n := p.Filter(func(i dynamic.Item) bool { return i.Get(dynamic.Name("y")).Exists() }); n != 1 {
				t.Error(n)
			}
			return nil
		}, "[{x3, y1}, {x2, y1}, {x1, y1}]"},
		{"all filtered out", func(p dynamic.Item) error {
			p.Filter(func(dynamic.Item) bool { return false })
			return nil
		}, "[]"},
		{"the first to the end", func(p dynamic.Item) error { return p.First().MoveBefore(dynamic.Item{}) }, "[{x1}, {x2, y1}, {x1, y1}, {x3, y1}]"},
		{"the last to the front", func(p dynamic.Item) error { return p.Last().MoveBefore(p.First()) }, "[{x1, y1}, {x3, y1}, {x1}, {x2, y1}]"},
		{"before itself", func(p dynamic.Item) error { return p.Last().MoveBefore(p.Last()) }, "[{x3, y1}, {x1}, {x2, y1}, {x1, y1}]"},
		{"into the middle", func(p dynamic.Item) error { return p.First().MoveBefore(p.Get(dynamic.Index(2))) }, "[{x1}, {x3, y1}, {x2, y1}, {x1, y1}]"},
		{"merged", func(p dynamic.Item) error {
			if err := other.Open(of(t, shop.Type(), `{points: [{x: 9}, {x: 8}]}`)); err != nil {
				t.Fatal(err)
			}
			return p.Merge(other.Root().Get(dynamic.Name("points")))
		}, "[{x3, y1}, {x1}, {x2, y1}, {x1, y1}, {x9}, {x8}]"},
		{"put in gaps", func(p dynamic.Item) error {
			_, err1 := p.Put(dynamic.Before(0), of(t, point.Type(), "{x: 5}").Node)
			_, err2 := p.Put(dynamic.Before(5), of(t, point.Type(), "{x: 6}").Node)
			_, err3 := p.Put(dynamic.Index(2), of(t, point.Type(), "{x: 7}").Node)
			return cmp.Or(err1, err2, err3)
		}, "[{x5}, {x3, y1}, {x7}, {x2, y1}, {x1, y1}, {x6}]"},
	} {
		if err := c.do(orders(t, &tree)); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if got := show(); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		if err := dynamic.NewValue(shop.Type(), written(t, &tree)).Check(); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func TestMergedStructsAndMapsTakeTheOthersParts(t *testing.T) {
	var a, b dynamic.Tree
	if err := a.Load(of(t, shop.Type(), `{i8: 1, byString: {"a": 1, "b": 2}, byPoint: {{x: 1}: "p"}}`)); err != nil {
		t.Fatal(err)
	}
	if err := b.Load(of(t, shop.Type(), `{i8: 2, i16: 3, byString: {"b": 4, "c": 5}, byPoint: {{x: 1}: "q"}}`)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"byString", "byPoint"} {
		if err := a.Root().Get(dynamic.Name(name)).Merge(b.Root().Get(dynamic.Name(name))); err != nil {
			t.Fatal(err)
		}
		if err := b.Root().Get(dynamic.Name(name)).Remove(); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Root().Merge(b.Root()); err != nil {
		t.Fatal(err)
	}
	if got := shown(t, dynamic.NewValue(shop.Type(), written(t, &a))); got != `{i8: 2, i16: 3, byString: {"a": 1, "b": 4, "c": 5}, byPoint: {{x: 1}: "q"}}` {
		t.Error(got)
	}
}

func TestATreeRefusesWhatCannotBe(t *testing.T) {
	var tree, other dynamic.Tree
	root := orders(t, &tree).Parent()
	must := func(what string, err error, code diag.Code) {
		t.Helper()
		if diag.CodeOf(err) != code {
			t.Errorf("%s: %v, want %s", what, err, code)
		}
	}
	name, list := root.Get(dynamic.Name("name")), root.Get(dynamic.Name("list"))
	must("a field of another type", name.Set(dynamic.NewI8(1)), diag.TypeMismatch)
	must("an element of another type", list.First().Set(dynamic.NewI8(1)), diag.TypeMismatch)
	must("half a value", name.Set(dynamic.NewNode(thriftwire.String, []byte{0})), diag.InvalidValue)
	must("nothing", name.Set(dynamic.Node{}), diag.NotFound)
	put := func(i dynamic.Item, s dynamic.Step, n dynamic.Node) error { _, err := i.Put(s, n); return err }
	must("an index beyond the end", put(list, dynamic.Index(2), dynamic.NewI16(1)), diag.OutOfRange)
	must("a gap beyond the end", put(list, dynamic.Before(3), dynamic.NewI16(1)), diag.OutOfRange)
	must("a part of a string", put(name, dynamic.Index(0), dynamic.NewI16(1)), diag.TypeMismatch)
	must("an unknown field", put(root, dynamic.Name("none"), dynamic.NewI16(1)), diag.UnknownField)
	must("a key of another type", put(root.Get(dynamic.Name("byString")), dynamic.IntKey(1), dynamic.NewI32(1)), diag.TypeMismatch)
	if byPoint, err := root.Put(dynamic.Name("byPoint"), dynamic.NewNode(thriftwire.Map, []byte("\x0c\x0b\x00\x00\x00\x00"))); err != nil {
		t.Error(err)
	} else {
		must("a key that is not whole", put(byPoint, dynamic.NodeKey(dynamic.NewNode(thriftwire.Struct, []byte{8, 0})), dynamic.NewString("p")), diag.InvalidValue)
	}
	must("the whole removed", root.Remove(), diag.NotFound)
	must("moved elsewhere", name.MoveBefore(list.First()), diag.InvalidValue)
	must("merged with another kind", list.Merge(root), diag.TypeMismatch)
	must("an empty tree", other.Root().Set(dynamic.NewI8(1)), diag.NotFound)
	_, err := other.Append(nil)
	must("an empty tree written", err, diag.NotFound)
	if err := name.Remove(); err != nil {
		t.Error(err)
	}
	must("removed twice", name.Remove(), diag.NotFound)
	if tree.Root().Get(dynamic.Name("name")).Exists() || root.Get(dynamic.Name("none")).Exists() || list.Get(dynamic.Key("a")).Exists() || name.First().Exists() {
		t.Error("what is not there exists")
	}
	tree.Reset()
	if root.Exists() || list.Exists() || list.Next().Exists() || list.Len() != 0 || list.Key().Exists() {
		t.Error("an item outlived its tree")
	}
	must("a damaged message", tree.Load(dynamic.NewValue(shop.Type(), []byte{8, 0})), diag.UnexpectedEOF)
	must("a damaged message", tree.Open(dynamic.NewValue(shop.Type(), []byte{8, 0})), diag.UnexpectedEOF)
	must("nothing", tree.Load(dynamic.Value{}), diag.NotFound)
}

func TestDefectATreeTrustsTheFieldTable(t *testing.T) {
	var tree dynamic.Tree
	b := thriftwire.AppendString(thriftwire.AppendField(nil, thriftwire.String, 2), "12345678")
	if err := tree.Load(dynamic.NewValue(simple.Type(), thriftwire.AppendStop(b))); err != nil {
		t.Fatal(err)
	}
	first := tree.Root().First()
	if first.Type() != nil || tree.Root().Get(dynamic.Name("i64Field")).Exists() {
		t.Error("a string is taken for an i64")
	}
	if err := first.Set(dynamic.NewString("x")); diag.CodeOf(err) != diag.TypeMismatch {
		t.Error(err)
	}
	if part, err := tree.Root().Put(dynamic.Name("i64Field"), dynamic.NewI64(5)); err != nil || part != first || tree.Root().Len() != 1 {
		t.Error(err)
	}
	if got := shown(t, dynamic.NewValue(simple.Type(), written(t, &tree))); got != `{i64Field: 5}` {
		t.Error(got)
	}
}

func TestATreeOfManyLevelsIsRefusedOrWrittenWithinTheLimit(t *testing.T) {
	deep := func(levels int) []byte {
		return []byte(strings.Repeat("\x0c\x00\x01", levels) + strings.Repeat("\x00", levels+1))
	}
	var tree dynamic.Tree
	if err := tree.Load(dynamic.Value{Node: dynamic.NewNode(thriftwire.Struct, deep(100_000))}); diag.CodeOf(err) != diag.DepthLimit {
		t.Error(err)
	}
	if err := tree.Load(dynamic.Value{Node: dynamic.NewNode(thriftwire.Struct, deep(1000))}); err != nil {
		t.Fatal(err)
	}
	bottom := tree.Root()
	for bottom.First().Exists() {
		bottom = bottom.First()
	}
	for range 2 {
		if _, err := bottom.Put(dynamic.Field(1), dynamic.NewNode(thriftwire.Struct, deep(1000))); err != nil {
			t.Fatal(err)
		}
		for bottom.First().Exists() {
			bottom = bottom.First()
		}
	}
	if _, err := tree.Append(nil); diag.CodeOf(err) != diag.DepthLimit {
		t.Error(err)
	}
}

func TestDamagedMessagesGiveATreeOrAFault(t *testing.T) {
	var tree dynamic.Tree
	rapid.Check(t, func(rt *rapid.T) {
		typ, _, b := randomMessage(rt)
		damaged := conform.Damaged(rt, b)
		v := dynamic.NewValue(typ, damaged)
		loadErr, openErr := tree.Load(v), error(nil)
		if loadErr != nil {
			checkIsFault(rt, loadErr, len(damaged))
		} else if got := written(rt, &tree); !bytes.Equal(got, damaged[:len(got)]) {
			rt.Fatalf("%x was written as %x", damaged, got)
		}
		if openErr = tree.Open(v); (openErr == nil) != (loadErr == nil) {
			rt.Fatalf("loaded: %v, opened: %v", loadErr, openErr)
		}
	})
}

// FuzzTree loads any bytes and runs any changes on them, given as a program:
// each byte is a choice.
func FuzzTree(f *testing.F) {
	f.Add(simpleMessage(), []byte("walk and change"), false)
	f.Add(nestingMessage(), []byte{1, 0, 3, 1, 4, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9}, true)
	f.Fuzz(func(t *testing.T, b, program []byte, open bool) {
		if len(program) > 64 {
			return
		}
		for _, d := range []*schema.StructDef{nil, nesting, shop} {
			v := dynamic.Value{Node: dynamic.NewNode(thriftwire.Struct, b)}
			if d != nil {
				v = dynamic.NewValue(d.Type(), b)
			}
			var tree dynamic.Tree
			load := tree.Load
			if open {
				load = tree.Open
			}
			if load(v) != nil {
				return
			}
			item := tree.Root()
			for _, c := range program {
				item = step(&tree, item, c)
			}
			out, err := tree.Append(nil)
			if err != nil {
				checkIsFault(t, err, len(b))
			} else if err := dynamic.NewNode(tree.Root().WireType(), out).Check(); err != nil {
				t.Fatalf("%x became %x: %v", b, out, err)
			}
		}
	})
}

// step does one thing to a tree and returns the item to go on with. Errors are
// fine; what the tree is in the end is what counts.
func step(tree *dynamic.Tree, item dynamic.Item, c byte) dynamic.Item {
	if !item.Exists() {
		item = tree.Root()
	}
	values := []dynamic.Node{dynamic.NewI8(1), dynamic.NewI32(7), dynamic.NewString("s"), dynamic.NewNode(thriftwire.List, []byte("\x03\x00\x00\x00\x01_")), {}}
	value := values[int(c>>4)%len(values)]
	switch c & 15 {
	case 0, 1, 2:
		return item.First()
	case 3, 4:
		return item.Next()
	case 5:
		return item.Parent()
	case 6:
		_ = item.Remove()
	case 7:
		_ = item.Set(value)
	case 8:
		_, _ = item.Put(dynamic.End(), value)
	case 9:
		_, _ = item.Put(dynamic.Field(int16(c>>4)), value)
	case 10:
		_, _ = item.Put(dynamic.Key("k"), value)
	case 11:
		switch c >> 4 {
		case 0, 1, 2, 3:
			_ = item.MoveBefore(item.Next().Next())
		case 4, 5, 6, 7:
			_ = item.MoveRange(item.First(), item.First().Next(), item.Last())
		case 8, 9:
			_ = item.Parent().MoveRange(item, item.Parent().Last(), item.Parent().First())
		case 10, 11:
			_, _ = item.Take(dynamic.End(), item.Parent().Last())
		case 12:
			_, _ = item.Parent().Take(dynamic.Before(0), item)
		default:
			item.Rotate(int(c>>4) - 14)
		}
	case 12:
		item.Sort(func(a, b dynamic.Item) int { return cmp.Compare(b.ID(), a.ID()) })
	case 13:
		item.Filter(func(i dynamic.Item) bool { return i.Next().Exists() })
	case 14:
		_ = item.Merge(item.Parent().First())
	default:
		_, _ = item.Put(dynamic.Before(int(c>>4)), value)
	}
	return item
}
