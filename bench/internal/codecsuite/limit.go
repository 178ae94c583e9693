package codecsuite

import (
	"encoding/binary"
	"math"
	"strings"
	"unsafe"

	"github.com/thrum-rpc/thrum/bench/internal/gen/kitex/shapes"
)

// The peer "limit": the same work as a person would write it by hand for one
// type, to know what is left to gain. Encoding measures first, then stores at
// known offsets without growing. Decoding takes fields only in their order and
// in the types that the encoder writes, cuts texts from 16 KiB chunks and makes
// the structs of a list or map as one array.

// limit is the hand-written work for T.
type limit[T any] struct {
	size   func(*T) int
	put    func([]byte, *T) int // stores into a slice that is long enough
	decode func(*reader, *T)

	// In the compact protocol, or nil.
	compactSize func(*T) int
	compactPut  func([]byte, *T) int
}

func leafLimit() *limit[shapes.Leaf] {
	return &limit[shapes.Leaf]{
		size: leafSize, put: putLeaf, decode: readLeaf, compactSize: leafCompactSize, compactPut: putCompactLeaf,
	}
}
func branchLimit() *limit[shapes.Branch] {
	return &limit[shapes.Branch]{size: branchSize, put: putBranch, decode: readBranch, compactSize: branchCompactSize, compactPut: putCompactBranch}
}
func treeLimit() *limit[shapes.Tree] {
	return &limit[shapes.Tree]{size: treeSize, put: putTree, decode: readTree, compactSize: treeCompactSize, compactPut: putCompactTree}
}
func listI64Limit() *limit[shapes.ListI64] {
	return &limit[shapes.ListI64]{
		size: func(l *shapes.ListI64) int { return 9 + 8*len(l.Values) },
		put: func(b []byte, l *shapes.ListI64) int {
			n := putI64s(b, 1, l.Values)
			b[n] = 0
			return n + 1
		},
		decode: func(r *reader, l *shapes.ListI64) {
			l.Values = r.i64s(1)
			r.stop()
		},
	}
}

const (
	tByte, tDouble, tI32, tI64, tString, tStruct, tMap, tList = 3, 4, 8, 10, 11, 12, 13, 15

	chunkSize = 16 << 10
)

func leafSize(l *shapes.Leaf) int { return 55 + len(l.Label) + len(l.Payload) }

func branchSize(v *shapes.Branch) int {
	n := 15*3 + 1 + 4 + len(v.Label) + 5 + 8 + 4 + 5 + 4*len(v.Counts) + 8 + 6 + leafSize(v.Leaf) + 6 + 12*len(v.Totals) +
		5 + 4 + len(v.Payload) + 6 + 5 + 8*len(v.Ids) + 1 + 6
	for _, l := range v.Leaves {
		n += leafSize(l)
	}
	for k, s := range v.Labels {
		n += 8 + len(k) + len(s)
	}
	for _, s := range v.Names {
		n += 4 + len(s)
	}
	for _, s := range v.NamesById {
		n += 12 + len(s)
	}
	for k, l := range v.LeavesByName {
		n += 4 + len(k) + leafSize(l)
	}
	return n
}

func treeSize(v *shapes.Tree) int {
	n := 10*3 + 1 + 6 + leafSize(v.Leaf) + 1 + 8 + 5 + 8 + branchSize(v.Branch) + 4 + len(v.Payload) + 4 + len(v.Label) + 4
	for k, b := range v.BranchesByLeaf {
		n += leafSize(k) + branchSize(b)
	}
	for _, b := range v.Branches {
		n += branchSize(b)
	}
	return n
}

func put32(b []byte, v uint32) { binary.BigEndian.PutUint32(b, v) }
func put64(b []byte, v uint64) { binary.BigEndian.PutUint64(b, v) }

// header stores a field's header and returns its length.
func header(b []byte, t, id byte) int {
	b[0], b[1], b[2] = t, 0, id
	return 3
}

func putText[S ~string | ~[]byte](b []byte, s S) int {
	put32(b, uint32(len(s)))
	return 4 + copy(b[4:], s)
}

// listHeader stores the headers of a field and of its list.
func listHeader(b []byte, id, elem byte, n int) int {
	b[0], b[1], b[2], b[3] = tList, 0, id, elem
	put32(b[4:], uint32(n))
	return 8
}

// mapHeader stores the headers of a field and of its map.
func mapHeader(b []byte, id, key, elem byte, n int) int {
	b[0], b[1], b[2], b[3], b[4] = tMap, 0, id, key, elem
	put32(b[5:], uint32(n))
	return 9
}

func putI64s(b []byte, id byte, v []int64) int {
	n := listHeader(b, id, tI64, len(v))
	end := n + 8*len(v)
	for b = b[n:end]; len(v) >= 4 && len(b) >= 32; v, b = v[4:], b[32:] {
		put64(b, uint64(v[0]))
		put64(b[8:], uint64(v[1]))
		put64(b[16:], uint64(v[2]))
		put64(b[24:], uint64(v[3]))
	}
	for _, x := range v {
		put64(b, uint64(x))
		b = b[8:]
	}
	return end
}

func putLeaf(b []byte, l *shapes.Leaf) int {
	_ = b[54]
	put32(b, tByte<<24|1<<8|uint32(uint8(l.Level)))
	put32(b[4:], tI64<<24|2<<8)
	put64(b[7:], uint64(l.Id))
	put32(b[15:], tDouble<<24|3<<8)
	put64(b[18:], math.Float64bits(l.Weight))
	put64(b[26:], tI32<<56|4<<40|uint64(uint32(l.Count))<<8|tString)
	put64(b[33:], tString<<56|5<<40|uint64(uint32(len(l.Label)))<<8)
	n := 40 + copy(b[40:], l.Label)
	put64(b[n:], tString<<56|6<<40|uint64(uint32(len(l.Payload)))<<8)
	n += 7
	n += copy(b[n:], l.Payload)
	put64(b[n:], tI32<<56|7<<40|uint64(uint32(l.Kind))<<8)
	return n + 8
}

func putBranch(b []byte, v *shapes.Branch) int {
	n := header(b, tString, 1)
	n += putText(b[n:], v.Label)
	n += listHeader(b[n:], 2, tStruct, len(v.Leaves))
	for _, l := range v.Leaves {
		n += putLeaf(b[n:], l)
	}
	n += header(b[n:], tDouble, 3)
	put64(b[n:], math.Float64bits(v.Weight))
	n += 8 + header(b[n+8:], tI32, 4)
	put32(b[n:], uint32(v.Count))
	n += 4 + listHeader(b[n+4:], 5, tI32, len(v.Counts))
	for _, x := range v.Counts {
		put32(b[n:], uint32(x))
		n += 4
	}
	n += header(b[n:], tI64, 6)
	put64(b[n:], uint64(v.Id))
	n += 8 + mapHeader(b[n+8:], 7, tString, tString, len(v.Labels))
	for k, s := range v.Labels {
		n += putText(b[n:], k)
		n += putText(b[n:], s)
	}
	n += header(b[n:], tStruct, 8)
	n += putLeaf(b[n:], v.Leaf)
	n += mapHeader(b[n:], 9, tI32, tI64, len(v.Totals))
	for k, x := range v.Totals {
		put32(b[n:], uint32(k))
		put64(b[n+4:], uint64(x))
		n += 12
	}
	n += listHeader(b[n:], 10, tString, len(v.Names))
	for _, s := range v.Names {
		n += putText(b[n:], s)
	}
	n += header(b[n:], tString, 11)
	n += putText(b[n:], v.Payload)
	n += mapHeader(b[n:], 12, tI64, tString, len(v.NamesById))
	for k, s := range v.NamesById {
		put64(b[n:], uint64(k))
		n += 8 + putText(b[n+8:], s)
	}
	n += putI64s(b[n:], 13, v.Ids)
	n += header(b[n:], tByte, 14)
	b[n] = byte(v.Level)
	n += 1 + mapHeader(b[n+1:], 15, tString, tStruct, len(v.LeavesByName))
	for k, l := range v.LeavesByName {
		n += putText(b[n:], k)
		n += putLeaf(b[n:], l)
	}
	b[n] = 0
	return n + 1
}

func putTree(b []byte, v *shapes.Tree) int {
	n := mapHeader(b, 1, tStruct, tStruct, len(v.BranchesByLeaf))
	for k, x := range v.BranchesByLeaf {
		n += putLeaf(b[n:], k)
		n += putBranch(b[n:], x)
	}
	n += header(b[n:], tStruct, 2)
	n += putLeaf(b[n:], v.Leaf)
	n += header(b[n:], tByte, 3)
	b[n] = byte(v.Level)
	n += 1 + header(b[n+1:], tDouble, 4)
	put64(b[n:], math.Float64bits(v.Weight))
	n += 8 + listHeader(b[n+8:], 5, tStruct, len(v.Branches))
	for _, x := range v.Branches {
		n += putBranch(b[n:], x)
	}
	n += header(b[n:], tI64, 6)
	put64(b[n:], uint64(v.Id))
	n += 8 + header(b[n+8:], tStruct, 7)
	n += putBranch(b[n:], v.Branch)
	n += header(b[n:], tString, 8)
	n += putText(b[n:], v.Payload)
	n += header(b[n:], tString, 9)
	n += putText(b[n:], v.Label)
	n += header(b[n:], tI32, 11)
	put32(b[n:], uint32(v.Count))
	b[n+4] = 0
	return n + 5
}

// reader decodes from the front of b. It panics with a bounds error on short
// input and sets bad on input that it does not expect, which is enough for
// messages that were just written.
type reader struct {
	b     []byte
	bad   bool
	text  *strings.Builder // a chunk that strings are cut from
	bytes []byte           // a chunk that binaries are cut from
	alias bool             // texts point into b instead
}

func newReader() *reader { return &reader{text: &strings.Builder{}} }

func (r *reader) expect(head uint32) {
	if binary.BigEndian.Uint32(r.b)>>8 != head {
		r.bad = true
	}
	r.b = r.b[3:]
}

func (r *reader) stop() {
	r.bad = r.bad || r.b[0] != 0
	r.b = r.b[1:]
}

func (r *reader) i8() int8 {
	v := r.b[0]
	r.b = r.b[1:]
	return int8(v)
}

func (r *reader) i32() int32 {
	v := binary.BigEndian.Uint32(r.b)
	r.b = r.b[4:]
	return int32(v)
}

func (r *reader) i64() int64 {
	v := binary.BigEndian.Uint64(r.b)
	r.b = r.b[8:]
	return int64(v)
}

func (r *reader) double() float64 { return math.Float64frombits(uint64(r.i64())) }

// string copies into the chunk; a Builder that need not grow never moves what
// it handed out.
func (r *reader) string() string {
	n := int(r.i32())
	src := r.b[:n]
	r.b = r.b[n:]
	if r.alias {
		return unsafe.String(unsafe.SliceData(src), n)
	}
	if n > chunkSize/4 {
		return string(src)
	}
	if r.text.Cap()-r.text.Len() < n {
		r.text = &strings.Builder{}
		r.text.Grow(chunkSize)
	}
	at := r.text.Len()
	r.text.Write(src)
	return r.text.String()[at:]
}

func (r *reader) binary() []byte {
	n := int(r.i32())
	src := r.b[:n]
	r.b = r.b[n:]
	if r.alias {
		return src[:n:n]
	}
	if cap(r.bytes)-len(r.bytes) < n {
		r.bytes = make([]byte, 0, max(chunkSize, n))
	}
	at := len(r.bytes)
	r.bytes = append(r.bytes, src...)
	return r.bytes[at:len(r.bytes):len(r.bytes)]
}

func (r *reader) list(id, elem uint32) int {
	r.expect(tList<<16 | id)
	r.bad = r.bad || r.b[0] != byte(elem)
	n := binary.BigEndian.Uint32(r.b[1:])
	r.b = r.b[5:]
	return int(n)
}

func (r *reader) table(id, key, elem uint32) int {
	r.expect(tMap<<16 | id)
	r.bad = r.bad || r.b[0] != byte(key) || r.b[1] != byte(elem)
	n := binary.BigEndian.Uint32(r.b[2:])
	r.b = r.b[6:]
	return int(n)
}

func (r *reader) i64s(id uint32) []int64 {
	v := make([]int64, r.list(id, tI64))
	b := r.b[:8*len(v)]
	r.b = r.b[len(b):]
	to := v
	for ; len(to) >= 4 && len(b) >= 32; to, b = to[4:], b[32:] {
		to[0] = int64(binary.BigEndian.Uint64(b))
		to[1] = int64(binary.BigEndian.Uint64(b[8:]))
		to[2] = int64(binary.BigEndian.Uint64(b[16:]))
		to[3] = int64(binary.BigEndian.Uint64(b[24:]))
	}
	for i := range to {
		to[i] = int64(binary.BigEndian.Uint64(b[8*i:]))
	}
	return v
}

func readLeaf(r *reader, l *shapes.Leaf) {
	b := r.b
	_ = b[39]
	if binary.BigEndian.Uint32(b)>>8 != tByte<<16|1 || binary.BigEndian.Uint32(b[4:])>>8 != tI64<<16|2 ||
		binary.BigEndian.Uint32(b[15:])>>8 != tDouble<<16|3 || binary.BigEndian.Uint32(b[26:])>>8 != tI32<<16|4 {
		r.bad = true
		return
	}
	l.Level = int8(b[3])
	l.Id = int64(binary.BigEndian.Uint64(b[7:]))
	l.Weight = math.Float64frombits(binary.BigEndian.Uint64(b[18:]))
	l.Count = int32(binary.BigEndian.Uint32(b[29:]))
	r.b = b[33:]
	r.expect(tString<<16 | 5)
	l.Label = r.string()
	r.expect(tString<<16 | 6)
	l.Payload = r.binary()
	r.expect(tI32<<16 | 7)
	l.Kind = shapes.Kind(r.i32())
	r.stop()
}

func readBranch(r *reader, v *shapes.Branch) {
	r.expect(tString<<16 | 1)
	v.Label = r.string()
	leaves := make([]shapes.Leaf, r.list(2, tStruct))
	v.Leaves = make([]*shapes.Leaf, len(leaves))
	for i := range leaves {
		readLeaf(r, &leaves[i])
		v.Leaves[i] = &leaves[i]
	}
	r.expect(tDouble<<16 | 3)
	v.Weight = r.double()
	r.expect(tI32<<16 | 4)
	v.Count = r.i32()
	v.Counts = make([]int32, r.list(5, tI32))
	for i := range v.Counts {
		v.Counts[i] = r.i32()
	}
	r.expect(tI64<<16 | 6)
	v.Id = r.i64()
	n := r.table(7, tString, tString)
	v.Labels = make(map[string]string, n)
	for range n {
		k := r.string()
		v.Labels[k] = r.string()
	}
	r.expect(tStruct<<16 | 8)
	v.Leaf = new(shapes.Leaf)
	readLeaf(r, v.Leaf)
	n = r.table(9, tI32, tI64)
	v.Totals = make(map[int32]int64, n)
	for range n {
		k := r.i32()
		v.Totals[k] = r.i64()
	}
	v.Names = make([]string, r.list(10, tString))
	for i := range v.Names {
		v.Names[i] = r.string()
	}
	r.expect(tString<<16 | 11)
	v.Payload = r.binary()
	n = r.table(12, tI64, tString)
	v.NamesById = make(map[int64]string, n)
	for range n {
		k := r.i64()
		v.NamesById[k] = r.string()
	}
	v.Ids = r.i64s(13)
	r.expect(tByte<<16 | 14)
	v.Level = r.i8()
	leaves = make([]shapes.Leaf, r.table(15, tString, tStruct))
	v.LeavesByName = make(map[string]*shapes.Leaf, len(leaves))
	for i := range leaves {
		k := r.string()
		readLeaf(r, &leaves[i])
		v.LeavesByName[k] = &leaves[i]
	}
	r.stop()
}

func readTree(r *reader, v *shapes.Tree) {
	keys := make([]shapes.Leaf, r.table(1, tStruct, tStruct))
	branches := make([]shapes.Branch, len(keys))
	v.BranchesByLeaf = make(map[*shapes.Leaf]*shapes.Branch, len(keys))
	for i := range keys {
		readLeaf(r, &keys[i])
		readBranch(r, &branches[i])
		v.BranchesByLeaf[&keys[i]] = &branches[i]
	}
	r.expect(tStruct<<16 | 2)
	v.Leaf = new(shapes.Leaf)
	readLeaf(r, v.Leaf)
	r.expect(tByte<<16 | 3)
	v.Level = r.i8()
	r.expect(tDouble<<16 | 4)
	v.Weight = r.double()
	branches = make([]shapes.Branch, r.list(5, tStruct))
	v.Branches = make([]*shapes.Branch, len(branches))
	for i := range branches {
		readBranch(r, &branches[i])
		v.Branches[i] = &branches[i]
	}
	r.expect(tI64<<16 | 6)
	v.Id = r.i64()
	r.expect(tStruct<<16 | 7)
	v.Branch = new(shapes.Branch)
	readBranch(r, v.Branch)
	r.expect(tString<<16 | 8)
	v.Payload = r.binary()
	r.expect(tString<<16 | 9)
	v.Label = r.string()
	r.expect(tI32<<16 | 11)
	v.Count = r.i32()
	r.stop()
}
