package thriftidl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/idl/thriftidl"
)

// nested returns before, n times open, middle, n times end.
func nested(open, middle, end string, n int) string {
	return strings.Repeat(open, n) + middle + strings.Repeat(end, n)
}

func TestDeepNestingIsRefused(t *testing.T) {
	const n = 200_000
	var typedefs, reversed, consts, services strings.Builder
	typedefs.WriteString("typedef i32 T0\n")
	for i := range 20_000 {
		fmt.Fprintf(&typedefs, "typedef T%d T%d\n", i, i+1)
		fmt.Fprintf(&reversed, "typedef T%d T%d\n", i+1, i)
		fmt.Fprintf(&consts, "const i32 C%d = C%d\n", i, i+1)
		fmt.Fprintf(&services, "service S%d extends S%d {}\n", i, i+1)
	}
	reversed.WriteString("typedef i32 T20000\n")
	consts.WriteString("const i32 C20000 = 1\n")
	services.WriteString("service S20000 {}\n")
	for name, c := range map[string]struct{ text, code string }{
		"types":            {"struct S { 1: " + nested("list<", "i32", ">", n) + " x }", "nesting-depth"},
		"types left open":  {"struct S { 1: " + strings.Repeat("map<", n), "nesting-depth"},
		"lists":            {"const i32 X = " + nested("[", "", "]", n), "nesting-depth"},
		"lists left open":  {"const i32 X = " + strings.Repeat("[", n), "nesting-depth"},
		"maps":             {"const i32 X = " + nested("{1:", "2", "}", n), "nesting-depth"},
		"struct literals":  {"const i32 X = " + nested("S{a=", "2", "}", n), "nesting-depth"},
		"annotations":      {"@" + nested("S{a=", "2", "}", n) + " struct S {}", "nesting-depth"},
		"xsd attributes":   {"struct S {" + nested("1: i32 a xsd_attrs {", "", "}", n) + "}", "nesting-depth"},
		"typedefs":         {typedefs.String(), "type-too-large"},
		"typedefs reverse": {reversed.String(), "type-too-large"},
		"constants":        {consts.String(), "nesting-depth"},
		"services":         {services.String(), "service-depth"},
	} {
		t.Run(name, func(t *testing.T) {
			_, list := loadText(c.text)
			if !strings.Contains(codes(list), c.code) {
				t.Errorf("codes = %q, want %s", codes(list), c.code)
			}
		})
	}
}

func TestExponentialTypesAreRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("typedef i32 T0\n")
	for i := range 60 {
		fmt.Fprintf(&b, "typedef map<T%d, T%d> T%d\n", i, i, i+1)
	}
	_, list := loadText(b.String())
	if codes(list) != "type-too-large" {
		t.Errorf("codes = %q", codes(list))
	}
}

func TestExponentialConstantsAreRefused(t *testing.T) {
	for _, elem := range []string{"list<T%d>", "map<i32, T%d>"} {
		var b strings.Builder
		b.WriteString("typedef i32 T0\nconst T0 C0 = 1\n")
		for i := range 40 {
			fmt.Fprintf(&b, "typedef "+elem+" T%d\n", i, i+1)
			if strings.HasPrefix(elem, "list") {
				fmt.Fprintf(&b, "const T%d C%d = [C%d, C%d, C%d]\n", i+1, i+1, i, i, i)
			} else {
				fmt.Fprintf(&b, "const T%d C%d = {1: C%d, 2: C%d, 3: C%d}\n", i+1, i+1, i, i, i)
			}
		}
		_, list := loadText(b.String())
		if !strings.HasPrefix(codes(list), "constant-too-large") {
			t.Errorf("%s: codes = %q", elem, codes(list))
		}
	}
}

func TestExponentialSetsAndConversionsAreRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("const list<i32> C0 = [1, 2, 3]\n")
	for i := range 12 {
		from, to := strings.Repeat("list<", i+1)+"i32"+strings.Repeat(">", i+1), strings.Repeat("set<", i+2)+"double"+strings.Repeat(">", i+2)
		fmt.Fprintf(&b, "const list<%s> C%d = [C%d, C%d, C%d, C%d]\n", from, i+1, i, i, i, i)
		fmt.Fprintf(&b, "const %s D%d = C%d\n", to, i+1, i+1)
	}
	_, list := loadText(b.String())
	if !strings.Contains(codes(list), "constant-too-large") {
		t.Errorf("codes = %q", codes(list))
	}
}

func TestDeepIncludesAreRefused(t *testing.T) {
	src := map[string][]byte{}
	for i := range 5000 {
		src[fmt.Sprintf("f%d.thrift", i)] = fmt.Appendf(nil, "include \"f%d.thrift\"\n", i+1)
	}
	_, list := thriftidl.Load("f0.thrift", thriftidl.Sources(src), thriftidl.MemoryOnly())
	if codes(list) != "include-depth" {
		t.Errorf("codes = %q", codes(list))
	}
}

func TestManyMistakesGiveABoundedList(t *testing.T) {
	for name, text := range map[string]string{
		"errors":   strings.Repeat("const i32 = 1\n", 50_000),
		"warnings": "struct S {\n" + strings.Repeat("  i32 a\n", 20_000) + "}",
		"bytes":    strings.Repeat("\x00\xff$", 50_000),
		"quotes":   strings.Repeat("\"\n\\\n'\n", 50_000),
		"braces":   strings.Repeat("struct S {\n", 50_000),
		"closing":  strings.Repeat("}\n", 50_000),
		"at signs": strings.Repeat("@", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			_, list := loadText(text)
			if len(list) > 200 {
				t.Errorf("%d diagnostics", len(list))
			}
			if list.Err() == nil {
				t.Error("no error")
			}
			if len(list) >= 100 && !strings.Contains(list.Error(), "too-many-diagnostics") {
				t.Error("the list does not say that it ends early")
			}
		})
	}
}

func TestAnOverlongFileIsRefused(t *testing.T) {
	src := map[string][]byte{"big.thrift": make([]byte, 33<<20)}
	_, list := thriftidl.Load("big.thrift", thriftidl.Sources(src))
	if codes(list) != "file-too-large" {
		t.Errorf("codes = %q", codes(list))
	}
}

func TestALongLineIsShownInPart(t *testing.T) {
	_, list := loadText("const string X = \"" + strings.Repeat("x", 1<<20) + "\" const i32 Y = \"text\"")
	if n := len(render(t, list)); n > 1000 {
		t.Errorf("%d bytes are shown", n)
	}
}
