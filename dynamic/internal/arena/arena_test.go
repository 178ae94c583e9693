package arena

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// family is a root with parts, and the order in which they should stand.
type family struct {
	nodes Nodes[[3]uint8]
	want  []uint32
}

func newFamily(n int) *family {
	f := &family{nodes: make(Nodes[[3]uint8], n+2)}
	for at := uint32(2); at < uint32(n+2); at++ {
		f.nodes.Link(1, at, 0)
		f.want = append(f.want, at)
	}
	return f
}

// check compares what a walk in both directions finds.
func (f *family) check(t *testing.T, after string) {
	t.Helper()
	got := f.nodes.Parts(1, nil)
	if !slices.Equal(got, f.want) || f.nodes.Count(&f.nodes[1]) != len(f.want) {
		t.Fatalf("after %s: %v, want %v", after, got, f.want)
	}
	for k, at := range f.want {
		if prev := f.want[(k+len(f.want)-1)%len(f.want)]; f.nodes[at].Prev != prev || f.nodes[at].Parent != 1 {
			t.Fatalf("after %s: before %d stands %d, want %d", after, at, f.nodes[at].Prev, prev)
		}
	}
}

func TestPartsStandAsTheyWereMoved(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		f := newFamily(1 + random.IntN(6))
		for range 30 {
			k := random.IntN(len(f.want))
			switch random.IntN(3) {
			case 0: // one out, and in again elsewhere
				at := f.want[k]
				f.nodes.Unlink(at)
				if f.nodes[at].Parent != 0 || f.nodes[at].Next != 0 || f.nodes[at].Prev != 0 {
					t.Fatal("a node alone has relatives")
				}
				f.want = slices.Delete(f.want, k, k+1)
				k, before := random.IntN(len(f.want)+1), uint32(0)
				if k < len(f.want) {
					before = f.want[k]
				}
				f.nodes.Link(1, at, before)
				f.want = slices.Insert(f.want, k, at)
				f.check(t, "a move")
			case 1:
				end := k + 1 + random.IntN(len(f.want)-k)
				moved := slices.Clone(f.want[k:end])
				rest := slices.Delete(slices.Clone(f.want), k, end)
				to, before := random.IntN(len(rest)+1), uint32(0)
				if to < len(rest) {
					before = rest[to]
				}
				stood := slices.Clone(f.want)
				f.want = slices.Insert(rest, to, moved...)
				if f.nodes.MoveRange(1, moved[0], moved[len(moved)-1], before) == slices.Equal(stood, f.want) {
					t.Fatal("a move that moves nothing, or the other way round")
				}
				f.check(t, "a move of a range")
			case 2:
				random.Shuffle(len(f.want), func(a, b int) { f.want[a], f.want[b] = f.want[b], f.want[a] })
				f.nodes.Reorder(1, f.want)
				f.check(t, "another order")
			}
		}
	}
}

func TestAChangeMarksAllAbove(t *testing.T) {
	nodes := make(Nodes[[3]uint8], 5)
	nodes.Link(1, 2, 0)
	nodes.Link(2, 3, 0)
	nodes.Link(1, 4, 0)
	nodes[3].Flags = Owned
	nodes.Mark(3)
	for at, want := range []uint8{0, Changed, Changed, Changed | Owned, 0} {
		if nodes[at].Flags != want {
			t.Errorf("node %d has flags %b, want %b", at, nodes[at].Flags, want)
		}
	}
}
