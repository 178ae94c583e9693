package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file tests handlers that do what no handler should do.

// selfish is an error whose message cannot be had: a nil pointer in an error,
// say, that is not nil itself.
type selfish struct {
	text  string
	cause error
}

func (s *selfish) Error() string { return s.text }
func (s *selfish) Unwrap() error { return s.cause }

// misdeed is what a handler does instead of answering, and part of what its
// client is told.
type misdeed struct {
	do  func(dst []byte) ([]byte, error)
	say string
}

func misdeeds() map[string]misdeed {
	return map[string]misdeed{
		"panics with a text":                         {func([]byte) ([]byte, error) { panic("a secret") }, "panic in"},
		"panics with nil":                            {func([]byte) ([]byte, error) { panic(nil) }, "panic in"},
		"panics with error":                          {func([]byte) ([]byte, error) { panic(errors.New("a secret")) }, "panic in"},
		"panics with a value that cannot be printed": {func([]byte) ([]byte, error) { panic((*selfish)(nil)) }, "panic in"},
		"asserts a wrong type":                       {func([]byte) ([]byte, error) { return any(1).([]byte), nil }, "panic in"},
		"leaves its bounds":                          {func(dst []byte) ([]byte, error) { return dst[:cap(dst)+len(dst)+1], nil }, "panic in"},
		"ends its goroutine":                         {func([]byte) ([]byte, error) { runtime.Goexit(); return nil, nil }, "ended its goroutine"},
		"fails with a nil pointer":                   {func([]byte) ([]byte, error) { return nil, (*selfish)(nil) }, "selfish"},
		"fails at length":                            {func([]byte) ([]byte, error) { return nil, errors.New(strings.Repeat("x", 2<<20)) }, "xxx"},
		"answers beyond the limit":                   {func(dst []byte) ([]byte, error) { return append(dst, textStruct(strings.Repeat("x", 1<<20))...), nil }, "exceeds the limit"},
		"drops what was there":                       {func([]byte) ([]byte, error) { return nil, nil }, " bad "},
	}
}

// wantMisdeed checks that a call was answered with an exception that says so.
func wantMisdeed(t *testing.T, err error, say string) {
	t.Helper()
	var e *rpc.ApplicationException
	if !errors.As(err, &e) || e.Type != rpc.InternalError || !strings.Contains(e.Message, say) || strings.Contains(e.Message, "secret") {
		t.Errorf("%.200v, want an InternalError that says %q", err, say)
	}
}

// forms are the ways in which a method can misbehave.
func forms(do func(dst []byte) ([]byte, error)) map[string]rpc.Method {
	answer := func(r rpc.Responder) {
		if out, err := do(nil); err != nil {
			r.Fail(err)
		} else {
			r.Reply(out)
		}
	}
	return map[string]rpc.Method{
		"plain":                        {Serve: func(_ context.Context, _, dst []byte) ([]byte, error) { return do(dst) }},
		"callback":                     {Callback: func(_ []byte, r rpc.Responder) { answer(r) }},
		"callback, as it answers":      {Callback: func(_ []byte, r rpc.Responder) { r.ReplyFunc(do) }},
		"callback, as it answers late": {Callback: func(_ []byte, r rpc.Responder) { go r.ReplyFunc(do) }},
		"future":                       {Future: func(_ context.Context, _ []byte, r rpc.Responder) { answer(r) }},
		"future, as it answers":        {Future: func(_ context.Context, _ []byte, r rpc.Responder) { r.ReplyFunc(do) }},
		"future, as it answers late":   {Future: func(_ context.Context, _ []byte, r rpc.Responder) { go r.ReplyFunc(do) }},
	}
}

func TestHandlersThatMisbehaveHarmNobody(t *testing.T) {
	for name, misdeed := range misdeeds() {
		for form, bad := range forms(misdeed.do) {
			if name == "drops what was there" && (form == "callback" || form == "future") {
				continue // nothing is there
			}
			t.Run(name+"/"+form, func(t *testing.T) {
				bad.Name = "bad"
				_, address := host(t, []rpc.Method{echo, bad}, rpc.MaxFrameSize(1<<20))
				served := bystanders(t, address)
				for dialect, opts := range dialects() {
					t.Run(dialect, func(t *testing.T) {
						client := dial(t, "tcp", address, opts...)
						for range 2 {
							_, err := invoke(t.Context(), client, "bad", "")
							wantMisdeed(t, err, misdeed.say)
							// The connection is still good, or soon another one.
							eventually(t, "the client is served again", func() bool {
								got, err := invoke(t.Context(), client, "echo", "good")
								return err == nil && got == "good"
							})
						}
					})
				}
				served()
			})
		}
	}
}

// What else of a user's code a server calls.
func TestInterceptorsThatMisbehaveHarmNobody(t *testing.T) {
	bad := func(call rpc.CallInfo) bool { return call.Method() == "bad" }
	for name, option := range map[string]rpc.ServerOption{
		"an interceptor panics": rpc.Intercept(func(_ context.Context, call rpc.CallInfo) (context.Context, func(error), error) {
			if bad(call) {
				panic("a secret")
			}
			return nil, nil, nil
		}),
		"an interceptor fails with a nil pointer": rpc.Intercept(func(_ context.Context, call rpc.CallInfo) (context.Context, func(error), error) {
			if bad(call) {
				return nil, nil, (*selfish)(nil)
			}
			return nil, nil, nil
		}),
		"an interceptor panics at the end": rpc.Intercept(func(_ context.Context, call rpc.CallInfo) (context.Context, func(error), error) {
			return nil, func(error) {
				if bad(call) {
					panic("a secret")
				}
			}, nil
		}),
		"the judge of load panics": rpc.Overloaded(func(call rpc.CallInfo) error {
			if bad(call) {
				panic("a secret")
			}
			return nil
		}),
		"the judge of load fails with a nil pointer": rpc.Overloaded(func(call rpc.CallInfo) error {
			if bad(call) {
				return (*selfish)(nil)
			}
			return nil
		}),
	} {
		for form, method := range forms(func(dst []byte) ([]byte, error) { return append(dst, textStruct("done")...), nil }) {
			t.Run(name+"/"+form, func(t *testing.T) {
				method.Name = "bad"
				_, address := host(t, []rpc.Method{echo, method}, option)
				served := bystanders(t, address)
				client := dial(t, "tcp", address, rpc.TTHeader())
				for range 3 {
					got, err := invoke(t.Context(), client, "bad", "")
					var e *rpc.ApplicationException
					if err == nil && got != "done" || err != nil && (!errors.As(err, &e) || strings.Contains(err.Error(), "secret")) {
						t.Errorf("%q, %v", got, err)
					}
					if got, err := invoke(t.Context(), client, "echo", "good"); err != nil || got != "good" {
						t.Errorf("%q, %v", got, err)
					}
				}
				served()
			})
		}
	}
}

// A goroutine that has ended cannot answer; its connection ends.
func TestAJudgeOfLoadThatEndsItsGoroutineEndsTheConnection(t *testing.T) {
	var judged atomic.Int32
	_, address := host(t, []rpc.Method{echo}, rpc.Overloaded(func(rpc.CallInfo) error {
		if judged.Add(1) == 2 {
			runtime.Goexit()
		}
		return nil
	}))
	p := connect(t, address, true)
	p.send(append(p.call("echo", 1, "before"), p.call("echo", 2, "never judged")...))
	p.want(1, "before")
	p.wantClosed()
	p = connect(t, address, true)
	p.send(p.call("echo", 3, "after"))
	p.want(3, "after")
}

// What such a call held is given back where it came over HTTP, as host sees in the end.
func TestCallbacksThatEndTheirGoroutineLeaveNothingBehindOverHTTP(t *testing.T) {
	exits := rpc.Method{Name: "exits", Callback: func([]byte, rpc.Responder) { runtime.Goexit() }}
	message := rpc.Method{Name: "message", MessageCallback: func(rpc.Message, rpc.MessageResponder) { runtime.Goexit() }}
	var judged atomic.Int32
	_, address := host(t, []rpc.Method{exits, message, echo}, rpc.Overloaded(func(i rpc.CallInfo) error {
		if i.Method() == "echo" && judged.Add(1)%2 == 1 {
			runtime.Goexit()
		}
		return nil
	}))
	for name, opts := range map[string][]rpc.ClientOption{"HTTP/1.1": {rpc.HTTP("http://x/")}, "HTTP/2": {rpc.HTTP2("http://x/")}} {
		client := dial(t, "tcp", address, opts...)
		for _, method := range []string{"exits", "echo"} {
			if _, err := invoke(t.Context(), client, method, ""); err == nil {
				t.Errorf("%s: %s was answered", name, method)
			}
		}
		if got, err := invoke(t.Context(), client, "echo", "good"); err != nil || got != "good" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	c, err := rpc.DialMessages(t.Context(), "tcp", address, rpc.GRPC())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.InvokeMessage(t.Context(), &rpc.MessageCall{Method: "/S/message", Request: rpc.Message{Type: transport.Protobuf}}); err == nil {
		t.Error("gRPC: the call was answered")
	}
}

// inline is echo on the connection's loop, which needs no worker.
var inline = rpc.Method{Name: "echo", Callback: func(args []byte, r rpc.Responder) { r.Reply(args) }}

// Handlers that never return, more than there are workers.
func TestStuckHandlersHarmNobodyElse(t *testing.T) {
	release := make(chan struct{})
	stuck := raw("stuck", func(_ context.Context, args, dst []byte) ([]byte, error) {
		<-release
		return append(dst, args...), nil
	})
	stuck.Expiry = time.Second
	urgent := raw("urgent", echo.Serve)
	urgent.Priority = rpc.High
	server, address := host(t, []rpc.Method{inline, stuck, urgent}, rpc.Workers(8), rpc.MaxQueue(100))
	served := bystanders(t, address)
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	var timeouts, sheds atomic.Int64
	for range 4 {
		client := dial(t, "tcp", address, rpc.TTHeader())
		for range 60 {
			wg.Go(func() {
				// More than 8 workers and 100 places in the queue take, until that has been seen.
				for end := time.Now().Add(3 * patience); time.Now().Before(end) && (timeouts.Load() < 100 || sheds.Load() < 100); {
					_, err := invoke(t.Context(), client, "stuck", "")
					var e *rpc.ApplicationException
					switch {
					case errors.As(err, &e) && e.Type == rpc.Timeout:
						timeouts.Add(1)
					case errors.As(err, &e) && e.Type == rpc.LoadShedding:
						sheds.Add(1)
						time.Sleep(time.Millisecond)
					default:
						t.Errorf("a stuck call: %v", err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	if timeouts.Load() < 100 || sheds.Load() < 100 {
		t.Errorf("%d timeouts and %d refusals, for 8 workers and 100 places in the queue", timeouts.Load(), sheds.Load())
	}
	served()
	client := dial(t, "tcp", address)
	if got, err := invoke(t.Context(), client, "urgent", "now"); err != nil || got != "now" {
		t.Errorf("a call of higher priority: %q, %v", got, err)
	}
	// The stuck ones, what serves the connections of this test, and what looks after time.
	eventually(t, "there are few goroutines", func() bool { return runtime.NumGoroutine()-before <= 8+8+3*5+5 })
	close(release)
	eventually(t, "the workers are free", func() bool {
		_, err := invoke(t.Context(), client, "stuck", "")
		return err == nil
	})
	eventually(t, "nothing is counted", func() bool { return rpc.InFlight(server) <= 3 })
}

// Callbacks and futures that are forgotten.
func TestCallsThatAreNeverAnsweredExpire(t *testing.T) {
	for form, forget := range map[string]rpc.Method{
		"callback": {Callback: func([]byte, rpc.Responder) {}},
		"future":   {Future: func(context.Context, []byte, rpc.Responder) {}},
	} {
		t.Run(form, func(t *testing.T) {
			forget.Name = "forget"
			forget.Expiry = 20 * time.Millisecond
			server, address := host(t, []rpc.Method{echo, forget})
			served := bystanders(t, address)
			client := dial(t, "tcp", address, rpc.TTHeader())
			round := func() {
				var wg sync.WaitGroup
				for range 500 {
					wg.Go(func() {
						_, err := invoke(t.Context(), client, "forget", strings.Repeat("x", 500))
						var e *rpc.ApplicationException
						if !errors.As(err, &e) || e.Type != rpc.Timeout {
							t.Errorf("a forgotten call: %v", err)
						}
					})
				}
				wg.Wait()
			}
			round()
			before := memory()
			for range 5 {
				round()
			}
			wantMemory(t, "after 2500 calls that nobody has answered", before, 2<<20)
			eventually(t, "nothing is counted", func() bool { return rpc.InFlight(server) <= 3 })
			served()
		})
	}
}

// A future that is forgotten must not hold up those behind it for good.
func TestForgottenCallsLeaveTheirPlaceToOthers(t *testing.T) {
	forget := rpc.Method{Name: "forget", Expiry: 20 * time.Millisecond, Future: func(context.Context, []byte, rpc.Responder) {}}
	_, address := host(t, []rpc.Method{echo, forget}, rpc.MaxConcurrentPerConn(2))
	client := dial(t, "tcp", address, rpc.TTHeader())
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			var e *rpc.ApplicationException
			if _, err := invoke(t.Context(), client, "forget", ""); !errors.As(err, &e) || e.Type != rpc.Timeout {
				t.Errorf("a forgotten call: %v", err)
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if got, err := invoke(ctx, client, "echo", "next"); err != nil || got != "next" {
		t.Errorf("%q, %v", got, err)
	}
}

// Calls that wait for another one of their connection, when that ends.
func TestCallsThatWaitForEachOtherLeaveWithTheirConnection(t *testing.T) {
	for _, opts := range [][]rpc.ClientOption{nil, {rpc.TTHeader()}} {
		method, started, release := blocked()
		server, address := host(t, []rpc.Method{method}, rpc.MaxConcurrentPerConn(1))
		client := dial(t, "tcp", address, opts...)
		for range 20 {
			go invoke(t.Context(), client, "blocked", "")
		}
		receive(t, "a call runs", started)
		eventually(t, "the others wait", func() bool { return rpc.InFlight(server) == 20 })
		server.Close()
		close(release)
		eventually(t, "nothing is left", func() bool { return rpc.Connections(server) == 0 && rpc.InFlight(server) == 0 })
		if n := len(started); n > 0 {
			t.Errorf("%d calls ran after the end", n)
		}
	}
}

// A handler may append what is no struct. What it is cannot be seen without
// reading it, but it must stay its client's problem.
func TestResultsThatAreNoStructsHarmTheirClientsOnly(t *testing.T) {
	bad := raw("bad", func(_ context.Context, args, dst []byte) ([]byte, error) {
		return append(dst, bytes.Repeat([]byte{0xff}, 100)...), nil
	})
	_, address := host(t, []rpc.Method{echo, bad})
	served := bystanders(t, address)
	for dialect, opts := range dialects() {
		t.Run(dialect, func(t *testing.T) {
			client := dial(t, "tcp", address, append(opts, rpc.CallTimeout(patience))...)
			invoke(t.Context(), client, "bad", "") // whatever its outcome
			eventually(t, "the client is served again", func() bool {
				got, err := invoke(t.Context(), client, "echo", "good")
				return err == nil && got == "good"
			})
		})
	}
	served()
}
