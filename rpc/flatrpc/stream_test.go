package flatrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/conform/words"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// streaming are methods that stream. A text that says so makes them fail.
func streaming() []rpc.Method {
	return []rpc.Method{
		flatrpc.ServerStream("Split", words.Verifier(), func(_ context.Context, req *words.Word, out *flatrpc.Sender) error {
			for i := range req.Count() {
				if err := out.Send(words.New(out.NewBuilder(), req.Text(), i)); err != nil {
					return err
				}
			}
			return failure(req.Text())
		}),
		flatrpc.ClientStream("Join", words.Verifier(), func(_ context.Context, in *flatrpc.Receiver[*words.Word]) (*flatbuf.Builder, error) {
			var text strings.Builder
			for n := int32(0); ; n++ {
				w, err := in.Recv()
				if err == io.EOF {
					return words.New(nil, text.String(), n), nil
				}
				if err == nil {
					err = failure(w.Text())
				}
				if err != nil {
					return nil, err
				}
				text.WriteString(w.Text())
			}
		}),
		flatrpc.Bidi("Echo", words.Verifier(), func(_ context.Context, in *flatrpc.Receiver[*words.Word], out *flatrpc.Sender) error {
			for {
				w, err := in.Recv()
				if err == io.EOF {
					return nil
				}
				if err == nil {
					err = failure(w.Text())
				}
				if err == nil {
					err = out.Send(words.New(out.NewBuilder(), w.Text()+"!", w.Count()))
				}
				if err != nil {
					return err
				}
			}
		}),
	}
}

func failure(text string) error {
	switch text {
	case "sold out":
		return &rpc.BizStatus{Code: 4711, Message: "as asked"}
	case "panic":
		panic("secret")
	}
	return nil
}

func TestStreamsGoBothWaysInEveryCompression(t *testing.T) {
	_, address := serve(t, streaming())
	for c := trpc.None; c.Supported(); c++ {
		client := dial(t, address, rpc.CompressMessages(c))
		var streams sync.WaitGroup
		for n := range 4 {
			streams.Add(1)
			go func() {
				defer streams.Done()
				text := strings.Repeat("x", 1+n*4000)
				if err := download(mustEnd(t), client, text, 40); err != nil {
					t.Errorf("%s, from the server: %v", c, err)
				}
				if err := upload(mustEnd(t), client, text, 40); err != nil {
					t.Errorf("%s, from the client: %v", c, err)
				}
				if err := bothWays(mustEnd(t), client, text, 40); err != nil {
					t.Errorf("%s, both ways: %v", c, err)
				}
			}()
		}
		streams.Wait()
	}
}

func download(ctx context.Context, c rpc.MessageCaller, text string, n int32) error {
	d, err := flatrpc.OpenServerStream[words.Word](ctx, c, "/test.Words/Split", words.New(nil, text, n), words.Verifier())
	if err != nil {
		return err
	}
	for i := range n {
		if w, err := d.Recv(); err != nil || w.Text() != text || w.Count() != i {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	if _, err := d.Recv(); err != io.EOF {
		return fmt.Errorf("at the end: %w", err)
	}
	return nil
}

func upload(ctx context.Context, c rpc.MessageCaller, text string, n int) error {
	u, err := flatrpc.OpenClientStream[words.Word](ctx, c, "/test.Words/Join", words.Verifier())
	if err != nil {
		return err
	}
	for range n {
		if err := u.Send(words.New(nil, text, 1)); err != nil {
			return err
		}
	}
	w, err := u.CloseAndRecv()
	if err != nil || w.Text() != strings.Repeat(text, n) || w.Count() != int32(n) {
		return fmt.Errorf("the reply: %w", err)
	}
	return nil
}

func bothWays(ctx context.Context, c rpc.MessageCaller, text string, n int32) error {
	d, err := flatrpc.OpenBidi[words.Word](ctx, c, "/test.Words/Echo", words.Verifier())
	if err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() {
		for i := range n {
			if err := d.Send(words.New(nil, text, i)); err != nil {
				sent <- err
				return
			}
		}
		sent <- d.CloseSend()
	}()
	for i := range n {
		if w, err := d.Recv(); err != nil || w.Text() != text+"!" || w.Count() != i {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	if _, err := d.Recv(); err != io.EOF {
		return fmt.Errorf("at the end: %w", err)
	}
	return <-sent
}

// Messages of all sizes are read in passing on both sides, while others wait in memory that is
// used again; who keeps one in between has it for good.
func TestMessagesOfAStreamAreReadInPassing(t *testing.T) {
	_, address := serve(t, []rpc.Method{
		flatrpc.Bidi("Pass", words.Verifier(), func(_ context.Context, in *flatrpc.Receiver[*words.Word], out *flatrpc.Sender) error {
			for {
				var reply *flatbuf.Builder
				err := in.View(func(w *words.Word) error {
					reply = words.New(out.NewBuilder(), w.Text(), w.Count()+1)
					return failure(w.Text())
				})
				if err == io.EOF {
					return nil
				}
				if err == nil {
					err = out.Send(reply)
				}
				if err != nil {
					return err
				}
			}
		}),
	})
	client := dial(t, address)
	var streams sync.WaitGroup
	for n := range 8 {
		streams.Go(func() {
			if err := pass(mustEnd(t), client, n); err != nil {
				t.Errorf("stream %d: %v", n, err)
			}
		})
	}
	streams.Wait()

	d, err := flatrpc.OpenBidi[words.Word](mustEnd(t), client, "/test.Words/Pass", words.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Send(words.New(nil, "sold out", 1)); err != nil {
		t.Fatal(err)
	}
	var biz *rpc.BizStatus
	if err := d.View(func(*words.Word) error { return nil }); !errors.As(err, &biz) || biz.Code != 4711 {
		t.Errorf("the handler's error came back as %v", err)
	}
}

// pass sends messages that differ, several at a time, and reads what comes back.
func pass(ctx context.Context, c rpc.MessageCaller, stream int) error {
	d, err := flatrpc.OpenBidi[words.Word](ctx, c, "/test.Words/Pass", words.Verifier())
	if err != nil {
		return err
	}
	defer d.Close()
	text := func(i int32) string { return strings.Repeat(string(rune('a'+(int32(stream)+i)%26)), int(i%5)*3500) }
	const rounds, ahead = 20, 4
	var kept []*words.Word
	for round := range int32(rounds) {
		for i := round * ahead; i < (round+1)*ahead; i++ {
			if err := d.Send(words.New(nil, text(i), i)); err != nil {
				return err
			}
		}
		for i := round * ahead; i < (round+1)*ahead; i++ {
			if i%7 == 3 {
				w, err := d.Recv()
				if err != nil {
					return err
				}
				kept = append(kept, w)
				continue
			}
			enough := errors.New("enough")
			if err := d.View(func(w *words.Word) error {
				if w.Text() != text(i) || w.Count() != i+1 {
					return fmt.Errorf("message %d has %d bytes and count %d", i, len(w.Text()), w.Count())
				}
				return enough
			}); err != enough {
				return err
			}
		}
	}
	for _, w := range kept {
		if w.Text() != text(w.Count()-1) {
			return fmt.Errorf("message %d, which was kept, has changed", w.Count()-1)
		}
	}
	return nil
}

func TestTheOutcomeOfAStreamReachesTheClient(t *testing.T) {
	_, address := serve(t, append(streaming(), flatrpc.Unary("Repeat", words.Verifier(), repeat)))
	client := dial(t, address)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	split := func(method, text string) error {
		d, err := flatrpc.OpenServerStream[words.Word](ctx, client, method, words.New(nil, text, 3), words.Verifier())
		for err == nil {
			_, err = d.Recv()
		}
		return err
	}
	var biz *rpc.BizStatus
	if err := split("/test.Words/Split", "sold out"); !errors.As(err, &biz) || biz.Code != 4711 || biz.Message != "as asked" {
		t.Error(err)
	}
	for method, code := range map[string]trpc.Code{"/test.Words/Nothing": trpc.NoFunc, "/test.Others/Split": trpc.NoService, "/test.Words/Repeat": trpc.NoFunc} {
		var status *rpc.StatusError
		if err := split(method, "a"); !errors.As(err, &status) || status.Code != code {
			t.Errorf("%s: %v", method, err)
		}
	}
	var status *rpc.StatusError
	err := split("/test.Words/Split", "panic")
	if !errors.As(err, &status) || status.Code != trpc.ServerSystem || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	// A method that streams is no unary one.
	_, err = flatrpc.Call[words.Word](ctx, client, "/test.Words/Split", words.New(nil, "a", 1), words.Verifier())
	if !errors.As(err, &status) || status.Code != trpc.NoFunc {
		t.Error(err)
	}
	if err := bothWays(ctx, client, "on the same connection", 3); err != nil {
		t.Error(err)
	}
}

func TestWhoGivesUpAStreamEndsItOnTheOtherSide(t *testing.T) {
	ended := make(chan error, 2)
	_, address := serve(t, append(streaming(), flatrpc.Bidi("Wait", words.Verifier(), func(ctx context.Context, in *flatrpc.Receiver[*words.Word], _ *flatrpc.Sender) error {
		_, err := in.Recv()
		ended <- err
		<-ctx.Done()
		return ctx.Err()
	})))
	client := dial(t, address)
	ctx, cancel := context.WithCancel(context.Background())
	d, err := flatrpc.OpenBidi[words.Word](ctx, client, "/test.Words/Wait", words.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Send(words.New(nil, "there", 1)); err != nil { // and the server has answered
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	cancel()
	var e *stream.Error
	if _, err := d.Recv(); !errors.As(err, &e) || e.Code != stream.Cancelled {
		t.Error(err)
	}
	d, err = flatrpc.OpenBidi[words.Word](context.Background(), client, "/test.Words/Wait", words.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
	if _, err := d.Recv(); !errors.As(err, &e) || e.Code != stream.Lost {
		t.Error(err)
	}
	if err := bothWays(mustEnd(t), dial(t, address), "the server serves on", 3); err != nil {
		t.Error(err)
	}
}

// mustEnd returns a context that ends when what a test waits for has not come.
func mustEnd(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// A sender stops when the other side takes nothing, and goes on when it does.
func TestAStreamSendsNoFurtherThanItsWindow(t *testing.T) {
	var mu sync.Mutex
	sent := 0
	_, address := serve(t, []rpc.Method{flatrpc.ServerStream("Flood", words.Verifier(), func(_ context.Context, req *words.Word, out *flatrpc.Sender) error {
		for range 300 {
			if err := out.Send(words.New(out.NewBuilder(), req.Text(), 1)); err != nil {
				return err
			}
			mu.Lock()
			sent++
			mu.Unlock()
		}
		return nil
	})})
	ctx := mustEnd(t)
	text := strings.Repeat("x", 4000)
	d, err := flatrpc.OpenServerStream[words.Word](ctx, dial(t, address), "/test.Words/Flood", words.New(nil, text, 1), words.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return sent
	}
	const full = trpc.DefaultWindow/4000 + 1
	for end := time.Now().Add(patience); count() < full-2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d messages", count())
		}
	}
	if n := count(); n > full+1 {
		t.Errorf("%d messages of a window of %d", n, full)
	}
	for n := 0; ; n++ {
		_, err := d.Recv()
		if err == io.EOF && n == 300 {
			return
		}
		if err != nil {
			t.Fatalf("after %d messages: %v", n, err)
		}
	}
}
