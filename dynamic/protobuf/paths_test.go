package protobuf_test

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/protobuf"
	"github.com/thrum-rpc/thrum/schema"
)

// somePaths returns random paths into a message, most of which lead somewhere.
func somePaths(c *corpus, typ *schema.Type, v any) [][]protobuf.Step {
	var all [][]protobuf.Step
	walk(v, typ, nil, func(path []protobuf.Step, v any) {
		all = append(all, path)
		if _, ok := v.([]any); ok {
			all = append(all, append(path[:len(path):len(path)], protobuf.Index(c.rng.IntN(9))))
		}
	})
	for _, f := range typ.Struct().Fields() {
		all = append(all, []protobuf.Step{protobuf.Field(f.ID())})
	}
	c.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:c.rng.IntN(len(all)+1)]
}

func TestManyPathsFindWhatEachFinds(t *testing.T) {
	each(t, 80, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		v := protobuf.NewValue(typ, b)
		paths := somePaths(c, typ, content(mustParse(t, md, b)))
		set, err := protobuf.CompileAll(typ, paths...)
		if err != nil {
			t.Error(err)
			return
		}
		out := make([]protobuf.Value, len(paths))
		if err := set.Get(v.Node, out); err != nil {
			t.Error(err)
			return
		}
		for i, path := range paths {
			want, err := v.Get(path...)
			if err != nil || out[i].Exists() != want.Exists() || want.Exists() && out[i].Type() != want.Type() || string(out[i].Raw()) != string(want.Raw()) {
				t.Errorf("%v: got %v (%x), want %v (%x), %v", path, out[i], out[i].Raw(), want, want.Raw(), err)
			}
			one, err := protobuf.Compile(typ, path...)
			if err != nil || one.Type() != set.Type(i) {
				t.Errorf("%v: %v", path, err)
				continue
			}
			if again, err := protobuf.ParsePath(one.String()); err != nil || len(again) != len(path) {
				t.Errorf("%v is written %s, which is %v, %v", path, one, again, err)
			}
		}
	})
}

func TestBareNodesFollowNumbers(t *testing.T) {
	each(t, 60, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		v := protobuf.NewValue(typ, b)
		var paths [][]protobuf.Step
		for _, f := range typ.Struct().Fields() {
			if f.Oneof() != nil || f.Type().Kind().IsContainer() {
				continue // which only a schema tells
			}
			path := []protobuf.Step{protobuf.Field(f.ID())}
			want, err := v.Get(path...)
			got, err2 := v.Node.Get(path...)
			if got.WireType() != want.WireType() {
				continue // an unknown field, which only a schema tells
			}
			if err != nil || err2 != nil || want.Exists() && f.Type().Kind() != schema.Struct && string(want.Raw()) != string(got.Raw()) {
				t.Errorf("%v: got %x, %v, want %x, %v", path, got.Raw(), err2, want.Raw(), err)
			}
			paths = append(paths, path)
			if f.Type().Kind() != schema.Struct {
				continue
			}
			for _, part := range f.Type().Struct().Fields() {
				if part.Oneof() != nil || part.Type().Kind().IsContainer() || part.Type().Kind() == schema.Struct {
					continue
				}
				path := append(path[:1:1], protobuf.Field(part.ID()))
				want, _ := v.Get(path...)
				got, err := v.Node.Get(path...)
				if err != nil || got.WireType() == want.WireType() && string(want.Raw()) != string(got.Raw()) {
					t.Errorf("%v: got %x, %v, want %x", path, got.Raw(), err, want.Raw())
				}
				paths = append(paths, path)
			}
		}
		set, err := protobuf.CompileAll(nil, paths...)
		if err != nil {
			t.Error(err)
			return
		}
		out := make([]protobuf.Value, len(paths))
		if err := set.Get(v.Node, out); err != nil {
			t.Error(err)
		}
		for i, path := range paths {
			if want, _ := v.Node.Get(path...); string(want.Raw()) != string(out[i].Raw()) {
				t.Errorf("%v: got %x, want %x", path, out[i].Raw(), want.Raw())
			}
		}
	})
}

func TestStepsThatTheSchemaDoesNotHaveAreRefused(t *testing.T) {
	typ := shop(t)
	v := protobuf.NewValue(typ, nil)
	for text, want := range map[string]struct {
		code diag.Code
		path string
	}{
		"nothing": {diag.UnknownField, ""}, "items[0].nothing": {diag.UnknownField, "items[0]"}, "400000": {diag.UnknownField, ""},
		"items.name": {diag.TypeMismatch, "items"}, "name[0]": {diag.TypeMismatch, "name"}, "ids[-1]": {diag.TypeMismatch, "ids"},
		`ids["a"]`: {diag.TypeMismatch, "ids"}, "ids[1.5]": {diag.TypeMismatch, "ids"}, "items[true]": {diag.TypeMismatch, "items"},
	} {
		steps, err := protobuf.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = v.Get(steps...)
		checkFault(t, text, err, want.code, want.path)
		_, err = protobuf.Compile(typ, steps...)
		checkFault(t, text, err, want.code, want.path)
	}
	if _, err := v.Node.Get(protobuf.Name("name")); diag.CodeOf(err) != diag.Unsupported {
		t.Error(err)
	}
	if _, err := v.Node.Get(protobuf.Field(0)); diag.CodeOf(err) != diag.UnknownField {
		t.Error(err)
	}
}

func checkFault(t *testing.T, what string, err error, code diag.Code, path string) {
	t.Helper()
	f, ok := err.(*diag.Fault)
	if !ok || f.Code != code || f.Path() != path {
		t.Errorf("%s: %v", what, err)
	}
}
