package dynamic_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/schema"
	"pgregory.net/rapid"
)

// This file holds random messages against the model: every part of a message
// is found, changed and converted as the model's value says.

// place is a part of a model's value.
type place struct {
	path  []dynamic.Step
	typ   *schema.Type
	value *schema.Value
}

// places lists the parts of a value, itself first, down to depth levels.
func places(t *schema.Type, v *schema.Value, path []dynamic.Step, depth int) []place {
	all := []place{{slices.Clone(path), t, v}}
	if depth == 0 {
		return all
	}
	below := func(s dynamic.Step, t *schema.Type, v *schema.Value) {
		all = append(all, places(t, v, append(slices.Clone(path), s), depth-1)...)
	}
	for _, f := range v.Fields {
		below(dynamic.Field(int16(f.Field.ID())), f.Field.Type(), f.Value)
	}
	for i, e := range v.List {
		below(dynamic.Index(i), t.Elem(), e)
	}
	for _, e := range v.Map {
		below(keyStep(t.Key(), e.Key), t.Elem(), e.Value)
	}
	return all
}

// keyStep is the step to the entry with that key.
func keyStep(t *schema.Type, v *schema.Value) dynamic.Step {
	switch t.Kind() {
	case schema.Bool:
		return dynamic.BoolKey(v.Bool)
	case schema.I8, schema.I16, schema.I32, schema.I64, schema.Enum:
		return dynamic.IntKey(v.Int)
	case schema.Float, schema.Double:
		return dynamic.DoubleKey(v.Float)
	case schema.String, schema.Binary:
		return dynamic.Key(v.String)
	case schema.UUID:
		b, _ := hex.DecodeString(strings.ReplaceAll(v.String, "-", ""))
		return dynamic.BinaryKey(b)
	default:
		return dynamic.NodeKey(dynamic.NewNode(conform.Wire(t), binary(t, v)))
	}
}

func binary(t *schema.Type, v *schema.Value) []byte { return conform.Append(nil, conform.Binary, t, v) }

func randomMessage(t *rapid.T) (*schema.Type, *schema.Value, []byte) {
	typ := conform.Struct(t, conform.DefaultShape)
	v := conform.Value(t, typ, 5)
	return typ, v, binary(typ, v)
}

func TestEveryPartOfARandomMessageIsFound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		typ, model, b := randomMessage(rt)
		all := places(typ, model, nil, 4)
		all = all[:min(len(all), 150)]
		v := dynamic.NewValue(typ, append(b, "rest"...))
		var paths [][]dynamic.Step
		for _, p := range all {
			paths = append(paths, p.path)
			want := binary(p.typ, p.value)
			compiled, err := dynamic.Compile(typ, p.path...)
			if err != nil {
				rt.Fatal(err)
			}
			parsed, err := dynamic.ParsePath(compiled.String())
			if err != nil {
				rt.Fatalf("%s: %v", compiled, err)
			}
			byText, err1 := v.Get(parsed...)
			bySteps, err2 := v.Get(p.path...)
			byNode, err3 := v.Node.Get(p.path...)
			byPath, err4 := compiled.Get(v.Node)
			if err := errors.Join(err1, err2, err3, err4); err != nil {
				rt.Fatalf("%s: %v", compiled, err)
			}
			for i, got := range [][]byte{byText.Raw(), bySteps.Raw(), byNode.Raw(), byPath.Raw()} {
				if !bytes.Equal(got, want) || cap(got) != len(got) {
					rt.Fatalf("way %d to %s: %x, want %x", i, compiled, got, want)
				}
			}
			if byText.Type() != p.typ || bySteps.Type() != p.typ || byPath.Type() != p.typ || compiled.Type() != p.typ {
				rt.Fatalf("%s has another type", compiled)
			}
		}
		set, err := dynamic.CompileAll(typ, paths...)
		if err != nil {
			rt.Fatal(err)
		}
		out := make([]dynamic.Value, len(all))
		if err := set.Get(v.Node, out); err != nil {
			rt.Fatal(err)
		}
		for i, p := range all {
			if !bytes.Equal(out[i].Raw(), binary(p.typ, p.value)) || out[i].Type() != p.typ {
				rt.Fatalf("path %d of many: %x", i, out[i].Raw())
			}
		}
	})
}

// changed is a copy of the model's value in which the part at a path is
// replaced, or removed if with is nil.
func changed(t *schema.Type, v *schema.Value, path []dynamic.Step, with *schema.Value) *schema.Value {
	if len(path) == 0 {
		return with
	}
	c := *v
	c.Fields, c.List, c.Map = slices.Clone(v.Fields), slices.Clone(v.List), slices.Clone(v.Map)
	for i := len(c.Fields) - 1; i >= 0; i-- {
		f := &c.Fields[i]
		if dynamic.Field(int16(f.Field.ID())) == path[0] {
			if f.Value = changed(f.Field.Type(), f.Value, path[1:], with); f.Value == nil {
				c.Fields = slices.Delete(c.Fields, i, i+1)
			}
		}
	}
	for i := len(c.List) - 1; i >= 0; i-- {
		if dynamic.Index(i) == path[0] {
			if c.List[i] = changed(t.Elem(), c.List[i], path[1:], with); c.List[i] == nil {
				c.List = slices.Delete(c.List, i, i+1)
			}
		}
	}
	for i := len(c.Map) - 1; i >= 0; i-- {
		if e := &c.Map[i]; keyStep(t.Key(), e.Key) == path[0] {
			if e.Value = changed(t.Elem(), e.Value, path[1:], with); e.Value == nil {
				c.Map = slices.Delete(c.Map, i, i+1)
			}
		}
	}
	return &c
}

func TestPartsOfARandomMessageAreReplacedAndDeletedInOnePass(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		typ, model, b := randomMessage(rt)
		all := places(typ, model, nil, 4)[1:]
		if len(all) == 0 {
			return
		}
		var paths [][]dynamic.Step
		var values []dynamic.Node
		want := model
		// From the last to the first, so that indexes stay true while the model
		// changes; parts within one another are left out.
		picked := rapid.SliceOfNDistinct(rapid.IntRange(0, len(all)-1), 1, min(5, len(all)), rapid.ID[int]).Draw(rt, "picked")
		slices.Sort(picked)
		slices.Reverse(picked)
		for _, i := range picked {
			p := all[i]
			if slices.ContainsFunc(paths, func(q []dynamic.Step) bool { return slices.Equal(q[:min(len(q), len(p.path))], p.path) }) {
				continue
			}
			paths = append(paths, p.path)
			if rapid.Bool().Draw(rt, "delete") {
				want = changed(typ, want, p.path, nil)
				values = append(values, dynamic.Node{})
				continue
			}
			x := conform.Value(rt, p.typ, 3)
			want = changed(typ, want, p.path, x)
			values = append(values, dynamic.NewNode(conform.Wire(p.typ), binary(p.typ, x)))
		}
		set, err := dynamic.CompileAll(typ, paths...)
		if err != nil {
			rt.Fatal(err)
		}
		node := dynamic.NewValue(typ, b).Node
		got, err := set.AppendSet([]byte("kept"), node, values)
		if err != nil {
			rt.Fatal(err)
		}
		if string(got) != "kept"+string(binary(typ, want)) {
			rt.Fatalf("%s\nbecame %x\nwant   %x", conform.Format(typ, model), got[4:], binary(typ, want))
		}
		untyped, err := dynamic.CompileAll(nil, paths...)
		if err != nil {
			rt.Fatal(err)
		}
		if again, err := untyped.AppendSet(nil, node, values); err != nil || !bytes.Equal(again, got[4:]) {
			rt.Fatalf("without the schema: %x, %v", again, err)
		}
	})
}

func TestWhatIsMissingIsMadeByTheSchema(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		typ, model, b := randomMessage(rt)
		all := places(typ, model, nil, 4)
		p := rapid.SampledFrom(all).Draw(rt, "place")
		if slices.ContainsFunc(p.path, indexed) {
			return // elements come through gaps
		}
		empty := []byte{0}
		set, err := dynamic.CompileAll(typ, p.path)
		if err != nil {
			rt.Fatal(err)
		}
		x := []dynamic.Node{dynamic.NewNode(conform.Wire(p.typ), binary(p.typ, p.value))}
		made, err := set.AppendSet(nil, dynamic.NewValue(typ, empty).Node, x)
		if err != nil {
			rt.Fatalf("%s: %v", b, err)
		}
		out := make([]dynamic.Value, 1)
		if err := set.Get(dynamic.NewValue(typ, made).Node, out); err != nil || !bytes.Equal(out[0].Raw(), x[0].Raw()) {
			rt.Fatalf("%x: %x, %v", made, out[0].Raw(), err)
		}
		if err := dynamic.NewValue(typ, made).Check(); err != nil {
			rt.Fatal(err)
		}
	})
}

// indexed reports whether the step is an index.
func indexed(s dynamic.Step) bool {
	for i := range 64 {
		if s == dynamic.Index(i) {
			return true
		}
	}
	return false
}

func TestRandomMessagesBecomeGoValuesAndReturn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		typ, model, b := randomMessage(rt)
		x, err := dynamic.NewValue(typ, b).Any()
		if err != nil {
			rt.Fatal(err)
		}
		back, err := dynamic.AppendAny(nil, typ, x)
		if err != nil {
			rt.Fatalf("%v: %v", x, err)
		}
		got, n, err := conform.Decode(conform.Binary, typ, back, conform.Rules{})
		if err != nil || n != len(back) || conform.Format(typ, got) != conform.Format(typ, model) {
			rt.Fatalf("%v became %x (%v)", x, back, err)
		}
		if _, err := dynamic.NewNode(conform.Wire(typ), b).Any(); err != nil {
			rt.Fatalf("without the schema: %v", err)
		}
	})
}

func TestDamagedMessagesGiveFaultsOnly(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		typ, model, b := randomMessage(rt)
		damaged := conform.Damaged(rt, b)
		v := dynamic.NewValue(typ, damaged)
		var paths [][]dynamic.Step
		var values []dynamic.Node
		all := places(typ, model, nil, 3)
		for _, p := range all[1:min(len(all), 40)] {
			if _, err := v.Get(p.path...); err != nil {
				checkIsFault(rt, err, len(damaged))
			}
			out, err := v.AppendDelete(nil, p.path...)
			if err != nil {
				checkIsFault(rt, err, len(damaged))
			} else if v.Check() == nil && dynamic.NewValue(typ, out).Check() != nil {
				rt.Fatalf("a whole message became %x", out)
			}
			if len(p.path) == 1 {
				paths, values = append(paths, p.path), append(values, dynamic.NewNode(conform.Wire(p.typ), binary(p.typ, p.value)))
			}
		}
		set, err := dynamic.CompileAll(typ, paths...)
		if err != nil {
			rt.Fatal(err)
		}
		out, err := set.AppendSet(nil, v.Node, values)
		if err != nil {
			checkIsFault(rt, err, len(damaged))
		} else if v.Check() == nil && dynamic.NewValue(typ, out).Check() != nil {
			rt.Fatalf("a whole message became %x", out)
		}
		if err := set.Get(v.Node, make([]dynamic.Value, len(paths))); err != nil {
			checkIsFault(rt, err, len(damaged))
		}
		if _, err := v.Any(); err != nil {
			checkIsFault(rt, err, len(damaged))
		}
	})
}

func checkIsFault(t interface{ Fatalf(string, ...any) }, err error, size int) {
	var f *diag.Fault
	if !errors.As(err, &f) || f.Offset < -1 || f.Offset > size {
		t.Fatalf("the error is %v", err)
	}
}
