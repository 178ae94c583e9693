package flatpack

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds numbers as they stand in messages, and the order of keys.

// KindOf returns the kind of a number, of an enum that of its base.
func KindOf(t *schema.Type) schema.Kind {
	if t.Kind() == schema.Enum {
		return t.Enum().Base()
	}
	return t.Kind()
}

// IsUnion tells whether values of t are unions.
func IsUnion(t *schema.Type) bool {
	return t.Kind() == schema.Struct && t.Struct().Flavor() == schema.Union && t.Struct().Tag() != nil
}

// NoMember is the fault of a member that a union does not have and that would be lost, nil if it has the member
// or tag is 0.
func NoMember(union *schema.Type, tag uint64) *diag.Fault {
	if tag == 0 || Member(union.Struct(), tag) != nil {
		return nil
	}
	return diag.NewFault(diag.InvalidUnion, -1, fmt.Sprintf("%s has no member %d", union.Struct().Name(), tag))
}

// Member returns the member of a union whose number has those low bytes, which may be negative, or nil.
func Member(union *schema.StructDef, tag uint64) *schema.Field {
	size := union.Tag().InlineSize()
	for _, m := range union.Fields() {
		if Low(uint64(m.ID()), size) == Low(tag, size) {
			return m
		}
	}
	return nil
}

// HasTag tells whether a field of type t has the types of its values in the slot
// before its own: a union or a vector of unions.
func HasTag(t *schema.Type) bool {
	return IsUnion(t) || t.Kind() == schema.List && IsUnion(t.Elem())
}

// Load loads the number of size bytes at pos.
func Load(b []byte, pos, size int) uint64 {
	switch size {
	case 1:
		return uint64(flatwire.U8(b, pos))
	case 2:
		return uint64(flatwire.U16(b, pos))
	case 4:
		return uint64(flatwire.U32(b, pos))
	}
	return flatwire.U64(b, pos)
}

// Put writes a number at the front of b.
func Put(b []byte, bits uint64, size int) {
	for i := range size {
		b[i] = byte(bits >> (8 * i))
	}
}

// Low returns the low bytes of bits.
func Low(bits uint64, size int) uint64 { return bits << (64 - 8*size) >> (64 - 8*size) }

// Extend returns a number of size bytes as one of 64 bits, with its sign.
func Extend(n uint64, kind schema.Kind, size int) uint64 {
	if kind >= schema.I8 && kind <= schema.I64 && !kind.IsUnsigned() {
		shift := 64 - 8*size
		return uint64(int64(n<<shift) >> shift)
	}
	return Low(n, size)
}

// DefaultBits returns the default of a number: 0 if none is declared.
func DefaultBits(f *schema.Field) uint64 {
	d := f.Default()
	if d == nil {
		return 0
	}
	switch KindOf(f.Type()) {
	case schema.Bool:
		if d.Bool || d.Int != 0 {
			return 1
		}
		return 0
	case schema.Float:
		return uint64(math.Float32bits(float32(d.Float)))
	case schema.Double:
		return math.Float64bits(d.Float)
	}
	return uint64(d.Int)
}

// Key returns the field by which elements of that type are sorted, or nil.
func Key(t *schema.Type) *schema.Field {
	if t.Kind() != schema.Struct {
		return nil
	}
	for _, f := range t.Struct().Fields() {
		if f.Key() {
			return f
		}
	}
	return nil
}

// compareBits orders numbers as they stand in messages.
func compareBits(kind schema.Kind, size int, x, y uint64) int {
	switch {
	case kind == schema.Float:
		return cmp.Compare(math.Float32frombits(uint32(x)), math.Float32frombits(uint32(y)))
	case kind == schema.Double:
		return cmp.Compare(math.Float64frombits(x), math.Float64frombits(y))
	case kind.IsUnsigned() || kind == schema.Bool:
		return cmp.Compare(Low(x, size), Low(y, size))
	}
	return cmp.Compare(int64(Extend(x, kind, size)), int64(Extend(y, kind, size)))
}

// compareInline orders numbers, structs and arrays, that stand at the front of x and y, as generated code does:
// structs by their fields, arrays by their elements, and the first difference decides.
func compareInline(t *schema.Type, x, y []byte) int {
	switch t.Kind() {
	case schema.Struct:
		for _, f := range t.Struct().Fields() {
			if c := compareInline(f.Type(), x[f.Offset():], y[f.Offset():]); c != 0 {
				return c
			}
		}
		return 0
	case schema.Array:
		size := t.Elem().InlineSize()
		for i := range t.Len() {
			if c := compareInline(t.Elem(), x[i*size:], y[i*size:]); c != 0 {
				return c
			}
		}
		return 0
	}
	size := t.InlineSize()
	return compareBits(KindOf(t), size, Load(x, 0, size), Load(y, 0, size))
}

// SortTables orders tables that have been written by their key, if they have one.
func (p *Packer) SortTables(t *schema.Type, tables []flatbuf.UOffsetT) {
	f := Key(t)
	if f == nil {
		return
	}
	b := p.Builder.Bytes
	at := func(off flatbuf.UOffsetT) int { return flatwire.Field(b, len(b)-int(off), int(f.ID())) }
	if f.Type().Kind() == schema.String {
		text := func(off flatbuf.UOffsetT) []byte {
			if pos := at(off); pos != 0 {
				return flatwire.Bytes(b, flatwire.Follow(b, pos))
			}
			return nil
		}
		slices.SortStableFunc(tables, func(x, y flatbuf.UOffsetT) int { return bytes.Compare(text(x), text(y)) })
		return
	}
	kind, size := KindOf(f.Type()), f.Type().InlineSize()
	if kind == schema.Struct {
		zeros := make([]byte, size)
		value := func(off flatbuf.UOffsetT) []byte {
			if pos := at(off); pos != 0 {
				return b[pos:]
			}
			return zeros
		}
		slices.SortStableFunc(tables, func(x, y flatbuf.UOffsetT) int { return compareInline(f.Type(), value(x), value(y)) })
		return
	}
	bits := func(off flatbuf.UOffsetT) uint64 {
		if pos := at(off); pos != 0 {
			return Load(b, pos, size)
		}
		return DefaultBits(f)
	}
	slices.SortStableFunc(tables, func(x, y flatbuf.UOffsetT) int { return compareBits(kind, size, bits(x), bits(y)) })
}

// SortStructs orders structs, that stand in data one after another, by their key, if
// they have one.
func SortStructs(t *schema.Type, data []byte) {
	f := Key(t)
	if f == nil || f.Type().InlineSize() == 0 {
		return
	}
	stride := t.InlineSize()
	order := make([]int, len(data)/stride)
	for i := range order {
		order[i] = i * stride
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return compareInline(f.Type(), data[x+f.Offset():], data[y+f.Offset():])
	})
	was := bytes.Clone(data)
	for i, at := range order {
		copy(data[i*stride:], was[at:at+stride])
	}
}
