package rpc_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file tests clients, against a server and against peers that misbehave.

// invoke calls a method with {1: text} and returns the text of the reply.
func invoke(ctx context.Context, c rpc.Caller, name, text string) (string, error) {
	var got string
	err := c.Invoke(ctx, &rpc.Invocation{
		Method:     name,
		AppendArgs: func(dst []byte) ([]byte, error) { return append(dst, textStruct(text)...), nil },
		ReadResult: func(b []byte) error { got = textOf(b); return nil },
	})
	return got, err
}

// wantError checks the stage of an *rpc.Error and that it is caused by target.
func wantError(t *testing.T, err error, stage rpc.Stage, sent bool, target error) {
	t.Helper()
	var e *rpc.Error
	if !errors.As(err, &e) || e.Stage != stage || e.Sent != sent {
		t.Errorf("%v, want an error of stage %v, sent %v", err, stage, sent)
	}
	if target != nil && !errors.Is(err, target) {
		t.Errorf("%v is not a %v", err, target)
	}
}

func TestManyGoroutinesShareAClient(t *testing.T) {
	noLeaks(t)
	server := newServer()
	if err := server.Register(&rpc.Service{Name: "S", Methods: []rpc.Method{echo}}); err != nil {
		t.Fatal(err)
	}
	for _, network := range []string{"tcp", "unix"} {
		address := serveOn(t, server, network)
		for name, opts := range map[string][]rpc.ClientOption{"framed": nil, "unframed": {rpc.Unframed()}} {
			t.Run(network+" "+name, func(t *testing.T) {
				client := dial(t, network, address, opts...)
				var all sync.WaitGroup
				for g := range 16 {
					all.Go(func() {
						for i := range 100 {
							want := strings.Repeat(fmt.Sprint(g, ":", i), 1+i*i%500)
							if got, err := invoke(t.Context(), client, "echo", want); err != nil || got != want {
								t.Errorf("got %.40q, %v, want %.40q", got, err, want)
								return
							}
						}
					})
				}
				all.Wait()
			})
		}
	}
}

func TestAnExceptionOfTheServerIsTheErrorOfTheCall(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	_, err := invoke(t.Context(), dial(t, "tcp", address), "nothing", "")
	var e *rpc.ApplicationException
	if !errors.As(err, &e) || e.Type != rpc.UnknownMethod || e.Message != `no method "nothing" here` {
		t.Errorf("got %v", err)
	}
	if err.Error() != `unknown method: no method "nothing" here` {
		t.Errorf("it reads %q", err)
	}
}

func TestAOnewayCallReturnsOnceItIsSent(t *testing.T) {
	ran := make(chan string, 1)
	note := rpc.Oneway("note", func(_ context.Context, args *stockArgs) error {
		ran <- args.Title
		return nil
	})
	_, address := listen(t, []rpc.Method{note})
	client := dial(t, "tcp", address)
	if err := rpc.Send(t.Context(), client, "note", &stockArgs{Title: "Emma"}); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, "the method runs", ran); got != "Emma" {
		t.Errorf("got %q", got)
	}
}

func TestACallThatIsGivenUpLeavesTheOthersAlone(t *testing.T) {
	method, started, release := blocked()
	_, address := listen(t, []rpc.Method{method})
	client := dial(t, "tcp", address)
	var all sync.WaitGroup
	all.Go(func() {
		if got, err := invoke(t.Context(), client, "blocked", "stays"); err != nil || got != "stays" {
			t.Errorf("the other call: %q, %v", got, err)
		}
	})
	receive(t, "the other call runs", started)
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() {
		_, err := invoke(ctx, client, "blocked", "goes")
		given <- err
	}()
	receive(t, "the call runs", started)
	cancel()
	wantError(t, receive(t, "the call is given up", given), rpc.StageWait, true, context.Canceled)
	all.Go(func() {
		if got, err := invoke(t.Context(), client, "blocked", "third"); err != nil || got != "third" {
			t.Errorf("the third call: %q, %v", got, err)
		}
	})
	receive(t, "the third call runs", started)
	close(release)
	all.Wait()
}

func TestGivingUpTheOnlyCallReachesTheHandler(t *testing.T) {
	started, ended := make(chan struct{}), make(chan error, 1)
	wait := raw("wait", func(ctx context.Context, _, dst []byte) ([]byte, error) {
		started <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return dst, ctx.Err()
	})
	_, address := listen(t, []rpc.Method{wait, echo})
	client := dial(t, "tcp", address)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	_, err := invoke(ctx, client, "wait", "")
	wantError(t, err, rpc.StageWait, true, context.Canceled)
	receive(t, "the handler's context ends", ended)
	if got, err := invoke(t.Context(), client, "echo", "again"); err != nil || got != "again" {
		t.Errorf("the next call: %q, %v", got, err)
	}
}

// sentInTime makes calls with more and more time, until one has been sent before its time is over.
func sentInTime(t *testing.T, call func(time.Duration) error) (err error) {
	t.Helper()
	inTime(t, "a call is sent", func(limit time.Duration) bool {
		err = call(limit)
		var e *rpc.Error
		return !errors.As(err, &e) || e.Sent
	})
	return err
}

func TestDeadlinesAreKept(t *testing.T) {
	method, _, release := blocked()
	_, address := listen(t, []rpc.Method{method}, rpc.Workers(16)) // the handlers of calls that are given up stay
	defer close(release)
	client := dial(t, "tcp", address)
	err := sentInTime(t, func(d time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		_, err := invoke(ctx, client, "blocked", "")
		return err
	})
	wantError(t, err, rpc.StageWait, true, context.DeadlineExceeded)

	err = sentInTime(t, func(d time.Duration) error {
		_, err := invoke(t.Context(), dial(t, "tcp", address, rpc.CallTimeout(d)), "blocked", "")
		return err
	})
	wantError(t, err, rpc.StageWait, true, context.DeadlineExceeded)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = invoke(ended, dial(t, "tcp", address), "blocked", "")
	wantError(t, err, rpc.StageWait, false, context.Canceled)
}

func TestTheNextCallReconnects(t *testing.T) {
	server, address := listen(t, []rpc.Method{echo})
	client := dial(t, "tcp", address)
	if _, err := invoke(t.Context(), client, "echo", "one"); err != nil {
		t.Fatal(err)
	}
	server.Close()
	eventually(t, "the client cannot connect", func() bool {
		_, err := invoke(t.Context(), client, "echo", "two")
		var e *rpc.Error
		return errors.As(err, &e) && e.Stage == rpc.StageDial && !e.Sent
	})
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("the port was taken meanwhile: %v", err)
	}
	again := newServer()
	if err := again.Register(&rpc.Service{Methods: []rpc.Method{echo}}); err != nil {
		t.Fatal(err)
	}
	go again.Serve(l)
	defer again.Close()
	if got, err := invoke(t.Context(), client, "echo", "three"); err != nil || got != "three" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestDialFailsWithTheReason(t *testing.T) {
	_, err := rpc.Dial(t.Context(), "unix", "/nonexistent/socket")
	wantError(t, err, rpc.StageDial, false, nil)
	stuck := rpc.Dialer(func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, errors.New("no luck")
	})
	_, err = rpc.Dial(t.Context(), "tcp", "", stuck, rpc.DialTimeout(time.Millisecond))
	wantError(t, err, rpc.StageDial, false, context.DeadlineExceeded)
}

func TestAClosedClientFailsItsCalls(t *testing.T) {
	method, started, release := blocked()
	defer close(release)
	_, address := listen(t, []rpc.Method{method})
	client := dial(t, "tcp", address)
	go func() {
		<-started
		client.Close()
	}()
	_, err := invoke(t.Context(), client, "blocked", "")
	wantError(t, err, rpc.StageRead, true, rpc.ErrClientClosed)
	_, err = invoke(t.Context(), client, "blocked", "")
	wantError(t, err, rpc.StageDial, false, rpc.ErrClientClosed)
}

func TestRequestsThatCannotBeSentFailBeforeTheNetwork(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	client := dial(t, "tcp", address, rpc.MaxFrameSize(100))
	_, err := invoke(t.Context(), client, "echo", strings.Repeat("x", 100))
	wantError(t, err, rpc.StageEncode, false, nil)
	var fault *diag.Fault
	if !errors.As(err, &fault) || fault.Code != diag.SizeLimit {
		t.Errorf("got %v", err)
	}
	broken := errors.New("broken")
	for _, f := range []func([]byte) ([]byte, error){
		func([]byte) ([]byte, error) { return nil, broken },
		func([]byte) ([]byte, error) { return nil, nil },
	} {
		err = client.Invoke(t.Context(), &rpc.Invocation{Method: "echo", AppendArgs: f})
		wantError(t, err, rpc.StageEncode, false, nil)
	}
	type notAStruct int
	err = rpc.Call(t.Context(), client, "echo", new(notAStruct), new(stockResult))
	wantError(t, err, rpc.StageEncode, false, nil)
}

func TestAResultThatCannotBeDecodedSpoilsOneCallOnly(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	client := dial(t, "tcp", address)
	broken := errors.New("broken")
	err := client.Invoke(t.Context(), &rpc.Invocation{Method: "echo", ReadResult: func([]byte) error { return broken }})
	wantError(t, err, rpc.StageDecode, true, broken)
	if got, err := invoke(t.Context(), client, "echo", "next"); err != nil || got != "next" {
		t.Errorf("the next call: %q, %v", got, err)
	}
	if err := client.Invoke(t.Context(), &rpc.Invocation{Method: "echo"}); err != nil {
		t.Errorf("a call without arguments and result: %v", err)
	}
}

// script is a server that reads framed requests and lets a function answer
// each with bytes; nil closes the connection.
func script(t *testing.T, answer func(n int, m thriftwire.Message) []byte) string {
	t.Helper()
	noLeaks(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				for n := 0; ; n++ {
					var size [4]byte
					if _, err := io.ReadFull(c, size[:]); err != nil {
						return
					}
					b := make([]byte, binary.BigEndian.Uint32(size[:]))
					if _, err := io.ReadFull(c, b); err != nil {
						return
					}
					m, _ := thriftwire.ConsumeMessage(b)
					b = answer(n, m)
					if b == nil {
						return
					}
					c.Write(b)
				}
			})
		}
	})
	return l.Addr().String()
}

func TestRepliesAreMatchedInAnyOrder(t *testing.T) {
	framed := &peer{framed: true}
	var held []byte
	address := script(t, func(n int, m thriftwire.Message) []byte {
		held = append(framed.message(thriftwire.Reply, string(m.Name), m.SequenceID, textStruct(string(m.Name))), held...)
		if n < 2 {
			return []byte{}
		}
		return held
	})
	client := dial(t, "tcp", address)
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		all.Go(func() {
			if got, err := invoke(t.Context(), client, name, ""); err != nil || got != name {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		})
	}
	all.Wait()
}

func TestAReplyThatFitsNoCallEndsTheConnection(t *testing.T) {
	framed := &peer{framed: true}
	for name, c := range map[string]struct {
		answer func(m thriftwire.Message) []byte
		code   int32 // of an ApplicationException, else -1
	}{
		"another sequence id": {func(m thriftwire.Message) []byte {
			return framed.message(thriftwire.Reply, "m", m.SequenceID+1, textStruct(""))
		}, rpc.BadSequenceID},
		"another name": {func(m thriftwire.Message) []byte {
			return framed.message(thriftwire.Reply, "n", m.SequenceID, textStruct(""))
		}, rpc.WrongMethodName},
		"a call": {func(m thriftwire.Message) []byte {
			return framed.message(thriftwire.Call, "m", m.SequenceID, textStruct(""))
		}, rpc.InvalidMessageType},
		"no message":      {func(thriftwire.Message) []byte { return []byte("\x00\x00\x00\x04abcd") }, -1},
		"negative length": {func(thriftwire.Message) []byte { return []byte("\xff\xff\xff\xff") }, -1},
		"huge length":     {func(thriftwire.Message) []byte { return []byte("\x7f\xff\xff\xff") }, -1},
		"nothing":         {func(thriftwire.Message) []byte { return nil }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			address := script(t, func(n int, m thriftwire.Message) []byte {
				if string(m.Name) == "good" {
					return framed.message(thriftwire.Reply, "good", m.SequenceID, textStruct("good"))
				}
				return c.answer(m)
			})
			client := dial(t, "tcp", address)
			_, err := invoke(t.Context(), client, "m", "")
			wantError(t, err, rpc.StageRead, true, nil)
			var e *rpc.ApplicationException
			if errors.As(err, &e) != (c.code >= 0) || (e != nil && e.Type != c.code) {
				t.Errorf("got %v, want type %d", err, c.code)
			}
			if got, err := invoke(t.Context(), client, "good", ""); err != nil || got != "good" {
				t.Errorf("the next call: %q, %v", got, err)
			}
		})
	}
}

func TestAServerOfAnotherDialectIsNamed(t *testing.T) {
	for want, reply := range map[string]string{
		"speaks HTTP, not framed binary":            "HTTP/1.1 400 Bad Request\r\n\r\n",
		"speaks unframed binary, not framed binary": "\x80\x01\x00\x02\x00\x00\x00\x01m\x00\x00\x00\x01\x00",
		"speaks framed compact, not framed binary":  "\x00\x00\x00\x06\x82\x41\x01\x01m\x00",
	} {
		address := script(t, func(int, thriftwire.Message) []byte { return []byte(reply) })
		_, err := invoke(t.Context(), dial(t, "tcp", address), "m", "")
		wantError(t, err, rpc.StageRead, true, nil)
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want: %s", err, want)
		}
	}
}

func TestExceptionsAreReadLiberally(t *testing.T) {
	framed := &peer{framed: true}
	for name, c := range map[string]struct{ body, want string }{
		"empty":          {"\x00", "unknown error"},
		"no message":     {"\x08\x00\x02\x00\x00\x00\x06\x00", "internal error"},
		"unknown fields": {"\x0c\x00\x09\x02\x00\x01\x01\x00\x0b\x00\x01\x00\x00\x00\x01x\x00", "unknown error: x"},
		"unknown type":   {"\x08\x00\x02\xff\xff\xff\xff\x00", "exception type -1"},
		"cut off":        {"\x0b\x00\x01\x00\x00\x00\x05x", "rpc: decode m: thriftwire: unexpected EOF"},
	} {
		address := script(t, func(_ int, m thriftwire.Message) []byte {
			return framed.message(thriftwire.Exception, "", m.SequenceID, []byte(c.body))
		})
		_, err := invoke(t.Context(), dial(t, "tcp", address), "m", "")
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestASilentServerIsNotAskedAgainOnTheSameConnection(t *testing.T) {
	framed := &peer{framed: true}
	asked, held := make(chan struct{}, 100), make(chan struct{})
	address := script(t, func(n int, m thriftwire.Message) []byte {
		if string(m.Name) == "silent" {
			asked <- struct{}{}
			<-held
			return nil
		}
		return framed.message(thriftwire.Reply, string(m.Name), m.SequenceID, textStruct("here"))
	})
	client := dial(t, "tcp", address)
	var all sync.WaitGroup
	all.Go(func() { // keeps the first connection in use
		_, err := invoke(t.Context(), client, "silent", "")
		wantError(t, err, rpc.StageRead, true, nil)
	})
	receive(t, "the call that stays is sent", asked)
	err := sentInTime(t, func(d time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		_, err := invoke(ctx, client, "silent", "")
		return err
	})
	wantError(t, err, rpc.StageWait, true, context.DeadlineExceeded)
	if got, err := invoke(t.Context(), client, "hello", ""); err != nil || got != "here" {
		t.Errorf("the next call: %q, %v", got, err)
	}
	close(held)
	all.Wait()
}

// Apache's servers answer oneway calls of methods that they do not know.
func TestAnAnswerToAOnewayCallHarmsNoOther(t *testing.T) {
	framed := &peer{framed: true}
	var conns atomic.Int32
	address := script(t, func(n int, m thriftwire.Message) []byte {
		if n == 0 {
			conns.Add(1)
		}
		if string(m.Name) == "unknown" {
			return framed.message(thriftwire.Exception, string(m.Name), m.SequenceID, textStruct("unknown method"))
		}
		return framed.message(thriftwire.Reply, string(m.Name), m.SequenceID, textStruct("here"))
	})
	client := dial(t, "tcp", address)
	for range 1000 {
		if err := client.Invoke(t.Context(), &rpc.Invocation{Method: "unknown", Oneway: true}); err != nil {
			t.Fatal(err)
		}
		if got, err := invoke(t.Context(), client, "hello", ""); err != nil || got != "here" {
			t.Fatalf("the next call: %q, %v", got, err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestCallsThatWaitAreBounded(t *testing.T) {
	method, started, release := blocked()
	_, address := listen(t, []rpc.Method{method})
	client := dial(t, "tcp", address, rpc.MaxPending(1))
	var all sync.WaitGroup
	all.Go(func() { invoke(t.Context(), client, "blocked", "") })
	receive(t, "the first call runs", started)
	_, err := invoke(t.Context(), client, "blocked", "")
	wantError(t, err, rpc.StageQueue, false, rpc.ErrTooManyCalls)
	close(release)
	all.Wait()
}

// A server that stops reading must not hold callers beyond their contexts.
func TestAServerThatDoesNotReadHoldsNobody(t *testing.T) {
	noLeaks(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client := dial(t, "tcp", l.Addr().String())
	large := strings.Repeat("x", 8<<20)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			_, err := invoke(ctx, client, "m", large)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
}

// FuzzClient answers a call with any bytes.
func FuzzClient(f *testing.F) {
	framed, unframed := &peer{framed: true}, &peer{}
	dialects := [][]rpc.ClientOption{nil, {rpc.Unframed()}, {rpc.THeader(header.Zlib)}, {rpc.TTHeader()}, {rpc.Compact(compact.Apache)}}
	f.Add(framed.message(thriftwire.Reply, "m", 1, textStruct("x")), uint8(0))
	f.Add(unframed.message(thriftwire.Exception, "m", 1, textStruct("x")), uint8(1))
	reply := append(thriftwire.AppendMessage(nil, thriftwire.Reply, "m", 1), textStruct("x")...)
	f.Add(headerCall(f, header.Outgoing{SequenceID: 1, Transform: header.Zstd}, reply), uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, dialect uint8) {
		conn, server := net.Pipe()
		opts := []rpc.ClientOption{rpc.MaxFrameSize(1 << 16), rpc.Dialer(func(context.Context, string, string) (net.Conn, error) {
			return conn, nil
		})}
		opts = append(opts, dialects[int(dialect)%len(dialects)]...)
		client, err := rpc.Dial(t.Context(), "", "", opts...)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		go func() {
			server.Read(make([]byte, 1000)) // the whole request: it is one write
			server.Write(b)
			server.Close()
		}()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if _, err := invoke(ctx, client, "m", ""); errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call hangs: %v", err)
		}
	})
}

func TestAWriteThatTakesTooLongFailsTheCalls(t *testing.T) {
	noLeaks(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client := dial(t, "tcp", l.Addr().String(), rpc.WriteTimeout(50*time.Millisecond))
	large := func(dst []byte) ([]byte, error) { return append(dst, textStruct(strings.Repeat("x", 15<<20))...), nil }
	var all sync.WaitGroup
	for _, oneway := range []bool{true, false} {
		all.Go(func() {
			err := client.Invoke(t.Context(), &rpc.Invocation{Method: "m", Oneway: oneway, AppendArgs: large})
			var e *rpc.Error
			if !errors.As(err, &e) || e.Stage != rpc.StageWrite || e.Method != "m" {
				t.Errorf("oneway %v: %v", oneway, err)
			}
			var timeout net.Error
			if !errors.As(err, &timeout) || !timeout.Timeout() {
				t.Errorf("oneway %v: %v is no timeout", oneway, err)
			}
		})
	}
	all.Wait()
}
