package codec

import (
	"errors"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/jit"
	"github.com/thrum-rpc/thrum/internal/mem"
)

// This file holds codecs for types that are known only when a value comes.

// Set encodes and decodes values of any tagged struct type with the same
// options. It compiles a type at its first use and keeps what it compiled. It is safe for concurrent
// use. Who knows the type uses For, which saves the lookup.
type Set struct {
	config *config
	types  sync.Map // reflect.Type → *once
	pool   *engine.Pool
}

// NewSet returns a set for the options, with nothing compiled.
func NewSet(opts ...Option) *Set {
	cfg := newConfig(opts)
	cfg.compiler = new(jit.Compiler)
	return &Set{config: cfg, pool: engine.NewPool(0)}
}

// once compiles a type at its first use.
type once struct {
	sync.Once
	c    *compiled
	err  error
	done atomic.Bool // c and err stand
}

// compiled returns what was made of the type, nil if that is not done or failed.
func (o *once) compiled() *compiled {
	if !o.done.Load() {
		return nil
	}
	return o.c
}

// shared is the one package variable that changes: a cache, whose contents
// follow from the types alone. See "Why one package-level cache?" in RATIONALE.md.
var shared = NewSet()

// Default returns the set behind Marshal, Unmarshal and the other functions of
// this package, which has no options.
func Default() *Set { return shared }

// Protocol returns the wire format that the set's options chose.
func (s *Set) Protocol() Protocol { return s.config.protocol }

// Marshal returns the encoding of v, a tagged struct or a pointer to one.
func (s *Set) Marshal(v any) ([]byte, error) {
	c, p, err := s.target(v)
	if err != nil {
		return nil, err
	}
	b, err := c.marshal(p)
	return b, err
}

// Append appends the encoding of v, a tagged struct or a pointer to one, to
// dst. On an error it returns dst as it was. Bytes between the length of the
// result and its capacity may have been overwritten.
func (s *Set) Append(dst []byte, v any) ([]byte, error) {
	c, p, err := s.target(v)
	if err != nil {
		return dst, err
	}
	return c.encoder.Append(dst, p)
}

// Size returns the exact number of bytes of the encoding of v, a tagged struct
// or a pointer to one.
func (s *Set) Size(v any) (int, error) {
	c, p, err := s.target(v)
	if err != nil {
		return 0, err
	}
	return c.encoder.Size(p)
}

// Unmarshal fills the struct that v points to from the front of b and returns
// the number of bytes that it took. Fields that b does not hold keep their
// values. After an error the struct is partly filled.
func (s *Set) Unmarshal(b []byte, v any) (int, error) {
	if reflect.TypeOf(v) != nil && reflect.TypeOf(v).Kind() != reflect.Pointer {
		return 0, &TypeError{Type: reflect.TypeOf(v), Reason: "decoding needs a pointer to the struct"}
	}
	c, p, err := s.target(v)
	if err != nil {
		return 0, err
	}
	return c.decoder.Decode(b, p, nil)
}

// Aliases reports whether a decoded value of the type of v may point into the
// input, as [Codec.Aliases] does. v is a tagged struct, a pointer to one, or the
// reflect.Type of either.
func (s *Set) Aliases(v any) (bool, error) {
	t, err := structOf(v)
	if err != nil {
		return false, err
	}
	c, err := s.codec(t)
	if err != nil {
		return false, err
	}
	return c.aliases, nil
}

// Pretouch compiles types ahead of their first use, concurrently, to machine code where the engine is to use that: each of vs
// is a tagged struct, a pointer to one, or the reflect.Type of either. For a service these are the
// argument and result structs of its methods. It returns the errors of all, joined.
func (s *Set) Pretouch(vs ...any) error {
	errs := make([]error, len(vs))
	var wg sync.WaitGroup
	for i, v := range vs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			t, err := structOf(v)
			var c *compiled
			if err == nil {
				c, err = s.codec(t)
			}
			if err == nil {
				c.prepare()
			}
			errs[i] = err
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Report counts what runs the types of the set.
func (s *Set) Report() SetReport {
	var r SetReport
	s.types.Range(func(_, v any) bool {
		c := v.(*once).compiled()
		if c == nil {
			return true
		}
		r.Types++
		use := c.report()
		r.Encode.add(use.Encode)
		r.Decode.add(use.Decode)
		return true
	})
	return r
}

// SetReport is what runs the types of a set.
type SetReport struct {
	Types          int // that were compiled
	Encode, Decode EngineCount
}

// EngineCount says how many types run on what, in one direction.
type EngineCount struct {
	Code     int            // machine code
	CodeSize int            // bytes of that
	Interp   int            // the interpreter, with those below
	Pending  int            // those for which Auto may still make machine code
	Declined map[string]int // those for which there is none, by the reason
}

func (n *EngineCount) add(u EngineUse) {
	if u.Engine == JIT.String() {
		n.Code++
	} else {
		n.Interp++
	}
	n.CodeSize += u.CodeSize
	if u.Pending {
		n.Pending++
	}
	if u.Declined != "" {
		if n.Declined == nil {
			n.Declined = make(map[string]int)
		}
		n.Declined[u.Declined]++
	}
}

// structOf returns the type that v is, points to, or names.
func structOf(v any) (reflect.Type, error) {
	t, ok := v.(reflect.Type)
	if !ok {
		t = reflect.TypeOf(v)
	}
	if t == nil {
		return nil, errNil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t, nil
}

func (s *Set) codec(t reflect.Type) (*compiled, error) {
	v, ok := s.types.Load(t)
	if !ok {
		v, _ = s.types.LoadOrStore(t, new(once))
	}
	o := v.(*once)
	o.Do(func() {
		// What stays if InitDefault of the type panics.
		o.err = &TypeError{Type: t, Reason: "its compilation did not end"}
		o.c, o.err = compile(t, s.config, s.pool)
		o.done.Store(true)
	})
	return o.c, o.err
}

// target returns the codec of what v is or points to, and its address.
func (s *Set) target(v any) (*compiled, mem.Pointer, error) {
	t := reflect.TypeOf(v)
	if t == nil {
		return nil, nil, errNil
	}
	r := reflect.ValueOf(v)
	if t.Kind() != reflect.Pointer {
		p := reflect.New(t)
		p.Elem().Set(r)
		r = p
	} else {
		if r.IsNil() {
			return nil, nil, errNil
		}
		t = t.Elem()
	}
	c, err := s.codec(t)
	return c, r.UnsafePointer(), err
}

// Marshal returns the encoding of v, a tagged struct or a pointer to one.
func Marshal(v any) ([]byte, error) { return shared.Marshal(v) }

// Append appends the encoding of v, a tagged struct or a pointer to one, to
// dst. On an error it returns dst as it was. Bytes between the length of the
// result and its capacity may have been overwritten.
func Append(dst []byte, v any) ([]byte, error) { return shared.Append(dst, v) }

// Size returns the exact number of bytes of the encoding of v, a tagged struct
// or a pointer to one.
func Size(v any) (int, error) { return shared.Size(v) }

// Unmarshal fills the struct that v points to from the front of b and returns
// the number of bytes that it took. Fields that b does not hold keep their
// values. After an error the struct is partly filled.
func Unmarshal(b []byte, v any) (int, error) { return shared.Unmarshal(b, v) }

// EncodeInto is [Set.EncodeInto] without options.
func EncodeInto(buf []byte, w NocopyWriter, v any) (int, error) { return shared.EncodeInto(buf, w, v) }

// Pretouch is [Set.Pretouch] for the functions of this package and for codecs
// without options.
func Pretouch(vs ...any) error { return shared.Pretouch(vs...) }
