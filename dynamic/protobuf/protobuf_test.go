package protobuf_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/thrum-rpc/thrum/dynamic/protobuf"
	"github.com/thrum-rpc/thrum/schema"
)

func TestAnyShowsWhatGooglesLibraryReads(t *testing.T) {
	each(t, 150, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		got, err := protobuf.NewValue(typ, b).Any()
		if err != nil {
			t.Error(err)
			return
		}
		if got, want := fmt.Sprintf("%#v", withoutZeros(got, typ)), show(mustParse(t, md, b)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// walk calls f with every path into v, a message of type typ as Any shows it.
func walk(v any, typ *schema.Type, path []protobuf.Step, f func(path []protobuf.Step, v any)) {
	f(path, v)
	at := path[:len(path):len(path)]
	switch x := v.(type) {
	case map[string]any:
		for name, e := range x {
			field := typ.Struct().FieldByName(name)
			walk(e, field.Type(), append(at, protobuf.Name(name)), f)
		}
	case []any:
		for i, e := range x {
			walk(e, typ.Elem(), append(at, protobuf.Index(i)), f)
		}
	case map[any]any:
		for k, e := range x {
			walk(e, typ.Elem(), append(at, keyStep(k)), f)
		}
	}
}

func keyStep(k any) protobuf.Step {
	switch k := k.(type) {
	case string:
		return protobuf.Key(k)
	case bool:
		return protobuf.BoolKey(k)
	case int32:
		return protobuf.IntKey(int64(k))
	case int64:
		return protobuf.IntKey(k)
	case uint32:
		return protobuf.UintKey(uint64(k))
	default:
		return protobuf.UintKey(k.(uint64))
	}
}

func TestPathsLeadToWhatGooglesLibraryReads(t *testing.T) {
	each(t, 80, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		v := protobuf.NewValue(typ, b)
		walk(content(mustParse(t, md, b)), typ, nil, func(path []protobuf.Step, want any) {
			got, err := v.Get(path...)
			if err != nil {
				t.Errorf("%v: %v", path, err)
				return
			}
			out, err := got.Any()
			if s := fmt.Sprintf("%#v", withoutZeros(out, got.Type())); err != nil || s != fmt.Sprintf("%#v", want) {
				t.Errorf("%v: got %s, %v\nwant %#v", path, s, err, want)
			}
			compiled, err := protobuf.Compile(typ, path...)
			if err != nil {
				t.Errorf("%v: %v", path, err)
				return
			}
			again, err := compiled.Get(v.Node)
			if err != nil || again.Exists() != got.Exists() || again.Type() != got.Type() || string(again.Raw()) != string(got.Raw()) {
				t.Errorf("%v: compiled %v, %v", path, again, err)
			}
		})
	})
}

func TestIterationShowsEveryPart(t *testing.T) {
	var collect func(v protobuf.Value) (any, error)
	collect = func(v protobuf.Value) (any, error) {
		it := v.Iterate()
		switch {
		case v.Type() != nil && v.Type().Kind() == schema.Struct:
			out := map[string]any{}
			for it.Next() {
				if it.Field() == nil {
					continue
				}
				e, err := collect(it.Value())
				if err != nil {
					return nil, err
				}
				if m, ok := e.(map[any]any); ok && len(m) == 0 {
					continue
				}
				out[it.Field().Name()] = e
			}
			return out, it.Err()
		case v.Type() != nil && v.Type().Kind() == schema.List:
			out := []any{}
			for it.Next() {
				e, err := collect(it.Value())
				if err != nil {
					return nil, err
				}
				if it.Index() != len(out) {
					return nil, fmt.Errorf("index %d", it.Index())
				}
				out = append(out, e)
			}
			return out, it.Err()
		case v.Type() != nil && v.Type().Kind() == schema.Map:
			out := map[any]any{}
			for it.Next() {
				e, err := collect(it.Value())
				if err != nil {
					return nil, err
				}
				k, err := it.Key().Any()
				if err != nil {
					return nil, err
				}
				out[k] = e
			}
			return out, it.Err()
		}
		return v.Any()
	}
	each(t, 80, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		got, err := collect(protobuf.NewValue(typ, b))
		if s, want := fmt.Sprintf("%#v", withoutZeros(got, typ)), show(mustParse(t, md, b)); err != nil || s != want {
			t.Errorf("got  %s, %v\nwant %s", s, err, want)
		}
	})
}

func TestAppendAnyWritesWhatAnyShows(t *testing.T) {
	each(t, 80, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		m := mustParse(t, md, b)
		out, err := protobuf.AppendAny(nil, typ, content(m))
		if err != nil {
			t.Error(err)
			return
		}
		if again := mustParse(t, md, out); !same(m, again) {
			t.Errorf("%x: got  %s\nwant %s", out, show(again), show(m))
		}
	})
}

func TestCheckAcceptsWhatGooglesLibraryAccepts(t *testing.T) {
	each(t, 80, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		for range 10 {
			bad := append([]byte{}, b...)
			if len(bad) > 0 {
				bad[c.rng.IntN(len(bad))] = byte(c.rng.Uint32())
			}
			compareCheck(t, c, md, bad)
			compareCheck(t, c, md, b[:c.rng.IntN(len(b)+1)])
		}
	})
}

// compareCheck compares Check with Google's reading.
func compareCheck(t *testing.T, c *corpus, md protoreflect.MessageDescriptor, b []byte) {
	t.Helper()
	err := protobuf.NewValue(c.schema(md), b).Check()
	_, want := parse(md, b)
	if want == errNoVerdict {
		return
	}
	if (err == nil) != (want == nil) {
		t.Errorf("%x: got %v, want %v", b, err, want)
	}
}
