package dynamicsuite

import (
	"errors"
	"slices"

	"github.com/cloudwego/gopkg/protocol/thrift"

	"github.com/thrum-rpc/thrum/bench/internal/gen/kitex/messages"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the works with generated code, FastCodec: decode, the work
// on Go structs, encode.

// fast is what the kitex tool generates for *T.
type fast[T any] interface {
	*T
	BLength() int
	FastWriteNocopy(buf []byte, w thrift.NocopyWriter) int
	FastRead(buf []byte) (int, error)
}

// handling is the work on a Go struct of a shape.
type handling[T any] struct {
	one    func(v *T) *[]byte // what the path leads to
	edit   func(v *T) *float64
	filter func(v *T) // leaves the rows out that break the rule; may be nil
	// many gives v's parts of get-many to another struct.
	many func(to, v *T)
}

func generatedSmall(s *shape) (contender, error) {
	return generated[messages.Simple, messages.PartialSimple](s, handling[messages.Simple]{
		one:  func(v *messages.Simple) *[]byte { return &v.BinaryField },
		edit: func(v *messages.Simple) *float64 { return &v.DoubleField },
		many: func(to, v *messages.Simple) {
			to.ByteField, to.DoubleField, to.BinaryField = v.ByteField, v.DoubleField, v.BinaryField
		},
	})
}

func generatedMedium(s *shape) (contender, error) {
	return generated[messages.Nesting, messages.PartialNesting](s, handling[messages.Nesting]{
		one:  func(v *messages.Nesting) *[]byte { return &v.MapStringSimple["15"].BinaryField },
		edit: func(v *messages.Nesting) *float64 { return &v.Double },
		filter: func(v *messages.Nesting) {
			v.ListSimple = slices.DeleteFunc(v.ListSimple, func(r *messages.Simple) bool { return !rule(int64(r.I32Field)) })
		},
		many: func(to, v *messages.Nesting) {
			to.ListSimple, to.Simple, to.MapStringSimple = v.ListSimple, v.Simple, v.MapStringSimple
		},
	})
}

func generatedLarge(s *shape) (contender, error) {
	return generated[messages.Batch, messages.PartialBatch](s, handling[messages.Batch]{
		one:  func(v *messages.Batch) *[]byte { return &v.RowsByName["79"].Simple.BinaryField },
		edit: func(v *messages.Batch) *float64 { return &v.Weight },
		filter: func(v *messages.Batch) {
			v.Rows = slices.DeleteFunc(v.Rows, func(r *messages.Nesting) bool { return !rule(int64(r.I32)) })
		},
		many: func(to, v *messages.Batch) { to.Name, to.Rows, to.Simple = v.Name, v.Rows, v.Simple },
	})
}

func generatedDeep(s *shape) (contender, error) {
	return generated[messages.Deep, messages.PartialDeep](s, handling[messages.Deep]{
		one: func(v *messages.Deep) *[]byte {
			for v.Inner != nil {
				v = v.Inner
			}
			return &v.Payload
		},
		edit: func(v *messages.Deep) *float64 { return &v.Weight },
		many: func(to, v *messages.Deep) { to.Level, to.Inner, to.Payload = v.Level, v.Inner, v.Payload },
	})
}

var errRest = errors.New("the message was not read to its end")

// decode reads a message into v, which it clears first.
func decode[T any, P fast[T]](b []byte, v *T) error {
	*v = *new(T)
	n, err := P(v).FastRead(b)
	if err == nil && n != len(b) {
		err = errRest
	}
	return err
}

// encode writes v into a buffer, which it makes larger if need be.
func encode[T any, P fast[T]](buf *[]byte, v *T) []byte {
	if size := P(v).BLength(); size > len(*buf) {
		*buf = make([]byte, size)
	}
	return (*buf)[:P(v).FastWriteNocopy(*buf, nil)]
}

// generated makes the works on a message of type T and its smaller type S.
func generated[T, S any, P fast[T], Q fast[S]](s *shape, h handling[T]) (contender, error) {
	t, err := newTools(s)
	if err != nil {
		return contender{}, err
	}
	rewriting := func(change func(v *T)) func() (job, error) {
		return func() (job, error) {
			v, buf := new(T), []byte(nil)
			return bytesJob(func() ([]byte, error) {
				err := decode[T, P](s.message, v)
				if err == nil {
					change(v)
				}
				return encode[T, P](&buf, v), err
			}), nil
		}
	}
	var parts T
	if err := decode[T, P](s.message, &parts); err != nil {
		return contender{}, err
	}
	jobs := map[string]func() (job, error){
		"skip": func() (job, error) {
			return job{run: func() error {
				_, err := thrift.Binary.Skip(s.message, thrift.STRUCT)
				return err
			}}, nil
		},
		"get-one": func() (job, error) {
			v, got := new(T), []byte(nil)
			return job{
				run: func() error {
					err := decode[T, P](s.message, v)
					got = *h.one(v)
					return err
				},
				result: func() ([][]byte, error) { return [][]byte{thriftwire.AppendBytes(nil, got)}, nil },
			}, nil
		},
		"get-many": func() (job, error) {
			v := new(T)
			return job{
				run: func() error { return decode[T, P](s.message, v) },
				result: func() ([][]byte, error) {
					b := encode[T, P](new([]byte), v)
					values := make([]dynamic.Value, t.paths.Len())
					if err := t.paths.Get(dynamic.NewValue(s.whole, b).Node, values); err != nil {
						return nil, err
					}
					return t.assemble(func(i int) []byte { return values[i].Raw() })
				},
			}, nil
		},
		"set-one":  rewriting(func(v *T) { *h.one(v) = s.value[4:] }),
		"set-many": rewriting(func(v *T) { h.many(v, &parts) }),
		"trim": func() (job, error) {
			v, buf := new(S), []byte(nil)
			return bytesJob(func() ([]byte, error) {
				err := decode[S, Q](s.message, v)
				return encode[S, Q](&buf, v), err
			}), nil
		},
		"dom-new": func() (job, error) {
			return job{run: func() error { return decode[T, P](s.message, new(T)) }}, nil
		},
		"dom-reuse": func() (job, error) {
			v := new(T)
			return job{run: func() error { return decode[T, P](s.message, v) }}, nil
		},
		"dom-marshal": func() (job, error) {
			v, buf := new(T), []byte(nil)
			if err := decode[T, P](s.message, v); err != nil {
				return job{}, err
			}
			*h.edit(v) = 0.5
			return bytesJob(func() ([]byte, error) { return encode[T, P](&buf, v), nil }), nil
		},
	}
	if h.filter != nil {
		jobs["filter-list"] = rewriting(h.filter)
	}
	return contender{"fastcodec", jobs}, nil
}
