package rpcsuite

import (
	"context"
	"net"
	"runtime"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds our servers, with the structs that our generator would write
// for idl/rpc.thrift.

type (
	noopArgs   struct{}
	noopResult struct{}
	echoArgs   struct {
		Data []byte `thrift:"data,1,default,binary"`
	}
	echoResult struct {
		Success []byte `thrift:"success,0,optional,binary"`
	}
	burnArgs struct {
		Micros int32 `thrift:"micros,1"`
	}
)

// ours has our servers by name: the form of the handlers of noop and echo.
var ours = map[string][]rpc.Method{
	"callback": {
		rpc.UnaryCallback("noop", func(_ *noopArgs, reply rpc.Reply[noopResult]) { reply.Result(&noopResult{}) }),
		rpc.UnaryCallback("echo", func(args *echoArgs, reply rpc.Reply[echoResult]) {
			reply.Result(&echoResult{Success: args.Data})
		}, rpc.Borrow()),
	},
	"future": {
		rpc.UnaryFuture("noop", func(context.Context, *noopArgs) *rpc.Future[*noopResult] {
			f := rpc.NewFuture[*noopResult]()
			f.Resolve(&noopResult{})
			return f
		}),
		rpc.UnaryFuture("echo", func(_ context.Context, args *echoArgs) *rpc.Future[*echoResult] {
			f := rpc.NewFuture[*echoResult]()
			f.Resolve(&echoResult{Success: args.Data})
			return f
		}, rpc.Borrow()),
	},
	"plain": {
		rpc.Unary("noop", func(context.Context, *noopArgs, *noopResult) error { return nil }),
		rpc.Unary("echo", func(_ context.Context, args *echoArgs, result *echoResult) error {
			result.Success = args.Data
			return nil
		}, rpc.Borrow()),
	},
}

// burnMethod keeps a worker busy, in all servers.
var burnMethod = rpc.Unary("burn", func(_ context.Context, args *burnArgs, _ *noopResult) error {
	burn(args.Micros)
	return nil
})

// queueTimeout is that of the server that is overloaded.
const queueTimeout = 20 * time.Millisecond

// oursServer makes a server with handlers in a form.
func oursServer(form string, options ...rpc.ServerOption) (net.Addr, func() error, error) {
	// Calls are not refused because the machine had no time for them.
	patient := []rpc.ServerOption{rpc.MaxConnections(20_000), rpc.QueueTimeout(time.Minute), rpc.TaskExpiry(time.Minute)}
	server := rpc.NewServer(append(patient, options...)...)
	methods := append(ours[form][:2:2], burnMethod)
	if err := server.Register(&rpc.Service{Name: "Bench", Methods: methods}); err != nil {
		return nil, nil, err
	}
	l, err := listen()
	if err != nil {
		return nil, nil, err
	}
	return l.Addr(), func() error { return server.Serve(l) }, nil
}

// busyServer is one whose handlers keep the processor busy, on one worker. A
// second thread of Go's lets the system give the core to what reads and
// refuses meanwhile, as a server does that has workers for all cores but one.
func busyServer(form string, queueTimeout time.Duration) (net.Addr, func() error, error) {
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	return oursServer(form, rpc.Workers(1), rpc.QueueTimeout(queueTimeout), rpc.TaskExpiry(0))
}
