package codecsuite

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/bench/internal/same"
)

// set is all that takes part for one shape.
type set[T any] struct {
	name string
	// messages are the value in each protocol. All contestants read them; a
	// contender whose protocol has none takes no part.
	messages   map[wire][]byte
	contenders []contender[T]
	// decode is the canonical value of a message as Apache reads it.
	decode func(message []byte, w wire) ([]byte, error)
}

// groups makes a group per work, on one processor and on all.
func (s *set[T]) groups(value *T, works ...string) ([]harness.Group, error) {
	want, err := same.Value(value)
	if err != nil {
		return nil, err
	}
	s.contenders = slices.DeleteFunc(s.contenders, func(c contender[T]) bool { return s.messages[c.wire] == nil })
	var groups []harness.Group
	for _, parallel := range []bool{false, true} {
		for _, work := range works {
			g := s.group(work, parallel, s.unmarshalers())
			g.Check = func() error { return s.checkUnmarshal(want) }
			if work == "marshal" {
				g = s.group(work, parallel, s.marshalers())
				g.Check = func() error { return s.checkMarshal(want) }
			}
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// runner is a contender that takes part in a work.
type runner[T any] struct {
	*contender[T]
	variant string // unique in the group; the variant of the contract if ours
	worker  func() (harness.Worker, error)
}

func (s *set[T]) marshalers() []runner[T] {
	var rs []runner[T]
	for i := range s.contenders {
		c := &s.contenders[i]
		// The modes of unmarshal are one and the same when encoding.
		if c.marshal == nil || c.mode != "" && c.mode != "copy" {
			continue
		}
		rs = append(rs, runner[T]{c, c.variant(false), func() (harness.Worker, error) {
			run, err := c.marshal()
			return func(n int) error {
				c.start()
				_, err := run(n)
				return err
			}, err
		}})
	}
	return rs
}

func (s *set[T]) unmarshalers() []runner[T] {
	var rs []runner[T]
	for i := range s.contenders {
		c := &s.contenders[i]
		if c.unmarshal == nil {
			continue
		}
		rs = append(rs, runner[T]{c, c.variant(true), func() (harness.Worker, error) {
			run, err := c.unmarshal(s.messages[c.wire])
			return func(n int) error {
				c.start()
				_, err := run(n)
				return err
			}, err
		}})
	}
	return rs
}

func (c *contender[T]) start() {
	if c.before != nil {
		c.before()
	}
}

// variant is copy|alias|arena for unmarshal, the engine and the protocol; for
// a peer its name, with the protocol if that is not binary.
func (c *contender[T]) variant(unmarshal bool) string {
	parts := []string{c.name}
	if c.ours && unmarshal {
		parts = []string{c.mode, c.name}
	}
	if c.ours || c.wire != binaryWire {
		parts = append(parts, string(c.wire))
	}
	return strings.Join(parts, "/")
}

// group pairs each of ours with the peers of its protocol. Compact is also
// compared with our own binary.
func (s *set[T]) group(work string, parallel bool, runners []runner[T]) harness.Group {
	g := harness.Group{Work: work, Shape: s.name, Parallel: parallel, Bytes: len(s.messages[binaryWire])}
	for _, r := range runners {
		g.Contestants = append(g.Contestants, harness.Contestant{Name: r.variant, New: r.worker})
		if !r.ours {
			continue
		}
		for _, p := range runners {
			switch {
			case !p.ours && p.wire == r.wire:
				g.Pairs = append(g.Pairs, harness.Pair{Ours: r.variant, Peer: p.variant, Label: p.name})
			case p.ours && r.wire == compactWire && p.wire == binaryWire && p.name == r.name && p.mode == r.mode:
				g.Pairs = append(g.Pairs, harness.Pair{Ours: r.variant, Peer: p.variant, Label: string(binaryWire)})
			}
		}
	}
	return g
}

// checkMarshal compares all messages with the reference: the same length, the
// same bytes but for order, and the same value in Apache's eyes.
func (s *set[T]) checkMarshal(want []byte) error {
	canonical, err := same.Message(s.messages[binaryWire])
	if err != nil {
		return fmt.Errorf("the reference message: %w", err)
	}
	for _, r := range s.marshalers() {
		run, err := r.marshal()
		if err != nil {
			return fmt.Errorf("%s: %w", r.variant, err)
		}
		r.start()
		out, err := run(2) // twice, so that a buffer is reused
		if err != nil {
			return fmt.Errorf("%s: %w", r.variant, err)
		}
		if len(out) != len(s.messages[r.wire]) {
			return fmt.Errorf("%s: the message has %d bytes instead of %d", r.variant, len(out), len(s.messages[r.wire]))
		}
		if r.wire == binaryWire {
			if got, err := same.Message(out); err != nil || !bytes.Equal(got, canonical) {
				return fmt.Errorf("%s: other bytes than the reference (%v)", r.variant, err)
			}
		}
		if got, err := s.decode(out, r.wire); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("%s: Apache reads another value (%v)", r.variant, err)
		}
	}
	return nil
}

// checkUnmarshal compares all decoded values with the one that was encoded.
func (s *set[T]) checkUnmarshal(want []byte) error {
	for _, r := range s.unmarshalers() {
		run, err := r.unmarshal(s.messages[r.wire])
		if err != nil {
			return fmt.Errorf("%s: %w", r.variant, err)
		}
		r.start()
		v, err := run(2)
		if err != nil {
			return fmt.Errorf("%s: %w", r.variant, err)
		}
		if got, err := same.Value(v); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("%s: another value than was encoded (%v)", r.variant, err)
		}
	}
	return nil
}
