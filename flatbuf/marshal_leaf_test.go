package flatbuf

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

type leafEntry struct {
	Key   string `flatbuf:"key,required"`
	Value int32  `flatbuf:"value"`
}

type leafRow struct {
	ID     int64    `flatbuf:"id"`
	Name   string   `flatbuf:"name"`
	Note   string   `flatbuf:"note"`
	Tags   []string `flatbuf:"tags"`
	Must   []string `flatbuf:"must,required"`
	Size   uint16   `flatbuf:"size,default=3"`
	Active bool     `flatbuf:"active"`
	Last   string   `flatbuf:"last"`
}

type leafRoot struct {
	Rows    []leafRow    `flatbuf:"rows"`
	Entries []*leafEntry `flatbuf:"entries"`
	One     *leafRow     `flatbuf:"one"`
	Name    string       `flatbuf:"name"`
}

func randomText(r *rand.Rand) string {
	if r.IntN(4) == 0 {
		return ""
	}
	return strings.Repeat("some text ", 5)[:r.IntN(45)]
}

func randomTexts(r *rand.Rand) []string {
	if r.IntN(4) == 0 {
		return nil
	}
	texts := make([]string, r.IntN(11)) // more than the quick way takes
	for i := range texts {
		texts[i] = randomText(r)
	}
	return texts
}

func randomRow(r *rand.Rand) leafRow {
	return leafRow{
		ID: int64(r.IntN(3)), Name: randomText(r), Note: randomText(r), Tags: randomTexts(r), Must: randomTexts(r),
		Size: uint16(r.IntN(5)), Active: r.IntN(3) > 0, Last: randomText(r),
	}
}

// The quick way and the general one write the same bytes, whatever is absent and however much
// memory there is.
// agree fails the test unless two codecs marshal the same message, the quick one into each of some builders.
func agree[T any](t *testing.T, seed uint64, quick, general *Codec[T], v *T, into ...*Builder) {
	t.Helper()
	want, err := general.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range into {
		if err := quick.MarshalTo(b, v); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.FinishedBytes(), want) {
			t.Fatalf("seed %d, %+v:\n got %x\nwant %x", seed, v, b.FinishedBytes(), want)
		}
	}
	if err := quick.Verifier().Verify(want); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
}

func TestTheQuickWayToMarshalIsTheGeneralOne(t *testing.T) {
	quick, err := For[leafRoot]()
	if err != nil {
		t.Fatal(err)
	}
	general, err := For[leafRoot]()
	if err != nil {
		t.Fatal(err)
	}
	leaves := 0
	for i := range general.root.table.writes {
		if p := general.root.table.writes[i].table; p != nil && p.leaf != nil {
			leaves++
			p.leaf = nil
		}
	}
	if leaves != 2 { // the type of a row is compiled once
		t.Fatalf("%d tables of two have a quick way", leaves)
	}
	used := new(Builder)
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 3))
		var v leafRoot
		for range r.IntN(4) {
			v.Rows = append(v.Rows, randomRow(r))
			v.Entries = append(v.Entries, &leafEntry{randomText(r), int32(r.IntN(3))})
		}
		if r.IntN(2) == 0 {
			row := randomRow(r)
			v.One = &row
		}
		v.Name = randomText(r)
		agree(t, seed, quick, general, &v, used, new(Builder), NewBuilder(r.IntN(400)))
	}
}

type leafFlag struct {
	Set bool `flatbuf:"set"`
}

// leafWide has more fields than are copied without a call.
type leafWide struct {
	A int16 `flatbuf:"a"`
	B int16 `flatbuf:"b"`
	C int16 `flatbuf:"c"`
	D int16 `flatbuf:"d"`
	E int16 `flatbuf:"e"`
	F int16 `flatbuf:"f"`
	G int16 `flatbuf:"g"`
	H int16 `flatbuf:"h"`
	I int16 `flatbuf:"i"`
	J int16 `flatbuf:"j"`
	K int16 `flatbuf:"k"`
	L int16 `flatbuf:"l"`
	M int16 `flatbuf:"m"`
	N int16 `flatbuf:"n"`
}

// sameWhole compares the messages of a codec that knows what stands before its root with those of one that does not.
func sameWhole[T any](t *testing.T, random func(*rand.Rand) T, opts ...CodecOption) {
	t.Helper()
	quick, err := For[T](opts...)
	if err != nil {
		t.Fatal(err)
	}
	general, err := For[T](opts...)
	if err != nil {
		t.Fatal(err)
	}
	if quick.root.front == nil {
		t.Fatalf("the front of %T is not known", *new(T))
	}
	general.root.front, general.root.table.leaf = nil, nil
	used := new(Builder)
	for seed := range uint64(400) {
		v := random(rand.New(rand.NewPCG(seed, 5)))
		agree(t, seed, quick, general, &v, used, new(Builder), NewBuilder(int(seed)))
	}
}

func TestAMessageOfOneTableHasAFrontThatIsKnown(t *testing.T) {
	for _, opts := range [][]CodecOption{nil, {Identifier("LEAF")}} {
		sameWhole(t, randomRow, opts...)
		sameWhole(t, func(r *rand.Rand) leafFlag { return leafFlag{r.IntN(2) > 0} }, opts...)
		sameWhole(t, func(r *rand.Rand) leafEntry { return leafEntry{randomText(r), int32(r.IntN(3))} }, opts...)
		sameWhole(t, func(r *rand.Rand) leafWide {
			var v leafWide
			for i, field := range []*int16{&v.A, &v.B, &v.C, &v.D, &v.E, &v.F, &v.G, &v.H, &v.I, &v.J, &v.K, &v.L, &v.M, &v.N} {
				*field = int16(i + r.IntN(30))
			}
			return v
		}, opts...)
	}
}

// A root that has the quick way takes no nesting that is not allowed.
func TestTheQuickWayCountsNesting(t *testing.T) {
	for depth, want := range map[int]bool{0: false, 1: false, 2: true} {
		c, err := For[leafRoot](MaxNesting(depth))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Marshal(&leafRoot{Entries: []*leafEntry{{"key", 1}}})
		if got := err == nil; got != want {
			t.Errorf("nesting %d: %v", depth, err)
		}
		row, err := For[leafRow](MaxNesting(depth))
		if err != nil {
			t.Fatal(err)
		}
		_, err = row.Marshal(&leafRow{Name: "name"})
		if got := err == nil; got != (depth > 0) {
			t.Errorf("a table alone, nesting %d: %v", depth, err)
		}
	}
}
