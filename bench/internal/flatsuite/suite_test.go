package flatsuite

import (
	"testing"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

func TestAllDoTheSameWork(t *testing.T) {
	groups, err := Suite().Groups()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if err := g.Check(); err != nil {
			t.Fatalf("%s: %v", g.Case("flatbuffers", ""), err)
		}
		for _, c := range g.Contestants {
			worker, err := c.New()
			if err == nil {
				err = worker(2)
			}
			if err != nil {
				t.Errorf("%s of %s: %v", g.Case("flatbuffers", ""), c.Name, err)
			}
		}
	}
}

func TestMarksTakeTheWorstShape(t *testing.T) {
	group := func(work, shape, peer string, ratio float64) harness.GroupReport {
		return harness.GroupReport{Work: work, Shape: shape, Ratios: []harness.Ratio{{Peer: peer, Ratio: ratio}}, Results: []harness.Result{{GBps: ratio}}}
	}
	got := marks(&harness.Report{Groups: []harness.GroupReport{
		group("build", "f6", "google", 2.6), group("build", "m86", "google", 2.4), group("marshal", "f6", "typed", 1.5),
		group("roundtrip", "f6", "vtprotobuf", 0.5), group("roundtrip", "m86", "vtprotobuf", 1.1), group("verify", "f6", "", 3),
	}})
	want := []string{
		"MARK build at every size, google ÷ ours (m86): 2.4 >= 2.5 missed", "MARK build at every size, google-object ÷ ours: not measured (>= 4)",
		"MARK marshal at every size, typed ÷ ours (f6): 1.5 >= 1 met", "MARK round trip at every size, protobuf ÷ ours: not measured (>= 1)",
		"MARK round trip from 76 fields on, vtprotobuf ÷ ours (m86): 1.1 >= 1 met", "MARK verify, GB/s: 3 >= 1 met",
	}
	for i, m := range got {
		if m.String() != want[i] {
			t.Errorf("got %s, want %s", m, want[i])
		}
	}
}

func TestBuildingDoesNotAllocate(t *testing.T) {
	for _, s := range shapes() {
		build := s.ours(nil).jobs["build"]()
		if n := testing.AllocsPerRun(20, func() {
			if _, err := build(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", s.name, n)
		}
	}
}
