package dynamic_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

const many = 500

// hall is a struct with containers that have many parts, and many fields.
func hall() *schema.StructDef {
	fields := []*schema.Field{
		field(1, "list", schema.ListOf(tI32)), field(2, "byText", schema.MapOf(tString, tI32)),
		field(3, "byInt", schema.MapOf(tI64, tI32)), field(4, "byDouble", schema.MapOf(tDouble, tI32)),
	}
	for i := range int32(many) {
		fields = append(fields, field(100+i, "f"+strconv.Itoa(int(i)), tI32))
	}
	return structOf("Hall", fields...)
}

func hallValue(t *testing.T, d *schema.StructDef, p dynamic.Protocol) dynamic.Value {
	t.Helper()
	x := map[string]any{}
	var list []any
	var byText, byInt, byDouble []dynamic.Entry
	for i := range many {
		list = append(list, i)
		byText = append(byText, dynamic.Entry{Key: strconv.Itoa(i), Value: i})
		byInt = append(byInt, dynamic.Entry{Key: i, Value: i})
		byDouble = append(byDouble, dynamic.Entry{Key: float64(i), Value: i})
		x["f"+strconv.Itoa(i)] = i
	}
	byText = append(byText, dynamic.Entry{Key: "", Value: many}, dynamic.Entry{Key: "7", Value: -1}) // of equal keys the first counts
	byInt = append(byInt, dynamic.Entry{Key: 7, Value: -1})
	x["list"], x["byText"], x["byInt"], x["byDouble"] = list, byText, byInt, byDouble
	b, err := p.AppendAny(nil, d.Type(), x)
	if err != nil {
		t.Fatal(err)
	}
	return p.NewValue(d.Type(), b)
}

func TestWidePartsAreFoundAgainAndAgain(t *testing.T) {
	d := hall()
	for _, p := range []dynamic.Protocol{dynamic.Binary, dynamic.Compact} {
		var tree dynamic.Tree
		if err := tree.Load(hallValue(t, d, p)); err != nil {
			t.Fatal(err)
		}
		check := func(what string, i dynamic.Item, want int64) {
			t.Helper()
			v, err := i.Value()
			if n, _ := v.Int(); err != nil || n != want {
				t.Errorf("%s, %s is %d, want %d (%v)", p, what, n, want, err)
			}
		}
		root := tree.Root()
		r := rand.New(rand.NewPCG(1, 2))
		for range 3 * many {
			i := r.IntN(many)
			check("an element", root.Get(dynamic.Field(1), dynamic.Index(i)), int64(i))
			check("an entry", root.Get(dynamic.Field(2), dynamic.Key(strconv.Itoa(i))), int64(i))
			check("an entry", root.Get(dynamic.Field(2), dynamic.NodeKey(dynamic.NewString(strconv.Itoa(i)))), int64(i))
			check("an entry", root.Get(dynamic.Field(3), dynamic.IntKey(int64(i))), int64(i))
			check("an entry", root.Get(dynamic.Field(3), dynamic.NodeKey(dynamic.NewI64(int64(i)))), int64(i))
			check("an entry", root.Get(dynamic.Field(4), dynamic.DoubleKey(float64(i))), int64(i))
			check("a field", root.Get(dynamic.Field(int16(100+i))), int64(i))
		}
		check("the empty key", root.Get(dynamic.Field(2), dynamic.Key("")), many)
		for _, s := range [][]dynamic.Step{
			{dynamic.Field(1), dynamic.Index(many)}, {dynamic.Field(1), dynamic.Index(-1)}, {dynamic.Field(2), dynamic.Key("x")},
			{dynamic.Field(3), dynamic.IntKey(-1)}, {dynamic.Field(99)}, {dynamic.Field(1), dynamic.Key("1")},
		} {
			for range 3 {
				if root.Get(s...).Exists() {
					t.Errorf("%s: %v leads somewhere", p, s)
				}
			}
		}
	}
}

// An index must not survive a change of the parts.
func TestIndexesFollowChanges(t *testing.T) {
	var tree dynamic.Tree
	if err := tree.Load(hallValue(t, hall(), dynamic.Binary)); err != nil {
		t.Fatal(err)
	}
	list, byText := tree.Root().Get(dynamic.Field(1)), tree.Root().Get(dynamic.Field(2))
	number := func(i dynamic.Item) int64 {
		v, _ := i.Value()
		n, _ := v.Int()
		return n
	}
	warm := func() {
		for range 3 {
			list.Get(dynamic.Index(many - 100))
			byText.Get(dynamic.Key("400"))
		}
	}
	warm()
	if err := list.First().Remove(); err != nil || number(list.Get(dynamic.Index(300))) != 301 {
		t.Error("after Remove", number(list.Get(dynamic.Index(300))), err)
	}
	warm()
	list.Sort(func(a, b dynamic.Item) int { return int(number(b) - number(a)) })
	if got := number(list.Get(dynamic.Index(300))); got != many-1-300 {
		t.Error("after Sort", got)
	}
	warm()
	if _, err := list.Put(dynamic.Before(0), dynamic.NewI32(-5)); err != nil || number(list.Get(dynamic.Index(300))) != many-300 {
		t.Error("after Put", err)
	}
	warm()
	if err := byText.Get(dynamic.Key("400")).Remove(); err != nil || byText.Get(dynamic.Key("400")).Exists() {
		t.Error("after Remove of an entry", err)
	}
	if _, err := byText.Put(dynamic.Key("400"), dynamic.NewI32(4)); err != nil || number(byText.Get(dynamic.Key("400"))) != 4 {
		t.Error("after Put of an entry", err)
	}
	warm()
	if err := list.Set(dynamic.NewNode(thriftwire.List, []byte{byte(thriftwire.I32), 0, 0, 0, 1, 0, 0, 0, 9})); err != nil || number(list.Get(dynamic.Index(0))) != 9 || list.Get(dynamic.Index(300)).Exists() {
		t.Error("after Set", err)
	}
	// The next message starts without indexes.
	warm()
	if err := tree.Load(hallValue(t, hall(), dynamic.Binary)); err != nil || number(tree.Root().Get(dynamic.Field(1), dynamic.Index(300))) != 300 {
		t.Error("after Load", err)
	}
}

func TestWideLookupsAllocateNothingWhenWarm(t *testing.T) {
	v := hallValue(t, hall(), dynamic.Binary)
	var tree dynamic.Tree
	key := dynamic.Key("a key that is longer than what the compiler puts on the stack")
	work := func() {
		if err := tree.Load(v); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			tree.Root().Get(dynamic.Field(1), dynamic.Index(300))
			tree.Root().Get(dynamic.Field(2), key)
			tree.Root().Get(dynamic.Field(3), dynamic.IntKey(300))
		}
	}
	if n := allocations(work); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
