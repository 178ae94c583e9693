package interp

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file encodes, sizes and decodes maps. A map whose key and element have
// known shapes is handled as a typed map, by a cell that generics make for
// the pair of shapes; any other goes through the binding's GenericMap.

// atom is how a value of one shape, held in a register, is encoded, sized, decoded and
// rendered in a path.
type atom[T any] struct {
	encode func(e *encoder, b []byte, op *plan.Op, v T, depth int) ([]byte, *diag.Fault)
	// size returns what the value takes beyond the Fixed part of its op.
	size   func(e *encoder, op *plan.Op, v T, depth int) (int, *diag.Fault)
	decode func(d *run, op *plan.Op, i, depth int, batch *batch) (T, int)
}

// cell handles the maps of one pair of shapes.
type cell struct {
	encode func(e *encoder, b []byte, op *plan.Op, m mem.Pointer, depth int) ([]byte, *diag.Fault)
	size   func(e *encoder, op *plan.Op, m mem.Pointer, depth int) (int, *diag.Fault)
	decode func(d *run, op *plan.Op, p mem.Pointer, i, n, depth int) int
	stride int // of the array in which entries are handed over
}

// cellsOf returns the cell of each slot that is a map of known shapes.
func cellsOf(slots []engine.Slot) []*cell {
	cells := make([]*cell, len(slots))
	for i := range slots {
		if m := slots[i].Map; m != nil {
			cells[i] = cellOf(m.Key, m.Elem)
		}
	}
	return cells
}

func cellOf(key, elem mem.Shape) *cell {
	switch key {
	case mem.Shape8:
		return cellOfKey(atom[uint8]{encode8, size8, decode8}, elem)
	case mem.Shape16:
		return cellOfKey(atom[uint16]{encode16, size16, decode16}, elem)
	case mem.Shape32:
		return cellOfKey(atom[uint32]{encode32, size32, decode32}, elem)
	case mem.Shape64:
		return cellOfKey(atom[uint64]{encode64, size64, decode64}, elem)
	case mem.ShapeFloat64:
		return cellOfKey(atom[float64]{encodeFloat64, sizeFloat64, decodeFloat64}, elem)
	case mem.ShapeString:
		return cellOfKey(atom[string]{encodeString, sizeString, decodeString}, elem)
	case mem.ShapePointer:
		return cellOfKey(atom[mem.Pointer]{encodePointer, sizePointer, decodePointer}, elem)
	default:
		return nil
	}
}

func cellOfKey[K comparable](k atom[K], elem mem.Shape) *cell {
	switch elem {
	case mem.Shape8:
		return pair(k, atom[uint8]{encode8, size8, decode8})
	case mem.Shape16:
		return pair(k, atom[uint16]{encode16, size16, decode16})
	case mem.Shape32:
		return pair(k, atom[uint32]{encode32, size32, decode32})
	case mem.Shape64:
		return pair(k, atom[uint64]{encode64, size64, decode64})
	case mem.ShapeString:
		return pair(k, atom[string]{encodeString, sizeString, decodeString})
	case mem.ShapeSlice:
		return pair(k, atom[[]byte]{encodeSlice, sizeSlice, decodeSlice})
	case mem.ShapePointer:
		return pair(k, atom[mem.Pointer]{encodePointer, sizePointer, decodePointer})
	default:
		return nil
	}
}

func pair[K comparable, V any](k atom[K], v atom[V]) *cell {
	handed := new(batches[K, V])
	return &cell{
		stride: mem.Size[entry[K, V]](),
		encode: func(e *encoder, b []byte, op *plan.Op, m mem.Pointer, depth int) ([]byte, *diag.Fault) {
			if e.handsOver(op, mem.MapLen(m)) {
				return handed.append(e, b, op, m, depth)
			}
			key, elem := &e.prog.Procs[op.A].Ops[0], &e.prog.Procs[op.B].Ops[0]
			if out, f, ok := appendText(e, b, op, any(mem.Map[K, V](m)), depth); ok {
				return out, f
			}
			var f *diag.Fault
			for mk, mv := range mem.Map[K, V](m) {
				start := len(b)
				if b, f = k.encode(e, b, key, mk, depth); f != nil {
					return b, f.Key("key")
				}
				out, f := v.encode(e, b, elem, mv, depth)
				if f != nil { // b still ends in the key
					return nil, f.Key(e.keyText(key, b[start:]))
				}
				b = out
			}
			return b, nil
		},
		size: func(e *encoder, op *plan.Op, m mem.Pointer, depth int) (int, *diag.Fault) {
			kp, vp := e.size.Procs[op.A], e.size.Procs[op.B]
			n := mem.MapLen(m) * (kp.Base + vp.Base)
			if len(kp.Ops)+len(vp.Ops) == 0 {
				return n, nil
			}
			sizeText := sizeText
			if e.compact != 0 {
				sizeText = compactSizeText
			}
			if texts, f, ok := sizeText(e, op, any(mem.Map[K, V](m)), depth); ok {
				return n + texts, f
			}
			for mk, mv := range mem.Map[K, V](m) {
				if len(kp.Ops) > 0 {
					s, f := k.size(e, &kp.Ops[0], mk, depth)
					if f != nil {
						return 0, f.Key("key")
					}
					n += e.fixed(&kp.Ops[0]) + s
				}
				if len(vp.Ops) > 0 {
					s, f := v.size(e, &vp.Ops[0], mv, depth)
					if f != nil {
						return 0, f.Key("entry")
					}
					n += e.fixed(&vp.Ops[0]) + s
				}
			}
			return n, nil
		},
		decode: func(d *run, op *plan.Op, p mem.Pointer, i, n, depth int) int {
			key, elem := &d.prog.Procs[op.A].Ops[0], &d.prog.Procs[op.B].Ops[0]
			m := makeMap[K, V](d, op.Slot, d.capacity(i, n, d.slots[op.Slot].Size))
			keys, elems := d.batch(n), d.batch(n)
			least := d.least(key) + d.least(elem)
			d.expected += int64(n) * least
			for range n {
				d.expected -= least
				start := i
				var mk K
				var mv V
				if mk, i = k.decode(d, key, i, depth, keys); i < 0 {
					d.fault.Key("key")
					return i
				}
				end := i
				if mv, i = v.decode(d, elem, i, depth, elems); i < 0 {
					d.fault.Key(d.keyText(key, d.b[start:end]))
					return i
				}
				m[mk] = mv
			}
			d.release(keys)
			d.release(elems)
			mem.SetPtr(p, mem.MapPointer(m))
			return i
		},
	}
}

func makeMap[K comparable, V any](d *run, slot int32, n int) map[K]V {
	if d.arena == nil {
		return make(map[K]V, n)
	}
	if p := d.arena.Map(slot); p != nil {
		return mem.Map[K, V](p)
	}
	m := make(map[K]V, n)
	d.arena.Shelve(slot, mem.MapPointer(m), func(p mem.Pointer) { clear(mem.Map[K, V](p)) })
	return m
}

// keyText renders a key's encoding for a path.
func (e *encoder) keyText(op *plan.Op, b []byte) string { return keyText(e.compact, op, b) }
func (d *run) keyText(op *plan.Op, b []byte) string     { return keyText(d.compact, op, b) }

func keyText(d compact.Dialect, op *plan.Op, b []byte) string {
	if d != 0 {
		b, _ = d.AppendToBinary(nil, b, op.Wire, 1)
	}
	switch op.Code {
	case plan.String:
		return strconv.Quote(string(b[4:]))
	case plan.Double:
		return strconv.FormatFloat(math.Float64frombits(binary.BigEndian.Uint64(b)), 'g', -1, 64)
	case plan.Float:
		return strconv.FormatFloat(float64(math.Float32frombits(binary.BigEndian.Uint32(b))), 'g', -1, 32)
	case plan.Bool:
		return strconv.FormatBool(b[0] != 0)
	case plan.I8:
		return strconv.Itoa(int(int8(b[0])))
	case plan.I16:
		return strconv.Itoa(int(int16(binary.BigEndian.Uint16(b))))
	case plan.I32, plan.Enum64:
		return strconv.Itoa(int(int32(binary.BigEndian.Uint32(b))))
	case plan.I64:
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10)
	default:
		return "entry"
	}
}

// mapping appends the map m.
func (e *encoder) mapping(b []byte, op *plan.Op, m mem.Pointer, depth int) ([]byte, *diag.Fault) {
	if depth <= 0 {
		return b, tooDeep(len(b))
	}
	key, elem := &e.prog.Procs[op.A].Ops[0], &e.prog.Procs[op.B].Ops[0]
	n := mem.MapLen(m)
	if uint(n) > math.MaxInt32 {
		return b, checkBytes(n, nil, len(b))
	}
	if e.compact != 0 {
		b = e.compact.AppendMap(b, key.Wire, elem.Wire, n)
	} else {
		b = thriftwire.AppendMap(b, key.Wire, elem.Wire, n)
	}
	if n == 0 {
		return b, nil
	}
	if e.opts.Sorted {
		return e.sorted(b, op, m, depth-1)
	}
	if c := e.cells[op.Slot]; c != nil {
		return c.encode(e, b, op, m, depth-1)
	}
	return e.generic(b, op, m, depth-1, nil)
}

// generic appends the entries of a map through reflect and, if it is asked,
// tells where each key and entry ends.
func (e *encoder) generic(b []byte, op *plan.Op, m mem.Pointer, depth int, note func(key, end int)) ([]byte, *diag.Fault) {
	key, elem := &e.prog.Procs[op.A].Ops[0], &e.prog.Procs[op.B].Ops[0]
	var f *diag.Fault
	e.slots[op.Slot].Map.Generic.Range(m, func(k, v mem.Pointer) bool {
		start := len(b)
		if b, f = e.value(b, key, k, depth); f != nil {
			f.Key("key")
			return false
		}
		end := len(b)
		var out []byte
		if out, f = e.value(b, elem, v, depth); f != nil { // b still ends in the key
			f.Key(e.keyText(key, b[start:]))
			return false
		}
		b = out
		if note != nil {
			note(end, len(b))
		}
		return true
	})
	return b, f
}

// sorted appends the entries ordered by their encoded keys.
func (e *encoder) sorted(b []byte, op *plan.Op, m mem.Pointer, depth int) ([]byte, *diag.Fault) {
	type span struct{ start, key, end int }
	if e.cuts != nil { // entries that move are copied whole
		flat := *e
		flat.cuts, flat.threshold = nil, math.MaxInt
		e = &flat
	}
	var spans []span
	start := len(b)
	at := start
	b, f := e.generic(b, op, m, depth, func(key, end int) {
		spans = append(spans, span{at, key, end})
		at = end
	})
	if f != nil {
		return b, f
	}
	entries := bytes.Clone(b[start:])
	slices.SortFunc(spans, func(x, y span) int {
		return bytes.Compare(entries[x.start-start:x.key-start], entries[y.start-start:y.key-start])
	})
	b = b[:start]
	for _, s := range spans {
		b = append(b, entries[s.start-start:s.end-start]...)
	}
	return b, nil
}

// sizeMap returns what the map m takes, beyond its header in the binary protocol.
func (e *encoder) sizeMap(op *plan.Op, m mem.Pointer, depth int) (int, *diag.Fault) {
	if depth <= 0 {
		return 0, tooDeep(-1)
	}
	n := 0
	if e.compact != 0 {
		n = compact.SizeMap(mem.MapLen(m))
	}
	if mem.MapLen(m) == 0 {
		return n, nil
	}
	if c := e.cells[op.Slot]; c != nil {
		entries, f := c.size(e, op, m, depth-1)
		return n + entries, f
	}
	entries, f := e.sizeGeneric(op, m, depth-1)
	return n + entries, f
}

// sizeGeneric returns what the entries of a map without known shapes take.
func (e *encoder) sizeGeneric(op *plan.Op, m mem.Pointer, depth int) (n int, f *diag.Fault) {
	kp, vp := e.size.Procs[op.A], e.size.Procs[op.B]
	part := func(p *plan.Proc, v mem.Pointer) bool {
		n += p.Base
		if len(p.Ops) > 0 {
			var s int
			s, f = e.sizeValue(&p.Ops[0], v, depth)
			n += e.fixed(&p.Ops[0]) + s
		}
		return f == nil
	}
	e.slots[op.Slot].Map.Generic.Range(m, func(k, v mem.Pointer) bool { return part(kp, k) && part(vp, v) })
	return n, f
}

// mapping reads n entries into a new map that it stores at p.
func (d *run) mapping(op *plan.Op, p mem.Pointer, i, depth int) int {
	if depth <= 0 {
		return d.fail(diag.DepthLimit, i, "nested deeper than the limit")
	}
	key, elem := &d.prog.Procs[op.A].Ops[0], &d.prog.Procs[op.B].Ops[0]
	var kt, et thriftwire.Type
	var n, m int
	if d.compact != 0 {
		kt, et, n, m = d.compact.ConsumeMap(d.b[i:])
	} else {
		kt, et, n, m = thriftwire.ConsumeMap(d.b[i:])
	}
	if m < 0 {
		return d.wire(m, i)
	}
	if n > d.opts.MaxContainer {
		return d.fail(diag.SizeLimit, i, "a map of "+plural(n, "entry")+" exceeds the limit")
	}
	if n > 0 && kt != key.Wire {
		return d.mismatch(i, key.Wire, kt)
	}
	if n > 0 && et != elem.Wire {
		return d.mismatch(i, elem.Wire, et)
	}
	i += m
	if c := d.cells[op.Slot]; c != nil {
		return c.decode(d, op, p, i, n, depth-1)
	}
	return d.generic(op, p, i, n, depth-1)
}

// generic reads n entries through reflect.
func (d *run) generic(op *plan.Op, p mem.Pointer, i, n, depth int) int {
	key, elem := &d.prog.Procs[op.A].Ops[0], &d.prog.Procs[op.B].Ops[0]
	slot := &d.slots[op.Slot]
	filled := 0
	room, least := d.capacity(i, n, slot.Size), d.least(key)+d.least(elem)
	d.expected += int64(n) * least
	slot.Map.Generic.Fill(p, room, func(k, v mem.Pointer) bool {
		if filled == n {
			return false
		}
		filled++
		d.expected -= least
		start := i
		if i = d.value(key, k, i, depth); i < 0 {
			d.fault.Key("key")
			return false
		}
		end := i
		if i = d.value(elem, v, i, depth); i < 0 {
			d.fault.Key(d.keyText(key, d.b[start:end]))
			return false
		}
		return true
	})
	return i
}
