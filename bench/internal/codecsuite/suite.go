package codecsuite

import (
	"context"
	"fmt"

	apache "github.com/thrum-rpc/thrum/bench/internal/gen/apache/shapes"
	kitex "github.com/thrum-rpc/thrum/bench/internal/gen/kitex/shapes"
	static "github.com/thrum-rpc/thrum/bench/internal/gen/static/shapes"
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
				if s.compile == nil {
					continue
				}
				c, err := s.compile()
				if err != nil {
					return nil, fmt.Errorf("%s: %w", s.name, err)
				}
				all = append(all, c)
			}
			return all, nil
		},
		Marks: marks,
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
		row[kitex.Leaf, apache.Leaf, static.Leaf]("small", small(), leafLimit()),
		row[kitex.Branch, apache.Branch, static.Branch]("medium", medium(), branchLimit()),
		row[kitex.Tree, apache.Tree, static.Tree]("large", large(), treeLimit()),
		row[kitex.Scalars, apache.Scalars, static.Scalars]("scalars", scalars(), nil),
		row[kitex.Strings, apache.Strings, static.Strings]("strings", stringHeavy(), nil),
		row[kitex.Deep, apache.Deep, static.Deep]("deep", deep(), nil),
		row[kitex.Maps, apache.Maps, static.Maps]("maps", maps(), nil),
		row[kitex.ListI64, apache.ListI64, static.ListI64]("list-i64", listI64(), listI64Limit()),
		kitexOrder[kitex.Branch, apache.Branch, static.Branch]("kitex-order", medium()),
	}
}

// row is a shape whose message has its fields in the order of their ids.
func row[T, A, S any, P fast[T], PA tstruct[A], PS staticCode[S]](name string, value *T, l *limit[T]) shape {
	return shape{
		name:    name,
		compile: func() (harness.Compile, error) { return compileTime[T](name) },
		groups: func() ([]harness.Group, error) {
			reference, err := apacheMessage[A, PA](fastMessage[T, P](value), binaryWire)
			if err != nil {
				return nil, err
			}
			compact, err := apacheMessage[A, PA](reference, compactWire)
			if err != nil {
				return nil, err
			}
			all, err := contenders[T, A, S, P, PA, PS](value, reference)
			if err != nil {
				return nil, err
			}
			s := set[T]{
				name: name, messages: map[wire][]byte{binaryWire: reference, compactWire: compact},
				contenders: all, decode: decodeApache[A, PA],
			}
			if l != nil {
				s.contenders = append(s.contenders, limitPeer(value, l), limitAliasPeer(l))
			}
			if l != nil && l.compactPut != nil {
				s.contenders = append(s.contenders, limitCompactPeer(value, l))
			}
			return s.groups(value, "marshal", "unmarshal")
		},
	}
}

// kitexOrder is a shape to unmarshal only, whose message is as FastCodec (and
// Frugal) writes it: in each struct the fields of fixed size first. That is
// what a service receives from Kitex.
func kitexOrder[T, A, S any, P fast[T], PA tstruct[A], PS staticCode[S]](name string, value *T) shape {
	return shape{
		name: name,
		groups: func() ([]harness.Group, error) {
			reference := fastMessage[T, P](value)
			all, err := contenders[T, A, S, P, PA, PS](value, reference)
			if err != nil {
				return nil, err
			}
			s := set[T]{
				name: name, messages: map[wire][]byte{binaryWire: reference},
				contenders: all, decode: decodeApache[A, PA],
			}
			return s.groups(value, "unmarshal")
		},
	}
}

// contenders are ours and the peers that every shape has.
func contenders[T, A, S any, P fast[T], PA tstruct[A], PS staticCode[S]](value *T, reference []byte) ([]contender[T], error) {
	all, err := ours(value)
	if err != nil {
		return nil, err
	}
	static, err := staticContender[T, S, PS](reference)
	return append(all, static,
		frugalPeer(value), fastPeer[T, P](value, false), fastPeer[T, P](value, true),
		apachePeer[T, A, PA](reference, binaryWire), apachePeer[T, A, PA](reference, compactWire)), err
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
