package dynamicsuite

import (
	"fmt"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

// works have the work of the suite in the order of the report, and whether what
// comes of it are messages, in which the order of fields may differ.
var works = []struct {
	name    string
	message bool
}{
	{"skip", false}, {"get-one", false}, {"get-many", true}, {"set-one", true}, {"set-many", true},
	{"marshal-many", true}, {"trim", true}, {"filter-list", true},
	{"dom-new", false}, {"dom-reuse", false}, {"dom-marshal", true},
}

// Suite is the suite "dynamic".
func Suite() harness.Suite {
	return harness.Suite{
		Name:  "dynamic",
		About: "messages read, changed and cut down without Go structs, against dynamicgo, generated code and Kitex's maps",
		Groups: func() ([]harness.Group, error) {
			all, err := shapes()
			if err != nil {
				return nil, err
			}
			var groups []harness.Group
			for _, s := range all {
				g, err := s.groups()
				if err != nil {
					return nil, fmt.Errorf("%s: %w", s.name, err)
				}
				groups = append(groups, g...)
			}
			return groups, nil
		},
	}
}

func (s *shape) groups() ([]harness.Group, error) {
	us, err := ours(s)
	if err != nil {
		return nil, err
	}
	var peers []contender
	for _, make := range []func(*shape) (contender, error){dynamicgo, s.generated, kitexGeneric} {
		p, err := make(s)
		if err != nil {
			return nil, err
		}
		peers = append(peers, p)
	}
	peers = append(peers, s.limit(s))
	var groups []harness.Group
	for _, w := range works {
		if us.jobs[w.name] == nil {
			continue
		}
		g := harness.Group{
			Work: w.name, Shape: s.name, Bytes: len(s.message),
			Contestants: []harness.Contestant{contestant(harness.Ours, us.jobs[w.name])},
		}
		var against []contender
		for _, p := range peers {
			if p.jobs[w.name] == nil {
				continue
			}
			against = append(against, p)
			g.Contestants = append(g.Contestants, contestant(p.name, p.jobs[w.name]))
			g.Pairs = append(g.Pairs, harness.Pair{Ours: harness.Ours, Peer: p.name, Label: p.name})
		}
		g.Check = func() error {
			for _, p := range against {
				if err := compare(us.jobs[w.name], p.jobs[w.name], w.message); err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
			}
			return nil
		}
		groups = append(groups, g)
	}
	return groups, nil
}
