package flatwire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/thrum-rpc/thrum/internal/conform/guard"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// bytesOf builds little-endian bytes of numbers by their width.
func bytesOf(values ...any) []byte {
	var b []byte
	for _, v := range values {
		if s, ok := v.(string); ok {
			b = append(b, s...)
			continue
		}
		b, _ = binary.Append(b, binary.LittleEndian, v)
	}
	return b
}

func TestLoadsReadLittleEndianAndNothingOutside(t *testing.T) {
	edge := guard.New(t, 64)
	b := edge.Put([]byte{0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0x01})
	if flatwire.U8(b, 8) != 1 || flatwire.I8(b, 0) != -15 || !flatwire.Bool(b, 8) ||
		flatwire.U16(b, 7) != 0x01f8 || flatwire.I16(b, 0) != -3343 ||
		flatwire.U32(b, 5) != 0x01f8f7f6 || flatwire.I32(b, 0) != int32(-0x0b0c0d0f) ||
		flatwire.U64(b, 1) != 0x01f8f7f6f5f4f3f2 || flatwire.I64(b, 0) != -0x070809_0a0b0c0d0f ||
		flatwire.F32(b, 5) != math.Float32frombits(0x01f8f7f6) || flatwire.F64(b, 1) != math.Float64frombits(0x01f8f7f6f5f4f3f2) {
		t.Error("a load is wrong")
	}
	for _, pos := range []int{9, 10, -1, math.MaxInt, math.MinInt} {
		if flatwire.U8(b, pos) != 0 || flatwire.U16(b, pos) != 0 || flatwire.U32(b, pos) != 0 || flatwire.U64(b, pos) != 0 {
			t.Errorf("read something at %d", pos)
		}
	}
	if flatwire.U16(b, 8) != 0 || flatwire.U32(b, 6) != 0 || flatwire.U64(b, 2) != 0 {
		t.Error("read what is cut")
	}
}

func TestPartsAreFoundWhereTheyLieInside(t *testing.T) {
	b := message
	if pos, size := flatwire.VTable(b, 12); pos != 4 || size != 8 {
		t.Errorf("vtable at %d with %d bytes", pos, size)
	}
	if got := flatwire.Field(b, 12, 1); got != 20 {
		t.Errorf("slot 1 at %d", got)
	}
	for _, slot := range []int{2, 1000, 1 << 20, -1, -3, math.MinInt} {
		if got := flatwire.Field(b, 12, slot); got != 0 {
			t.Errorf("slot %d at %d", slot, got)
		}
	}
	if start, n := flatwire.Vector(b, 24, 1); start != 28 || n != 2 {
		t.Errorf("vector at %d of %d", start, n)
	}
	for _, size := range []int{3, 0, -1, math.MaxInt} {
		if start, n := flatwire.Vector(b, 24, size); start != 0 || n != 0 {
			t.Errorf("elements of %d bytes: vector at %d of %d", size, start, n)
		}
	}
	if got := flatwire.Bytes(b, 24); cap(got) != 2 {
		t.Errorf("capacity %d", cap(got))
	}
	wide := bytesOf(uint64(12), uint32(0), uint64(3), "abc\x00")
	if pos := flatwire.Follow64(wide, 0); pos != 12 || string(flatwire.Bytes64(wide, pos)) != "abc" {
		t.Errorf("a 64-bit vector at %d: %q", pos, flatwire.Bytes64(wide, pos))
	}
	wide[8+4+7] = 0x80
	if got := flatwire.Bytes64(wide, 12); got != nil {
		t.Errorf("a vector of 2^63 elements: %q", got)
	}
}

func TestHeaders(t *testing.T) {
	b := bytesOf(uint32(8), "MONS", uint32(0))
	if !flatwire.HasIdentifier(b, 0, "MONS") || flatwire.HasIdentifier(b, 0, "") || flatwire.HasIdentifier(b[:7], 0, "MONS") || flatwire.HasIdentifier(b, -1, "MONS") {
		t.Error("identifier")
	}
	two := bytesOf(uint32(3), "abc", uint32(0), uint32(9), "cut")
	first, rest, ok := flatwire.CutPrefix(two)
	if !ok || !bytes.Equal(first, two[:7]) || len(rest) != 11 {
		t.Errorf("%q %q %v", first, rest, ok)
	}
	if first, rest, ok = flatwire.CutPrefix(rest); !ok || len(first) != 4 || len(rest) != 7 {
		t.Errorf("%q %q %v", first, rest, ok)
	}
	if _, rest, ok = flatwire.CutPrefix(rest); ok || len(rest) != 7 {
		t.Errorf("%q %v", rest, ok)
	}
}

func TestChecksFollowTheRulesOfC(t *testing.T) {
	check := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, flatwire.Error(got), flatwire.Error(want))
		}
	}
	b := message
	table, code := flatwire.CheckRoot(b, 0, "", true)
	check("root", code, 0)
	_, code = flatwire.CheckRoot(b[:11], 0, "", true)
	check("a short buffer", code, flatwire.ErrShort)
	_, code = flatwire.CheckRoot(b, 0, "MONS", true)
	check("another identifier", code, flatwire.ErrIdentifier)
	vtable, size, code := flatwire.CheckTable(b, table, true)
	check("table", code, 0)
	if vtable != 4 || size != 8 {
		t.Errorf("vtable at %d with %d bytes", vtable, size)
	}
	check("string", flatwire.CheckString(b, 24, true), 0)
	check("a string off its place", flatwire.CheckString(b, 23, true), flatwire.ErrAlign)
	check("a string without its zero", flatwire.CheckString(b[:30], 24, true), flatwire.ErrRange)
	check("a string with another byte", flatwire.CheckString(append(bytes.Clone(b[:30]), 'x'), 24, true), flatwire.ErrTerminator)
	_, code = flatwire.CheckVector(bytesOf(uint32(0), uint32(1<<30)), 4, 2, true)
	check("a vector that no buffer holds", code, flatwire.ErrLength)
	_, code = flatwire.CheckVector(bytesOf(uint32(0), uint32(2), "ab"), 4, 2, true)
	check("a vector that is cut", code, flatwire.ErrRange)

	for _, c := range []struct {
		what string
		b    []byte
		pos  int
		code int
	}{
		{"an offset of nothing", bytesOf(uint32(0), uint32(0)), 0, flatwire.ErrOffset},
		{"an offset beyond 31 bits", bytesOf(uint32(1<<31), uint32(0)), 0, flatwire.ErrOffset},
		{"an offset to the end", bytesOf(uint32(8), uint32(0)), 0, flatwire.ErrRange},
		{"an offset off its place", bytesOf(uint32(1), uint32(1)), 1, flatwire.ErrAlign},
		{"an offset that is cut", bytesOf(uint32(1), uint16(1)), 4, flatwire.ErrRange},
		{"a buffer of an offset alone", bytesOf(uint32(1)), 0, flatwire.ErrRange},
	} {
		_, code := flatwire.CheckOffset(c.b, c.pos, true)
		check(c.what, code, c.code)
	}
	for _, c := range []struct {
		what string
		b    []byte
		pos  int
		code int
	}{
		{"a vtable of odd size", bytesOf(uint16(5), uint16(4), uint16(0), uint16(0), int32(8)), 8, flatwire.ErrVTable},
		{"a vtable before the buffer", bytesOf(uint32(0), int32(8), uint32(0)), 4, flatwire.ErrRange},
		{"a vtable after the buffer", bytesOf(uint32(0), int32(-8), uint32(0)), 4, flatwire.ErrRange},
		{"a vtable that is cut", bytesOf(int32(-4), uint16(8), uint16(4)), 0, flatwire.ErrRange},
		{"a vtable off its place", bytesOf(int32(-5), uint64(0)), 0, flatwire.ErrAlign},
		{"a vtable after its table", bytesOf(uint32(4), int32(-4), uint16(4), uint16(4)), 4, 0},
	} {
		_, _, code := flatwire.CheckTable(c.b, c.pos, true)
		check(c.what, code, c.code)
	}
	check("a prefix", flatwire.CheckPrefix(bytesOf(uint32(1), uint8(0))), 0)
	check("a prefix of more", flatwire.CheckPrefix(bytesOf(uint32(2), uint8(0))), flatwire.ErrRange)
	check("a prefix of 64 bits", flatwire.CheckPrefix64(bytesOf(uint64(math.MaxUint64), uint8(0))), flatwire.ErrRange)
	if !errors.Is(flatwire.Error(flatwire.ErrAlign), flatwire.Error(flatwire.ErrAlign)) || flatwire.Error(0) != nil {
		t.Error("errors do not compare")
	}
}

// FuzzReading calls everything on any bytes at any position, at the edge of
// accessible memory: nothing panics, nothing reads outside, and what a check
// lets pass a read finds.
func FuzzReading(f *testing.F) {
	f.Add(message, 12, 1, 4)
	f.Add(bytesOf(uint64(12), uint32(0), uint64(3), "abc\x00"), 0, 0, 1)
	edge := guard.New(f, 1<<16)
	f.Fuzz(func(t *testing.T, b []byte, pos, slot, size int) {
		if len(b) > 1<<16 {
			t.Skip()
		}
		b = edge.Put(b)
		flatwire.U8(b, pos)
		flatwire.U16(b, pos)
		flatwire.U32(b, pos)
		flatwire.U64(b, pos)
		flatwire.Identifier(b, pos)
		flatwire.CutPrefix(b)
		for _, at := range []int{flatwire.Field(b, pos, slot), flatwire.Follow(b, pos), flatwire.Follow64(b, pos)} {
			if at < 0 || at != 0 && at >= len(b) {
				t.Fatalf("position %d of %d", at, len(b))
			}
		}
		flatwire.Vector(b, pos, size)
		flatwire.Vector64(b, pos, size)
		flatwire.Bytes64(b, pos)
		if pos < 0 || size <= 0 || size > 1<<20 { // checks are for positions and sizes that a schema or an offset gave
			return
		}
		for _, align := range []bool{true, false} {
			flatwire.CheckScalar(b, pos, size, 8, align)
			if to, code := flatwire.CheckOffset(b, pos, align); code == 0 && to != flatwire.Follow(b, pos) {
				t.Fatalf("checked offset leads to %d, read to %d", to, flatwire.Follow(b, pos))
			}
			if to, code := flatwire.CheckOffset64(b, pos, align); code == 0 && to != flatwire.Follow64(b, pos) {
				t.Fatalf("checked offset leads to %d, read to %d", to, flatwire.Follow64(b, pos))
			}
			if n, code := flatwire.CheckVector(b, pos, size, align); code == 0 {
				if start, m := flatwire.Vector(b, pos, size); start != pos+4 || m != n {
					t.Fatalf("checked vector of %d, read of %d", n, m)
				}
			}
			if n, code := flatwire.CheckVector64(b, pos, size, align); code == 0 {
				if start, m := flatwire.Vector64(b, pos, size); start != pos+8 || m != n {
					t.Fatalf("checked vector of %d, read of %d", n, m)
				}
			}
			if vtable, n, code := flatwire.CheckTable(b, pos, align); code == 0 {
				if at, m := flatwire.VTable(b, pos); m != n || at != vtable {
					t.Fatalf("checked vtable at %d of %d, read at %d of %d", vtable, n, at, m)
				}
			}
			flatwire.CheckString(b, pos, align)
			flatwire.CheckElement(b, pos)
			flatwire.CheckRoot(b, 0, "", align)
		}
		flatwire.CheckPrefix(b)
		flatwire.CheckPrefix64(b)
	})
}
