package flatbuf_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/flatbuf"
)

func TestBuildersThatAreReusedDoNotAllocate(t *testing.T) {
	parts := make([]flatbuf.UOffsetT, 0, 20)
	build := func(b *flatbuf.Builder) {
		b.Reset()
		parts = parts[:0]
		for i := range 20 {
			name := b.CreateSharedString("name"[:i%4])
			b.StartObject(24)
			b.PrependUOffsetTSlot(0, name, 0)
			b.PrependInt64Slot(i+1, 1, 0) // twenty vtables
			parts = append(parts, b.EndObject())
		}
		rows := b.CreateVectorOfTables(parts)
		numbers := flatbuf.CreateScalarVector(b, []int32{1, 2, 3})
		table, vtable := b.StartTable(3, 12, 4)
		at := flatbuf.PutUint32(table, vtable, 0, 4, uint32(rows))
		at = flatbuf.PutUint32(table, vtable, 1, at, uint32(numbers))
		b.Finish(b.EndTable(table, vtable, 4, at, 4, at))
	}
	var b flatbuf.Builder
	build(&b)
	want := bytes.Clone(b.FinishedBytes())
	if n := allocations(func() { build(&b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if !bytes.Equal(b.FinishedBytes(), want) {
		t.Error("a used builder writes another message")
	}
}

func TestDetachedMessagesAreNotTouchedAgain(t *testing.T) {
	var b flatbuf.Builder
	var sent, kept [][]byte
	for i := range 5 {
		b.Finish(buildMonster(&b, &monster{name: strings.Repeat("x", i), mana: defaultMana}, true))
		kept = append(kept, bytes.Clone(b.FinishedBytes()))
		sent = append(sent, b.Detach())
	}
	for i := range sent {
		if !bytes.Equal(sent[i], kept[i]) {
			t.Errorf("message %d changed", i)
		}
	}
	memory := make([]byte, 256)
	b.ResetTo(memory)
	b.Finish(buildMonster(&b, &monster{name: "y", mana: defaultMana}, true))
	if msg := b.FinishedBytes(); &msg[len(msg)-1] != &memory[255] {
		t.Error("the memory that was given is not used")
	}
}

func TestMessagesThatGrow(t *testing.T) {
	v := monsterVerifier(t)
	for _, size := range []int{0, 1, 31, 32, 33, 500, 5000, 100_000} {
		for _, initial := range []int{0, 1, 40, 100_000} {
			m := &monster{name: strings.Repeat("n", size), mana: defaultMana, inventory: bytes.Repeat([]byte{7}, size)}
			b := flatbuf.NewBuilder(initial)
			b.Finish(buildMonster(b, m, size%2 == 0))
			if err := v.Verify(b.FinishedBytes()); err != nil {
				t.Errorf("%d bytes from %d: %v", size, initial, err)
			}
		}
	}
}

// Each of 300 tables has another field, and then all come again.
func TestEqualVtablesAreWrittenOnce(t *testing.T) {
	sizes := map[bool]int{}
	for _, again := range []bool{false, true} {
		var b flatbuf.Builder
		for range 1 + map[bool]int{true: 1}[again] {
			for i := range 300 {
				table, vtable := b.StartTable(300, 4, 4)
				b.EndTable(table, vtable, 4, flatbuf.PutUint32(table, vtable, i, 4, 1), 4, 4)
			}
		}
		sizes[again] = int(b.Offset())
	}
	if grown := sizes[true] - sizes[false]; grown != 300*8 {
		t.Errorf("300 tables of 8 bytes took %d more", grown)
	}
}

func TestVectorsOfNumbersAreLittleEndian(t *testing.T) {
	var b flatbuf.Builder
	b.Finish(flatbuf.CreateScalarVector(&b, []uint32{0x01020304, 5}))
	if want := []byte{4, 0, 0, 0, 2, 0, 0, 0, 4, 3, 2, 1, 5, 0, 0, 0}; !bytes.Equal(b.FinishedBytes(), want) {
		t.Errorf("%x", b.FinishedBytes())
	}
	b.Reset()
	b.Finish(flatbuf.CreateScalarVector(&b, []bool{true, false, true}))
	if want := []byte{4, 0, 0, 0, 3, 0, 0, 0, 1, 0, 1, 0}; !bytes.Equal(b.FinishedBytes(), want) {
		t.Errorf("%x", b.FinishedBytes())
	}
}

func TestSearchFindsEveryKeyOfASortedVector(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for n := range 40 {
		var b flatbuf.Builder
		var keys []int32
		var tables []flatbuf.UOffsetT
		for i := range n {
			key := int32(i*2) - 20
			keys = append(keys, key)
			b.StartObject(1)
			b.PrependInt32Slot(0, key, 0)
			tables = append(tables, b.EndObject())
		}
		r.Shuffle(n, func(i, j int) { tables[i], tables[j] = tables[j], tables[i] })
		keyOf := func(buf []byte, pos flatbuf.UOffsetT) int32 {
			t := flatbuf.Table{Bytes: buf, Pos: pos}
			return t.GetInt32Slot(4, 0)
		}
		sorted := b.CreateVectorOfSortedTables(tables, func(x, y flatbuf.UOffsetT, buf []byte) bool {
			end := flatbuf.UOffsetT(len(buf))
			return keyOf(buf, end-x) < keyOf(buf, end-y)
		})
		numbers := flatbuf.CreateScalarVector(&b, keys)
		b.Finish(sorted)
		buf := b.FinishedBytes()
		end := flatbuf.UOffsetT(len(buf))
		for key := int32(-22); key < int32(2*n)-18; key++ {
			pos, ok := flatbuf.Search(buf, end-sorted+4, 0, func(pos flatbuf.UOffsetT) int { return int(keyOf(buf, pos) - key) })
			if want := slices.Contains(keys, key); ok != want || ok && keyOf(buf, pos) != key {
				t.Fatalf("%d of %v: %v at %d", key, keys, ok, pos)
			}
			pos, ok = flatbuf.Search(buf, end-numbers+4, 4, func(pos flatbuf.UOffsetT) int { return int(flatbuf.GetInt32(buf[pos:]) - key) })
			if want := slices.Contains(keys, key); ok != want || ok && flatbuf.GetInt32(buf[pos:]) != key {
				t.Fatalf("%d of %v: %v at %d", key, keys, ok, pos)
			}
		}
	}
	for _, vector := range []flatbuf.UOffsetT{0, 3, 4, 100, 1<<32 - 1} {
		flatbuf.Search([]byte{9, 9, 9, 9, 9, 9, 9, 9, 9}, vector, 0, func(flatbuf.UOffsetT) int { return 1 })
	}
}

func TestFieldsAreChangedInPlace(t *testing.T) {
	msg := messageOf(&monster{name: "x", mana: 3, hp: 5, flag: true}, true)
	m := flatbuf.Table{Bytes: msg, Pos: flatbuf.GetIndirectOffset(msg, 0)}
	if !m.MutateInt16Slot(4+2*slotMana, -3) || !m.MutateInt64Slot(4+2*slotHP, 1<<40) || !m.MutateBoolSlot(4+2*slotFlag, false) || m.MutateByteSlot(4+2*slotTestType, 1) {
		t.Error("a field that is there was not changed, or one that is not was")
	}
	read := reader{budget: 9}
	if got := read.message(msg); got.mana != -3 || got.hp != 1<<40 || got.flag || got.name != "x" {
		t.Errorf("%+v", got)
	}
	if m.MutateUint64(flatbuf.UOffsetT(len(msg)-7), 1) || m.MutateUint8(flatbuf.UOffsetT(len(msg)), 1) {
		t.Error("changed something outside")
	}
}

func TestMisusePanics(t *testing.T) {
	for what, f := range map[string]func(b *flatbuf.Builder){
		"a string inside a table":         func(b *flatbuf.Builder) { b.StartObject(1); b.CreateString("x") },
		"a table inside a table":          func(b *flatbuf.Builder) { b.StartObject(1); b.StartTable(1, 4, 4) },
		"a full table inside a table":     func(b *flatbuf.Builder) { b.StartObject(1); b.StartFullTable(rowShape(0)) },
		"an end without a start":          func(b *flatbuf.Builder) { b.EndObject() },
		"an offset of nothing":            func(b *flatbuf.Builder) { b.PrependUOffsetT(1000) },
		"bytes before the end":            func(b *flatbuf.Builder) { b.FinishedBytes() },
		"an identifier of three bytes":    func(b *flatbuf.Builder) { b.FinishWithFileIdentifier(0, []byte("abc")) },
		"a struct that is not the latest": func(b *flatbuf.Builder) { b.StartObject(1); b.PrependStructSlot(0, 4, 0) },
		"a vector of more than 2 GiB":     func(b *flatbuf.Builder) { b.StartVector(8, 1<<30, 8) },
		"a table of more than 64 KiB": func(b *flatbuf.Builder) {
			t, vt := b.StartTable(1, 1<<17, 4)
			b.EndTable(t, vt, 4, 1<<17, 4, 4)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			f(&flatbuf.Builder{})
		}()
	}
}

func TestPoolLearnsHowLargeMessagesAre(t *testing.T) {
	p := flatbuf.Pool{MaxSize: 1 << 16}
	big := &monster{name: strings.Repeat("x", 20_000)}
	b := p.Get()
	b.Finish(buildMonster(b, big, true))
	p.Put(b)
	p.Put(nil)
	second := p.Get()
	if second == b {
		second = p.Get() // one that starts with what was learnt
	}
	second.CreateString("x")
	if len(second.Bytes) < 20_000 {
		t.Errorf("memory of %d bytes", len(second.Bytes))
	}
	huge := p.Get()
	huge.Finish(buildMonster(huge, &monster{name: strings.Repeat("x", 1<<17)}, true))
	p.Put(huge)
	if len(huge.Bytes) != 0 {
		t.Errorf("%d bytes are kept, limit %d", len(huge.Bytes), p.MaxSize)
	}
}

func TestPoolServesGoroutines(t *testing.T) {
	var p flatbuf.Pool
	v := monsterVerifier(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 9))
			for range 200 {
				b := p.Get()
				b.Finish(buildMonster(b, randomMonster(r, 10), true))
				if err := v.Verify(b.FinishedBytes()); err != nil {
					t.Error(err)
				}
				p.Put(b)
			}
		})
	}
	wg.Wait()
}
