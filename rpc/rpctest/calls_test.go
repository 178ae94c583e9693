package rpctest_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/rpc/stream"
)

func TestCallsAreRecordedInTheirOrder(t *testing.T) {
	var calls rpctest.Calls[int]
	if calls.Len() != 0 || len(calls.All()) != 0 {
		t.Error("calls before the first")
	}
	for i := range 3 {
		calls.Record(i)
	}
	all := calls.All()
	all[0] = 7 // the caller's
	if got := calls.All(); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("got %v", got)
	}
	var callers sync.WaitGroup
	for range 8 {
		callers.Add(1)
		go func() {
			defer callers.Done()
			calls.Record(1)
		}()
	}
	callers.Wait()
	if calls.Len() != 11 {
		t.Errorf("%d calls", calls.Len())
	}
}

// failing is a test that notes what it is failed with.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Helper()           {}
func (f *failing) Error(args ...any) { f.text = args[0].(string) }

func TestAFunctionThatIsNotSetFailsTheTest(t *testing.T) {
	tb := new(failing)
	for _, tb := range []testing.TB{tb, nil} {
		var e *rpc.ApplicationException
		if err := rpctest.Unset(tb, "MockShop.FindFunc"); !errors.As(err, &e) || e.Type != rpc.UnknownMethod {
			t.Errorf("got %v", err)
		}
	}
	if !strings.Contains(tb.text, "MockShop.FindFunc") {
		t.Errorf("got %q", tb.text)
	}
}

func TestStreamsAndMessagesAreServedInMemory(t *testing.T) {
	c := rpctest.StartStreams(t, &rpc.Service{Name: "S", Methods: []rpc.Method{
		rpc.ServerStreaming("count", func(ctx context.Context, req *addArgs, s stream.ServerStreamingServer[addArgs]) error {
			return s.Send(ctx, req)
		}),
	}})
	s, err := rpc.OpenServerStream[addArgs, addArgs](t.Context(), c, "S", "count", &addArgs{A: 7})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Recv(t.Context()); err != nil || v.A != 7 {
		t.Errorf("got %v, %v", v, err)
	}
	if _, err := s.Recv(t.Context()); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	m := rpctest.StartMessages(t, &rpc.Service{Name: "M", Methods: []rpc.Method{{
		Name: "Echo", Message: func(_ context.Context, in rpc.Message) (rpc.Message, error) { return in, nil },
	}}})
	var got string
	err = m.InvokeMessage(t.Context(), &rpc.MessageCall{Method: "/M/Echo", Request: rpc.Message{Body: []byte("abc")},
		ReadReply: func(reply rpc.Message, _ []byte) error {
			got = string(reply.Body)
			return nil
		}})
	if err != nil || got != "abc" {
		t.Errorf("got %q, %v", got, err)
	}
}
