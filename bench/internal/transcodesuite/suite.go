package transcodesuite

import (
	"bytes"
	"fmt"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

// families have the works of the suite in the order of the report. Each makes
// the groups of its works on all their shapes.
var families = []func() ([]harness.Group, error){
	jsonThrift,
	httpThrift,
	jsonProtobuf,
}

// Suite is the suite "transcode".
func Suite() harness.Suite {
	return harness.Suite{
		Name:  "transcode",
		About: "messages converted by a schema, against dynamicgo, sonic with FastCodec and Kitex's generic calls",
		Groups: func() ([]harness.Group, error) {
			var all []harness.Group
			for _, family := range families {
				groups, err := family()
				if err != nil {
					return nil, err
				}
				all = append(all, groups...)
			}
			return all, nil
		},
	}
}

// op converts once and returns what came of it, which is valid until the next
// call.
type op func() ([]byte, error)

// contender is a way to do a work; make prepares it with buffers of its own.
type contender struct {
	name string
	make func() (op, error)
}

// group is a work on a shape whose message has size bytes; canonical brings
// what a contender made to a form in which results can be compared.
func group(work, shape string, size int, canonical func([]byte) ([]byte, error), us contender, peers ...contender) harness.Group {
	all := append([]contender{us}, peers...)
	g := harness.Group{Work: work, Shape: shape, Bytes: size, Check: func() error { return compare(canonical, all) }}
	for _, c := range all {
		g.Contestants = append(g.Contestants, harness.Contestant{Name: c.name, New: c.worker})
		if c.name != harness.Ours {
			g.Pairs = append(g.Pairs, harness.Pair{Ours: harness.Ours, Peer: c.name, Label: c.name})
		}
	}
	return g
}

func (c contender) worker() (harness.Worker, error) {
	run, err := c.make()
	return func(n int) error {
		for range n {
			if _, err := run(); err != nil {
				return err
			}
		}
		return nil
	}, err
}

// compare runs all twice, so that memory is reused, and compares the results.
func compare(canonical func([]byte) ([]byte, error), all []contender) error {
	var first []byte
	for i, c := range all {
		run, err := c.make()
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		for range 2 {
			out, err := run()
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			got, err := canonical(out)
			switch {
			case err != nil:
				return fmt.Errorf("%s: %w", c.name, err)
			case i == 0:
				first = got
			case !bytes.Equal(first, got):
				return fmt.Errorf("the results of %s and %s differ", all[0].name, c.name)
			}
		}
	}
	return nil
}
