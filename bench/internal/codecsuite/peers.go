package codecsuite

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/cloudwego/frugal"
	gopkg "github.com/cloudwego/gopkg/protocol/thrift"
)

// wire is a protocol of Thrift.
type wire string

const (
	binaryWire  wire = "binary"
	compactWire wire = "compact"
)

// contender is one way to do both works on a T. A marshal or unmarshal that is
// nil takes no part in that work. What these make does the work n times and
// returns the last result, which is valid until the next call.
type contender[T any] struct {
	name string // a peer's name, or the engine of ours
	mode string // of ours, for unmarshal: copy, alias or arena
	wire wire
	ours bool
	// before runs when a slice of time starts.
	before func()
	// marshal encodes the suite's value, size pass included.
	marshal func() (func(n int) ([]byte, error), error)
	// unmarshal decodes b; the result is a pointer to a struct.
	unmarshal func(b []byte) (func(n int) (any, error), error)
}

// fast is what the kitex tool generates for *T.
type fast[T any] interface {
	*T
	BLength() int
	FastWriteNocopy(buf []byte, w gopkg.NocopyWriter) int
	FastRead(buf []byte) (int, error)
}

// tstruct is what Apache's compiler generates for *A.
type tstruct[A any] interface {
	*A
	Read(ctx context.Context, p thrift.TProtocol) error
	Write(ctx context.Context, p thrift.TProtocol) error
}

var errRest = errors.New("the message was not read to its end")

func frugalPeer[T any](value *T) contender[T] {
	return contender[T]{
		name: "frugal", wire: binaryWire,
		marshal: func() (func(int) ([]byte, error), error) {
			var buf []byte
			return func(n int) (out []byte, err error) {
				for range n {
					size := frugal.EncodedSize(value)
					if size > len(buf) {
						buf = make([]byte, size)
					}
					size, err = frugal.EncodeObject(buf, nil, value)
					if err != nil {
						return nil, err
					}
					out = buf[:size]
				}
				return out, nil
			}, nil
		},
		unmarshal: func(b []byte) (func(int) (any, error), error) {
			v := new(T)
			return func(n int) (any, error) {
				for range n {
					*v = *new(T)
					if took, err := frugal.DecodeObject(b, v); err != nil {
						return nil, err
					} else if took != len(b) {
						return nil, errRest
					}
				}
				return v, nil
			}, nil
		},
	}
}

// fastPeer is FastCodec; span switches its span cache on, which matters to
// unmarshal only.
func fastPeer[T any, P fast[T]](value *T, span bool) contender[T] {
	c := contender[T]{
		name: "fastcodec", wire: binaryWire,
		before: func() { gopkg.SetSpanCache(span) },
		unmarshal: func(b []byte) (func(int) (any, error), error) {
			v := P(new(T))
			return func(n int) (any, error) {
				for range n {
					*v = *new(T)
					if took, err := v.FastRead(b); err != nil {
						return nil, err
					} else if took != len(b) {
						return nil, errRest
					}
				}
				return v, nil
			}, nil
		},
	}
	if span {
		c.name = "fastcodec-span"
		return c
	}
	c.marshal = func() (func(int) ([]byte, error), error) {
		p := P(value)
		var buf []byte
		return func(n int) (out []byte, err error) {
			for range n {
				if size := p.BLength(); size > len(buf) {
					buf = make([]byte, size)
				}
				out = buf[:p.FastWriteNocopy(buf, nil)]
			}
			return out, nil
		}, nil
	}
	return c
}

// apacheProtocol makes a protocol over a memory buffer; both are reused.
func apacheProtocol(w wire) (*thrift.TMemoryBuffer, thrift.TProtocol) {
	mem := thrift.NewTMemoryBuffer()
	conf := &thrift.TConfiguration{}
	if w == compactWire {
		return mem, thrift.NewTCompactProtocolConf(mem, conf)
	}
	return mem, thrift.NewTBinaryProtocolConf(mem, conf)
}

// apacheRead decodes a message into Apache's own type, once.
func apacheRead[A any, P tstruct[A]](message []byte, w wire) (P, error) {
	v := P(new(A))
	mem, proto := apacheProtocol(w)
	mem.Write(message)
	if err := v.Read(context.Background(), proto); err != nil {
		return nil, fmt.Errorf("apache, %s: %w", w, err)
	}
	if mem.Len() != 0 {
		return nil, errRest
	}
	return v, nil
}

// apachePeer works on Apache's own type A; reference is a message of the value
// in the binary protocol.
func apachePeer[T, A any, P tstruct[A]](reference []byte, w wire) contender[T] {
	ctx := context.Background()
	return contender[T]{
		name: "apache", wire: w,
		marshal: func() (func(int) ([]byte, error), error) {
			value, err := apacheRead[A, P](reference, binaryWire)
			if err != nil {
				return nil, err
			}
			mem, proto := apacheProtocol(w)
			return func(n int) ([]byte, error) {
				for range n {
					mem.Reset()
					if err := value.Write(ctx, proto); err != nil {
						return nil, err
					}
				}
				return mem.Bytes(), nil
			}, nil
		},
		unmarshal: func(b []byte) (func(int) (any, error), error) {
			v := P(new(A))
			mem, proto := apacheProtocol(w)
			source := bytes.NewBuffer(b)
			return func(n int) (any, error) {
				for range n {
					*mem.Buffer = *source // reads b itself, without a copy
					*v = *new(A)
					if err := v.Read(ctx, proto); err != nil {
						return nil, err
					}
					if mem.Len() != 0 {
						return nil, errRest
					}
				}
				return v, nil
			}, nil
		},
	}
}

func limitPeer[T any](value *T, l *limit[T]) contender[T] {
	return contender[T]{
		name: "limit", wire: binaryWire,
		marshal: limitMarshal(value, l.size, l.put), unmarshal: limitUnmarshal(l, false),
	}
}

// limitAliasPeer decodes by hand with texts that point into the message, as
// our mode alias does.
func limitAliasPeer[T any](l *limit[T]) contender[T] {
	return contender[T]{name: "limit-alias", wire: binaryWire, unmarshal: limitUnmarshal(l, true)}
}

func limitUnmarshal[T any](l *limit[T], alias bool) func(b []byte) (func(int) (any, error), error) {
	return func(b []byte) (func(int) (any, error), error) {
		v, r := new(T), newReader()
		r.alias = alias
		return func(n int) (any, error) {
			for range n {
				*v = *new(T)
				r.b = b
				l.decode(r, v)
				if r.bad || len(r.b) != 0 {
					return nil, errRest
				}
			}
			return v, nil
		}, nil
	}
}

func limitCompactPeer[T any](value *T, l *limit[T]) contender[T] {
	return contender[T]{name: "limit", wire: compactWire, marshal: limitMarshal(value, l.compactSize, l.compactPut)}
}

func limitMarshal[T any](value *T, size func(*T) int, put func([]byte, *T) int) func() (func(int) ([]byte, error), error) {
	return func() (func(int) ([]byte, error), error) {
		var buf []byte
		return func(n int) (out []byte, err error) {
			for range n {
				if size := size(value); size > len(buf) {
					buf = make([]byte, size)
				}
				out = buf[:put(buf, value)]
			}
			return out, nil
		}, nil
	}
}
