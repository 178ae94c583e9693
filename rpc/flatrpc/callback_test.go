package flatrpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/conform/words"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file tests methods that answer by a callback.

// repeated answers a call of Repeat.
func repeated(reply flatrpc.Reply, text string, count int32) bool {
	if count < 0 {
		return reply.Fail(&rpc.BizStatus{Code: 1, Message: "too often"})
	}
	return reply.Result(words.New(reply.NewBuilder(), strings.Repeat(text, int(count)), count))
}

// callbackMethods are Repeat answered at once, and on another goroutine.
func callbackMethods() []rpc.Method {
	return []rpc.Method{
		flatrpc.UnaryCallback("Now", words.Verifier(), func(req *words.Word, reply flatrpc.Reply) {
			if req.Text() == "panic" {
				panic("the password is 1234")
			}
			repeated(reply, req.Text(), req.Count())
		}),
		flatrpc.UnaryCallback("Later", words.Verifier(), func(req *words.Word, reply flatrpc.Reply) {
			if req.Text() == "panic" {
				panic("the password is 1234")
			}
			go repeated(reply, req.Text(), req.Count()) // which is valid until it is answered
		}),
	}
}

func TestCallbacksAnswerAtOnceAndLater(t *testing.T) {
	server, address := serve(t, callbackMethods())
	for name, opts := range map[string][]rpc.ClientOption{"tRPC": nil, "packed": {rpc.CompressMessages(trpc.Gzip)}, "gRPC": {rpc.GRPC()}} {
		client := dial(t, address, opts...)
		for _, method := range []string{"/test.Words/Now", "/test.Words/Later"} {
			var calls sync.WaitGroup
			for n := range int32(30) {
				calls.Go(func() {
					text, count := fmt.Sprintf("caller %d;", n), n*n*5
					reply, err := flatrpc.Call[words.Word](t.Context(), client, method, words.New(nil, text, count), words.Verifier())
					if err != nil || reply.Text() != strings.Repeat(text, int(count)) {
						t.Errorf("%s %s: %v", name, method, err)
					}
				})
			}
			calls.Wait()
			_, err := flatrpc.Call[words.Word](t.Context(), client, method, words.New(nil, "x", -1), words.Verifier())
			var status *rpc.BizStatus
			var failed *rpc.StatusError // over gRPC, which has no codes of applications
			if (!errors.As(err, &status) || status.Code != 1) && !errors.As(err, &failed) {
				t.Errorf("%s %s: %v", name, method, err)
			}
			_, err = flatrpc.Call[words.Word](t.Context(), client, method, words.New(nil, "panic", 1), words.Verifier())
			if err == nil || strings.Contains(err.Error(), "1234") {
				t.Errorf("%s %s after a panic: %v", name, method, err)
			}
			broken := &rpc.MessageCall{Method: method, Request: rpc.Message{Type: 2, Body: []byte("no message")}}
			if err := client.InvokeMessage(t.Context(), broken); err == nil {
				t.Errorf("%s %s serves what is no message", name, method)
			}
		}
	}
	if n := server.Stats().Panics; n != 6 {
		t.Errorf("%d panics were counted", n)
	}
}

func TestCallbacksAnswerInWhateverOrder(t *testing.T) {
	var mu sync.Mutex
	var waiting []func()
	_, address := serve(t, []rpc.Method{flatrpc.UnaryCallback("Repeat", words.Verifier(), func(req *words.Word, reply flatrpc.Reply) {
		mu.Lock()
		defer mu.Unlock()
		waiting = append(waiting, func() { repeated(reply, req.Text(), req.Count()) })
		if len(waiting) == 10 { // the last one first
			for i := len(waiting) - 1; i >= 0; i-- {
				waiting[i]()
			}
		}
	})})
	client := dial(t, address)
	var calls sync.WaitGroup
	for n := range 10 {
		calls.Go(func() {
			text := fmt.Sprint("caller ", n)
			if reply, err := callRepeat(t.Context(), client, text, 2); err != nil || reply.Text() != text+text {
				t.Error(err)
			}
		})
	}
	calls.Wait()
}

func TestACallIsAnsweredOnce(t *testing.T) {
	second := make(chan bool, 2)
	server, address := serve(t, []rpc.Method{flatrpc.UnaryCallback("Repeat", words.Verifier(), func(req *words.Word, reply flatrpc.Reply) {
		text := strings.Clone(req.Text())
		if !repeated(reply, text, 1) {
			t.Error("the first answer is none")
		}
		second <- repeated(reply, "another", 1)
		second <- reply.Fail(errors.New("or not"))
	})})
	client := dial(t, address)
	for range 3 {
		if reply, err := callRepeat(t.Context(), client, "first", 1); err != nil || reply.Text() != "first" {
			t.Error(err)
		}
		for range 2 {
			if <-second {
				t.Error("a call is answered twice")
			}
		}
	}
	if n := server.Stats().SecondReplies; n != 6 {
		t.Errorf("%d second replies were counted", n)
	}
}

// A callback that never answers has its call expire; its late answer is none,
// and its builder goes back where it came from.
func TestACallThatIsNotAnsweredExpires(t *testing.T) {
	late := make(chan flatrpc.Reply, 1)
	server, address := serve(t, []rpc.Method{flatrpc.UnaryCallback("Repeat", words.Verifier(), func(_ *words.Word, reply flatrpc.Reply) {
		late <- reply
	})}, rpc.TaskExpiry(20*time.Millisecond))
	client := dial(t, address)
	_, err := callRepeat(t.Context(), client, "x", 1)
	var status *rpc.StatusError
	if !errors.As(err, &status) || status.Code != trpc.ServerTimeout {
		t.Errorf("%v, want the code of a timeout", err)
	}
	reply := <-late
	if reply.Context().Err() == nil || repeated(reply, "x", 1) {
		t.Error("a call that has expired can be answered")
	}
	if n := server.Stats().SecondReplies; n != 0 {
		t.Errorf("%d second replies were counted", n)
	}
}

func TestAOnewayCallbackSaysWhenItIsDone(t *testing.T) {
	seen := make(chan string, 1)
	_, address := serve(t, []rpc.Method{flatrpc.OnewayCallback("Send", words.Verifier(), func(req *words.Word, reply flatrpc.Reply) {
		text := strings.Clone(req.Text())
		go func() {
			if !reply.Done() {
				t.Error("it was not done by Done")
			}
			seen <- text
		}()
	})})
	if err := flatrpc.Send(t.Context(), dial(t, address), "/test.Words/Send", words.New(nil, "quiet", 1)); err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got != "quiet" {
		t.Errorf("it got %q", got)
	}
}

func TestAMethodWithACallbackIsServedByIt(t *testing.T) {
	plain := flatrpc.Unary("Repeat", words.Verifier(), func(context.Context, *words.Word) (*flatbuf.Builder, error) {
		return nil, errors.New("the plain form serves")
	})
	callback := flatrpc.UnaryCallback("Repeat", words.Verifier(), func(req *words.Word, reply flatrpc.Reply) {
		repeated(reply, req.Text(), req.Count())
	})
	_, address := serve(t, []rpc.Method{rpc.Forms(plain, callback)})
	if reply, err := callRepeat(t.Context(), dial(t, address), "a", 3); err != nil || reply.Text() != "aaa" {
		t.Error(err)
	}
	server := rpc.NewServer()
	if err := server.Register(&rpc.Service{Name: "S", Methods: []rpc.Method{flatrpc.UnaryCallback[words.Word]("M", nil, nil)}}); err == nil {
		t.Error("a method without a handler is registered")
	}
}
