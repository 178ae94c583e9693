package flatbuf_test

import (
	"encoding/binary"
	"math"
	"math/bits"
	"testing"

	"github.com/thrum-rpc/thrum/flatbuf"
)

// This file holds what is special about messages of nearly 2 GiB where an int has 32
// bits. Their memory is hardly touched, so they cost little.

func TestTheLargestMessages(t *testing.T) {
	if bits.UintSize > 32 {
		t.Skip("sums of positions cannot overflow")
	}
	b := make([]byte, math.MaxInt32) // once: there is no room for two
	t.Run("fields beyond the end are refused", func(t *testing.T) { refuseFieldsBeyond(t, b) })
	t.Run("fields beyond the end are read as absent", func(t *testing.T) { readFieldsBeyond(t, b) })
	t.Run("many parts are allowed", func(t *testing.T) { readManyParts(t, b) })
}

// endsWithTable puts a table near the end of b, whose only field has its place beyond the end.
func endsWithTable(b []byte) {
	table := (len(b) - 64) &^ 15
	vtable := table - 16
	binary.LittleEndian.PutUint32(b, uint32(table))
	binary.LittleEndian.PutUint32(b[table:], uint32(table-vtable))
	binary.LittleEndian.PutUint16(b[vtable:], 6)
	binary.LittleEndian.PutUint16(b[vtable+2:], math.MaxUint16)
	binary.LittleEndian.PutUint16(b[vtable+4:], 0xfff0)
}

func refuseFieldsBeyond(t *testing.T, b []byte) {
	endsWithTable(b)
	for name, f := range map[string]flatbuf.FieldLayout{
		"scalar":            {Kind: flatbuf.ScalarField, Size: 4, Align: 4},
		"required scalar":   {Kind: flatbuf.ScalarField, Size: 4, Align: 4, Required: true},
		"struct":            {Kind: flatbuf.ScalarField, Size: 65536, Align: 16},
		"string":            {Kind: flatbuf.StringField},
		"far string":        {Kind: flatbuf.StringField, Offset64: true},
		"table":             {Kind: flatbuf.TableField},
		"vector of tables":  {Kind: flatbuf.TableVector},
		"vector of scalars": {Kind: flatbuf.ScalarVector, Size: 1, Align: 1},
		"nested message":    {Kind: flatbuf.NestedField},
	} {
		v, err := flatbuf.NewVerifier(&flatbuf.Layout{Tables: []flatbuf.TableLayout{{Name: "T", Fields: []flatbuf.FieldLayout{f}}}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if v.Verify(b) == nil {
			t.Errorf("%s: a place beyond the end is taken", name)
		}
		if v.With(flatbuf.AllowUnaligned()).Verify(b) == nil {
			t.Errorf("%s: a place beyond the end is taken, unaligned", name)
		}
	}
}

func readFieldsBeyond(t *testing.T, b []byte) {
	endsWithTable(b)
	type one struct {
		N int32 `flatbuf:"n,default=7"`
	}
	type run struct {
		N, M, O, P int64
	}
	type fixed struct{ X, Y int64 }
	type inner struct{ S fixed }
	absent(t, b, one{N: 7})
	absent(t, b, run{})
	absent(t, b, inner{})
}

// absent holds the message b to the Go struct want, as a codec reads it without verification.
func absent[T comparable](t *testing.T, b []byte, want T) {
	t.Helper()
	codec, err := flatbuf.For[T](flatbuf.Verified())
	if err != nil {
		t.Fatal(err)
	}
	var got T
	if err := codec.Unmarshal(b, &got); err != nil || got != want {
		t.Errorf("read %+v, %v", got, err)
	}
}

// readManyParts reads a vector of as many strings as would be refused in a small message. Their offsets
// are 0, which leads to strings without bytes.
func readManyParts(t *testing.T, b []byte) {
	const count, table, vector = 100_000, 64, 4096
	binary.LittleEndian.PutUint32(b, table)
	binary.LittleEndian.PutUint32(b[table:], 16)
	copy(b[table-16:], []byte{6, 0, 8, 0, 4, 0})
	binary.LittleEndian.PutUint32(b[table+4:], vector-table-4)
	binary.LittleEndian.PutUint32(b[vector:], count)
	v, err := flatbuf.NewVerifier(&flatbuf.Layout{Tables: []flatbuf.TableLayout{{Name: "T", Fields: []flatbuf.FieldLayout{{Kind: flatbuf.StringVector}}}}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Verify(b); err != nil {
		t.Error(err)
	}
	u := flatbuf.NewUnpacking(b)
	n, ok := u.Vector(4, flatbuf.Table{Bytes: b, Pos: table}, 4, flatbuf.Near)
	if n != count || !ok {
		t.Errorf("%d elements, %t", n, ok)
	}
}
