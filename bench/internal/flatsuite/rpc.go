package flatsuite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"time"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/bench/internal/rpcsuite"
)

// This file holds the work rpc-cpu: the processor time of both sides of a call,
// whose request and reply are the message of a shape. Each side builds its message from the
// same value, and reads all fields of the other's.

// The service of all contestants, and its methods for a shape.
const service = "bench.Flat"

func unaryMethod(shape string) string  { return "/" + service + "/" + shape }
func streamMethod(shape string) string { return "/" + service + "/" + shape + "Stream" }
func protoMethod(shape string) string  { return "/" + service + "/" + shape + "Proto" }

// The kinds of calls: one with a reply, and one message to and fro on a stream
// that each caller keeps open.
const (
	unary  = "unary"
	stream = "bidi"
)

// Contest has the processes of the suite.
func Contest() rpcsuite.Contest { return rpcsuite.NewContest(servers, clients) }

var (
	servers = map[string]rpcsuite.Server{
		"flat-thrum": thrumServer, "flat-trpc": trpcServer, "flat-grpc": grpcServer, "flat-grpc-protobuf": grpcProtobufServer,
	}
	clients = map[string]rpcsuite.Client{
		"flat-thrum": openThrum, "flat-trpc": openTRPC, "flat-trpc-protobuf": openTRPCProtobuf,
		"flat-thrum-grpc": openThrumGRPC, "flat-grpc": openGRPC, "flat-grpc-protobuf": openGRPCProtobuf,
	}
)

// sides are the contestants.
var sides = []rpcsuite.Side{
	{Name: harness.Ours, Server: "flat-thrum", Client: "flat-thrum"},
	{Name: "trpc-flatbuffers", Server: "flat-trpc", Client: "flat-trpc"},
	{Name: "trpc-protobuf", Server: "flat-trpc", Client: "flat-trpc-protobuf"},
}

// The numbers of callers at a time, of which a short run has the last; and the
// shapes that streams have.
var (
	callers  = []int{1, 100, 500}
	streamed = []string{"f6", "f286", "f1126"}
)

// callsTime is what calls take of a short run.
const callsTime = 24 * time.Second

// calls measures all calls.
func calls(out io.Writer, o harness.Options, report *harness.Report) error {
	if runtime.GOOS != "linux" {
		fmt.Fprintln(out, "NOTE calls are measured on Linux only")
		return nil
	}
	return rpcsuite.Measure(out, "flatbuffers", matches(o.Short || o.Timing.Rounds != 0), o, report)
}

func matches(short bool) []rpcsuite.Match {
	var list []rpcsuite.Match
	for _, kind := range []string{unary, stream} {
		for _, s := range shapes() {
			if kind == stream && !s.streamed() {
				continue
			}
			for _, n := range callers {
				if short && n != callers[len(callers)-1] {
					continue
				}
				list = append(list, rpcsuite.Match{
					Work: "rpc-cpu", Shape: fmt.Sprintf("%s/%s/c1d%d", s.name, kind, n), Calls: s.name + "/" + kind,
					Bytes: s.bytes, Callers: n, Sides: sides,
				})
			}
		}
	}
	return append(list, grpcMatches(short)...)
}

func (s *shape) streamed() bool { return slices.Contains(streamed, s.name) }

// loadShape returns the shape and the kind of the calls of a load.
func loadShape(name string) (*shape, string, error) {
	for _, s := range shapes() {
		for _, kind := range []string{unary, stream} {
			if name == s.name+"/"+kind {
				return &s, kind, nil
			}
		}
	}
	return nil, "", fmt.Errorf("no calls of %q", name)
}

// errOther is the failure of a side that reads another value than was sent.
var errOther = errors.New("the message says something else")

// listenLocal opens a free port.
func listenLocal() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// messages is a stream as grpc-go and trpc-go have it, on either side.
type messages interface {
	SendMsg(any) error
	RecvMsg(any) error
}

// answerEach answers each message of a stream with one, until it ends.
func answerEach[Req any](s messages, newRequest func() Req, handle func(Req) (any, error)) error {
	for {
		req := newRequest()
		err := s.RecvMsg(req)
		if err == io.EOF {
			return nil
		}
		var reply any
		if err == nil {
			reply, err = handle(req)
		}
		if err == nil {
			err = s.SendMsg(reply)
		}
		if err != nil {
			return err
		}
	}
}

// exchangeOn returns the call that sends a message on a stream and takes the one that answers it.
func exchangeOn(s messages, e exchange) rpcsuite.Call {
	return func(context.Context) error {
		return e(func(req, reply any) error {
			if err := s.SendMsg(req); err != nil {
				return err
			}
			return s.RecvMsg(reply)
		})
	}
}
