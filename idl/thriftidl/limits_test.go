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
	src := map[string][]byte{"big.thrift": make([]byte, 16<<20+1)}
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

// lines returns n lines of which format makes each from its number.
func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}

func TestMistakesByTheThousandTakeNoSquareTime(t *testing.T) {
	const n = 20_000
	enum := "enum E {" + lines(n, "V%d") + "}\n"
	for name, text := range map[string]string{
		"one id":               "struct S {\n" + lines(n, "1: i32 f%d") + "}",
		"one name":             "struct S {\n" + lines(n, "%d: i32 f") + "}",
		"unknown types":        lines(n, "struct S%d {}") + "struct T {" + lines(n, "%d: Q f%[1]d") + "}",
		"unknown enumerators":  enum + lines(n, "const E C%d = E.W"),
		"unknown constants":    enum + lines(n, "const E C%d = W"),
		"unknown fields":       "struct S {" + lines(n, "%d: i32 f%[1]d") + "}\n" + lines(n, "const S C%d = {\"g\": 1}"),
		"unknown services":     lines(n, "service S%d extends Q {}"),
		"unknown qualifiers":   lines(n, "include \"f.thrift\" as f%d") + lines(n, "struct S%d { 1: g.T t }"),
		"duplicate types":      lines(n, "struct S {} // %d"),
		"missing includes":     lines(n, "include \"gone%d.thrift\""),
		"impossible structs":   lines(n, "struct S%d { 1: required S%[1]d s }"),
		"a chain of structs":   lines(n, "struct S%d { 1: required S0 s }"),
		"constants in a cycle": lines(n, "const i32 C%d = C0"),
	} {
		t.Run(name, func(t *testing.T) {
			_, list := thriftidl.Load("t.thrift", thriftidl.MemoryOnly(), thriftidl.Sources(map[string][]byte{
				"t.thrift": []byte(text), "f.thrift": []byte("struct A {}"),
			}))
			if len(list) == 0 || len(list) > 200 {
				t.Errorf("%d diagnostics", len(list))
			}
		})
	}
}

func TestASharedConstantIsNotSpeltOutOverAndOver(t *testing.T) {
	const n = 5000
	for name, text := range map[string]string{
		"a long string in sets":  `const string BIG = "` + strings.Repeat("x", 1<<19) + "\"\n" + lines(n, "const set<string> S%d = [BIG]"),
		"a long list as a key":   "const list<i32> BIG = [" + strings.Repeat("1,", 1<<18) + "]\n" + lines(n, "const map<list<i32>, i32> M%d = {BIG: 1}"),
		"a long list, converted": "const list<i32> BIG = [" + strings.Repeat("1,", 1<<18) + "]\n" + lines(n, "const list<i64> L%d = BIG"),
	} {
		t.Run(name, func(t *testing.T) {
			_, list := loadText(text)
			if !strings.HasPrefix(codes(list), "constant-too-large") {
				t.Errorf("codes = %q", codes(list))
			}
		})
	}
}

func TestALongNameIsRefused(t *testing.T) {
	name := strings.Repeat("x", 1<<20)
	_, list := loadText("struct " + name + " {}")
	if codes(list) != "name-too-long" {
		t.Errorf("codes = %q", codes(list))
	}
}
