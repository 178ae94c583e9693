package load_test

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/internal/load"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// messages are the methods on messages that the servers of these tests serve.
func messages() []rpc.Method {
	answer := func(err error) func(context.Context, rpc.Message) (rpc.Message, error) {
		return func(_ context.Context, in rpc.Message) (rpc.Message, error) { return in, err }
	}
	return []rpc.Method{
		{Name: "Echo", Message: answer(nil)},
		{Name: "Refuse", Message: answer(&rpc.StatusError{Code: trpc.ServerOverload, Message: "enough"})},
		{Name: "Fail", Message: answer(&rpc.BizStatus{Code: 7, Message: "nothing left"})},
	}
}

// messageCall makes a call of a method on messages.
func messageCall(t testing.TB, f load.Form, method string, body []byte) load.Request {
	t.Helper()
	r, err := f.Message(method, transport.FlatBuffers, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Kind = method
	return r
}

func TestCallsOfMessagesAreServedAndChecked(t *testing.T) {
	address := serve(t)
	for name, f := range map[string]load.Form{
		"plain":   {Dialect: load.TRPC},
		"headers": {Dialect: load.TRPC, Headers: []load.Pair{{Key: "a", Value: "b"}}},
		"gzip":    {Dialect: load.TRPC, Compression: trpc.Gzip},
		"snappy":  {Dialect: load.TRPC, Compression: trpc.SnappyBlock},

		"gRPC":         {Dialect: load.GRPC},
		"gRPC headers": {Dialect: load.GRPC, Headers: []load.Pair{{Key: "a", Value: "b"}, {Key: "c-bin", Value: "\x00"}}},
		"gRPC gzip":    {Dialect: load.GRPC, Compression: trpc.Gzip},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := bytes.Repeat([]byte("body"), 300)
			echo := messageCall(t, f, "/Test/Echo", body)
			echo.Same = true
			if f.Compression == trpc.None {
				echo.Expect = body
			}
			c := load.Config{
				Address: address, Form: f, Requests: []load.Request{echo, messageCall(t, f, "/Test/Fail", nil)},
				Connections: 3, Depth: 20, Duration: 100 * time.Millisecond,
			}
			res := driveUntil(t, c, answered(1))
			if res.Failed() > 0 || len(res.Kinds) != 2 || res.Kinds[0].Latency.Count == 0 || res.Declared != res.Kinds[1].Latency.Count {
				t.Errorf("%+v", res)
			}
		})
	}
}

func TestRefusalsOfMessagesAreCountedByCode(t *testing.T) {
	address := serve(t)
	for _, c := range []struct {
		dialect load.Dialect
		method  string
		want    load.Exception
	}{
		{load.TRPC, "/Test/Refuse", load.Exception{Type: int32(trpc.ServerOverload), Ex: "enough"}},
		{load.TRPC, "/Test/Missing", load.Exception{Type: int32(trpc.NoFunc), Ex: `no method "/Test/Missing" here`}},
		{load.GRPC, "/Test/Refuse", load.Exception{Type: int32(grpc.Unavailable), Ex: "enough"}},
		{load.GRPC, "/Test/Missing", load.Exception{Type: int32(grpc.Unimplemented), Ex: `no method "/Test/Missing" here`}},
	} {
		f := load.Form{Dialect: c.dialect}
		res := driveUntil(t, load.Config{Address: address, Form: f, Requests: []load.Request{messageCall(t, f, c.method, nil)}, Depth: 2, Duration: 100 * time.Millisecond}, failed(load.Refusal))
		c.want.Count = res.Failed()
		if len(res.Exceptions) != 1 || res.Exceptions[0] != c.want || res.Refused.Count == 0 || res.Latency.Count != 0 {
			t.Errorf("%s %s: %+v", c.dialect, c.method, res)
		}
	}
}

// wrongTRPC runs a server that answers each call with what edit makes of its frame.
func wrongTRPC(t *testing.T, edit func(frame []byte) []byte) string {
	l := listener(t)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerFrames(c, edit)
		}
	}()
	return l.Addr().String()
}

// answerFrames is one connection of wrongTRPC.
func answerFrames(c net.Conn, edit func(frame []byte) []byte) {
	defer c.Close()
	var in []byte
	scan, part := trpc.NewScanner(1<<20), make([]byte, 4096)
	for {
		for {
			frame, n, err := scan.Next(in)
			if n == 0 || err != nil {
				break
			}
			if _, err := c.Write(edit(frame)); err != nil {
				return
			}
			in = in[n:]
		}
		n, err := c.Read(part)
		if err != nil {
			return
		}
		in = append(in, part[:n]...)
	}
}

func TestWrongAnswersToMessagesAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		want load.ErrorKind
		edit func(frame []byte) []byte
	}{
		"a stream":               {load.Type, func(b []byte) []byte { b[2], b[3] = byte(trpc.Stream), byte(trpc.StreamData); return b }},
		"an id that nobody has":  {load.Sequence, func(b []byte) []byte { b[12] ^= 0xff; return b }},
		"two ids":                {load.Sequence, func(b []byte) []byte { b[trpc.HeadSize+4] ^= 1; return b }},
		"another magic number":   {load.Garbage, func(b []byte) []byte { b[0]++; return b }},
		"a broken header":        {load.Garbage, func(b []byte) []byte { b[trpc.HeadSize] = byte(protowire.Bytes); return b }},
		"the same call, changed": {load.Payload, func(b []byte) []byte { b[len(b)-1] = b[13]; return b }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := load.Form{Dialect: load.TRPC}
			r := messageCall(t, f, "/Test/Echo", []byte("body"))
			r.Expect = []byte("body")
			res := driveUntil(t, load.Config{Address: wrongTRPC(t, c.edit), Form: f, Requests: []load.Request{r}, Depth: 4, Duration: 100 * time.Millisecond, Timeout: 2 * time.Second}, failed(c.want))
			if res.Errors[c.want] == 0 {
				t.Errorf("%v, first %q", res.Errors, res.FirstError)
			}
		})
	}
}

func TestStructsAndMessagesAreNotMistaken(t *testing.T) {
	for _, d := range []load.Dialect{load.TRPC, load.GRPC} {
		if _, err := (&load.Form{Dialect: d}).Request("noop", []byte{0}); err == nil {
			t.Errorf("%s takes a struct", d)
		}
	}
	if _, err := new(load.Form).Message("/Test/Echo", transport.FlatBuffers, nil); err == nil {
		t.Error("a framed message has no envelope")
	}
}
