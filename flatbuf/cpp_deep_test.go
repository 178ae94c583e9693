package flatbuf_test

import (
	"math/rand/v2"
	"testing"

	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/schema"
)

// deepValues draws values of testdata/deep.fbs.
type deepValues struct {
	*rand.Rand
	t    *testing.T
	file *schema.File
}

func (r deepValues) key() any  { return map[string]any{"name": randomText(r.Rand), "level": "High"} }
func (r deepValues) pair() any { return map[string]any{"x": r.IntN(255), "y": r.Uint64()} }

func (r deepValues) short() flatbuffers.Union {
	switch r.IntN(5) {
	case 0:
		return flatbuffers.Union{Member: "Key", Value: r.key()}
	case 1:
		return flatbuffers.Union{Member: "Pair", Value: r.pair()}
	case 2:
		return flatbuffers.Union{Member: "Text", Value: randomText(r.Rand)}
	case 3:
		return flatbuffers.Union{Member: "Other", Value: r.key()}
	}
	return flatbuffers.Union{}
}

func (r deepValues) long(size int) flatbuffers.Union {
	if size > 0 && r.IntN(2) == 0 {
		return flatbuffers.Union{Member: "Inner", Value: r.deep(size / 2)}
	}
	return flatbuffers.Union{Member: "Key", Value: r.key()}
}

func (r deepValues) message(table string, x any) []byte {
	b, err := flatbuffers.Make(r.file.Struct(table), x)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

func (r deepValues) deep(size int) map[string]any {
	all := map[string]func() any{
		"one": func() any { return r.short() }, "more": func() any { return []any{r.short(), r.short(), r.short()} },
		"large": func() any { return r.long(size) }, "larger": func() any { return []any{r.long(size), flatbuffers.Union{}} },
		"pairs": func() any { return []any{r.pair(), r.pair()} }, "pair": r.pair,
		"levels": func() any { return []any{"Low", "High"} }, "some": func() any { return 9 },
		"far": func() any { return randomText(r.Rand) }, "far_pairs": func() any { return []any{r.pair()} },
		"wide": func() any { return []any{r.pair(), r.pair()} }, "nested": func() any { return r.message("Key", r.key()) },
		"keys": func() any { return []any{r.key(), r.key()} }, "floats": func() any { return []any{1.5, 2.5} },
	}
	if size > 0 {
		all["wide_nested"] = func() any { return r.message("Deep", r.deep(size/2)) }
		all["deep"] = func() any { return r.deep(size / 2) }
	}
	m := map[string]any{"texts": []any{randomText(r.Rand), ""}}
	for _, f := range r.file.Root().Fields() { // in their order, for the same values each time
		if value := all[f.Name()]; value != nil && r.IntN(3) == 0 {
			m[f.Name()] = value()
		}
	}
	return m
}

// What other schemas have is verified as C++ does it, too.
func TestVerifierAgreesWithGoogleInCOnDeepSchemas(t *testing.T) {
	program := buildVerifier(t, "deep.fbs", "deep.cpp")
	file, list := fbsidl.Load("testdata/deep.fbs")
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	layout, err := flatbuf.LayoutOf(file.Root())
	if err != nil {
		t.Fatal(err)
	}
	strict, err := flatbuf.NewVerifier(layout, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := deepValues{rand.New(rand.NewPCG(12, 13)), t, file}
	rounds := 20_000
	if testing.Short() {
		rounds = 2_000
	}
	var messages [][]byte
	for i := range rounds {
		msg := r.message("Deep", r.deep(r.IntN(8)))
		if i%3 == 2 { // of 8 bytes, so that alignment stays
			size := make([]byte, 8)
			flatbuf.WriteUint64(size, uint64(len(msg)))
			msg = append(size, msg...)
		}
		if r.IntN(10) > 0 {
			mutate(r.Rand, msg)
		}
		if r.IntN(8) == 0 {
			msg = msg[:r.IntN(len(msg))]
		}
		messages = append(messages, msg)
	}
	accepted := compareVerdicts(t, program, messages, strict.Verify, strict.With(flatbuf.AllowUnaligned()).Verify,
		strict.With(flatbuf.FileIdentifier("DEEP")).VerifySizePrefixed64)
	for j, n := range accepted {
		if n < rounds/100 || n > rounds*19/20 {
			t.Errorf("way %d: %d of %d accepted: the mutation shows nothing", j, n, rounds)
		}
	}
}
