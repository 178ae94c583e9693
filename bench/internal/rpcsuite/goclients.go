package rpcsuite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/connpool"
	"github.com/cloudwego/kitex/pkg/klog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	apachecalls "github.com/thrum-rpc/thrum/bench/internal/gen/apache/calls"
	kitexbench "github.com/thrum-rpc/thrum/bench/internal/gen/kitex/calls/bench"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file holds the generator that is made of a library's own client:
// goroutines that call one after another. It costs much more than the other
// generator does; who uses it compares the processor time of the server
// alone, or that of both sides.

// goClients opens the clients in Go. The result has a call for each caller;
// callers share connections where the library's clients can be shared.
var goClients = map[string]opener{
	"grpc":           openGRPC,
	"thrum":          func(j *job) ([]Call, []io.Closer, error) { return openOurs(j) },
	"thrum-ttheader": func(j *job) ([]Call, []io.Closer, error) { return openOurs(j, rpc.TTHeader()) },
	"thrum-theader":  func(j *job) ([]Call, []io.Closer, error) { return openOurs(j, rpc.THeader(0)) },
	"thrum-cluster": func(j *job) ([]Call, []io.Closer, error) {
		return openCluster(j, cluster.Timeout(0), cluster.NoBreakers(), cluster.NoEjections(), cluster.Retries(cluster.Retry{Attempts: 1}))
	},
	"thrum-comforts": func(j *job) ([]Call, []io.Closer, error) {
		return openCluster(j, cluster.Idempotent("noop", "echo"), cluster.Hedging(cluster.Hedge{Quantile: 0.99, After: 10 * time.Millisecond}))
	},
	"kitex":     func(j *job) ([]Call, []io.Closer, error) { return openKitex(j, false) },
	"kitex-mux": func(j *job) ([]Call, []io.Closer, error) { return openKitex(j, true) },
	"apache":    openApache,
}

// opener opens the clients of a job.
type opener func(j *job) ([]Call, []io.Closer, error)

func runClients(open opener, j *job) (outcome, error) {
	if open == nil {
		return outcome{}, fmt.Errorf("no client %q", j.Client)
	}
	calls, closers, err := open(j)
	defer closeAll(closers)
	if err != nil {
		return outcome{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var measuring atomic.Bool
	var first, replies atomic.Int64 // callers that have made a call, and replies that are measured
	var wg sync.WaitGroup
	latencies := make([][]time.Duration, len(calls))
	errs := make([]error, len(calls))
	for i, call := range calls {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				start := time.Now()
				if err := call(ctx); err != nil {
					if ctx.Err() == nil {
						errs[i] = err
					}
					return
				}
				if n == 0 {
					first.Add(1)
				}
				if measuring.Load() {
					replies.Add(1)
					latencies[i] = append(latencies[i], time.Since(start))
				}
			}
		})
	}
	w := &window{pid: j.PID}
	// Where a call takes long, many callers make less than one each in the time of a job.
	all := int64(len(calls))
	await(j.Warmup, func() bool { return first.Load() == all })
	measuring.Store(true)
	w.begin()
	await(j.Duration, func() bool { return replies.Load() >= all })
	w.end()
	measuring.Store(false)
	cancel()
	wg.Wait()
	sorted := slices.Concat(latencies...)
	slices.Sort(sorted)
	at := func(q float64) time.Duration {
		if len(sorted) == 0 {
			return 0
		}
		return sorted[int(q*float64(len(sorted)-1))]
	}
	return outcome{
		Replies: int64(len(sorted)), Elapsed: w.elapsed, Server: w.server, Own: w.own,
		Latency: quantiles{at(0.5), at(0.75), at(0.9), at(0.99)},
	}, errors.Join(append(errs, w.err)...)
}

// await waits for a time, and then until ok, but not for more than two seconds.
func await(d time.Duration, ok func() bool) {
	time.Sleep(d)
	for end := time.Now().Add(2 * time.Second); !ok() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// echoed is a call of a function that echoes.
func echoed(data []byte, echo func(context.Context, []byte) ([]byte, error)) Call {
	return func(ctx context.Context) error {
		got, err := echo(ctx, data)
		if err == nil && !bytes.Equal(got, data) {
			err = fmt.Errorf("echo answered %d other bytes", len(got))
		}
		return err
	}
}

// openGRPC opens the connections of a job by a call on each, which all have
// the same number of callers.
func openGRPC(j *job) ([]Call, []io.Closer, error) {
	var calls []Call
	var conns []io.Closer
	for range j.Connections {
		c, err := grpc.NewClient("passthrough:///"+j.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, conns, err
		}
		conns = append(conns, c)
		made := grpcCall(c, j.Calls[0].Shape)
		if err := made(context.Background()); err != nil {
			return nil, conns, err
		}
		calls = append(calls, slices.Repeat([]Call{made}, j.Depth)...)
	}
	return calls, conns, nil
}

func grpcCall(c *grpc.ClientConn, shape string) Call {
	if shape == "noop" {
		return func(ctx context.Context) error {
			return c.Invoke(ctx, "/Bench/noop", &emptypb.Empty{}, &emptypb.Empty{})
		}
	}
	return echoed(payload(sizes[shape]), func(ctx context.Context, data []byte) ([]byte, error) {
		var result wrapperspb.BytesValue
		err := c.Invoke(ctx, "/Bench/echo", &wrapperspb.BytesValue{Value: data}, &result)
		return result.Value, err
	})
}

// openOurs opens our clients, one for each connection, with the calls that
// our generator would write.
func openOurs(j *job, options ...rpc.ClientOption) ([]Call, []io.Closer, error) {
	var calls []Call
	var conns []io.Closer
	for range j.Connections {
		c, err := rpc.Dial(context.Background(), "tcp", j.Address, options...)
		if err != nil {
			return nil, conns, err
		}
		conns = append(conns, c)
		calls = append(calls, slices.Repeat([]Call{oursCall(c, j.Calls[0].Shape)}, j.Depth)...)
	}
	return calls, conns, nil
}

// openCluster opens one client of many addresses, of which there is one, with
// the timeout, retries, breaker and so on that the options turn on or off.
func openCluster(j *job, options ...cluster.Option) ([]Call, []io.Closer, error) {
	c, err := cluster.New(resolve.Hosts(j.Address), append(options, cluster.Dial(rpc.TTHeader()))...)
	if err != nil {
		return nil, nil, err
	}
	return slices.Repeat([]Call{oursCall(c, j.Calls[0].Shape)}, j.Connections*j.Depth), []io.Closer{c}, nil
}

func oursCall(c rpc.Caller, shape string) Call {
	if shape == "noop" {
		return func(ctx context.Context) error { return rpc.Call(ctx, c, "noop", &noopArgs{}, &noopResult{}) }
	}
	return echoed(payload(sizes[shape]), func(ctx context.Context, data []byte) ([]byte, error) {
		var result echoResult
		err := rpc.Call(ctx, c, "echo", &echoArgs{Data: data}, &result)
		return result.Success, err
	})
}

// openKitex opens one client of Kitex: on a pool that has a connection for
// each call that is under way, or on one connection that all share.
func openKitex(j *job, mux bool) ([]Call, []io.Closer, error) {
	klog.SetLevel(klog.LevelFatal)
	options := []client.Option{client.WithHostPorts(j.Address)}
	if mux {
		options = append(options, client.WithMuxConnection(j.Connections))
	} else {
		options = append(options, client.WithLongConnection(connpool.IdleConfig{
			MaxIdlePerAddress: j.Connections * j.Depth, MaxIdleGlobal: j.Connections * j.Depth, MaxIdleTimeout: time.Minute,
		}))
	}
	c, err := kitexbench.NewClient("bench", options...)
	if err != nil {
		return nil, nil, err
	}
	made := func(ctx context.Context) error { return c.Noop(ctx) }
	if j.Calls[0].Shape != "noop" {
		made = echoed(payload(sizes[j.Calls[0].Shape]), func(ctx context.Context, data []byte) ([]byte, error) { return c.Echo(ctx, data) })
	}
	var closers []io.Closer
	if k, ok := c.(io.Closer); ok {
		closers = append(closers, k)
	}
	return slices.Repeat([]Call{made}, j.Connections*j.Depth), closers, nil
}

// openApache opens a client for each caller, since Apache's cannot be shared.
func openApache(j *job) ([]Call, []io.Closer, error) {
	var calls []Call
	var conns []io.Closer
	for range j.Connections * j.Depth {
		nc, err := net.Dial("tcp", j.Address)
		if err != nil {
			return nil, conns, err
		}
		conns = append(conns, nc)
		transport := thrift.NewTFramedTransportConf(thrift.NewTSocketFromConnConf(nc, nil), nil)
		protocol := thrift.NewTBinaryProtocolConf(transport, nil)
		c := apachecalls.NewBenchClient(thrift.NewTStandardClient(protocol, protocol))
		if j.Calls[0].Shape == "noop" {
			calls = append(calls, c.Noop)
		} else {
			calls = append(calls, echoed(payload(sizes[j.Calls[0].Shape]), c.Echo))
		}
	}
	return calls, conns, nil
}

func closeAll(list []io.Closer) {
	for _, c := range list {
		c.Close()
	}
}
