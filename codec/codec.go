package codec

import (
	"errors"
	"reflect"
	"sync"

	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/interp"
	"github.com/thrum-rpc/thrum/internal/lower"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// Codec encodes and decodes structs of type T. It is safe for concurrent use.
type Codec[T any] struct {
	c        *compiled
	protocol Protocol
}

// For returns the codec of the struct type T, compiled for the options. Keep
// it: a codec without options is made once for each type, one with options at each call.
// Errors are *TypeError.
func For[T any](opts ...Option) (*Codec[T], error) {
	t := reflect.TypeFor[T]()
	if len(opts) == 0 {
		c, err := shared.codec(t)
		if err != nil {
			return nil, err
		}
		return &Codec[T]{c: c}, nil
	}
	cfg := newConfig(opts)
	c, err := compile(t, cfg, shared.pool)
	if err != nil {
		return nil, err
	}
	return &Codec[T]{c, cfg.protocol}, nil
}

// Append appends the encoding of v to dst. On an error it returns dst as it was.
// Bytes between the length of the result and its capacity may have been overwritten.
func (c *Codec[T]) Append(dst []byte, v *T) ([]byte, error) {
	if v == nil {
		return dst, errNil
	}
	return c.c.encoder.Append(dst, mem.Of(v))
}

// Marshal returns the encoding of v.
func (c *Codec[T]) Marshal(v *T) ([]byte, error) {
	if v == nil {
		return nil, errNil
	}
	return c.c.marshal(mem.Of(v))
}

// Size returns the exact number of bytes of the encoding of v.
func (c *Codec[T]) Size(v *T) (int, error) {
	if v == nil {
		return 0, errNil
	}
	return c.c.encoder.Size(mem.Of(v))
}

// Unmarshal fills v from the front of b and returns the number of bytes that
// it took; bytes behind the struct are left alone. Fields that b does not hold keep their values. After an error v is partly filled.
func (c *Codec[T]) Unmarshal(b []byte, v *T) (int, error) {
	if v == nil {
		return 0, errNil
	}
	return c.c.decoder.Decode(b, mem.Of(v), nil)
}

// Engine returns the name of the engine that runs: "interp".
func (c *Codec[T]) Engine() string { return c.c.engine }

// Aliases reports whether a decoded value may point into the input, because of
// the option NoCopy or of nocopy in the tag of a field that T reaches. Who uses
// its input again must then decode a copy.
func (c *Codec[T]) Aliases() bool { return c.c.aliases }

// Marshal returns the encoding of v, a tagged struct or a pointer to one.
func Marshal(v any) ([]byte, error) {
	c, p, err := shared.target(v)
	if err != nil {
		return nil, err
	}
	b, err := c.marshal(p)
	return b, err
}

// Append appends the encoding of v, a tagged struct or a pointer to one, to
// dst. On an error it returns dst as it was. Bytes between the length of the
// result and its capacity may have been overwritten.
func Append(dst []byte, v any) ([]byte, error) {
	c, p, err := shared.target(v)
	if err != nil {
		return dst, err
	}
	return c.encoder.Append(dst, p)
}

// Size returns the exact number of bytes of the encoding of v, a tagged struct
// or a pointer to one.
func Size(v any) (int, error) {
	c, p, err := shared.target(v)
	if err != nil {
		return 0, err
	}
	return c.encoder.Size(p)
}

// Unmarshal fills the struct that v points to from the front of b and returns
// the number of bytes that it took. Fields that b does not hold keep their
// values. After an error the struct is partly filled.
func Unmarshal(b []byte, v any) (int, error) {
	if reflect.TypeOf(v) != nil && reflect.TypeOf(v).Kind() != reflect.Pointer {
		return 0, &TypeError{Type: reflect.TypeOf(v), Reason: "decoding needs a pointer to the struct"}
	}
	c, p, err := shared.target(v)
	if err != nil {
		return 0, err
	}
	return c.decoder.Decode(b, p, nil)
}

// Pretouch compiles types ahead of their first use, concurrently: each of vs
// is a tagged struct, a pointer to one, or the reflect.Type of either. For a service these are the
// argument and result structs of its methods. It returns the errors of all, joined.
func Pretouch(vs ...any) error {
	errs := make([]error, len(vs))
	var wg sync.WaitGroup
	for i, v := range vs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			t, ok := v.(reflect.Type)
			if !ok {
				t = reflect.TypeOf(v)
			}
			if t == nil {
				errs[i] = errNil
				return
			}
			if t.Kind() == reflect.Pointer {
				t = t.Elem()
			}
			_, errs[i] = shared.codec(t)
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}

var errNil = &TypeError{Type: reflect.TypeFor[any](), Reason: "a nil pointer"}

// compiled is what a type and a set of options come down to.
type compiled struct {
	engine  string
	aliases bool
	encoder engine.Encoder
	decoder engine.Decoder
}

func (c *compiled) marshal(p mem.Pointer) ([]byte, error) {
	n, err := c.encoder.Size(p)
	if err != nil {
		return nil, err
	}
	b, err := c.encoder.Append(make([]byte, 0, n), p)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// compile lowers t for every job and hands the programs to the engine.
func compile(t reflect.Type, c *config, pool *engine.Pool) (*compiled, error) {
	layout, binding, err := layoutOf(t)
	if err != nil {
		return nil, err
	}
	var progs [plan.Decode + 1]*plan.Program
	for _, job := range [...]plan.Job{plan.Encode, plan.Size, plan.Decode} {
		if progs[job], err = lower.Struct(job, layout, len(binding.Slots)); err != nil {
			return nil, &TypeError{Type: t, Reason: err.Error()}
		}
	}
	var e engine.Engine = interp.Engine{}
	out := &compiled{engine: e.Name(), aliases: c.decode.Alias || aliases(progs[plan.Decode])}
	if out.encoder, err = e.Encoder(progs[plan.Encode], progs[plan.Size], binding, c.encode); err != nil {
		return nil, &TypeError{Type: t, Reason: err.Error()}
	}
	decode := c.decode
	decode.Pool = pool
	if out.decoder, err = e.Decoder(progs[plan.Decode], binding, decode); err != nil {
		return nil, &TypeError{Type: t, Reason: err.Error()}
	}
	return out, nil
}

// aliases reports whether a program decodes fields without copying them.
func aliases(p *plan.Program) bool {
	for _, proc := range p.Procs {
		for _, op := range proc.Ops {
			if op.Flags&plan.Alias != 0 {
				return true
			}
		}
	}
	return false
}

// space is what codecs share: one compiled codec for each type without options,
// and the pool of chunks.
type space struct {
	types sync.Map // reflect.Type → *once
	pool  *engine.Pool
}

// once compiles a type at its first use.
type once struct {
	sync.Once
	c   *compiled
	err error
}

// shared is the one package variable that changes: a cache, whose contents
// follow from the types alone. See "Why one package-level cache?" in RATIONALE.md.
var shared = &space{pool: engine.NewPool(0)}

func (s *space) codec(t reflect.Type) (*compiled, error) {
	v, ok := s.types.Load(t)
	if !ok {
		v, _ = s.types.LoadOrStore(t, new(once))
	}
	o := v.(*once)
	o.Do(func() {
		// What stays if InitDefault of the type panics.
		o.err = &TypeError{Type: t, Reason: "its compilation did not end"}
		o.c, o.err = compile(t, newConfig(nil), s.pool)
	})
	return o.c, o.err
}

// target returns the codec of what v is or points to, and its address.
func (s *space) target(v any) (*compiled, mem.Pointer, error) {
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
