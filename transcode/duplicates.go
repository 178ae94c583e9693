package transcode

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// This file finds map keys and set elements that stand twice.

// scratch is memory that conversions share one after another. Nothing in it
// outlives a call.
type scratch struct {
	text    []byte      // the unescaped text of a name
	entries []entry     // the keys of the open maps and sets, innermost last
	table   []uint32    // a hash table over the entries of one of them
	wide    []uint64    // the bit sets of open structs with more than 64 fields
	part    []byte      // text of another part of a request than the body
	slots   []int32     // positions of members of the body
	parts   []replyPart // what goes to other parts of a reply
	http    httpRun

	given      []given // by list of sources
	givenBytes []byte
}

// entry is a key or element: size bytes at out in the output, written for what
// stands at in in the input. Offsets fit, as both sides are below 2 GiB.
type entry struct{ hash, in, out, size uint32 }

// keptScratch bounds what a scratch keeps of each kind for the next call, in elements.
const keptScratch = 4096

func (c *Converter) release(s *scratch) {
	if s == nil {
		return
	}
	if cap(s.text) > keptScratch {
		s.text = nil
	}
	if cap(s.entries) > keptScratch {
		s.entries = nil
	}
	if cap(s.table) > 2*keptScratch {
		s.table = nil
	}
	if cap(s.wide) > keptScratch {
		s.wide = nil
	}
	if cap(s.part) > keptScratch {
		s.part = nil
	}
	if cap(s.parts) > keptScratch {
		s.parts = nil
	}
	if cap(s.givenBytes) > keptScratch {
		s.givenBytes = nil
	}
	s.http = httpRun{}
	s.text, s.entries, s.wide, s.part = s.text[:0], s.entries[:0], s.wide[:0], s.part[:0]
	clear(s.parts) // they refer to compiled programs
	s.parts = s.parts[:0]
	c.scratch.Put(s)
}

// add notes buf[out:] as the next key.
func (s *scratch) add(buf []byte, in, out int) {
	s.entries = append(s.entries, entry{in: uint32(in), out: uint32(out), size: uint32(len(buf) - out)})
}

// secret makes hashes that nobody outside can foresee, so that hostile keys
// cannot be chosen to collide.
type secret struct {
	seed maphash.Seed
	mix  [2]uint64
}

func newSecret() secret {
	seed := maphash.MakeSeed()
	return secret{seed: seed, mix: [2]uint64{maphash.Bytes(seed, []byte{0}), maphash.Bytes(seed, []byte{1})}}
}

// hash mixes all bytes of a short key, which most are, in one multiplication.
func (s *secret) hash(b []byte) uint32 {
	var head, tail uint64
	switch n := len(b); {
	case n > 16:
		return uint32(maphash.Bytes(s.seed, b))
	case n >= 8:
		head, tail = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		head, tail = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		head, tail = uint64(b[0]), uint64(b[n/2])<<8|uint64(b[n-1])
	}
	hi, lo := bits.Mul64(head^s.mix[0], tail^s.mix[1])
	return uint32(hi ^ lo)
}

// fewEntries is the number up to which all pairs are compared.
const fewEntries = 12

// close drops the entries from base on and returns the input offset of one
// that an earlier one equals, or -1.
func (s *scratch) close(secret *secret, base int, buf []byte) int {
	list := s.entries[base:]
	s.entries = s.entries[:base]
	if ascending(list, buf) {
		return -1
	}
	for i := range list {
		list[i].hash = secret.hash(list[i].bytes(buf))
	}
	if len(list) <= fewEntries {
		for i := 1; i < len(list); i++ {
			for j := range i {
				if list[i].equal(list[j], buf) {
					return int(list[i].in)
				}
			}
		}
		return -1
	}
	size := 32
	for size < 2*len(list) {
		size *= 2
	}
	if cap(s.table) < size {
		s.table = make([]uint32, size)
	}
	table := s.table[:size]
	clear(table)
	mask := uint32(size - 1)
	for i, e := range list {
		h := e.hash & mask
		for ; table[h] != 0; h = (h + 1) & mask {
			if e.equal(list[table[h]-1], buf) {
				return int(e.in)
			}
		}
		table[h] = uint32(i) + 1
	}
	return -1
}

// ascending reports whether each entry is greater than the one before, as
// sorted maps write them: then no two are equal.
func ascending(list []entry, buf []byte) bool {
	for i := 1; i < len(list); i++ {
		if bytes.Compare(list[i-1].bytes(buf), list[i].bytes(buf)) >= 0 {
			return false
		}
	}
	return true
}

// bytes returns what was written for e.
func (e entry) bytes(buf []byte) []byte { return buf[e.out : e.out+e.size] }

func (e entry) equal(o entry, buf []byte) bool {
	return e.hash == o.hash && bytes.Equal(e.bytes(buf), o.bytes(buf))
}
