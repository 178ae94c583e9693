package codecsuite

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/thrum-rpc/thrum/bench/internal/gen/kitex/shapes"
)

// This file holds "limit" in the compact protocol: a value measured, then stored
// with its numbers as words.

func leafCompactSize(l *shapes.Leaf) int {
	return 7 + 1 + 8 + 1 + varintSize(zigzag(l.Id)) + varintSize(zigzag(int64(l.Count))) + varintSize(zigzag(int64(l.Kind))) +
		varintSize(uint64(len(l.Label))) + len(l.Label) + varintSize(uint64(len(l.Payload))) + len(l.Payload)
}

func putCompactLeaf(b []byte, l *shapes.Leaf) int {
	b[0], b[1], b[2] = cI8, byte(l.Level), cI64
	n := 3 + putVarint(b[3:], zigzag(l.Id))
	b[n] = cDouble
	binary.LittleEndian.PutUint64(b[n+1:], math.Float64bits(l.Weight))
	b[n+9] = cI32
	n += 10
	n += putVarint(b[n:], zigzag(int64(l.Count)))
	b[n] = cText
	n++
	n += putVarintLoop(b[n:], uint64(len(l.Label)))
	n += copy(b[n:], l.Label)
	b[n] = cText
	n++
	n += putVarintLoop(b[n:], uint64(len(l.Payload)))
	n += copy(b[n:], l.Payload)
	b[n] = cI32
	n++
	n += putVarint(b[n:], zigzag(int64(l.Kind)))
	b[n] = 0
	return n + 1
}

// The headers of fields whose ids follow each other, as bytes of code and
// delta, and the codes of elements.
const (
	cDouble, cI32, cI64, cText, cList, cMap, cStruct, cI8 = 1<<4 | 7, 1<<4 | 5, 1<<4 | 6, 1<<4 | 8, 1<<4 | 9, 1<<4 | 11, 1<<4 | 12, 1<<4 | 3

	eI32, eI64, eText, eStruct = 5, 6, 8, 12
)

func textCompactSize(n int) int { return varintSize(uint64(n)) + n }

func listCompactSize(n int) int {
	if n < 15 {
		return 1
	}
	return 1 + varintSize(uint64(n))
}

func mapCompactSize(n int) int {
	if n == 0 {
		return 1
	}
	return 1 + varintSize(uint64(n))
}

func branchCompactSize(v *shapes.Branch) int {
	n := 15 + 1 + textCompactSize(len(v.Label)) + listCompactSize(len(v.Leaves)) + 8 + varintSize(zigzag(int64(v.Count))) +
		listCompactSize(len(v.Counts)) + varintSize(zigzag(v.Id)) + mapCompactSize(len(v.Labels)) + leafCompactSize(v.Leaf) +
		mapCompactSize(len(v.Totals)) + listCompactSize(len(v.Names)) + textCompactSize(len(v.Payload)) +
		mapCompactSize(len(v.NamesById)) + listCompactSize(len(v.Ids)) + 1 + mapCompactSize(len(v.LeavesByName))
	for _, l := range v.Leaves {
		n += leafCompactSize(l)
	}
	for _, x := range v.Counts {
		n += varintSize(zigzag(int64(x)))
	}
	for k, s := range v.Labels {
		n += textCompactSize(len(k)) + textCompactSize(len(s))
	}
	for k, x := range v.Totals {
		n += varintSize(zigzag(int64(k))) + varintSize(zigzag(x))
	}
	for _, s := range v.Names {
		n += textCompactSize(len(s))
	}
	for k, s := range v.NamesById {
		n += varintSize(zigzag(k)) + textCompactSize(len(s))
	}
	for _, x := range v.Ids {
		n += varintSize(zigzag(x))
	}
	for k, l := range v.LeavesByName {
		n += textCompactSize(len(k)) + leafCompactSize(l)
	}
	return n
}

func treeCompactSize(v *shapes.Tree) int {
	n := 10 + 1 + mapCompactSize(len(v.BranchesByLeaf)) + leafCompactSize(v.Leaf) + 1 + 8 + listCompactSize(len(v.Branches)) +
		varintSize(zigzag(v.Id)) + branchCompactSize(v.Branch) + textCompactSize(len(v.Payload)) + textCompactSize(len(v.Label)) +
		varintSize(zigzag(int64(v.Count)))
	for k, b := range v.BranchesByLeaf {
		n += leafCompactSize(k) + branchCompactSize(b)
	}
	for _, b := range v.Branches {
		n += branchCompactSize(b)
	}
	return n
}

// putCompactList stores the headers of a field and of its list.
func putCompactList(b []byte, elem byte, n int) int {
	b[0] = cList
	if n < 15 {
		b[1] = byte(n)<<4 | elem
		return 2
	}
	b[1] = 15<<4 | elem
	return 2 + putVarintLoop(b[2:], uint64(n))
}

// putCompactMap stores the headers of a field and of its map.
func putCompactMap(b []byte, key, elem byte, n int) int {
	b[0] = cMap
	m := 1 + putVarintLoop(b[1:], uint64(n))
	if n == 0 {
		return m
	}
	b[m] = key<<4 | elem
	return m + 1
}

func putCompactText[S ~string | ~[]byte](b []byte, s S) int {
	n := putVarintLoop(b, uint64(len(s)))
	return n + copy(b[n:], s)
}

func putCompactBranch(b []byte, v *shapes.Branch) int {
	b[0] = cText
	n := 1 + putCompactText(b[1:], v.Label)
	n += putCompactList(b[n:], eStruct, len(v.Leaves))
	for _, l := range v.Leaves {
		n += putCompactLeaf(b[n:], l)
	}
	b[n] = cDouble
	binary.LittleEndian.PutUint64(b[n+1:], math.Float64bits(v.Weight))
	b[n+9] = cI32
	n += 10 + putVarint(b[n+10:], zigzag(int64(v.Count)))
	n += putCompactList(b[n:], eI32, len(v.Counts))
	for _, x := range v.Counts {
		n += putVarint(b[n:], zigzag(int64(x)))
	}
	b[n] = cI64
	n += 1 + putVarint(b[n+1:], zigzag(v.Id))
	n += putCompactMap(b[n:], eText, eText, len(v.Labels))
	for k, s := range v.Labels {
		n += putCompactText(b[n:], k)
		n += putCompactText(b[n:], s)
	}
	b[n] = cStruct
	n += 1 + putCompactLeaf(b[n+1:], v.Leaf)
	n += putCompactMap(b[n:], eI32, eI64, len(v.Totals))
	for k, x := range v.Totals {
		n += putVarint(b[n:], zigzag(int64(k)))
		n += putVarint(b[n:], zigzag(x))
	}
	n += putCompactList(b[n:], eText, len(v.Names))
	for _, s := range v.Names {
		n += putCompactText(b[n:], s)
	}
	b[n] = cText
	n += 1 + putCompactText(b[n+1:], v.Payload)
	n += putCompactMap(b[n:], eI64, eText, len(v.NamesById))
	for k, s := range v.NamesById {
		n += putVarint(b[n:], zigzag(k))
		n += putCompactText(b[n:], s)
	}
	n += putCompactList(b[n:], eI64, len(v.Ids))
	for _, x := range v.Ids {
		n += putVarint(b[n:], zigzag(x))
	}
	b[n], b[n+1] = cI8, byte(v.Level)
	n += 2 + putCompactMap(b[n+2:], eText, eStruct, len(v.LeavesByName))
	for k, l := range v.LeavesByName {
		n += putCompactText(b[n:], k)
		n += putCompactLeaf(b[n:], l)
	}
	b[n] = 0
	return n + 1
}

func putCompactTree(b []byte, v *shapes.Tree) int {
	n := putCompactMap(b, eStruct, eStruct, len(v.BranchesByLeaf))
	for k, x := range v.BranchesByLeaf {
		n += putCompactLeaf(b[n:], k)
		n += putCompactBranch(b[n:], x)
	}
	b[n] = cStruct
	n += 1 + putCompactLeaf(b[n+1:], v.Leaf)
	b[n], b[n+1], b[n+2] = cI8, byte(v.Level), cDouble
	binary.LittleEndian.PutUint64(b[n+3:], math.Float64bits(v.Weight))
	n += 11 + putCompactList(b[n+11:], eStruct, len(v.Branches))
	for _, x := range v.Branches {
		n += putCompactBranch(b[n:], x)
	}
	b[n] = cI64
	n += 1 + putVarint(b[n+1:], zigzag(v.Id))
	b[n] = cStruct
	n += 1 + putCompactBranch(b[n+1:], v.Branch)
	b[n] = cText
	n += 1 + putCompactText(b[n+1:], v.Payload)
	b[n] = cText
	n += 1 + putCompactText(b[n+1:], v.Label)
	b[n] = 2<<4 | eI32 // the id before is 9, this one's 11
	n += 1 + putVarint(b[n+1:], zigzag(int64(v.Count)))
	b[n] = 0
	return n + 1
}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func varintSize(u uint64) int { return (9*bits.Len64(u|1) + 64) >> 6 }

func putVarint(b []byte, u uint64) int {
	if len(b) < 8 || u >= 1<<56 {
		return putVarintLoop(b, u)
	}
	n := varintSize(u)
	u = u&0x0fffffff | u<<4&0x0fffffff00000000
	u = u&0x00003fff00003fff | u<<2&0x3fff00003fff0000
	u = u&0x007f007f007f007f | u<<1&0x7f007f007f007f00
	binary.LittleEndian.PutUint64(b, u|0x0080808080808080>>(64-8*n))
	return n
}

func putVarintLoop(b []byte, u uint64) int {
	n := 0
	for u >= 0x80 {
		b[n] = byte(u) | 0x80
		n++
		u >>= 7
	}
	b[n] = byte(u)
	return n + 1
}
