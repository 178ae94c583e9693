package dynamic_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the work that allocates nothing, as benchmarks and as a test.

// job is a piece of work on reused memory.
type job struct {
	name string
	run  func()
}

type shape struct {
	name        string
	typ, part   *schema.Type
	proto       dynamic.Protocol
	message     []byte
	one         []dynamic.Step
	many        [][]dynamic.Step
	replacement dynamic.Node
}

func shapes() []shape {
	f := dynamic.Field
	all := []shape{
		{"small", simple.Type(), partialSimple.Type(), dynamic.Binary, simpleMessage(), []dynamic.Step{f(6)}, [][]dynamic.Step{{f(1)}, {f(3)}, {f(6)}}, dynamic.NewString("other")},
		{"medium", nesting.Type(), partialNesting.Type(), dynamic.Binary, nestingMessage(), []dynamic.Step{f(15), dynamic.Key("15"), f(6)},
			[][]dynamic.Step{{f(2)}, {f(8)}, {f(15)}}, dynamic.NewString("other")},
	}
	for _, s := range all[:2] {
		b, err := dynamic.NewNode(thriftwire.Struct, s.message).AppendIn(nil, dynamic.Compact)
		if err != nil {
			panic(err)
		}
		s.name, s.proto, s.message = s.name+"-compact", dynamic.Compact, b
		all = append(all, s)
	}
	return all
}

func jobs(tb testing.TB, s shape) []job {
	must := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	v := s.proto.NewValue(s.typ, s.message)
	one, err := dynamic.Compile(s.typ, s.one...)
	must(err)
	many, err := dynamic.CompileAll(s.typ, s.many...)
	must(err)
	trimmer, err := dynamic.NewTrimmer(s.typ, s.part)
	must(err)
	out := make([]dynamic.Value, len(s.many))
	must(many.Get(v.Node, out))
	values := make([]dynamic.Node, len(out))
	for i := range out {
		values[i] = out[i].Node
	}
	buf, empty := make([]byte, 0, 2*len(s.message)), []byte{0}
	var pool dynamic.TreePool
	var tree dynamic.Tree
	return []job{
		{"check", func() { must(v.Check()) }},
		{"get-one", func() { _, err := one.Get(v.Node); must(err) }},
		{"get-one-by-steps", func() { _, err := v.Get(s.one...); must(err) }},
		{"get-many", func() { must(many.Get(v.Node, out)) }},
		{"set-one", func() { _, err := one.AppendSet(buf, v.Node, s.replacement); must(err) }},
		{"set-many", func() { _, err := many.AppendSet(buf, v.Node, values); must(err) }},
		{"marshal-many", func() {
			_, err := many.AppendSet(buf, s.proto.NewNode(thriftwire.Struct, empty), values)
			must(err)
		}},
		{"trim", func() { _, _, err := trimmer.AppendNode(buf, v.Node); must(err) }},
		{"iterate", func() {
			it := v.Iterate()
			for it.Next() {
			}
			must(it.Err())
		}},
		{"tree-load", func() { must(tree.Load(v)) }},
		{"tree-open", func() { must(tree.Open(v)); tree.Root().Get(s.one[0]) }},
		{"tree-pooled", func() { t := pool.Get(); must(t.Load(v)); pool.Put(t) }},
		{"tree-edit", func() {
			must(tree.Load(v))
			must(tree.Root().Get(s.one...).Set(s.replacement))
			_, err := tree.Append(buf)
			must(err)
		}},
		{"tree-sort", func() {
			must(tree.Load(v))
			tree.Root().Sort(func(a, b dynamic.Item) int { return int(b.ID()) - int(a.ID()) })
			tree.Root().First().Filter(func(i dynamic.Item) bool { return i.Len() == 0 })
		}},
	}
}

func BenchmarkDynamic(b *testing.B) {
	for _, s := range shapes() {
		for _, j := range jobs(b, s) {
			b.Run(j.name+"/"+s.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					j.run()
				}
			})
		}
	}
}

func TestWorkOnReusedMemoryAllocatesNothing(t *testing.T) {
	for _, s := range shapes() {
		for _, j := range jobs(t, s) {
			if n := allocations(j.run); n != 0 {
				t.Errorf("%s/%s: %v allocations", j.name, s.name, n)
			}
		}
	}
}
