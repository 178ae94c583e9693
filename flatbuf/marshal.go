package flatbuf

import (
	"math"
	"reflect"
	"sync"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds the codecs of tagged Go structs.

// Codec converts between Go structs of type T and messages whose root is the
// table that the tags of T state. It is safe for concurrent use. Keep it: For compiles at
// each call.
type Codec[T any] struct {
	root     rootProgram
	layout   Layout
	verifier *Verifier
	config   codecConfig
	builders Pool
	readers  sync.Pool // *reader
}

// CodecOption changes what For compiles.
type CodecOption interface{ apply(*codecConfig) }

type codecOption func(*codecConfig)

func (o codecOption) apply(c *codecConfig) { o(c) }

type codecConfig struct {
	verify  []VerifyOption
	trusted bool
	id      string
	depth   int
	bytes   int
}

// Identifier writes the file identifier id, of four bytes, and refuses messages
// without it.
func Identifier(id string) CodecOption { return codecOption(func(c *codecConfig) { c.id = id }) }

// Verified lets Unmarshal take messages that somebody has verified already. Others then
// give wrong values, and nothing worse: Unmarshal reads 16 tables for each byte of a message at most, and
// 65,536 at least, or as many as MaxCopied says if that is more.
func Verified() CodecOption { return codecOption(func(c *codecConfig) { c.trusted = true }) }

// VerifyWith gives the verification of Unmarshal its options.
func VerifyWith(opts ...VerifyOption) CodecOption {
	return codecOption(func(c *codecConfig) { c.verify = append(c.verify, opts...) })
}

// MaxNesting limits the nesting of tables that Marshal writes, so that cyclic
// data ends, and that Unmarshal reads. The default is 64, which other verifiers accept too.
func MaxNesting(n int) CodecOption { return codecOption(func(c *codecConfig) { c.depth = n }) }

// MaxCopied limits the bytes of text and vectors that Unmarshal copies from one
// message, and those of the keys and values of maps. Parts of a message may be shared, so this may be more than its
// length; the default is 16 times that, and 64 KiB at least.
func MaxCopied(n int) CodecOption { return codecOption(func(c *codecConfig) { c.bytes = n }) }

// For returns the codec of the struct type T. Errors about T are *TypeError.
func For[T any](opts ...CodecOption) (*Codec[T], error) {
	c := &Codec[T]{config: codecConfig{depth: flatwire.MaxDepth}}
	for _, o := range opts {
		o.apply(&c.config)
	}
	comp := newCompiler()
	table, err := comp.table(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	c.layout = comp.layout
	c.root = newRoot(table, &c.config, len(c.layout.Tables))
	verify := append([]VerifyOption{MaxDepth(c.config.depth)}, c.config.verify...)
	if c.config.id != "" {
		verify = append(verify, FileIdentifier(c.config.id))
	}
	if c.verifier, err = NewVerifier(&c.layout, 0, verify...); err != nil {
		return nil, err
	}
	return c, nil
}

// Layout returns what the tags state; T is Tables[0]. It must not be changed.
func (c *Codec[T]) Layout() *Layout { return &c.layout }

// Verifier returns the verifier of messages of T.
func (c *Codec[T]) Verifier() *Verifier { return c.verifier }

// Marshal returns v as a message. A nil slice or pointer and an empty string
// are absent fields, as is a scalar that equals its default.
func (c *Codec[T]) Marshal(v *T) ([]byte, error) {
	b := c.builders.Get()
	defer c.builders.Put(b)
	if err := c.MarshalTo(b, v); err != nil {
		return nil, err
	}
	return append([]byte(nil), b.FinishedBytes()...), nil
}

// MarshalTo makes v the message of b, which is Reset first. It allocates nothing
// once the builder's memory is large enough.
func (c *Codec[T]) MarshalTo(b *Builder, v *T) error {
	if v == nil {
		return errNil()
	}
	b.Reset()
	root := &c.root
	if root.front != nil {
		if off := b.leaf(root.table, mem.Of(v), root); off != 0 {
			if !b.finished {
				b.finish(off, root.id, 0)
			}
			return nil
		}
	}
	off, err := b.structs.build(b, root, mem.Of(v))
	if err == nil {
		b.finish(off, root.id, 0)
	}
	return err
}

func errNil() error { return diag.NewFault(diag.InvalidValue, -1, "a nil pointer") }

// Build writes v as a table of the message that b is making, and returns its
// offset. After an error what was written so far is left in b.
func (c *Codec[T]) Build(b *Builder, v *T) (UOffsetT, error) {
	if v == nil {
		return 0, errNil()
	}
	return b.structs.build(b, &c.root, mem.Of(v))
}

// Unmarshal verifies the message b and fills v from it: fields that are absent
// get their defaults, those that T does not have are left out. The result never
// aliases b. After an error v is partly filled.
func (c *Codec[T]) Unmarshal(b []byte, v *T) error { return c.unmarshal(b, v, false) }

func (c *Codec[T]) unmarshal(b []byte, v *T, strict bool) error {
	if v == nil {
		return errNil()
	}
	tables := math.MaxInt // the verifier has counted them
	if c.config.trusted {
		tables = max(visitsOf(b), c.config.bytes)
	} else if err := c.verifier.Verify(b); err != nil {
		return err
	}
	s, _ := c.readers.Get().(*reader)
	if s == nil {
		s = new(reader)
	}
	s.b, s.tables, s.depth, s.strict, s.budget = b, tables, c.config.depth, strict, c.config.bytes
	if s.budget <= 0 {
		s.budget = visitsOf(b)
	}
	ok := s.table(c.root.table, flatwire.Root(b), mem.Of(v))
	f := s.fault
	s.b, s.fault = nil, nil
	c.readers.Put(s)
	if !ok {
		return f
	}
	return nil
}

// Edit returns the message b as change leaves it: b is read, changed as a Go
// struct, and written anew. A message with a field that T does not have is refused
// with the code diag.UnknownField, for that field would be lost. Scalars that
// are present can be changed in place by the Mutate methods of Table.
func (c *Codec[T]) Edit(b []byte, change func(v *T) error) ([]byte, error) {
	var v T
	if err := c.unmarshal(b, &v, true); err != nil {
		return nil, err
	}
	if err := change(&v); err != nil {
		return nil, err
	}
	return c.Marshal(&v)
}
