package dynamicsuite

import (
	"encoding/binary"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the limit: two works written by hand for each type, which
// know the order of its fields and refuse any other.

// hand goes over a message and copies parts of it.
type hand struct {
	b, dst []byte
	pos    int
	bad    bool
}

// limitWorks makes the works of a shape: find returns the place of what get-one
// looks for.
func limitWorks(find func(h *hand) int, trim func(h *hand)) func(*shape) contender {
	return func(s *shape) contender {
		return contender{"limit", map[string]func() (job, error){
			"get-one": func() (job, error) {
				return bytesJob(func() ([]byte, error) {
					h := hand{b: s.message}
					at := find(&h)
					if h.bad {
						return nil, errRest
					}
					return s.message[at:h.pos:h.pos], nil
				}), nil
			},
			"trim": func() (job, error) {
				buf := make([]byte, 0, len(s.message)+16)
				return bytesJob(func() ([]byte, error) {
					h := hand{b: s.message, dst: buf}
					trim(&h)
					if h.bad || h.pos != len(s.message) {
						return nil, errRest
					}
					return h.dst, nil
				}), nil
			},
		}}
	}
}

var (
	limitSmall  = limitWorks(func(h *hand) int { return h.binaryOfSimple() }, (*hand).trimSimple)
	limitMedium = limitWorks(
		func(h *hand) int {
			h.toMapStringSimple()
			return h.entry("15").binaryOfSimple()
		}, (*hand).trimNesting)
	limitLarge = limitWorks(
		func(h *hand) int {
			h.text(1)
			for range h.list(2, thriftwire.Struct) {
				h.nesting()
			}
			h.number(thriftwire.Double, 3, 8)
			h.entryOfBatch("79")
			h.toSimple()
			h.header(thriftwire.Struct, 8)
			return h.binaryOfSimple()
		}, (*hand).trimBatch)
	limitDeep = limitWorks((*hand).payload, (*hand).trimDeep)
)

// header steps over the header of a field, which must be this one.
func (h *hand) header(t thriftwire.Type, id int) {
	if len(h.b)-h.pos < 4 || binary.BigEndian.Uint32(h.b[h.pos:])>>8 != uint32(t)<<16|uint32(id) {
		h.bad, h.pos = true, len(h.b)
		return
	}
	h.pos += 3
}

// skip steps over n bytes.
func (h *hand) skip(n int) {
	if h.pos += n; h.pos > len(h.b) {
		h.bad, h.pos = true, len(h.b)
	}
}

// number steps over a field of fixed width.
func (h *hand) number(t thriftwire.Type, id, width int) {
	h.header(t, id)
	h.skip(width)
}

// length reads a count or length.
func (h *hand) length() int {
	if len(h.b)-h.pos < 4 {
		h.bad, h.pos = true, len(h.b)
		return 0
	}
	n := int(binary.BigEndian.Uint32(h.b[h.pos:]))
	h.pos += 4
	return min(n, len(h.b)-h.pos)
}

func (h *hand) string() { h.skip(h.length()) }

func (h *hand) text(id int) {
	h.header(thriftwire.String, id)
	h.string()
}

// list reads the header of a field with a list and returns the number of its elements.
func (h *hand) list(id int, t thriftwire.Type) int {
	h.header(thriftwire.List, id)
	if h.skip(1); !h.bad && h.b[h.pos-1] != byte(t) {
		h.bad = true
	}
	return h.length()
}

// entries reads the header of a field with a map.
func (h *hand) entries(id int, key, t thriftwire.Type) int {
	h.header(thriftwire.Map, id)
	if h.skip(2); !h.bad && (h.b[h.pos-2] != byte(key) || h.b[h.pos-1] != byte(t)) {
		h.bad = true
	}
	return h.length()
}

// binaryOfSimple goes to the field of get-one.
func (h *hand) binaryOfSimple() int {
	h.number(thriftwire.I8, 1, 1)
	h.number(thriftwire.I64, 2, 8)
	h.number(thriftwire.Double, 3, 8)
	h.number(thriftwire.I32, 4, 4)
	h.text(5)
	h.header(thriftwire.String, 6)
	at := h.pos
	h.string()
	return at
}

func (h *hand) simple() {
	h.binaryOfSimple()
	h.skip(1)
}

// toSimple goes over the fields of a Nesting before the eighth.
func (h *hand) toSimple() {
	h.text(1)
	for range h.list(2, thriftwire.Struct) {
		h.simple()
	}
	h.number(thriftwire.Double, 3, 8)
	h.number(thriftwire.I32, 4, 4)
	h.skip(4 * h.list(5, thriftwire.I32))
	h.number(thriftwire.I64, 6, 8)
	for range h.entries(7, thriftwire.String, thriftwire.String) {
		h.string()
		h.string()
	}
}

// fromMap goes over those between the eighth and the last.
func (h *hand) fromMap() {
	h.skip(12 * h.entries(9, thriftwire.I32, thriftwire.I64))
	for range h.list(10, thriftwire.String) {
		h.string()
	}
	h.text(11)
	for range h.entries(12, thriftwire.I64, thriftwire.String) {
		h.skip(8)
		h.string()
	}
	h.skip(8 * h.list(13, thriftwire.I64))
	h.number(thriftwire.I8, 14, 1)
}

func (h *hand) toMapStringSimple() {
	h.toSimple()
	h.header(thriftwire.Struct, 8)
	h.simple()
	h.fromMap()
}

func (h *hand) nesting() {
	h.toMapStringSimple()
	for range h.entries(15, thriftwire.String, thriftwire.Struct) {
		h.string()
		h.simple()
	}
	h.skip(1)
}

// key reads a key and says whether it is the one.
func (h *hand) key(want string) bool {
	start := h.pos + 4
	h.string()
	return !h.bad && string(h.b[start:h.pos]) == want
}

// entry goes to a Simple in the last field of a Nesting.
func (h *hand) entry(key string) *hand {
	for range h.entries(15, thriftwire.String, thriftwire.Struct) {
		if h.key(key) {
			return h
		}
		h.simple()
	}
	h.bad = true
	return h
}

// entryOfBatch goes to a Nesting in the fourth field of a Batch.
func (h *hand) entryOfBatch(key string) {
	for range h.entries(4, thriftwire.String, thriftwire.Struct) {
		if h.key(key) {
			return
		}
		h.nesting()
	}
	h.bad = true
}

// deepTo goes over the fields of a Deep before the fourth.
func (h *hand) deepTo() {
	h.number(thriftwire.I32, 1, 4)
	h.text(2)
	h.skip(8 * h.list(3, thriftwire.I64))
}

// payload goes to the innermost Deep's.
func (h *hand) payload() int {
	for range levels - 1 {
		h.deepTo()
		h.header(thriftwire.Struct, 4)
	}
	h.deepTo()
	h.number(thriftwire.Double, 5, 8)
	h.header(thriftwire.String, 6)
	at := h.pos
	h.string()
	return at
}

// copy copies what lies between a place and the current one.
func (h *hand) copy(from int) { h.dst = append(h.dst, h.b[from:h.pos]...) }

func (h *hand) trimSimple() {
	start := h.pos
	h.number(thriftwire.I8, 1, 1)
	h.copy(start)
	h.number(thriftwire.I64, 2, 8)
	start = h.pos
	h.number(thriftwire.Double, 3, 8)
	h.copy(start)
	h.number(thriftwire.I32, 4, 4)
	h.text(5)
	start = h.pos
	h.text(6)
	h.skip(1)
	h.copy(start)
}

func (h *hand) trimNesting() {
	h.text(1)
	start := h.pos
	n := h.list(2, thriftwire.Struct)
	h.copy(start)
	for range n {
		h.trimSimple()
	}
	h.number(thriftwire.Double, 3, 8)
	h.number(thriftwire.I32, 4, 4)
	h.skip(4 * h.list(5, thriftwire.I32))
	h.number(thriftwire.I64, 6, 8)
	for range h.entries(7, thriftwire.String, thriftwire.String) {
		h.string()
		h.string()
	}
	start = h.pos
	h.header(thriftwire.Struct, 8)
	h.copy(start)
	h.trimSimple()
	h.fromMap()
	start = h.pos
	n = h.entries(15, thriftwire.String, thriftwire.Struct)
	for range n {
		h.string()
		h.copy(start)
		h.trimSimple()
		start = h.pos
	}
	h.skip(1)
	h.copy(start)
}

func (h *hand) trimBatch() {
	h.text(1)
	start := h.pos
	n := h.list(2, thriftwire.Struct)
	h.copy(start)
	for range n {
		h.trimNesting()
	}
	h.number(thriftwire.Double, 3, 8)
	start = h.pos
	n = h.entries(4, thriftwire.String, thriftwire.Struct)
	for range n {
		h.string()
		h.copy(start)
		h.trimNesting()
		start = h.pos
	}
	h.header(thriftwire.Struct, 5)
	h.copy(start)
	h.trimSimple()
	start = h.pos
	h.skip(1)
	h.copy(start)
}

func (h *hand) trimDeep() { h.trimLevel(levels) }

func (h *hand) trimLevel(left int) {
	start := h.pos
	h.number(thriftwire.I32, 1, 4)
	h.copy(start)
	h.text(2)
	h.skip(8 * h.list(3, thriftwire.I64))
	if left > 1 {
		start = h.pos
		h.header(thriftwire.Struct, 4)
		h.copy(start)
		h.trimLevel(left - 1)
	}
	h.number(thriftwire.Double, 5, 8)
	start = h.pos
	h.text(6)
	h.skip(1)
	h.copy(start)
}
