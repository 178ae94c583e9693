package dynamic_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
)

var numbers = structOf("Numbers", field(1, "list", schema.ListOf(tI32)), field(2, "other", schema.ListOf(tI32)),
	field(3, "map", schema.MapOf(tString, tI32)), field(4, "inner", schema.ListOf(schema.ListOf(tI32))))

func numbersTree(t *testing.T, tree *dynamic.Tree, p dynamic.Protocol, x map[string]any) {
	t.Helper()
	b, err := p.AppendAny(nil, numbers.Type(), x)
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Load(p.NewValue(numbers.Type(), b)); err != nil {
		t.Fatal(err)
	}
}

// ints are the elements as written, read and walked over, which must agree.
func ints(t *testing.T, i dynamic.Item) []int {
	t.Helper()
	v, err := i.Value()
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for it := v.Iterate(); it.Next(); {
		n, _ := it.Value().Int()
		all = append(all, int(n))
	}
	k := 0
	for part := i.First(); part.Exists(); part = part.Next() {
		v, _ := part.Value()
		if n, _ := v.Int(); k >= len(all) || int(n) != all[k] {
			t.Fatalf("element %d is %d, and written %v", k, n, all)
		}
		k++
	}
	if last := i.Last(); last.Exists() {
		v, _ := last.Value()
		if n, _ := v.Int(); int(n) != all[len(all)-1] {
			t.Fatalf("the last is %d of %v", n, all)
		}
	}
	return all
}

func TestRangesMoveAndListsRotateAsSlicesDo(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, p := range []dynamic.Protocol{dynamic.Binary, dynamic.Compact} {
		for range 300 {
			count := 1 + r.IntN(6)
			var want []int
			var list []any
			for i := range count {
				want, list = append(want, i), append(list, i)
			}
			var tree dynamic.Tree
			numbersTree(t, &tree, p, map[string]any{"list": list, "other": []any{100}})
			item := tree.Root().Get(dynamic.Field(1))
			for range 4 {
				if r.IntN(2) == 0 {
					n := r.IntN(3*count) - count
					item.Rotate(n)
					k := ((n % count) + count) % count
					want = append(slices.Clone(want[k:]), want[:k]...)
				} else {
					from := r.IntN(count)
					to := from + r.IntN(count-from)
					before := r.IntN(count + 1)
					err := item.MoveRange(item.Get(dynamic.Index(from)), item.Get(dynamic.Index(to)), item.Get(dynamic.Index(before)))
					if before >= from && before <= to {
						checkFault(t, "into itself", err, diag.InvalidValue, -1, "")
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					moved, rest := slices.Clone(want[from:to+1]), slices.Delete(slices.Clone(want), from, to+1)
					if before > to {
						before -= len(moved)
					}
					want = slices.Insert(rest, before, moved...)
				}
				if got := ints(t, item); !slices.Equal(got, want) {
					t.Fatalf("%s: %v, want %v", p, got, want)
				}
			}
			if got := ints(t, tree.Root().Get(dynamic.Field(2))); !slices.Equal(got, []int{100}) {
				t.Fatalf("the list beside it is %v", got)
			}
		}
	}
}

func TestMovingFaults(t *testing.T) {
	var tree, other dynamic.Tree
	numbersTree(t, &tree, dynamic.Binary, map[string]any{"list": []any{1, 2, 3}, "other": []any{4}, "inner": []any{[]any{1}, []any{}}})
	numbersTree(t, &other, dynamic.Binary, map[string]any{"list": []any{1, 2, 3}})
	list := tree.Root().Get(dynamic.Field(1))
	checkFault(t, "backwards", list.MoveRange(list.Last(), list.First(), dynamic.Item{}), diag.InvalidValue, -1, "")
	checkFault(t, "nothing", list.MoveRange(list.First(), dynamic.Item{}, dynamic.Item{}), diag.NotFound, -1, "")
	checkFault(t, "another list", list.MoveRange(list.First(), list.Last(), tree.Root().Get(dynamic.Field(2)).First()), diag.InvalidValue, -1, "")
	checkFault(t, "another tree", list.MoveRange(other.Root().First().First(), list.Last(), dynamic.Item{}), diag.InvalidValue, -1, "")
	checkFault(t, "the root", list.MoveRange(tree.Root(), tree.Root(), dynamic.Item{}), diag.InvalidValue, -1, "")
	_, err := list.Take(dynamic.End(), dynamic.Item{})
	checkFault(t, "take nothing", err, diag.NotFound, -1, "")
	_, err = list.Take(dynamic.End(), tree.Root())
	checkFault(t, "take the root", err, diag.NotFound, -1, "")
	inner := tree.Root().Get(dynamic.Field(4))
	_, err = inner.First().Take(dynamic.End(), inner)
	checkFault(t, "into itself", err, diag.InvalidValue, -1, "")
	_, err = list.Take(dynamic.End(), inner.First())
	checkFault(t, "another type", err, diag.TypeMismatch, -1, "")
	if got := ints(t, list); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("after faults the list is %v", got)
	}
	for _, n := range []int{0, 3, -3, 1 << 20} {
		list.Rotate(n * 3)
	}
	(dynamic.Item{}).Rotate(1)
	list.First().Rotate(1) // a number has no parts
	if got := ints(t, list); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("turned round the list is %v", got)
	}
}

func TestPartsAreTakenFromOneTreeToAnother(t *testing.T) {
	for _, p := range []dynamic.Protocol{dynamic.Binary, dynamic.Compact} {
		var tree, other dynamic.Tree
		numbersTree(t, &tree, p, map[string]any{"list": []any{1, 2}, "map": map[string]any{"a": 5}})
		numbersTree(t, &other, dynamic.Binary, map[string]any{"list": []any{3, 4}, "map": map[string]any{"a": 6}})
		list, from := tree.Root().Get(dynamic.Field(1)), other.Root().Get(dynamic.Field(1))
		for _, s := range []dynamic.Step{dynamic.End(), dynamic.Before(0)} {
			if _, err := list.Take(s, from.First()); err != nil {
				t.Fatal(p, err)
			}
		}
		if _, err := tree.Root().Get(dynamic.Field(3)).Take(dynamic.Key("a"), other.Root().Get(dynamic.Field(3), dynamic.Key("a"))); err != nil {
			t.Fatal(p, err)
		}
		if got := ints(t, list); !slices.Equal(got, []int{4, 1, 2, 3}) {
			t.Errorf("%s: %v", p, got)
		}
		if got := ints(t, from); len(got) != 0 || other.Root().Get(dynamic.Field(3)).Len() != 0 {
			t.Errorf("%s: %v is left", p, got)
		}
		v, _ := tree.Root().Get(dynamic.Field(3), dynamic.Key("a")).Value()
		if n, err := v.Int(); n != 6 {
			t.Error(n, err)
		}
	}
}

func TestAForkIsIndependent(t *testing.T) {
	var tree, fork dynamic.Tree
	numbersTree(t, &tree, dynamic.Binary, map[string]any{"list": []any{1, 2}})
	list := tree.Root().Get(dynamic.Field(1))
	if _, err := list.Put(dynamic.End(), dynamic.NewI32(3)); err != nil {
		t.Fatal(err)
	}
	tree.Fork(&fork)
	forked := list.In(&fork)
	if err := list.First().Remove(); err != nil {
		t.Fatal(err)
	}
	if err := forked.Last().Set(dynamic.NewI32(9)); err != nil {
		t.Fatal(err)
	}
	if a, b := ints(t, list), ints(t, forked); !slices.Equal(a, []int{2, 3}) || !slices.Equal(b, []int{1, 2, 9}) {
		t.Error(a, b)
	}
	tree.Reset()
	if got := ints(t, forked); !slices.Equal(got, []int{1, 2, 9}) {
		t.Error("after the first tree's end", got)
	}
	if list.In(&fork).Exists() {
		t.Error("a part of an empty tree is one of a fork")
	}
	fork.Fork(&fork)
	if n := allocations(func() { fork.Fork(&tree) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAPartOfWhatWasReplacedChangesNothing(t *testing.T) {
	var tree dynamic.Tree
	numbersTree(t, &tree, dynamic.Binary, map[string]any{"list": []any{1, 2}})
	list := tree.Root().Get(dynamic.Field(1))
	stale := list.First()
	same, err := list.Value()
	if err != nil {
		t.Fatal(err)
	}
	if err := list.Set(same.Node); err != nil {
		t.Fatal(err)
	}
	if err := stale.Remove(); err == nil {
		t.Error("a part that is gone was removed")
	}
	if got := ints(t, list); !slices.Equal(got, []int{1, 2}) {
		t.Error(got)
	}
}

func ExampleItem_Rotate() {
	var tree dynamic.Tree
	if err := tree.Load(books()); err != nil {
		fmt.Println(err)
		return
	}
	list := tree.Root().Get(dynamic.Name("books"))
	list.Rotate(1)
	message, err := tree.Append(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dynamic.NewValue(shelf(), message).Any())
	// Output:
	// map[books:[map[pages:90 title:Short] map[pages:2 title:Leaflet] map[pages:900 title:Long]] owner:Ada] <nil>
}

func ExampleItem_Take() {
	var tree, rest dynamic.Tree
	if err := tree.Load(books()); err != nil {
		fmt.Println(err)
		return
	}
	tree.Fork(&rest)
	long, others := tree.Root().Get(dynamic.Name("books")), rest.Root().Get(dynamic.Name("books"))
	long.Filter(func(dynamic.Item) bool { return false })
	if _, err := long.Take(dynamic.End(), others.First()); err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range []*dynamic.Tree{&tree, &rest} {
		message, err := t.Append(nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(dynamic.NewValue(shelf(), message).Any())
	}
	// Output:
	// map[books:[map[pages:900 title:Long]] owner:Ada] <nil>
	// map[books:[map[pages:90 title:Short] map[pages:2 title:Leaflet]] owner:Ada] <nil>
}
