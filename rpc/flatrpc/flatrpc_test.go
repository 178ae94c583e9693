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
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/internal/conform/words"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
	"github.com/thrum-rpc/thrum/transcode/flatjson"
)

const repeatMethod = "/test.Words/Repeat"

// callRepeat calls Repeat.
func callRepeat(ctx context.Context, c rpc.MessageCaller, text string, count int32) (*words.Word, error) {
	return flatrpc.Call[words.Word](ctx, c, repeatMethod, words.New(nil, text, count), words.Verifier())
}

func TestManyCallersShareAConnectionInEveryCompression(t *testing.T) {
	_, address := serve(t, []rpc.Method{flatrpc.Unary("Repeat", words.Verifier(), repeat)})
	for c := trpc.None; c.Supported(); c++ {
		client := dial(t, address, rpc.CompressMessages(c))
		var calls sync.WaitGroup
		for n := range 8 {
			calls.Add(1)
			go func() {
				defer calls.Done()
				for i := range int32(8) {
					text, count := fmt.Sprintf("caller %d;", n), 1+i*i*i*5 // up to some 20 KiB
					reply, err := callRepeat(context.Background(), client, text, count)
					if err != nil {
						t.Errorf("%s: %v", c, err)
						return
					}
					if reply.Text() != strings.Repeat(text, int(count)) || reply.Count() != count {
						t.Errorf("%s: %d bytes for %d times %q", c, len(reply.Text()), count, text)
					}
				}
			}()
		}
		calls.Wait()
	}
}

func TestAHandlerSeesVerifiedMessagesOnly(t *testing.T) {
	called := false
	_, address := serve(t, []rpc.Method{flatrpc.Unary("Repeat", words.Verifier(), func(ctx context.Context, req *words.Word) (*flatbuf.Builder, error) {
		called = true
		return repeat(ctx, req)
	})})
	client := dial(t, address)
	good := words.New(nil, "some text", 2).FinishedBytes()
	bodies := [][]byte{nil, {}, {0}, {1, 2, 3}, good[:len(good)-4], []byte(strings.Repeat("\xff", 40))}
	for _, body := range bodies {
		err := client.InvokeMessage(context.Background(), &rpc.MessageCall{
			Method: repeatMethod, Request: rpc.Message{Type: transport.FlatBuffers, Body: body}})
		var status *rpc.StatusError
		if !errors.As(err, &status) || status.Code != trpc.ServerDecode {
			t.Errorf("% x: %v", body, err)
		}
	}
	if called {
		t.Error("the handler saw one of them")
	}
	if _, err := callRepeat(context.Background(), client, "a", 1); err != nil {
		t.Error(err)
	}
}

func TestFailuresReachTheClientWithTheirCodes(t *testing.T) {
	_, address := serve(t, []rpc.Method{flatrpc.Unary("Repeat", words.Verifier(), func(_ context.Context, req *words.Word) (*flatbuf.Builder, error) {
		switch req.Text() {
		case "biz":
			return nil, fmt.Errorf("wrapped: %w", &rpc.BizStatus{Code: 4711, Message: "sold out"})
		case "status":
			return nil, &rpc.StatusError{Code: trpc.ServerValidate, Message: "no such customer"}
		case "plain":
			return nil, errors.New("plain failure")
		case "panic":
			panic("secret")
		case "nothing":
			return nil, nil
		case "unfinished":
			return new(flatbuf.Builder), nil
		}
		return nil, &rpc.ApplicationException{Type: rpc.LoadShedding, Message: "busy"}
	})})
	client := dial(t, address)
	call := func(method, text string) error {
		_, err := flatrpc.Call[words.Word](context.Background(), client, method, words.New(nil, text, 1), words.Verifier())
		return err
	}
	for text, code := range map[string]int32{"biz": 4711, "plain": 999} {
		var biz *rpc.BizStatus
		if err := call(repeatMethod, text); !errors.As(err, &biz) || biz.Code != code {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, code := range map[string]trpc.Code{
		"status": trpc.ServerValidate, "panic": trpc.ServerSystem, "nothing": trpc.ServerEncode,
		"unfinished": trpc.ServerSystem, "exception": trpc.ServerOverload,
	} {
		var status *rpc.StatusError
		err := call(repeatMethod, text)
		if !errors.As(err, &status) || status.Code != code {
			t.Errorf("%s: %v", text, err)
		}
		if strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("the panic's value reaches the client: %v", err)
		}
	}
	for method, code := range map[string]trpc.Code{"/test.Words/Other": trpc.NoFunc, "/other/Repeat": trpc.NoService, "": trpc.NoService, "Repeat": trpc.NoService} {
		var status *rpc.StatusError
		if err := call(method, "a"); !errors.As(err, &status) || status.Code != code {
			t.Errorf("%q: %v", method, err)
		}
		var e *rpc.ApplicationException
		if err := call(method, "a"); !errors.As(err, &e) || e.Type != rpc.UnknownMethod {
			t.Errorf("%q: %v", method, err)
		}
	}
}

func TestOnewayCallsHeadersAndAttachmentsTravel(t *testing.T) {
	seen := make(chan string, 1)
	_, address := serve(t, []rpc.Method{
		flatrpc.Oneway("Note", words.Verifier(), func(_ context.Context, req *words.Word) error {
			seen <- req.Text()
			return nil
		}),
		flatrpc.Unary("Repeat", words.Verifier(), func(ctx context.Context, req *words.Word) (*flatbuf.Builder, error) {
			info, _ := rpc.Info(ctx)
			who, _ := info.Header("who")
			info.SetReplyAttachment([]byte(string(info.Attachment()) + " back"))
			return words.New(nil, who, 1), nil
		}),
	})
	client := dial(t, address)
	ctx := context.Background()
	if err := flatrpc.Send(ctx, client, "/test.Words/Note", words.New(nil, "noted", 1)); err != nil {
		t.Fatal(err)
	}
	select {
	case text := <-seen:
		if text != "noted" {
			t.Error(text)
		}
	case <-time.After(patience):
		t.Fatal("the oneway call never arrived")
	}
	for _, size := range []int{1, 10_000, 1 << 20} {
		attachment := strings.Repeat("a", size)
		err := client.InvokeMessage(rpc.WithHeader(ctx, "who", "Ada"), &rpc.MessageCall{
			Method: repeatMethod, Request: rpc.Message{Type: transport.FlatBuffers, Body: words.New(nil, "x", 1).FinishedBytes()},
			Attachment: []byte(attachment),
			ReadReply: func(m rpc.Message, back []byte) error {
				w := new(words.Word)
				flatbuf.GetRootAs(m.Body, 0, w)
				if w.Text() != "Ada" || string(back) != attachment+" back" {
					t.Errorf("%q with %d bytes beside it", w.Text(), len(back))
				}
				return nil
			},
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// jsonWords converts words from and to JSON by their schema.
func jsonWords(t *testing.T) *flatjson.Converter {
	t.Helper()
	text := "table Word { text: string (required); count: int = 1; } root_type Word;"
	file, _ := fbsidl.Load("word.fbs", fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{"word.fbs": []byte(text)}))
	if file == nil {
		t.Fatal("the schema does not compile")
	}
	c, err := flatjson.New(file.Root())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBodiesInOtherFormatsAreServedWhereTheyAreAccepted(t *testing.T) {
	_, address := serve(t, []rpc.Method{flatrpc.Unary("Repeat", words.Verifier(), repeat, flatrpc.AcceptJSON(jsonWords(t), jsonWords(t)), flatrpc.InitialSize(64))})
	client := dial(t, address)
	call := func(kind transport.ContentType, body string) (reply string, err error) {
		err = client.InvokeMessage(context.Background(), &rpc.MessageCall{
			Method: repeatMethod, Request: rpc.Message{Type: kind, Body: []byte(body)},
			ReadReply: func(m rpc.Message, _ []byte) error {
				if m.Type != kind {
					t.Errorf("a reply in %s", m.Type)
				}
				reply = string(m.Body)
				return nil
			}})
		return reply, err
	}
	if reply, err := call(transport.JSON, `{"count":2,"text":"ab"}`); err != nil || reply != `{"text":"abab","count":2}` {
		t.Error(reply, err)
	}
	for _, kind := range []transport.ContentType{transport.JSON, transport.Protobuf} {
		var status *rpc.StatusError
		if _, err := call(kind, "{"); !errors.As(err, &status) || status.Code != trpc.ServerDecode {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestTimesAndLimitsAreAnsweredWithTheirCodes(t *testing.T) {
	wait := func(ctx context.Context, _ *words.Word) (*flatbuf.Builder, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	// The client's clock may stop first, so the server's answer is asked for on another call's behalf.
	_, address := serve(t, []rpc.Method{flatrpc.Unary("Wait", words.Verifier(), wait)}, rpc.TaskExpiry(50*time.Millisecond))
	_, err := flatrpc.Call[words.Word](context.Background(), dial(t, address), "/test.Words/Wait", words.New(nil, "a", 1), words.Verifier())
	var status *rpc.StatusError
	if !errors.As(err, &status) || status.Code != trpc.ServerTimeout && status.Code != trpc.ServerFullLink {
		t.Errorf("the server's time: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = flatrpc.Call[words.Word](ctx, dial(t, address), "/test.Words/Wait", words.New(nil, "a", 1), words.Verifier())
	if !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &status) {
		t.Errorf("the client's time: %v", err)
	}

	entered := make(chan struct{})
	_, address = serve(t, []rpc.Method{flatrpc.Unary("Wait", words.Verifier(), func(ctx context.Context, req *words.Word) (*flatbuf.Builder, error) {
		close(entered)
		return wait(ctx, req)
	})}, rpc.MaxInFlight(1), rpc.TaskExpiry(0))
	client := dial(t, address)
	ctx, cancel = context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := flatrpc.Call[words.Word](ctx, client, "/test.Words/Wait", words.New(nil, "a", 1), words.Verifier())
		ended <- err
	}()
	<-entered
	_, err = flatrpc.Call[words.Word](context.Background(), client, "/test.Words/Wait", words.New(nil, "a", 1), words.Verifier())
	if !errors.As(err, &status) || status.Code != trpc.ServerOverload {
		t.Errorf("beyond MaxInFlight: %v", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestARateIsRefusedAsALimit(t *testing.T) {
	_, address := serve(t, []rpc.Method{flatrpc.Unary("Repeat", words.Verifier(), repeat)}, rpc.MaxRate(1, 1))
	client := dial(t, address)
	for range 1000 {
		_, err := callRepeat(context.Background(), client, "a", 1)
		var status *rpc.StatusError
		if errors.As(err, &status) {
			if status.Code != trpc.ServerLimited {
				t.Error(err)
			}
			return
		}
	}
	t.Error("a thousand calls at one a second")
}

func TestMethodsThatCannotServeAreRefused(t *testing.T) {
	server := rpc.NewServer()
	for name, s := range map[string]*rpc.Service{
		"no verifier":  {Name: "a", Methods: []rpc.Method{flatrpc.Unary("M", nil, repeat)}},
		"no service":   {Methods: []rpc.Method{flatrpc.Unary("M", words.Verifier(), repeat)}},
		"a slash":      {Name: "a/b", Methods: []rpc.Method{flatrpc.Unary("M", words.Verifier(), repeat)}},
		"no handler":   {Name: "a", Methods: []rpc.Method{flatrpc.Oneway[words.Word]("M", words.Verifier(), nil)}},
		"two forms":    {Name: "a", Methods: []rpc.Method{both()}},
		"a name twice": {Name: "a", Methods: []rpc.Method{flatrpc.Unary("M", words.Verifier(), repeat), flatrpc.Unary("M", words.Verifier(), repeat)}},
	} {
		if err := server.Register(s); err == nil {
			t.Errorf("%s: registered", name)
		}
	}
}

// both returns a method on messages and on structs.
func both() rpc.Method {
	m := flatrpc.Unary("M", words.Verifier(), repeat)
	m.Serve = func(_ context.Context, args, dst []byte) ([]byte, error) { return dst, nil }
	return m
}

func TestInterceptorsAndHeadersStandAroundCalls(t *testing.T) {
	_, address := serve(t, []rpc.Method{flatrpc.Unary("Repeat", words.Verifier(), func(ctx context.Context, req *words.Word) (*flatbuf.Builder, error) {
		info, _ := rpc.Info(ctx)
		tenant, _ := info.Persistent("tenant")
		info.SetReplyHeader("load", "0.5")
		if req.Text() == "fail" {
			return nil, &rpc.BizStatus{Code: 7}
		}
		return words.New(nil, fmt.Sprint(tenant, info.Priority()), 1), nil
	})})
	var seen []string
	note := func(name string) rpc.MessageInterceptor {
		return func(ctx context.Context, call *rpc.MessageCall, to rpc.Target, next rpc.MessageCaller) error {
			seen = append(seen, fmt.Sprint(name, " ", to.Service, call.Method, to.Address == address, to.Dialect))
			return next.InvokeMessage(ctx, call)
		}
	}
	client := dial(t, address, rpc.ClientOptions(rpc.ServiceName("S"), rpc.InterceptMessages(note("a"), note("b"))))
	ctx, headers := rpc.WithReplyHeaders(rpc.WithCallPriority(rpc.WithPersistent(t.Context(), "tenant", "acme"), rpc.High))
	for _, text := range []string{"x", "fail"} {
		seen = nil
		err := client.InvokeMessage(ctx, &rpc.MessageCall{
			Method: repeatMethod, Request: rpc.Message{Type: transport.FlatBuffers, Body: words.New(nil, text, 1).FinishedBytes()},
			ReadReply: func(m rpc.Message, _ []byte) error {
				w := new(words.Word)
				flatbuf.GetRootAs(m.Body, 0, w)
				if want := fmt.Sprint("acme", rpc.High); w.Text() != want {
					t.Errorf("%q, want %q", w.Text(), want)
				}
				return nil
			},
		})
		if (err != nil) != (text == "fail") {
			t.Error(err)
		}
		call := fmt.Sprint(" S", repeatMethod, true, transport.TRPC)
		if strings.Join(seen, ",") != "a"+call+",b"+call {
			t.Errorf("%q", seen)
		}
	}
	if load, _ := headers.Get("load"); load != "0.5" {
		t.Errorf("load=%q", load)
	}
}
