package flatsuite

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/thrum-rpc/thrum/bench/internal/rpcsuite"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
)

// This file holds Thrum's side of the calls.

// rootTable is an accessor as generated code has it, of any shape: it becomes that of a
// shape when it is read.
type rootTable struct{ t flatbuf.Table }

func (t *rootTable) Init(b []byte, i flatbuf.UOffsetT) { t.t = flatbuf.Table{Bytes: b, Pos: i} }
func (t *rootTable) Table() flatbuf.Table              { return t.t }

// sum is what reading all fields of the value gives.
func (s *shape) sum() uint64 {
	msg := s.message()
	return s.value.ReadOurs(&flatbuf.Table{Bytes: msg, Pos: flatbuf.GetIndirectOffset(msg, 0)})
}

func thrumServer() (net.Addr, func() error, error) {
	server := rpc.NewServer(rpc.QueueTimeout(time.Minute), rpc.TaskExpiry(time.Minute)) // calls are not refused because the machine had no time for them
	var methods []rpc.Method
	for _, s := range shapes() {
		methods = append(methods, s.thrumMethods()...)
	}
	if err := server.Register(&rpc.Service{Name: service, Methods: methods}); err != nil {
		return nil, nil, err
	}
	l, err := listenLocal()
	if err != nil {
		return nil, nil, err
	}
	return l.Addr(), func() error { return server.Serve(l) }, nil
}

func (s *shape) thrumMethods() []rpc.Method {
	verifier, want := s.verifier(), s.sum()
	reply := func(req *rootTable, b *flatbuf.Builder) (*flatbuf.Builder, error) {
		if s.value.ReadOurs(&req.t) != want {
			return nil, errOther
		}
		b.Finish(s.value.BuildOurs(b))
		return b, nil
	}
	return []rpc.Method{
		flatrpc.Unary(s.name, verifier, func(ctx context.Context, req *rootTable) (*flatbuf.Builder, error) {
			return reply(req, flatrpc.NewBuilder(ctx))
		}),
		flatrpc.Bidi(s.name+"Stream", verifier, func(_ context.Context, in *flatrpc.Receiver[*rootTable], out *flatrpc.Sender) error {
			for {
				var b *flatbuf.Builder
				err := in.View(func(req *rootTable) (err error) {
					b, err = reply(req, out.NewBuilder())
					return err
				})
				if err == io.EOF {
					return nil
				}
				if err == nil {
					err = out.Send(b)
				}
				if err != nil {
					return err
				}
			}
		}),
	}
}

func openThrum(load rpcsuite.Load) ([]rpcsuite.Call, []io.Closer, error) { return openThrumBy(load) }

// openThrumBy opens one client for all callers.
func openThrumBy(load rpcsuite.Load, opts ...rpc.ClientOption) ([]rpcsuite.Call, []io.Closer, error) {
	s, kind, err := loadShape(load.Shape)
	if err != nil {
		return nil, nil, err
	}
	verifier := s.verifier()
	c, err := rpc.DialMessages(context.Background(), "tcp", load.Address, append(opts, rpc.MaxPending(2*load.Callers))...)
	if err != nil {
		return nil, nil, err
	}
	var made []rpcsuite.Call
	for range load.Callers {
		call := s.thrumCall(c, verifier)
		if kind == stream {
			if call, err = s.thrumStream(c, verifier); err != nil {
				return nil, []io.Closer{c}, err
			}
		}
		made = append(made, call)
	}
	return made, []io.Closer{c}, nil
}

func (s *shape) thrumCall(c rpc.MessageCaller, v *flatbuf.Verifier) rpcsuite.Call {
	b, want, method := new(flatbuf.Builder), s.sum(), unaryMethod(s.name)
	return func(ctx context.Context) error {
		b.Reset()
		b.Finish(s.value.BuildOurs(b))
		return flatrpc.View(ctx, c, method, b, v, func(reply *rootTable) error {
			if s.value.ReadOurs(&reply.t) != want {
				return errOther
			}
			return nil
		})
	}
}

func (s *shape) thrumStream(c rpc.MessageCaller, v *flatbuf.Verifier) (rpcsuite.Call, error) {
	d, err := flatrpc.OpenBidi[rootTable](context.Background(), c, streamMethod(s.name), v)
	if err != nil {
		return nil, err
	}
	want := s.sum()
	return func(context.Context) error {
		b := d.NewBuilder()
		b.Finish(s.value.BuildOurs(b))
		if err := d.Send(b); err != nil {
			return err
		}
		return d.View(func(reply *rootTable) error {
			if s.value.ReadOurs(&reply.t) != want {
				return errOther
			}
			return nil
		})
	}, nil
}
