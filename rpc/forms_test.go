package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
)

// This file tests the forms in which a handler answers.

type textArgs struct {
	Text string `thrift:"text,1"`
}

type textResult struct {
	Success *string `thrift:"success,0,optional"`
}

// reversed is what the methods of formsOf answer.
func reversed(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

// formsOf returns one method in every form, under the form's name.
func formsOf() []rpc.Method {
	answer := func(text string) (*textResult, error) {
		if text == "fail" {
			return nil, errors.New("out of paper")
		}
		if text == "panic" {
			panic("the password is 1234")
		}
		text = reversed(text)
		return &textResult{&text}, nil
	}
	settle := func(reply rpc.Reply[textResult], text string) {
		if r, err := answer(text); err != nil {
			reply.Fail(err)
		} else {
			reply.Result(r)
		}
	}
	return []rpc.Method{
		rpc.Unary("plain", func(_ context.Context, args *textArgs, result *textResult) error {
			r, err := answer(args.Text)
			if err == nil {
				*result = *r
			}
			return err
		}),
		rpc.UnaryCallback("callback", func(args *textArgs, reply rpc.Reply[textResult]) { settle(reply, args.Text) }),
		rpc.UnaryCallback("callback later", func(args *textArgs, reply rpc.Reply[textResult]) {
			if args.Text == "panic" {
				panic("now")
			}
			go func() {
				time.Sleep(time.Millisecond)
				settle(reply, args.Text)
			}()
		}),
		rpc.UnaryFuture("future", func(_ context.Context, args *textArgs) *rpc.Future[*textResult] {
			f := rpc.NewFuture[*textResult]()
			if r, err := answer(args.Text); err != nil {
				f.Reject(err)
			} else {
				f.Resolve(r)
			}
			return f
		}),
		rpc.UnaryFuture("future later", func(_ context.Context, args *textArgs) *rpc.Future[*textResult] {
			if args.Text == "panic" {
				panic("now")
			}
			f := rpc.NewFuture[*textResult]()
			time.AfterFunc(time.Millisecond, func() {
				if r, err := answer(args.Text); err != nil {
					f.Reject(err)
				} else {
					f.Resolve(r)
				}
			})
			return f
		}),
	}
}

func TestEveryFormAnswersInEveryDialect(t *testing.T) {
	server, address := listen(t, formsOf())
	for name, opts := range dialects() {
		client := dial(t, "tcp", address, opts...)
		for _, m := range formsOf() {
			t.Run(name+"/"+m.Name, func(t *testing.T) {
				var wg sync.WaitGroup
				for i := range 40 {
					wg.Go(func() {
						text := strings.Repeat(fmt.Sprint(name, i, " "), 1+i*i)
						var result textResult
						if err := rpc.Call(t.Context(), client, m.Name, &textArgs{text}, &result); err != nil || *result.Success != reversed(text) {
							t.Errorf("%d bytes: %v", len(text), err)
						}
					})
				}
				wg.Wait()
				for _, failure := range []struct{ text, message string }{{"fail", "out of paper"}, {"panic", "panic in " + m.Name}} {
					err := rpc.Call(t.Context(), client, m.Name, &textArgs{failure.text}, new(textResult))
					var e *rpc.ApplicationException
					if !errors.As(err, &e) || e.Type != rpc.InternalError || e.Message != failure.message {
						t.Errorf("%s: %v", failure.text, err)
					}
				}
			})
		}
	}
	if n := server.Stats().Panics; n != int64(len(dialects())*len(formsOf())) {
		t.Errorf("%d panics were counted", n)
	}
}

func TestTheFirstFormOfAMethodServes(t *testing.T) {
	say := func(text string) rpc.Method {
		return rpc.Unary("m", func(_ context.Context, _ *textArgs, r *textResult) error { r.Success = &text; return nil })
	}
	callback := rpc.UnaryCallback("m", func(_ *textArgs, reply rpc.Reply[textResult]) {
		text := "callback"
		reply.Result(&textResult{&text})
	})
	future := rpc.UnaryFuture("m", func(context.Context, *textArgs) *rpc.Future[*textResult] {
		text, f := "future", rpc.NewFuture[*textResult]()
		f.Resolve(&textResult{&text})
		return f
	})
	for want, m := range map[string]rpc.Method{
		"callback": rpc.Forms(say("plain"), future, callback),
		"future":   rpc.Forms(say("plain"), future),
		"plain":    rpc.Forms(say("plain"), say("another")),
	} {
		_, address := listen(t, []rpc.Method{m})
		var result textResult
		if err := rpc.Call(t.Context(), dial(t, "tcp", address), "m", &textArgs{}, &result); err != nil || *result.Success != want {
			t.Errorf("%v, %v, want %s", result.Success, err, want)
		}
	}
	other := say("x")
	other.Name = "other"
	if err := rpc.NewServer().Register(&rpc.Service{Name: "S", Methods: []rpc.Method{rpc.Forms(callback, other)}}); err == nil {
		t.Error("forms of different methods are one method")
	}
}

func TestACallIsAnsweredOnce(t *testing.T) {
	answers := make(chan bool, 20)
	twice := rpc.Method{Name: "twice", Callback: func(args []byte, r rpc.Responder) {
		answers <- r.Reply(args)
		answers <- r.Reply(args)
		answers <- r.Fail(errors.New("too late"))
		if r.Context().Err() == nil {
			t.Error("the context of an answered call goes on")
		}
	}}
	var l logs
	server, address := listen(t, []rpc.Method{twice, echo}, l.option())
	p := connect(t, address, true)
	for i := range int32(3) {
		p.send(p.call("twice", i, "first"))
		p.want(i, "first")
		p.send(p.call("echo", i, "and no other"))
		p.want(i, "and no other")
		if !<-answers || <-answers || <-answers {
			t.Error("not the first answer alone counted")
		}
	}
	if n := server.Stats().SecondReplies; n != 6 {
		t.Errorf("%d second replies were counted", n)
	}
	l.await(t, "a call was answered twice")
}

func TestManyMayRaceToAnswer(t *testing.T) {
	race := rpc.Method{Name: "race", Callback: func(args []byte, r rpc.Responder) {
		args = append([]byte(nil), args...) // the arguments go with the first answer
		for range 4 {
			go r.Reply(args)
		}
	}}
	_, address := listen(t, []rpc.Method{race})
	client := dial(t, "tcp", address, rpc.THeader(header.None))
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if got, err := invoke(t.Context(), client, "race", fmt.Sprint(i)); err != nil || got != fmt.Sprint(i) {
				t.Errorf("%d: %q, %v", i, got, err)
			}
		})
	}
	wg.Wait()
}

func TestAHandlerThatNeverAnswersIsAnsweredFor(t *testing.T) {
	for name, opts := range map[string][]rpc.ClientOption{"framed": nil, "TTHeader": {rpc.TTHeader()}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { neverAnswered(t, opts) })
		})
	}
}

// neverAnswered makes calls in a bubble that are not answered.
func neverAnswered(t *testing.T, opts []rpc.ClientOption) {
	kept := make(chan rpc.Responder, 3)
	forget := rpc.Method{Name: "forget", Callback: func(_ []byte, r rpc.Responder) { kept <- r }}
	promise := rpc.Method{Name: "promise", Future: func(_ context.Context, _ []byte, r rpc.Responder) { kept <- r }}
	server, l := listenInBubble(t, []rpc.Method{forget, promise, echo}, rpc.TaskExpiry(20*time.Millisecond))
	client := dialInBubble(t, l, opts...)
	for _, method := range []string{"forget", "promise"} {
		_, err := invoke(t.Context(), client, method, "")
		var e *rpc.ApplicationException
		if !errors.As(err, &e) || e.Type != rpc.Timeout {
			t.Errorf("%s: %v", method, err)
		}
		late := receive(t, "the handler has run", kept)
		if late.Reply([]byte{0}) {
			t.Error("a late answer counts")
		}
		if got, err := invoke(t.Context(), client, "echo", "alive"); err != nil || got != "alive" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	}
	if s := server.Stats(); s.Refused[rpc.RefusedExpired] != 2 || s.SecondReplies != 0 {
		t.Errorf("%+v", s)
	}
	// A client may have a reply before the server notes that it is written.
	eventually(t, "no memory is held", func() bool { return server.Stats().Memory == 0 })
}

func TestAConnectionEndsThoughAHandlerNeverAnswered(t *testing.T) {
	kept := make(chan rpc.Responder, 1)
	forget := rpc.Method{Name: "forget", Callback: func(_ []byte, r rpc.Responder) { kept <- r }}
	for _, end := range []string{"client", "server"} {
		server, address := listen(t, []rpc.Method{forget}, rpc.TaskExpiry(50*time.Millisecond))
		p := connect(t, address, true)
		p.send(p.call("forget", 1, ""))
		receive(t, "the handler has run", kept)
		if end == "client" {
			p.Close()
		} else {
			server.Close()
		}
		eventually(t, "the connection is gone", func() bool { return rpc.Connections(server) == 0 })
	}
}

func TestRepliesPassSlowOnesWhereTheClientTakesThem(t *testing.T) {
	method, started, release := blocked()
	_, address := listen(t, []rpc.Method{method, echo})
	inOrder, anyOrder := dial(t, "tcp", address), dial(t, "tcp", address, rpc.THeader(header.None))
	var wg sync.WaitGroup
	for _, c := range []*rpc.Client{inOrder, anyOrder} {
		wg.Go(func() { invoke(t.Context(), c, "blocked", "slow") })
		receive(t, "the slow call runs", started)
	}
	if got, err := invoke(t.Context(), anyOrder, "echo", "first"); err != nil || got != "first" {
		t.Errorf("%q, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := invoke(ctx, inOrder, "echo", "waits"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a reply passed one before it: %v", err)
	}
	close(release)
	wg.Wait()
}

func TestLargeBinariesAreViews(t *testing.T) {
	type blobArgs struct {
		Blob []byte `thrift:"blob,1"`
	}
	type blobResult struct {
		Success []byte `thrift:"success,0,optional"`
	}
	borrowed := rpc.Unary("borrowed", func(_ context.Context, args *blobArgs, r *blobResult) error {
		r.Success = args.Blob
		return nil
	}, rpc.Borrow())
	pieces := rpc.Method{Name: "pieces", Callback: func(args []byte, r rpc.Responder) {
		blob := args[7 : len(args)-1] // behind the field's header and length
		r.ReplyViews([]byte{0x0b, 0, 0}, args[3:7], blob, []byte{0})
	}}
	_, address := listen(t, []rpc.Method{borrowed, pieces})
	for name, opts := range dialects() {
		client := dial(t, "tcp", address, opts...)
		for _, method := range []string{"borrowed", "pieces"} {
			for i, size := range []int{0, 100, 20_000, 300_000, 1 << 20} {
				blob := make([]byte, size)
				for k := range blob {
					blob[k] = byte(k * (i + 3) >> 3)
				}
				var result blobResult
				if err := rpc.Call(t.Context(), client, method, &blobArgs{blob}, &result); err != nil || string(result.Success) != string(blob) {
					t.Errorf("%s, %s: %d bytes come back as %d, %v", name, method, size, len(result.Success), err)
				}
			}
		}
	}
}

func TestFuturesThatExpireWhileTheyWaitAreForgottenOnce(t *testing.T) {
	slow, started, release := blocked()
	never := rpc.Method{Name: "never", Expiry: 30 * time.Millisecond,
		Future: func(context.Context, []byte, rpc.Responder) {}}
	server, address := listen(t, []rpc.Method{never, slow}, rpc.MaxConcurrentPerConn(1), rpc.TaskExpiry(0))
	p := connect(t, address, true)
	p.send(p.call("blocked", 1, ""))
	receive(t, "the call runs", started)
	p.send(p.call("never", 2, ""))
	eventually(t, "the future expires", func() bool { return server.Stats().Refused[rpc.RefusedExpired] == 1 })
	server.Close()
	close(release)
	eventually(t, "nothing is counted", func() bool { s := server.Stats(); return s.InFlight == 0 && s.Memory == 0 && s.Connections == 0 })
	time.Sleep(20 * time.Millisecond)
	if s := server.Stats(); s.InFlight != 0 || s.Memory != 0 {
		t.Errorf("in flight %d, memory %d", s.InFlight, s.Memory)
	}
}

func TestRepliesBehindOneThatExpiresReachTheirClients(t *testing.T) {
	stuck, _, release := blocked()
	stuck.Expiry = 5 * time.Millisecond
	_, address := listen(t, []rpc.Method{stuck, echo})
	defer close(release)
	var all sync.WaitGroup
	for range 4 {
		p := connect(t, address, true)
		all.Go(func() {
			for round := range int32(15) {
				b := p.call("blocked", 0, "")
				for i := range int32(20) {
					b = append(b, p.call("echo", round*20+i+1, "behind")...)
				}
				p.send(b)
				p.wantException(0, rpc.Timeout)
				for i := range int32(20) {
					p.want(round*20+i+1, "behind")
				}
			}
		})
	}
	all.Wait() // for each reply there is patience
}
