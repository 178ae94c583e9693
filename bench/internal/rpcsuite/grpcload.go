package rpcsuite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// This file holds the generator for gRPC, which is gRPC's own client: goroutines
// that call one after another, as many on each connection as requests are to
// be outstanding. It costs much more than the other generator does; the server's
// processor time alone is compared.

func dialGRPC(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// grpcCall returns a function that makes one call and checks its result.
func grpcCall(shape string) func(context.Context, *grpc.ClientConn) error {
	if shape == "noop" {
		return func(ctx context.Context, c *grpc.ClientConn) error {
			return c.Invoke(ctx, "/Bench/noop", &emptypb.Empty{}, &emptypb.Empty{})
		}
	}
	data := payload(sizes[shape])
	return func(ctx context.Context, c *grpc.ClientConn) error {
		var result wrapperspb.BytesValue
		if err := c.Invoke(ctx, "/Bench/echo", &wrapperspb.BytesValue{Value: data}, &result); err != nil {
			return err
		}
		if !bytes.Equal(result.Value, data) {
			return fmt.Errorf("echo answered %d other bytes", len(result.Value))
		}
		return nil
	}
}

func runGRPC(j *job) (outcome, error) {
	call := grpcCall(j.Calls[0].Shape)
	conns, err := openGRPC(j, call)
	defer closeAll(conns)
	if err != nil {
		return outcome{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var measuring atomic.Bool
	var wg sync.WaitGroup
	latencies := make([][]time.Duration, len(conns)*j.Depth)
	errs := make([]error, len(latencies))
	for i := range latencies {
		conn := conns[i%len(conns)].(*grpc.ClientConn)
		wg.Go(func() {
			for ctx.Err() == nil {
				start := time.Now()
				if err := call(ctx, conn); err != nil {
					if ctx.Err() == nil {
						errs[i] = err
					}
					return
				}
				if measuring.Load() {
					latencies[i] = append(latencies[i], time.Since(start))
				}
			}
		})
	}
	w := &window{pid: j.PID}
	time.Sleep(j.Warmup)
	measuring.Store(true)
	w.begin()
	time.Sleep(j.Duration)
	w.end()
	measuring.Store(false)
	cancel()
	wg.Wait()
	all := slices.Concat(latencies...)
	slices.Sort(all)
	at := func(q float64) time.Duration {
		if len(all) == 0 {
			return 0
		}
		return all[int(q*float64(len(all)-1))]
	}
	return outcome{
		Replies: int64(len(all)), Elapsed: w.elapsed, Server: w.server, Own: w.own,
		Latency: quantiles{at(0.5), at(0.75), at(0.9), at(0.99)},
	}, errors.Join(append(errs, w.err)...)
}

// openGRPC opens the connections of a job by a call on each.
func openGRPC(j *job, call func(context.Context, *grpc.ClientConn) error) ([]io.Closer, error) {
	var conns []io.Closer
	for range j.Connections {
		c, err := dialGRPC(j.Address)
		if err != nil {
			return conns, err
		}
		conns = append(conns, c)
		if err := call(context.Background(), c); err != nil {
			return conns, err
		}
	}
	return conns, nil
}

func closeAll(list []io.Closer) {
	for _, c := range list {
		c.Close()
	}
}
