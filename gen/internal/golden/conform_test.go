package golden_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	generated "github.com/thrum-rpc/thrum/gen/internal/golden/conform"
	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/internal/conform/gostruct"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// staticEngine runs the static methods of one schema of the corpus.
type staticEngine struct{ idl string }

func (staticEngine) Name() string { return "static" }

// inner is what the generated methods call each other by.
type inner interface {
	AppendThriftAt(b []byte, depth int) ([]byte, *diag.Fault)
	ReadThriftAt(b []byte, i, depth int) (int, *diag.Fault)
}

// prepare returns a new T and the depth that the rules allow.
func (e staticEngine) prepare(p conform.Protocol, r conform.Rules) (inner, int, error) {
	depth := thriftwire.MaxDepth
	if r.MaxDepth > 0 {
		depth = r.MaxDepth
		r.MaxDepth = 0
	}
	v, ok := generated.New(e.idl).(inner)
	if !ok || p != conform.Binary || r != (conform.Rules{}) {
		return nil, 0, conform.ErrUnsupported
	}
	return v, depth, nil
}

func (e staticEngine) Encode(p conform.Protocol, t *schema.Type, v *schema.Value, r conform.Rules) ([]byte, error) {
	dst, depth, err := e.prepare(p, r)
	if err != nil || unordered(v) {
		return nil, conform.ErrUnsupported
	}
	gostruct.Set(reflect.ValueOf(dst).Elem(), t, v)
	b, f := dst.AppendThriftAt(nil, depth)
	if f != nil {
		return nil, f
	}
	return b, nil
}

func (e staticEngine) Decode(p conform.Protocol, t *schema.Type, b []byte, r conform.Rules, spoil func()) (*schema.Value, int, error) {
	dst, depth, err := e.prepare(p, r)
	if err != nil {
		return nil, 0, err
	}
	n, f := dst.ReadThriftAt(b, 0, depth)
	spoil()
	if f != nil {
		return nil, 0, f
	}
	return gostruct.Get(reflect.ValueOf(dst).Elem(), t), n, nil
}

// unordered reports whether v holds a map of several entries, which static
// methods write in Go's order.
func unordered(v *schema.Value) bool {
	if len(v.Map) > 1 {
		return true
	}
	for _, e := range v.Map {
		if unordered(e.Key) || unordered(e.Value) {
			return true
		}
	}
	for _, e := range v.List {
		if unordered(e) {
			return true
		}
	}
	for _, f := range v.Fields {
		if unordered(f.Value) {
			return true
		}
	}
	return false
}

func TestStaticMethodsFollowTheCorpus(t *testing.T) {
	for _, c := range conform.Corpus(t, "../../../internal/conform/testdata") {
		e := staticEngine{c.Schema}
		_, _, err := e.prepare(conform.Binary, c.Rules)
		binary := slices.ContainsFunc(c.Bytes, func(b conform.Bytes) bool { return b.Protocol == conform.Binary })
		if err != nil || !binary || c.Value != nil && unordered(c.Value) {
			continue // what the methods do not offer
		}
		if ran := conform.Run(t, e, []*conform.Case{c}); len(ran) == 0 {
			t.Errorf("%s did not run", c.Name)
		}
	}
}
