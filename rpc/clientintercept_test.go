package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file tests what stands between a caller and the calls of its client,
// and the headers of replies.

// headerDialects are the options of a client for each dialect that carries headers.
func headerDialects(address string) map[string][]rpc.ClientOption {
	return map[string][]rpc.ClientOption{
		"THeader":  {rpc.THeader(header.Zlib)},
		"TTHeader": {rpc.TTHeader()},
		"HTTP":     {rpc.HTTP("http://" + address + "/")},
		"HTTP/2":   {rpc.HTTP2("http://" + address + "/")},
	}
}

func TestInterceptorsStandAroundCallsInTheirOrder(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	var seen []string
	note := func(name string) rpc.ClientInterceptor {
		return func(ctx context.Context, call *rpc.Invocation, to rpc.Target, next rpc.Caller) error {
			_, limited := ctx.Deadline()
			seen = append(seen, fmt.Sprintf("%s: %s.%s %s %t %t", name, to.Service, call.Method, to.Dialect, to.Network == "tcp" && to.Address == address, limited))
			err := next.Invoke(ctx, call)
			seen = append(seen, fmt.Sprintf("%s: %v", name, err))
			return err
		}
	}
	client := dial(t, "tcp", address, rpc.InterceptCalls(note("a"), note("b")), rpc.InterceptCalls(note("c")),
		rpc.ServiceName("S"), rpc.CallTimeout(patience))
	if got, err := invoke(t.Context(), client, "echo", "x"); err != nil || got != "x" {
		t.Fatal(got, err)
	}
	call := fmt.Sprintf("S.echo %s true true", transport.Framed)
	want := []string{"a: " + call, "b: " + call, "c: " + call, "c: <nil>", "b: <nil>", "a: <nil>"}
	if !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}

func TestAnInterceptorMayAnswerOrRepeatACall(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	refused := errors.New("not today")
	client := dial(t, "tcp", address, rpc.InterceptCalls(func(ctx context.Context, call *rpc.Invocation, _ rpc.Target, next rpc.Caller) error {
		switch call.Method {
		case "never":
			return refused
		case "twice":
			own := *call
			own.Method = "echo"
			if err := next.Invoke(ctx, &own); err != nil {
				return err
			}
			return next.Invoke(ctx, &own)
		}
		return next.Invoke(ctx, call)
	}))
	if _, err := invoke(t.Context(), client, "never", ""); err != refused {
		t.Errorf("%v", err)
	}
	if got, err := invoke(t.Context(), client, "twice", "y"); err != nil || got != "y" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := invoke(t.Context(), client, "thrice", "y"); err == nil || !strings.Contains(err.Error(), "thrice") {
		t.Errorf("%v", err)
	}
}

func TestAnyCallerCanBeIntercepted(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	var to rpc.Target
	c := rpc.Intercepted(rpc.Multiplexed(dial(t, "tcp", address), "S"), rpc.Target{Service: "other"},
		func(ctx context.Context, call *rpc.Invocation, target rpc.Target, next rpc.Caller) error {
			to = target
			return next.Invoke(ctx, call)
		})
	if got, err := invoke(t.Context(), c, "echo", "x"); err != nil || got != "x" || to.Service != "other" {
		t.Errorf("%q, %v, %+v", got, err, to)
	}
}

func TestCallersReadTheHeadersOfReplies(t *testing.T) {
	answer := func(ctx context.Context, args, dst []byte) ([]byte, error) {
		info, _ := rpc.Info(ctx)
		info.SetReplyHeader("load", textOf(args))
		info.SetReplyHeader("Trace-Id", "abc")
		switch text := textOf(args); text {
		case "fail":
			return nil, errors.New("failed")
		case "status", "status of much":
			if text != "status" {
				info.SetReplyHeader("much", strings.Repeat("x", 100<<10))
			}
			return nil, &rpc.BizStatus{Code: 7, Message: "no"}
		}
		return append(dst, args...), nil
	}
	_, address := listen(t, []rpc.Method{raw("answer", answer)})
	for name, opts := range headerDialects(address) {
		t.Run(name, func(t *testing.T) {
			client := dial(t, "tcp", address, opts...)
			outer, all := rpc.WithReplyHeaders(t.Context())
			ctx, own := rpc.WithReplyHeaders(outer)
			if _, ok := own.Get("load"); ok {
				t.Error("a reply has headers that has not come")
			}
			if _, err := invoke(ctx, client, "answer", "0.5"); err != nil {
				t.Fatal(err)
			}
			for _, h := range []*rpc.ReplyHeaders{all, own} {
				load, _ := h.Get("load")
				trace, _ := h.Get("Trace-Id")
				if _, ok := h.Get("other"); load != "0.5" || trace != "abc" || ok {
					t.Errorf("load=%q, Trace-Id=%q, other is there: %t", load, trace, ok)
				}
			}
			if _, err := invoke(ctx, client, "answer", "fail"); err == nil {
				t.Error("no error")
			}
			if why, _ := own.Get("uexw"); name != "TTHeader" && why != "failed" {
				t.Errorf("of an exception: uexw=%q", why)
			}
			if trace, _ := own.Get("Trace-Id"); trace != "abc" {
				t.Errorf("of an exception: Trace-Id=%q", trace)
			}
			for _, kind := range []string{"status", "status of much"} {
				_, err := invoke(ctx, client, "answer", kind)
				var status *rpc.BizStatus
				if name == "TTHeader" && (!errors.As(err, &status) || status.Code != 7) {
					t.Errorf("%s: %v", kind, err)
				}
				if trace, _ := own.Get("Trace-Id"); (trace == "abc") != (kind == "status") {
					t.Errorf("%s: Trace-Id=%q", kind, trace)
				}
			}
		})
	}
}

func TestRepliesWithoutHeadersHaveNone(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	ctx, h := rpc.WithReplyHeaders(t.Context())
	if _, err := invoke(ctx, dial(t, "tcp", address), "echo", "x"); err != nil {
		t.Fatal(err)
	}
	for k, v := range h.All() {
		t.Errorf("%s=%s", k, v)
	}
	if _, ok := h.Int(ttheader.RPCTimeout); ok {
		t.Error("a number")
	}
}

func TestHeadersOfRepliesReachTheirCalls(t *testing.T) {
	method := raw("m", func(ctx context.Context, args, dst []byte) ([]byte, error) {
		info, _ := rpc.Info(ctx)
		info.SetReplyHeader("who", textOf(args))
		return append(dst, args...), nil
	})
	_, address := listen(t, []rpc.Method{method})
	for name, opts := range headerDialects(address) {
		client := dial(t, "tcp", address, opts...)
		var calls sync.WaitGroup
		for i := range 50 {
			calls.Go(func() {
				ctx, headers := rpc.WithReplyHeaders(t.Context())
				me := fmt.Sprint(i)
				if _, err := invoke(ctx, client, "m", me); err != nil {
					t.Error(err)
				}
				if who, _ := headers.Get("who"); who != me {
					t.Errorf("%s: %s has the headers of %q", name, me, who)
				}
			})
		}
		calls.Wait()
	}
}

func TestTheHeadersOfAGivenUpCallAreDropped(t *testing.T) {
	method, started, release := blocked()
	_, address := listen(t, []rpc.Method{method, echo})
	client := dial(t, "tcp", address, rpc.TTHeader())
	ctx, headers := rpc.WithReplyHeaders(t.Context())
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := invoke(ctx, client, "blocked", "x")
		ended <- err
	}()
	receive(t, "the call runs", started)
	other := make(chan error, 1)
	go func() { // keeps the connection
		_, err := invoke(t.Context(), client, "blocked", "y")
		other <- err
	}()
	receive(t, "the other runs", started)
	cancel()
	if err := receive(t, "the call ends", ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(release)
	receive(t, "the other ends", other)
	for k, v := range headers.All() {
		t.Errorf("%s=%s", k, v)
	}
}

func TestExceptionFieldTellsSuccessFromException(t *testing.T) {
	for _, c := range []struct {
		result []byte
		id     int16
		ok     bool
	}{
		{[]byte{0}, 0, false}, {nil, 0, false}, {[]byte{12}, 0, false},
		{[]byte{12, 0, 0, 0, 0}, 0, false}, {[]byte{12, 0, 2, 0, 0}, 2, true},
	} {
		if id, ok := rpc.ExceptionField(c.result); ok != c.ok || ok && id != c.id {
			t.Errorf("% x: %d, %t", c.result, id, ok)
		}
	}
}

// BenchmarkInterceptedCall shows what an interceptor that does nothing adds.
func BenchmarkInterceptedCall(b *testing.B) {
	none := rpc.Intercepted(doneCaller{}, rpc.Target{})
	nothing := func(ctx context.Context, call *rpc.Invocation, _ rpc.Target, next rpc.Caller) error {
		return next.Invoke(ctx, call)
	}
	for name, c := range map[string]rpc.Caller{"none": none, "three": rpc.Intercepted(doneCaller{}, rpc.Target{}, nothing, nothing, nothing)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			call := &rpc.Invocation{Method: "m"}
			for range b.N {
				if err := c.Invoke(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type doneCaller struct{}

func (doneCaller) Invoke(context.Context, *rpc.Invocation) error { return nil }
