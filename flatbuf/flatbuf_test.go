package flatbuf_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/flatbuf/flexbuf"
	"github.com/thrum-rpc/thrum/internal/conform/guard"
)

func monsterVerifier(t testing.TB, opts ...flatbuf.VerifyOption) *flatbuf.Verifier {
	t.Helper()
	v, err := flatbuf.NewVerifier(&monsterLayout, 0, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWhatIsBuiltIsVerifiedAndReadBack(t *testing.T) {
	v := monsterVerifier(t)
	r := rand.New(rand.NewPCG(1, 2))
	var b flatbuf.Builder // one for all: nothing of a message may reach the next
	for i := range 3000 {
		want := randomMonster(r, r.IntN(60))
		fast := i%2 == 0
		b.Reset()
		b.Finish(buildMonster(&b, want, fast))
		msg := b.FinishedBytes()
		if err := v.Verify(msg); err != nil {
			t.Fatalf("fast %v: %v\n%x", fast, err, msg)
		}
		read := reader{budget: 1 << 20}
		if got := read.message(msg); !reflect.DeepEqual(got, want) || read.broken > 0 {
			t.Fatalf("fast %v, %d broken:\n got %+v\nwant %+v", fast, read.broken, got, want)
		}
		if again := messageOf(want, fast); !bytes.Equal(again, msg) {
			t.Fatalf("fast %v: a used builder writes\n%x, a new one\n%x", fast, msg, again)
		}
	}
}

// mutate changes some bytes of b, mostly such as matter: offsets, lengths,
// vtables.
func mutate(r *rand.Rand, b []byte) {
	for range 1 + r.IntN(4) {
		at := r.IntN(len(b))
		switch r.IntN(5) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.Uint32())
		case 2:
			b[at&^3] += byte(4 * (r.IntN(16) - 8))
		case 3:
			copy(b[at:], []byte{0xff, 0xff, 0xff, 0xff}[:1+r.IntN(4)])
		case 4:
			from := r.IntN(len(b))
			copy(b[at:], b[from:min(from+4, len(b))])
		}
	}
}

func TestVerifiedMessagesAreReadWithoutLoss(t *testing.T) {
	edge := guard.New(t, 1<<16)
	v := monsterVerifier(t)
	r := rand.New(rand.NewPCG(3, 4))
	accepted := 0
	const rounds = 20000
	for i := range rounds {
		msg := messageOf(randomMonster(r, r.IntN(30)), i%2 == 0)
		mutate(r, msg)
		if r.IntN(4) == 0 {
			msg = msg[:r.IntN(len(msg))]
		}
		msg = edge.Put(msg)
		err := v.Verify(msg)
		read := reader{budget: 1 << 12}
		read.message(msg) // must not panic, verified or not
		if err == nil {
			accepted++
			if read.broken > 0 {
				t.Fatalf("verified, and %d parts broken: %x", read.broken, msg)
			}
		} else if diag.CodeOf(err) == 0 {
			t.Fatalf("not a fault: %v", err)
		}
	}
	if accepted < rounds/20 || accepted > rounds*19/20 {
		t.Errorf("%d of %d mutants accepted: the mutation shows nothing", accepted, rounds)
	}
}

// FuzzVerify holds for any bytes that what is verified is read without loss,
// and that nothing panics, in accessors or in Unmarshal.
func FuzzVerify(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 20 {
		f.Add(messageOf(randomMonster(r, 5*i), i%2 == 0))
	}
	v, err := flatbuf.NewVerifier(&monsterLayout, 0)
	if err != nil {
		f.Fatal(err)
	}
	trusting := codecOf[Monster](f, flatbuf.Verified())
	edge := guard.New(f, 1<<16)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			t.Skip()
		}
		b = edge.Put(b)
		read := reader{budget: 1 << 12}
		read.message(b)
		var m Monster
		_ = trusting.Unmarshal(b, &m)
		if v.Verify(b) == nil && read.broken > 0 {
			t.Fatalf("verified, and %d parts broken", read.broken)
		}
	})
}

func TestFaultsSayWhereAndWhat(t *testing.T) {
	v := monsterVerifier(t)
	m := &monster{name: "a", mana: defaultMana, friends: []*monster{
		{name: "b", mana: defaultMana},
		{name: "c", mana: defaultMana, anys: []anyValue{{}, {monster: &monster{name: "the last one", mana: defaultMana}}}},
	}}
	msg := messageOf(m, false)
	if err := v.Verify(msg); err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(msg, []byte("the last one"))
	msg[at+12] = 'x'
	err := v.Verify(msg)
	f, ok := err.(*diag.Fault)
	if !ok || f.Path() != "friends[1].anys[1].monster.name" || f.Code != diag.InvalidData || f.Offset != at-4 {
		t.Errorf("%v", err)
	}
	nested := messageOf(&monster{name: "outer", nested: m}, false)
	at = bytes.Index(nested, []byte("the last one"))
	nested[at+12] = 'x'
	err = v.Verify(nested)
	if f, ok = err.(*diag.Fault); !ok || f.Path() != "nested.friends[1].anys[1].monster.name" || f.Offset != at-4 {
		t.Errorf("%v", err)
	}
	if err := monsterVerifier(t, flatbuf.SkipNested()).Verify(nested); err != nil {
		t.Errorf("nested skipped: %v", err)
	}
}

func TestLimits(t *testing.T) {
	chain := func(n int, link func(outer, inner *monster)) []byte {
		m := &monster{name: "end"}
		for range n - 1 {
			outer := &monster{name: "x"}
			link(outer, m)
			m = outer
		}
		return messageOf(m, true)
	}
	enemies := func(outer, inner *monster) { outer.enemy = inner }
	nesting := func(outer, inner *monster) { outer.nested = inner }
	rows := &monster{name: "rows"}
	for range 9 {
		rows.friends = append(rows.friends, &monster{name: "row"})
		rows.tags = append(rows.tags, "tag")
	}
	for _, c := range []struct {
		what string
		msg  []byte
		opts []flatbuf.VerifyOption
		code diag.Code
	}{
		{"64 tables deep", chain(64, enemies), nil, 0},
		{"65 tables deep", chain(65, enemies), nil, diag.DepthLimit},
		{"3 tables deep, 2 allowed", chain(3, enemies), []flatbuf.VerifyOption{flatbuf.MaxDepth(2)}, diag.DepthLimit},
		{"64 buffers in one", chain(65, nesting), nil, 0},
		{"65 buffers in one", chain(66, nesting), nil, diag.DepthLimit},
		{"10 tables", messageOf(rows, true), []flatbuf.VerifyOption{flatbuf.MaxTables(10)}, 0},
		{"10 tables, 9 allowed", messageOf(rows, true), []flatbuf.VerifyOption{flatbuf.MaxTables(9)}, diag.SizeLimit},
		{"10 tables and 9 strings", messageOf(rows, true), []flatbuf.VerifyOption{flatbuf.MaxVisits(19)}, 0},
		{"10 tables and 9 strings, 18 allowed", messageOf(rows, true), []flatbuf.VerifyOption{flatbuf.MaxVisits(18)}, diag.SizeLimit},
		{"as large as allowed", messageOf(rows, true), []flatbuf.VerifyOption{flatbuf.MaxBytes(len(messageOf(rows, true)))}, 0},
		{"a byte larger", messageOf(rows, true), []flatbuf.VerifyOption{flatbuf.MaxBytes(len(messageOf(rows, true)) - 1)}, diag.SizeLimit},
		{"no identifier", chain(1, nesting), []flatbuf.VerifyOption{flatbuf.FileIdentifier("MONS")}, diag.InvalidHeader},
		{"a required field absent", func() []byte {
			var b flatbuf.Builder
			b.StartObject(monsterSlots)
			b.PrependInt64Slot(slotHP, 7, 0)
			b.Finish(b.EndObject())
			return b.FinishedBytes()
		}(), nil, diag.MissingRequired},
	} {
		err := monsterVerifier(t, c.opts...).Verify(c.msg)
		if diag.CodeOf(err) != c.code {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// A message of a few kilobytes whose tables all refer to the same tables, level
// by level, has more paths than anybody can follow.
func TestSharedPartsDoNotMultiplyWork(t *testing.T) {
	var b flatbuf.Builder
	name := b.CreateString("x")
	b.StartObject(monsterSlots)
	b.PrependUOffsetTSlot(slotName, name, 0)
	at := b.EndObject()
	for range 20 {
		row := make([]flatbuf.UOffsetT, 100)
		for i := range row {
			row[i] = at
		}
		rows := b.CreateVectorOfTables(row)
		b.StartObject(monsterSlots)
		b.PrependUOffsetTSlot(slotName, name, 0)
		b.PrependUOffsetTSlot(slotFriends, rows, 0)
		at = b.EndObject()
	}
	b.Finish(at)
	if err := monsterVerifier(t).Verify(b.FinishedBytes()); diag.CodeOf(err) != diag.SizeLimit {
		t.Errorf("%v", err)
	}
}

func TestHeadersOfMessages(t *testing.T) {
	m := &monster{name: "x", mana: defaultMana, hp: 7}
	var b flatbuf.Builder
	v := monsterVerifier(t, flatbuf.FileIdentifier("MONS"))
	read := reader{budget: 100}

	b.FinishWithFileIdentifier(buildMonster(&b, m, true), []byte("MONS"))
	msg := b.FinishedBytes()
	if !flatbuf.BufferHasIdentifier(msg, "MONS") || v.Verify(msg) != nil || !reflect.DeepEqual(read.message(msg), m) {
		t.Errorf("with identifier: %x %v", msg, v.Verify(msg))
	}
	b.Reset()
	b.FinishSizePrefixedWithFileIdentifier(buildMonster(&b, m, false), []byte("MONS"))
	msg = b.FinishedBytes()
	if !flatbuf.SizePrefixedBufferHasIdentifier(msg, "MONS") || v.VerifySizePrefixed(msg) != nil ||
		int(flatbuf.GetSizePrefix(msg, 0)) != len(msg)-4 || len(msg)%8 != 0 {
		t.Errorf("with identifier and size: %x %v", msg, v.VerifySizePrefixed(msg))
	}
	if got := read.monster(&flatbuf.Table{Bytes: msg, Pos: flatbuf.GetIndirectOffset(msg, 4)}); !reflect.DeepEqual(got, m) {
		t.Errorf("%+v", got)
	}
	b.Reset()
	b.FinishSizePrefixed(buildMonster(&b, m, false))
	if msg = b.FinishedBytes(); diag.CodeOf(v.VerifySizePrefixed(msg)) != diag.InvalidHeader || monsterVerifier(t).VerifySizePrefixed(msg) != nil {
		t.Errorf("with size: %x", msg)
	}
	var wide flatbuf.Builder
	wide.FinishSizePrefixed64WithFileIdentifier(buildMonster(&wide, m, false), []byte("MONS"))
	long := wide.FinishedBytes()
	if !flatbuf.SizePrefixed64BufferHasIdentifier(long, "MONS") || v.VerifySizePrefixed64(long) != nil || flatbuf.GetUint64(long) != uint64(len(long)-8) ||
		len(long)%8 != 0 || diag.CodeOf(v.VerifySizePrefixed64(long[:len(long)-1])) != diag.UnexpectedEOF {
		t.Errorf("with a size of 64 bits: %x %v", long, v.VerifySizePrefixed64(long))
	}
	if got := read.monster(&flatbuf.Table{Bytes: long, Pos: flatbuf.GetIndirectOffset(long, 8)}); !reflect.DeepEqual(got, m) {
		t.Errorf("%+v", got)
	}
	if err := v.VerifySizePrefixed(msg[:len(msg)-1]); diag.CodeOf(err) != diag.UnexpectedEOF {
		t.Errorf("cut: %v", err)
	}
}

func TestFlexBuffersInFieldsAreVerified(t *testing.T) {
	l := flatbuf.Layout{Tables: []flatbuf.TableLayout{{Name: "T", Fields: []flatbuf.FieldLayout{{Name: "flex", Slot: 0, Kind: flatbuf.FlexField}}}}}
	v, err := flatbuf.NewVerifier(&l, 0)
	if err != nil {
		t.Fatal(err)
	}
	var flex flexbuf.Builder
	if err := flex.Append([]any{"a text", 1}); err != nil {
		t.Fatal(err)
	}
	var b flatbuf.Builder
	bytes := b.CreateByteVector(flex.Finish())
	b.StartObject(1)
	b.PrependUOffsetTSlot(0, bytes, 0)
	b.Finish(b.EndObject())
	msg := b.FinishedBytes()
	if err := v.Verify(msg); err != nil {
		t.Error(err)
	}
	at := strings.Index(string(msg), "a text")
	msg[at-1] = 200
	if f, ok := v.Verify(msg).(*diag.Fault); !ok || f.Path() != "flex[0]" || f.Offset != at {
		t.Errorf("%v, want offset %d", f, at)
	}
}

func TestLayoutsThatContradictThemselvesAreRefused(t *testing.T) {
	for _, f := range []flatbuf.FieldLayout{
		{},
		{Kind: flatbuf.FlexField + 1},
		{Kind: flatbuf.ScalarField, Size: 4},
		{Kind: flatbuf.ScalarField, Size: 4, Align: 3},
		{Kind: flatbuf.ScalarField, Size: 4, Align: 64},
		{Kind: flatbuf.ScalarVector, Align: 4},
		{Kind: flatbuf.TableField, Ref: 1},
		{Kind: flatbuf.TableVector, Ref: -1},
		{Kind: flatbuf.UnionField, Slot: 1, Size: 1, Ref: 0},
		{Kind: flatbuf.TableField, Offset64: true},
		{Kind: flatbuf.StringField, Slot: 1<<16 - 1},
	} {
		l := flatbuf.Layout{Tables: []flatbuf.TableLayout{{Name: "T", Fields: []flatbuf.FieldLayout{f}}}}
		if _, err := flatbuf.NewVerifier(&l, 0); err == nil {
			t.Errorf("%+v: accepted", f)
		}
	}
	if _, err := flatbuf.NewVerifier(&flatbuf.Layout{}, 0); err == nil {
		t.Error("a root that does not exist: accepted")
	}
	if _, err := flatbuf.NewVerifier(&monsterLayout, 0, flatbuf.FileIdentifier("abc")); err == nil {
		t.Error("an identifier of three bytes: accepted")
	}
}

func TestScalarsAreRefusedByName(t *testing.T) {
	layout := &flatbuf.Layout{Tables: []flatbuf.TableLayout{{Name: "Point", Fields: []flatbuf.FieldLayout{
		{Name: "x", Kind: flatbuf.ScalarField, Slot: 0, Size: 8, Align: 8},
		{Name: "y", Kind: flatbuf.ScalarField, Slot: 1, Size: 8, Align: 8},
		{Name: "place", Kind: flatbuf.ScalarField, Slot: 2, Size: 4, Align: 4, Required: true},
	}}}}
	strict, err := flatbuf.NewVerifier(layout, 0)
	if err != nil {
		t.Fatal(err)
	}
	loose := strict.With(flatbuf.AllowUnaligned())
	build := func(place int32) (b []byte, slots int) {
		var builder flatbuf.Builder
		builder.StartObject(3)
		builder.PrependInt64Slot(0, 1, 0)
		builder.PrependInt64Slot(1, 2, 0)
		builder.PrependInt32Slot(2, place, 0)
		builder.Finish(builder.EndObject())
		b = builder.FinishedBytes()
		pos := flatbuf.GetIndirectOffset(b, 0)
		return b, int(pos) - int(flatbuf.GetSOffsetT(b[pos:])) + 4
	}
	if b, _ := build(3); strict.Verify(b) != nil || loose.Verify(b) != nil {
		t.Error("a whole message was refused")
	}
	b, slots := build(3)
	b[slots+2] -= 4 // y, to where eight bytes are, but not aligned
	wantRefusal(t, strict.Verify(b), diag.InvalidData, "y")
	if err := loose.Verify(b); err != nil {
		t.Errorf("not aligned, which is allowed: %v", err)
	}
	b, slots = build(3)
	b[slots] = 200 // x, beyond the end
	wantRefusal(t, strict.Verify(b), diag.UnexpectedEOF, "x")
	wantRefusal(t, loose.Verify(b), diag.UnexpectedEOF, "x")
	b, _ = build(0)
	wantRefusal(t, strict.Verify(b), diag.MissingRequired, "place")
}

func wantRefusal(t *testing.T, err error, code diag.Code, field string) {
	t.Helper()
	if diag.CodeOf(err) != code || !strings.Contains(err.Error(), field) {
		t.Errorf("got %v, want %v of %s", err, code, field)
	}
}
