package conform_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/internal/conform/guard"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"pgregory.net/rapid"
)

// model is the model as an engine.
type model struct{}

func (model) Name() string { return "model" }

func (model) Encode(p conform.Protocol, t *schema.Type, v *schema.Value, _ conform.Rules) ([]byte, error) {
	return conform.Append(nil, p, t, v), nil
}

func (model) Decode(p conform.Protocol, t *schema.Type, b []byte, r conform.Rules, spoil func()) (*schema.Value, int, error) {
	v, n, err := conform.Decode(p, t, b, r)
	spoil()
	return v, n, err
}

func TestModelFollowsTheCorpus(t *testing.T) {
	cases := conform.Corpus(t, "testdata")
	if ran := conform.Run(t, model{}, cases); len(ran) != len(cases) {
		t.Errorf("ran %d of %d cases", len(ran), len(cases))
	}
}

func TestCaseNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range conform.Corpus(t, "testdata") {
		if seen[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		seen[c.Name] = true
	}
}

func TestModelReadsWhatItWrites(t *testing.T) {
	for _, p := range conform.Protocols {
		t.Run(p.String(), rapid.MakeCheck(func(t *rapid.T) {
			typ := conform.Struct(t, conform.DefaultShape.Of(p))
			v := conform.Value(t, typ, 4)
			b := conform.Append(nil, p, typ, v)
			back, n, err := conform.Decode(p, typ, b, conform.Rules{Strict: true, CheckSets: true})
			if err != nil || n != len(b) || conform.Format(typ, back) != conform.Format(typ, v) {
				t.Fatalf("%s\nread %d of %d bytes: %v", conform.Format(typ, v), n, len(b), err)
			}
		}))
	}
}

func TestFloatsAsKeysAreTheSameWhereGoSaysSo(t *testing.T) {
	double := func(f float64) []byte { return thriftwire.AppendDouble(nil, f) }
	nan, zero, negative := double(math.NaN()), double(0), double(math.Copysign(0, -1))
	typ := schema.MapOf(schema.Basic(schema.Double), schema.Basic(schema.I8))
	for want, keys := range map[string][][]byte{"{nan: 1, nan: 2}": {nan, nan}, "{-0: 2}": {zero, negative}, "{0.5: 2}": {double(0.5), double(0.5)}} {
		b := thriftwire.AppendMap(nil, thriftwire.Double, thriftwire.I8, 2)
		b = slices.Concat(b, keys[0], []byte{1}, keys[1], []byte{2})
		v, _, err := conform.Decode(conform.Binary, typ, b, conform.Rules{})
		if err != nil || conform.Format(typ, v) != want {
			t.Errorf("%x is %s, not %s: %v", b, conform.Format(typ, v), want, err)
		}
	}
}

func TestTextOfValuesReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := conform.Struct(t, conform.DefaultShape)
		v := conform.Value(t, typ, 4)
		text := conform.Format(typ, v)
		back, err := conform.Parse(typ, text)
		if err != nil || conform.Format(typ, back) != text {
			t.Fatalf("%s: %v", text, err)
		}
		for i := range text {
			if _, err := conform.Parse(typ, text[:i]); err == nil {
				t.Fatalf("%.*s is complete", i, text)
			}
		}
	})
}

// TestRunFindsFaultyEngines shows that the corpus has teeth.
func TestRunFindsFaultyEngines(t *testing.T) {
	cases := conform.Corpus(t, "testdata")
	for _, e := range []faulty{
		{what: "writes another byte", write: func(b []byte) []byte { b[len(b)/2]++; return b }},
		{what: "reads one byte too many", read: func(v *schema.Value, n int, err error) (*schema.Value, int, error) { return v, n + 1, err }},
		{what: "reads what is cut", read: func(v *schema.Value, n int, err error) (*schema.Value, int, error) {
			if err != nil {
				return &schema.Value{Kind: schema.StructValue}, 0, nil
			}
			return v, n, err
		}},
		{what: "aliases its input", alias: true},
	} {
		if conform.Agrees(e, guard.New(t, 1<<20), cases) == nil {
			t.Errorf("an engine that %s agrees with the corpus", e.what)
		}
	}
	if err := conform.Agrees(model{}, guard.New(t, 1<<20), cases); err != nil {
		t.Errorf("the model: %v", err)
	}
}

// faulty is the model with a fault.
type faulty struct {
	model
	what  string
	write func([]byte) []byte
	read  func(*schema.Value, int, error) (*schema.Value, int, error)
	alias bool
}

func (e faulty) Encode(p conform.Protocol, t *schema.Type, v *schema.Value, r conform.Rules) ([]byte, error) {
	b, err := e.model.Encode(p, t, v, r)
	if e.write != nil {
		b = e.write(b)
	}
	return b, err
}

func (e faulty) Decode(p conform.Protocol, t *schema.Type, b []byte, r conform.Rules, spoil func()) (*schema.Value, int, error) {
	if e.alias {
		spoil()
	}
	v, n, err := e.model.Decode(p, t, bytes.Clone(b), r, func() {})
	if e.read != nil {
		return e.read(v, n, err)
	}
	return v, n, err
}

func TestCorpusRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for text, want := range map[string]string{
		"value {}":                              "no case yet",
		"case a":                                "no schema yet",
		"schema struct S {}":                    "no struct T",
		"schema struct T {":                     "error",
		"schema struct T {}\ncase a":            "has no bytes",
		"schema struct T {}\ncase a\nbinary 00": "neither a value nor a fault",
		"schema struct T {}\ncase a\nbinary 0":  "odd length",
		"schema struct T {}\ncase a\nvalue {b: 1}\nbinary 00": "a field of T expected",
		"schema struct T {}\ncase a\nrules lax\nbinary 00":    "unknown rule",
		"schema struct T {}\ncase a\nfails x at 0":            "no bytes yet",
		"schema struct T {}\ncase a\nbinary 00\nfails x":      "invalid syntax",
		"schema struct T {}\ncase a\njson {}":                 "unknown keyword",
	} {
		if _, err := conform.ParseCases("file", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
