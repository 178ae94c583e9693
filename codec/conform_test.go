package codec

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/internal/conform/gostruct"
	"github.com/thrum-rpc/thrum/internal/conform/guard"
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/jit"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"pgregory.net/rapid"
)

// This file runs the corpus of package conform on the codec, and random
// schemas and values against its model.

// The types that the corpus knows by the names Tree, Choice and Inner.
type (
	conformTree struct {
		Value int32                   `frugal:"1,default,i32" thrift:"value,1"`
		Left  *conformTree            `frugal:"2,optional,Tree" thrift:"left,2"`
		Right *conformTree            `frugal:"3,optional,Tree" thrift:"right,3"`
		More  []*conformTree          `frugal:"4,default,list<Tree>" thrift:"more,4"`
		Named map[string]*conformTree `frugal:"5,default,map<string:Tree>" thrift:"named,5"`
	}
	conformChoice struct {
		Number *int32         `frugal:"1,optional,i32" thrift:"number,1"`
		Text   *string        `frugal:"2,optional,string" thrift:"text,2"`
		Again  *conformChoice `frugal:"3,optional,Choice" thrift:"again,3"`
	}
	conformInner struct {
		N int32  `frugal:"1,default,i32" thrift:"n,1"`
		S string `frugal:"2,optional,string" thrift:"s,2"`
	}
)

func (*conformChoice) CountSetFieldsconformChoice() int { return 0 }
func (i *conformInner) InitDefault()                    { i.N, i.S = 7, "dflt" }

var conformNamed = map[string]reflect.Type{
	"Tree": reflect.TypeFor[conformTree](), "Choice": reflect.TypeFor[conformChoice](), "Inner": reflect.TypeFor[conformInner](),
}

// conformEngine is the codec on Go types of one style.
type conformEngine struct {
	name   string
	style  gostruct.Style
	arena  *Arena        // nil for the heap
	engine engine.Engine // nil for the portable one
	latest *conformTarget
}

// conformTarget is what an engine has compiled last: a case is decoded many
// times, and code is dear to make where an emulator has to translate it.
type conformTarget struct {
	protocol conform.Protocol
	typ      *schema.Type
	rules    conform.Rules

	g reflect.Type
	c *compiled
}

var conformEngines = []conformEngine{
	{"pointers", gostruct.Style{Named: conformNamed}, nil, nil, new(conformTarget)},
	{"values", gostruct.Style{Named: conformNamed, ByValue: true, WideEnums: true}, nil, nil, new(conformTarget)},
	{"an arena", gostruct.Style{Named: conformNamed}, NewArena(), nil, new(conformTarget)},
	{"machine code", gostruct.Style{Named: conformNamed}, nil, jit.Engine{Shortest: 1}, new(conformTarget)},
	{"values and machine code", gostruct.Style{Named: conformNamed, ByValue: true, WideEnums: true}, nil, jit.Engine{Shortest: 1}, new(conformTarget)},
	{"an arena and machine code", gostruct.Style{Named: conformNamed}, NewArena(), jit.Engine{Shortest: 1}, new(conformTarget)},
}

// conformShape is what Go has types for without a declaration.
var conformShape = conform.Shape{MaxDepth: 4, MaxFields: 8, Float: true, UUID: true, Plain: true, KeyKinds: conform.ScalarKinds()}

func (e conformEngine) Name() string { return "codec with " + e.name }

func (e conformEngine) compile(p conform.Protocol, t *schema.Type, r conform.Rules) (reflect.Type, *compiled, error) {
	if l := e.latest; l.c != nil && l.protocol == p && l.typ == t && l.rules == r {
		return l.g, l.c, nil
	}
	g, err := e.style.Struct(t.Struct())
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", conform.ErrUnsupported, err)
	}
	protocol := [...]Protocol{conform.Binary: Binary, conform.Apache: Compact, conform.FBThrift: CompactFBThrift}[p]
	opts := []Option{Use(protocol), Deterministic(), MaxDepth(thriftwire.MaxDepth)}
	if r.MaxDepth > 0 {
		opts = append(opts, MaxDepth(r.MaxDepth))
	}
	if r.MaxContainer > 0 {
		opts = append(opts, MaxContainer(r.MaxContainer))
	}
	if r.Strict {
		opts = append(opts, Strict())
	}
	if r.CheckUnions {
		opts = append(opts, CheckUnions())
	}
	if r.CheckSets {
		opts = append(opts, CheckSets())
	}
	cfg := newConfig(opts)
	cfg.custom = e.engine
	c, err := compile(g, cfg, shared.pool)
	if err != nil && p != conform.Binary && strings.Contains(err.Error(), "the compact protocol of") {
		return nil, nil, fmt.Errorf("%w: %w", conform.ErrUnsupported, err)
	}
	if err == nil {
		*e.latest = conformTarget{p, t, r, g, c}
	}
	return g, c, err
}

func (e conformEngine) Encode(p conform.Protocol, t *schema.Type, v *schema.Value, r conform.Rules) ([]byte, error) {
	g, c, err := e.compile(p, t, r)
	if err != nil {
		return nil, err
	}
	src := reflect.New(g)
	gostruct.Set(src.Elem(), t, v)
	return c.marshal(src.UnsafePointer())
}

func (e conformEngine) Decode(p conform.Protocol, t *schema.Type, b []byte, r conform.Rules, spoil func()) (*schema.Value, int, error) {
	g, c, err := e.compile(p, t, r)
	if err != nil {
		return nil, 0, err
	}
	dst := reflect.New(g)
	if e.arena == nil {
		n, err := c.decoder.Decode(b, dst.UnsafePointer(), nil)
		spoil()
		if err != nil {
			return nil, n, err
		}
		return gostruct.Get(dst, t), n, nil
	}
	defer e.arena.Release()
	n, err := c.decoder.Decode(b, dst.UnsafePointer(), e.arena.a)
	spoil()
	if err != nil {
		return nil, n, err
	}
	return gostruct.Get(dst, t), n, nil
}

// Memory that only the codec knows of would be gone after a collection.
func TestResultsOutliveCollection(t *testing.T) {
	for _, e := range conformEngines {
		for _, c := range conform.Corpus(t, "../internal/conform/testdata") {
			for _, b := range c.Bytes {
				if !c.Writes {
					continue
				}
				v, _, err := e.Decode(b.Protocol, c.Type, b.Data, c.Rules, runtime.GC)
				if errors.Is(err, conform.ErrUnsupported) {
					continue
				} else if err != nil {
					t.Fatalf("%s: %v", c.Name, err)
				}
				want := conform.Format(c.Type, conform.Filled(c.Type, c.Value))
				if got := conform.Format(c.Type, conform.Filled(c.Type, v)); got != want {
					t.Errorf("%s:\n got %s\nwant %s", c.Name, got, want)
				}
			}
		}
	}
}

func TestCodecFollowsTheCorpus(t *testing.T) {
	for _, e := range conformEngines {
		t.Run(e.name, func(t *testing.T) {
			cases := conform.Corpus(t, "../internal/conform/testdata")
			var want []string
			for _, c := range cases {
				if c.Name != "maps/containers as keys" { // which Go maps do not take
					want = append(want, c.Name)
				}
			}
			if ran := conform.Run(t, e, cases); !t.Failed() && !slices.Equal(ran, want) {
				t.Errorf("the codec ran %d cases, want these %d: %q", len(ran), len(want), want)
			}
		})
	}
}

func TestCodecAgreesWithTheModelOnRandomSchemas(t *testing.T) {
	edge := guard.New(t, 1<<20)
	for _, e := range conformEngines {
		t.Run(e.name, rapid.MakeCheck(func(t *rapid.T) {
			protocol := rapid.SampledFrom(conform.Protocols[:]).Draw(t, "protocol")
			typ := conform.Struct(t, conform.DefaultShape)
			v := conform.Value(t, typ, 4)
			g, c, err := e.compile(protocol, typ, conform.Rules{})
			if errors.Is(err, conform.ErrUnsupported) {
				return
			} else if err != nil {
				t.Fatal(err)
			}
			b := conform.Append(nil, protocol, typ, v)
			dst := reflect.New(g)
			in := edge.Put(b)
			if n, err := c.decoder.Decode(in, dst.UnsafePointer(), nil); err != nil || n != len(b) {
				t.Fatalf("read %d of %d bytes: %v", n, len(b), err)
			}
			clear(in)
			text := conform.Format(typ, conform.Filled(typ, v))
			if got := conform.Format(typ, conform.Filled(typ, gostruct.Get(dst, typ))); got != text {
				t.Fatalf("\n got %s\nwant %s", got, text)
			}
			again, err := c.marshal(dst.UnsafePointer())
			if err != nil {
				t.Fatal(err)
			}
			if n, err := c.encoder.Size(dst.UnsafePointer()); n != len(again) || err != nil {
				t.Fatalf("Size says %d for %d bytes: %v", n, len(again), err)
			}
			back, n, err := conform.Decode(protocol, typ, again, conform.Rules{Strict: true, CheckSets: true})
			if err != nil || n != len(again) || conform.Format(typ, conform.Filled(typ, back)) != text {
				t.Fatalf("the model read %d of %d bytes of %x: %v", n, len(again), again, err)
			}
		}))
	}
}

// agreesWithTheModel decodes b on e and on the model, which give the same
// value or the same fault.
func agreesWithTheModel(e conformEngine, edge *guard.Buffer, p conform.Protocol, typ *schema.Type, b []byte, r conform.Rules) error {
	want, wantN, wantErr := conform.Decode(p, typ, b, r)
	in := edge.Put(b)
	got, n, err := e.Decode(p, typ, in, r, func() { clear(in) })
	switch {
	case (err == nil) != (wantErr == nil) || n != wantN:
		return fmt.Errorf("read %d bytes, %v; the model %d, %v", n, err, wantN, wantErr)
	case err != nil:
		if got, want := conform.FaultOf(err), conform.FaultOf(wantErr); got == nil || *got != *want {
			return fmt.Errorf("%v; the model %v", err, want)
		}
	default:
		if got, want := conform.Format(typ, conform.Filled(typ, got)), conform.Format(typ, conform.Filled(typ, want)); got != want {
			return fmt.Errorf("\n got %s\nwant %s", got, want)
		}
	}
	return nil
}

func TestCodecAgreesWithTheModelOnDamagedBytes(t *testing.T) {
	edge := guard.New(t, 1<<20)
	for _, e := range conformEngines {
		t.Run(e.name, rapid.MakeCheck(func(t *rapid.T) {
			p := rapid.SampledFrom(conform.Protocols[:]).Draw(t, "protocol")
			typ := conform.Struct(t, conformShape.Of(p))
			b := conform.Append(nil, p, typ, conform.Value(t, typ, 4))
			rules := conform.Rules{Strict: rapid.Bool().Draw(t, "strict"), MaxDepth: rapid.SampledFrom([]int{0, 3}).Draw(t, "depth")}
			for range 20 {
				bad := conform.Damaged(t, b)
				if err := agreesWithTheModel(e, edge, p, typ, bad, rules); err != nil {
					t.Fatalf("%s %x: %v", p, bad, err)
				}
			}
		}))
	}
}

// FuzzDecodeAgreesWithTheModel decodes any bytes as the types of the corpus.
func FuzzDecodeAgreesWithTheModel(f *testing.F) {
	cases := conform.Corpus(f, "../internal/conform/testdata")
	for i, c := range cases {
		for _, b := range c.Bytes {
			f.Add(uint16(i), uint8(b.Protocol), b.Data)
		}
	}
	f.Fuzz(func(t *testing.T, which uint16, protocol uint8, b []byte) {
		c := cases[int(which)%len(cases)]
		p := conform.Protocols[int(protocol)%len(conform.Protocols)]
		if _, _, err := conformEngines[0].compile(p, c.Type, c.Rules); err != nil {
			return // a type that the protocol lacks
		}
		edge := guard.New(t, len(b))
		for _, e := range conformEngines {
			if err := agreesWithTheModel(e, edge, p, c.Type, b, c.Rules); err != nil {
				t.Fatalf("%s: %v", e.name, err)
			}
		}
	})
}
