package transcodesuite

import (
	"testing"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/bench/internal/same"
)

func TestAllContendersConvertEveryShapeAlike(t *testing.T) {
	s := Suite()
	groups, err := s.Groups()
	if err != nil {
		t.Fatal(err)
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
	other := *all[0]
	other.json = []byte(`{"byteField":1}`)
	g := group("json-to-thrift", "small", 0, same.Message, oursFromJSON(all[0]), oursFromJSON(&other))
	if g.Check() == nil {
		t.Error("different messages pass for the same")
	}
	other.message = []byte{3, 0, 1, 1, 0}
	g = group("thrift-to-json", "small", 0, all[0].value, oursToJSON(all[0]), oursToJSON(&other))
	if g.Check() == nil {
		t.Error("different JSON passes for the same")
	}
}

func TestOursIsComparedWithEveryPeer(t *testing.T) {
	s := Suite()
	groups, err := s.Groups()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if g.Contestants[0].Name != harness.Ours || len(g.Pairs) != len(g.Contestants)-1 {
			t.Errorf("%s: %d pairs of %d contestants", g.Case(s.Name, ""), len(g.Pairs), len(g.Contestants))
		}
	}
}
