package codec

import (
	"errors"
	"math"
	"runtime"
	"strconv"

	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/interp"
	"github.com/thrum-rpc/thrum/internal/engine/jit"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// Option changes what For and NewSet compile.
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

type config struct {
	encode engine.EncodeOptions
	decode engine.DecodeOptions

	protocol Protocol
	engine   EngineKind
	compiler *jit.Compiler // of machine code; nil for one for each type
	custom   engine.Engine // of tests, in the place of what engine names
}

// DefaultMaxDepth is the deepest nesting of structs and containers that is
// encoded and decoded unless MaxDepth says otherwise.
const DefaultMaxDepth = 1024

func newConfig(opts []Option) *config {
	c := &config{
		encode: engine.EncodeOptions{MaxDepth: DefaultMaxDepth},
		decode: engine.DecodeOptions{MaxDepth: DefaultMaxDepth, MaxContainer: math.MaxInt32, MaxBytes: math.MaxInt},
	}
	for _, o := range opts {
		o.apply(c)
	}
	return c
}

// MaxDepth limits the nesting of structs and containers, for encoding and
// decoding; cyclic data ends there. The default is DefaultMaxDepth.
func MaxDepth(n int) Option {
	return option(func(c *config) { c.encode.MaxDepth, c.decode.MaxDepth = n, n })
}

// MaxContainer limits the elements of a list, set or map that decoding
// accepts. The default is Thrift's own limit; memory is bounded by the input anyway.
func MaxContainer(n int) Option { return option(func(c *config) { c.decode.MaxContainer = n }) }

// MaxBytes limits the encoding of a value that decoding accepts, in bytes. By default
// the length of the input is the limit.
func MaxBytes(n int) Option { return option(func(c *config) { c.decode.MaxBytes = max(0, n) }) }

// Protocol is a wire format.
type Protocol uint8

const (
	Binary          Protocol = iota // the default
	Compact                         // Apache's compact protocol, version 1
	CompactFBThrift                 // fbthrift's compact protocol, version 2: doubles big-endian, float for uuid
)

// Use encodes and decodes in protocol p. A type that the protocol does not
// have is an error of For.
func Use(p Protocol) Option {
	return option(func(c *config) {
		c.protocol = p
		c.encode.Compact, c.decode.Compact = p.dialect(), p.dialect()
	})
}

// dialect returns the dialect of a compact protocol, 0 for Binary.
func (p Protocol) dialect() compact.Dialect {
	switch p {
	case Compact:
		return compact.Apache
	case CompactFBThrift:
		return compact.FBThrift
	default:
		return 0
	}
}

// NoCopy lets decoded strings and binaries point into the input, which must
// then not change while they live.
func NoCopy() Option { return option(func(c *config) { c.decode.Alias = true }) }

// Deterministic writes map entries ordered by their encoded keys, so that
// equal values have equal bytes.
func Deterministic() Option { return option(func(c *config) { c.encode.Sorted = true }) }

// Strict makes a field of another wire type than the tag's an error of
// decoding, where it would be skipped as unknown.
func Strict() Option { return option(func(c *config) { c.decode.Strict = true }) }

// CheckUnions refuses unions that have not exactly one field set.
func CheckUnions() Option {
	return option(func(c *config) { c.encode.CheckUnion, c.decode.CheckUnion = true, true })
}

// CheckSets refuses sets with equal elements.
func CheckSets() Option {
	return option(func(c *config) { c.encode.CheckSet, c.decode.CheckSet = true, true })
}

// EngineKind names what runs compiled types.
type EngineKind uint8

const (
	Auto   EngineKind = iota // first the interpreter, then machine code for what is used often; the default
	Interp                   // the portable interpreter
	JIT                      // machine code for whatever it takes, made by For; the interpreter for the rest
)

// String returns the kind's name as Codec.Engine returns it.
func (k EngineKind) String() string {
	switch k {
	case Auto:
		return "auto"
	case Interp:
		return interp.Engine{}.Name()
	case JIT:
		return jit.Engine{}.Name()
	default:
		return "EngineKind(" + strconv.Itoa(int(k)) + ")"
	}
}

// Engine runs types on the engine k, with the same results on each. A kind
// that this platform does not have is an error of For.
//
// Auto makes machine code in the background after some dozens of uses, where
// that is faster; [Codec.Report] tells what runs and why. Where a system refuses a program executable memory,
// Auto and JIT stay with the interpreter. So does Auto in programs built with the
// race detector or a sanitizer, which do not see what machine code reads.
func Engine(k EngineKind) Option { return option(func(c *config) { c.engine = k }) }

// engine returns the engine of kind k. c makes the code of Auto.
func (k EngineKind) engine(c *jit.Compiler) (engine.Engine, error) {
	switch k {
	case Auto:
		return jit.Auto{Compiler: c}, nil
	case Interp:
		return interp.Engine{}, nil
	case JIT:
		if !jit.Supported() {
			return nil, errors.New("there is no machine code on " + runtime.GOOS + "/" + runtime.GOARCH)
		}
		return jit.Engine{}, nil
	default:
		return nil, errors.New("there is no engine " + k.String())
	}
}
