package plan

import (
	"strings"
	"testing"
)

const text = `decode slots=2
default 0 "USD \"x\""
proc 0 Item memory=64 base=0 unknown=40 init=1
  i64 wire=i64 id=1 header required name="id"
  string wire=string id=2 off=8 header default name="currency"
  list wire=list id=3 off=24 size=8 a=1 header optional pointerfree name="numbers"
proc 1 - memory=8 base=0 unknown=-1 init=-1
  i64 wire=i64
proc 2 Choice memory=8 base=0 unknown=-1 init=-1 union
  pointer wire=struct id=1 slot=0 header optional name="item"
`

func TestTextFormRoundTrips(t *testing.T) {
	p, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Verify(); err != nil {
		t.Fatal(err)
	}
	if got := Format(p); got != text {
		t.Fatalf("got\n%s\nwant\n%s", got, text)
	}
}

func TestVerifyRefuses(t *testing.T) {
	for _, c := range []struct{ why, old, new string }{
		{"memory outside of the struct", "off=24", "off=60"},
		{"a procedure that does not exist", "a=1", "a=9"},
		{"a stride that is not the element's size", "size=8", "size=4"},
		{"a default that does not exist", "id=2 off=8", "id=2 off=8 b=5"},
		{"two fields with one id", "id=2", "id=1"},
		{"a slot that does not exist", "slot=0", "slot=2"},
		{"a wire type that the code does not have", "wire=list", "wire=map"},
		{"a field without a header", "id=2 off=8 header", "id=2 off=8"},
		{"unknown fields outside of the struct", "unknown=40", "unknown=60"},
		{"a struct where a value is expected", "a=1", "a=2"},
	} {
		p, err := Parse(strings.Replace(text, c.old, c.new, 1))
		if err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		if p.Verify() == nil {
			t.Errorf("%s passes", c.why)
		}
	}
	p, _ := Parse(text)
	p.Procs[0].Ops[0].Head++
	if p.Verify() == nil {
		t.Error("a header that does not follow from type and id passes")
	}
	p, _ = Parse(text)
	p.Job = 0
	if p.Verify() == nil {
		t.Error("a job that does not exist passes")
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{
		"dance slots=1", "  i64 wire=i64", "proc 0", "encode slots=x", "default", "encode slots=0\nproc 0 A\n  jump",
		"encode slots=0\nproc 0 A memory=q", "encode slots=0\nproc 0 A\n  i64 id=99999999999", "default 0 \"open",
	} {
		if _, err := Parse(s); err == nil {
			t.Errorf("%q parses", s)
		}
	}
}

func TestFindKnowsEveryHeader(t *testing.T) {
	p, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	proc := p.Procs[0]
	for i := range proc.Ops {
		if got := proc.Find(proc.Ops[i].Head); got != i {
			t.Errorf("op %d is found as %d", i, got)
		}
	}
	if proc.Find(HeadOf(2, 1)) != -1 {
		t.Error("a header that no op has is found")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(text)
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(s)
		if err != nil {
			return
		}
		_ = p.Verify()
		again, err := Parse(Format(p))
		if err == nil && Format(again) != Format(p) {
			t.Fatalf("%q changes when it is printed and parsed", s)
		}
	})
}
