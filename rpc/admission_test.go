package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file tests which calls are refused, and how the client is told.

// refused expects the next reply to be an exception of that type, with that
// code in its header.
func (p *peer) refused(what string, exception int32, ex string) {
	p.t.Helper()
	f, message := p.headerReply()
	r := parseReply(message)
	if code, _ := f.Headers.Get("ex"); r.exception != exception || string(code) != ex {
		p.t.Errorf("%s: %v with ex %q, want type %d and ex %s", what, r, code, exception, ex)
	}
}

// callWith returns a call in a THeader frame, in any order, with headers.
func callWith(t *testing.T, seq uint32, method string, pairs ...header.Pair) []byte {
	return headerCall(t, header.Outgoing{Flags: header.OutOfOrder, SequenceID: seq, Headers: pairs}, echoCall(method, int32(seq), "x"))
}

// A client's time begins when the call arrives, also if it waits for another call of its connection.
func TestTheDeadlineIsTheClientsHoweverLongTheCallHasWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := raw("slow", func(ctx context.Context, _, dst []byte) ([]byte, error) {
			due, _ := ctx.Deadline()
			left := time.Until(due).Round(time.Millisecond)
			time.Sleep(600 * time.Millisecond)
			return append(dst, textStruct(left.String())...), nil
		})
		_, l := listenInBubble(t, []rpc.Method{slow}, rpc.MaxConcurrentPerConn(1))
		p := connectInBubble(t, l, true)
		timeout := header.Pair{Key: "client_timeout", Value: "1000"}
		p.send(append(callWith(t, 1, "slow", timeout), callWith(t, 2, "slow", timeout)...))
		for _, want := range []string{"1s", "400ms"} {
			if _, message := p.headerReply(); parseReply(message).text != want {
				t.Errorf("the handler has %s left, want %s", parseReply(message).text, want)
			}
		}
	})
}

// What a context says of its end must come true, or contexts made from it, which rely on that, never end.
func TestContextsEndWithTheClientsTimeWhereCallsNeverExpire(t *testing.T) {
	for name, c := range map[string]struct {
		option rpc.ServerOption
		expiry time.Duration
	}{"of the server": {rpc.TaskExpiry(0), 0}, "of the method": {rpc.TaskExpiry(time.Second), -1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wait := func(ctx context.Context) error {
					inner, cancel := context.WithTimeout(ctx, time.Hour)
					defer cancel()
					select {
					case <-inner.Done():
						return inner.Err()
					case <-time.After(2 * time.Hour):
						return errors.New("never")
					}
				}
				plain := rpc.Method{Name: "plain", Expiry: c.expiry, Serve: func(ctx context.Context, _, _ []byte) ([]byte, error) { return nil, wait(ctx) }}
				callback := rpc.Method{Name: "callback", Expiry: c.expiry, Callback: func(_ []byte, r rpc.Responder) {
					ctx := r.Context()
					go func() { r.Fail(wait(ctx)) }()
				}}
				server, l := listenInBubble(t, []rpc.Method{plain, callback}, c.option)
				p := connectInBubble(t, l, true)
				for seq, method := range []string{"plain", "callback"} {
					began := time.Now()
					p.send(callWith(t, uint32(seq), method, header.Pair{Key: "client_timeout", Value: "3000"}))
					p.refused(method, rpc.Timeout, "2")
					if d := time.Since(began).Round(100 * time.Millisecond); d != 3*time.Second {
						t.Errorf("%s: answered after %v", method, d)
					}
				}
				if n := server.Stats().Refused[rpc.RefusedExpired]; n != 0 {
					t.Errorf("%d calls have expired", n)
				}
			})
		})
	}
}

// What Overloaded is given may be kept.
func TestWhatIsKnownOfACallOutlivesAConnectionThatEndsMeanwhile(t *testing.T) {
	servers, asked := make(chan *rpc.Server, 1), make(chan rpc.CallInfo, 1)
	server, address := listen(t, []rpc.Method{echo}, rpc.Overloaded(func(i rpc.CallInfo) error {
		(<-servers).Close()
		asked <- i
		return nil
	}))
	servers <- server
	p := connect(t, address, true)
	p.send(callWith(t, 1, "echo", header.Pair{Key: "user", Value: "emma"}))
	info := receive(t, "the function is asked", asked)
	eventually(t, "the connection has ended", func() bool { return rpc.Connections(server) == 0 })
	if user, ok := info.Header("user"); ok || info.Method() != "echo" {
		t.Errorf("%s of %q, whose frame is another's memory", info.Method(), user)
	}
}

// Most calls of a server with too much to do are refused, in no time.
func TestRefusedCallsDoNotPassForFastOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64 // calls at a time, each of which slows down the others
		congested := raw("congested", func(_ context.Context, args, dst []byte) ([]byte, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Duration(n) * 10 * time.Millisecond)
			return append(dst, args...), nil
		})
		_, l := listenInBubble(t, []rpc.Method{congested}, rpc.AdaptiveConcurrency(1, 1000))
		client := dialInBubble(t, l, rpc.THeader(header.None))
		var callers sync.WaitGroup
		end := time.Now().Add(10 * time.Second)
		for range 60 {
			callers.Go(func() {
				for time.Now().Before(end) {
					client.Invoke(t.Context(), &rpc.Invocation{Method: "congested"})
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
		callers.Wait()
		if n := most.Load(); n > 10 {
			t.Errorf("up to %d calls ran at a time, each for as many times 10 ms", n)
		}
	})
}

func TestRefusalsHaveTheCodesOfFBThrift(t *testing.T) {
	busy := func(t *testing.T, opts ...rpc.ServerOption) (*rpc.Server, *peer, func()) {
		method, started, release := blocked()
		for p := rpc.HighImportant; p <= rpc.BestEffort; p++ {
			opts = append(opts, rpc.ExtraWorkers(p, 0))
		}
		server, l := listenInBubble(t, []rpc.Method{method, echo}, append(opts, rpc.Workers(1))...)
		p := connectInBubble(t, l, true)
		p.send(callWith(t, 1, "blocked"))
		receive(t, "the call runs", started)
		return server, p, func() { close(release) }
	}
	run := func(name string, test func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
	for _, c := range []struct {
		cause     rpc.Refusal
		exception int32
		ex        string
		option    rpc.ServerOption
		pairs     []header.Pair
		before    int // calls that wait already
	}{
		{rpc.RefusedInFlight, rpc.LoadShedding, "1", rpc.MaxInFlight(1), nil, 0},
		{rpc.RefusedRate, rpc.LoadShedding, "1", rpc.MaxRate(1, 1), nil, 0},
		{rpc.RefusedOverload, rpc.LoadShedding, "22", rpc.Overloaded(func(i rpc.CallInfo) error {
			if i.Method() == "echo" {
				return errors.New("out of toner")
			}
			return nil
		}), nil, 0},
		{rpc.RefusedQueueFull, rpc.LoadShedding, "22", rpc.MaxQueue(1), nil, 1},
		{rpc.RefusedExpired, rpc.Timeout, "2", rpc.TaskExpiry(50 * time.Millisecond), nil, 0},
		{rpc.RefusedExpired, rpc.Timeout, "2", rpc.TaskExpiry(time.Minute), []header.Pair{{Key: "client_timeout", Value: "10"}}, 0},
		{rpc.RefusedMethod, rpc.UnknownMethod, "25", rpc.Workers(1), nil, 0},
	} {
		run(c.cause.String(), func(t *testing.T) {
			server, p, release := busy(t, c.option)
			defer release()
			for i := range c.before {
				p.send(callWith(t, uint32(100+i), "echo"))
			}
			method := "echo"
			if c.cause == rpc.RefusedMethod {
				method = "nothing"
			}
			p.send(callWith(t, 2, method, c.pairs...))
			if c.cause == rpc.RefusedExpired && c.pairs == nil {
				p.refused("the call that runs", c.exception, c.ex)
			}
			p.refused(c.cause.String(), c.exception, c.ex)
			if n := server.Stats().Refused[c.cause]; n < 1 {
				t.Errorf("%d were counted", n)
			}
		})
	}
	run("expired in the queue", func(t *testing.T) {
		server, p, release := busy(t, rpc.QueueTimeout(time.Hour), rpc.TaskExpiry(300*time.Millisecond))
		defer release()
		p.send(callWith(t, 2, "echo"))
		p.refused("the call that runs, or the one that waits", rpc.Timeout, "2")
		p.refused("the other one", rpc.Timeout, "2")
		eventually(t, "the one that waits has left", func() bool { return server.Stats().Waiting == 0 })
		if s := server.Stats(); s.Refused[rpc.RefusedExpired] != 2 || s.Refused[rpc.RefusedQueueTime] != 0 {
			t.Errorf("%v were counted", s.Refused)
		}
	})
	run("concurrency", func(t *testing.T) {
		server, p, release := busy(t, rpc.AdaptiveConcurrency(1, 1))
		defer release()
		p.send(callWith(t, 2, "echo"))
		p.refused("a call beyond what latency allows", rpc.LoadShedding, "1")
		if n := server.Stats().Refused[rpc.RefusedConcurrency]; n != 1 {
			t.Errorf("%d were counted", n)
		}
	})
	run("message", func(t *testing.T) {
		server, p, release := busy(t, rpc.MaxHeaderSize(64))
		defer release()
		p.send(callWith(t, 2, "echo", header.Pair{Key: "k", Value: strings.Repeat("v", 100)}))
		p.refused("a message with too large headers", rpc.ProtocolError, "28")
		p.send(headerCall(t, header.Outgoing{Flags: header.OutOfOrder, SequenceID: 3}, thriftwire.AppendStop(thriftwire.AppendMessage(nil, thriftwire.Reply, "echo", 3))))
		p.refused("a message that is no call", rpc.InvalidMessageType, "28")
		if n := server.Stats().Refused[rpc.RefusedMessage]; n != 2 {
			t.Errorf("%d were counted", n)
		}
	})
	t.Run("connections", func(t *testing.T) {
		server, address := listen(t, []rpc.Method{echo}, rpc.MaxConnections(1))
		first := connect(t, address, true)
		first.send(first.call("echo", 1, "served"))
		first.want(1, "served")
		second := connect(t, address, true)
		second.send(callWith(t, 2, "echo"))
		second.refused("a connection too many", rpc.LoadShedding, "1")
		second.wantClosed()
		if n := server.Stats().Refused[rpc.RefusedConnection]; n != 1 {
			t.Errorf("%d were counted", n)
		}
	})
	t.Run("insecure", func(t *testing.T) {
		_, address := listen(t, []rpc.Method{echo}, secure(t, rpctest.NewCA(t)))
		p := connect(t, address, true)
		p.send(callWith(t, 1, "echo"))
		p.refused("a call in the clear", rpc.UnsupportedClientType, "28")
	})
	run("queue_time", func(t *testing.T) {
		for _, c := range []struct {
			server time.Duration
			client []header.Pair
		}{
			{300 * time.Millisecond, nil},
			{time.Hour, []header.Pair{{Key: "queue_timeout", Value: "10"}}},
		} {
			server, p, release := busy(t, rpc.QueueTimeout(c.server), rpc.TaskExpiry(0))
			p.send(callWith(t, 2, "echo", c.client...))
			p.refused("a call that waits while the worker is stuck", rpc.Timeout, "15")
			eventually(t, "it has left", func() bool {
				s := server.Stats()
				return s.Refused[rpc.RefusedQueueTime] == 1 && s.Waiting == 0 && s.InFlight == 1
			})
			release()
			if f, _ := p.headerReply(); f.SequenceID != 1 {
				t.Errorf("the reply is to %d", f.SequenceID)
			}
		}
	})
}

// A queue that stands: its one worker takes longer than the target for each call, and more come than it can do.
func TestCallsThatStandInTheQueueAreRefusedByCoDel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := raw("slow", func(_ context.Context, args, dst []byte) ([]byte, error) {
			time.Sleep(3 * time.Millisecond)
			return append(dst, args...), nil
		})
		opts := []rpc.ServerOption{rpc.Workers(1), rpc.CoDel(0, time.Millisecond)}
		for p := rpc.HighImportant; p <= rpc.BestEffort; p++ {
			opts = append(opts, rpc.ExtraWorkers(p, 0))
		}
		server, l := listenInBubble(t, []rpc.Method{slow}, opts...)
		p := connectInBubble(t, l, true)
		const n = 100
		served, refused := 0, 0
		for end := time.Now().Add(patience); refused == 0 && time.Now().Before(end); {
			for i := range uint32(n) {
				p.send(callWith(t, i, "slow"))
			}
			for range n {
				f, message := p.headerReply()
				switch r := parseReply(message); {
				case r.t == thriftwire.Reply:
					served++
				default:
					refused++
					if ex, _ := f.Headers.Get("ex"); r.exception != rpc.LoadShedding || string(ex) != "22" {
						t.Errorf("refused by %v, ex=%s", r, ex)
					}
				}
			}
		}
		if served == 0 || refused == 0 || server.Stats().Refused[rpc.RefusedDelay] != int64(refused) {
			t.Errorf("%d served, %d refused, %v counted", served, refused, server.Stats().Refused)
		}
	})
}

func TestHandlersErrorsAreNamedInHeaders(t *testing.T) {
	fail := raw("fail", func(context.Context, []byte, []byte) ([]byte, error) { return nil, errors.New("out\nof paper") })
	huge := raw("huge", func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, make([]byte, 5000)...), nil })
	_, address := listen(t, []rpc.Method{fail, huge}, rpc.MaxFrameSize(4096))
	p := connect(t, address, true)
	for method, want := range map[string]string{"fail": "24 out of paper", "huge": "17 "} {
		p.send(callWith(t, 1, method))
		f, _ := p.headerReply()
		ex, _ := f.Headers.Get("ex")
		what, _ := f.Headers.Get("uexw")
		if got := fmt.Sprintf("%s %s", ex, what); got != want {
			t.Errorf("%s: %q, want %q", method, got, want)
		}
	}
}

func TestAnExpiredOnewayCallIsNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		method, started, release := blocked()
		method.Oneway = true
		server, l := listenInBubble(t, []rpc.Method{method, echo}, rpc.TaskExpiry(10*time.Millisecond))
		p := connectInBubble(t, l, true)
		p.send(p.message(thriftwire.Oneway, "blocked", 1, textStruct("")))
		receive(t, "the call runs", started)
		eventually(t, "it expires", func() bool { return server.Stats().Refused[rpc.RefusedExpired] == 1 })
		p.send(p.call("echo", 2, "first reply"))
		p.want(2, "first reply")
		close(release)
	})
}

func TestWhoMayGoFirst(t *testing.T) {
	var mu sync.Mutex
	var order []string
	note := raw("note", func(_ context.Context, args, dst []byte) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, textOf(args))
		return append(dst, args...), nil
	})
	urgent := note
	urgent.Name, urgent.Priority = "urgent", rpc.High
	method, started, release := blocked()
	opts := []rpc.ServerOption{rpc.Workers(1)}
	for p := rpc.HighImportant; p <= rpc.BestEffort; p++ {
		opts = append(opts, rpc.ExtraWorkers(p, 0))
	}
	server, address := listen(t, []rpc.Method{method, note, urgent}, opts...)
	p := connect(t, address, true)
	p.send(callWith(t, 1, "blocked"))
	receive(t, "the only worker is taken", started)
	send := func(seq uint32, method, text string, pairs ...header.Pair) {
		p.send(headerCall(t, header.Outgoing{Flags: header.OutOfOrder, SequenceID: seq, Headers: pairs}, echoCall(method, int32(seq), text)))
	}
	for i, priority := range []int{4, 3, 0, 2} { // fbthrift's numbers
		send(uint32(10+i), "note", strconv.Itoa(priority), header.Pair{Key: "thrift_priority", Value: strconv.Itoa(priority)})
	}
	send(20, "urgent", "1")
	send(21, "note", "3 by default")
	send(22, "note", "3 for nonsense", header.Pair{Key: "thrift_priority", Value: "99"})
	eventually(t, "all wait", func() bool { return server.Stats().Waiting == 7 })
	close(release)
	for range 8 {
		p.headerReply()
	}
	if got, want := fmt.Sprint(order), "[0 1 2 3 3 by default 3 for nonsense 4]"; got != want {
		t.Errorf("ran %s, want %s", got, want)
	}
}

// Beside the call that finds the memory free, the favoured connection may have a large one. Small ones may run on any.
func TestMemoryOverAllConnectionsIsBounded(t *testing.T) {
	method, started, release := blocked()
	server, address := listen(t, []rpc.Method{method, echo}, rpc.MaxMemory(100))
	large := strings.Repeat("x", 100<<10)
	var peers []*peer
	for i := range int32(6) {
		p := connect(t, address, true)
		p.send(p.call("blocked", i, large))
		peers = append(peers, p)
		if i == 0 {
			receive(t, "the first call runs", started) // one is always taken
		}
	}
	small := connect(t, address, true)
	small.send(small.call("echo", 7, "beside them"))
	small.want(7, "beside them")
	eventually(t, "others wait", func() bool { return server.Stats().Paused >= 4 })
	time.Sleep(20 * time.Millisecond) // in which they would be taken
	if n := server.Stats().InFlight; n > 2 {
		t.Errorf("%d calls are in flight", n)
	}
	close(release)
	for i, p := range peers {
		p.want(int32(i), large)
	}
	eventually(t, "all memory is given back", func() bool { return server.Stats().Memory == 0 })
}

func TestContextsTellOfTheirCall(t *testing.T) {
	type seen struct {
		left     time.Duration
		deadline bool
		info     string
	}
	saw := make(chan seen, 1)
	look := raw("look", func(ctx context.Context, args, dst []byte) ([]byte, error) {
		info, _ := rpc.Info(ctx)
		deadline, ok := ctx.Deadline()
		saw <- seen{time.Until(deadline), ok, fmt.Sprint(info.Service(), ".", info.Method(), " ", info.Priority(), " ", info.Dialect())}
		return append(dst, args...), nil
	})
	_, address := listen(t, []rpc.Method{look}, rpc.TaskExpiry(0))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, opts := range dialects() {
		if _, err := invoke(ctx, dial(t, "tcp", address, opts...), "look", ""); err != nil {
			t.Fatal(err)
		}
		s := <-saw
		if headers := name == "TTHeader" || len(name) > 5 && name[:6] == "header"; s.deadline != headers || headers && (s.left > time.Minute || s.left < 30*time.Second) {
			t.Errorf("%s: %v left, %v", name, s.left, s.deadline)
		}
		if name == "TTHeader" && s.info != "S.look normal TTHeader" {
			t.Errorf("%s: %s", name, s.info)
		}
	}
	if _, ok := rpc.Info(t.Context()); ok {
		t.Error("a context of the test is one of a call")
	}
}

func TestDerivedContextsEndWithTheCall(t *testing.T) {
	ended := make(chan error, 3)
	derive := raw("derive", func(ctx context.Context, args, dst []byte) ([]byte, error) {
		child, cancel := context.WithTimeout(context.WithValue(ctx, t, 1), time.Hour)
		go func() { defer cancel(); <-child.Done(); ended <- child.Err() }()
		stopped := context.AfterFunc(ctx, func() { ended <- nil })
		if !stopped() {
			t.Error("a function that was stopped in time runs")
		}
		context.AfterFunc(ctx, func() { ended <- context.Cause(ctx) })
		return append(dst, args...), nil
	})
	_, address := listen(t, []rpc.Method{derive})
	if _, err := invoke(t.Context(), dial(t, "tcp", address), "derive", ""); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := receive(t, "a context ends", ended); err != context.Canceled {
			t.Errorf("ended by %v", err)
		}
	}
}

func TestInterceptorsSeeEveryForm(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	see := func(name string) rpc.ServerOption {
		return rpc.Intercept(func(ctx context.Context, call rpc.CallInfo) (context.Context, func(error), error) {
			if user, _ := call.Header("user"); user == "mallory" {
				return nil, nil, &rpc.ApplicationException{Type: 77, Message: "not you"}
			}
			return context.WithValue(ctx, t, name), func(err error) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, fmt.Sprint(name, " ", call.Method(), " ", err))
			}, nil
		})
	}
	_, address := listen(t, formsOf(), see("outer"), see("inner"))
	client := dial(t, "tcp", address, rpc.THeader(header.None))
	for _, m := range formsOf() {
		seen = nil
		if err := rpc.Call(t.Context(), client, m.Name, &textArgs{"abc"}, new(textResult)); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		if err := rpc.Call(t.Context(), client, m.Name, &textArgs{"fail"}, new(textResult)); err == nil {
			t.Errorf("%s does not fail", m.Name)
		}
		want := fmt.Sprintf("[inner %[1]s <nil> outer %[1]s <nil> inner %[1]s out of paper outer %[1]s out of paper]", m.Name)
		mu.Lock()
		if got := fmt.Sprint(seen); got != want {
			t.Errorf("saw %s, want %s", got, want)
		}
		mu.Unlock()
		var e *rpc.ApplicationException
		err := rpc.Call(rpc.WithHeader(t.Context(), "user", "mallory"), client, m.Name, &textArgs{"abc"}, new(textResult))
		if !errors.As(err, &e) || e.Type != 77 {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}
