package flatbuf_test

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/flatbuf"
)

func TestOffsetsCanBePushedWhileOthersAre(t *testing.T) {
	var b flatbuf.Builder
	outer := b.PushOffsets(3)
	for i := range outer {
		inner := b.PushOffsets(100 * (i + 1)) // the memory grows under the outer ones
		for j := range inner {
			inner[j] = 1 << 30
		}
		b.PopOffsets(len(inner))
		outer[i] = b.CreateString(string(rune('a' + i)))
	}
	b.Finish(b.CreateVectorOfTables(outer))
	b.PopOffsets(3)
	tab := flatbuf.Table{Bytes: b.FinishedBytes()}
	vector := tab.Indirect(0)
	for i, want := range []string{"a", "b", "c"} {
		if got := tab.String(vector + 4 + flatbuf.UOffsetT(4*i)); got != want {
			t.Errorf("element %d is %q", i, got)
		}
	}
}

// Elements may pack vectors of their own, and a nil one is packed as an empty one.
func TestTablesArePackedInTheirOrder(t *testing.T) {
	type node struct{ parts []*node }
	var pack func(*node, *flatbuf.Builder) flatbuf.UOffsetT
	pack = func(n *node, b *flatbuf.Builder) flatbuf.UOffsetT {
		parts := flatbuf.PackTables[flatbuf.Table](b, n.parts, pack)
		b.StartObject(1)
		b.PrependUOffsetTSlot(0, flatbuf.UOffsetT(parts), 0)
		return b.EndObject()
	}
	root := &node{parts: []*node{{parts: make([]*node, 40)}, nil, {parts: make([]*node, 2)}}}
	var b flatbuf.Builder
	b.Finish(pack(root, &b))
	tab := flatbuf.Table{Bytes: b.FinishedBytes()}
	tab.Pos = tab.Indirect(0)
	parts := tab.Vector(flatbuf.UOffsetT(tab.Offset(4)))
	for i, want := range []int{40, 0, 2} {
		part := flatbuf.Table{Bytes: tab.Bytes, Pos: tab.Indirect(parts + flatbuf.UOffsetT(4*i))}
		if got := part.VectorLen(flatbuf.UOffsetT(part.Offset(4))); got != want {
			t.Errorf("element %d has %d parts, not %d", i, got, want)
		}
	}
}

func TestStructVectorsHaveTheirBytes(t *testing.T) {
	var b flatbuf.Builder
	p := b.StartStructVector(8, 8, 2)
	if !bytes.Equal(p, make([]byte, 16)) {
		t.Errorf("not zero: % x", p)
	}
	p[0], p[15] = 1, 2
	b.Finish(b.EndVector(2))
	msg := b.FinishedBytes()
	if !bytes.HasSuffix(msg, append([]byte{2, 0, 0, 0}, p...)) || len(msg)%8 != 0 {
		t.Errorf("% x", msg)
	}
}

func TestArraysAreComparedByTheirFirstDifference(t *testing.T) {
	for _, c := range []struct {
		x, y []int
		want int
	}{{nil, nil, 0}, {[]int{1, 2}, []int{1, 3}, -1}, {[]int{2, 0}, []int{1, 9}, 1}, {[]int{1}, []int{1, 0}, -1}} {
		if got := flatbuf.CompareArrays(c.x, c.y, cmp.Compare[int]); got != c.want {
			t.Errorf("%v and %v: %d", c.x, c.y, got)
		}
	}
	if flatbuf.CompareBools(false, true) != -1 || flatbuf.CompareBools(true, true) != 0 {
		t.Error("bools")
	}
}

func TestStringsOfUnionsLieInsideTheBuffer(t *testing.T) {
	b := []byte{3, 0, 0, 0, 'a', 'b', 'c', 0}
	if got := flatbuf.StringAt(&flatbuf.Table{Bytes: b}); string(got) != "abc" {
		t.Errorf("%q", got)
	}
	for n := range 7 {
		if got := flatbuf.StringAt(&flatbuf.Table{Bytes: b[:n]}); got != nil {
			t.Errorf("%d bytes: %q", n, got)
		}
	}
	if got := flatbuf.StringAt(&flatbuf.Table{Bytes: b, Pos: 1<<32 - 1}); got != nil {
		t.Errorf("%q", got)
	}
}

func TestUnpackingEnds(t *testing.T) {
	u := flatbuf.NewUnpacking(make([]byte, 100))
	depth := 0
	for u.Enter() {
		depth++
	}
	if depth != 64 || u.Err() == nil {
		t.Errorf("%d levels, %v", depth, u.Err())
	}
	u = flatbuf.NewUnpacking(make([]byte, 100))
	text, made := bytes.Repeat([]byte("x"), 1000), 0
	for range 1000 {
		made += len(u.Text(text))
	}
	fault, ok := u.Err().(*diag.Fault)
	if made > 1<<16 || made < 1<<15 || !ok || fault.Code != diag.SizeLimit {
		t.Errorf("%d bytes, %v", made, u.Err())
	}
	u = flatbuf.NewUnpacking(nil)
	if u.Text(nil) != "" || u.Err() != nil {
		t.Error("nothing is too much")
	}
}

func TestOneLayoutHasAVerifierForEachTable(t *testing.T) {
	layout := flatbuf.Layout{Tables: []flatbuf.TableLayout{
		{Name: "A", Fields: []flatbuf.FieldLayout{{Name: "b", Kind: flatbuf.TableField, Ref: 1, Required: true}}},
		{Name: "B"},
	}}
	set := flatbuf.NewVerifierSet(&layout)
	var b flatbuf.Builder
	b.StartObject(0)
	b.Finish(b.EndObject())
	msg := slices.Clone(b.FinishedBytes())
	if err := set.Root(1).Verify(msg); err != nil {
		t.Error(err)
	}
	if err := set.Root(0).Verify(msg); err == nil {
		t.Error("a table without its required field")
	}
	if first, second := set.Root(0), set.Root(0); first != second {
		t.Error("a verifier is compiled again")
	}
	if err := set.Root(1).With(flatbuf.FileIdentifier("ABCD")).Verify(msg); err == nil {
		t.Error("no file identifier")
	}
	if err := set.Root(1).Verify(msg); err != nil {
		t.Errorf("With has changed its receiver: %v", err)
	}
}
