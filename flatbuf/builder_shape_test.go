package flatbuf_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/thrum-rpc/thrum/flatbuf"
)

// rowShape is a table with an int64, a string and as many bytes as its number says, in that order.
func rowShape(n int) *flatbuf.TableShape {
	s := &flatbuf.TableShape{Size: 16 + n, Align: 8}
	vtable := binary.LittleEndian.AppendUint16(nil, uint16(2*(4+n)))
	vtable = binary.LittleEndian.AppendUint16(vtable, uint16(s.Size))
	vtable = append(vtable, 4, 0, 12, 0)
	for i := range n {
		vtable = append(vtable, byte(16+i), 0)
	}
	s.Vtable = string(vtable)
	return s
}

// fullRow writes such a table, as a full one or field by field.
func fullRow(b *flatbuf.Builder, s *flatbuf.TableShape, text flatbuf.UOffsetT) flatbuf.UOffsetT {
	n := s.Size - 16
	t, off := b.StartFullTable(s)
	flatbuf.WriteInt64(t[4:], int64(n)+1)
	flatbuf.WriteUOffsetT(t[12:], off-12-text)
	for i := range n {
		t[16+i] = byte(i + 1)
	}
	return b.EndFullTable(s, off)
}

func rowByFields(b *flatbuf.Builder, s *flatbuf.TableShape, text flatbuf.UOffsetT) flatbuf.UOffsetT {
	n := s.Size - 16
	t, vt := b.StartTable(2+n, 12+n, 8)
	at := flatbuf.PutUint64(t, vt, 0, 4, uint64(n)+1)
	at = flatbuf.PutUint32(t, vt, 1, at, uint32(text))
	for i := range n {
		at = flatbuf.PutUint8(t, vt, 2+i, at, byte(i+1))
	}
	return b.EndTable(t, vt, 8, at, 12, 16)
}

func TestFullTablesAreTheSameAsOthers(t *testing.T) {
	shapes := make([]*flatbuf.TableShape, 9) // more than a builder remembers
	for i := range shapes {
		shapes[i] = rowShape(i)
	}
	build := func(b *flatbuf.Builder, write ...func(*flatbuf.Builder, *flatbuf.TableShape, flatbuf.UOffsetT) flatbuf.UOffsetT) []byte {
		b.Reset()
		var rows []flatbuf.UOffsetT
		for i := range 40 {
			text := b.CreateString(fmt.Sprint("text ", i*i))
			rows = append(rows, write[i%len(write)](b, shapes[(i+i/9)%len(shapes)], text))
		}
		v := b.CreateVectorOfTables(rows)
		b.Finish(fullRow(b, shapes[0], v))
		return bytes.Clone(b.FinishedBytes())
	}
	used := new(flatbuf.Builder)
	for range 2 {
		want := build(used, rowByFields)
		if got := build(used, fullRow); !bytes.Equal(got, want) {
			t.Errorf("full tables:\n got %x\nwant %x", got, want)
		}
		if got := build(new(flatbuf.Builder), fullRow, rowByFields); !bytes.Equal(got, want) {
			t.Errorf("both in turn, in a new builder:\n got %x\nwant %x", got, want)
		}
	}
	if n := allocations(func() { used.Reset(); fullRow(used, shapes[3], 0); fullRow(used, shapes[4], 0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAFullTableThatIsNotEndedLeavesNothing(t *testing.T) {
	shape := rowShape(3)
	var b, plain flatbuf.Builder
	for range 3 { // the first time without memory
		b.Reset()
		text := b.CreateString("text")
		table, _ := b.StartFullTable(shape)
		for i := range table {
			table[i] = 0xff
		}
		b.Finish(rowByFields(&b, shape, text))
		plain.Reset()
		plain.Finish(rowByFields(&plain, shape, plain.CreateString("text")))
		if !bytes.Equal(b.FinishedBytes(), plain.FinishedBytes()) {
			t.Errorf("got %x, want %x", b.FinishedBytes(), plain.FinishedBytes())
		}
	}
}

// Shapes with every alignment and distance to the head: what is between the table and
// what was written before is zero.
func TestTheGapAfterAFullTableIsZero(t *testing.T) {
	for _, align := range []int{4, 8, 16, 32} {
		for size := 5; size < 70; size++ {
			shape := &flatbuf.TableShape{Size: size, Align: align, Vtable: string([]byte{6, 0, byte(size), 0, 4, 0})}
			b := flatbuf.NewBuilder(256)
			for i := range b.Bytes {
				b.Bytes[i] = 0xff
			}
			b.CreateString("abc")
			before := b.Offset()
			table, off := b.StartFullTable(shape)
			if len(table) != size || (int(off)-4)%align != 0 {
				t.Fatalf("size %d, alignment %d: %d bytes at %d", size, align, len(table), off)
			}
			for i := range table {
				table[i] = 1
			}
			if end := b.EndFullTable(shape, off); end != off {
				t.Fatalf("size %d, alignment %d: ends at %d, not %d", size, align, end, off)
			}
			gap := b.Bytes[len(b.Bytes)-int(off)+size : len(b.Bytes)-int(before)]
			if len(gap) >= align || len(bytes.Trim(gap, "\x00")) != 0 {
				t.Fatalf("size %d, alignment %d: a gap of %x", size, align, gap)
			}
		}
	}
}

func TestAShapeWithoutAWholeVtablePanics(t *testing.T) {
	b := flatbuf.NewBuilder(64)
	s := &flatbuf.TableShape{Size: 4, Align: 4, Vtable: "\x04\x00\x04\x00"}
	table := func(s *flatbuf.TableShape) {
		_, off := b.StartFullTable(s)
		b.EndFullTable(s, off)
	}
	table(s)
	defer func() {
		if recover() == nil {
			t.Error("a vtable of three bytes was compared")
		}
	}()
	table(&flatbuf.TableShape{Size: 4, Align: 4, Vtable: "\x04\x00\x04"})
}
