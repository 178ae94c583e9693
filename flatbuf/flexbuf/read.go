package flexbuf

import (
	"bytes"
	"math"
	"sort"

	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds the reading of values.

// Ref is a value in a buffer. The zero value is null.
type Ref struct {
	b      []byte
	pos    int   // of the value, or of the offset that leads to it
	parent uint8 // bytes of the value or the offset: 1, 2, 4 or 8
	width  uint8 // bytes of what is inside the value, if it is elsewhere
	kind   Kind
}

// Root returns the value of the buffer b, null for one that is too short.
func Root(b []byte) Ref {
	n := len(b)
	if n < 3 {
		return Ref{}
	}
	width := b[n-1]
	if !validWidth(uint64(width)) || int(width) > n-2 {
		return Ref{}
	}
	return makeRef(b, n-2-int(width), width, b[n-2])
}

func validWidth(w uint64) bool { return w == 1 || w == 2 || w == 4 || w == 8 }

func makeRef(b []byte, pos int, parent, packed uint8) Ref {
	r := Ref{b: b, pos: pos, parent: parent, width: 1 << (packed & 3), kind: Kind(packed >> 2)}
	if !r.kind.valid() {
		return Ref{}
	}
	return r
}

// Kind returns what r is.
func (r Ref) Kind() Kind { return r.kind }

// IsNull reports whether r is null, or nothing.
func (r Ref) IsNull() bool { return r.kind == Null }

// load returns the unsigned number of w bytes at pos, 0 outside of b.
func load(b []byte, pos int, w uint8) uint64 {
	switch w {
	case 1:
		return uint64(flatwire.U8(b, pos))
	case 2:
		return uint64(flatwire.U16(b, pos))
	case 4:
		return uint64(flatwire.U32(b, pos))
	default:
		return flatwire.U64(b, pos)
	}
}

func loadInt(b []byte, pos int, w uint8) int64 {
	shift := 64 - 8*uint(w)
	return int64(load(b, pos, w)<<shift) >> shift
}

func loadFloat(b []byte, pos int, w uint8) float64 {
	switch w {
	case 4:
		return float64(flatwire.F32(b, pos))
	case 8:
		return flatwire.F64(b, pos)
	default:
		return 0 // the format has no floats of 8 or 16 bits that anybody writes
	}
}

// follow returns the position that the offset of w bytes at pos leads back to,
// or -1. What is empty may stand where its offset does.
func follow(b []byte, pos int, w uint8) int {
	off := load(b, pos, w)
	if pos < 0 || off > uint64(pos) {
		return -1
	}
	return pos - int(off)
}

// target returns where what r refers to starts, or -1.
func (r Ref) target() int { return follow(r.b, r.pos, r.parent) }

// number returns place and width of a number and its kind, indirect or not.
func (r Ref) number() (pos int, w uint8, kind Kind) {
	if r.kind >= IndirectInt && r.kind <= IndirectFloat {
		return r.target(), r.width, r.kind - IndirectInt + Int
	}
	return r.pos, r.parent, r.kind
}

// Int returns a number as an int64: floats are cut and bools are 0 or 1. It is 0 for
// other kinds.
func (r Ref) Int() int64 {
	switch pos, w, kind := r.number(); kind {
	case Int:
		return loadInt(r.b, pos, w)
	case Uint, Bool:
		return int64(load(r.b, pos, w))
	case Float:
		return int64(loadFloat(r.b, pos, w))
	default:
		return 0
	}
}

// Uint is Int for a uint64.
func (r Ref) Uint() uint64 {
	if pos, w, kind := r.number(); kind == Float {
		return uint64(loadFloat(r.b, pos, w))
	}
	return uint64(r.Int())
}

// Float is Int for a float64.
func (r Ref) Float() float64 {
	switch pos, w, kind := r.number(); kind {
	case Float:
		return loadFloat(r.b, pos, w)
	case Uint, Bool:
		return float64(load(r.b, pos, w))
	default:
		return float64(r.Int())
	}
}

// Bool reports whether r is a number or bool other than 0.
func (r Ref) Bool() bool {
	if _, _, kind := r.number(); kind == Float {
		return r.Float() != 0
	}
	return r.Int() != 0
}

// Bytes returns the bytes of a string, key or blob, nil for other kinds. The
// result aliases the buffer.
func (r Ref) Bytes() []byte {
	switch r.kind {
	case Key:
		return key(r.b, r.target())
	case String, Blob:
		at := r.target()
		n := r.length(at)
		if at < 0 || n > uint64(len(r.b)-at) {
			return nil
		}
		return r.b[at : at+int(n) : at+int(n)]
	default:
		return nil
	}
}

// key returns the bytes from at to the next zero byte.
func key(b []byte, at int) []byte {
	if at < 0 || at >= len(b) {
		return nil
	}
	n := bytes.IndexByte(b[at:], 0)
	if n < 0 {
		return nil
	}
	return b[at : at+n : at+n]
}

// length returns the length that stands before at, in r.width bytes.
func (r Ref) length(at int) uint64 {
	if at < int(r.width) {
		return 0
	}
	return load(r.b, at-int(r.width), r.width)
}

// Text returns a string, key or blob as a copy, "" for other kinds.
func (r Ref) Text() string { return string(r.Bytes()) }

// Len returns the number of elements of a vector or map, or of bytes of a
// string, key or blob.
func (r Ref) Len() int {
	if r.kind == Key || r.kind == String || r.kind == Blob {
		return len(r.Bytes())
	}
	_, n := r.elements()
	return n
}

// elements returns where the elements of a vector or map start, and how many
// there are: -1 and none if they do not lie in the buffer.
func (r Ref) elements() (start, n int) {
	if r.kind != Map && r.kind != Vector && !r.kind.typed() {
		return -1, 0
	}
	at := r.target()
	if at < 0 {
		return -1, 0
	}
	count := uint64(r.kind.fixedLen())
	if count == 0 {
		count = r.length(at)
	}
	size := uint64(r.width)
	if !r.kind.typed() {
		size++ // the type
	}
	if count > uint64(len(r.b)-at)/size {
		return -1, 0
	}
	return at, int(count)
}

// Index returns the i-th element of a vector, or value of a map, null if there
// is none.
func (r Ref) Index(i int) Ref {
	start, n := r.elements()
	if i < 0 || i >= n {
		return Ref{}
	}
	pos := start + i*int(r.width)
	if r.kind.typed() {
		return Ref{b: r.b, pos: pos, parent: r.width, width: 1, kind: r.kind.elem()}
	}
	return makeRef(r.b, pos, r.width, r.b[start+n*int(r.width)+i])
}

// keys returns the vector of a map's keys.
func (r Ref) keys() Ref {
	at := r.target()
	if w := int(r.width); r.kind == Map && at >= 3*w {
		if kw := load(r.b, at-2*w, r.width); validWidth(kw) {
			return Ref{b: r.b, pos: at - 3*w, parent: r.width, width: uint8(kw), kind: VectorKey}
		}
	}
	return Ref{}
}

// Key returns the i-th key of a map, in the order of their bytes, or "".
func (r Ref) Key(i int) string { return r.keys().Index(i).Text() }

// Field returns the value of a map under a key, null if there is none.
func (r Ref) Field(name string) Ref {
	keys := r.keys()
	n := min(keys.Len(), r.Len())
	i := sort.Search(n, func(i int) bool { return string(keys.Index(i).Bytes()) >= name })
	if i < n && string(keys.Index(i).Bytes()) == name {
		return r.Index(i)
	}
	return Ref{}
}

// DefaultDepth is the nesting of vectors and maps that Any and Verify follow.
const DefaultDepth = 64

// Any returns r as a Go value: nil, bool, int64, uint64, float64, string (of
// strings and keys), []byte, []any or map[string]any. What is nested more than DefaultDepth
// levels deep is nil, and so is the rest of a buffer whose parts are shared so often that it
// would be more than 16 values for each of its bytes.
func (r Ref) Any() any {
	budget := min(len(r.b), math.MaxInt/16) * 16
	return r.any(DefaultDepth, &budget)
}

func (r Ref) any(depth int, budget *int) any {
	if *budget--; *budget < 0 || depth < 0 {
		return nil
	}
	switch _, _, kind := r.number(); {
	case kind == Bool:
		return r.Bool()
	case kind == Int:
		return r.Int()
	case kind == Uint:
		return r.Uint()
	case kind == Float:
		return r.Float()
	case kind == String || kind == Key || kind == Blob:
		text := r.Bytes()
		if *budget -= len(text); *budget < 0 {
			return nil
		}
		if kind == Blob {
			return append([]byte{}, text...)
		}
		return string(text)
	case kind == Map:
		m := make(map[string]any)
		for i := range r.Len() {
			k := r.Key(i)
			if *budget -= len(k); *budget < 0 {
				break
			}
			m[k] = r.Index(i).any(depth-1, budget)
		}
		return m
	case kind == Vector || kind.typed():
		list := []any{}
		for i := range r.Len() {
			if *budget < 0 {
				break
			}
			list = append(list, r.Index(i).any(depth-1, budget))
		}
		return list
	default:
		return nil
	}
}
