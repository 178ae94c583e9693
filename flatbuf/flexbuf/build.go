package flexbuf

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
)

// This file holds the Builder.

// Builder writes one buffer. Values are written one after another; EndVector
// and EndMap put those since the start of the vector or map in it.
type Builder struct {
	buf      []byte
	stack    []value
	keys     map[string]uint64 // where keys stand that were written
	finished bool
}

// value is a value that is not yet part of a vector. bits has a scalar's own, or the
// position of what is written.
type value struct {
	bits uint64
	kind Kind
	log  uint8 // of the bytes of a scalar, or of what is inside
}

// Reset forgets the buffer and keeps its memory.
func (b *Builder) Reset() {
	b.buf, b.stack, b.finished = b.buf[:0], b.stack[:0], false
	clear(b.keys)
}

func (b *Builder) push(bits uint64, kind Kind, log uint8) {
	b.stack = append(b.stack, value{bits, kind, log})
}

// logUint and logInt return the log of the bytes that a number needs.

func logUint(v uint64) uint8 {
	switch n := bits.Len64(v); {
	case n <= 8:
		return 0
	case n <= 16:
		return 1
	case n <= 32:
		return 2
	default:
		return 3
	}
}

func logInt(v int64) uint8 { return logUint(uint64(v^v>>63) << 1) }

// Null writes null.
func (b *Builder) Null() { b.push(0, Null, 0) }

// Bool writes a bool.
func (b *Builder) Bool(v bool) {
	if v {
		b.push(1, Bool, 0)
	} else {
		b.push(0, Bool, 0)
	}
}

func (b *Builder) Int(v int64)   { b.push(uint64(v), Int, logInt(v)) }
func (b *Builder) Uint(v uint64) { b.push(v, Uint, logUint(v)) }

// Float writes a float, in 4 bytes if that loses nothing.
func (b *Builder) Float(v float64) {
	log := uint8(3)
	if float64(float32(v)) == v {
		log = 2
	}
	b.push(math.Float64bits(v), Float, log)
}

// String writes a string.
func (b *Builder) String(s string) {
	b.text(len(s), String)
	b.buf = append(append(b.buf, s...), 0)
}

// Blob writes bytes.
func (b *Builder) Blob(v []byte) {
	b.text(len(v), Blob)
	b.buf = append(b.buf, v...)
}

// text writes the length of n bytes, which follow.
func (b *Builder) text(n int, kind Kind) {
	log := logUint(uint64(n))
	b.align(log)
	b.number(uint64(n), log)
	b.push(uint64(len(b.buf)), kind, log)
}

// Key writes a key: before each value of a map, or as a value. It must not hold
// a zero byte. Equal keys are written once.
func (b *Builder) Key(k string) {
	at, ok := b.keys[k]
	if !ok {
		if strings.IndexByte(k, 0) >= 0 {
			panic("flexbuf: a key with a zero byte")
		}
		at = uint64(len(b.buf))
		b.buf = append(append(b.buf, k...), 0)
		if b.keys == nil {
			b.keys = make(map[string]uint64)
		}
		b.keys[k] = at
	}
	b.push(at, Key, 0)
}

// StartVector starts a vector and returns what EndVector needs.
func (b *Builder) StartVector() int { return len(b.stack) }

// EndVector ends a vector. A typed one has values of one kind, int, uint, float,
// bool or key, and no types of its own.
func (b *Builder) EndVector(start int, typed bool) {
	v := b.vector(start, 1, typed, nil)
	b.stack = append(b.stack[:start], v)
}

// StartMap starts a map, in which each value follows its Key, and returns what EndMap
// needs.
func (b *Builder) StartMap() int { return len(b.stack) }

// EndMap ends a map and sorts it by its keys. A key that stands twice panics.
func (b *Builder) EndMap(start int) {
	entries := b.stack[start:]
	if len(entries)%2 != 0 {
		panic("flexbuf: a map with a key and no value")
	}
	pairs := make([][2]value, len(entries)/2)
	for i := range pairs {
		pairs[i] = [2]value{entries[2*i], entries[2*i+1]}
		if pairs[i][0].kind != Key {
			panic("flexbuf: a value of a map without its key")
		}
	}
	sort.Slice(pairs, func(i, j int) bool { return b.keyAt(pairs[i][0]) < b.keyAt(pairs[j][0]) })
	for i, p := range pairs {
		if i > 0 && p[0].bits == pairs[i-1][0].bits {
			panic("flexbuf: a key that stands twice: " + b.keyAt(p[0]))
		}
		entries[2*i], entries[2*i+1] = p[0], p[1]
	}
	keys := b.vector(start, 2, true, nil)
	v := b.vector(start+1, 2, false, &keys)
	b.stack = append(b.stack[:start], v)
}

func (b *Builder) keyAt(v value) string { return string(key(b.buf, int(v.bits))) }

// vector writes every step-th value from start on as a vector, or with keys as
// the values of a map.
func (b *Builder) vector(start, step int, typed bool, keys *value) value {
	if start < 0 || start > len(b.stack)+1 {
		panic("flexbuf: the end of what was not started")
	}
	n := max(0, (len(b.stack)-start+step-1)/step)
	log := logUint(uint64(n))
	before := 1 // elements before the first
	if keys != nil {
		log = max(log, b.logOf(*keys, 0))
		before = 3
	}
	kind := Key
	for i := range n {
		v := b.stack[start+i*step]
		log = max(log, b.logOf(v, i+before))
		if i == 0 {
			kind = v.kind
		}
		if typed && (v.kind != kind || !v.kind.inline() && v.kind != Key || v.kind == Null) {
			panic("flexbuf: a typed vector of " + kind.String() + " with a " + v.kind.String())
		}
	}
	b.align(log)
	if keys != nil {
		b.any(*keys, log)
		b.number(1<<keys.log, log)
	}
	b.number(uint64(n), log)
	at := len(b.buf)
	for i := range n {
		b.any(b.stack[start+i*step], log)
	}
	switch {
	case keys != nil:
		b.types(start, step, n, log)
		return value{uint64(at), Map, log}
	case !typed:
		b.types(start, step, n, log)
		return value{uint64(at), Vector, log}
	case kind == Bool:
		return value{uint64(at), VectorBool, log}
	default:
		return value{uint64(at), kind - Int + VectorInt, log}
	}
}

func (b *Builder) types(start, step, n int, log uint8) {
	for i := range n {
		b.buf = append(b.buf, b.stack[start+i*step].packed(log))
	}
}

// packed returns the type of v in a vector of 1<<log bytes for each element.
func (v value) packed(log uint8) uint8 {
	if v.kind.inline() {
		return uint8(v.kind)<<2 | max(v.log, log)
	}
	return uint8(v.kind)<<2 | v.log
}

// logOf returns the log of the bytes that v needs as the i-th element of a
// vector that is written next. An offset is longer the wider the elements are.
func (b *Builder) logOf(v value, i int) uint8 {
	if v.kind.inline() {
		return v.log
	}
	for log := range uint8(4) {
		size := 1 << log
		at := (len(b.buf)+size-1)&^(size-1) + i*size
		if logUint(uint64(at)-v.bits) <= log {
			return log
		}
	}
	return 3
}

func (b *Builder) align(log uint8) {
	for len(b.buf)&(1<<log-1) != 0 {
		b.buf = append(b.buf, 0)
	}
}

// any writes v as an element of 1<<log bytes.
func (b *Builder) any(v value, log uint8) {
	switch {
	case v.kind == Float && log == 2:
		b.number(uint64(math.Float32bits(float32(math.Float64frombits(v.bits)))), log)
	case v.kind.inline():
		b.number(v.bits, log)
	default:
		b.number(uint64(len(b.buf))-v.bits, log)
	}
}

func (b *Builder) number(v uint64, log uint8) {
	var all [8]byte
	binary.LittleEndian.PutUint64(all[:], v)
	b.buf = append(b.buf, all[:1<<log]...)
}

// Finish ends the buffer, whose root is the only value, and returns it. The
// result aliases the builder's memory until the next Reset.
func (b *Builder) Finish() []byte {
	if len(b.stack) != 1 || b.finished {
		panic("flexbuf: a buffer has one root")
	}
	b.finished = true
	root := b.stack[0]
	log := b.logOf(root, 0)
	b.align(log)
	b.any(root, log)
	b.buf = append(b.buf, root.packed(0), 1<<log)
	return b.buf
}

// Append writes a Go value: nil, bool, int, int64, uint64, float64, string, []byte,
// []any and map[string]any, nested at most DefaultDepth deep. Others are a *diag.Fault, and what was
// written of it is forgotten.
func (b *Builder) Append(v any) error {
	depth := len(b.stack)
	f := b.append(v, DefaultDepth)
	if f != nil {
		b.stack = b.stack[:depth]
		return f
	}
	return nil
}

func (b *Builder) append(v any, depth int) *diag.Fault {
	if depth < 0 {
		return diag.NewFault(diag.DepthLimit, -1, "nested too deeply")
	}
	switch v := v.(type) {
	case nil:
		b.Null()
	case bool:
		b.Bool(v)
	case int:
		b.Int(int64(v))
	case int64:
		b.Int(v)
	case uint64:
		b.Uint(v)
	case float64:
		b.Float(v)
	case string:
		b.String(v)
	case []byte:
		b.Blob(v)
	case []any:
		start := b.StartVector()
		for i, e := range v {
			if f := b.append(e, depth-1); f != nil {
				return f.Index(i)
			}
		}
		b.EndVector(start, false)
	case map[string]any:
		return b.appendMap(v, depth)
	default:
		return diag.NewFault(diag.Unsupported, -1, fmt.Sprintf("the Go type %T is not supported", v))
	}
	return nil
}

func (b *Builder) appendMap(m map[string]any, depth int) *diag.Fault {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names) // so that equal maps have equal bytes
	start := b.StartMap()
	for _, name := range names {
		if strings.IndexByte(name, 0) >= 0 {
			return diag.NewFault(diag.InvalidValue, -1, "a key with a zero byte").Field(name)
		}
		b.Key(name)
		if f := b.append(m[name], depth-1); f != nil {
			return f.Field(name)
		}
	}
	b.EndMap(start)
	return nil
}
