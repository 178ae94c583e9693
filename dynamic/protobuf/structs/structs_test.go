package structs_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/protobuf"
	"github.com/thrum-rpc/thrum/dynamic/protobuf/structs"
	"github.com/thrum-rpc/thrum/schema"
)

func ptr[T any](v T) *T { return &v }

func checkFault(t *testing.T, err error, code diag.Code, path string) {
	t.Helper()
	var f *diag.Fault
	if !errors.As(err, &f) || f.Code != code || f.Path() != path {
		t.Errorf("the error is %v, want %s at %q", err, code, path)
	}
}

// Loose has what only hand-written and gogo's types have.
type Loose struct {
	Must   int32            `protobuf:"varint,1,req,name=must"`
	Inner  Inner            `protobuf:"bytes,2,opt,name=inner"`
	Inners []Inner          `protobuf:"bytes,3,rep,name=inners"`
	ByName map[string]Inner `protobuf:"bytes,4,rep,name=byName" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"`
	May    *int64           `protobuf:"varint,5,opt,name=may,proto3,oneof"`
	Maybe  []byte           `protobuf:"bytes,6,opt,name=maybe,json=perhaps,proto3,oneof"`
	Plain  []byte           `protobuf:"bytes,7,opt,name=plain,proto3"`
	Old    []byte           `protobuf:"bytes,8,opt,name=old"`
	Nobody int
}

type Inner struct {
	Text             string `protobuf:"bytes,1,opt,name=text,proto3"`
	XXX_unrecognized []byte
}

func TestFieldsAreWrittenByTheirPresence(t *testing.T) {
	m := mapper[Loose](t)
	for _, x := range []struct {
		v    Loose
		want string
	}{
		{Loose{}, "\x08\x00\x12\x00"},
		{Loose{Must: 1, May: ptr(int64(0)), Maybe: []byte{}, Plain: []byte{}, Old: []byte{}}, "\x08\x01\x12\x00\x28\x00\x32\x00\x42\x00"},
		{Loose{Inner: Inner{Text: "a"}, Inners: make([]Inner, 1), Plain: []byte("p")}, "\x08\x00\x12\x03\x0a\x01a\x1a\x00\x3a\x01p"},
	} {
		v, err := m.Value(&x.v)
		if err != nil || string(v.Raw()) != x.want {
			t.Errorf("%+v is %x (%v), want %x", x.v, v.Raw(), err, x.want)
		}
		var back Loose
		if err := m.Read(v.Node, &back); err != nil {
			t.Error(err)
		}
		if x.v.Plain = append([]byte(nil), x.v.Plain...); !reflect.DeepEqual(back, x.v) {
			t.Errorf("%+v came back as %+v", x.v, back)
		}
	}
	s := m.Type().Struct()
	if f := s.FieldByName("maybe"); f.Requiredness() != schema.Optional || f.JSONName() != "perhaps" {
		t.Errorf("maybe is %s, and %s in JSON", f.Requiredness(), f.JSONName())
	}
	if f := s.FieldByName("plain"); f.Requiredness() != schema.Default {
		t.Errorf("plain is %s", f.Requiredness())
	}
}

func TestReadKeepsWhatTheMessageDoesNotHave(t *testing.T) {
	m := mapper[Loose](t)
	v := Loose{Must: 5, Inners: []Inner{{Text: "old"}}, May: ptr(int64(7)), Nobody: 3, Inner: Inner{Text: "kept"}}
	in := []byte("\x1a\x03\x0a\x01n\x1a\x02\x10\x09\x08\x06")
	if err := m.Read(protobuf.NewMessage(in), &v); err != nil {
		t.Fatal(err)
	}
	want := Loose{Must: 6, Inners: []Inner{{Text: "n"}, {XXX_unrecognized: []byte("\x10\x09")}}, May: ptr(int64(7)), Nobody: 3, Inner: Inner{Text: "kept"}}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("the struct is %+v, want %+v", v, want)
	}
	clear(in)
	if !reflect.DeepEqual(v, want) {
		t.Error("the struct aliases the message")
	}
	before := v
	checkFault(t, m.Read(protobuf.NewMessage([]byte("\x08\x07\x12\x05")), &v), diag.UnexpectedEOF, "")
	checkFault(t, m.Read(protobuf.Node{}, &v), diag.NotFound, "")
	checkFault(t, m.Read(protobuf.NewInt(1), &v), diag.TypeMismatch, "")
	if !reflect.DeepEqual(v, before) {
		t.Errorf("after errors the struct is %+v", v)
	}
}

func TestRequiredFieldsMustBeThere(t *testing.T) {
	m := mapper[Every](t)
	_, err := m.Value(&Every{Gs: []*Group{{Required: ptr(int32(1))}, {}}})
	checkFault(t, err, diag.MissingRequired, "Gs[1]")
	var v Every
	checkFault(t, m.Read(protobuf.NewMessage([]byte("\x93\x01\x13\x14\x94\x01")), &v), diag.MissingRequired, "G")
	checkFault(t, m.FromMap(map[string]any{"Gs": []any{map[string]any{}}}, &v), diag.MissingRequired, "Gs[0]")
}

func TestStructsBecomeMapsAndComeBack(t *testing.T) {
	m := mapper[Every](t)
	r := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		v := random(r)
		x, err := m.ToMap(v)
		if err != nil {
			t.Fatal(err)
		}
		var back Every
		if err := m.FromMap(x, &back); err != nil {
			t.Fatal(err)
		}
		again, err := m.ToMap(&back)
		if err != nil || !sameMaps(again, x) {
			t.Fatalf("%v came back as %v (%v)", x, again, err)
		}
	}
}

// sameMaps is reflect.DeepEqual for what the test makes, which has no NaN.
func sameMaps(a, b map[string]any) bool { return reflect.DeepEqual(a, b) }

func TestFromMapSetsWhatIsGiven(t *testing.T) {
	m := mapper[Implied](t)
	v := Implied{I32: 5, S: "s", Is: []int64{1}, D: 2}
	if err := m.FromMap(map[string]any{"i32": 0, "s": "", "is": []any{}, "d": nil, "next": map[string]any{}}, &v); err != nil {
		t.Fatal(err)
	}
	if want := (Implied{D: 2, Next: &Implied{}}); !reflect.DeepEqual(v, want) {
		t.Errorf("the struct is %+v, want %+v", v, want)
	}
	if err := m.FromMap(map[int32]any{2: int8(-3)}, &v); err != nil || v.I32 != -3 || v.D != 2 {
		t.Errorf("by number: %+v, %v", v, err)
	}
	for _, x := range []struct {
		in   any
		code diag.Code
		path string
	}{
		{map[string]any{"i32": int64(1) << 40}, diag.OutOfRange, "i32"}, {map[string]any{"none": 1}, diag.UnknownField, ""},
		{map[string]any{"next": map[string]any{"s": 1}}, diag.InvalidValue, "next.s"}, {7, diag.InvalidValue, ""}, {nil, diag.InvalidValue, ""},
	} {
		before := v
		checkFault(t, m.FromMap(x.in, &v), x.code, x.path)
		if !reflect.DeepEqual(v, before) {
			t.Errorf("after an error the struct is %+v", v)
		}
	}
}

func TestMembersOfOneofsMayBeTold(t *testing.T) {
	type bare struct {
		Choice isEvery_Choice `protobuf_oneof:"choice"`
	}
	_, err := structs.For[bare]()
	checkFault(t, err, diag.Unsupported, "Choice")
	m := mapper[bare](t, structs.Members(&Every_Text{}, &Every_Number{}, "no member"))
	if o := m.Type().Struct().Oneofs(); len(o) != 1 || o[0].Name() != "choice" || len(o[0].Fields()) != 2 {
		t.Errorf("the oneofs are %v", o)
	}
	var v bare
	if err := m.FromMap(map[string]any{"text": "t"}, &v); err != nil || !reflect.DeepEqual(v.Choice, &Every_Text{Text: "t"}) {
		t.Errorf("%+v %v", v.Choice, err)
	}
	// The last member counts.
	if err := m.Read(protobuf.NewMessage([]byte("\xd2\x02\x01x\xc8\x02\x05")), &v); err != nil || !reflect.DeepEqual(v.Choice, &Every_Number{Number: 5}) {
		t.Errorf("%+v %v", v.Choice, err)
	}
	for _, none := range []isEvery_Choice{nil, (*Every_Text)(nil), &Every_Message{}} {
		if x, err := m.ToMap(&bare{none}); err != nil || len(x) != 0 {
			t.Errorf("%#v is %v, %v", none, x, err)
		}
	}
}

func TestTypesWithoutAFormAreRefused(t *testing.T) {
	for _, x := range []struct {
		err  error
		path string
	}{
		{typeError[int](), ""},
		{typeError[struct {
			A int `protobuf:"varint,1,opt,name=a"`
		}](), "A"},
		{typeError[struct {
			A int32 `protobuf:"varint,0,opt,name=a"`
		}](), "A"},
		{typeError[struct {
			A int32 `protobuf:"varint"`
		}](), "A"},
		{typeError[struct {
			A int32 `protobuf:"fixed64,1,opt,name=a"`
		}](), "A"},
		{typeError[struct {
			A uint32 `protobuf:"zigzag32,1,opt,name=a"`
		}](), "A"},
		{typeError[struct {
			A int32 `protobuf:"varint,1,many,name=a"`
		}](), "A"},
		{typeError[struct {
			A int32 `protobuf:"varint,1,rep,name=a"`
		}](), "A"},
		{typeError[struct {
			A []string `protobuf:"bytes,1,rep,packed,name=a"`
		}](), "A"},
		{typeError[struct {
			A string `protobuf:"bytes,1,opt,name=a"`
			B string `protobuf:"bytes,1,opt,name=b"`
		}](), "B"},
		{typeError[struct {
			A string `protobuf:"bytes,1,opt,name=a"`
			B string `protobuf:"bytes,2,opt,name=a"`
		}](), "B"},
		{typeError[struct {
			A map[float32]string `protobuf:"bytes,1,rep,name=a" protobuf_key:"fixed32,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"`
		}](), "A"},
		{typeError[struct {
			A map[string]string `protobuf:"bytes,1,rep,name=a"`
		}](), "A"},
		{typeError[struct {
			A struct {
				B []chan int `protobuf:"bytes,1,rep,name=b"`
			} `protobuf:"bytes,1,opt,name=a"`
		}](), "A.B"},
		{typeError[struct {
			A []uint32 `protobuf:"varint,1,rep,name=a,enum=E"`
		}](), "A"},
		{typeError[struct {
			a int32 `protobuf:"varint,1,opt,name=a"`
		}](), "a"},
	} {
		checkFault(t, x.err, diag.Unsupported, x.path)
	}
}

func typeError[T any]() error {
	_, err := structs.For[T]()
	return err
}

func TestCyclesAndDepthAreBounded(t *testing.T) {
	m := mapper[Every](t)
	v := &Every{}
	v.Self = v
	_, err := m.Value(v)
	if diag.CodeOf(err) != diag.DepthLimit {
		t.Errorf("a cycle: %v", err)
	}
	var groups []byte
	groups = append(groups, strings.Repeat("\x93\x01", 5000)...)
	if err := m.Read(protobuf.NewMessage(groups), &Every{}); err == nil {
		t.Error("groups without end were read")
	}
	c, err := structs.Between[Every, Every]()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Convert(v, &Every{}); diag.CodeOf(err) != diag.DepthLimit {
		t.Errorf("a cycle: %v", err)
	}
}

func TestConvertingToTheSameTypeCopies(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, opts := range [][]structs.Option{nil, {structs.ByName()}} {
		c, err := structs.Between[Every, Every](opts...)
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			v, to := random(r), &Every{}
			if err := c.Convert(v, to); err != nil || !reflect.DeepEqual(v, to) {
				t.Fatalf("%+v became %+v (%v)", v, to, err)
			}
		}
	}
}

type From struct {
	N    int64            `protobuf:"varint,1,opt,name=n,proto3"`
	U    *uint64          `protobuf:"varint,2,opt,name=u"`
	D    float64          `protobuf:"fixed64,3,opt,name=d,proto3"`
	S    string           `protobuf:"bytes,4,opt,name=s,proto3"`
	L    []int64          `protobuf:"varint,5,rep,name=l"`
	M    map[int64]*From  `protobuf:"bytes,6,rep,name=m" protobuf_key:"varint,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"`
	Only string           `protobuf:"bytes,7,opt,name=only,proto3"`
	Sub  *From            `protobuf:"bytes,8,opt,name=sub,proto3"`
	Keys map[string]int32 `protobuf:"bytes,9,rep,name=keys" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"varint,2,opt,name=value"`
}

type To struct {
	N    *int32            `protobuf:"zigzag32,1,opt,name=u"`
	U    float32           `protobuf:"fixed32,2,opt,name=n,proto3"`
	D    float32           `protobuf:"fixed32,3,opt,name=d,proto3"`
	S    []byte            `protobuf:"bytes,4,opt,name=s"`
	L    []Color           `protobuf:"varint,5,rep,name=l,enum=Color"`
	M    map[uint32]To     `protobuf:"bytes,6,rep,name=m" protobuf_key:"varint,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"`
	Mine string            `protobuf:"bytes,17,opt,name=mine,proto3"`
	Sub  To2               `protobuf:"bytes,8,opt,name=sub,proto3"`
	Keys map[string]uint64 `protobuf:"bytes,9,rep,name=keys" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"varint,2,opt,name=value"`
}

type To2 struct {
	N int64 `protobuf:"varint,1,opt,name=n,proto3"`
}

func TestConvertingChecksRanges(t *testing.T) {
	c, err := structs.Between[From, To]()
	if err != nil {
		t.Fatal(err)
	}
	v := From{N: -5, D: 1.5, S: "s", L: []int64{1, -2}, M: map[int64]*From{3: {S: "in"}, 4: nil}, Sub: &From{N: 9}, Keys: map[string]int32{"a": 1}}
	to := To{U: 8, Mine: "kept"}
	want := To{N: ptr(int32(-5)), U: 8, D: 1.5, S: []byte("s"), L: []Color{1, -2}, Mine: "kept", Sub: To2{9}, Keys: map[string]uint64{"a": 1},
		M: map[uint32]To{3: {N: ptr(int32(0)), S: []byte("in")}, 4: {}}}
	if err := c.Convert(&v, &to); err != nil || !reflect.DeepEqual(to, want) {
		t.Errorf("%+v (%v)\nwant %+v", to, err, want)
	}
	for path, bad := range map[string]From{
		"n": {N: 1 << 31}, "u": {U: ptr(uint64(1)<<53 + 1)}, "d": {D: 1e300}, "l[1]": {L: []int64{0, math.MinInt64}},
		"m[key]": {M: map[int64]*From{-1: nil}}, "m[7].n": {M: map[int64]*From{7: {N: math.MaxInt64}}}, `keys["k"]`: {Keys: map[string]int32{"k": -1}},
	} {
		checkFault(t, c.Convert(&bad, &to), diag.OutOfRange, path)
	}
	if !reflect.DeepEqual(to, want) {
		t.Errorf("after errors the struct is %+v", to)
	}
	if err := c.Convert(&From{D: math.Inf(1), U: ptr(uint64(1) << 40)}, &to); err != nil || !math.IsInf(float64(to.D), 1) || to.U != 1<<40 {
		t.Errorf("%+v, %v", to, err)
	}
}

func TestConvertingByName(t *testing.T) {
	type from struct {
		N int64   `protobuf:"varint,1,opt,name=n,proto3"`
		U *uint64 `protobuf:"varint,2,opt,name=u"`
	}
	c, err := structs.Between[from, To](structs.ByName())
	if err != nil {
		t.Fatal(err)
	}
	var to To
	if err := c.Convert(&from{5, ptr(uint64(6))}, &to); err != nil || to.U != 5 || *to.N != 6 {
		t.Errorf("%+v, %v", to, err)
	}
	_, err = structs.Between[To, struct {
		S int32 `protobuf:"varint,4,opt,name=s"`
	}]()
	checkFault(t, err, diag.TypeMismatch, "s")
	_, err = structs.Between[To, struct {
		L int32 `protobuf:"varint,5,opt,name=l"`
	}]()
	checkFault(t, err, diag.TypeMismatch, "l")
}
