package cluster_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file tests methods on messages over many addresses.

// onMessages are the methods on messages of a server: each answers with what it was sent and the server's name.
func (n *node) onMessages() []rpc.Method {
	begin := func(ctx context.Context) error {
		n.calls.Add(1)
		if h := n.handler.Load(); h != nil {
			return (*h)(ctx)
		}
		return nil
	}
	return []rpc.Method{
		{Name: "Echo", Message: func(ctx context.Context, in rpc.Message) (rpc.Message, error) {
			body := append([]byte(nil), in.Body...)
			if err := begin(ctx); err != nil {
				return rpc.Message{}, err
			}
			return rpc.Message{Type: in.Type, Body: append(append(body, ' '), n.name...)}, nil
		}},
		{Name: "Chat", MessageStream: func(ctx context.Context, s *rpc.MessageStream) error {
			if err := begin(ctx); err != nil {
				return err
			}
			for {
				var body []byte
				err := s.Recv(ctx, func(b []byte) error {
					body = append(body, b...)
					return nil
				})
				if err == io.EOF {
					return nil
				}
				if err == nil {
					err = s.Send(ctx, func(dst []byte) ([]byte, error) { return append(append(append(dst, body...), ' '), n.name...), nil })
				}
				if err != nil {
					return err
				}
			}
		}},
	}
}

// messages returns a client of methods on messages of all servers of the fleet.
func (f *fleet) messages(opts ...cluster.Option) *cluster.MessageClient {
	f.t.Helper()
	var set []resolve.Address
	for name := range f.node {
		set = append(set, resolve.Address{Addr: name})
	}
	c, err := cluster.NewMessages(resolve.Static(set...), append([]cluster.Option{cluster.Dialer(f.dial), cluster.WarmUp(0)}, opts...)...)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

const echoMessage = "/pkg.M/Echo"

// say calls Echo and returns who has answered.
func say(ctx context.Context, c rpc.MessageCaller, request []byte) (string, error) {
	var who string
	err := c.InvokeMessage(ctx, &rpc.MessageCall{
		Method: echoMessage, Request: rpc.Message{Type: transport.FlatBuffers, Body: request},
		ReadReply: func(reply rpc.Message, _ []byte) error {
			text, name, _ := strings.Cut(string(reply.Body), " ")
			if text != string(request) {
				return errors.New("the reply is " + string(reply.Body))
			}
			who = name
			return nil
		},
	})
	return who, err
}

func TestCallsOnMessagesGoToAllAddressesAndAreRepeatedWhereThatIsSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, three...)
		defer f.stop()
		c := f.messages(cluster.Balance(cluster.RoundRobin()), cluster.NoEjections(), cluster.NoBreakers(), cluster.Idempotent(echoMessage))
		defer c.Close()
		if err := c.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 30 {
			if _, err := say(t.Context(), c, []byte("hi")); err != nil {
				t.Fatal(err)
			}
		}
		for name, n := range f.counts() {
			if n != 10 {
				t.Errorf("%d calls on %s", n, name)
			}
		}
		// A server's own refusal, and a deadline that it missed.
		f.only("a", fail(rpc.LoadShedding))
		f.only("b", fail(rpc.Timeout))
		for range 10 {
			if who, err := say(t.Context(), c, []byte("hi")); err != nil || who != "c" {
				t.Errorf("%q, %v", who, err)
			}
		}
		if a, b := statsOf(c, "a"), statsOf(c, "b"); a.Refused == 0 || b.Failed == 0 {
			t.Errorf("a %+v, b %+v", a, b)
		}
		// The application's errors are answers.
		for _, n := range f.node {
			n.handle(func(context.Context) error { return &rpc.BizStatus{Code: 7, Message: "no"} })
		}
		var status *rpc.BizStatus
		var failure *cluster.Error
		_, err := say(t.Context(), c, []byte("hi"))
		if !errors.As(err, &status) || status.Code != 7 || !errors.As(err, &failure) || len(failure.Attempts) != 1 {
			t.Errorf("%v", err)
		}
	})
}

func TestLostCallsOnMessagesAreRepeatedIfTheyMayBe(t *testing.T) {
	for _, idempotent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, "a", "b")
			defer f.stop()
			c := f.messages(cluster.Balance(cluster.RoundRobin()))
			defer c.Close()
			if err := c.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.only("a", func(ctx context.Context) error {
				go f.node["a"].stop()
				<-ctx.Done()
				return ctx.Err()
			})
			ctx := t.Context()
			if idempotent {
				ctx = cluster.WithIdempotent(ctx)
			}
			failed := 0
			for range 4 {
				if _, err := say(ctx, c, []byte("hi")); err != nil {
					failed++
					var e *cluster.Error
					if !errors.As(err, &e) || len(e.Attempts) != 1 || e.Attempts[0].Address.Addr != "a" || !e.Sent() {
						t.Errorf("%v", err)
					}
				}
			}
			if want := map[bool]int{false: 1}[idempotent]; failed != want {
				t.Errorf("%d calls failed, want %d", failed, want)
			}
		})
	}
}

func TestAHedgedCallOnMessagesGivesItsRequestBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, three...)
		defer f.stop()
		c := f.messages(cluster.Balance(cluster.RoundRobin()), cluster.Idempotent(echoMessage), cluster.NoEjections(), cluster.NoBreakers(),
			cluster.Hedging(cluster.Hedge{After: time.Millisecond, Budget: cluster.Budget{Share: 1, PerSecond: 1000}}))
		defer c.Close()
		if err := c.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.node["a"].slow(time.Second)
		f.node["b"].slow(2 * time.Millisecond) // so that the second attempt often begins just as the first one ends
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				request := []byte("request 0")
				request = append(request[:0], "request-"+string(rune('0'+i))...)
				for range 20 {
					if _, err := say(t.Context(), c, request); err != nil {
						t.Error(err)
					}
					request[0]++ // it is the caller's again
				}
			})
		}
		wg.Wait()
		if s := c.Stats(); s.Hedges == 0 {
			t.Error("nothing was hedged")
		}
	})
}

func TestStreamsOfMessagesAreBalancedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, three...)
		defer f.stop()
		c := f.messages(cluster.Balance(cluster.LeastPending()))
		defer c.Close()
		if err := c.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		servers := map[string]int{}
		var open []*rpc.MessageStream
		for range 6 {
			s, err := c.OpenMessageStream(t.Context(), &rpc.MessageStreamCall{Method: "/pkg.M/Chat", Type: transport.FlatBuffers})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Send(t.Context(), func(dst []byte) ([]byte, error) { return append(dst, "hi"...), nil }); err != nil {
				t.Fatal(err)
			}
			if err := s.Recv(t.Context(), func(b []byte) error { servers[string(b)]++; return nil }); err != nil {
				t.Fatal(err)
			}
			open = append(open, s)
		}
		if servers["hi a"] != 2 || servers["hi b"] != 2 || servers["hi c"] != 2 {
			t.Errorf("streams are on %v", servers)
		}
		if a := statsOf(c, "a"); a.Streams != 2 || a.Pending != 2 || a.Connections != 1 {
			t.Errorf("%+v", a)
		}
		for _, s := range open {
			if err := s.CloseSend(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Recv(t.Context(), func([]byte) error { return nil }); err != io.EOF {
				t.Errorf("%v", err)
			}
		}
		synctest.Wait()
		if a := statsOf(c, "a"); a.Streams != 0 || a.Pending != 0 || a.Attempts != 2 || a.Failed+a.Canceled+a.Refused != 0 {
			t.Errorf("%+v", a)
		}
	})
}

func TestAnAddressOfStructsIsNoneOfMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a")
		defer f.stop()
		for dialect, structs := range map[resolve.Dialect]bool{resolve.TTHeader: true, resolve.TRPC: false, "": true} {
			set := resolve.Static(resolve.Address{Addr: "a", Dialect: dialect})
			c, err := cluster.New(set, cluster.Dialer(f.dial))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Connect(t.Context()); (err == nil) != structs {
				t.Errorf("%q on structs: %v", dialect, err)
			}
			c.Close()
			m, err := cluster.NewMessages(set, cluster.Dialer(f.dial))
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Connect(t.Context()); (err == nil) != (dialect != resolve.TTHeader) {
				t.Errorf("%q on messages: %v", dialect, err)
			}
			m.Close()
		}
	})
}

func TestClosingEndsStreamsAndCallsOnMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // whose bubble says if a goroutine is left
		f := newFleet(t, "a")
		defer f.stop()
		c := f.messages()
		if err := c.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := c.OpenMessageStream(t.Context(), &rpc.MessageStreamCall{Method: "/pkg.M/Chat", Type: transport.FlatBuffers})
		if err != nil {
			t.Fatal(err)
		}
		f.node["a"].slow(time.Hour)
		called := make(chan error, 1)
		go func() {
			_, err := say(t.Context(), c, []byte("hi"))
			called <- err
		}()
		time.Sleep(time.Second)
		c.Close()
		if err := <-called; !errors.Is(err, rpc.ErrClientClosed) {
			t.Errorf("the call ended with %v", err)
		}
		if err := s.Recv(t.Context(), func([]byte) error { return nil }); !errors.Is(err, rpc.ErrClientClosed) {
			t.Errorf("the stream ended with %v", err)
		}
	})
}
