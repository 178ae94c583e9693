package flatsuite

import "testing"

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

func TestBuildingDoesNotAllocate(t *testing.T) {
	for _, s := range shapes() {
		build := s.ours(nil, nil).jobs["build"]()
		if n := testing.AllocsPerRun(20, func() {
			if _, err := build(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", s.name, n)
		}
	}
}
