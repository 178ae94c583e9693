package flatbuf

import (
	"math/rand/v2"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
)

type richByte struct {
	Value uint8  `flatbuf:"value,default=1"`
	Key   string `flatbuf:"key"`
}

type richWide struct {
	Key   string `flatbuf:"key,required"`
	Value int64  `flatbuf:"value"`
}

// richRoot refers to entries, and to strings after them, of which many make the quick way give up.
type richRoot struct {
	First  []*leafEntry `flatbuf:"first"`
	Second []*leafEntry `flatbuf:"second"`
	Third  []*leafEntry `flatbuf:"third,required"`
	Bytes  []richByte   `flatbuf:"bytes"`
	Wide   []richWide   `flatbuf:"wide"`
	Again  []richWide   `flatbuf:"again"`
	A      string       `flatbuf:"a"`
	B      string       `flatbuf:"b"`
	C      string       `flatbuf:"c"`
	Tags   []string     `flatbuf:"tags"`
	N0     int32        `flatbuf:"n0"`
	N1     int32        `flatbuf:"n1"`
	N2     int32        `flatbuf:"n2"`
	N3     int32        `flatbuf:"n3"`
	N4     int32        `flatbuf:"n4"`
	S0     uint8        `flatbuf:"s0"`
	S1     uint8        `flatbuf:"s1"`
	S2     uint8        `flatbuf:"s2"`
	S3     uint8        `flatbuf:"s3"`
	S4     uint8        `flatbuf:"s4"`
	W0     uint64       `flatbuf:"w0"`
	W1     uint64       `flatbuf:"w1"`
	W2     uint64       `flatbuf:"w2"`
	W3     uint64       `flatbuf:"w3"`
	W4     uint64       `flatbuf:"w4"`
}

// randomRich returns a value in which a part is absent as often as not, if any is.
func randomRich(r *rand.Rand) *richRoot {
	least := r.IntN(2)
	number := func() int { return least + r.IntN(3) }
	v := &richRoot{A: randomText(r), B: randomText(r), C: randomText(r), Tags: randomTexts(r)}
	for _, entries := range []*[]*leafEntry{&v.First, &v.Second, &v.Third} {
		for range r.IntN(12) {
			*entries = append(*entries, &leafEntry{randomText(r), int32(number())})
		}
	}
	for range r.IntN(4) {
		v.Bytes = append(v.Bytes, richByte{uint8(number()), randomText(r)})
	}
	for _, entries := range []*[]richWide{&v.Wide, &v.Again} {
		for range r.IntN(4) {
			*entries = append(*entries, richWide{randomText(r), int64(number()) << 40})
		}
	}
	for _, n := range []*int32{&v.N0, &v.N1, &v.N2, &v.N3, &v.N4} {
		*n = -int32(number()) << (8 * r.IntN(4))
	}
	for _, n := range []*uint8{&v.S0, &v.S1, &v.S2, &v.S3, &v.S4} {
		*n = uint8(number())
	}
	for _, n := range []*uint64{&v.W0, &v.W1, &v.W2, &v.W3, &v.W4} {
		*n = uint64(number()) << (8 * r.IntN(8))
	}
	return v
}

func TestTheQuickWayToMarshalEntriesIsTheGeneralOne(t *testing.T) {
	quick, err := For[richRoot]()
	if err != nil {
		t.Fatal(err)
	}
	general, err := For[richRoot]()
	if err != nil {
		t.Fatal(err)
	}
	if general.root.table.rich == nil || len(general.root.table.rich.refs) != 6 {
		t.Fatal("neighbouring vectors of entries are not written together")
	}
	general.root.table.rich = nil
	for i := range general.root.table.writes {
		if p := general.root.table.writes[i].table; p != nil {
			p.leaf, p.entry = nil, nil
		}
	}
	used := new(Builder)
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 4))
		v := randomRich(r)
		agree(t, seed, quick, general, v, used, new(Builder), NewBuilder(r.IntN(1200)))
	}
}

// What is written before a fault is not left for the tables that come after it to refer to.
func TestAFaultAmongEntriesIsNamed(t *testing.T) {
	c, err := For[richRoot]()
	if err != nil {
		t.Fatal(err)
	}
	v := &richRoot{First: []*leafEntry{{"key", 1}}, Second: []*leafEntry{{"key", 1}, nil}}
	b := NewBuilder(4096)
	_, err = c.Build(b, v)
	f, ok := err.(*diag.Fault)
	if !ok || f.Code != diag.InvalidValue || f.Path() != "second[1]" {
		t.Fatalf("got %v", err)
	}
	v.Second = v.Second[:1]
	off, err := c.Build(b, v)
	if err != nil {
		t.Fatal(err)
	}
	b.Finish(off)
	if err := c.Verifier().Verify(b.FinishedBytes()); err != nil {
		t.Fatal(err)
	}
}

func TestTheQuickWayToMarshalEntriesCountsNesting(t *testing.T) {
	for depth, want := range map[int]bool{0: false, 1: false, 2: true} {
		c, err := For[richRoot](MaxNesting(depth))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Marshal(&richRoot{First: []*leafEntry{{"key", 1}}})
		if got := err == nil; got != want {
			t.Errorf("nesting %d: %v", depth, err)
		}
	}
}
