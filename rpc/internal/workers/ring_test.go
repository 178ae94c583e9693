package workers

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type numbered int

func (numbered) Run() {}

func TestRingIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ring
		var want []Task
		next := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1:
				var batch []Task
				for range rapid.IntRange(1, 400).Draw(t, "pushed") {
					batch = append(batch, numbered(next))
					next++
				}
				grown := r.push(batch)
				want = append(want, batch...)
				if grown && len(r.slots) <= smallRing {
					t.Fatalf("%d slots have grown", len(r.slots))
				}
			case 2, 3:
				for range min(rapid.IntRange(1, 400).Draw(t, "popped"), len(want)) {
					if got := r.pop(); got != want[0] {
						t.Fatalf("popped %v, want %v", got, want[0])
					}
					want = want[1:]
				}
			case 4:
				r.shrink()
			case 5:
				most, by := rapid.IntRange(0, 500).Draw(t, "most"), rapid.IntRange(1, 3).Draw(t, "by")
				drop := func(task Task) bool { return int(task.(numbered))%by == 0 }
				var kept, dropped []Task
				for i, task := range want {
					if i < most && drop(task) {
						dropped = append(dropped, task)
					} else {
						kept = append(kept, task)
					}
				}
				if got := r.withdraw(most, drop, nil); !slices.Equal(got, dropped) {
					t.Fatalf("withdrew %v, want %v", got, dropped)
				}
				want = kept
			}
			kept := 0
			for _, task := range r.slots {
				if task != nil {
					kept++
				}
			}
			if r.n != len(want) || kept != len(want) {
				t.Fatalf("%d tasks, %d of them kept, want %d", r.n, kept, len(want))
			}
		}
	})
}

func TestRingGivesBackWhatABurstNeeded(t *testing.T) {
	var r ring
	r.push(make([]Task, 100_000))
	for r.n > 0 {
		r.pop()
	}
	for range 20 {
		r.shrink()
	}
	if len(r.slots) != smallRing {
		t.Errorf("%d slots are left of an empty queue, want %d", len(r.slots), smallRing)
	}
}
