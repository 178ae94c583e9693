package codecsuite

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	apache "github.com/thrum-rpc/thrum/bench/internal/gen/apache/shapes"
	kitex "github.com/thrum-rpc/thrum/bench/internal/gen/kitex/shapes"
	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/bench/internal/same"
)

// Suite is the suite "codec".
func Suite() harness.Suite {
	return harness.Suite{
		Name:  "codec",
		About: "tagged Go structs to Thrift and back, against Frugal, FastCodec and Apache Thrift",
		Groups: func() ([]harness.Group, error) {
			var all []harness.Group
			for _, s := range table() {
				groups, err := s.groups()
				if err != nil {
					return nil, fmt.Errorf("%s: %w", s.name, err)
				}
				all = append(all, groups...)
			}
			return all, nil
		},
		Compile: func() ([]harness.Compile, error) {
			var all []harness.Compile
			for _, s := range table() {
				c, err := s.compile()
				if err != nil {
					return nil, fmt.Errorf("%s: %w", s.name, err)
				}
				all = append(all, c)
			}
			return all, nil
		},
	}
}

// shape is a row of the suite's table.
type shape struct {
	name    string
	groups  func() ([]harness.Group, error)
	compile func() (harness.Compile, error)
}

// table has the shapes in the order of the report. A nil limit means that the
// work was not written by hand for that shape.
func table() []shape {
	return []shape{
		row[kitex.Leaf, apache.Leaf]("small", small(), leafLimit()),
		row[kitex.Branch, apache.Branch]("medium", medium(), branchLimit()),
		row[kitex.Tree, apache.Tree]("large", large(), treeLimit()),
		row[kitex.Scalars, apache.Scalars]("scalars", scalars(), nil),
		row[kitex.Strings, apache.Strings]("strings", stringHeavy(), nil),
		row[kitex.Deep, apache.Deep]("deep", deep(), nil),
		row[kitex.Maps, apache.Maps]("maps", maps(), nil),
		row[kitex.ListI64, apache.ListI64]("list-i64", listI64(), listI64Limit()),
	}
}

func row[T, A any, P fast[T], PA tstruct[A]](name string, value *T, l *limit[T]) shape {
	return shape{
		name:    name,
		compile: func() (harness.Compile, error) { return compileTime[T](name) },
		groups: func() ([]harness.Group, error) {
			reference, err := apacheMessage[A, PA](fastMessage[T, P](value), binaryWire)
			if err != nil {
				return nil, err
			}
			contenders := append(ours(value),
				frugalPeer(value), fastPeer[T, P](value, false), fastPeer[T, P](value, true),
				apachePeer[T, A, PA](reference, binaryWire), apachePeer[T, A, PA](reference, compactWire))
			if l != nil {
				contenders = append(contenders, limitPeer(value, l))
			}
			s := set[T]{name: name, reference: reference, contenders: contenders, decode: decodeApache[A, PA],
				compact: func(message []byte) ([]byte, error) { return apacheMessage[A, PA](message, compactWire) }}
			return s.groups(value)
		},
	}
}

// fastMessage is the value in the binary protocol as FastCodec writes it.
func fastMessage[T any, P fast[T]](value *T) []byte {
	b := make([]byte, P(value).BLength())
	P(value).FastWriteNocopy(b, nil)
	return b
}

// apacheMessage is a message of the binary protocol as Apache writes it again.
func apacheMessage[A any, P tstruct[A]](message []byte, w wire) ([]byte, error) {
	v, err := apacheRead[A, P](message, binaryWire)
	if err != nil {
		return nil, err
	}
	mem, proto := apacheProtocol(w)
	err = v.Write(context.Background(), proto)
	return mem.Bytes(), err
}

// decodeApache is the canonical value of a message as Apache's library reads it.
func decodeApache[A any, P tstruct[A]](message []byte, w wire) ([]byte, error) {
	v, err := apacheRead[A, P](message, w)
	if err != nil {
		return nil, err
	}
	return same.Value(v)
}

// set is all that takes part for one shape.
type set[T any] struct {
	name string
	// reference is the value in the binary protocol as Apache writes it: fields
	// in the order of their ids. All contestants read it.
	reference  []byte
	contenders []contender[T]
	decode     func(message []byte, w wire) ([]byte, error)
	compact    func(message []byte) ([]byte, error)
}

func (s *set[T]) groups(value *T) ([]harness.Group, error) {
	want, err := same.Value(value)
	if err != nil {
		return nil, err
	}
	compact, err := s.compact(s.reference)
	if err != nil {
		return nil, err
	}
	messages := map[wire][]byte{binaryWire: s.reference, compactWire: compact}
	var groups []harness.Group
	for _, parallel := range []bool{false, true} {
		marshal := s.group("marshal", parallel, s.marshalers())
		marshal.Check = func() error { return s.checkMarshal(want, messages) }
		unmarshal := s.group("unmarshal", parallel, s.unmarshalers(messages))
		unmarshal.Check = func() error { return s.checkUnmarshal(want, messages) }
		groups = append(groups, marshal, unmarshal)
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

func (s *set[T]) unmarshalers(messages map[wire][]byte) []runner[T] {
	var rs []runner[T]
	for i := range s.contenders {
		c := &s.contenders[i]
		if c.unmarshal == nil {
			continue
		}
		rs = append(rs, runner[T]{c, c.variant(true), func() (harness.Worker, error) {
			run, err := c.unmarshal(messages[c.wire])
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
	g := harness.Group{Work: work, Shape: s.name, Parallel: parallel, Bytes: len(s.reference)}
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
func (s *set[T]) checkMarshal(want []byte, messages map[wire][]byte) error {
	canonical, err := same.Message(s.reference)
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
		if len(out) != len(messages[r.wire]) {
			return fmt.Errorf("%s: the message has %d bytes instead of %d", r.variant, len(out), len(messages[r.wire]))
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
func (s *set[T]) checkUnmarshal(want []byte, messages map[wire][]byte) error {
	for _, r := range s.unmarshalers(messages) {
		run, err := r.unmarshal(messages[r.wire])
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
