package grpc

import (
	"bytes"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/internal/conform/words"
	generator "github.com/thrum-rpc/thrum/internal/load"
	"github.com/thrum-rpc/thrum/rpc/transport"
	wire "github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file drives both servers with the generator of "thrum bench".

// wordCall makes a call of Repeat.
func wordCall(t *testing.T, f generator.Form, text string, count int32) generator.Request {
	t.Helper()
	r, err := f.Message(repeat, transport.FlatBuffers, word(text, count))
	if err != nil {
		t.Fatal(err)
	}
	r.Kind, r.Same = text, true
	return r
}

func word(text string, count int32) []byte {
	return words.New(nil, text, count).FinishedBytes()
}

// drive runs the generator for a moment, and for longer ones until each kind of call was answered or one has failed.
func drive(t *testing.T, c generator.Config) *generator.Result {
	t.Helper()
	c.Network, c.Connections, c.Depth, c.Timeout = "tcp", 2, 30, time.Minute
	for c.Duration = 100 * time.Millisecond; ; c.Duration *= 4 {
		res, err := generator.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		delete(res.Errors, generator.Unsent) // the machine is busy
		fewest := res.Latency.Count
		for _, k := range res.Kinds {
			fewest = min(fewest, k.Latency.Count)
		}
		if fewest > 0 || res.Failed() > 0 || c.Duration > time.Minute {
			return res
		}
	}
}

func TestServersAnswerTheLoadGenerator(t *testing.T) {
	each(t, func(t *testing.T, address string, _ *waits) {
		for name, c := range map[string]generator.Config{
			"closed loop": {Form: generator.Form{Dialect: generator.GRPC}},
			"open loop":   {Form: generator.Form{Dialect: generator.GRPC}, Rate: 500},
			"gzip":        {Form: generator.Form{Dialect: generator.GRPC, Compression: trpc.Gzip}},
			"metadata":    {Form: generator.Form{Dialect: generator.GRPC, Headers: []generator.Pair{{Key: "who", Value: "me"}, {Key: "trace-bin", Value: "\x00\xff"}}}},
		} {
			c.Address = address
			c.Requests = []generator.Request{wordCall(t, c.Form, "a", 2), wordCall(t, c.Form, "not found", 1)}
			res := drive(t, c)
			if res.Failed() > 0 || len(res.Kinds) != 2 || res.Kinds[0].Latency.Count == 0 || res.Declared == 0 || res.Declared != res.Kinds[1].Latency.Count {
				t.Errorf("%s: %+v", name, res)
			}
		}
	})
}

func TestTheLoadGeneratorSeesWhatServersSayWrongly(t *testing.T) {
	each(t, func(t *testing.T, address string, _ *waits) {
		f := generator.Form{Dialect: generator.GRPC}
		other := wordCall(t, f, "a", 3)
		other.Expect = bytes.Repeat([]byte("a"), 3)
		if res := drive(t, generator.Config{Address: address, Form: f, Requests: []generator.Request{other}}); res.Errors[generator.Payload] == 0 || res.Replies > 0 {
			t.Errorf("another answer: %+v", res)
		}
		res := drive(t, generator.Config{Address: address, Form: f, Requests: []generator.Request{wordCall(t, f, "invalid", 1)}})
		if res.Errors[generator.Refusal] == 0 || len(res.Exceptions) != 1 || res.Exceptions[0].Type != int32(wire.InvalidArgument) || res.Exceptions[0].Ex != "as asked" {
			t.Errorf("a refusal: %+v", res)
		}
	})
}
