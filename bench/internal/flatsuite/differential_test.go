package flatsuite

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	google "github.com/google/flatbuffers/go"
	"github.com/thrum-rpc/thrum/flatbuf"
)

// builder is what both builders have, with one type of offsets.
type builder[O ~uint32] interface {
	Reset()
	CreateString(string) O
	CreateSharedString(string) O
	CreateByteString([]byte) O
	CreateByteVector([]byte) O
	CreateVectorOfTables([]O) O
	StartVector(size, n, alignment int) O
	EndVector(int) O
	StartObject(int)
	EndObject() O
	Prep(size, additional int)
	Pad(int)
	Offset() O
	PrependBool(bool)
	PrependInt8(int8)
	PrependUint16(uint16)
	PrependInt32(int32)
	PrependFloat32(float32)
	PrependFloat64(float64)
	PrependUint64(uint64)
	PrependUOffsetT(O)
	PrependBoolSlot(o int, x, d bool)
	PrependByteSlot(o int, x, d byte)
	PrependInt16Slot(o int, x, d int16)
	PrependInt32Slot(o int, x, d int32)
	PrependUint32Slot(o int, x, d uint32)
	PrependInt64Slot(o int, x, d int64)
	PrependFloat32Slot(o int, x, d float32)
	PrependFloat64Slot(o int, x, d float64)
	PrependUOffsetTSlot(o int, x, d O)
	PrependStructSlot(o int, x, d O)
	Finish(O)
	FinishWithFileIdentifier(O, []byte)
	FinishSizePrefixed(O)
	FinishSizePrefixedWithFileIdentifier(O, []byte)
	FinishedBytes() []byte
}

// build makes a message of calls that r draws: the same ones for the same r.
func build[O ~uint32](b builder[O], r *rand.Rand) []byte {
	b.Reset()
	text := func() string { return strings.Repeat("some text ", 4)[:r.IntN(40)] }
	offs := []O{b.CreateString(text())}
	some := func() O { return offs[r.IntN(len(offs))] }
	for range r.IntN(30) {
		switch r.IntN(8) {
		case 0:
			offs = append(offs, b.CreateString(text()))
		case 1:
			offs = append(offs, b.CreateSharedString(text()))
		case 2:
			offs = append(offs, b.CreateByteVector([]byte(text())), b.CreateByteString([]byte(text())))
		case 3:
			row := make([]O, r.IntN(5))
			for i := range row {
				row[i] = some()
			}
			offs = append(offs, b.CreateVectorOfTables(row))
		case 4:
			offs = append(offs, vector(b, r))
		default:
			offs = append(offs, table(b, r, some))
		}
	}
	root := table(b, r, some)
	switch r.IntN(4) {
	case 0:
		b.Finish(root)
	case 1:
		b.FinishWithFileIdentifier(root, []byte("IDNT"))
	case 2:
		b.FinishSizePrefixed(root)
	default:
		b.FinishSizePrefixedWithFileIdentifier(root, []byte("IDNT"))
	}
	return b.FinishedBytes()
}

func vector[O ~uint32](b builder[O], r *rand.Rand) O {
	n := r.IntN(6)
	kind := r.IntN(4)
	size := 1 << kind
	b.StartVector(size, n, size)
	for range n {
		switch kind {
		case 0:
			b.PrependInt8(int8(r.Uint32()))
		case 1:
			b.PrependUint16(uint16(r.Uint32()))
		case 2:
			b.PrependFloat32(r.Float32())
		case 3:
			b.PrependUint64(r.Uint64())
		}
	}
	return b.EndVector(n)
}

func table[O ~uint32](b builder[O], r *rand.Rand, some func() O) O {
	slots := 1 + r.IntN(12)
	// Google's builder shares vtables of tables of different sizes, as C++'s does
	// not and neither do we. Those here differ in size only if their vtables do.
	b.Prep(8, 0)
	b.StartObject(slots)
	small := func() uint32 { return r.Uint32N(3) } // 0 is the default
	for _, o := range r.Perm(slots)[:r.IntN(slots+1)] {
		switch o % 10 {
		case 0:
			b.PrependBoolSlot(o, small() > 0, false)
		case 1:
			b.PrependByteSlot(o, byte(small()), 0)
		case 2:
			b.PrependInt16Slot(o, int16(small()), 0)
		case 3:
			b.PrependInt32Slot(o, int32(small()), 0)
		case 4:
			b.PrependUint32Slot(o, small(), 0)
		case 5:
			b.PrependInt64Slot(o, int64(small()), 0)
		case 6:
			b.PrependFloat32Slot(o, float32(small()), 0)
		case 7:
			b.PrependFloat64Slot(o, float64(small()), 0)
		case 8:
			b.Prep(8, 24)
			b.Pad(4)
			b.PrependInt32(int32(r.Uint32()))
			b.PrependFloat64(r.Float64())
			b.Pad(7)
			b.PrependBool(true)
			b.PrependStructSlot(o, b.Offset(), 0)
		case 9:
			b.PrependUOffsetTSlot(o, some(), 0)
		}
	}
	return b.EndObject()
}

// The same calls make the same bytes, in new builders and used ones.
func TestBuildersWriteTheBytesOfGoogle(t *testing.T) {
	used := new(flatbuf.Builder)
	theirs := google.NewBuilder(0)
	for seed := range uint64(3_000) {
		draw := func() *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
		want := build[google.UOffsetT](theirs, draw())
		if got := build[flatbuf.UOffsetT](used, draw()); !bytes.Equal(got, want) {
			t.Fatalf("seed %d:\n got %x\nwant %x", seed, got, want)
		}
		if got := build[flatbuf.UOffsetT](flatbuf.NewBuilder(int(seed%50)), draw()); !bytes.Equal(got, want) {
			t.Fatalf("seed %d, a new builder:\n got %x\nwant %x", seed, got, want)
		}
	}
}

// Where Google's accessors find something, ours find the same; where they
// panic, ours do not.
func TestAccessorsReadWhatGoogleReads(t *testing.T) {
	panics := 0
	for seed := range uint64(2_500) {
		r := rand.New(rand.NewPCG(seed, 2))
		msg := slices.Clip(bytes.Clone(build[google.UOffsetT](google.NewBuilder(0), r))) // Google's reads up to the capacity
		for range r.IntN(3) {                                                            // some are broken
			msg[r.IntN(len(msg))] = byte(r.Uint32())
		}
		ours := flatbuf.Table{Bytes: msg, Pos: flatbuf.GetIndirectOffset(msg, 0)}
		theirs := google.Table{Bytes: msg, Pos: google.UOffsetT(ours.Pos)}
		for slot := 4; slot < 30; slot += 2 {
			got := readSlot(&ours, flatbuf.VOffsetT(slot))
			want, ok := readSlotGoogle(&theirs, google.VOffsetT(slot))
			if !ok {
				panics++
			} else if !bytes.Equal(got, want) {
				t.Fatalf("seed %d slot %d: got %x, want %x of %x", seed, slot, got, want, msg)
			}
		}
	}
	if panics == 0 {
		t.Error("Google's accessors never panicked: the test breaks nothing")
	}
}

// readSlot reads a slot in every way and returns what was read.
func readSlot(t *flatbuf.Table, slot flatbuf.VOffsetT) []byte {
	var b flatbuf.Builder
	b.PrependUint64(t.GetUint64Slot(slot, 7))
	b.PrependFloat32(t.GetFloat32Slot(slot, 7))
	b.PrependInt16(t.GetInt16Slot(slot, 7))
	b.PrependBool(t.GetBoolSlot(slot, true))
	if o := flatbuf.UOffsetT(t.Offset(slot)); o != 0 {
		b.PrependUint32(uint32(t.Vector(o)))
		b.PrependUint32(uint32(t.VectorLen(o)))
		b.PrependUint32(uint32(t.Indirect(o + t.Pos)))
		b.CreateByteVector(t.ByteVector(o + t.Pos))
	}
	return b.Bytes[b.Head():]
}

func readSlotGoogle(t *google.Table, slot google.VOffsetT) (read []byte, ok bool) {
	defer func() { ok = recover() == nil }()
	b := google.NewBuilder(0)
	b.PrependUint64(t.GetUint64Slot(slot, 7))
	b.PrependFloat32(t.GetFloat32Slot(slot, 7))
	b.PrependInt16(t.GetInt16Slot(slot, 7))
	b.PrependBool(t.GetBoolSlot(slot, true))
	if o := google.UOffsetT(t.Offset(slot)); o != 0 {
		b.PrependUint32(uint32(t.Vector(o)))
		b.PrependUint32(uint32(t.VectorLen(o)))
		b.PrependUint32(uint32(t.Indirect(o + t.Pos)))
		b.CreateByteVector(t.ByteVector(o + t.Pos))
	}
	return b.Bytes[b.Head():], true
}
