// Package jitsuite is the suite "jit": machine code against the interpreter, a
// kind of field at a time, and what making machine code costs. It knows our codec only.
package jitsuite

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/codec"
)

// Suite is the suite "jit".
func Suite() harness.Suite {
	return harness.Suite{
		Name:    "jit",
		About:   "machine code against our interpreter, by kind of field, and the time and size of its making",
		Groups:  groups,
		Compile: compile,
	}
}

// The shapes: entry has next to nothing to encode, so that its time is that of getting in and out.
type (
	entry struct {
		A bool `frugal:"1,default,bool"`
	}
	numbers struct {
		A int64   `frugal:"1,default,i64"`
		B int32   `frugal:"2,default,i32"`
		C int16   `frugal:"3,default,i16"`
		D int8    `frugal:"4,default,i8"`
		E float64 `frugal:"5,default,double"`
		F bool    `frugal:"6,default,bool"`
		G int64   `frugal:"7,default,i64"`
		H int32   `frugal:"8,default,i32"`
	}
	optionals struct {
		A *int64   `frugal:"1,optional,i64"`
		B *int32   `frugal:"2,optional,i32"`
		C *string  `frugal:"3,optional,string"`
		D *float64 `frugal:"4,optional,double"`
		E *bool    `frugal:"5,optional,bool"`
		F *int64   `frugal:"6,optional,i64"`
		G *entry   `frugal:"7,optional,entry"`
		H []byte   `frugal:"8,optional,binary"`
	}
	texts struct {
		A string `frugal:"1,default,string"`
		B string `frugal:"2,default,string"`
		C string `frugal:"3,default,string"`
		D string `frugal:"4,default,string"`
	}
	structs struct {
		A *numbers `frugal:"1,default,numbers"`
		B *texts   `frugal:"2,default,texts"`
		C numbers  `frugal:"3,default,numbers"`
		D *entry   `frugal:"4,default,entry"`
	}
	listI32 struct {
		L []int32 `frugal:"1,default,list<i32>"`
	}
	listI64 struct {
		L []int64 `frugal:"1,default,list<i64>"`
	}
	listDouble struct {
		L []float64 `frugal:"1,default,list<double>"`
	}
	listString struct {
		L []string `frugal:"1,default,list<string>"`
	}
	listStructs struct {
		L []*numbers `frugal:"1,default,list<numbers>"`
	}
)

// shape is a row of the table.
type shape struct {
	name    string
	groups  func(name string) ([]harness.Group, error)
	compile func(name string) ([]harness.Compile, error)
}

func row[T any](name string, v *T) shape {
	return shape{name, func(name string) ([]harness.Group, error) { return groupsOf(name, v) }, compileOf[T]}
}

// table has the shapes in the order of the report.
func table() []shape {
	n := numbers{A: 1 << 40, B: -7, C: 300, D: 4, E: 2.5, F: true, G: -1, H: 1 << 20}
	text := texts{"warp", "weft and warp", strings.Repeat("thread ", 10), strings.Repeat("yarn ", 60)}
	some := "some"
	fill := func(n int) (l listI64) {
		for i := range n {
			l.L = append(l.L, int64(i)<<20)
		}
		return l
	}
	i64 := fill(1000)
	var i32 listI32
	var doubles listDouble
	var strs listString
	var list listStructs
	for i, x := range i64.L {
		i32.L = append(i32.L, int32(i))
		doubles.L = append(doubles.L, float64(x))
		if i < 100 {
			strs.L = append(strs.L, some)
			list.L = append(list.L, &n)
		}
	}
	return []shape{
		row("entry", &entry{true}),
		row("numbers", &n),
		row("optionals", &optionals{A: &n.A, C: &some, E: &n.F, G: &entry{}, H: []byte("bytes")}),
		row("texts", &text),
		row("structs", &structs{A: &n, B: &text, C: n}),
		row("list-i32", &i32),
		row("list-i64", &i64),
		row("list-double", &doubles),
		row("list-string", &strs),
		row("list-struct", &list),
	}
}

func groups() ([]harness.Group, error) {
	var all []harness.Group
	for _, s := range table() {
		g, err := s.groups(s.name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		all = append(all, g...)
	}
	return all, nil
}

func compile() ([]harness.Compile, error) {
	var all []harness.Compile
	for _, s := range table() {
		c, err := s.compile(s.name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		all = append(all, c...)
	}
	return all, nil
}

var kinds = []codec.EngineKind{codec.JIT, codec.Interp}

var protocols = map[codec.Protocol]string{codec.Binary: "binary", codec.Compact: "compact"}

// groupsOf has the works on a value, on both engines and in both protocols.
func groupsOf[T any](name string, v *T) ([]harness.Group, error) {
	var all []harness.Group
	for _, p := range []codec.Protocol{codec.Binary, codec.Compact} {
		marshal := harness.Group{Work: "marshal", Shape: name}
		size := harness.Group{Work: "size", Shape: name}
		unmarshal := harness.Group{Work: "unmarshal", Shape: name}
		var messages [][]byte
		for _, k := range kinds {
			c, err := codec.For[T](codec.Engine(k), codec.Use(p))
			if err != nil {
				return nil, err
			}
			b, err := c.Append(nil, v)
			if err != nil {
				return nil, err
			}
			messages = append(messages, b)
			variant := k.String() + "/" + protocols[p]
			marshal.Contestants = append(marshal.Contestants, harness.Contestant{Name: variant, New: func() (harness.Worker, error) { return encodes(c, v), nil }})
			size.Contestants = append(size.Contestants, harness.Contestant{Name: variant, New: func() (harness.Worker, error) { return sizes(c, v), nil }})
			unmarshal.Contestants = append(unmarshal.Contestants, harness.Contestant{Name: variant, New: func() (harness.Worker, error) { return decodes(c, b), nil }})
		}
		for _, g := range []*harness.Group{&marshal, &size, &unmarshal} {
			g.Bytes = len(messages[0])
			g.Check = func() error {
				if !bytes.Equal(messages[0], messages[1]) {
					return errors.New("the engines write different bytes")
				}
				return nil
			}
			g.Pairs = []harness.Pair{{Ours: g.Contestants[0].Name, Peer: g.Contestants[1].Name, Label: codec.Interp.String()}}
			all = append(all, *g)
		}
	}
	return all, nil
}

func encodes[T any](c *codec.Codec[T], v *T) harness.Worker {
	var buf []byte
	return func(n int) (err error) {
		for range n {
			if buf, err = c.Append(buf[:0], v); err != nil {
				return err
			}
		}
		return nil
	}
}

func sizes[T any](c *codec.Codec[T], v *T) harness.Worker {
	return func(n int) error {
		for range n {
			if _, err := c.Size(v); err != nil {
				return err
			}
		}
		return nil
	}
}

func decodes[T any](c *codec.Codec[T], b []byte) harness.Worker {
	v := new(T)
	return func(n int) error {
		for range n {
			*v = *new(T)
			if _, err := c.Unmarshal(b, v); err != nil {
				return err
			}
		}
		return nil
	}
}

// compileOf is the median of several compilations on each engine, and the size of the code.
func compileOf[T any](name string) ([]harness.Compile, error) {
	var all []harness.Compile
	for _, k := range kinds {
		var took []time.Duration
		var code int
		for range 9 {
			start := time.Now()
			c, err := codec.For[T](codec.Engine(k))
			if err != nil {
				return nil, err
			}
			took = append(took, time.Since(start))
			r := c.Report()
			code = r.Encode.CodeSize + r.Decode.CodeSize
		}
		slices.Sort(took)
		all = append(all, harness.Compile{Shape: name + "/" + k.String(), NS: float64(took[len(took)/2]), Code: code})
	}
	return all, nil
}
