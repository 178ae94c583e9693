package fbsidl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/schema"
)

// loadText loads one file from memory.
func loadText(text string) (*schema.File, diag.List) {
	return fbsidl.Load("t.fbs", fbsidl.Sources(map[string][]byte{"t.fbs": []byte(text)}), fbsidl.MemoryOnly())
}

// codes returns the codes of the errors in list.
func codes(list diag.List) string {
	var all []string
	for _, d := range list {
		if d.Severity == diag.Error {
			all = append(all, d.Code)
		}
	}
	return strings.Join(all, " ")
}

// lines returns n lines of which format makes each from its number.
func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}

func TestWhatIsTooDeepOrTooLargeIsRefused(t *testing.T) {
	const n = 100_000
	long := strings.Repeat("x", 1<<20)
	structs := "struct S0 { a:[long:1000]; }\n" + strings.ReplaceAll(lines(60, "struct S%d+ { a:[S%[1]d:60000]; }"), "+", "x")
	for name, c := range map[string]struct{ text, code string }{
		"vectors":           {"table T { a:" + strings.Repeat("[", n) + "int", "nested-vector"},
		"functions":         {"table T { a:float = " + strings.Repeat("sin(", n) + "1" + strings.Repeat(")", n) + "; }", "nesting-depth"},
		"a name":            {"table " + long + " {}", "name-too-long"},
		"a dotted name":     {"table T { a:a" + strings.Repeat(".a", n) + "; }", "name-too-long"},
		"a namespace":       {"namespace a" + strings.Repeat(".a", n) + ";", "name-too-long"},
		"fields":            {"table T {\n" + lines(32_766, "f%d:int;") + "}", "too-many-fields"},
		"structs in arrays": {structs, "struct-too-large"},
	} {
		t.Run(name, func(t *testing.T) {
			_, list := loadText(c.text)
			if !strings.Contains(codes(list), c.code) {
				t.Errorf("codes = %q, want %s", codes(list), c.code)
			}
		})
	}
}

func TestATableOfTheMostFieldsIsAccepted(t *testing.T) {
	f, list := loadText("table T {\n" + lines(32_765, "f%d:int;") + "}")
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	if n := len(f.Struct("T").Fields()); n != 32_765 {
		t.Errorf("%d fields", n)
	}
}

func TestDeepIncludesAreRefused(t *testing.T) {
	src := map[string][]byte{}
	for i := range 5000 {
		src[fmt.Sprintf("f%d.fbs", i)] = fmt.Appendf(nil, "include \"f%d.fbs\";\n", i+1)
	}
	_, list := fbsidl.Load("f0.fbs", fbsidl.Sources(src), fbsidl.MemoryOnly())
	if codes(list) != "include-depth" {
		t.Errorf("codes = %q", codes(list))
	}
}

func TestAnOverlongFileIsRefused(t *testing.T) {
	_, list := loadText(strings.Repeat(" ", 16<<20+1))
	if codes(list) != "file-too-large" {
		t.Errorf("codes = %q", codes(list))
	}
}

func TestManyMistakesGiveABoundedListInBoundedTime(t *testing.T) {
	const n = 5_000
	enum := "enum E : int {" + lines(n, "V%d,") + "}\n"
	for name, text := range map[string]string{
		"errors":             strings.Repeat("table = 1;\n", n),
		"warnings":           "table T {\n" + lines(n, "f%d:bool = 2;") + "}",
		"bytes":              strings.Repeat("\x00\xff$", n),
		"quotes":             strings.Repeat("\"\n\\\n'\n", n),
		"braces":             strings.Repeat("table S {\n", n),
		"closing":            strings.Repeat("}\n", n),
		"one name":           "table S {\n" + lines(n, "f:int; // %d") + "}",
		"one id":             "table S {\n" + lines(n, "f%d:int (id: 1);") + "}",
		"one number":         "enum E : int {" + lines(n, "V%d = 1,") + "}",
		"unknown types":      lines(n, "table S%d {}") + "table T {" + lines(n, "f%d:Q;") + "}",
		"many unknown types": lines(n, "table S%d {}") + "table T {" + lines(n, "f%d:Q%[1]d;") + "}",
		"unknown values":     enum + "table T {" + lines(n, "f%d:E = W;") + "}",
		"unknown attributes": lines(n, "attribute a%d;") + "table T {" + lines(n, "f%d:int (b%[1]d);") + "}",
		"duplicate types":    lines(n, "table S {} // %d"),
		"missing includes":   lines(n, "include \"gone%d.fbs\";"),
		"deep namespaces":    lines(n, "namespace a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t; table T%d { x:U%[1]d; }"),
	} {
		t.Run(name, func(t *testing.T) {
			_, list := loadText(text)
			if len(list) == 0 || len(list) > 200 {
				t.Errorf("%d diagnostics", len(list))
			}
			if len(list) >= 100 && !strings.Contains(list.Error(), "too-many-diagnostics") {
				t.Error("the list does not say that it ends early")
			}
			render(t, list)
		})
	}
}
