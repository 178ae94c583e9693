package codec

import (
	"bytes"
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/engine/jit"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file tests the modes of decoding and the forms of encoding beyond the
// plain ones: arena, alias, segments, nocopy writers, messages.

// record has only what an arena can hold.
type record struct {
	Name  string             `frugal:"1,default,string"`
	Blob  []byte             `frugal:"2,default,binary"`
	N     *int64             `frugal:"3,optional,i64"`
	S     *string            `frugal:"4,optional,string"`
	Kids  []*record          `frugal:"5,default,list<record>"`
	Plain []leaf             `frugal:"6,default,list<leaf>"`
	Names []string           `frugal:"7,default,list<string>"`
	Flags []bool             `frugal:"8,default,list<bool>"`
	By    map[string]*record `frugal:"9,default,map<string:record>"`
	Sums  map[int64]float64  `frugal:"10,default,map<i64:double>"`
	Deep  [][]int32          `frugal:"11,default,list<list<i32>>"`
	Next  *record            `frugal:"12,optional,record"`
}

func randomRecord(r *rand.Rand, depth int) *record {
	v := new(record)
	fill(r, reflect.ValueOf(v).Elem(), depth)
	return v
}

func TestArenaDecodesWhatTheHeapDoes(t *testing.T) {
	c, err := For[record](Deterministic())
	if err != nil {
		t.Fatal(err)
	}
	a := NewArena()
	r := rand.New(rand.NewSource(1))
	for i := range 300 {
		v := randomRecord(r, 4)
		b, err := c.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var got record
		if n, err := c.UnmarshalArena(b, &got, a); err != nil || n != len(b) {
			t.Fatal(n, err)
		}
		if i%50 == 0 {
			runtime.GC()
		}
		clear(b)
		if !reflect.DeepEqual(v, &got) {
			t.Fatalf("value %d: got %+v want %+v", i, got, v)
		}
		if i%3 == 0 {
			a.Release()
		}
	}
}

func TestArenaCarriesNothingToTheNextMessage(t *testing.T) {
	c, err := For[record]()
	if err != nil {
		t.Fatal(err)
	}
	a := NewArena()
	n, s := int64(1), "secret"
	full, err := c.Marshal(&record{Name: "secret", N: &n, S: &s, Kids: []*record{{Name: "secret", N: &n}}, Flags: []bool{true, true},
		By: map[string]*record{"secret": {}}, Plain: []leaf{{N: new(int32), M: 9}}, Next: &record{S: &s}})
	if err != nil {
		t.Fatal(err)
	}
	thin, err := c.Marshal(&record{Kids: []*record{{}}, Plain: []leaf{{}}, Flags: []bool{false, false}, By: map[string]*record{"k": {}}, Next: &record{}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := c.UnmarshalArena(full, new(record), a); err != nil {
			t.Fatal(err)
		}
		a.Release()
		var v record
		if _, err := c.UnmarshalArena(thin, &v, a); err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprintf("%+v %+v %+v %+v", v, v.Kids[0], v.Next, v.By["k"]); strings.Contains(text, "secret") || len(v.By) != 1 || v.Flags[0] || v.Plain[0].M != 0 || v.Kids[0].N != nil {
			t.Fatalf("got %s", text)
		}
		a.Release()
	}
}

// fragile's defaults can be told to panic.
type fragile struct {
	Names []string `frugal:"1,default,list<string>"`
	Inner *fragile `frugal:"2,optional,fragile"`
	Kind  int32    `frugal:"3,default,i32"`
}

var fragileBreaks bool

func (f *fragile) InitDefault() {
	if fragileBreaks {
		panic("no defaults today")
	}
	f.Kind = 4
}

func TestArenaServesAgainAfterAPanic(t *testing.T) {
	c, err := For[fragile]()
	if err != nil {
		t.Fatal(err)
	}
	want := fragile{Kind: 1, Names: []string{"a", "b"}, Inner: &fragile{Names: []string{"c"}, Inner: &fragile{Names: []string{}}}}
	b, err := c.Marshal(&want)
	if err != nil {
		t.Fatal(err)
	}
	a := NewArena()
	for _, breaks := range []bool{false, true, false, true, true, false} {
		fragileBreaks = breaks
		var v fragile
		func() {
			defer func() {
				if (recover() != nil) != breaks {
					t.Error("a panic does not reach the caller")
				}
			}()
			_, err = c.UnmarshalArena(b, &v, a)
		}()
		if !breaks && (err != nil || !reflect.DeepEqual(v, want)) {
			t.Fatalf("got %+v, %v", v, err)
		}
		a.Release()
	}
}

// fixedEngines are those that Engine can name here and that do not change while a codec is used,
// as what Auto stands for does: that compiles beside its user.
func fixedEngines() []EngineKind {
	if !jit.Supported() {
		return []EngineKind{Interp}
	}
	return []EngineKind{Interp, JIT}
}

func TestArenaAllocatesNothingAfterWarmUp(t *testing.T) {
	for _, k := range fixedEngines() {
		c, err := For[record](Engine(k))
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.Marshal(randomRecord(rand.New(rand.NewSource(7)), 5))
		if err != nil {
			t.Fatal(err)
		}
		a := NewArena()
		var v record
		if n := allocations(func() {
			v = record{}
			if _, err := c.UnmarshalArena(b, &v, a); err != nil {
				t.Fatal(err)
			}
			a.Release()
		}); n != 0 {
			t.Errorf("%v: %v allocations", k, n)
		}
	}
}

func TestEncodingAllocatesNothing(t *testing.T) {
	for _, p := range []Protocol{Binary, Compact} {
		c, err := For[record](Use(p), Engine(Interp))
		if err != nil {
			t.Fatal(err)
		}
		v := randomRecord(rand.New(rand.NewSource(7)), 5)
		buf, err := c.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if n := allocations(func() {
			size, err := c.Size(v)
			if err != nil || size != len(buf) {
				t.Fatal(size, err)
			}
			if buf, err = c.Append(buf[:0], v); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("protocol %d: %v allocations", p, n)
		}
	}
}

func TestNoCopyAliasesTheInput(t *testing.T) {
	c, err := For[record](NoCopy())
	if err != nil {
		t.Fatal(err)
	}
	b, err := Marshal(&record{Name: "name", Blob: []byte("blob")})
	if err != nil {
		t.Fatal(err)
	}
	var v record
	if _, err := c.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	copy(b[bytes.Index(b, []byte("blob")):], "BLOB")
	if string(v.Blob) != "BLOB" || cap(v.Blob) != 4 {
		t.Fatalf("got %q with capacity %d", v.Blob, cap(v.Blob))
	}
}

func TestSegmentsTogetherAreTheEncoding(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<10)
	v := &record{Name: string(big[:5000]), Blob: big, Names: []string{"small", string(big[:6000])}, By: map[string]*record{"k": {Blob: big}}}
	for _, opts := range [][]Option{{}, {Use(Compact)}, {Deterministic()}} {
		c, err := For[record](append(opts, MaxDepth(100))...)
		if err != nil {
			t.Fatal(err)
		}
		flat, err := c.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		segments, err := c.AppendSegments(nil, nil, v, 4096)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Join(segments, nil); !bytes.Equal(got, flat) {
			t.Fatal("the segments are not the encoding")
		}
		aliased := false
		for _, s := range segments {
			aliased = aliased || len(s) == len(big) && &s[0] == &big[0]
		}
		if !aliased {
			t.Fatal("the large binary was copied")
		}
	}
}

// directs is a NocopyWriter that remembers.
type directs struct {
	size int
	cuts []int
	data [][]byte
}

func (d *directs) WriteDirect(b []byte, remain int) error {
	d.cuts, d.data = append(d.cuts, d.size-remain), append(d.data, b)
	return nil
}
func (d *directs) MallocAck(int) error { return nil }

func TestEncodeIntoHandsLargeBinariesToTheWriter(t *testing.T) {
	big := bytes.Repeat([]byte("x"), DirectSize)
	v := &record{Name: "n", Blob: big, Names: []string{string(big)}}
	flat, err := Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, len(flat))
	if n, err := EncodeInto(buf, nil, v); err != nil || n != len(flat) || !bytes.Equal(buf, flat) {
		t.Fatal(n, err)
	}
	w := &directs{size: len(buf)}
	n, err := EncodeInto(buf, w, v)
	if err != nil || n != len(flat)-2*len(big) || len(w.data) != 2 {
		t.Fatal(n, err, len(w.data))
	}
	var joined []byte
	at := 0
	for i, cut := range w.cuts {
		joined = append(append(joined, buf[at:cut]...), w.data[i]...)
		at = cut
	}
	if joined = append(joined, buf[at:n]...); !bytes.Equal(joined, flat) {
		t.Fatal("buffer and direct writes together are not the encoding")
	}
}

func TestEncodeIntoNeverWritesPastTheBuffer(t *testing.T) {
	v := &record{Name: "a name", Names: []string{"x", "y"}, Sums: map[int64]float64{1: 2}}
	flat, err := Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	for n := range flat {
		buf := make([]byte, len(flat))
		if _, err := EncodeInto(buf[:n], nil, v); diag.CodeOf(err) != diag.SizeLimit {
			t.Fatalf("a buffer of %d bytes: %v", n, err)
		}
		if !bytes.Equal(buf[n:], make([]byte, len(flat)-n)) {
			t.Fatalf("bytes behind the first %d were written", n)
		}
	}
}

// spaced has field ids of every distance, so that headers differ in length.
type spaced struct {
	A *int32           `thrift:"a,3,optional"`
	B bool             `thrift:"b,4"`
	C int64            `thrift:"c,19"`
	D *bool            `thrift:"d,20,optional"`
	E string           `thrift:"e,36"`
	F []int64          `thrift:"f,37,default,list<i64>"`
	G []int16          `thrift:"g,400,default,list<i16>"`
	H map[int64]string `thrift:"h,401"`
	I *spaced          `thrift:"i,402,optional"`
	J float64          `thrift:"j,30000"`
	K int32            `thrift:"k,30015"`
}

func TestCompactEncodingFillsABufferOfItsSizeAndNoMore(t *testing.T) {
	yes, number := true, int32(-1)
	inner := &spaced{C: math.MinInt64, E: strings.Repeat("e", 200), H: map[int64]string{1 << 40: "h"}}
	for _, v := range []*spaced{
		{}, {K: math.MaxInt32}, {I: inner}, {A: &number, D: &yes, B: true, I: inner, J: 1.5},
		{F: []int64{0, -1, 1 << 20, 1 << 55, -1 << 55, 1<<56 - 1, math.MaxInt64, math.MinInt64}, G: []int16{1, math.MinInt16}, K: -65},
		{E: strings.Repeat("e", 20000), K: 1},
	} {
		for _, dialect := range []Protocol{Compact, CompactFBThrift} {
			c, err := For[spaced](Use(dialect))
			if err != nil {
				t.Fatal(err)
			}
			want, err := c.Append(nil, v)
			if err != nil {
				t.Fatal(err)
			}
			if size, err := c.Size(v); err != nil || size != len(want) {
				t.Fatalf("size %d, %v of %d bytes", size, err, len(want))
			}
			var back spaced
			if n, err := c.Unmarshal(want, &back); err != nil || n != len(want) {
				t.Fatal(n, err)
			}
			buf := bytes.Repeat([]byte{0xa5}, len(want)+32)
			got, err := c.Append(buf[:0:len(want)], v)
			if err != nil || !bytes.Equal(got, want) || &got[0] != &buf[0] {
				t.Fatalf("a buffer of the size holds %x, %v, not %x", got, err, want)
			}
			if !bytes.Equal(buf[len(want):], bytes.Repeat([]byte{0xa5}, 32)) {
				t.Fatal("bytes behind the buffer were written")
			}
			for n := range min(len(want), 300) {
				if got, err := c.Append(make([]byte, 0, n), v); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("from a capacity of %d: %x, %v, not %x", n, got, err, want)
				}
			}
		}
	}
}

func TestMessages(t *testing.T) {
	for _, p := range []Protocol{Binary, Compact, CompactFBThrift} {
		c, err := For[record](Use(p))
		if err != nil {
			t.Fatal(err)
		}
		want := Message{Protocol: p, Type: thriftwire.Call, Name: "get", SequenceID: -7}
		b, err := c.AppendMessage([]byte("before"), want, &record{Name: "n"})
		if err != nil {
			t.Fatal(err)
		}
		b = bytes.TrimPrefix(b, []byte("before"))
		var v record
		m, n, err := c.UnmarshalMessage(b, &v)
		if err != nil || n != len(b) || m != want || v.Name != "n" {
			t.Fatal(m, n, err)
		}
		for n := range b {
			if _, _, err := c.UnmarshalMessage(b[:n], new(record)); diag.CodeOf(err) != diag.UnexpectedEOF {
				t.Fatalf("the first %d bytes give %v", n, err)
			}
		}
		other, err := For[record](Use((p + 1) % 3))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := other.UnmarshalMessage(b, &v); diag.CodeOf(err) != diag.InvalidHeader {
			t.Fatalf("a message in another protocol gives %v", err)
		}
	}
}

func TestMaxBytesBoundsAValueAndNotTheInput(t *testing.T) {
	flat, err := Marshal(&record{Name: "a name", Names: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(flat) + 3 {
		c, err := For[record](MaxBytes(n))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Unmarshal(append(bytes.Clone(flat), "what follows"...), new(record))
		if fits := n >= len(flat); fits != (err == nil) || !fits && diag.CodeOf(err) != diag.SizeLimit {
			t.Fatalf("limit %d of %d: %v", n, len(flat), err)
		}
	}
}

func TestPretouchCompilesConcurrentlyAndReportsAll(t *testing.T) {
	if err := Pretouch(record{}, &record{}, reflect.TypeFor[node](), reflect.TypeFor[*leaf]()); err != nil {
		t.Fatal(err)
	}
	type bad struct {
		A uint8 `frugal:"1"`
	}
	type worse struct {
		B chan int `frugal:"1"`
	}
	err := Pretouch(&bad{}, &worse{}, nil)
	if err == nil || !strings.Contains(err.Error(), "bad.A") || !strings.Contains(err.Error(), "worse.B") {
		t.Fatalf("got %v", err)
	}
}
