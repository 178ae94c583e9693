package dynamic_test

import (
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/dynamic"
)

// Run with -race, this shows that nothing that is compiled or read changes.
func TestMessagesPathsAndTrimmersAreSharedByGoroutines(t *testing.T) {
	for _, p := range []dynamic.Protocol{dynamic.Binary, dynamic.Compact} {
		x, err := dynamic.NewValue(nesting.Type(), nestingMessage()).Any()
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.AppendAny(nil, nesting.Type(), x)
		if err != nil {
			t.Fatal(err)
		}
		v := p.NewValue(nesting.Type(), b)
		steps := []dynamic.Step{dynamic.Name("mapStringSimple"), dynamic.Key("7"), dynamic.Name("i32Field")}
		one, err := dynamic.Compile(nesting.Type(), steps...)
		if err != nil {
			t.Fatal(err)
		}
		list, err := dynamic.Compile(nesting.Type(), dynamic.Field(2))
		if err != nil {
			t.Fatal(err)
		}
		many, err := dynamic.CompileAll(nesting.Type(), steps, []dynamic.Step{dynamic.Field(5), dynamic.Index(3)})
		if err != nil {
			t.Fatal(err)
		}
		trimmer, err := dynamic.NewTrimmer(nesting.Type(), partialNesting.Type())
		if err != nil {
			t.Fatal(err)
		}
		var pool dynamic.TreePool
		work := func() error {
			for range 20 {
				if _, err := v.Get(steps...); err != nil {
					return err
				}
				if n, err := one.Get(v.Node); err != nil || !n.Exists() {
					return err
				}
				out := make([]dynamic.Value, 2)
				if err := many.Get(v.Node, out); err != nil {
					return err
				}
				if _, err := many.AppendSet(nil, v.Node, []dynamic.Node{out[0].Node, dynamic.NewI32(1)}); err != nil {
					return err
				}
				if _, err := list.AppendFilter(nil, v.Node, func(it *dynamic.Iterator) bool { return it.Index() > 3 }); err != nil {
					return err
				}
				if _, _, err := trimmer.AppendNode(nil, v.Node); err != nil {
					return err
				}
				if _, err := v.Any(); err != nil {
					return err
				}
				tree := pool.Get()
				if err := tree.Load(v); err != nil {
					return err
				}
				if _, err := tree.Root().Put(dynamic.Field(4), dynamic.NewI32(1)); err != nil {
					return err
				}
				if _, err := tree.Append(nil); err != nil {
					return err
				}
				pool.Put(tree)
			}
			return v.Check()
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := work(); err != nil {
					t.Error(p, err)
				}
			})
		}
		wg.Wait()
	}
}
