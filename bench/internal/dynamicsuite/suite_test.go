package dynamicsuite

import "testing"

func TestBothSidesDoEveryWorkOnEveryShapeAlike(t *testing.T) {
	s := Suite()
	groups, err := s.Groups()
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != 2*len(works) {
		t.Errorf("%d groups", len(groups))
	}
	for _, g := range groups {
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
	if compare(us["set-one"], us["trim"], true) == nil || compare(us["get-one"], us["get-many"], false) == nil {
		t.Error("different work passes for the same")
	}
}
