package dynamic_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// FuzzPaths follows any path into any bytes, with schemas and without.
func FuzzPaths(f *testing.F) {
	f.Add(simpleMessage(), "i64Field", "6", []byte("\x00\x00\x00\x01a"), byte(thriftwire.String))
	f.Add(nestingMessage(), `mapStringSimple["3"].binaryField`, `listSimple[3].1`, []byte{1}, byte(thriftwire.I8))
	f.Add([]byte{0}, `mapI64String[7]`, `listI32[$]`, []byte{0, 0, 0, 1}, byte(thriftwire.I32))
	f.Add([]byte("\x0d\x00\x1b\x0c\x0b\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00"), `27[#12:00]`, `byDouble[1.5]`, []byte{}, byte(0))
	f.Fuzz(func(t *testing.T, b []byte, text1, text2 string, x []byte, typ byte) {
		one, err1 := dynamic.ParsePath(text1)
		two, err2 := dynamic.ParsePath(text2)
		if err1 != nil || err2 != nil {
			return
		}
		value := dynamic.NewNode(thriftwire.Type(typ), x)
		for _, d := range []*schema.StructDef{shop, simple, nesting, nil} {
			v := dynamic.Value{Node: dynamic.NewNode(thriftwire.Struct, b)}
			var root *schema.Type
			if d != nil {
				root = d.Type()
				v = dynamic.NewValue(root, b)
			}
			if n, err := v.Get(one...); err == nil && n.Exists() && n.Check() != nil {
				t.Fatalf("%s is %x", text1, n.Raw())
			}
			set, err := dynamic.CompileAll(root, one, two)
			if err != nil {
				continue
			}
			out := make([]dynamic.Value, 2)
			if err := set.Get(v.Node, out); err == nil {
				if n, err := v.Get(two...); err != nil || string(n.Raw()) != string(out[1].Raw()) {
					t.Fatalf("%s is %x alone (%v) and %x with %s", text2, n.Raw(), err, out[1].Raw(), text1)
				}
			}
			whole := v.Check() == nil
			changed, err := set.AppendSet(nil, v.Node, []dynamic.Node{value, {}})
			if err == nil && whole {
				if err := dynamic.NewNode(thriftwire.Struct, changed).Check(); err != nil {
					t.Fatalf("%x became %x: %v", b, changed, err)
				}
			}
			if x, err := v.Any(); err == nil && d != nil {
				if _, err := dynamic.AppendAny(nil, root, x); err != nil {
					t.Fatalf("%v: %v", x, err)
				}
			}
		}
	})
}

// FuzzParsePath reads any text as a path; what it accepts has one meaning.
func FuzzParsePath(f *testing.F) {
	for _, text := range []string{"", "a.b[3]", `a["b\n"].-7`, "[true][1.5][^3][$][#12:00]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		steps, err := dynamic.ParsePath(text)
		if err != nil {
			return
		}
		formatted := ""
		for _, s := range steps {
			formatted += s.String()
		}
		if len(formatted) > 0 && formatted[0] == '.' {
			formatted = formatted[1:]
		}
		again, err := dynamic.ParsePath(formatted)
		if err != nil || len(again) != len(steps) {
			t.Fatalf("%q was written as %q: %v", text, formatted, err)
		}
		for i := range again {
			if again[i] != steps[i] {
				t.Fatalf("%q was written as %q, step %d differs", text, formatted, i)
			}
		}
	})
}
