package dynamic_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"pgregory.net/rapid"
)

// This file trims by any pair of types: related ones, unrelated ones, and such
// as are only a little wrong.

// twister makes types of others by dropping, adding, renumbering and retyping
// fields.
type twister struct {
	t    *rapid.T
	done map[*schema.StructDef]*schema.StructDef
}

func (w *twister) one(of int) bool { return rapid.IntRange(1, of).Draw(w.t, "chance") == of }

func (w *twister) typ(t *schema.Type) *schema.Type {
	if w.one(12) {
		return schema.Basic(rapid.SampledFrom([]schema.Kind{schema.I32, schema.String, schema.Double}).Draw(w.t, "kind"))
	}
	switch t.Kind() {
	case schema.Struct:
		return w.structure(t.Struct()).Type()
	case schema.List:
		if w.one(12) {
			return schema.SetOf(w.typ(t.Elem()))
		}
		return schema.ListOf(w.typ(t.Elem()))
	case schema.Set:
		return schema.SetOf(w.typ(t.Elem()))
	case schema.Map:
		return schema.MapOf(w.typ(t.Key()), w.typ(t.Elem()))
	default:
		return t
	}
}

func (w *twister) structure(d *schema.StructDef) *schema.StructDef {
	if out := w.done[d]; out != nil {
		return out
	}
	out := schema.NewStruct(schema.DeclSpec{Name: "Twisted" + d.Name()}, d.Flavor())
	w.done[d] = out
	var fields []*schema.Field
	taken := map[int32]bool{}
	add := func(id int32, name string, t *schema.Type, r schema.Requiredness) {
		if !taken[id] {
			taken[id] = true
			fields = append(fields, schema.NewField(schema.FieldSpec{ID: id, Name: name, Type: t, Requiredness: r}))
		}
	}
	for _, f := range d.Fields() {
		if w.one(3) {
			continue
		}
		id, r := f.ID(), f.Requiredness()
		if w.one(16) {
			id = rapid.Int32Range(-5, 3000).Draw(w.t, "id")
		}
		if w.one(6) {
			r = schema.Required
		}
		add(id, f.Name(), w.typ(f.Type()), r)
	}
	if w.one(10) {
		add(rapid.Int32Range(1, 30).Draw(w.t, "id"), "added", schema.Basic(schema.I64), schema.Optional)
	}
	out.Complete(fields)
	return out
}

// checkPair trims messages of the type from, whole ones and damaged ones.
func checkPair(t *rapid.T, from, to *schema.Type) {
	var opts []dynamic.TrimOption
	if rapid.Bool().Draw(t, "allow missing") {
		opts = append(opts, dynamic.AllowMissing())
	}
	trimmer, err := dynamic.NewTrimmer(from, to, opts...)
	if err != nil {
		checkIsFault(t, err, 0)
		return
	}
	b := binary(from, conform.Value(t, from, 3))
	for _, b := range [][]byte{b, conform.Damaged(t, b)} {
		out, n, err := trimmer.Append(nil, b)
		if err != nil {
			checkIsFault(t, err, len(b))
			continue
		}
		if n > len(b) || len(out) > n || dynamic.NewNode(thriftwire.Struct, out).Check() != nil {
			t.Fatalf("%x became %x", b, out)
		}
		// What is kept is a message of the smaller type and has nothing else. Twice cut is cut.
		if _, err := dynamic.NewValue(to, out).Any(); err != nil {
			t.Fatalf("%x became %x, which is no %s: %v", b, out, to, err)
		}
		self, err := dynamic.NewTrimmer(to, to, dynamic.AllowMissing())
		if err != nil {
			t.Fatalf("%s to itself: %v", to, err)
		}
		if again, _, err := self.Append(nil, out); err != nil || string(again) != string(out) {
			t.Fatalf("%x holds more than a %s: %x, %v", out, to, again, err)
		}
	}
}

func anyPair(t *rapid.T) {
	from := conform.Struct(t, conform.DefaultShape)
	w := &twister{t: t, done: map[*schema.StructDef]*schema.StructDef{}}
	checkPair(t, from, w.structure(from.Struct()).Type())
	checkPair(t, from, conform.Struct(t, conform.DefaultShape))
}

func TestAnyPairOfTypesTrimsOrIsRefused(t *testing.T) { rapid.Check(t, anyPair) }

// FuzzTrimPairs draws the pair of types and the message from the fuzzer's bytes.
func FuzzTrimPairs(f *testing.F) { f.Fuzz(rapid.MakeFuzz(anyPair)) }
