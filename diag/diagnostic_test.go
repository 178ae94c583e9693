package diag_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files in testdata")

// at returns the span of the first occurrence of part in s.
func at(s *diag.Source, part string) diag.Span {
	i := strings.Index(string(s.Text), part)
	if i < 0 {
		panic("no " + part)
	}
	return diag.Span{Source: s, Start: i, End: i + len(part)}
}

func TestRenderedDiagnosticsLookLikeTheGolden(t *testing.T) {
	src := diag.NewSource("shop.thrift", []byte("struct Item {\n\t2: i64 price\r\n\t2: string näme\n  // 世界 here\n\x1b[31m \u202e \xff end\n"+
		strings.Repeat("x", 200)+" far "+strings.Repeat("y", 200)+"\nlast"))
	other := diag.NewSource("base.thrift", []byte("one\ntwo\n"))
	list := diag.List{
		{Code: "duplicate-field-id", Span: at(src, "2: string"), Message: "field id 2 is used twice", Hint: "the next free id is 3",
			Notes: []diag.Note{{Span: at(src, "2: i64"), Message: "first used here"}, {Span: at(other, "two"), Message: "see also"}}},
		{Severity: diag.Warning, Code: "after-a-tab", Span: at(src, "näme"), Message: "the caret stands under the name"},
		{Code: "after-wide", Span: at(src, "here"), Message: "columns count code points"},
		{Code: "control", Span: at(src, "end"), Message: "nothing reaches the terminal \x1b[31m", Hint: "not\neven here"},
		{Code: "long-line", Span: at(src, "far"), Message: "a window of a long line is shown"},
		{Code: "long-span", Span: at(src, strings.Repeat("y", 200)), Message: "a span that leaves the window"},
		{Code: "several-lines", Span: diag.Span{Source: src, Start: 0, End: len(src.Text)}, Message: "a span shows its first line"},
		{Code: "end-of-line", Span: diag.Span{Source: src, Start: 13, End: 13}, Message: "an empty span at the end of a line"},
		{Code: "end-of-file", Span: diag.Span{Source: src, Start: len(src.Text), End: len(src.Text)}, Message: "the end of the text"},
		{Code: "no-place", Message: "no position", Hint: "there may be a hint"},
		{Code: "no-text", Span: diag.Span{Source: diag.NewSource("gone.thrift", nil)}, Message: "a file that could not be read", Hint: "look for it"},
		{Code: "empty", Span: diag.Span{Source: diag.NewSource("empty.thrift", []byte{})}, Message: "a file without text"},
	}
	var b bytes.Buffer
	if err := list.Render(&b); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/render.golden"
	if *rewrite {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("got:\n%s", b.Bytes())
	}
}

func TestWarningsAreNoError(t *testing.T) {
	list := diag.List{{Severity: diag.Warning, Message: "careful"}}
	if err := list.Err(); err != nil {
		t.Errorf("Err() = %v", err)
	}
	list = append(list, &diag.Diagnostic{Message: "wrong"})
	err := list.Err()
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("Err() = %v, want both lines", err)
	}
	if err := (diag.List)(nil).Err(); err != nil {
		t.Errorf("Err() of an empty list = %v", err)
	}
}

func TestSortOrdersByFileThenPlace(t *testing.T) {
	a, b := diag.NewSource("a", []byte("0123456789")), diag.NewSource("b", []byte("0123456789"))
	list := diag.List{
		{Code: "5", Span: diag.Span{Source: b, Start: 1}}, {Code: "3", Span: diag.Span{Source: a, Start: 7}},
		{Code: "2", Span: diag.Span{Source: a, Start: 2}}, {Code: "4", Span: diag.Span{Source: a, Start: 7}}, {Code: "1"},
	}
	list.Sort()
	for i, d := range list {
		if d.Code != string(rune('1'+i)) {
			t.Errorf("at %d stands %s", i, d.Code)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestRenderReturnsTheErrorOfItsWriter(t *testing.T) {
	if err := (diag.List{{Message: "x"}}).Render(brokenWriter{}); err == nil {
		t.Error("no error")
	}
}

func FuzzRender(f *testing.F) {
	f.Add([]byte("a\tb\r\n\xffc"), 1, 5)
	f.Add([]byte(strings.Repeat("世", 300)), 100, 700)
	f.Fuzz(func(t *testing.T, text []byte, start, end int) {
		if text == nil {
			text = []byte{}
		}
		start = min(max(start, 0), len(text))
		end = min(max(end, start), len(text))
		d := &diag.Diagnostic{Span: diag.Span{Source: diag.NewSource("f", text), Start: start, End: end}, Message: string(text), Code: "c"}
		var b bytes.Buffer
		if err := (diag.List{d}).Render(&b); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b.Bytes(), []byte("\n")); n != 3 {
			t.Errorf("%d lines:\n%q", n, b.Bytes())
		}
		for _, c := range b.Bytes() {
			if c < ' ' && c != '\n' && c != '\t' {
				t.Fatalf("the byte %#x reaches the terminal", c)
			}
		}
	})
}
