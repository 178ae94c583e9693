package protobuf_test

import (
	"cmp"
	"fmt"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/dynamic/protobuf"
	"github.com/thrum-rpc/thrum/schema"
)

// treeAny is what a tree holds, as Any shows it.
func treeAny(t *testing.T, i protobuf.Item) any {
	t.Helper()
	count := 0
	switch i.Type().Kind() {
	case schema.Struct:
		out := map[string]any{}
		for part := i.First(); part.Exists(); part = part.Next() {
			count++
			f := part.Field()
			if f == nil {
				continue
			}
			if f.ID() != part.ID() || part.Type() != f.Type() || part.Parent() != i {
				t.Errorf("%v is %v of type %v", f, part.ID(), part.Type())
			}
			v := treeAny(t, part)
			if m, ok := v.(map[any]any); ok && len(m) == 0 {
				continue
			}
			if l, ok := v.([]any); ok && len(l) == 0 {
				continue
			}
			out[f.Name()] = v
		}
		if i.Len() != count {
			t.Errorf("%d parts, Len is %d", count, i.Len())
		}
		return out
	case schema.List:
		out := []any{}
		for part := i.First(); part.Exists(); part = part.Next() {
			out = append(out, treeAny(t, part))
			if part.Next() == (protobuf.Item{}) && i.Last() != part {
				t.Error("the last part is not Last")
			}
		}
		return out
	case schema.Map:
		out := map[any]any{}
		for part := i.First(); part.Exists(); part = part.Next() {
			k, err := part.Key().Any()
			if err != nil {
				t.Error(err)
			}
			if _, twice := out[k]; twice {
				t.Errorf("the key %v stands twice", k)
			}
			out[k] = treeAny(t, part)
		}
		return out
	}
	v, err := i.Value()
	if err != nil {
		t.Error(err)
	}
	x, err := v.Any()
	if err != nil {
		t.Error(err)
	}
	return x
}

// loaded returns a tree of v, loaded or opened.
func loaded(t *testing.T, tree *protobuf.Tree, v protobuf.Value, open bool) protobuf.Item {
	t.Helper()
	load := tree.Load
	if open {
		load = tree.Open
	}
	if err := load(v); err != nil {
		t.Fatal(err)
	}
	return tree.Root()
}

func TestATreeHoldsWhatGooglesLibraryReads(t *testing.T) {
	var tree protobuf.Tree
	each(t, 80, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		v := protobuf.NewValue(typ, b)
		want := show(mustParse(t, md, b))
		for _, open := range []bool{false, true} {
			root := loaded(t, &tree, v, open)
			if out, err := tree.Append(nil); err != nil || string(out) != string(b) {
				t.Errorf("unchanged it becomes %x, %v", out, err)
			}
			if got := fmt.Sprintf("%#v", withoutZeros(treeAny(t, root), typ)); got != want {
				t.Errorf("open %t: got %s\nwant %s", open, got, want)
			}
			// Written anew everywhere.
			var touch func(i protobuf.Item)
			touch = func(i protobuf.Item) {
				i.Sort(func(a, b protobuf.Item) int { return 0 })
				for part := i.First(); part.Exists(); part = part.Next() {
					touch(part)
				}
			}
			touch(root)
			out, err := tree.Append([]byte("kept"))
			if err != nil || string(out[:4]) != "kept" {
				t.Errorf("%x, %v", out, err)
				return
			}
			if got := show(mustParse(t, md, out[4:])); got != want {
				t.Errorf("rewritten: got %s\nwant %s\nbytes %x", got, want, out[4:])
			}
			unknownKept(t, md, b, out[4:])
		}
	})
}

func TestPuttingChangesATree(t *testing.T) {
	var tree protobuf.Tree
	each(t, 40, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		v := protobuf.NewValue(typ, b)
		before := content(mustParse(t, md, b))
		for _, target := range targets(c, before, typ) {
			last := len(target.path) - 1
			gap := target.path[last].Kind() == dynamic.EndStep || target.path[last].Kind() == dynamic.BeforeStep
			root := loaded(t, &tree, v, c.rng.IntN(2) == 0)
			above := root.Get(target.path[:last]...)
			if !above.Exists() {
				continue // a tree does not make what leads to a part
			}
			x := randomAny(c, target.typ)
			var err error
			if x != nil && (gap || c.rng.IntN(3) > 0) {
				var made protobuf.Value
				if made, err = protobuf.MakeAny(target.typ, x); err == nil {
					_, err = above.Put(target.path[last], made.Node)
				}
			} else if part := above.Get(target.path[last]); gap {
				continue
			} else if x = nil; part.Exists() {
				err = part.Remove()
			}
			if err != nil {
				t.Errorf("%v: %v", target.path, err)
				return
			}
			want := wanted(t, md, typ, edit(before, typ, target.path, x))
			out, err := tree.Append(nil)
			if err != nil {
				t.Error(err)
				return
			}
			if got := show(mustParse(t, md, out)); got != want {
				t.Errorf("%v = %#v:\ngot  %s\nwant %s\nbytes %x", target.path, x, got, want, out)
				return
			}
			unknownKept(t, md, b, out)
			if got := fmt.Sprintf("%#v", withoutZeros(treeAny(t, root), typ)); got != want {
				t.Errorf("%v = %#v: the tree holds %s\nwant %s", target.path, x, got, want)
				return
			}
			if whole, err := root.Value(); err != nil || show(mustParse(t, md, whole.Raw())) != want {
				t.Errorf("%v = %#v: Value is %x, %v", target.path, x, whole.Raw(), err)
			}
		}
	})
}

func TestPartsOfATreeAreValues(t *testing.T) {
	var tree protobuf.Tree
	each(t, 40, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		root := loaded(t, &tree, protobuf.NewValue(typ, b), true)
		walk(content(mustParse(t, md, b)), typ, nil, func(path []protobuf.Step, want any) {
			v, err := root.Get(path...).Value()
			if err != nil {
				t.Errorf("%v: %v", path, err)
				return
			}
			got, err := v.Any()
			if s := fmt.Sprintf("%#v", withoutZeros(got, v.Type())); err != nil || s != fmt.Sprintf("%#v", want) {
				t.Errorf("%v: got %s, %v, want %#v", path, s, err, want)
			}
		})
	})
}

func TestMergingTreesIsMergingMessages(t *testing.T) {
	var one, two protobuf.Tree
	order := shop(t)
	load := func(tree *protobuf.Tree, x map[string]any) protobuf.Item {
		v, err := protobuf.MakeAny(order, x)
		if err != nil {
			t.Fatal(err)
		}
		return loaded(t, tree, v, false)
	}
	a := load(&one, map[string]any{"name": "a", "counts": []any{1, 2}, "ids": map[any]any{1: "x", 2: "y"}, "card": "1234"})
	b := load(&two, map[string]any{"counts": []any{3}, "ids": map[any]any{2: "z"}, "voucher": map[string]any{"name": "v"}})
	for part := b.First(); part.Exists(); part = part.Next() {
		into := a.Get(protobuf.Field(part.ID()))
		if !into.Exists() {
			v, err := part.Value()
			if err == nil {
				_, err = a.Put(protobuf.Field(part.ID()), v.Node)
			}
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err := into.Merge(part); err != nil {
			t.Error(err)
		}
	}
	out, err := one.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	x, err := protobuf.NewValue(order, out).Any()
	if got := fmt.Sprint(x); err != nil || got != "map[counts:[1 2 3] ids:map[1:x 2:z] name:a voucher:map[name:v]]" {
		t.Errorf("%s, %v", got, err)
	}
	if err := a.Merge(b.First()); diag.CodeOf(err) != diag.TypeMismatch {
		t.Error(err)
	}
	if err := a.Merge(b); err != nil {
		t.Error(err)
	}
	x, _ = protobuf.NewValue(order, must(one.Append(nil))).Any()
	if got := fmt.Sprint(x); got != "map[counts:[3] ids:map[2:z] name:a voucher:map[name:v]]" {
		t.Errorf("%s", got)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func TestWhatCannotBePutIsRefused(t *testing.T) {
	order := shop(t)
	v, err := protobuf.MakeAny(order, map[string]any{"name": "a", "counts": []any{1}, "discount": 5})
	if err != nil {
		t.Fatal(err)
	}
	var tree protobuf.Tree
	root := loaded(t, &tree, v, true)
	put := func(i protobuf.Item, s protobuf.Step, x protobuf.Node) error { _, err := i.Put(s, x); return err }
	counts := root.Get(protobuf.Name("counts"))
	for _, c := range []struct {
		err  error
		code diag.Code
	}{
		{put(root, protobuf.Name("nothing"), protobuf.NewInt(1)), diag.UnknownField}, {put(root, protobuf.Name("discount"), protobuf.NewInt(1<<40)), diag.OutOfRange},
		{put(root, protobuf.Name("gift"), protobuf.NewInt(1)), diag.TypeMismatch}, {put(counts, protobuf.Index(1), protobuf.NewInt(1)), diag.OutOfRange},
		{put(counts, protobuf.Before(2), protobuf.NewInt(1)), diag.OutOfRange}, {put(counts, protobuf.End(), protobuf.NewString("a")), diag.TypeMismatch},
		{put(root.Get(protobuf.Name("name")), protobuf.End(), protobuf.NewString("a")), diag.TypeMismatch},
		{put(protobuf.Item{}, protobuf.End(), protobuf.NewString("a")), diag.NotFound}, {root.Remove(), diag.NotFound}, {protobuf.Item{}.Set(protobuf.NewInt(1)), diag.NotFound},
		{root.Get(protobuf.Name("name")).Set(protobuf.Node{}), diag.NotFound}, {root.First().MoveBefore(counts.First()), diag.InvalidValue},
		{tree.Load(protobuf.NewValue(schema.Basic(schema.I32), []byte{1})), diag.TypeMismatch},
	} {
		if diag.CodeOf(c.err) != c.code {
			t.Errorf("%v, want %v", c.err, c.code)
		}
	}
	if err := tree.Load(protobuf.Value{Node: protobuf.NewMessage(nil)}); diag.CodeOf(err) != diag.Unsupported {
		t.Error(err)
	}
	if err := tree.Load(protobuf.NewValue(order, []byte{0x0a, 5})); diag.CodeOf(err) != diag.UnexpectedEOF || tree.Root().Exists() {
		t.Error(err)
	}
}

func TestAWarmTreeDoesNotAllocate(t *testing.T) {
	order := shop(t)
	v, err := protobuf.MakeAny(order, map[string]any{
		"name": "a", "items": []any{map[string]any{"name": "b", "price": 7, "tags": []any{"x", "y"}}, map[string]any{"name": "a"}}, "counts": []any{1, 2}, "ids": map[any]any{1: "c", 2: "d"}})
	if err != nil {
		t.Fatal(err)
	}
	var tree protobuf.Tree
	dst := make([]byte, 0, 1000)
	items, name := protobuf.Name("items"), protobuf.Name("name")
	text := func(i protobuf.Item) int {
		v, _ := i.Get(name).Value()
		b, _ := v.Bytes()
		return len(b)
	}
	x := protobuf.NewString("longer")
	run := func(load func(protobuf.Value) error) func() {
		return func() {
			if err := load(v); err != nil {
				t.Error(err)
			}
			list := tree.Root().Get(items)
			list.Sort(func(a, b protobuf.Item) int { return cmp.Compare(text(a), text(b)) })
			if _, err := list.First().Put(name, x); err != nil {
				t.Error(err)
			}
			if dst, err = tree.Append(dst[:0]); err != nil {
				t.Error(err)
			}
		}
	}
	for name, load := range map[string]func(protobuf.Value) error{"Load": tree.Load, "Open": tree.Open} {
		if n := testing.AllocsPerRun(100, run(load)); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestTreesOfAPoolAreEmpty(t *testing.T) {
	var pool protobuf.TreePool
	tree := pool.Get()
	v, err := protobuf.MakeAny(shop(t), map[string]any{"name": "a"})
	if err != nil {
		t.Fatal(err)
	}
	loaded(t, tree, v, false)
	pool.Put(tree)
	if again := pool.Get(); again.Root().Exists() {
		t.Error("the tree holds what it held")
	}
}

func TestListsAndMapsAloneAreTrees(t *testing.T) {
	var tree protobuf.Tree
	list := schema.ListOf(schema.Basic(schema.I32))
	v, err := protobuf.MakeAny(list, []any{3, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	root := loaded(t, &tree, v, false)
	root.Sort(func(a, b protobuf.Item) int {
		x, _ := a.Value()
		y, _ := b.Value()
		n, _ := x.Int()
		m, _ := y.Int()
		return cmp.Compare(n, m)
	})
	if x, err := protobuf.NewValue(list, must(tree.Append(nil))).Any(); err != nil || fmt.Sprint(x) != "[1 2 3]" {
		t.Errorf("%v, %v", x, err)
	}
	if err := root.Last().MoveBefore(root.First()); err != nil {
		t.Error(err)
	}
	if x, err := protobuf.NewValue(list, must(tree.Append(nil))).Any(); err != nil || fmt.Sprint(x) != "[3 1 2]" {
		t.Errorf("%v, %v", x, err)
	}
}

func ExampleTree() {
	order, err := loadShop()
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := protobuf.MakeAny(order, map[string]any{"items": []any{
		map[string]any{"name": "pen", "price": 120}, map[string]any{"name": "clip", "price": 1}, map[string]any{"name": "ink", "price": 350}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var tree protobuf.Tree // or one of a TreePool
	if err := tree.Load(v); err != nil {
		fmt.Println(err)
		return
	}
	price := func(item protobuf.Item) int64 {
		v, _ := item.Get(protobuf.Name("price")).Value()
		n, _ := v.Int()
		return n
	}
	list := tree.Root().Get(protobuf.Name("items"))
	list.Filter(func(item protobuf.Item) bool { return price(item) > 10 })
	list.Sort(func(a, b protobuf.Item) int { return cmp.Compare(price(b), price(a)) })
	message, err := tree.Append(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(protobuf.NewValue(order, message).Any())
	// Output:
	// map[items:[map[name:ink price:350] map[name:pen price:120]]] <nil>
}
