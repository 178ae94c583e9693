package flatbuf_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/conform/guard"
)

// A field that is read by its slot is what Offset and the getter of its type find, whatever the
// bytes are.
func TestSlotsAgreeWithOffsets(t *testing.T) {
	edge := guard.New(t, 1<<12)
	r := rand.New(rand.NewPCG(7, 8))
	present := 0
	for i := range 1000 {
		msg := messageOf(randomMonster(r, r.IntN(4)), i%2 == 0)
		mutate(r, msg)
		if r.IntN(2) == 0 {
			msg = msg[:r.IntN(len(msg))]
		}
		if len(msg) > 1<<12 {
			continue
		}
		msg = edge.Put(msg)
		table := &flatbuf.Table{Bytes: msg, Pos: flatbuf.GetIndirectOffset(msg, 0)}
		if r.IntN(4) == 0 {
			table.Pos = flatbuf.UOffsetT(r.IntN(len(msg) + 8))
		}
		for slot := flatbuf.VOffsetT(0); slot < 64; slot++ {
			off := table.Offset(slot)
			at := table.Pos + flatbuf.UOffsetT(off)
			if off != 0 {
				present++
			}
			agree(t, slot, off, table.GetBoolSlot(slot, true), true, table.GetBool(at))
			agree(t, slot, off, table.GetByteSlot(slot, 5), 5, table.GetByte(at))
			agree(t, slot, off, table.GetInt8Slot(slot, -5), -5, table.GetInt8(at))
			agree(t, slot, off, table.GetUint16Slot(slot, 6), 6, table.GetUint16(at))
			agree(t, slot, off, table.GetInt32Slot(slot, -7), -7, table.GetInt32(at))
			agree(t, slot, off, table.GetInt64Slot(slot, -8), -8, table.GetInt64(at))
			agree(t, slot, off, math.Float32bits(table.GetFloat32Slot(slot, 9)), math.Float32bits(9), math.Float32bits(table.GetFloat32(at)))
			agree(t, slot, off, math.Float64bits(table.GetFloat64Slot(slot, 9)), math.Float64bits(9), math.Float64bits(table.GetFloat64(at)))
		}
	}
	if present == 0 {
		t.Error("no field was present")
	}
}

func agree[T comparable](t *testing.T, slot, off flatbuf.VOffsetT, got, absent, there T) {
	t.Helper()
	want := there
	if off == 0 {
		want = absent
	}
	if got != want {
		t.Fatalf("slot %d at offset %d: got %v, want %v", slot, off, got, want)
	}
}
