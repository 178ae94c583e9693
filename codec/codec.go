package codec

import (
	"reflect"

	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/lower"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
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
	cfg.compiler = shared.config.compiler
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
	if c.c.empty && len(b) > 0 && b[0] == byte(thriftwire.Stop) {
		return 1, nil
	}
	return c.c.decoder.Decode(b, mem.Of(v), nil)
}

// Type returns the type that the tags of T state. It has no names of enumerators,
// which tags do not tell, and no defaults.
func (c *Codec[T]) Type() *schema.Type { return c.c.typ }

// Engine returns the name of the engine that runs, as EngineKind's String does: "jit"
// if machine code encodes or decodes.
func (c *Codec[T]) Engine() string { return c.c.engine() }

// Report tells what encodes and what decodes, and why if it is not the engine
// that was asked for.
func (c *Codec[T]) Report() Report { return c.c.report() }

// Report is what runs a type.
type Report struct{ Encode, Decode EngineUse }

// EngineUse is what runs one direction.
type EngineUse struct {
	Engine   string // as EngineKind's String returns it
	Declined string // why machine code did not take the type; empty if it did, or was not asked
	Pending  bool   // whether Auto may still change to machine code
	CodeSize int    // bytes of machine code
}

// Aliases reports whether a decoded value may point into the input, because of
// the option NoCopy or of nocopy in the tag of a field that T reaches. Who uses
// its input again must then decode a copy.
func (c *Codec[T]) Aliases() bool { return c.c.aliases }

var errNil = &TypeError{Type: reflect.TypeFor[any](), Reason: "a nil pointer"}

// compiled is what a type and a set of options come down to.
type compiled struct {
	typ     *schema.Type
	empty   bool // the type has no fields, as the arguments of many methods: what it is encoded to is the same in all protocols
	aliases bool
	encoder engine.Encoder
	decoder engine.Decoder
}

func (c *compiled) report() Report {
	return Report{use(c.encoder), use(c.decoder)}
}

// use is what runs x, an encoder or decoder.
func use(x any) EngineUse {
	if r, ok := x.(engine.Reporter); ok {
		r := r.Report()
		return EngineUse{r.Engine, r.Declined, r.Pending, r.Code}
	}
	return EngineUse{Engine: Interp.String()}
}

// prepare makes what machine code the type is to have.
func (c *compiled) prepare() {
	for _, x := range [...]any{c.encoder, c.decoder} {
		if p, ok := x.(engine.Preparer); ok {
			p.Prepare()
		}
	}
}

func (c *compiled) engine() string {
	r := c.report()
	if r.Encode.Engine == JIT.String() {
		return r.Encode.Engine
	}
	return r.Decode.Engine
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
	e := c.custom
	if e == nil {
		if e, err = c.engine.engine(c.compiler); err != nil {
			return nil, &TypeError{Type: t, Reason: err.Error()}
		}
	}
	out := &compiled{typ: layout.Def.Type(), empty: t.NumField() == 0, aliases: c.decode.Alias || aliases(progs[plan.Decode])}
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
