package flatbuf

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds Go maps: vectors of tables with a key and a value, in the order of
// their keys. To the programs an entry is a Go struct with two fields; maps are copied
// from and to such structs here.

// mapProgram is what a Go map comes down to.
type mapProgram struct {
	typ    reflect.Type
	entry  *tableProgram
	value  uintptr // where the value is in the struct of an entry
	cell   *mapCell
	signed bool
	width  uint8     // of a number that is the key, 0 for a string
	rows   sync.Pool // *mapRows
}

// mapRows are the entries of a map while they are written.
type mapRows struct {
	entries reflect.Value // a slice, addressable
	base    mem.Pointer   // of its elements
	order   []int32
	iter    reflect.MapIter
}

// roomyMap is up to how many entries a map gets room for before they are read.
const roomyMap = 1 << 12

// mapEntry is the Go struct of an entry. The key is required where the schema would say so: a
// key that is a string.
func mapEntry(t reflect.Type, tag *fieldTag) (reflect.Type, error) {
	option := ""
	switch k := t.Key().Kind(); {
	case k == reflect.String:
		option = ",required"
	case width(k) == 0 || k == reflect.Float32 || k == reflect.Float64:
		return nil, fmt.Errorf("the key of a map is a string, an integer with its size in its name or a bool")
	}
	value := ""
	if tag.fixed {
		value = ",struct"
	}
	if t.Elem().Kind() == reflect.Pointer && width(t.Elem().Elem().Kind()) > 0 {
		return nil, fmt.Errorf("a map has no place for pointers to scalars")
	}
	return reflect.StructOf([]reflect.StructField{
		{Name: "Key", Type: t.Key(), Tag: reflect.StructTag(`flatbuf:"key,id=` + strconv.Itoa(tag.key) + option + `"`)},
		{Name: "Value", Type: t.Elem(), Tag: reflect.StructTag(`flatbuf:"value,id=` + strconv.Itoa(tag.value) + value + `"`)},
	}), nil
}

// mapField compiles a map.
func (c *compiler) mapField(op *refOp, f *tagged, fl *FieldLayout) error {
	t := f.Type
	entry, err := mapEntry(t, &f.tag)
	if err != nil {
		return err
	}
	m := &mapProgram{typ: t, cell: cellOf(t), value: entry.Field(1).Offset}
	if k := t.Key().Kind(); k != reflect.String {
		m.width, m.signed = width(k), k >= reflect.Int && k <= reflect.Int64
	}
	if m.entry, err = c.table(entry); err != nil {
		if e, ok := err.(*TypeError); ok && e.Type == entry { // no type that users know
			return errors.New(e.Reason)
		}
		return err
	}
	c.layout.Tables[m.entry.index].Name = f.Name + "Entry"
	op.kind, op.entries, op.table = refMap, m, m.entry
	fl.Kind = TableVector
	return nil
}

// mapCell handles the maps of one pair of shapes as typed maps. fill copies at most n entries to
// structs that lie stride bytes apart and returns how many; set reports whether the key
// was new.
type mapCell struct {
	fill func(m, rows mem.Pointer, stride, value uintptr, n int) int
	set  func(m, row mem.Pointer, value uintptr) bool
}

// cellOf returns the cell for maps of type t, nil where reflect is the way.
func cellOf(t reflect.Type) *mapCell {
	if !mem.Viewable(t) {
		return nil
	}
	switch mem.KeyShape(t.Key()) {
	case mem.ShapeString:
		return cellOfKey[string](t)
	case mem.Shape32:
		return cellOfKey[uint32](t)
	case mem.Shape64:
		return cellOfKey[uint64](t)
	default:
		return nil
	}
}

func cellOfKey[K comparable](t reflect.Type) *mapCell {
	switch mem.ElemShape(t.Elem()) {
	case mem.Shape32:
		return typedCell[K, uint32]()
	case mem.Shape64:
		return typedCell[K, uint64]()
	case mem.ShapeString:
		return typedCell[K, string]()
	case mem.ShapeSlice:
		return typedCell[K, []byte]()
	case mem.ShapePointer:
		return typedCell[K, mem.Pointer]()
	default:
		return nil
	}
}

func typedCell[K comparable, V any]() *mapCell {
	return &mapCell{
		fill: func(m, rows mem.Pointer, stride, value uintptr, n int) int {
			i := 0
			for k, v := range mem.Map[K, V](m) {
				if i == n {
					break
				}
				row := mem.Add(rows, uintptr(i)*stride)
				mem.View[K](row, 1)[0] = k
				mem.View[V](mem.Add(row, value), 1)[0] = v
				i++
			}
			return i
		},
		set: func(m, row mem.Pointer, value uintptr) bool {
			typed := mem.Map[K, V](m)
			before := len(typed)
			typed[mem.View[K](row, 1)[0]] = mem.View[V](mem.Add(row, value), 1)[0]
			return len(typed) > before
		},
	}
}

// take copies the map that at holds to rows, of which there are n.
func (m *mapProgram) take(at mem.Pointer, n int) (rows *mapRows, taken int) {
	rows, _ = m.rows.Get().(*mapRows)
	if rows == nil {
		rows = &mapRows{entries: reflect.New(m.entry.slice).Elem()}
	}
	if rows.entries.Cap() < n {
		rows.entries.Set(reflect.MakeSlice(m.entry.slice, n, n+n/4))
	}
	rows.entries.SetLen(n)
	rows.base = rows.entries.UnsafePointer()
	if m.cell != nil {
		return rows, m.cell.fill(mem.Ptr(at), rows.base, m.entry.size, m.value, n)
	}
	rows.iter.Reset(reflect.NewAt(m.typ, at).Elem())
	for taken < n && rows.iter.Next() {
		row := rows.entries.Index(taken)
		row.Field(0).SetIterKey(&rows.iter)
		row.Field(1).SetIterValue(&rows.iter)
		taken++
	}
	rows.iter.Reset(reflect.Value{})
	return rows, taken
}

// give forgets the entries and keeps their memory, if it is no more than a builder keeps.
func (m *mapProgram) give(rows *mapRows) {
	rows.entries.Clear()
	if rows.entries.Cap()*int(m.entry.size) <= DefaultMaxSize {
		m.rows.Put(rows)
	}
}

func (m *mapProgram) row(base mem.Pointer, i int) mem.Pointer {
	return mem.Add(base, uintptr(i)*m.entry.size)
}

// sort finds the order of the first n rows.
func (m *mapProgram) sort(rows *mapRows, n int) []int32 {
	order := slices.Grow(rows.order[:0], n)[:n]
	rows.order = order
	for i := range order {
		order[i] = int32(i)
	}
	if n < 2 {
		return order
	}
	base := rows.base
	switch {
	case m.width == 0:
		slices.SortFunc(order, func(x, y int32) int {
			return cmp.Compare(textAt(m.row(base, int(x))), textAt(m.row(base, int(y))))
		})
	case m.signed:
		slices.SortFunc(order, func(x, y int32) int {
			return cmp.Compare(loadSigned(m.row(base, int(x)), m.width), loadSigned(m.row(base, int(y)), m.width))
		})
	default:
		slices.SortFunc(order, func(x, y int32) int {
			return cmp.Compare(loadBits(m.row(base, int(x)), m.width), loadBits(m.row(base, int(y)), m.width))
		})
	}
	return order
}

func loadSigned(p mem.Pointer, w uint8) int64 {
	shift := 64 - 8*w
	return int64(loadBits(p, w)<<shift) >> shift
}

// keyText renders the key of a row for paths.
func (m *mapProgram) keyText(row mem.Pointer) string {
	switch {
	case m.width == 0:
		return strconv.Quote(textAt(row))
	case m.signed:
		return strconv.FormatInt(loadSigned(row, m.width), 10)
	default:
		return strconv.FormatUint(loadBits(row, m.width), 10)
	}
}

// mapOf writes the map that at holds: nil is absent.
func (s *writer) mapOf(r *refOp, at mem.Pointer) (UOffsetT, bool) {
	held := mem.Ptr(at)
	if held == nil && !r.required {
		return 0, true
	}
	m, b := r.entries, s.b
	n := mem.MapLen(held)
	if n > maxMessage/SizeUOffsetT {
		return 0, s.fail(diag.SizeLimit, "a message of 2 GiB")
	}
	rows, n := m.take(at, n)
	defer m.give(rows)
	offsets := b.PushOffsets(n)
	for i, j := range m.sort(rows, n) {
		row := m.row(rows.base, int(j))
		off, ok := s.table(m.entry, row)
		if !ok {
			s.fault.Key(m.keyText(row))
			return 0, false
		}
		offsets[i] = off
	}
	if need := padding + n*SizeUOffsetT; b.head < need && !s.room(need) {
		return 0, false
	}
	off := b.CreateVectorOfTables(offsets)
	b.PopOffsets(n)
	return off, true
}

// boundMap adds to n what the map takes at most.
func (s *writer) boundMap(r *refOp, at mem.Pointer, n *int) bool {
	m := r.entries
	rows, l := m.take(at, mem.MapLen(mem.Ptr(at)))
	defer m.give(rows)
	*n += padding + SizeUOffsetT*l
	for i := range l {
		row := m.row(rows.base, i)
		if !s.bound(m.entry, row, n) {
			s.fault.Key(m.keyText(row))
			return false
		}
	}
	return true
}

// mapFrom reads the vector at at into a new map; an absent one is nil.
func (s *reader) mapFrom(r *refOp, at int, dst mem.Pointer) bool {
	mem.SetPtr(dst, nil)
	if at == 0 {
		return true
	}
	start, n := flatwire.Vector(s.b, at, SizeUOffsetT)
	if !s.spend(n*SizeUOffsetT, at) {
		return false
	}
	m := r.entries
	made := reflect.MakeMapWithSize(m.typ, min(n, roomyMap))
	mem.SetPtr(dst, made.UnsafePointer())
	entry := reflect.New(m.entry.typ)
	row := entry.UnsafePointer()
	for i := range n {
		pos := s.element(start, i)
		if !s.spend(int(m.entry.size), pos) || !s.table(m.entry, pos, row) {
			s.fault.Index(i)
			return false
		}
		isNew := false
		if m.cell != nil {
			isNew = m.cell.set(made.UnsafePointer(), row, m.value)
		} else {
			made.SetMapIndex(entry.Elem().Field(0), entry.Elem().Field(1))
			isNew = made.Len() == i+1
		}
		if !isNew {
			s.fail(diag.DuplicateKey, pos, "a key of a map that stands twice")
			s.fault.Key(m.keyText(row))
			return false
		}
	}
	return true
}
