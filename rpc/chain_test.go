package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file tests what a chain of services keeps of a call, whichever dialects
// its hops speak. Framed and unframed messages have no headers: behind such a hop a
// service knows nothing of the call's deadline, priority and metadata, and starts anew with its
// own limits. The caller in front of that hop still leaves at its deadline.

// chainExpiry is the limit of a server for calls whose client names none.
const chainExpiry = time.Hour

// arrival is what a service of the chain sees of its call.
type arrival struct {
	left                time.Duration
	priority            rpc.Priority
	tenant, trace, once string
}

// chain is three services, the first of which a client calls. Each answers
// what it has seen, and then what the one behind it has.
type chain struct {
	t       *testing.T
	clients [3]map[string]*rpc.Client // to each service, by dialect
	seen    chan arrival
}

// behind lets a server of its own serve methods, and returns its address. listen is
// for the one server of a test: it waits for all goroutines that were started since.
func behind(t *testing.T, methods []rpc.Method, opts ...rpc.ServerOption) string {
	t.Helper()
	server := newServer(opts...)
	if err := server.Register(&rpc.Service{Name: "S", Methods: methods}); err != nil {
		t.Fatal(err)
	}
	return serveOn(t, server, "tcp")
}

// pause is the least time that a service takes, so that its deadline is clearly behind that of the next.
const pause = 3 * time.Millisecond

func newChain(t *testing.T) *chain {
	noLeaks(t)
	c := &chain{t: t, seen: make(chan arrival, 3)}
	for i := 2; i >= 0; i-- {
		address := behind(t, []rpc.Method{raw("pass", c.pass(i))}, rpc.TaskExpiry(chainExpiry))
		c.clients[i] = map[string]*rpc.Client{
			"framed":   dial(t, "tcp", address),
			"compact":  dial(t, "tcp", address, rpc.Compact(compact.Apache)),
			"THeader":  dial(t, "tcp", address, rpc.THeader(header.None)),
			"TTHeader": dial(t, "tcp", address, rpc.TTHeader()),
			"HTTP":     dial(t, "tcp", address, rpc.HTTP("http://"+address+"/")),
		}
	}
	return c
}

// pass returns the handler of service i, whose argument are the dialects of the hops behind it.
func (c *chain) pass(i int) func(ctx context.Context, args, dst []byte) ([]byte, error) {
	return func(ctx context.Context, args, dst []byte) ([]byte, error) {
		info, _ := rpc.Info(ctx)
		deadline, _ := ctx.Deadline()
		a := arrival{left: time.Until(deadline), priority: info.Priority()}
		a.tenant, _ = info.Persistent("tenant")
		a.trace, _ = info.Persistent("TRACE_ID")
		a.once, _ = info.Header("once")
		c.seen <- a
		time.Sleep(pause)
		dialect, rest, more := strings.Cut(textOf(args), " ")
		if dialect == "" {
			return append(dst, args...), nil
		}
		if !more {
			rest = ""
		}
		_, err := invoke(ctx, c.clients[i+1][dialect], "pass", rest)
		return append(dst, args...), err
	}
}

func TestAChainOfServicesKeepsWhatItsDialectsCarry(t *testing.T) {
	names := []string{"framed", "THeader", "TTHeader", "HTTP"}
	c := newChain(t)
	for _, first := range names {
		for _, second := range names {
			for _, third := range names {
				c.check(first, second, third)
			}
		}
	}
	c.check("compact", "THeader", "compact")
}

// check makes a call along three hops and looks at what each service has seen.
func (c *chain) check(hops ...string) {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	ctx = rpc.WithPersistent(rpc.WithHeader(ctx, "once", "1"), "tenant", "acme")
	ctx = rpc.WithCallPriority(rpc.WithPersistent(ctx, "TRACE_ID", "abc"), rpc.Important)
	if _, err := invoke(ctx, c.clients[0][hops[0]], "pass", strings.Join(hops[1:], " ")); err != nil {
		c.t.Errorf("%v: %v", hops, err)
		return
	}
	carried, left := true, patience+pause // what the client had, but that the first hop takes no time
	for i, hop := range hops {
		a := receive(c.t, "a service is called", c.seen)
		known := carried && hop != "framed" && hop != "compact"
		want := arrival{left: a.left, priority: rpc.Normal}
		if known {
			want = arrival{left: a.left, priority: rpc.Important, tenant: "acme", trace: "abc"}
			if i == 0 {
				want.once = "1"
			}
		}
		if a != want {
			c.t.Errorf("%v: service %d has %+v, want %+v", hops, i+1, a, want)
		}
		switch {
		case hop == "framed" || hop == "compact": // the service's own limit
			if a.left < chainExpiry/2 {
				c.t.Errorf("%v: service %d has %v left", hops, i+1, a.left)
			}
		case a.left <= 0 || a.left >= left: // what the service before has, but for the time that it took
			c.t.Errorf("%v: service %d has %v left, the one before it %v", hops, i+1, a.left, left)
		}
		carried, left = known, a.left
	}
}

func TestACallThatIsGivenUpEndsTheCallsBehindIt(t *testing.T) {
	noLeaks(t)
	for _, name := range []string{"THeader", "TTHeader", "HTTP"} {
		running, ended := make(chan struct{}, 100), make(chan error, 100)
		wait := raw("wait", func(ctx context.Context, _, _ []byte) ([]byte, error) {
			running <- struct{}{}
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		})
		last := behind(t, []rpc.Method{wait})
		onward := dial(t, "tcp", last, headerDialects(last)[name]...)
		first := behind(t, []rpc.Method{raw("pass", func(ctx context.Context, _, dst []byte) ([]byte, error) {
			_, err := invoke(ctx, onward, "wait", "")
			return dst, err
		})})
		client := dial(t, "tcp", first, rpc.TTHeader())
		inTime(t, "the call reaches the last service", func(limit time.Duration) bool {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			if _, err := invoke(ctx, client, "pass", ""); err == nil {
				t.Errorf("%s: no error", name)
			}
			return len(running) > 0
		})
		if err := receive(t, "the last service is told", ended); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPrioritiesComeByEveryHeader(t *testing.T) {
	_, address := listen(t, []rpc.Method{raw("priority", func(ctx context.Context, _, dst []byte) ([]byte, error) {
		info, _ := rpc.Info(ctx)
		return append(dst, textStruct(strconv.Itoa(int(info.Priority())))...), nil
	})})
	for name, opts := range headerDialects(address) {
		client := dial(t, "tcp", address, opts...)
		for p := rpc.HighImportant; p <= rpc.BestEffort; p++ {
			got, err := invoke(rpc.WithCallPriority(t.Context(), p), client, "priority", "")
			if err != nil || got != fmt.Sprint(int(p)) {
				t.Errorf("%s: %s, %v, want %d", name, got, err, p)
			}
		}
		if got, err := invoke(rpc.WithCallPriority(t.Context(), 99), client, "priority", ""); err != nil || got != fmt.Sprint(int(rpc.Normal)) {
			t.Errorf("%s: out of range: %s, %v", name, got, err)
		}
	}
}

func TestDetachedWorkKeepsMetadata(t *testing.T) {
	noLeaks(t)
	last := behind(t, []rpc.Method{describe()})
	onward := dial(t, "tcp", last, rpc.THeader(header.None))
	answered := make(chan struct{})
	described := make(chan string, 1)
	first := behind(t, []rpc.Method{raw("later", func(ctx context.Context, args, dst []byte) ([]byte, error) {
		later := rpc.Detach(ctx)
		go func() {
			<-answered
			text, err := invoke(later, onward, "describe", "")
			described <- fmt.Sprint(text, err, ctx.Err())
		}()
		return append(dst, args...), nil
	})})
	ctx := rpc.WithCallPriority(rpc.WithPersistent(t.Context(), "tenant", "acme"), rpc.High)
	if _, err := invoke(ctx, dial(t, "tcp", first, rpc.TTHeader()), "later", ""); err != nil {
		t.Fatal(err)
	}
	close(answered)
	want := "RPC_PERSIST_tenant=acme thrift_priority=1 user: tenant:acme" + fmt.Sprint(error(nil), context.Canceled)
	if got := receive(t, "the work is done", described); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPersistentMetadataStandsOnceWhateverItsSpelling(t *testing.T) {
	noLeaks(t)
	last := behind(t, []rpc.Method{describe()})
	onward := dial(t, "tcp", last, rpc.THeader(header.None))
	first := behind(t, []rpc.Method{raw("pass", func(ctx context.Context, _, dst []byte) ([]byte, error) {
		text, err := invoke(rpc.WithPersistent(ctx, "tenant", "new"), onward, "describe", "")
		return append(dst, textStruct(text)...), err
	})})
	client := dial(t, "tcp", first, rpc.HTTP("http://"+first+"/"))
	got, err := invoke(rpc.WithPersistent(t.Context(), "tenant", "old"), client, "pass", "")
	if want := "RPC_PERSIST_tenant=new user: tenant:new"; err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

func TestInterceptorsLearnOfDeclaredExceptions(t *testing.T) {
	type outcome struct {
		method string
		field  int16
		ok     bool
		err    error
	}
	ended := make(chan outcome, 1)
	result := func(field byte) []byte { return []byte{12, 0, field, 0, 0} }
	plain := func(name string, field byte) rpc.Method {
		return raw(name, func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, result(field)...), nil })
	}
	views := rpc.Method{Name: "views", Callback: func(_ []byte, r rpc.Responder) { r.ReplyViews(result(3)[:3], result(3)[3:]) }}
	_, address := listen(t, []rpc.Method{plain("good", 0), plain("bad", 1), views}, rpc.Intercept(
		func(ctx context.Context, call rpc.CallInfo) (context.Context, func(error), error) {
			return nil, func(err error) {
				field, ok := call.Declared()
				ended <- outcome{call.Method(), field, ok, err}
			}, nil
		}))
	for name, opts := range dialects() {
		client := dial(t, "tcp", address, opts...)
		for _, want := range []outcome{{"good", 0, false, nil}, {"bad", 1, true, nil}, {"views", 3, true, nil}} {
			if err := client.Invoke(t.Context(), &rpc.Invocation{Method: want.method}); err != nil {
				t.Fatal(err)
			}
			if got := receive(t, "the call ends", ended); got != want {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
	}
}

func TestCallbacksGetTheContextOfInterceptors(t *testing.T) {
	type key struct{}
	got := make(chan any, 1)
	method := rpc.Method{Name: "m", Callback: func(_ []byte, r rpc.Responder) {
		got <- r.Context().Value(key{})
		r.Done()
	}}
	_, address := listen(t, []rpc.Method{method}, rpc.Intercept(
		func(ctx context.Context, _ rpc.CallInfo) (context.Context, func(error), error) {
			return context.WithValue(ctx, key{}, "mine"), nil, nil
		}))
	if _, err := invoke(t.Context(), dial(t, "tcp", address), "m", ""); err == nil {
		t.Log("an empty struct") // which invoke takes for no text
	}
	if v := receive(t, "the handler has run", got); v != "mine" {
		t.Errorf("%v", v)
	}
}

func TestUnknownMethodsAreToldFromKnownOnes(t *testing.T) {
	known := make(chan bool, 1)
	note := func(ctx context.Context, args, dst []byte) ([]byte, error) {
		info, _ := rpc.Info(ctx)
		known <- info.Known()
		return append(dst, args...), nil
	}
	server, address := listen(t, []rpc.Method{raw("m", note)})
	if err := server.Register(&rpc.Service{Name: "any", Unknown: func(string, bool) *rpc.Method { m := raw("", note); return &m }}); err != nil {
		t.Fatal(err)
	}
	client := dial(t, "tcp", address)
	for method, want := range map[string]bool{"m": true, "other": false} {
		if _, err := invoke(t.Context(), client, method, ""); err != nil || receive(t, "it runs", known) != want {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func TestAClientCountsWhatItHolds(t *testing.T) {
	method, started, release := blocked()
	server, address := listen(t, []rpc.Method{method})
	client := dial(t, "tcp", address)
	ended := make(chan error, 1)
	go func() {
		_, err := invoke(t.Context(), client, "blocked", "")
		ended <- err
	}()
	receive(t, "the call runs", started)
	if got := client.Stats(); got != (rpc.ClientStats{Connections: 1, Pending: 1}) || server.Stopping() {
		t.Errorf("%+v", got)
	}
	close(release)
	if err := receive(t, "the call ends", ended); err != nil || client.Stats().Pending != 0 {
		t.Errorf("%v, %+v", err, client.Stats())
	}
	client.Close()
	eventually(t, "the connection is gone", func() bool { return client.Stats().Connections == 0 })
	server.Close()
	if !server.Stopping() {
		t.Error("the server does not say that it stops")
	}
}
