package cluster_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/stream"
)

// This file tests streams over many addresses.

// word is the message of the tests' streams.
type word struct {
	Text string `frugal:"1,default,string"`
}

// chat answers each word with the server's name.
func (n *node) chat(ctx context.Context, s stream.BidiStreamingServer[word, word]) error {
	n.calls.Add(1)
	if h := n.handler.Load(); h != nil {
		if err := (*h)(ctx); err != nil {
			return err
		}
	}
	for {
		w, err := s.Recv(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Send(ctx, &word{Text: w.Text + " " + n.name}); err != nil {
			return err
		}
	}
}

// chatting is a stream that is open, with the name of its server.
type chatting struct {
	stream.BidiStreamingClient[word, word]
	server string
	cancel context.CancelFunc
}

// talk says a word and returns who has answered.
func talk(ctx context.Context, s stream.BidiStreamingClient[word, word]) (string, error) {
	if err := s.Send(ctx, &word{Text: "hello"}); err != nil {
		return "", err
	}
	w, err := s.Recv(ctx)
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(w.Text, "hello "), nil
}

// openChat opens a stream and waits for its first answer.
func openChat(t *testing.T, c rpc.Caller) chatting {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := rpc.OpenBidiStream[word, word](ctx, c, "S", "chat")
	if err != nil {
		t.Fatal(err)
	}
	server, err := talk(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	return chatting{s, server, cancel}
}

// end ends a stream regularly.
func (c chatting) end(t *testing.T) {
	t.Helper()
	if err := c.CloseSend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Recv(t.Context()); err != io.EOF {
		t.Errorf("the stream ended with %v", err)
	}
	c.cancel()
}

// statsOf returns what is known of a server.
func statsOf(c interface{ Stats() cluster.Stats }, name string) cluster.AddressStats {
	for _, a := range c.Stats().Addresses {
		if a.Address.Addr == name {
			return a
		}
	}
	return cluster.AddressStats{}
}

func TestAStreamCountsWhileItIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, three...)
		defer f.stop()
		c := f.client(cluster.Balance(cluster.LeastPending()))
		defer c.Close()
		warm(t, c)
		var open []chatting
		var servers []string
		for range 6 {
			s := openChat(t, c)
			open, servers = append(open, s), append(servers, s.server)
		}
		slices.Sort(servers)
		if want := []string{"a", "a", "b", "b", "c", "c"}; !slices.Equal(servers, want) {
			t.Errorf("streams are on %v", servers)
		}
		if a := statsOf(c, "a"); a.Pending != 2 || a.Streams != 2 || a.Attempts != 0 {
			t.Errorf("while they are open: %+v", a)
		}
		// Calls keep away from where streams run.
		for _, s := range open {
			if s.server == "b" {
				s.end(t)
			}
		}
		synctest.Wait()
		f.reset()
		for range 10 {
			if err := echo(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if n := f.counts()["b"]; n != 10 {
			t.Errorf("%d of 10 calls on the server without streams", n)
		}
		if b := statsOf(c, "b"); b.Pending != 0 || b.Streams != 0 || b.Attempts != 12 || b.Failed+b.Refused+b.Canceled != 0 {
			t.Errorf("when they have ended: %+v", b)
		}
		for _, s := range open {
			s.cancel()
		}
		synctest.Wait()
		if a := statsOf(c, "a"); a.Streams != 0 || a.Canceled != 2 || a.Failed != 0 {
			t.Errorf("when they were cancelled: %+v", a)
		}
	})
}

func TestAStreamThatWasNotSentIsOpenedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, three...)
		defer f.stop()
		var dials [3]atomic.Int32 // of a, b and c; the first is that of calls
		refused := errors.New("no more connections")
		var everywhere atomic.Bool
		c := f.client(cluster.Balance(cluster.RoundRobin()), cluster.NoEjections(), cluster.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
			if n := dials[address[0]-'a'].Add(1); n > 1 && (everywhere.Load() || address == "b") {
				return nil, refused
			}
			return f.dial(ctx, network, address)
		}))
		defer c.Close()
		warm(t, c)
		for range 9 {
			if s := openChat(t, c); s.server == "b" {
				t.Error("a stream on a server that takes none")
			} else {
				s.end(t)
			}
		}
		synctest.Wait()
		if b := statsOf(c, "b"); b.Failed == 0 || b.Streams != 0 || b.Pending != 0 {
			t.Errorf("%+v", b)
		}
		// And if there is no server left for it, the error has each attempt.
		f.node["a"].server.Shutdown(t.Context())
		f.node["c"].server.Shutdown(t.Context())
		everywhere.Store(true)
		d := f.client(cluster.Balance(cluster.RoundRobin()), cluster.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
			client, server := net.Pipe()
			if dials[address[0]-'a'].Add(1); dials[address[0]-'a'].Load() > 100 {
				return nil, refused
			}
			go io.Copy(io.Discard, server)
			return client, nil
		}))
		defer d.Close()
		warm(t, d)
		for i := range dials {
			dials[i].Store(100)
		}
		var failure *cluster.Error
		_, err := rpc.OpenBidiStream[word, word](t.Context(), d, "S", "chat")
		if !errors.As(err, &failure) || len(failure.Attempts) != 3 || failure.Sent() || !errors.Is(err, refused) {
			t.Errorf("%v", err)
		}
	})
}

func TestALostStreamCountsAgainstItsAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, three...)
		defer f.stop()
		c := f.client(cluster.Balance(cluster.RoundRobin()))
		defer c.Close()
		warm(t, c)
		var lost []chatting
		for range 15 {
			s := openChat(t, c)
			if s.server == "a" {
				lost = append(lost, s)
			}
		}
		f.node["a"].stop()
		for _, s := range lost {
			var e *stream.Error
			if _, err := s.Recv(t.Context()); !errors.As(err, &e) || e.Code != stream.Lost {
				t.Errorf("a stream on the server that is gone ended with %v", err)
			}
		}
		synctest.Wait()
		if a := statsOf(c, "a"); a.Failed != 5 || !a.Ejected || a.Streams != 0 {
			t.Errorf("%+v", a)
		}
	})
}

func TestHowItsUserEndsAStreamSaysNothingOfTheAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a")
		defer f.stop()
		c := f.client()
		defer c.Close()
		warm(t, c)
		// Answered, and over by its deadline.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s, err := rpc.OpenBidiStream[word, word](ctx, c, "S", "chat")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := talk(ctx, s); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		// Never answered.
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := rpc.OpenBidiStream[word, word](ctx, c, "S", "chat"); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		// Answered by an exception.
		f.node["a"].handle(fail(rpc.InternalError))
		s, err = rpc.OpenBidiStream[word, word](t.Context(), c, "S", "chat")
		if err != nil {
			t.Fatal(err)
		}
		var exception *rpc.ApplicationException
		if _, err := s.Recv(t.Context()); !errors.As(err, &exception) {
			t.Errorf("%v", err)
		}
		synctest.Wait()
		if a := statsOf(c, "a"); a.Attempts != 3 || a.Canceled != 1 || a.Failed != 1 {
			t.Errorf("%+v", a)
		}
	})
}

func TestARefusedStreamIsARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.node["a"] = &node{fleet: f, name: "a", opts: []rpc.ServerOption{rpc.Overloaded(func(rpc.CallInfo) error { return errors.New("no") })}}
		f.node["a"].start()
		defer f.stop()
		c := f.client()
		defer c.Close()
		warm(t, c)
		s, err := rpc.OpenBidiStream[word, word](t.Context(), c, "S", "chat")
		if err != nil {
			t.Fatal(err)
		}
		var exception *rpc.ApplicationException
		if _, err := s.Recv(t.Context()); !errors.As(err, &exception) || exception.Type != rpc.LoadShedding {
			t.Errorf("%v", err)
		}
		synctest.Wait()
		if a := statsOf(c, "a"); a.Refused != 1 || a.Failed != 0 {
			t.Errorf("%+v", a)
		}
	})
}

func TestStreamsOnALeavingServerFinishAndNewOnesGoElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		defer f.stop()
		c := f.client(cluster.Balance(cluster.LeastPending()))
		defer c.Close()
		warm(t, c)
		first, second := openChat(t, c), openChat(t, c)
		if first.server != "a" {
			first, second = second, first
		}
		left := f.node["a"]
		stopped := make(chan error, 1)
		go func() { stopped <- left.server.Shutdown(t.Context()) }()
		synctest.Wait()
		for range 3 {
			if s := openChat(t, c); s.server != "b" {
				t.Error("a new stream on the server that leaves")
			} else {
				s.end(t)
			}
			time.Sleep(time.Second)
			if _, err := talk(t.Context(), first); err != nil {
				t.Fatalf("the stream that was open: %v", err)
			}
		}
		select {
		case err := <-stopped:
			t.Fatalf("the server stopped before its stream, %v", err)
		default:
		}
		first.end(t)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		second.end(t)
		time.Sleep(time.Second) // in which the connection of the first one is closed
	})
}

func TestStreamsOnAnAddressThatIsNoMoreFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		defer f.stop()
		from := make(source)
		c := f.clientOf(from)
		defer c.Close()
		from <- addresses("a")
		warm(t, c)
		s := openChat(t, c)
		from <- addresses("b")
		synctest.Wait()
		if other := openChat(t, c); other.server != "b" {
			t.Errorf("a new stream on %s", other.server)
		}
		if _, err := talk(t.Context(), s); err != nil {
			t.Errorf("the stream that was open: %v", err)
		}
		s.end(t)
	})
}

func TestClosingEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // whose bubble says if a goroutine is left
		f := newFleet(t, "a", "b")
		defer f.stop()
		c := f.client()
		warm(t, c)
		s := openChat(t, c)
		c.Close()
		var e *stream.Error
		if _, err := s.Recv(t.Context()); !errors.As(err, &e) || !errors.Is(err, rpc.ErrClientClosed) {
			t.Errorf("the open stream ended with %v", err)
		}
		if _, err := rpc.OpenBidiStream[word, word](t.Context(), c, "S", "chat"); !errors.Is(err, rpc.ErrClientClosed) {
			t.Errorf("a stream of a closed client: %v", err)
		}
	})
}

func TestOpeningAStreamHasALimitAndTheStreamHasNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a")
		defer f.stop()
		c := f.client(cluster.Timeout(time.Second), cluster.WaitForAddress(), cluster.DialTimeout(time.Hour),
			cluster.Retries(cluster.Retry{AttemptTimeout: time.Second}))
		defer c.Close()
		warm(t, c)
		s := openChat(t, c)
		time.Sleep(time.Hour)
		if _, err := talk(t.Context(), s); err != nil {
			t.Errorf("the stream after an hour: %v", err)
		}
		s.end(t)
		f.node["a"].stop()
		f.node["a"].hush(true)
		synctest.Wait()
		began := time.Now()
		_, err := rpc.OpenBidiStream[word, word](t.Context(), c, "S", "chat")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestAnAddressOfAnotherDialectIsNotBlamedForStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		defer f.stop()
		c := f.clientOf(resolve.Static(resolve.Address{Addr: "a", Dialect: resolve.Framed}, resolve.Address{Addr: "b", Dialect: resolve.TTHeader}))
		defer c.Close()
		warm(t, c)
		for range 20 {
			if s := openChat(t, c); s.server != "b" {
				t.Errorf("a stream on %s", s.server)
			} else {
				s.end(t)
			}
		}
		synctest.Wait()
		if a := statsOf(c, "a"); a.Failed != 0 || a.Ejected {
			t.Errorf("%+v", a)
		}
	})
}

func TestAStreamTestsABreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a")
		defer f.stop()
		c := f.client(cluster.Retries(cluster.Retry{Attempts: 1}), cluster.Breakers(cluster.Breaker{Calls: 3, Pause: time.Second, Tests: 1}))
		defer c.Close()
		warm(t, c)
		f.node["a"].handle(fail(rpc.Timeout))
		for range 3 {
			if err := echo(t.Context(), c); err == nil {
				t.Fatal("no failure")
			}
		}
		if a := statsOf(c, "a"); a.Breaker != cluster.Open {
			t.Fatalf("the breaker is %v", a.Breaker)
		}
		time.Sleep(time.Second)
		// A stream on which nothing comes decides nothing, and does not keep the next one from testing.
		f.node["a"].handle(func(context.Context) error { return nil })
		quiet, err := rpc.OpenBidiStream[word, word](t.Context(), c, "S", "chat")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rpc.OpenBidiStream[word, word](t.Context(), c, "S", "chat"); !errors.Is(err, cluster.ErrUnavailable) {
			t.Errorf("beside the one that tests: %v", err)
		}
		time.Sleep(2 * time.Second)
		if a := statsOf(c, "a"); a.Breaker != cluster.HalfOpen {
			t.Errorf("the breaker is %v", a.Breaker)
		}
		s := openChat(t, c)
		synctest.Wait()
		if a := statsOf(c, "a"); a.Breaker != cluster.Closed {
			t.Errorf("after a stream that was answered the breaker is %v", a.Breaker)
		}
		s.end(t)
		if err := quiet.CloseSend(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestInterceptorsSeeAStreamFromItsOpeningToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a")
		defer f.stop()
		var info cluster.AttemptInfo
		var result *cluster.AttemptResult
		c := f.client(cluster.InterceptAttempts(func(_ context.Context, a cluster.AttemptInfo) (context.Context, func(cluster.AttemptResult)) {
			info = a
			return nil, func(r cluster.AttemptResult) { result = &r }
		}))
		defer c.Close()
		warm(t, c)
		s := openChat(t, c)
		time.Sleep(time.Minute)
		if synctest.Wait(); result != nil {
			t.Fatal("an attempt ended before its stream")
		}
		s.end(t)
		synctest.Wait()
		if !info.Stream || info.Service != "S" || info.Method != "chat" || result == nil {
			t.Fatalf("%+v, %+v", info, result)
		}
		sent, received := result.Stream.Counts()
		if result.Err != nil || result.Outcome != cluster.Succeeded || result.Duration != time.Minute || sent != 1 || received != 1 {
			t.Errorf("%+v, %d and %d messages", result, sent, received)
		}
	})
}
