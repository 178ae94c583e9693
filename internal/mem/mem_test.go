package mem

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"runtime"
	"testing"
	"unsafe"
)

type sample struct {
	A int8
	B int64
	S string
	P *int32
	L []int16
}

func TestInvariant1AddStaysInsideTheObject(t *testing.T) {
	v := &sample{B: 42}
	f, _ := reflect.TypeFor[sample]().FieldByName("B")
	if got := U64(Add(Of(v), f.Offset)); got != 42 {
		t.Fatalf("field B reads %d, not 42", got)
	}
	if f.Offset+f.Type.Size() > reflect.TypeFor[sample]().Size() {
		t.Fatal("a field's offset leaves the struct")
	}
}

func TestInvariant2LoadsAndStoresAgreeWithGo(t *testing.T) {
	var u8, u16, u32, u64 = uint8(0xa1), uint16(0xa1b2), uint32(0xa1b2c3d4), uint64(0xa1b2c3d4e5f60718)
	if U8(Of(&u8)) != u8 || U16(Of(&u16)) != u16 || U32(Of(&u32)) != u32 || U64(Of(&u64)) != u64 {
		t.Fatal("a load differs from Go's")
	}
	SetU8(Of(&u8), 1)
	SetU16(Of(&u16), 2)
	SetU32(Of(&u32), 3)
	SetU64(Of(&u64), 4)
	if u8 != 1 || u16 != 2 || u32 != 3 || u64 != 4 {
		t.Fatal("a store differs from Go's")
	}
	s, b := "text", []byte("bytes")
	if String(Of(&s)) != s || !bytes.Equal(Bytes(Of(&b)), b) {
		t.Fatal("a header reads differently")
	}
}

func TestInvariant3StoredPointersKeepTheirTargetsAlive(t *testing.T) {
	v := new(sample)
	f, _ := reflect.TypeFor[sample]().FieldByName("P")
	for range 100 {
		n := new(int32)
		*n = 7
		SetPtr(Add(Of(v), f.Offset), Of(n))
		runtime.GC()
		if *v.P != 7 {
			t.Fatal("the target was collected")
		}
	}
}

func TestInvariant4SetSliceCountsElements(t *testing.T) {
	back := []int16{1, 2, 3}
	var l []int16
	SetSlice(Of(&l), Data(back), len(back))
	if len(l) != 3 || cap(l) != 3 || l[2] != 3 {
		t.Fatalf("got %v with capacity %d", l, cap(l))
	}
	b := make([]byte, 3, 8)
	if got := Buffer(Data(b), 5, 8); &got[0] != &b[0] || len(got) != 5 || cap(got) != 8 || unsafe.Sizeof(header{}) != unsafe.Sizeof(b) {
		t.Fatal("Buffer does not make the slice that it was asked for")
	}
	data, n := Slice(Of(&l))
	if data != Data(back) || n != 3 {
		t.Fatal("Slice does not read what SetSlice wrote")
	}
}

func TestInvariant5StringOfShares(t *testing.T) {
	b := []byte("shared")
	s := StringOf(b)
	if s != "shared" || StringData(s) != Data(b) {
		t.Fatal("the string does not share its bytes")
	}
	if StringOf(nil) != "" {
		t.Fatal("no bytes are not the empty string")
	}
}

func TestInvariant6ChunksAreAlignedAndHandedOutOnce(t *testing.T) {
	c := &Chunk{Size: 256}
	owner := make(map[*byte]int)
	for i := range 1000 {
		n, align := 1+i%70, 1<<(i%4)
		b := c.Take(n, align)
		if len(b) != n || cap(b) != n {
			t.Fatalf("asked for %d bytes, got %d with capacity %d", n, len(b), cap(b))
		}
		if uintptr(Data(b))%uintptr(align) != 0 {
			t.Fatalf("not aligned to %d", align)
		}
		for k := range b {
			if b[k] != 0 {
				t.Fatal("memory is handed out that carries data")
			}
			if before, ok := owner[&b[k]]; ok {
				t.Fatalf("piece %d overlaps piece %d", i, before)
			}
			owner[&b[k]] = i
			b[k] = 0xff
		}
	}
}

func TestAChunkThatKeepsItsBlocksHandsThemOutAgain(t *testing.T) {
	c := &Chunk{Size: 64, Keep: true}
	var before map[*byte]bool
	for _, sizes := range [][]int{{40, 20, 50, 300, 10}, {40, 20, 50, 300, 10}, {300, 40, 50}, {}, {10}, {64, 300, 60}} {
		blocks := make(map[*byte]bool)
		for i, n := range sizes {
			b := c.Take(n, 1)
			for k := range b {
				if b[k] != 0 {
					t.Fatal("memory is handed out that carries data")
				}
				b[k] = 0xff
			}
			if text := c.Copy([]byte("x")); i%2 == 0 && string(text) != "x" || len(b) != n {
				t.Fatalf("asked for %d bytes, got %d, and %q", n, len(b), text)
			}
			blocks[&b[0]] = true
		}
		if len(sizes) == 5 {
			for p := range blocks {
				if before != nil && !before[p] {
					t.Error("the same requests get other memory")
				}
			}
			before = blocks
		}
		c.Reset()
	}
}

func TestInvariant7ViewsAgreeWithReflect(t *testing.T) {
	type named string
	types := []reflect.Type{
		reflect.TypeFor[map[string]*sample](), reflect.TypeFor[map[named]string](), reflect.TypeFor[map[int64]float64](),
		reflect.TypeFor[map[float64]int8](), reflect.TypeFor[map[bool][]*sample](), reflect.TypeFor[map[int16]map[string]int32](),
		reflect.TypeFor[map[*sample]int8](), reflect.TypeFor[map[int32]float32](), reflect.TypeFor[map[int8][]byte](),
	}
	for _, typ := range types {
		if !Viewable(typ) {
			t.Errorf("%s cannot be viewed", typ)
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[map[string]sample](), reflect.TypeFor[map[[16]byte]int32]()} {
		if Viewable(typ) {
			t.Errorf("%s has no shape and is viewed all the same", typ)
		}
	}
	if SameMap[int32, int64](reflect.TypeFor[map[int64]int64]()) {
		t.Error("a key of another size passes the check")
	}
}

func TestInvariant8BytesAreStoredInsideTheBuffer(t *testing.T) {
	b := make([]byte, 32)
	p := Data(b)
	PutBE16(Add(p, 1), 0x0102)
	PutBE32(Add(p, 3), 0x03040506)
	PutBE64(Add(p, 7), 0x0708090a0b0c0d0e)
	PutString(Add(p, 15), "text")
	PutLE16(Add(p, 19), 0x1413)
	PutLE64(Add(p, 21), 0x1c1b1a1918171615)
	PutLE32(Add(p, 28), 0x1f1e1d1c)
	want := append([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, "text"...)
	want = append(want, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f)
	if !bytes.Equal(b, append(want, make([]byte, 32-len(want))...)) {
		t.Fatalf("got %x", b)
	}
	if BE16(Add(p, 1)) != 0x0102 || BE32(Add(p, 3)) != 0x03040506 || BE64(Add(p, 7)) != 0x0708090a0b0c0d0e {
		t.Fatal("the loads do not read what the stores wrote")
	}
	if LE16(Add(p, 19)) != 0x1413 || LE32(Add(p, 28)) != 0x1f1e1d1c || LE64(Add(p, 21)) != 0x1c1b1a1918171615 {
		t.Fatal("the loads do not read what the stores wrote")
	}
	numbers := []uint32{0x04030201, 0x08070605}
	CopyLE(b[:8], View[byte](Data(numbers), 8), Size[uint32]())
	if !bytes.Equal(b[:8], []byte{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Fatalf("numbers are copied as %x", b[:8])
	}
}

// The stores and loads are those of encoding/binary, at every alignment.
func TestTheOrderOfBytesIsTheOneNamed(t *testing.T) {
	const v = 0xf1e2d3c4b5a69788
	for at := range 8 {
		var ours, want [16]byte
		p, rest := Add(Pointer(&ours), uintptr(at)), want[at:]
		check := func(name string, loaded, stored uint64) {
			t.Helper()
			if ours != want || loaded != stored {
				t.Errorf("%s at %d: stored %x, not %x; loaded %x", name, at, ours, want, loaded)
			}
		}
		PutLE16(p, v&math.MaxUint16)
		binary.LittleEndian.PutUint16(rest, v&math.MaxUint16)
		check("LE16", uint64(LE16(p)), v&math.MaxUint16)
		PutLE32(p, v&math.MaxUint32)
		binary.LittleEndian.PutUint32(rest, v&math.MaxUint32)
		check("LE32", uint64(LE32(p)), v&math.MaxUint32)
		PutLE64(p, v)
		binary.LittleEndian.PutUint64(rest, v)
		check("LE64", LE64(p), v)
		PutBE16(p, v&math.MaxUint16)
		binary.BigEndian.PutUint16(rest, v&math.MaxUint16)
		check("BE16", uint64(BE16(p)), v&math.MaxUint16)
		PutBE32(p, v&math.MaxUint32)
		binary.BigEndian.PutUint32(rest, v&math.MaxUint32)
		check("BE32", uint64(BE32(p)), v&math.MaxUint32)
		PutBE64(p, v)
		binary.BigEndian.PutUint64(rest, v)
		check("BE64", BE64(p), v)
	}
}

func TestFloatKeysHashByValue(t *testing.T) {
	m := map[float64]int64{}
	view := Map[float64, int64](MapPointer(m))
	view[math.Copysign(0, -1)] = 1
	if m[0] != 1 {
		t.Fatal("-0 and 0 are different keys")
	}
}

func TestMapLenOfNil(t *testing.T) {
	if MapLen(nil) != 0 {
		t.Fatal("a nil map has entries")
	}
	if m := map[string]bool{"a": true}; MapLen(MapPointer(m)) != 1 {
		t.Fatal("a map of one entry has another length")
	}
}
