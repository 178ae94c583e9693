package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
)

// This file holds the defects of other codecs, each as a statement about ours,
// and what hostile input and data may not do.

type pair struct {
	A int64  `frugal:"1,optional,i64"`
	B string `frugal:"2,optional,string"`
}

type pairsByValue struct {
	M map[string]pair `frugal:"1,default,map<string:pair>"`
	L []pair          `frugal:"2,default,list<pair>"`
}

func TestMapOfStructsByValueCarriesNothingToTheNextEntry(t *testing.T) {
	in := field(nil, 13, 1)
	in = append(in, 11, 12, 0, 0, 0, 2)
	in = append(in, 0, 0, 0, 1, 'x')
	in = append(field(in, 11, 2), 0, 0, 0, 6)
	in = append(append(in, "secret"...), 0) // x: only B
	in = append(in, 0, 0, 0, 1, 'y', 0)     // y: nothing
	in = append(in, 0)
	for range 20 {
		var v pairsByValue
		if _, err := Unmarshal(in, &v); err != nil {
			t.Fatal(err)
		}
		if v.M["x"].B != "secret" || v.M["y"] != (pair{}) {
			t.Fatalf("got %+v", v.M)
		}
	}
}

func field(b []byte, wire byte, id uint16) []byte {
	return binary.BigEndian.AppendUint16(append(b, wire), id)
}

func TestSizeOfListOfStructsByValueIsExact(t *testing.T) {
	v := &pairsByValue{L: []pair{{1, "one"}, {2, "two"}}, M: map[string]pair{"k": {3, "three"}}}
	n, err := Size(v)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Marshal(v)
	if err != nil || n != len(b) {
		t.Fatalf("Size says %d, Marshal writes %d: %v", n, len(b), err)
	}
}

// rank is an enum, which has 64 bits in memory and 32 on the wire.
type rank int64

type ranked struct {
	R rank `frugal:"1,default,rank"`
}

type rankedByName struct {
	M map[string]*ranked `frugal:"1,default,map<string:ranked>"`
	G map[ranked]*ranked `frugal:"2,default,map<ranked:ranked>"`
}

func TestAFaultInAStructBehindAMapKeyIsAnErrorWithItsPath(t *testing.T) {
	for _, p := range []Protocol{Binary, Compact} {
		c, err := For[rankedByName](Use(p))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Marshal(&rankedByName{M: map[string]*ranked{"a": {R: 1 << 40}}})
		if err == nil || !strings.Contains(err.Error(), `M["a"].R`) {
			t.Errorf("%v: %v", p, err)
		}
		_, err = c.Marshal(&rankedByName{G: map[ranked]*ranked{{R: 1}: {R: 1 << 40}}})
		if err == nil || !strings.Contains(err.Error(), `G[entry].R`) {
			t.Errorf("%v: %v", p, err)
		}
	}
}

// endless is a Go type that no Thrift type describes.
type endless map[string]endless

func TestEqualElementsOfASetAreFoundWhateverTheFormOfTheirNumbers(t *testing.T) {
	type numbers struct {
		S []int32 `frugal:"1,default,set<i32>"`
	}
	c, err := For[numbers](Use(Compact), CheckSets())
	if err != nil {
		t.Fatal(err)
	}
	var v numbers
	b := []byte{0x1a, 0x25, 0x80, 0x00, 0x00, 0x00} // 0 in two bytes, then in one
	if _, err := c.Unmarshal(b, &v); diag.CodeOf(err) != diag.DuplicateKey {
		t.Fatal(err)
	}
}

func TestUnsupportedTypesAreErrorsNotPanics(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{&struct {
			A uint32 `frugal:"1"`
		}{}, "use int32 instead"},
		{&struct {
			A float32 `frugal:"1"`
		}{}, "use float64"},
		{&struct {
			A [4]int8 `frugal:"1"`
		}{}, "use a slice"},
		{&struct {
			A chan int `frugal:"1"`
		}{}, "not supported"},
		{&struct {
			A *int64 `frugal:"1"`
		}{}, "only an optional field"},
		{&struct {
			A []int64 `frugal:"1"`
		}{}, "list or a set"},
		{&struct {
			A []*int64 `frugal:"1,default,list<i64>"`
		}{}, "does not fit"},
		{&struct {
			A int64 `frugal:"1"`
			B int64 `frugal:"1"`
		}{}, "duplicated field id 1"},
		{&struct {
			A int64 `frugal:"70000"`
		}{}, "invalid field number"},
		{&struct {
			A int64 `frugal:"1,maybe"`
		}{}, "invalid requiredness"},
		{&struct {
			A string `frugal:"1,default,string,zerocopy"`
		}{}, "invalid option"},
		{&struct {
			A int64 `frugal:"1,default,i64,nocopy"`
		}{}, "nocopy is for string and binary"},
		{&struct {
			A map[string]int64 `frugal:"1,default,map<string:list<i64>>"`
		}{}, "does not fit"},
		{&struct {
			A []int64 `frugal:"1,default,list<i64"`
		}{}, "closing bracket"},
		{&struct {
			A endless `frugal:"1"`
		}{}, "holds itself"},
		{7, "not a struct"},
		{nil, "nil"},
		{(*pair)(nil), "nil"},
	} {
		_, err := Size(c.v)
		var te *TypeError
		if !errors.As(err, &te) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: got %v, want a TypeError with %q", c.v, err, c.want)
		}
		if _, err := Unmarshal([]byte{0}, c.v); err == nil {
			t.Errorf("%T decodes", c.v)
		}
	}
}

func TestSetElementsAreCheckedOnRequest(t *testing.T) {
	type sets struct {
		N []int32  `frugal:"1,default,set<i32>"`
		S []string `frugal:"2,default,set<string>"`
	}
	c, err := For[sets](CheckSets())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []*sets{{N: []int32{1, 2, 1}}, {S: []string{"a", "a"}}} {
		if _, err := c.Append(nil, v); diag.CodeOf(err) != diag.DuplicateKey {
			t.Errorf("%+v encodes: %v", v, err)
		}
		b, err := Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Unmarshal(b, new(sets)); diag.CodeOf(err) != diag.DuplicateKey {
			t.Errorf("%+v decodes: %v", v, err)
		}
	}
	if _, err := c.Append(nil, &sets{N: []int32{1, 2}, S: []string{"a"}}); err != nil {
		t.Error(err)
	}
}

func TestCyclicDataEndsAtTheDepthLimit(t *testing.T) {
	v := &node{Name: "loop"}
	v.Left = v
	if _, err := Marshal(v); diag.CodeOf(err) != diag.DepthLimit {
		t.Errorf("Marshal: %v", err)
	}
	if _, err := Append(nil, v); diag.CodeOf(err) != diag.DepthLimit {
		t.Errorf("Append: %v", err)
	}
	if _, err := Size(v); diag.CodeOf(err) != diag.DepthLimit {
		t.Errorf("Size: %v", err)
	}
	deep := bytes.Repeat([]byte{12, 0, 2}, 1<<20)
	if _, err := Unmarshal(deep, new(node)); diag.CodeOf(err) != diag.DepthLimit {
		t.Errorf("Unmarshal: %v", err)
	}
	unknown := bytes.Repeat([]byte{12, 0, 99}, 1<<20)
	if _, err := Unmarshal(unknown, new(node)); diag.CodeOf(err) != diag.DepthLimit {
		t.Errorf("Unmarshal of unknown fields: %v", err)
	}
}

type lengths struct {
	L []int64           `frugal:"1,default,list<i64>"`
	S []string          `frugal:"2,default,list<string>"`
	V []wide            `frugal:"3,default,list<wide>"`
	P []*wide           `frugal:"4,default,list<wide>"`
	M map[int8]*wide    `frugal:"5,default,map<i8:wide>"`
	G map[string]wide   `frugal:"6,default,map<string:wide>"`
	B []byte            `frugal:"7,default,binary"`
	N [][]int8          `frugal:"8,default,list<list<i8>>"`
	K map[string]string `frugal:"9,default,map<string:string>"`
}

// wide takes 1 byte on the wire and 400 in memory.
type wide struct {
	A [25]struct{ S string }
	B string `frugal:"1,optional,string"`
}

func TestHostileLengthsAllocateLittle(t *testing.T) {
	const rest = 4096
	headers := map[string][]byte{
		"list<i64>":          append(field(nil, 15, 1), 10),
		"list<string>":       append(field(nil, 15, 2), 11),
		"list<struct>":       append(field(nil, 15, 3), 12),
		"list<*struct>":      append(field(nil, 15, 4), 12),
		"map<i8:*struct>":    append(field(nil, 13, 5), 3, 12),
		"map<string:struct>": append(field(nil, 13, 6), 11, 12),
		"binary":             field(nil, 11, 7),
		"list<list>":         append(field(nil, 15, 8), 15),
		"map<string:string>": append(field(nil, 13, 9), 11, 11),
	}
	for name, head := range headers {
		for _, n := range []uint32{1 << 31, 1<<31 - 1, 1 << 24, rest, rest / 4, rest / 8} {
			in := append(binary.BigEndian.AppendUint32(bytes.Clone(head), n), bytes.Repeat([]byte{0xfe}, rest)...)
			var v lengths
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Unmarshal(in, &v)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Errorf("%s of %d decodes", name, n)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > uint64(16*len(in)+64<<10) {
				t.Errorf("%s of %d allocates %d bytes for %d", name, n, got, len(in))
			}
		}
	}
}

func TestFaultsNameCodeOffsetAndPath(t *testing.T) {
	good, err := Marshal(&node{Name: "n", Kids: []*node{{}, {Name: "kid", Left: &node{Name: "left"}}}})
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(good, []byte("left"))
	_, err = Unmarshal(good[:at+2], new(node))
	var f *diag.Fault
	if !errors.As(err, &f) || f.Code != diag.UnexpectedEOF || f.Path() != "Kids[1].left.name" || f.Offset != at-4 { // the length's place
		t.Fatalf("got %v", err)
	}
	if !strings.HasPrefix(err.Error(), "unexpected EOF: 2 bytes short") {
		t.Fatalf("got %q", err)
	}
	_, err = Unmarshal([]byte{0}, new(node))
	if diag.CodeOf(err) != diag.MissingRequired || !strings.Contains(err.Error(), "missing required field 1 for type node") {
		t.Fatalf("got %v", err)
	}
	mismatched := append(field(nil, 15, 3), 10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	_, err = Unmarshal(mismatched, new(node))
	if diag.CodeOf(err) != diag.TypeMismatch || !strings.Contains(err.Error(), "type mismatch: 12 expected, got 10") {
		t.Fatalf("got %v", err)
	}
}

func TestUnknownFieldsAreKeptAndWrittenAgain(t *testing.T) {
	full := &node{Name: "n"}
	b, err := Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	extra := append(append(field(nil, 11, 77), 0, 0, 0, 2), "hi"...)
	in := append(append(bytes.Clone(extra), b[:len(b)-1]...), 0)
	var v node
	if _, err := Unmarshal(in, &v); err != nil {
		t.Fatal(err)
	}
	out, err := Marshal(&v)
	if err != nil || !bytes.Contains(out, extra) || len(out) != len(in) {
		t.Fatalf("got %x, %v", out, err)
	}
	clear(in)
	if !bytes.Equal(v._unknownFields, extra) {
		t.Fatal("the unknown fields alias the input")
	}
}

// fieldBytes is how thriftgo declares the type of _unknownFields.
type fieldBytes []byte

func TestUnknownFieldsMayHaveANamedType(t *testing.T) {
	type kept struct {
		A              int64 `thrift:"a,1"`
		_unknownFields fieldBytes
	}
	in := append(append(field(nil, 3, 9), 5), 0)
	var v kept
	if _, err := Unmarshal(in, &v); err != nil || !bytes.Equal(v._unknownFields, in[:4]) {
		t.Fatalf("got %x, %v", v._unknownFields, err)
	}
}

func TestFieldsOfAnotherWireTypeAreSkippedOrRefused(t *testing.T) {
	in := append(append(field(nil, 11, 1), 0, 0, 0, 1, 'x'), 0)
	var v pair
	if n, err := Unmarshal(in, &v); err != nil || n != len(in) || v.A != 0 {
		t.Fatalf("%+v, %d, %v", v, n, err)
	}
	c, err := For[pair](Strict())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Unmarshal(in, &v); diag.CodeOf(err) != diag.TypeMismatch || !strings.Contains(err.Error(), "type mismatch: 10 expected, got 11 at A") {
		t.Fatalf("got %v", err)
	}
}

func TestTrailingBytesAreLeftAlone(t *testing.T) {
	if n, err := Unmarshal([]byte{0, 1, 2, 3}, new(pair)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
}

type withDefaults struct {
	N int64  `frugal:"1,optional,i64"`
	S string `frugal:"2,optional,string"`
	B []byte `frugal:"3,optional,binary"`
	D int32  `frugal:"4,default,i32"`
}

func (d *withDefaults) InitDefault() { *d = withDefaults{N: 42, S: "usd", B: []byte("b"), D: 5} }

type holdsDefaults struct {
	P *withDefaults            `frugal:"1,default,withDefaults"`
	V withDefaults             `frugal:"2,default,withDefaults"`
	L []*withDefaults          `frugal:"3,default,list<withDefaults>"`
	M map[string]*withDefaults `frugal:"4,default,map<string:withDefaults>"`
	G map[string]withDefaults  `frugal:"5,default,map<string:withDefaults>"`
}

func TestDefaultsAreLeftOutAndSetBeforeDecoding(t *testing.T) {
	d := withDefaults{}
	d.InitDefault()
	b, err := Marshal(&d)
	if want := []byte{8, 0, 4, 0, 0, 0, 5, 0}; err != nil || !bytes.Equal(b, want) {
		t.Fatalf("got %x, %v", b, err)
	}
	v := &holdsDefaults{&d, d, []*withDefaults{&d, &d}, map[string]*withDefaults{"a": &d}, map[string]withDefaults{"b": d}}
	if b, err = Marshal(v); err != nil {
		t.Fatal(err)
	}
	var w holdsDefaults
	if _, err := Unmarshal(b, &w); err != nil || !reflect.DeepEqual(v, &w) {
		t.Fatalf("got %+v, %v", w, err)
	}
}

func TestEnumsOutsideOf32BitsAreRefused(t *testing.T) {
	type one struct {
		E enumeration `frugal:"1,default,enumeration"`
	}
	for _, e := range []enumeration{1 << 31, -1<<31 - 1} {
		if _, err := Marshal(&one{e}); diag.CodeOf(err) != diag.OutOfRange {
			t.Errorf("%d: %v", e, err)
		}
	}
}

func TestManyRequiredFields(t *testing.T) {
	var fields []reflect.StructField
	for i := range 200 {
		fields = append(fields, reflect.StructField{Name: fmt.Sprint("F", i), Type: reflect.TypeFor[int8](),
			Tag: reflect.StructTag(fmt.Sprintf(`frugal:"%d,required,i8"`, i+1))})
	}
	typ := reflect.StructOf(fields)
	v := reflect.New(typ).Interface()
	b, err := Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
	for _, missing := range []int{0, 63, 64, 199} {
		cut := append(bytes.Clone(b[:4*missing]), b[4*missing+4:]...)
		if _, err := Unmarshal(cut, v); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("missing required field %d for", missing+1)) {
			t.Errorf("without field %d: %v", missing+1, err)
		}
	}
}

func TestNilValues(t *testing.T) {
	var v holdsDefaults
	b, err := Marshal(&v)
	if err != nil {
		t.Fatal(err)
	}
	var w holdsDefaults
	if _, err := Unmarshal(b, &w); err != nil || w.P == nil || w.L == nil || w.M == nil {
		t.Fatalf("%+v %v", w, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range []any{&node{Name: "n", Kids: []*node{{Name: "k"}}}, &pairsByValue{M: map[string]pair{"a": {1, "b"}}}} {
		b, err := Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, v := range []any{new(node), new(pairsByValue), new(lengths), new(holdsDefaults), new(everything)} {
			n, err := Unmarshal(b, v)
			if err != nil {
				continue
			}
			if n > len(b) {
				t.Fatalf("%T took %d of %d bytes", v, n, len(b))
			}
			if _, err := Marshal(v); err != nil && diag.CodeOf(err) != diag.OutOfRange {
				t.Fatalf("%T decodes and does not encode: %v", v, err)
			}
		}
	})
}

type odd struct {
	E hue `frugal:"1,default,hue"`
}

type hue int64

func TestFaultsInValuesOfMapsNameTheirKey(t *testing.T) {
	bad := odd{1 << 40}
	type maps struct {
		Typed   map[string]*odd           `frugal:"1,default,map<string:odd>"`
		Generic map[[16]byte]odd          `frugal:"2,default,map<uuid:odd>"`
		Lists   map[string][]odd          `frugal:"3,default,map<string:list<odd>>"`
		Nested  map[int32]map[string]*odd `frugal:"4,default,map<i32:map<string:odd>>"`
	}
	long := strings.Repeat("k", 2000)
	for _, opts := range [][]Option{nil, {Deterministic()}, {Use(Compact)}, {Use(Compact), Deterministic()}} {
		c, err := For[maps](opts...)
		if err != nil {
			t.Fatal(err)
		}
		for want, v := range map[string]*maps{
			`Typed["a"].E`:       {Typed: map[string]*odd{"a": &bad}},
			`Generic[entry].E`:   {Generic: map[[16]byte]odd{{1}: bad}},
			`Lists["a"][0].E`:    {Lists: map[string][]odd{"a": {bad}}},
			`Nested[-7]["b"].E`:  {Nested: map[int32]map[string]*odd{-7: {"b": &bad}}},
			`Typed["` + long[:1]: {Typed: map[string]*odd{long: &bad}},
		} {
			dst, err := c.Append([]byte("before"), v)
			if string(dst) != "before" || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q, %v, want a fault at %s", dst, err, want)
			}
			if _, err := c.AppendSegments(nil, nil, v, 1); err == nil {
				t.Errorf("%s: segments are made", want)
			}
		}
	}
}

type panics struct {
	A int64 `frugal:"1,default,i64"`
}

func (*panics) InitDefault() { panic("no defaults today") }

func TestATypeWhoseDefaultsPanicStaysAnError(t *testing.T) {
	s := NewSet() // in which the type is new
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic of InitDefault is lost")
			}
		}()
		_, _ = s.Size(&panics{})
	}()
	if _, err := s.Size(&panics{}); err == nil {
		t.Error("the type is taken at the second use")
	}
}

func TestUnionsWithPlainFieldsAreCountedFieldByField(t *testing.T) {
	c, err := For[plainUnion](CheckUnions())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Marshal(&plainUnion{}); diag.CodeOf(err) != diag.InvalidUnion {
		t.Fatalf("a union that always writes two fields encodes: %v", err)
	}
}

type plainUnion struct {
	A int64 `frugal:"1,default,i64"`
	B int64 `frugal:"2,default,i64"`
}

func (*plainUnion) CountSetFieldsplainUnion() int { return 2 }
