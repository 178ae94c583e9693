package codec

import (
	"bytes"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
	"pgregory.net/rapid"
)

// This file does what jit_decode_test.go does in the dialects of the compact protocol.

// tight has what machine code reads in Apache's dialect, headers of each length, and what it leaves.
type tight struct {
	Flag           bool              `frugal:"1,default,bool"`
	Byte           int8              `frugal:"2,required,i8"`
	Short          int16             `frugal:"3,default,i16"`
	Int            int32             `frugal:"4,required,i32"`
	Long           int64             `frugal:"5,default,i64"`
	Real           float64           `frugal:"6,default,double"`
	ID             [16]byte          `frugal:"7,default,uuid"`
	Kind           enumeration       `frugal:"8,default,enumeration"`
	Other          bool              `frugal:"9,required,bool"`
	Text           string            `frugal:"10,required,string"`
	Raw            []byte            `frugal:"11,default,binary"`
	Direct         []byte            `frugal:"12,default,binary,nocopy"`
	MaybeFlag      *bool             `frugal:"13,optional,bool"`
	MaybeInt       *int32            `frugal:"14,optional,i32"`
	MaybeLong      *int64            `frugal:"15,optional,i64"`
	MaybeReal      *float64          `frugal:"16,optional,double"`
	MaybeText      *string           `frugal:"17,optional,string"`
	Longs          []int64           `frugal:"18,default,list<i64>"`
	Reals          []float64         `frugal:"19,default,list<double>"`
	Flags          []bool            `frugal:"20,default,set<bool>"`
	IDs            [][16]byte        `frugal:"21,default,list<uuid>"`
	Inner          *tight            `frugal:"22,optional,tight"`
	A              int32             `frugal:"40,default,i32"`
	B              bool              `frugal:"60,default,bool"`
	C              int64             `frugal:"61,default,i64"`
	Shorts         []int16           `frugal:"62,default,list<i16>"`
	Names          map[string]string `frugal:"63,default,map<string:string>"`
	Kinds          []enumeration     `frugal:"64,default,list<enumeration>"`
	Lines          []*line           `frugal:"65,default,list<line>"`
	D              string            `frugal:"3000,default,string"`
	E              *bool             `frugal:"20000,optional,bool"`
	_unknownFields []byte
}

// tightFB is as tight in fbthrift's dialect, which has floats in the place of uuids.
type tightFB struct {
	Single      float32     `frugal:"1,required,float"`
	Real        float64     `frugal:"2,default,double"`
	MaybeSingle *float32    `frugal:"3,optional,float"`
	Singles     []float32   `frugal:"4,default,list<float>"`
	Reals       []float64   `frugal:"5,default,set<double>"`
	Bytes       []int8      `frugal:"6,default,list<i8>"`
	Text        string      `frugal:"7,default,string"`
	Flag        bool        `frugal:"30,default,bool"`
	Long        int64       `frugal:"31,default,i64"`
	Ints        []int32     `frugal:"32,default,list<i32>"`
	Words       []string    `frugal:"33,default,list<string>"`
	Kind        enumeration `frugal:"34,default,enumeration"`
	Inner       *tightFB    `frugal:"35,optional,tightFB"`
	Flat        []line      `frugal:"36,default,list<line>"`
}

// dialects are the types by what they are written in.
var dialects = map[Protocol]reflect.Type{Compact: reflect.TypeFor[tight](), CompactFBThrift: reflect.TypeFor[tightFB]()}

// compactPart is a field of a message.
type compactPart struct {
	compact.Field
	value []byte
}

// partsOf cuts the encoding of a struct into its fields.
func partsOf(d compact.Dialect, b []byte) (parts []compactPart) {
	last := int16(0)
	for len(b) > 1 {
		f, n := d.ConsumeField(b, last)
		end := n
		if f.Type != thriftwire.Bool {
			end += d.Skip(b[n:], f.Type, thriftwire.MaxDepth)
		}
		parts = append(parts, compactPart{f, b[n:end]})
		b, last = b[end:], f.ID
	}
	return parts
}

// joined writes fields as a struct. Each now and then it writes an id where a distance would do.
func joined(r *rand.Rand, d compact.Dialect, parts []compactPart) (b []byte) {
	last := int16(0)
	for _, p := range parts {
		before := last
		if r.Intn(10) == 0 {
			before = p.ID // no distance
		}
		if p.Type == thriftwire.Bool {
			b = compact.AppendBoolField(b, p.True, p.ID, before)
		} else {
			b = append(d.AppendField(b, p.Type, p.ID, before), p.value...)
		}
		last = p.ID
	}
	return append(b, 0)
}

// mixedParts has the fields in another order, some twice, some never, some with another id.
func mixedParts(r *rand.Rand, parts []compactPart) (mixed []compactPart) {
	step := 1 + r.Intn(3)
	for i := range parts {
		p := parts[(i+r.Intn(step))%len(parts)]
		switch r.Intn(12) {
		case 0:
			p.ID = int16(r.Intn(80) - 10)
		case 1:
			mixed = append(mixed, compactPart{compact.Field{Type: thriftwire.String, ID: int16(r.Intn(100))}, []byte{2, 'x', 'y'}})
		}
		mixed = append(mixed, p)
	}
	if r.Intn(3) == 0 {
		r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	}
	return mixed
}

var compactModes = [][]Option{nil, {NoCopy()}, {Strict(), CheckSets(), MaxContainer(3)}, {MaxDepth(2)}, {MaxBytes(100)}}

func TestMachineCodeDecodesCompactAsTheInterpreterDoes(t *testing.T) {
	for p, typ := range dialects {
		var sets [][]contender
		for _, opts := range compactModes {
			sets = append(sets, contenders(t, typ, append(opts, Deterministic(), Use(p))...))
		}
		rapid.Check(t, func(t *rapid.T) {
			r := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
			all := sets[r.Intn(len(sets))]
			random := func() reflect.Value {
				v := reflect.New(typ)
				fill(r, v.Elem(), 3)
				return v
			}
			b, err := sets[0][0].c.marshal(random().UnsafePointer())
			if err != nil {
				t.Fatal(err)
			}
			var before reflect.Value
			if r.Intn(3) == 0 { // what stands in the value already stays, or is replaced
				before = random().Elem()
			}
			check := func(what string, b []byte) {
				if diff := sameOutcome(all, typ, b, before); diff != "" {
					t.Fatalf("%s: %x: %s", what, b, diff)
				}
			}
			check("whole", b)
			check("cut", b[:r.Intn(len(b))])
			parts := partsOf(p.dialect(), b)
			for range 5 {
				mixed := joined(r, p.dialect(), mixedParts(r, parts))
				check("in another order", mixed)
				mixed[r.Intn(len(mixed))] ^= 1 << r.Intn(8)
				check("with a bit changed", mixed)
			}
		})
	}
}

func TestMachineCodeEndsAtEachCutOfCompactAsTheInterpreterDoes(t *testing.T) {
	for p, typ := range dialects {
		all := contenders(t, typ, Deterministic(), Use(p))
		v := reflect.New(typ)
		fill(rand.New(rand.NewSource(6)), v.Elem(), 3)
		b, err := all[0].c.marshal(v.UnsafePointer())
		if err != nil {
			t.Fatal(err)
		}
		for n := range b {
			if diff := sameOutcome(all, typ, bytes.Clone(b[:n]), reflect.Value{}); diff != "" {
				t.Fatalf("%v cut at %d: %s", p, n, diff)
			}
		}
	}
}

// Varints of each length, padded ones, those of too many bits and those that do not
// end, in the middle of a message and as its last bytes.
func TestMachineCodeReadsEachVarintAsTheInterpreterDoes(t *testing.T) {
	all := contenders(t, dialects[Compact], Deterministic(), Use(Compact))
	field := func(last, id int16, typ thriftwire.Type, v []byte) []byte {
		return append(compact.Apache.AppendField(nil, typ, id, last), v...)
	}
	front := slices.Concat(field(0, 2, thriftwire.I8, []byte{5}))
	for length := 1; length <= 12; length++ {
		for _, end := range []byte{0, 1, 2, 3, 0x0f, 0x10, 0x7f, 0x80} {
			for _, middle := range []byte{0x80, 0xff, 0xd5} {
				v := append(bytes.Repeat([]byte{middle}, length-1), end)
				for _, f := range [][]byte{
					field(2, 3, thriftwire.I16, v), field(2, 4, thriftwire.I32, v), field(2, 5, thriftwire.I64, v), field(2, 8, thriftwire.I32, v),
					field(2, 10, thriftwire.String, v), field(2, 14, thriftwire.I32, v), field(2, 15, thriftwire.I64, v), field(2, 17, thriftwire.String, v),
					field(2, 18, thriftwire.List, append([]byte{3<<4 | 6}, slices.Concat(v, v, v)...)), field(2, 18, thriftwire.List, append([]byte{15<<4 | 6}, v...)),
					field(2, 18, thriftwire.List, append([]byte{6<<4 | 6}, slices.Concat(v, v, []byte{1, 2, 3}, v)...)), field(2, 19, thriftwire.List, append([]byte{15<<4 | 7}, v...)),
					field(2, 62, thriftwire.List, append([]byte{4<<4 | 4}, slices.Concat(v, v, v, v)...)), field(2, 64, thriftwire.List, append([]byte{4<<4 | 5}, slices.Concat(v, v, v, v)...)),
				} {
					for _, behind := range [][]byte{nil, {0}, append(field(4, 5, thriftwire.I64, []byte{1}), 0), make([]byte, 300)} {
						b := slices.Concat(front, f, behind)
						if diff := sameOutcome(all, dialects[Compact], b, reflect.Value{}); diff != "" {
							t.Fatalf("%x: %s", b, diff)
						}
					}
				}
			}
		}
	}
}

func TestLongCompactMessagesAreDecodedInParts(t *testing.T) {
	typ := dialects[Compact]
	all := contenders(t, typ, Deterministic(), Use(Compact))
	long := strings.Repeat("long ", 60<<10)
	v := &tight{D: long, Text: long[:200], Other: true}
	for i := range 70_000 {
		v.Longs = append(v.Longs, int64(i)<<(i%50))
		v.Reals = append(v.Reals, float64(i))
		v.Shorts = append(v.Shorts, int16(i))
		v.Kinds = append(v.Kinds, enumeration(-i))
	}
	b, err := all[0].c.marshal(mem.Of(v))
	if err != nil {
		t.Fatal(err)
	}
	again := compactPart{compact.Field{Type: thriftwire.I32, ID: 4}, []byte{0x81, 1}}
	parts := append(partsOf(compact.Apache, b), slices.Repeat([]compactPart{again}, 70_000)...) // the same field again and again
	parts = append(parts, compactPart{compact.Field{Type: thriftwire.I8, ID: 99}, []byte{7}})
	b = joined(rand.New(rand.NewSource(1)), compact.Apache, parts)
	if diff := sameOutcome(all, typ, b, reflect.Value{}); diff != "" {
		t.Fatal(diff)
	}
	got, n, err := outcome(all[2], typ, b, reflect.Value{})
	if w := got.Interface().(*tight); err != nil || n != len(b) || w.D != long || w.Int != -65 || !slices.Equal(w.Longs, v.Longs) || !slices.Equal(w.Kinds, v.Kinds) || !bytes.Equal(w._unknownFields, append(field(nil, 3, 99), 7)) {
		t.Fatalf("read %d of %d bytes: %v", n, len(b), err)
	}
}

func FuzzMachineCodeDecodesCompactAsTheInterpreterDoes(f *testing.F) {
	type set struct {
		typ reflect.Type
		all []contender
	}
	var sets []set
	r := rand.New(rand.NewSource(1))
	for _, p := range []Protocol{Compact, CompactFBThrift} {
		typ := dialects[p]
		for _, opts := range compactModes[:3] {
			s := set{typ, contenders(f, typ, append(opts, Deterministic(), Use(p))...)}
			v := reflect.New(typ)
			fill(r, v.Elem(), 3)
			b, err := s.all[0].c.marshal(v.UnsafePointer())
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(len(sets)), b)
			sets = append(sets, s)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		s := sets[int(which)%len(sets)]
		if diff := sameOutcome(s.all, s.typ, b, reflect.Value{}); diff != "" {
			t.Fatal(diff)
		}
	})
}
