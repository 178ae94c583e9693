package dynamic_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"pgregory.net/rapid"
)

// This file holds trees and trimmers of compact messages against those of their
// binary twins, and all of the package on the corpus and on prefixes.

func TestATreeOfARandomCompactMessageHasEveryPart(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d, typ, model, b, _ := randomTwins(rt)
		for how, load := range loads {
			var tree dynamic.Tree
			if err := load(&tree, d.NewValue(typ, append(b, "rest"...))); err != nil {
				rt.Fatal(err)
			}
			all := places(typ, model, nil, 4)
			for _, p := range all[:min(len(all), 100)] {
				item := tree.Root().Get(p.path...)
				v, err := item.Value()
				want := d.encode(p.typ, p.value)
				if err != nil || !bytes.Equal(v.Raw(), want) || v.Protocol() != d.Protocol || v.Type() != p.typ || item.Type() != p.typ {
					rt.Fatalf("%s: %v is %x, %v", how, p.path, v.Raw(), err)
				}
				if out, err := item.AppendTo(nil); err != nil || !bytes.Equal(out, want) {
					rt.Fatalf("%s: %v is written as %x, %v", how, p.path, out, err)
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

// twinTrees are a compact tree and a binary one to which the same is done.
type twinTrees struct {
	t             *rapid.T
	d             dialect
	compact, twin dynamic.Tree
}

// same compares what the trees are now.
func (w *twinTrees) same(what string) {
	want := inProtocol(w.t, dynamic.NewNode(w.twin.Root().WireType(), written(w.t, &w.twin)), w.d.Protocol).Raw()
	if got := written(w.t, &w.compact); !bytes.Equal(got, want) {
		w.t.Fatalf("after %s: %x, want %x", what, got, want)
	}
}

// alike compares the errors of what was done to both.
func (w *twinTrees) alike(what string, got, want error) {
	if !sameFault(got, want) {
		w.t.Fatalf("%s: %v, but the twin: %v", what, got, want)
	}
	w.same(what)
}

func TestCompactTreesChangeAsTheirBinaryTwins(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d, typ, model, b, twin := randomTwins(rt)
		w := &twinTrees{t: rt, d: d}
		load := loads[rapid.SampledFrom([]string{"loaded", "opened"}).Draw(rt, "how")]
		w.alike("loading", load(&w.compact, d.NewValue(typ, b)), load(&w.twin, dynamic.NewValue(typ, twin)))
		for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			for _, c := range d.someChanges(rt, typ, model) {
				above, last := c.path[:len(c.path)-1], c.path[len(c.path)-1]
				i, j := w.compact.Root().Get(above...), w.twin.Root().Get(above...)
				if i.Exists() != j.Exists() {
					rt.Fatalf("%v exists in one tree only", above)
				}
				if !c.x.Exists() {
					w.alike("removing", i.Get(last).Remove(), j.Get(last).Remove())
					continue
				}
				x := c.x
				if rapid.Bool().Draw(rt, "native") {
					x = inProtocol(rt, x, d.Protocol)
				}
				_, err := i.Put(last, x)
				_, wantErr := j.Put(last, c.x)
				w.alike("putting", err, wantErr)
			}
			i, j := w.compact.Root(), w.twin.Root()
			for _, c := range rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(rt, "program") {
				i, j = step(&w.compact, i, c), step(&w.twin, j, c)
				w.same("a step")
			}
		}
	})
}

func TestTreesOfTwoProtocolsMerge(t *testing.T) {
	var a, b dynamic.Tree
	load := func(tree *dynamic.Tree, p dynamic.Protocol, text string) {
		n := inProtocol(t, of(t, shop.Type(), text).Node, p)
		if err := tree.Load(p.NewValue(shop.Type(), n.Raw())); err != nil {
			t.Fatal(err)
		}
	}
	load(&a, dynamic.Compact, `{i8: 1, byString: {"a": 1, "b": 2}, byPoint: {{x: 1}: "p"}}`)
	load(&b, dynamic.CompactFBThrift, `{i16: 3, byString: {"b": 4, "c": 5}, byPoint: {{x: 1}: "q", {x: 2}: "r"}}`)
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
	out := inBinary(t, dynamic.Compact.NewNode(thriftwire.Struct, written(t, &a)))
	if got := shown(t, dynamic.NewValue(shop.Type(), out)); got != `{i8: 1, i16: 3, byString: {"a": 1, "b": 4, "c": 5}, byPoint: {{x: 1}: "q", {x: 2}: "r"}}` {
		t.Error(got)
	}
}

func TestRandomCompactMessagesAreTrimmedAsTheModelIs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d, typ, model, b, _ := randomTwins(rt)
		small := (&shrinker{rt, map[*schema.StructDef]*schema.StructDef{}}).typ(typ)
		trimmer, err := dynamic.NewTrimmer(typ, small)
		if err != nil {
			rt.Fatal(err)
		}
		want := append([]byte("kept"), d.encode(small, shrunk(model, small))...)
		got, n, err := trimmer.AppendNode([]byte("kept"), d.NewNode(thriftwire.Struct, append(b, "rest"...)))
		if err != nil || n != len(b) || !bytes.Equal(got, want) {
			rt.Fatalf("%x\nbecame %x\nwant   %x (n %d of %d, %v)", b, got, want, n, len(b), err)
		}
		checkTrimming(rt, trimmer, d.NewNode(thriftwire.Struct, conform.Damaged(rt, b)))
	})
}

// checkTrimming trims compact bytes of any kind. What is a message must become
// what its binary twin becomes, the rest gives faults.
func checkTrimming(t interface{ Fatalf(string, ...any) }, trimmer *dynamic.Trimmer, c dynamic.Node) {
	out, n, err := trimmer.AppendNode(nil, c)
	if err != nil {
		checkIsFault(t, err, len(c.Raw()))
	} else if len(out) >= 2*n {
		t.Fatalf("%d bytes became %d", n, len(out))
	}
	twin, twinErr := c.AppendIn(nil, dynamic.Binary)
	if twinErr != nil {
		return
	}
	want, _, wantErr := trimmer.AppendNode(nil, dynamic.NewNode(thriftwire.Struct, twin))
	if !sameFault(err, wantErr) {
		t.Fatalf("%x: %v, but the twin: %v", c.Raw(), err, wantErr)
	}
	if err != nil {
		return
	}
	p := c.Protocol()
	normal := inProtocol(t, inProtocol(t, p.NewNode(thriftwire.Struct, out), dynamic.Binary), p)
	if native := inProtocol(t, dynamic.NewNode(thriftwire.Struct, want), p); !bytes.Equal(normal.Raw(), native.Raw()) {
		t.Fatalf("%x became %x, want %x", c.Raw(), out, native.Raw())
	}
}

func TestOnlyStructsAreTrimmed(t *testing.T) {
	trimmer, err := dynamic.NewMask(simple.Type(), "i64Field")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = trimmer.AppendNode(nil, dynamic.Compact.NewNode(thriftwire.List, []byte{0}))
	checkFault(t, "a list", err, diag.TypeMismatch, 0, "")
	_, _, err = trimmer.AppendNode(nil, dynamic.Node{})
	checkFault(t, "nothing", err, diag.NotFound, -1, "")
}

// checkTree loads compact bytes of any kind into a tree, which must be written
// as they are.
func checkTree(t interface {
	Fatalf(string, ...any)
	Fatal(...any)
}, c dynamic.Value) {
	var tree dynamic.Tree
	loadErr := tree.Load(c)
	if loadErr != nil {
		checkIsFault(t, loadErr, len(c.Raw()))
	} else if got := written(t, &tree); !bytes.Equal(got, c.Raw()[:len(got)]) {
		t.Fatalf("%x was written as %x", c.Raw(), got)
	}
	if openErr := tree.Open(c); !sameFault(openErr, loadErr) {
		t.Fatalf("loaded: %v, opened: %v", loadErr, openErr)
	}
}

func TestTheCorpusIsReadInCompactAsTheModelReadsIt(t *testing.T) {
	count := 0
	for _, c := range conform.Corpus(t, "../internal/conform/testdata") {
		for _, b := range c.Bytes {
			at := slices.IndexFunc(dialects, func(d dialect) bool { return d.model == b.Protocol })
			if at < 0 {
				continue
			}
			count++
			d := dialects[at]
			v := d.NewValue(c.Type, b.Data)
			var paths [][]dynamic.Step
			if c.Value != nil {
				paths = d.pathsOf(c.Type, c.Value, 3, 30)
			}
			everything(t, v, paths)
			for i := range b.Data {
				prefix := d.NewValue(c.Type, b.Data[:i])
				everything(t, prefix, paths)
				if code := diag.CodeOf(prefix.Check()); b.Fault == nil && code != diag.UnexpectedEOF {
					t.Errorf("%s: %d bytes of %x: %v", c.Name, i, b.Data, code)
				}
				for bit := range 8 {
					flipped := bytes.Clone(b.Data)
					flipped[i] ^= 1 << bit
					everything(t, d.NewValue(c.Type, flipped), paths)
				}
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d encodings of the corpus are compact", count)
	}
}

// everything reads, changes, takes apart and trims compact bytes of any kind.
func everything(t testing.TB, v dynamic.Value, paths [][]dynamic.Step) {
	checkReading(t, v, paths)
	checkChanging(t, v, paths, make([]dynamic.Node, len(paths)))
	checkTree(t, v)
	if mask, err := dynamic.NewMask(v.Type(), ""); err == nil {
		checkTrimming(t, mask, v.Node)
	}
}

// run makes a tree of v and changes it as a program says; see step. It is nil if
// v cannot be loaded.
func run(v dynamic.Value, program []byte, open bool) *dynamic.Tree {
	tree := new(dynamic.Tree)
	load := tree.Load
	if open {
		load = tree.Open
	}
	if load(v) != nil {
		return nil
	}
	item := tree.Root()
	for _, c := range program {
		item = step(tree, item, c)
	}
	return tree
}

// FuzzCompactTree is FuzzTree for the compact protocols.
func FuzzCompactTree(f *testing.F) {
	for _, b := range [][]byte{simpleMessage(), nestingMessage()} {
		for _, d := range dialects {
			n := inProtocol(f, dynamic.NewNode(thriftwire.Struct, b), d.Protocol)
			f.Add(n.Raw(), []byte{1, 0, 3, 1, 4, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 12, 14}, true, d.Protocol == dynamic.Compact)
		}
	}
	f.Fuzz(func(t *testing.T, b, program []byte, open, apache bool) {
		if len(program) > 64 {
			return
		}
		d := dialects[1]
		if apache {
			d = dialects[0]
		}
		for _, def := range []*schema.StructDef{nil, nesting, shop} {
			v := dynamic.Value{Node: d.NewNode(thriftwire.Struct, b)}
			if def != nil {
				v = d.NewValue(def.Type(), b)
			}
			checkTree(t, v)
			tree := run(v, program, open)
			if tree == nil {
				return
			}
			out, err := tree.Append(nil)
			changed := d.NewNode(tree.Root().WireType(), out)
			if err != nil {
				checkIsFault(t, err, len(b))
				continue
			} else if err := changed.Check(); err != nil {
				t.Fatalf("%x became %x: %v", b, out, err)
			}
			bin, err := v.AppendIn(nil, dynamic.Binary)
			if err != nil {
				continue // bools that are none
			}
			merges := slices.ContainsFunc(program, func(c byte) bool { return c&15 == 14 })
			if shortest := inProtocol(t, dynamic.NewNode(thriftwire.Struct, bin), d.Protocol); merges && !bytes.HasPrefix(b, shortest.Raw()) {
				continue // keys with parts are compared as they are written
			}
			w := dynamic.Value{Node: dynamic.NewNode(thriftwire.Struct, bin)}
			if def != nil {
				w = dynamic.NewValue(def.Type(), bin)
			}
			twin := run(w, program, open)
			want := inProtocol(t, dynamic.NewNode(twin.Root().WireType(), written(t, twin)), d.Protocol)
			if got := inProtocol(t, inProtocol(t, changed, dynamic.Binary), d.Protocol); !bytes.Equal(got.Raw(), want.Raw()) {
				t.Fatalf("%x became %x, want %x", b, got.Raw(), want.Raw())
			}
		}
	})
}
