package protobuf_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/protobuf"
	"github.com/thrum-rpc/thrum/schema"
)

// smaller returns types with some of the fields of those of the corpus.
func smaller(c *corpus) map[*schema.StructDef]*schema.StructDef {
	out := map[*schema.StructDef]*schema.StructDef{}
	for _, d := range c.structs {
		out[d] = schema.NewStruct(schema.DeclSpec{Name: "Small" + d.Name()}, schema.PlainStruct)
	}
	var use func(t *schema.Type) *schema.Type
	use = func(t *schema.Type) *schema.Type {
		switch t.Kind() {
		case schema.Struct:
			return out[t.Struct()].Type().WithEncoding(t.Encoding())
		case schema.List:
			return schema.ListOf(use(t.Elem()))
		case schema.Map:
			return schema.MapOf(t.Key(), use(t.Elem()))
		}
		return t
	}
	names := slices.SortedFunc(maps.Keys(out), func(a, b *schema.StructDef) int {
		return strings.Compare(a.Name(), b.Name())
	})
	for _, d := range names {
		small := out[d]
		var fields []*schema.Field
		for _, f := range d.Fields() {
			if c.rng.IntN(3) > 0 {
				fields = append(fields, schema.NewField(schema.FieldSpec{ID: f.ID(), Name: f.Name(), Type: use(f.Type()), Requiredness: f.Requiredness()}))
			}
		}
		small.Complete(fields)
	}
	return out
}

// cutTo returns v, of type from, with the fields only that to has.
func cutTo(v any, to *schema.Type) any {
	switch x := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, f := range to.Struct().Fields() {
			if e, ok := x[f.Name()]; ok {
				out[f.Name()] = cutTo(e, f.Type())
			}
		}
		return out
	case []any:
		out := slices.Clone(x)
		for i := range out {
			out[i] = cutTo(out[i], to.Elem())
		}
		return out
	case map[any]any:
		out := map[any]any{}
		for k, e := range x {
			out[k] = cutTo(e, to.Elem())
		}
		return out
	}
	return v
}

func TestTrimmingKeepsWhatTheSmallerTypeHas(t *testing.T) {
	each(t, 120, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		to := smaller(c)[typ.Struct()].Type()
		trimmer, err := protobuf.NewTrimmer(typ, to)
		if err != nil {
			t.Error(err)
			return
		}
		out, err := trimmer.Append([]byte("kept"), b)
		if err != nil || string(out[:4]) != "kept" || len(out) > len(b)+4 {
			t.Errorf("%x, %v", out, err)
			return
		}
		m := mustParse(t, md, out[4:])
		if got, want := show(m), fmt.Sprintf("%#v", cutTo(content(mustParse(t, md, b)), to)); got != want {
			t.Errorf("got  %s\nwant %s\nbytes %x", got, want, out[4:])
		}
		if len(m.GetUnknown()) > 0 {
			t.Errorf("unknown fields are kept: %x", m.GetUnknown())
		}
	})
}

// maskOf writes the mask of a type whose fields stand in a larger one, at most
// some levels deep.
func maskOf(t *schema.StructDef, depth int) string {
	var names []string
	for _, f := range t.Fields() {
		inner := f.Type()
		if inner.Kind().IsContainer() {
			inner = inner.Elem()
		}
		name := f.Name()
		if inner.Kind() == schema.Struct && depth > 0 {
			name += "(" + maskOf(inner.Struct(), depth-1) + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func TestMasksKeepWhatTheyName(t *testing.T) {
	each(t, 80, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		to := smaller(c)[typ.Struct()].Type()
		mask, err := protobuf.NewMask(typ, maskOf(to.Struct(), 5)) // deeper than messages are drawn
		if err != nil {
			t.Error(err)
			return
		}
		out, err := mask.Append(nil, b)
		if err != nil {
			t.Error(err)
			return
		}
		if got, want := show(mustParse(t, md, out)), fmt.Sprintf("%#v", cutTo(content(mustParse(t, md, b)), to)); got != want {
			t.Errorf("got  %s\nwant %s\nbytes %x", got, want, out)
		}
	})
}

func requiredField(id int32, name string, t *schema.Type) *schema.Field {
	return schema.NewField(schema.FieldSpec{ID: id, Name: name, Type: t, Requiredness: schema.Required})
}

func structOf(name string, fields ...*schema.Field) *schema.StructDef {
	d := schema.NewStruct(schema.DeclSpec{Name: name}, schema.PlainStruct)
	d.Complete(fields)
	return d
}

func TestTrimmersThatCannotBeAreRefused(t *testing.T) {
	i32, text := schema.Basic(schema.I32), schema.Basic(schema.String)
	from := structOf("From", requiredField(1, "a", i32), requiredField(2, "b", i32.WithEncoding(schema.ZigZag)), requiredField(3, "c", schema.ListOf(text)),
		requiredField(4, "d", schema.MapOf(i32, text)), requiredField(5, "e", schema.Basic(schema.Float)), requiredField(6, "f", text))
	for _, c := range []struct {
		field *schema.Field
		code  diag.Code
	}{
		{requiredField(7, "x", i32), diag.UnknownField}, {requiredField(1, "x", text), diag.TypeMismatch}, {requiredField(2, "x", i32), diag.TypeMismatch},
		{requiredField(3, "x", text), diag.TypeMismatch}, {requiredField(4, "x", schema.MapOf(text, text)), diag.TypeMismatch},
		{requiredField(5, "x", i32.WithEncoding(schema.Fixed)), diag.TypeMismatch}, {requiredField(6, "x", from.Type()), diag.TypeMismatch},
	} {
		_, err := protobuf.NewTrimmer(from.Type(), structOf("To", c.field).Type())
		checkFault(t, c.field.String(), err, c.code, "x")
	}
	if _, err := protobuf.NewTrimmer(i32, i32); diag.CodeOf(err) != diag.Unsupported {
		t.Error(err)
	}
	if _, err := protobuf.NewMask(from.Type(), "a,x"); diag.CodeOf(err) != diag.UnknownField {
		t.Error(err)
	}
}

func TestTrimmingMissesRequiredFields(t *testing.T) {
	i32 := schema.Basic(schema.I32)
	inner := structOf("Inner", requiredField(1, "a", i32), requiredField(2, "b", i32))
	outer := structOf("Outer", schema.NewField(schema.FieldSpec{ID: 1, Name: "one", Type: inner.Type()}),
		schema.NewField(schema.FieldSpec{ID: 2, Name: "list", Type: schema.ListOf(inner.Type())}))
	trim := func(b string, opts ...protobuf.TrimOption) error {
		trimmer, err := protobuf.NewTrimmer(outer.Type(), outer.Type(), opts...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = trimmer.Append(nil, []byte(b))
		return err
	}
	// What two records of one message hold together is not missing.
	if err := trim("\x0a\x02\x08\x01\x0a\x02\x10\x01"); err != nil {
		t.Error(err)
	}
	checkFault(t, "a message", trim("\x0a\x02\x08\x01"), diag.MissingRequired, "one")
	checkFault(t, "an element", trim("\x12\x04\x08\x01\x10\x01\x12\x02\x08\x01"), diag.MissingRequired, "list[1]")
	if err := trim("\x0a\x02\x08\x01", protobuf.AllowMissing()); err != nil {
		t.Error(err)
	}
}

// lacks reports whether v, of type t, or a message in it lacks a required field.
func lacks(v any, t *schema.Type) bool {
	switch x := v.(type) {
	case map[string]any:
		for _, f := range t.Struct().Fields() {
			e, ok := x[f.Name()]
			if !ok && f.Requiredness() == schema.Required || ok && lacks(e, f.Type()) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(x, func(e any) bool { return lacks(e, t.Elem()) })
	case map[any]any:
		for _, e := range x {
			if lacks(e, t.Elem()) {
				return true
			}
		}
	}
	return false
}

func TestTrimmingFindsWhatLacksRequiredFields(t *testing.T) {
	counts := map[bool]int{}
	each(t, 150, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		to := typ
		for _, d := range requiring(c) {
			if d.Name() == typ.Struct().Name() {
				to = d.Type()
			}
		}
		trimmer, err := protobuf.NewTrimmer(typ, to)
		if err != nil {
			t.Error(err)
			return
		}
		_, err = trimmer.Append(nil, b)
		v, _ := protobuf.NewValue(typ, b).Any()
		want := lacks(v, to)
		counts[want]++
		if (diag.CodeOf(err) == diag.MissingRequired) != want {
			t.Errorf("lacks %t, got %v", want, err)
		}
	})
	if counts[true] < 10 || counts[false] < 10 {
		t.Errorf("the messages lack too often or too seldom: %v", counts)
	}
}

// requiring returns the types of the corpus with a field here and there that is
// required.
func requiring(c *corpus) []*schema.StructDef {
	small := smaller(c)
	out := make([]*schema.StructDef, 0, len(small))
	again := map[*schema.StructDef]*schema.StructDef{}
	for _, d := range small {
		again[d] = schema.NewStruct(schema.DeclSpec{Name: strings.TrimPrefix(d.Name(), "Small")}, schema.PlainStruct)
	}
	var use func(t *schema.Type) *schema.Type
	use = func(t *schema.Type) *schema.Type {
		switch t.Kind() {
		case schema.Struct:
			return again[t.Struct()].Type().WithEncoding(t.Encoding())
		case schema.List:
			return schema.ListOf(use(t.Elem()))
		case schema.Map:
			return schema.MapOf(t.Key(), use(t.Elem()))
		}
		return t
	}
	for _, d := range slices.SortedFunc(maps.Keys(again), func(a, b *schema.StructDef) int { return strings.Compare(a.Name(), b.Name()) }) {
		var fields []*schema.Field
		for _, f := range d.Fields() {
			r := schema.Optional
			if c.rng.IntN(12) == 0 {
				r = schema.Required
			}
			fields = append(fields, schema.NewField(schema.FieldSpec{ID: f.ID(), Name: f.Name(), Type: use(f.Type()), Requiredness: r}))
		}
		again[d].Complete(fields)
		out = append(out, again[d])
	}
	return out
}

func TestTrimmingDoesNotAllocate(t *testing.T) {
	typ := shop(t)
	v, err := protobuf.MakeAny(typ, map[string]any{"name": "a", "items": []any{map[string]any{"name": "b", "price": 7}}, "counts": []any{1, 2}, "ids": map[any]any{1: "c"}})
	if err != nil {
		t.Fatal(err)
	}
	mask, err := protobuf.NewMask(typ, "items(name),ids,counts")
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, 0, 2*len(v.Raw()))
	if n := testing.AllocsPerRun(100, func() { dst, _ = mask.Append(dst[:0], v.Raw()) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func ExampleNewMask() {
	order, err := loadShop()
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := protobuf.MakeAny(order, map[string]any{"name": "Ada", "items": []any{map[string]any{"name": "pen", "price": 120}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	mask, err := protobuf.NewMask(order, "items(name)")
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := mask.Append(nil, v.Raw())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(protobuf.NewValue(order, message).Any())
	// Output:
	// map[items:[map[name:pen]]] <nil>
}
