package conform

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/conform/guard"
	"github.com/thrum-rpc/thrum/schema"
)

// This file runs the corpus on an engine.

// Engine is what the corpus runs on: something that encodes and decodes values
// of any schema.
type Engine interface {
	// Name names the engine in the output of tests.
	Name() string
	// Encode returns the encoding of v, with maps ordered by their encoded keys.
	Encode(p Protocol, t *schema.Type, v *schema.Value, r Rules) ([]byte, error)
	// Decode reads a struct from the front of b. Between decoding and looking
	// at what came of it, it calls spoil, which overwrites b: what the result
	// shares with its input shows as a wrong value.
	Decode(p Protocol, t *schema.Type, b []byte, r Rules, spoil func()) (v *schema.Value, n int, err error)
}

// ErrUnsupported is what an engine returns for a protocol, a type or a rule
// that it does not take. Run counts and names such cases.
var ErrUnsupported = errors.New("not supported by this engine")

// Run runs the cases on e: each value has the bytes and each bytes the value
// or fault of the case, on input that ends at an inaccessible page, and every
// prefix of something valid is an unexpected EOF. It returns the names of the
// cases of which e supports some part, so that a test can say how many it expects.
func Run(t *testing.T, e Engine, cases []*Case) (ran []string) {
	t.Helper()
	edge := guard.New(t, 1<<20)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			supported, err := run(e, edge, c)
			switch {
			case err != nil:
				t.Error(err)
			case !supported:
				t.Skip(ErrUnsupported)
			default:
				ran = append(ran, c.Name)
			}
		})
	}
	return ran
}

// Agrees is Run without a test: it returns the first disagreement.
func Agrees(e Engine, edge *guard.Buffer, cases []*Case) error {
	for _, c := range cases {
		if _, err := run(e, edge, c); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// run reports whether e supports some part of c, and where it disagrees.
func run(e Engine, edge *guard.Buffer, c *Case) (supported bool, err error) {
	for _, b := range c.Bytes {
		x := &execution{e: e, c: c, b: b, edge: edge}
		switch err := x.run(); {
		case err == nil:
			supported = true
		case !errors.Is(err, ErrUnsupported):
			return true, fmt.Errorf("%s %x: %w", b.Protocol, b.Data, err)
		}
	}
	return supported, nil
}

// execution is one case in one protocol.
type execution struct {
	e    Engine
	c    *Case
	b    Bytes
	edge *guard.Buffer
}

func (x *execution) run() error {
	if x.b.Fault != nil {
		return x.fails()
	}
	if x.c.Writes {
		if err := x.writes(); err != nil {
			return err
		}
	}
	return x.reads()
}

func (x *execution) decode(b []byte) (*schema.Value, int, error) {
	in := x.edge.Put(b)
	return x.e.Decode(x.b.Protocol, x.c.Type, in, x.c.Rules, func() {
		for i := range in {
			in[i] = ^in[i]
		}
	})
}

func (x *execution) fails() error {
	_, n, err := x.decode(x.b.Data)
	if errors.Is(err, ErrUnsupported) {
		return err
	}
	if f := FaultOf(err); f == nil || *f != *x.b.Fault || n != 0 {
		return fmt.Errorf("got %v after %d bytes (%v), want %v", f, n, err, x.b.Fault)
	}
	return nil
}

func (x *execution) writes() error {
	got, err := x.e.Encode(x.b.Protocol, x.c.Type, x.c.Value, x.c.Rules)
	if err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	if !bytes.Equal(got, x.b.Data) {
		return fmt.Errorf("wrote %x", got)
	}
	return nil
}

func (x *execution) reads() error {
	want := Format(x.c.Type, Filled(x.c.Type, x.c.Value))
	for _, after := range []string{"", "what follows"} {
		v, n, err := x.decode(append(bytes.Clone(x.b.Data), after...))
		if err != nil || n != len(x.b.Data) {
			return fmt.Errorf("read %d bytes: %w", n, err)
		}
		if got := Format(x.c.Type, Filled(x.c.Type, v)); got != want {
			return fmt.Errorf("\n got %s\nwant %s", got, want)
		}
	}
	for i := range x.b.Data {
		if _, n, err := x.decode(x.b.Data[:i]); diag.CodeOf(err) != diag.UnexpectedEOF || n != 0 {
			return fmt.Errorf("the first %d bytes: got %v after %d", i, err, n)
		}
	}
	return nil
}
