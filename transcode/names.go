package transcode

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
)

// This file looks names up: of fields, of enumerators.

// nameTable finds the index of a name in a fixed list: an open-addressing hash
// table at most half full. Its contents come from the schema, so hostile input
// cannot make it slower than its own names do.
type nameTable struct {
	names []string
	slots []int32 // index + 1, 0 if free; a power of two
}

func newNameTable(names []string) nameTable {
	size := 4
	for size < 2*len(names) {
		size *= 2
	}
	t := nameTable{names: names, slots: make([]int32, size)}
	for i, name := range names {
		h := int(hashName([]byte(name))) & (size - 1)
		for t.slots[h] != 0 {
			h = (h + 1) & (size - 1)
		}
		t.slots[h] = int32(i) + 1
	}
	return t
}

// find returns the index of name, or -1.
func (t *nameTable) find(name []byte) int {
	mask := len(t.slots) - 1
	for h := int(hashName(name)) & mask; ; h = (h + 1) & mask {
		i := int(t.slots[h]) - 1
		if i < 0 || string(name) == t.names[i] {
			return i
		}
	}
}

// hashName mixes the length and both ends of a name.
func hashName(b []byte) uint32 {
	var head, tail uint64
	switch n := len(b); {
	case n >= 8:
		head, tail = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		head, tail = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		head, tail = uint64(b[0]), uint64(b[n/2])<<8|uint64(b[n-1])
	}
	h := (head ^ tail*0x9e3779b97f4a7c15) + uint64(len(b))
	return uint32((h * 0xd6e8feb86659fd93) >> 32)
}

// expected is a text that is likely to stand at a place of the input, as the
// words that it begins and ends with.
type expected struct {
	first, last uint64
	mask        uint64 // what counts of both words
	tail        int    // where the last word starts
	size, room  int    // of the text, and of the input that is looked at
	middle      string // what is between the words
}

func expect(text []byte) expected {
	e := expected{mask: ^uint64(0), size: len(text), room: max(len(text), 8), tail: max(len(text)-8, 0)}
	word := make([]byte, e.room)
	copy(word, text)
	e.first, e.last = binary.LittleEndian.Uint64(word), binary.LittleEndian.Uint64(word[e.tail:])
	if len(text) < 8 {
		e.mask >>= 64 - 8*len(text)
	}
	if e.tail > 8 {
		e.middle = string(text[8:e.tail])
	}
	return e
}

// at reports whether the text stands at p. It may say no near the end of in
// where it does.
func (e *expected) at(in []byte, p int) bool {
	if len(in)-p < e.room {
		return false
	}
	in = in[p : p+e.room]
	return (binary.LittleEndian.Uint64(in)^e.first)&e.mask|(binary.LittleEndian.Uint64(in[e.tail:])^e.last)&e.mask == 0 &&
		(len(e.middle) == 0 || string(in[8:8+len(e.middle)]) == e.middle)
}

// enumTable is an enum.
type enumTable struct {
	name   string
	names  nameTable
	values []int32 // by index in names
	// quoted holds the names as JSON by value: directly from low on, or,
	// where the values lie far apart, beside the sorted values in far.
	low    int32
	quoted [][]byte
	far    []int32
}

// span bounds the table of an enum's names by value.
const span = 1024

func (k *compiler) enum(d *schema.EnumDef) (*enumTable, error) {
	if e := k.enums[d]; e != nil {
		return e, nil
	}
	e := &enumTable{name: d.Name()}
	k.enums[d] = e
	var names []string
	var distinct []int32
	for _, v := range d.Values() {
		if v.Value < math.MinInt32 || v.Value > math.MaxInt32 {
			return nil, diag.NewFault(diag.Unsupported, -1, fmt.Sprintf("%s.%s = %d does not fit 32 bits", d.Name(), v.Name, v.Value))
		}
		names = append(names, v.Name)
		e.values = append(e.values, int32(v.Value))
		if d.ByValue(v.Value) == v {
			distinct = append(distinct, int32(v.Value))
		}
	}
	e.names = newNameTable(names)
	if len(distinct) == 0 {
		return e, nil
	}
	sort.Slice(distinct, func(i, j int) bool { return distinct[i] < distinct[j] })
	quote := func(v int32) []byte {
		return jsonwire.AppendQuotedLossy(nil, []byte(d.ByValue(int64(v)).Name))
	}
	e.low = distinct[0]
	if width := int64(distinct[len(distinct)-1]) - int64(e.low); width < span {
		e.quoted = make([][]byte, width+1)
		for _, v := range distinct {
			e.quoted[v-e.low] = quote(v)
		}
		return e, nil
	}
	e.far = distinct
	for _, v := range distinct {
		e.quoted = append(e.quoted, quote(v))
	}
	return e, nil
}

// jsonName returns the name of v as JSON, or nil if it has none.
func (e *enumTable) jsonName(v int32) []byte {
	if e.far == nil {
		if i := int64(v) - int64(e.low); i >= 0 && i < int64(len(e.quoted)) {
			return e.quoted[i]
		}
		return nil
	}
	i := sort.Search(len(e.far), func(i int) bool { return e.far[i] >= v })
	if i < len(e.far) && e.far[i] == v {
		return e.quoted[i]
	}
	return nil
}
