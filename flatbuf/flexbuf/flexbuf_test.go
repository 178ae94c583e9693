package flexbuf_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/flatbuf/flexbuf"
	"github.com/thrum-rpc/thrum/internal/conform/guard"
)

// randomAny draws a value that Any returns as it is.
func randomAny(r *rand.Rand, size int) any {
	kinds := 7
	if size > 1 {
		kinds = 10
	}
	switch r.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return int64(r.Uint64()) >> r.IntN(64)
	case 3:
		return r.Uint64() >> r.IntN(64)
	case 4:
		return float64(r.IntN(1000)) / 8
	case 5:
		return r.Float64()
	case 6:
		return strings.Repeat("text ", 100)[:r.IntN(10)*r.IntN(40)]
	case 7:
		return bytes.Repeat([]byte{7}, r.IntN(9))
	case 8:
		list := []any{}
		for range r.IntN(8) {
			list = append(list, randomAny(r, size/4))
		}
		return list
	default:
		m := map[string]any{}
		for range r.IntN(8) {
			m[strings.Repeat("k", r.IntN(4))+fmt.Sprint(r.IntN(30))] = randomAny(r, size/4)
		}
		return m
	}
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	var b flexbuf.Builder
	if err := b.Append(v); err != nil {
		t.Fatal(err)
	}
	return b.Finish()
}

func TestValuesAreWrittenAndReadBack(t *testing.T) {
	edge := guard.New(t, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	var b flexbuf.Builder
	for range 5000 {
		want := randomAny(r, r.IntN(2000))
		b.Reset()
		if err := b.Append(want); err != nil {
			t.Fatal(err)
		}
		buf := edge.Put(b.Finish())
		if err := flexbuf.Verify(buf); err != nil {
			t.Fatalf("%v: %#v\n%x", err, want, buf)
		}
		if got := flexbuf.Root(buf).Any(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %#v\nwant %#v\n%x", got, want, buf)
		}
	}
}

func TestNumbersConvert(t *testing.T) {
	for _, c := range []struct {
		v any
		i int64
		u uint64
		f float64
		b bool
	}{
		{int64(-3), -3, math.MaxUint64 - 2, -3, true},
		{uint64(math.MaxUint64), -1, math.MaxUint64, math.MaxUint64, true},
		{2.5, 2, 2, 2.5, true},
		{0.0, 0, 0, 0, false},
		{true, 1, 1, 1, true},
		{nil, 0, 0, 0, false},
		{"7", 0, 0, 0, false},
		{int64(math.MinInt64), math.MinInt64, 1 << 63, math.MinInt64, true},
	} {
		r := flexbuf.Root(encode(t, c.v))
		if r.Int() != c.i || r.Uint() != c.u || r.Float() != c.f || r.Bool() != c.b {
			t.Errorf("%v: %d %d %v %v", c.v, r.Int(), r.Uint(), r.Float(), r.Bool())
		}
	}
}

func TestTypedVectorsAndKeys(t *testing.T) {
	for kind, fill := range map[flexbuf.Kind]func(b *flexbuf.Builder){
		flexbuf.VectorInt:   func(b *flexbuf.Builder) { b.Int(1); b.Int(-70_000) },
		flexbuf.VectorUint:  func(b *flexbuf.Builder) { b.Uint(1); b.Uint(1 << 40) },
		flexbuf.VectorFloat: func(b *flexbuf.Builder) { b.Float(0.5); b.Float(0.1) },
		flexbuf.VectorBool:  func(b *flexbuf.Builder) { b.Bool(true); b.Bool(false) },
		flexbuf.VectorKey:   func(b *flexbuf.Builder) { b.Key("one"); b.Key("two") },
	} {
		var b, plain flexbuf.Builder
		start := b.StartVector()
		fill(&b)
		b.EndVector(start, true)
		start = plain.StartVector()
		fill(&plain)
		plain.EndVector(start, false)
		buf := b.Finish()
		r, want := flexbuf.Root(buf), flexbuf.Root(plain.Finish())
		if flexbuf.Verify(buf) != nil || r.Kind() != kind || r.Len() != 2 || !reflect.DeepEqual(r.Any(), want.Any()) {
			t.Errorf("%v: %v %v, want %v", kind, r.Kind(), r.Any(), want.Any())
		}
	}
}

func TestFieldsAreFoundByKey(t *testing.T) {
	m := map[string]any{}
	for i := range 300 {
		m[fmt.Sprint("key", i*7)] = int64(i)
	}
	r := flexbuf.Root(encode(t, m))
	for k, v := range m {
		if got := r.Field(k); got.Int() != v.(int64) {
			t.Errorf("%s: %v", k, got.Any())
		}
	}
	for _, k := range []string{"", "key", "key1", "z"} {
		if !r.Field(k).IsNull() {
			t.Errorf("%q is there", k)
		}
	}
	if !r.Index(300).IsNull() || !r.Index(-1).IsNull() || r.Key(300) != "" || !flexbuf.Root(encode(t, "x")).Field("x").IsNull() {
		t.Error("something where nothing is")
	}
}

func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	deep := any("end")
	for range 70 {
		deep = []any{deep}
	}
	for _, c := range []struct {
		v    any
		code diag.Code
		path string
	}{
		{map[string]any{"a": []any{1, struct{}{}}}, diag.Unsupported, "a[1]"},
		{map[string]any{"a\x00b": 1}, diag.InvalidValue, "a\x00b"},
		{deep, diag.DepthLimit, strings.Repeat("[0]", 65)},
	} {
		var b flexbuf.Builder
		err := b.Append(c.v)
		if f, ok := err.(*diag.Fault); !ok || f.Code != c.code || f.Path() != c.path {
			t.Errorf("%v", err)
		}
		b.Int(1)
		if got := flexbuf.Root(b.Finish()).Int(); got != 1 {
			t.Errorf("after an error: %d", got)
		}
	}
	for what, f := range map[string]func(b *flexbuf.Builder){
		"no root":           func(b *flexbuf.Builder) { b.Finish() },
		"two roots":         func(b *flexbuf.Builder) { b.Null(); b.Null(); b.Finish() },
		"a value for a key": func(b *flexbuf.Builder) { s := b.StartMap(); b.Null(); b.Null(); b.EndMap(s) },
		"a key alone":       func(b *flexbuf.Builder) { s := b.StartMap(); b.Key("k"); b.EndMap(s) },
		"a key twice": func(b *flexbuf.Builder) {
			s := b.StartMap()
			b.Key("k")
			b.Null()
			b.Key("k")
			b.Null()
			b.EndMap(s)
		},
		"two kinds in a row": func(b *flexbuf.Builder) { s := b.StartVector(); b.Int(1); b.Bool(true); b.EndVector(s, true) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			f(new(flexbuf.Builder))
		}()
	}
}

// walk reads everything that r holds and returns the number of parts that are
// not where they should be.
func walk(r flexbuf.Ref, budget *int) (broken int) {
	if *budget--; *budget < 0 {
		return 0
	}
	r.Int()
	r.Float()
	switch r.Kind() {
	case flexbuf.Key, flexbuf.String, flexbuf.Blob:
		if r.Bytes() == nil {
			broken++
		}
	}
	for i := range min(r.Len(), max(*budget, 0)) {
		if r.Kind() == flexbuf.Map {
			r.Field(r.Key(i))
		}
		if k := r.Kind(); k == flexbuf.Map || k == flexbuf.Vector || k >= flexbuf.VectorInt && k <= flexbuf.VectorFloat4 || k == flexbuf.VectorBool {
			broken += walk(r.Index(i), budget)
		}
	}
	return broken
}

func FuzzVerify(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 30 {
		f.Add(encode(f, randomAny(r, 40*i)))
	}
	edge := guard.New(f, 1<<16)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			t.Skip()
		}
		b = edge.Put(b)
		budget := 1 << 12
		broken := walk(flexbuf.Root(b), &budget)
		flexbuf.Root(b).Any()
		if flexbuf.Verify(b) == nil && broken > 0 {
			t.Fatalf("verified, and %d parts broken", broken)
		}
	})
}

func TestBrokenBuffersDoNoHarm(t *testing.T) {
	edge := guard.New(t, 1<<16)
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		b := encode(t, randomAny(r, r.IntN(200)))
		for range 1 + r.IntN(3) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		b = edge.Put(b[:r.IntN(len(b)+1)])
		budget := 1 << 12
		if broken := walk(flexbuf.Root(b), &budget); flexbuf.Verify(b) == nil && broken > 0 {
			t.Fatalf("verified, and %d parts broken: %x", broken, b)
		}
		flexbuf.Root(b).Any()
	}
}
