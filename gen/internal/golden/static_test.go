package golden_test

// The methods of the option Static against package codec: the same bytes, and
// for damaged input the same faults.

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/gen/internal/golden/static/golden/base"
	"github.com/thrum-rpc/thrum/gen/internal/golden/static/golden/options"
	"github.com/thrum-rpc/thrum/gen/internal/golden/static/golden/types"
)

// message is what a struct with static methods offers.
type message[T any] interface {
	*T
	AppendThrift(dst []byte) ([]byte, error)
	SizeThrift() (int, error)
	UnmarshalThrift(b []byte) (int, error)
}

// agree decodes b both ways and compares what comes of it.
func agree[T any, P message[T]](t *testing.T, c *codec.Codec[T], b []byte) {
	t.Helper()
	want, got := new(T), P(new(T))
	wn, werr := c.Unmarshal(b, want)
	gn, gerr := got.UnmarshalThrift(b)
	if !alike(gerr, werr) || gn != wn {
		t.Fatalf("%x:\n%d %v\nwant %d %v", b, gn, gerr, wn, werr)
	}
	if werr != nil {
		return
	}
	wb, werr := c.Append(nil, want)
	gb, gerr := c.Append(nil, (*T)(got))
	if !bytes.Equal(wb, gb) || (werr == nil) != (gerr == nil) {
		t.Fatalf("%x decodes to\n%x, %v\nwant\n%x, %v", b, gb, gerr, wb, werr)
	}
	if size, err := got.SizeThrift(); err == nil && size != len(wb) {
		t.Fatalf("%x: SizeThrift = %d, want %d", b, size, len(wb))
	}
	if again, err := got.AppendThrift([]byte("x")); (err == nil) != (werr == nil) || err == nil && len(again) != 1+len(wb) {
		t.Fatalf("%x: AppendThrift gives %d bytes, %v; want %d, %v", b, len(again)-1, err, len(wb), werr)
	}
}

// alike reports whether two errors have the same code, offset and path.
func alike(a, b error) bool {
	var fa, fb *diag.Fault
	if !errors.As(a, &fa) || !errors.As(b, &fb) {
		return a == nil && b == nil
	}
	return fa.Code == fb.Code && fa.Offset == fb.Offset && fa.Path() == fb.Path()
}

// same encodes v both ways; its maps have at most one entry.
func same[T any, P message[T]](t *testing.T, v P) []byte {
	t.Helper()
	want, err := codec.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.AppendThrift(nil)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%x, %v\nwant %x", got, err, want)
	}
	return want
}

func sorted[T any](t *testing.T) *codec.Codec[T] {
	t.Helper()
	c, err := codec.For[T](codec.Deterministic())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// damage runs agree on b, each prefix of it and many damaged copies.
func damage[T any, P message[T]](t *testing.T, b []byte) {
	t.Helper()
	codec := sorted[T](t)
	for n := range len(b) + 1 {
		agree[T, P](t, codec, b[:n])
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		for range 4 {
			c := bytes.Clone(b)
			c[i] = byte(rnd.Uint32())
			if rnd.IntN(4) == 0 {
				c[rnd.IntN(len(c))] ^= 1 << rnd.IntN(8)
			}
			agree[T, P](t, codec, c)
		}
	}
}

func staticItem() *types.Item {
	p := types.NewItem()
	p.Id, p.Name = 7, "lamp"
	p.Maybe = ptr(int16(0))
	p.Kids = []*types.Item{{Id: 1, Route: &base.Route{}, Place: &base.Place{}}, nil}
	p.Places = map[string]*base.Place{"here": {Lat: 1}}
	p.Data, p.Raw, p.Blob = []byte{0}, []byte("raw"), []byte("blob")
	p.Levels = []base.Level{base.Level_HIGH, 99}
	p.Owner2, p.Small = ptr(base.UserId(0)), ptr(int8(-1))
	p.Bytes = []int8{-1, 1}
	p.By = map[*types.Spot]types.Hue{{Lat: 2}: types.Color_BLUE}
	p.Blobs = [][]byte{{1}, {}, nil}
	p.ByBytes = map[string]int32{"\xff": 1}
	p.Thing = &types.Item{Counts: map[string]int32{}}
	p.Shade = types.ColorPtr(types.Color_BLUE)
	p.Nested = map[int32]map[string][][]types.Color{1: {"a": {{types.Color_RED}, {}}}}
	p.Key, p.Other = [16]byte{1, 15: 2}, &[16]byte{3}
	p.Route = &base.Route{Level: base.Level_HIGH, Places: []*base.Place{{Lat: 3}}}
	p.Tiny = -5
	return p
}

func TestStaticMethodsAgreeWithTheCodec(t *testing.T) {
	t.Run("pointers", func(t *testing.T) {
		damage[types.Item, *types.Item](t, same(t, staticItem()))
	})
	t.Run("empty", func(t *testing.T) {
		same(t, new(types.Item))
		same(t, new(types.Nothing))
		same(t, types.NewItem())
	})
	t.Run("union", func(t *testing.T) {
		damage[types.Choice, *types.Choice](t, same(t, &types.Choice{Choices: []*types.Choice{{Text: ptr("a")}, {Number: ptr(int64(1))}}}))
	})
	t.Run("exception", func(t *testing.T) {
		damage[types.NotFound, *types.NotFound](t, same(t, &types.NotFound{What: "it"}))
	})
	t.Run("arguments", func(t *testing.T) {
		damage[types.StoreCheckArgs, *types.StoreCheckArgs](t, same(t, &types.StoreCheckArgs{F: "f", G: []int64{1}, H: &types.Item{}}))
	})
	t.Run("values", func(t *testing.T) {
		p := options.NewEverything()
		p.Points = []options.Point{{X: 1}, {Y: ptr(int32(2))}}
		p.ByPoint = map[*options.Point][]options.Color{{X: 1}: {options.Color_RED}}
		p.Raw, p.Large, p.URL = []byte("{}"), []byte("large"), "/"
		p.Query = map[string][]string{"a": {"b", ""}}
		p.Next = options.NewEverything()
		p.Nested = [][]options.Point{{{X: 4}}, {}}
		p.Numbers, p.Keys = []int32{}, [][]byte{{1}}
		p.Deep = map[options.Color]map[int32][]byte{options.Color_RED: {1: {2}}}
		p.Counts = map[*options.Point]int32{{X: 5}: 6}
		damage[options.Everything, *options.Everything](t, same(t, p))
	})
}

func TestStaticMethodsEndAtTheDepthLimit(t *testing.T) {
	cycle := &types.Choice{}
	cycle.Choices = []*types.Choice{cycle}
	_, want := codec.Marshal(cycle)
	if _, err := cycle.AppendThrift(nil); err == nil || want == nil {
		t.Errorf("AppendThrift: %v, codec: %v", err, want)
	}
	if _, err := cycle.SizeThrift(); err == nil {
		t.Error("SizeThrift has an answer")
	}
	deep := bytes.Repeat([]byte{15, 0, 4, 12, 0, 0, 0, 1}, 600)
	agree[types.Choice, *types.Choice](t, sorted[types.Choice](t), append(deep, make([]byte, 601)...))
}

func TestStaticMethodsRefuseEnumsBeyond32Bits(t *testing.T) {
	p := &types.NotFound{Color: 1 << 40}
	_, want := codec.Marshal(p)
	if _, err := p.AppendThrift(nil); err == nil || want == nil || !alike(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
}
