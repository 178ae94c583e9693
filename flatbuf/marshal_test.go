package flatbuf_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/conform/guard"
	"github.com/thrum-rpc/thrum/internal/mem"
)

// The monster of monster_test.go as tagged Go structs. Wide is not among its
// fields: slices have no vectors of 64 bits.
type (
	Vec struct {
		X, Y float64
		Z    int32
	}
	Any struct {
		Vec     *Vec     `flatbuf:"vec,id=5,struct"`
		Monster *Monster `flatbuf:"monster,id=1"`
		String  *string  `flatbuf:"string,id=2"`
	}
	Monster struct {
		Flag      bool       `flatbuf:"flag,id=15"`
		Pos       *Vec       `flatbuf:"pos,id=0,struct"`
		Mana      int16      `flatbuf:"mana,id=1,default=150"`
		HP        int64      `flatbuf:"hp,id=2"`
		Name      string     `flatbuf:"name,id=3,required"`
		Friends   []*Monster `flatbuf:"friends,id=4"`
		Inventory []byte     `flatbuf:"inventory,id=5"`
		Tags      []string   `flatbuf:"tags,id=6"`
		Test      *Any       `flatbuf:"test,id=8,union"`
		Anys      []Any      `flatbuf:"anys,id=10,union"`
		Nested    []byte     `flatbuf:"nested,id=11"`
		Path      []Vec      `flatbuf:"path,id=12,struct"`
		Enemy     *Monster   `flatbuf:"enemy,id=14"`
	}
)

// tagged returns the model m as a Monster; what m nests becomes bytes.
func (m *monster) tagged() *Monster {
	out := &Monster{Flag: m.flag, Mana: m.mana, HP: m.hp, Name: m.name, Inventory: m.inventory, Tags: m.tags}
	vecOf := func(v vec) *Vec { return &Vec{v.x, v.y, v.z} }
	if m.pos != nil {
		out.Pos = vecOf(*m.pos)
	}
	for _, f := range m.friends {
		out.Friends = append(out.Friends, f.tagged())
	}
	for _, v := range m.path {
		out.Path = append(out.Path, *vecOf(v))
	}
	if m.enemy != nil {
		out.Enemy = m.enemy.tagged()
	}
	if m.nested != nil {
		out.Nested = messageOf(m.nested, true)
	}
	anyOf := func(a anyValue) *Any {
		switch {
		case a.monster != nil:
			return &Any{Monster: a.monster.tagged()}
		case a.text != nil:
			return &Any{String: a.text}
		case a.vec != nil:
			return &Any{Vec: vecOf(*a.vec)}
		default:
			return &Any{}
		}
	}
	if a := anyOf(m.test); *a != (Any{}) {
		out.Test = a
	}
	for _, a := range m.anys {
		out.Anys = append(out.Anys, *anyOf(a))
	}
	return out
}

// withoutWide returns m without what Monster does not have.
func (m *monster) withoutWide() *monster {
	m.wide, m.wideNested = nil, nil
	parts := append([]*monster{m.enemy, m.nested, m.test.monster}, m.friends...)
	for _, a := range m.anys {
		parts = append(parts, a.monster)
	}
	for _, p := range parts {
		if p != nil {
			p.withoutWide()
		}
	}
	return m
}

func codecOf[T any](t testing.TB, opts ...flatbuf.CodecOption) *flatbuf.Codec[T] {
	t.Helper()
	c, err := flatbuf.For[T](opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStructsBecomeMessagesAndReturn(t *testing.T) {
	c := codecOf[Monster](t)
	v := monsterVerifier(t)
	r := rand.New(rand.NewPCG(20, 21))
	for range 3000 {
		model := randomMonster(r, r.IntN(60)).withoutWide()
		want := model.tagged()
		msg, err := c.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Verify(msg); err != nil {
			t.Fatalf("%v\n%x", err, msg)
		}
		read := reader{budget: 1 << 20}
		if got := read.message(msg); !reflect.DeepEqual(got, model) || read.broken > 0 {
			t.Fatalf("accessors read\n%+v, of\n%+v", got, model)
		}
		var got Monster
		if err := c.Unmarshal(messageOf(model, true), &got); err != nil || !reflect.DeepEqual(&got, want) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, &got, want)
		}
		// What the struct held before does not show.
		used := *randomMonster(r, 5).tagged()
		if err := c.Unmarshal(msg, &used); err != nil || !reflect.DeepEqual(&used, want) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, &used, want)
		}
	}
}

// Whoever says that messages are verified and errs gets wrong values.
func TestBrokenMessagesDoNoHarm(t *testing.T) {
	edge := guard.New(t, 1<<16)
	checked, trusting := codecOf[Monster](t), codecOf[Monster](t, flatbuf.Verified())
	r := rand.New(rand.NewPCG(22, 23))
	for i := range 10_000 {
		msg := messageOf(randomMonster(r, r.IntN(30)), i%2 == 0)
		mutate(r, msg)
		msg = edge.Put(msg[:r.IntN(len(msg)+1)])
		var m Monster
		_ = trusting.Unmarshal(msg, &m)
		err := checked.Unmarshal(msg, &m)
		if verified := checked.Verifier().Verify(msg); err != nil && diag.CodeOf(err) != diag.SizeLimit && diag.CodeOf(err) != diag.CodeOf(verified) {
			t.Fatalf("%v, verified: %v", err, verified)
		}
	}
	var m Monster
	for _, msg := range [][]byte{nil, {}, {0}, make([]byte, 12), bytes.Repeat([]byte{0xff}, 40)} {
		_ = trusting.Unmarshal(msg, &m)
		if checked.Unmarshal(msg, &m) == nil {
			t.Errorf("%x: accepted", msg)
		}
	}
}

// fork refers to two tables, which may be one.
type fork struct {
	Left  *fork `flatbuf:"left"`
	Right *fork `flatbuf:"right"`
}

// Tables that share what they refer to make a short message one of 2^60 tables.
func TestVerifiedMessagesThatShareTablesEnd(t *testing.T) {
	forks := func(levels int) []byte {
		b := flatbuf.NewBuilder(0)
		var below flatbuf.UOffsetT
		for range levels {
			b.StartObject(2)
			b.PrependUOffsetTSlot(0, below, 0)
			b.PrependUOffsetTSlot(1, below, 0)
			below = b.EndObject()
		}
		b.Finish(below)
		return b.FinishedBytes()
	}
	for _, c := range []struct {
		levels  int
		options []flatbuf.CodecOption
		want    diag.Code
	}{
		{16, nil, 0}, {60, nil, diag.SizeLimit}, {17, nil, diag.SizeLimit}, {17, []flatbuf.CodecOption{flatbuf.MaxCopied(1 << 17)}, 0},
	} {
		var v fork
		err := codecOf[fork](t, append(c.options, flatbuf.Verified())...).Unmarshal(forks(c.levels), &v)
		if c.want == 0 && err != nil || c.want != 0 && diag.CodeOf(err) != c.want {
			t.Errorf("%d levels: %v, want %v", c.levels, err, c.want)
		}
	}
	var v fork
	if err := codecOf[fork](t, flatbuf.VerifyWith(flatbuf.MaxVisits(1<<18))).Unmarshal(forks(17), &v); err != nil {
		t.Errorf("verified with more visits: %v", err)
	}
}

// numbers has runs of scalars, with and without defaults, and optional ones.
type numbers struct {
	A, B, C, D int32    // not tagged
	I32        [0]int32 // neither
	E          int32    `flatbuf:"e"`
	F          int32    `flatbuf:"f"`
	G          int32    `flatbuf:"g"`
	H          float32  `flatbuf:"h"`
	I          float32  `flatbuf:"i,default=-1.5"`
	J          bool     `flatbuf:"j,default=true"`
	K          bool     `flatbuf:"k"`
	L          *bool    `flatbuf:"l"`
	M          *uint64  `flatbuf:"m"`
	N          uint8    `flatbuf:"n"`
	O          uint8    `flatbuf:"o"`
	P          int8     `flatbuf:"p,default=-0x80"`
	Q          []bool   `flatbuf:"q"`
	R          []uint16 `flatbuf:"r"`
	S          *string  `flatbuf:"s"`
	T          sub      `flatbuf:"t"`
	U          []sub    `flatbuf:"u"`
	V          fixed    `flatbuf:"v,struct"`
	W          uint64   `flatbuf:"w"`
	X          uint64   `flatbuf:"x"`
}

type sub struct {
	X int16 `flatbuf:"x"`
}

type fixed struct {
	A    bool
	B    [3]int16
	C    [2]inner
	D    float64
	Last uint8
}

type inner struct {
	A uint8
	B uint32
}

func TestNumbersOptionalsAndStructs(t *testing.T) {
	c := codecOf[numbers](t)
	r := rand.New(rand.NewPCG(24, 25))
	for range 2000 {
		zero := func() uint64 { return r.Uint64() * uint64(r.IntN(2)) }
		want := numbers{
			E: int32(zero()), F: int32(zero()), G: int32(zero()), H: float32(r.IntN(2)), I: float32(r.IntN(2)) * -1.5,
			J: r.IntN(2) > 0, K: r.IntN(2) > 0, N: uint8(zero()), O: uint8(zero()), P: int8(r.IntN(3) - 128),
			T: sub{int16(zero())}, W: zero(), X: zero(),
			V: fixed{A: true, B: [3]int16{1, -2, 3}, C: [2]inner{{4, 5}, {6, 1 << 31}}, D: 1e9, Last: 9},
		}
		if r.IntN(2) > 0 {
			yes, big, text := r.IntN(2) > 0, zero(), strings.Repeat("x", r.IntN(3))
			want.L, want.M, want.S = &yes, &big, &text
			want.Q, want.R, want.U = []bool{true, false}, []uint16{}, []sub{{1}, {}}
		}
		msg, err := c.Marshal(&want)
		if err != nil {
			t.Fatal(err)
		}
		var got numbers
		if err := c.Unmarshal(msg, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, got, want)
		}
	}
	var got numbers
	empty, err := c.Marshal(&numbers{I: -1.5, J: true, P: -128})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Unmarshal(empty, &got); err != nil || got.I != -1.5 || !got.J || got.P != -128 || got.L != nil {
		t.Errorf("defaults: %v %+v", err, got)
	}
}

func TestMarshalAllocatesNothingOnceWarm(t *testing.T) {
	c := codecOf[Monster](t)
	m := randomMonster(rand.New(rand.NewPCG(26, 27)), 200).withoutWide().tagged()
	var b flatbuf.Builder
	if n := allocations(func() {
		if err := c.MarshalTo(&b, m); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestVerifyAllocatesNothing(t *testing.T) {
	message := messageOf(randomMonster(rand.New(rand.NewPCG(28, 29)), 60), true)
	v := monsterVerifier(t)
	if n := allocations(func() {
		if err := v.Verify(message); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The pass that finds how much room the message needs finds enough.
func TestMarshalDoesNotGrow(t *testing.T) {
	c := codecOf[Monster](t)
	r := rand.New(rand.NewPCG(28, 29))
	for range 1000 {
		m := randomMonster(r, r.IntN(100)).withoutWide().tagged()
		b := flatbuf.NewBuilder(8)
		if _, err := c.Build(b, m); err != nil {
			t.Fatal(err)
		}
		memory := len(b.Bytes)
		b.Reset()
		if _, err := c.Build(b, m); err != nil || len(b.Bytes) != memory {
			t.Fatalf("%v: %d bytes of memory, then %d", err, memory, len(b.Bytes))
		}
	}
}

// A builder that runs out of memory within a Go struct forgets what it wrote of it,
// vtables too, and nothing of what was there before.
func TestMarshalStartsAnewInMoreMemory(t *testing.T) {
	c := codecOf[Monster](t)
	model := randomMonster(rand.New(rand.NewPCG(30, 31)), 60).withoutWide()
	for _, before := range []int{0, 3, 20} { // vtables
		for room := 0; room < 6000; room += 100 {
			b := flatbuf.NewBuilder(room)
			var parts []flatbuf.UOffsetT
			for i := range before {
				b.StartObject(i + 1)
				b.PrependInt32Slot(i, 7, 0)
				parts = append(parts, b.EndObject())
			}
			off, err := c.Build(b, model.tagged())
			if err != nil {
				t.Fatal(err)
			}
			b.Finish(off)
			msg := b.FinishedBytes()
			var got Monster
			if err := c.Unmarshal(msg, &got); err != nil || !reflect.DeepEqual(&got, model.tagged()) {
				t.Fatalf("%d bytes, %d vtables: %v", room, before, err)
			}
			for i, part := range parts {
				table := flatbuf.Table{Bytes: msg, Pos: flatbuf.UOffsetT(len(msg)) - part}
				if table.GetInt32Slot(flatbuf.VOffsetT(4+2*i), 0) != 7 {
					t.Fatalf("%d bytes, %d vtables: part %d is lost", room, before, i)
				}
			}
		}
	}
}

func TestValuesThatHaveNoFormAreRefused(t *testing.T) {
	c := codecOf[Monster](t)
	text := "x"
	loop := &Monster{Name: "loop"}
	loop.Enemy = loop
	for _, test := range []struct {
		m    *Monster
		code diag.Code
		path string
	}{
		{nil, diag.InvalidValue, ""},
		{&Monster{Friends: []*Monster{{}, nil}}, diag.InvalidValue, "friends[1]"},
		{&Monster{Anys: []Any{{}, {String: &text, Vec: &Vec{}}}}, diag.InvalidUnion, "anys[1]"},
		{loop, diag.DepthLimit, strings.Repeat(".enemy", 64)[1:]},
	} {
		_, err := c.Marshal(test.m)
		var f *diag.Fault
		if !errors.As(err, &f) || f.Code != test.code || f.Path() != test.path {
			t.Errorf("%+v: %v", test.m, err)
		}
	}
	type strict struct {
		S *string   `flatbuf:"s,required"`
		M *Monster  `flatbuf:"m,required"`
		L []float32 `flatbuf:"l,required"`
	}
	sc := codecOf[strict](t)
	_, err := sc.Marshal(&strict{M: &Monster{}})
	if f, ok := err.(*diag.Fault); !ok || f.Code != diag.MissingRequired || f.Path() != "s" {
		t.Errorf("%v", err)
	}
	msg, err := sc.Marshal(&strict{S: &text, M: &Monster{}})
	var back strict
	if err != nil || sc.Unmarshal(msg, &back) != nil || back.L == nil {
		t.Errorf("a required vector that is nil: %v %+v", err, back)
	}
}

func TestTypesThatHaveNoFormAreRefused(t *testing.T) {
	type member struct {
		X int8 `flatbuf:"x,id=1"`
	}
	for want, make := range map[string]func() error{
		"not a struct": forError[int],
		"only maps have keys and values": forError[struct {
			A int8 `flatbuf:"a,key=1"`
		}],
		"the key of a map is a string, an integer with its size in its name or a bool": forError[struct {
			M map[float64]int8 `flatbuf:"m"`
		}],
		"a map has no place for pointers to scalars": forError[struct {
			M map[string]*int8 `flatbuf:"m"`
		}],
		"duplicated id 1, which Key has": forError[struct {
			M map[string]int8 `flatbuf:"m,key=1"`
		}],
		"the Go type int is not supported": forError[struct {
			M int `flatbuf:"m"`
		}],
		`invalid option "requird"`: forError[struct {
			M string `flatbuf:"m,requird"`
		}],
		`invalid id "40000"`: forError[struct {
			M string `flatbuf:"m,id=40000"`
		}],
		`invalid default "300"`: forError[struct {
			M uint8 `flatbuf:"m,default=300"`
		}],
		"only scalars have defaults": forError[struct {
			M string `flatbuf:"m,default=x"`
		}],
		"either all fields have ids, or none": forError[struct {
			A int8 `flatbuf:"a,id=0"`
			B int8 `flatbuf:"b"`
		}],
		"duplicated id 1, which A has": forError[struct {
			A int8   `flatbuf:"a,id=1"`
			U member `flatbuf:"u,id=2,union"`
		}],
		"id 0: a union has the second of two": forError[struct {
			U struct{} `flatbuf:"u,id=0,union"`
		}],
		"a member of a union is a pointer": forError[struct {
			U member `flatbuf:"u,id=1,union"`
		}],
		"a scalar is neither required nor a struct or union": forError[struct {
			A int8 `flatbuf:"a,required"`
		}],
		"a struct has exported scalars, structs and arrays of 1 to 65535 of these": forError[struct {
			A struct{ S string } `flatbuf:"a,struct"`
		}],
		"a tagged field must be exported": forError[struct {
			a int8 `flatbuf:"a"`
		}],
		"the Go type []*int8 is not supported": forError[struct {
			A []*int8 `flatbuf:"a"`
		}],
	} {
		if err := make(); err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func forError[T any]() error {
	_, err := flatbuf.For[T]()
	return err
}

// Twenty tables share one text of a megabyte: a message of one, twenty copies.
func TestSharedPartsDoNotMultiplyMemory(t *testing.T) {
	var b flatbuf.Builder
	text := b.CreateString(strings.Repeat("x", 1<<20))
	var rows []flatbuf.UOffsetT
	for range 20 {
		b.StartObject(monsterSlots)
		b.PrependUOffsetTSlot(slotName, text, 0)
		rows = append(rows, b.EndObject())
	}
	friends := b.CreateVectorOfTables(rows)
	b.StartObject(monsterSlots)
	b.PrependUOffsetTSlot(slotName, text, 0)
	b.PrependUOffsetTSlot(slotFriends, friends, 0)
	b.Finish(b.EndObject())
	var m Monster
	if err := codecOf[Monster](t).Unmarshal(b.FinishedBytes(), &m); diag.CodeOf(err) != diag.SizeLimit {
		t.Errorf("%v", err)
	}
	if err := codecOf[Monster](t, flatbuf.MaxCopied(1<<25)).Unmarshal(b.FinishedBytes(), &m); err != nil || len(m.Friends) != 20 {
		t.Errorf("%v", err)
	}
}

func TestEditKeepsOrRefuses(t *testing.T) {
	c := codecOf[Monster](t, flatbuf.Identifier("MONS"))
	msg, err := c.Marshal(&Monster{Name: "before", HP: 7, Friends: []*Monster{{Name: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	msg, err = c.Edit(msg, func(m *Monster) error {
		m.Name = "after, and longer"
		m.Friends = append(m.Friends, &Monster{Name: "b"})
		return nil
	})
	var got Monster
	if err != nil || !flatbuf.BufferHasIdentifier(msg, "MONS") || c.Unmarshal(msg, &got) != nil || got.Name != "after, and longer" || got.HP != 7 || len(got.Friends) != 2 {
		t.Errorf("%v %+v", err, got)
	}
	stop := errors.New("stop")
	if _, err := c.Edit(msg, func(*Monster) error { return stop }); err != stop {
		t.Errorf("%v", err)
	}
	newer := messageOf(&monster{name: "x", friends: []*monster{{name: "y", wide: []uint16{1}}}}, true)
	_, err = codecOf[Monster](t).Edit(newer, func(*Monster) error { return nil })
	if f, ok := err.(*diag.Fault); !ok || f.Code != diag.UnknownField || f.Path() != "friends[0]" {
		t.Errorf("%v", err)
	}
}

// A byte of 2 is true, and becomes Go's true.
func TestBoolsAreNormal(t *testing.T) {
	type bools struct {
		A bool                `flatbuf:"a"`
		B *bool               `flatbuf:"b"`
		C []bool              `flatbuf:"c"`
		D struct{ X [2]bool } `flatbuf:"d,struct"`
	}
	var b flatbuf.Builder
	vector := b.CreateByteVector([]byte{2, 0, 2})
	b.StartObject(4)
	b.PrependByteSlot(0, 2, 0)
	b.PrependByteSlot(1, 2, 0)
	b.PrependUOffsetTSlot(2, vector, 0)
	b.PrependUint16(0x0202)
	b.PrependStructSlot(3, b.Offset(), 0)
	b.Finish(b.EndObject())
	var v bools
	if err := codecOf[bools](t).Unmarshal(b.FinishedBytes(), &v); err != nil {
		t.Fatal(err)
	}
	for i, p := range []*bool{&v.A, v.B, &v.C[0], &v.C[2], &v.D.X[0], &v.D.X[1]} {
		if got := mem.U8(mem.Of(p)); got != 1 {
			t.Errorf("bool %d is held as %d", i, got)
		}
	}
}

// A message that is to stand in another one says at multiples of what.
func TestMarshalledMessagesSayTheirAlignment(t *testing.T) {
	type wide struct {
		Text string `flatbuf:"text"`
		Far  int64  `flatbuf:"far"`
	}
	c := codecOf[wide](t)
	b := flatbuf.NewBuilder(0)
	for i, v := range []wide{{"a", 1}, {"a", 1}, {"", 1}, {"a", 0}} { // the first ones have all fields, and the second memory
		if err := c.MarshalTo(b, &v); err != nil {
			t.Fatal(err)
		}
		if b.Align() != 8 {
			t.Errorf("message %d: aligned to %d", i, b.Align())
		}
	}
}
