package dynamicsuite

import "testing"

func TestAllSidesDoEveryWorkOnEveryShapeAlike(t *testing.T) {
	s := Suite()
	groups, err := s.Groups()
	if err != nil {
		t.Fatal(err)
	}
	if want := 4*len(works) - 2; len(groups) != want { // two shapes have no list to filter
		t.Errorf("%d groups, want %d", len(groups), want)
	}
	for _, g := range groups {
		if len(g.Pairs) == 0 || g.Pairs[0].Peer != "dynamicgo" {
			t.Errorf("%s: the peers are %v", g.Case(s.Name, ""), g.Pairs)
		}
		if err := g.Check(); err != nil {
			t.Errorf("%s: %v", g.Case(s.Name, ""), err)
		}
	}
}

func TestADifferenceIsSeen(t *testing.T) {
	all, err := shapes()
	if err != nil {
		t.Fatal(err)
	}
	us, err := ours(all[0])
	if err != nil {
		t.Fatal(err)
	}
	if compare(us.jobs["set-one"], us.jobs["trim"], true) == nil || compare(us.jobs["get-one"], us.jobs["get-many"], false) == nil {
		t.Error("different work passes for the same")
	}
}
