package codecsuite

import (
	"math"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/bench/internal/gen/kitex/shapes"
)

// The values of the shapes. Small, medium and large have the sizes and
// structure of the values that Frugal publishes its figures on: a leaf with
// 272 bytes of text and 256 of binary, a branch with eight of everything, a
// tree with eight branches in a list and eight in a map.

const each = 8 // elements per list and map of a branch

// text is 272 bytes of UTF-8 with multi-byte and control characters.
func text() string { return strings.Repeat("ключ→\t\"値\n", 16) }

// payload is 256 bytes, each once.
func payload() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func small() *shapes.Leaf {
	return &shapes.Leaf{
		Level: math.MaxInt8, Id: math.MaxInt64, Weight: math.Pi, Count: math.MaxInt32,
		Label: text(), Payload: payload(), Kind: shapes.Kind_RARE,
	}
}

func medium() *shapes.Branch {
	b := &shapes.Branch{
		Label: text(), Weight: math.E, Count: math.MinInt32, Id: math.MinInt64,
		Labels: map[string]string{}, Leaf: small(), Totals: map[int32]int64{}, Payload: payload(),
		NamesById: map[int64]string{}, Level: math.MinInt8, LeavesByName: map[string]*shapes.Leaf{},
	}
	for i := range each {
		b.Leaves = append(b.Leaves, small())
		b.Counts = append(b.Counts, int32(i)<<20)
		b.Names = append(b.Names, text())
		b.Ids = append(b.Ids, int64(i)<<40)
		b.Labels[strconv.Itoa(i)] = text()
		b.Totals[int32(i)] = -int64(i) << 40
		b.NamesById[int64(i)] = text()
		b.LeavesByName[strconv.Itoa(i)] = small()
	}
	return b
}

func large() *shapes.Tree {
	t := &shapes.Tree{
		BranchesByLeaf: map[*shapes.Leaf]*shapes.Branch{}, Leaf: small(), Level: 1, Weight: -math.E,
		Id: 1 << 50, Branch: medium(), Payload: payload(), Label: text(), Count: -1,
	}
	for i := range each {
		key := small()
		key.Count = int32(i)
		t.BranchesByLeaf[key] = medium()
		t.Branches = append(t.Branches, medium())
	}
	return t
}

// scalars has 40 numeric fields, negative and positive, of all widths.
func scalars() *shapes.Scalars {
	return &shapes.Scalars{
		F1: -1, F2: 2, F3: 3.5, F4: -4, F5: true, F6: 6 << 30, F7: -7 << 10, F8: 8, F9: -9.25, F10: 10,
		F11: 11 << 50, F12: -12, F13: 1e300, F14: 14 << 8, F15: false, F16: -16, F17: 17 << 16, F18: -18, F19: 0, F20: 20,
		F21: math.MinInt64, F22: math.MinInt32, F23: math.SmallestNonzeroFloat64, F24: math.MinInt16, F25: true,
		F26: 26, F27: 27, F28: math.MinInt8, F29: 29, F30: 30 << 20, F31: 31, F32: 32, F33: -33, F34: 34, F35: true,
		F36: math.MaxInt64, F37: math.MaxInt32, F38: math.MaxInt8, F39: math.MaxFloat64, F40: -40,
	}
}

// stringHeavy has strings from 0 to 150 bytes, as names, keys and short texts
// are.
func stringHeavy() *shapes.Strings {
	cut := func(i int) string { return strings.Repeat("warp and weft ", 11)[:10*(i%16)] }
	note := cut(15)
	s := &shapes.Strings{
		S1: cut(0), S2: cut(1), S3: cut(2), S4: cut(3), S5: cut(4), S6: cut(5), S7: cut(6), S8: cut(7),
		S9: cut(8), S10: cut(9), S11: cut(10), S12: cut(11), S13: cut(12), S14: cut(13), S15: cut(14), S16: cut(15),
		Note: &note,
	}
	for i := range 48 {
		s.Words = append(s.Words, cut(i%4+1))
	}
	return s
}

// deep is nested ten levels.
func deep() *shapes.Deep {
	var d *shapes.Deep
	for i := range 10 {
		d = &shapes.Deep{Level: int32(10 - i), Name: "level " + strconv.Itoa(i), Ids: []int64{1, 2, int64(i)}, Inner: d, Weight: float64(i)}
	}
	return d
}

// maps has six maps, 760 entries together.
func maps() *shapes.Maps {
	m := &shapes.Maps{
		Counts: map[string]int64{}, Names: map[int32]string{}, Labels: map[string]string{},
		Weights: map[int64]float64{}, Leaves: map[string]*shapes.Leaf{}, Groups: map[string][]int32{},
	}
	for i := range 200 {
		k := "key-" + strconv.Itoa(i)
		m.Counts[k] = int64(i)
		m.Names[int32(i)] = k
		m.Labels[k] = "value of " + k
	}
	for i := range 100 {
		m.Weights[int64(i)<<32] = float64(i)
	}
	for i := range 30 {
		k := "key-" + strconv.Itoa(i)
		m.Leaves[k] = &shapes.Leaf{Id: int64(i), Label: k, Payload: []byte(k)}
		m.Groups[k] = []int32{int32(i), 1, 2, 3}
	}
	return m
}

func listI64() *shapes.ListI64 {
	l := &shapes.ListI64{Values: make([]int64, 10_000)}
	for i := range l.Values {
		l.Values[i] = int64(i) * 0x1234567
	}
	return l
}
