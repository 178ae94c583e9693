package codecsuite

import (
	"slices"
	"time"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/codec"
)

// mode is a way in which our codec decodes, and the protocol it speaks.
type mode struct {
	name    string
	wire    wire
	options []codec.Option
}

// modes have all that a user chooses from. A mode that is added here is
// compared with every peer.
func modes() []mode {
	return []mode{
		{"copy", binaryWire, nil},
		{"copy", compactWire, []codec.Option{codec.Use(codec.Compact)}},
		{"alias", binaryWire, []codec.Option{codec.NoCopy()}},
		{"alias", compactWire, []codec.Option{codec.NoCopy(), codec.Use(codec.Compact)}},
		{"arena", binaryWire, nil},
		{"arena", compactWire, []codec.Option{codec.Use(codec.Compact)}},
	}
}

// ours lists the modes of our codec, as contenders like the peers.
func ours[T any](value *T) ([]contender[T], error) {
	var all []contender[T]
	for _, m := range modes() {
		for _, kind := range []codec.EngineKind{codec.Interp, codec.JIT} {
			c, err := onEngine(m, kind, value)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	return all, nil
}

// onEngine is a mode on an engine. Machine code needs no size ahead: it leaves when the buffer is full.
func onEngine[T any](m mode, kind codec.EngineKind, value *T) (contender[T], error) {
	c, err := codec.For[T](append(slices.Clone(m.options), codec.Engine(kind))...)
	if err != nil {
		return contender[T]{}, err
	}
	marshal := ourMarshal[T]
	if c.Report().Encode.Engine == codec.JIT.String() {
		marshal = onePass[T]
	}
	decode := ourUnmarshal[T]
	if m.name == "arena" {
		decode = arenaUnmarshal[T]
	}
	return contender[T]{
		name: kind.String(), mode: m.name, wire: m.wire, ours: true,
		marshal:   func() (func(int) ([]byte, error), error) { return marshal(c, value), nil },
		unmarshal: func(b []byte) (func(int) (any, error), error) { return decode(c, b), nil },
	}, nil
}

func onePass[T any](c *codec.Codec[T], value *T) func(int) ([]byte, error) {
	var buf []byte
	return func(n int) (_ []byte, err error) {
		for range n {
			if buf, err = c.Append(buf[:0], value); err != nil {
				return nil, err
			}
		}
		return buf, nil
	}
}

func ourMarshal[T any](c *codec.Codec[T], value *T) func(int) ([]byte, error) {
	var buf []byte
	return func(n int) ([]byte, error) {
		for range n {
			size, err := c.Size(value)
			if err != nil {
				return nil, err
			}
			if size > cap(buf) {
				buf = make([]byte, 0, size)
			}
			if buf, err = c.Append(buf[:0], value); err != nil {
				return nil, err
			}
		}
		return buf, nil
	}
}

func ourUnmarshal[T any](c *codec.Codec[T], b []byte) func(int) (any, error) {
	v := new(T)
	return func(n int) (any, error) {
		for range n {
			*v = *new(T)
			if took, err := c.Unmarshal(b, v); err != nil {
				return nil, err
			} else if took != len(b) {
				return nil, errRest
			}
		}
		return v, nil
	}
}

// arenaUnmarshal releases the arena before each message, as a server does after
// each reply; the last message stays valid.
func arenaUnmarshal[T any](c *codec.Codec[T], b []byte) func(int) (any, error) {
	v, a := new(T), codec.NewArena()
	return func(n int) (any, error) {
		for range n {
			a.Release()
			*v = *new(T)
			if took, err := c.UnmarshalArena(b, v, a); err != nil {
				return nil, err
			} else if took != len(b) {
				return nil, errRest
			}
		}
		return v, nil
	}
}

// compileTime is the median of several compilations of T. A codec with an
// option is compiled at each call; this option says what is the default anyway.
func compileTime[T any](shape string) (harness.Compile, error) {
	var took []time.Duration
	for range 9 {
		start := time.Now()
		if _, err := codec.For[T](codec.MaxDepth(codec.DefaultMaxDepth)); err != nil {
			return harness.Compile{}, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return harness.Compile{Shape: shape, NS: float64(took[len(took)/2])}, nil
}
