package rpc

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file joins the calls on bytes to tagged Go structs. Generated code
// uses nothing else of this package's server and client.

// MethodOption configures a method on Go structs.
type MethodOption func(*methodOptions)

type methodOptions struct {
	method Method // with what the options say of it
	borrow bool
}

// WithPriority sets the priority of calls whose client names none.
func WithPriority(p Priority) MethodOption {
	return func(o *methodOptions) { o.method.Priority = p }
}

// WithExpiry sets the method's own limit on the time of a call, see [TaskExpiry].
func WithExpiry(d time.Duration) MethodOption {
	return func(o *methodOptions) { o.method.Expiry = d }
}

// Borrow lets the strings and binaries of the arguments be views of the
// network's buffers, so that large ones are not copied. They are valid until
// the call has been answered, and so is what a result holds of them; nobody may keep them
// longer.
func Borrow() MethodOption {
	return func(o *methodOptions) { o.borrow = true }
}

// methodOf returns a method with codecs for its structs.
func methodOf[A, R any](name string, opts []MethodOption) (Method, *codecs[A], *codecs[R]) {
	o := methodOptions{method: Method{Name: name}}
	for _, f := range opts {
		f(&o)
	}
	args, err := newCodecs[A](o.borrow)
	if err != nil {
		o.method.err = err
	}
	results, err := newCodecs[R](false)
	if err != nil {
		o.method.err = err
	}
	return o.method, args, results
}

// Unary returns a method that decodes its args struct to A, calls fn on a worker, and
// encodes the result struct R: fn sets the success field or that of a declared
// exception. Args that cannot be decoded are answered with ProtocolError, an
// error of fn as Method says. Fields of A that the client leaves out
// have the values that the method InitDefault of A sets. What fn keeps of args
// is its own, unless the method borrows. Strings and binaries of 16 KiB and more in the result are sent from
// where they are, and must not change any more. A type that codec does
// not take makes [Server.Register] fail.
func Unary[A, R any](name string, fn func(ctx context.Context, args *A, result *R) error, opts ...MethodOption) Method {
	m, argsCodecs, resultCodecs := methodOf[A, R](name, opts)
	m.typed.plain = func(ctx context.Context, p compact.Dialect, b []byte, out *result) error {
		args, err := argsCodecs.decode(p, b)
		if err != nil {
			return err
		}
		var r R
		if err := fn(ctx, args, &r); err != nil {
			return err
		}
		return resultCodecs.append(p, out, &r)
	}
	return m
}

// Oneway is Unary for a method that has no reply. Its errors reach the
// server's log only.
func Oneway[A any](name string, fn func(ctx context.Context, args *A) error, opts ...MethodOption) Method {
	m, argsCodecs, _ := methodOf[A, struct{}](name, opts)
	m.Oneway = true
	m.typed.plain = func(ctx context.Context, p compact.Dialect, b []byte, _ *result) error {
		args, err := argsCodecs.decode(p, b)
		if err != nil {
			return err
		}
		return fn(ctx, args)
	}
	return m
}

// UnaryCallback is Unary for a function that runs on the connection's loop and
// answers by a reply, then or later, see Method.Callback. It must not wait for
// anything.
func UnaryCallback[A, R any](name string, fn func(args *A, reply Reply[R]), opts ...MethodOption) Method {
	m, argsCodecs, resultCodecs := methodOf[A, R](name, opts)
	m.typed.callback = func(p compact.Dialect, b []byte, r Responder) {
		if args, err := argsCodecs.decode(p, b); err != nil {
			r.Fail(err)
		} else {
			fn(args, Reply[R]{r, resultCodecs})
		}
	}
	return m
}

// OnewayCallback is UnaryCallback for a method that has no reply. fn says by
// Done or Fail when it has ended.
func OnewayCallback[A any](name string, fn func(args *A, reply Reply[struct{}]), opts ...MethodOption) Method {
	m := UnaryCallback(name, fn, opts...)
	m.Oneway = true
	return m
}

// UnaryFuture is Unary for a function that returns a future of the result, see
// Method.Future. A nil future is answered with MissingResult.
func UnaryFuture[A, R any](name string, fn func(ctx context.Context, args *A) *Future[*R], opts ...MethodOption) Method {
	m, argsCodecs, resultCodecs := methodOf[A, R](name, opts)
	m.typed.future = func(ctx context.Context, p compact.Dialect, b []byte, r Responder) {
		args, err := argsCodecs.decode(p, b)
		if err != nil {
			r.Fail(err)
			return
		}
		f := fn(ctx, args)
		if f == nil {
			r.Fail(&ApplicationException{Type: MissingResult, Message: "the handler returned no future"})
			return
		}
		reply := Reply[R]{r, resultCodecs}
		asked := f.Then(func(value *R, err error) {
			if err != nil {
				reply.Fail(err)
			} else {
				reply.Result(value)
			}
		})
		if !asked {
			reply.Fail(errSecondHand)
		}
	}
	return m
}

// OnewayFuture is UnaryFuture for a method that has no reply.
func OnewayFuture[A any](name string, fn func(ctx context.Context, args *A) *Future[struct{}], opts ...MethodOption) Method {
	m := UnaryFuture(name, func(ctx context.Context, args *A) *Future[*struct{}] {
		return MapFuture(fn(ctx, args), func(_ struct{}, err error) (*struct{}, error) { return new(struct{}), err })
	}, opts...)
	m.Oneway = true
	return m
}

// Forms makes one method of several forms of it, which have the same name: a
// call is served by the callback if there is one, else by the future, else by
// the plain one. Priority and Expiry are the first one's.
func Forms(forms ...Method) Method {
	var all Method
	for i, m := range forms {
		if i == 0 {
			all = m
			continue
		}
		if m.Name != all.Name || m.Oneway != all.Oneway {
			m.err = fmt.Errorf("forms of different methods: %q and %q", all.Name, m.Name)
		}
		if all.err == nil {
			all.err = m.err
		}
		all.typed.add(m.typed)
		if all.Callback == nil {
			all.Callback = m.Callback
		}
		if all.Future == nil {
			all.Future = m.Future
		}
		if all.Serve == nil {
			all.Serve = m.Serve
		}
		if all.Message == nil {
			all.Message = m.Message
		}
		if all.MessageCallback == nil {
			all.MessageCallback = m.MessageCallback
		}
	}
	return all
}

// typedForms are the forms of a method on Go structs, in any protocol.
type typedForms struct {
	callback func(p compact.Dialect, args []byte, r Responder)
	future   func(ctx context.Context, p compact.Dialect, args []byte, r Responder)
	plain    func(ctx context.Context, p compact.Dialect, args []byte, out *result) error
}

func (t *typedForms) add(other typedForms) {
	if t.callback == nil {
		t.callback = other.callback
	}
	if t.future == nil {
		t.future = other.future
	}
	if t.plain == nil {
		t.plain = other.plain
	}
}

// Reply answers a call with a result struct, see [Responder].
type Reply[R any] struct {
	Responder
	codecs *codecs[R]
}

// Result answers with a result struct, in which the success field or that of a
// declared exception is set. Strings and binaries of 16 KiB and more are sent from where
// they are, and must not change any more.
func (r Reply[R]) Result(value *R) bool {
	return r.reply(func(f *form, out *result) error { return r.codecs.append(f.protocol, out, value) })
}

// codecs encode and decode one struct type in every protocol.
type codecs[T any] struct {
	borrow   bool
	defaults bool // *T has the method InitDefault
	binary   *codec.Codec[T]
	compact  [2]struct {
		once  sync.Once
		codec *codec.Codec[T]
		err   error
	}
}

func newCodecs[T any](borrow bool) (*codecs[T], error) {
	c := &codecs[T]{borrow: borrow}
	_, c.defaults = any(new(T)).(interface{ InitDefault() })
	var err error
	c.binary, err = codec.For[T](c.options(codec.Binary)...)
	return c, err
}

func (c *codecs[T]) options(p codec.Protocol) []codec.Option {
	var opts []codec.Option
	if c.borrow {
		opts = append(opts, codec.NoCopy())
	}
	if p != codec.Binary {
		opts = append(opts, codec.Use(p))
	}
	return opts
}

// of returns the codec for a protocol, which is made at its first use.
func (c *codecs[T]) of(p compact.Dialect) (*codec.Codec[T], error) {
	if p == 0 {
		return c.binary, nil
	}
	protocol, i := codec.Compact, 0
	if p == compact.FBThrift {
		protocol, i = codec.CompactFBThrift, 1
	}
	made := &c.compact[i]
	made.once.Do(func() { made.codec, made.err = codec.For[T](c.options(protocol)...) })
	return made.codec, made.err
}

// decode decodes the arguments of a call.
func (c *codecs[T]) decode(p compact.Dialect, b []byte) (*T, error) {
	args := new(T)
	if c.defaults {
		any(args).(interface{ InitDefault() }).InitDefault()
	}
	of, err := c.of(p)
	if err == nil {
		if of.Aliases() && !c.borrow {
			b = bytes.Clone(b) // for the fields that are tagged nocopy: the network's buffers will be used again
		}
		_, err = of.Unmarshal(b, args)
	}
	if err != nil {
		return nil, &ApplicationException{Type: ProtocolError, Message: "cannot decode the arguments: " + err.Error()}
	}
	return args, nil
}

// append appends the result of a call.
func (c *codecs[T]) append(p compact.Dialect, out *result, v *T) error {
	of, err := c.of(p)
	if err != nil {
		return err
	}
	out.b, out.cuts, err = of.AppendCuts(out.b, out.cuts, v, out.room)
	return err
}

// decode fills v from b, which is a view of the network's buffers and will be
// used again: fields tagged nocopy alias a copy of the message instead.
func decode[T any](c *codec.Codec[T], b []byte, v *T) error {
	if c.Aliases() {
		b = bytes.Clone(b)
	}
	_, err := c.Unmarshal(b, v)
	return err
}

// Call calls a method with the args struct A and decodes the result struct
// into result. Declared exceptions are fields of result, not errors; errors
// are those of [Caller].
func Call[A, R any](ctx context.Context, c Caller, name string, args *A, result *R) error {
	argsCodec, err := codec.For[A]()
	if err != nil {
		return &Error{Stage: StageEncode, Method: name, Err: err}
	}
	resultCodec, err := codec.For[R]()
	if err != nil {
		return &Error{Stage: StageEncode, Method: name, Err: err}
	}
	return c.Invoke(ctx, &Invocation{
		Method:     name,
		AppendArgs: func(dst []byte) ([]byte, error) { return argsCodec.Append(dst, args) },
		ReadResult: func(b []byte) error { return decode(resultCodec, b, result) },
	})
}

// Send calls a oneway method. A nil error means that the request was handed
// to the network, not that the server has seen it.
func Send[A any](ctx context.Context, c Caller, name string, args *A) error {
	argsCodec, err := codec.For[A]()
	if err != nil {
		return &Error{Stage: StageEncode, Method: name, Err: err}
	}
	return c.Invoke(ctx, &Invocation{
		Method:     name,
		Oneway:     true,
		AppendArgs: func(dst []byte) ([]byte, error) { return argsCodec.Append(dst, args) },
	})
}
