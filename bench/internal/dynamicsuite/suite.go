package dynamicsuite

import (
	"bytes"
	"fmt"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/bench/internal/same"
)

// works have the work of the suite in the order of the report, and whether what
// comes of it are messages, in which the order of fields may differ.
var works = []struct {
	name    string
	message bool
}{
	{"skip", false}, {"get-one", false}, {"get-many", false}, {"set-one", true}, {"set-many", true},
	{"marshal-many", true}, {"trim", true}, {"dom-new", false}, {"dom-reuse", false}, {"dom-marshal", true},
}

const peer = "dynamicgo"

// Suite is the suite "dynamic".
func Suite() harness.Suite {
	return harness.Suite{
		Name:  "dynamic",
		About: "messages read, changed and cut down without Go structs, against dynamicgo",
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
	them, err := dynamicgo(s)
	if err != nil {
		return nil, err
	}
	var groups []harness.Group
	for _, w := range works {
		groups = append(groups, harness.Group{
			Work: w.name, Shape: s.name, Bytes: len(s.message),
			Check:       func() error { return compare(us[w.name], them[w.name], w.message) },
			Contestants: []harness.Contestant{contestant(harness.Ours, us[w.name]), contestant(peer, them[w.name])},
			Pairs:       []harness.Pair{{Ours: harness.Ours, Peer: peer, Label: peer}},
		})
	}
	return groups, nil
}

func contestant(name string, make func() (op, error)) harness.Contestant {
	return harness.Contestant{Name: name, New: func() (harness.Worker, error) {
		run, err := make()
		return func(n int) error {
			for range n {
				if _, err := run(); err != nil {
					return err
				}
			}
			return nil
		}, err
	}}
}

// compare runs both twice, so that memory is reused, and compares the results.
func compare(us, them func() (op, error), message bool) error {
	var results [2][][]byte
	for i, make := range []func() (op, error){us, them} {
		run, err := make()
		if err != nil {
			return err
		}
		for range 2 {
			if results[i], err = run(); err != nil {
				return err
			}
		}
	}
	if len(results[0]) != len(results[1]) {
		return fmt.Errorf("%d results and %d", len(results[0]), len(results[1]))
	}
	for i := range results[0] {
		a, b := results[0][i], results[1][i]
		if message {
			var errA, errB error
			a, errA = same.Message(a)
			b, errB = same.Message(b)
			if errA != nil || errB != nil {
				return fmt.Errorf("ours: %v, %s: %v", errA, peer, errB)
			}
		}
		if !bytes.Equal(a, b) {
			return fmt.Errorf("result %d differs: %x and %x", i, a, b)
		}
	}
	return nil
}
