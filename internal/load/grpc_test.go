package load_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/internal/load"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// answerGRPC answers with a message, unless it is nil, and a status in the trailer, unless that is "".
func answerGRPC(w http.ResponseWriter, message []byte, status string) {
	w.Header().Set("Content-Type", "application/grpc+flatbuffers")
	w.Header().Set("Trailer", "Grpc-Status")
	if message != nil {
		var prefix [grpc.PrefixSize]byte
		grpc.PutPrefix(prefix[:], len(message), false)
		w.Write(append(prefix[:], message...))
	}
	if status != "" {
		w.Header().Set("Grpc-Status", status)
	}
}

func TestWrongAnswersOverGRPCAreCounted(t *testing.T) {
	f := load.Form{Dialect: load.GRPC}
	for name, c := range map[string]struct {
		want  load.ErrorKind
		serve http.HandlerFunc
	}{
		"another message": {load.Payload, func(w http.ResponseWriter, _ *http.Request) { answerGRPC(w, []byte("cody"), "0") }},
		"no message":      {load.Garbage, func(w http.ResponseWriter, _ *http.Request) { answerGRPC(w, nil, "0") }},
		"no outcome":      {load.Garbage, func(w http.ResponseWriter, _ *http.Request) { answerGRPC(w, []byte("body"), "") }},
		"two messages": {load.Garbage, func(w http.ResponseWriter, _ *http.Request) {
			answerGRPC(w, []byte("a\x00\x00\x00\x00\x00"), "0")
			w.Write(make([]byte, 5))
		}},
		"a message cut off": {load.Garbage, func(w http.ResponseWriter, _ *http.Request) {
			answerGRPC(w, nil, "0")
			w.Write([]byte{0, 0, 0, 0, 9, 1})
		}},
		"HTTP":               {load.Garbage, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }},
		"a status of HTTP":   {load.Status, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }},
		"a refusal":          {load.Refusal, func(w http.ResponseWriter, _ *http.Request) { answerGRPC(w, nil, "8") }},
		"a code of no name":  {load.Refusal, func(w http.ResponseWriter, _ *http.Request) { answerGRPC(w, nil, "99") }},
		"a stream cut off":   {load.Reset, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"no answer for long": {load.Timeout, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := messageCall(t, f, "/Test/Echo", []byte("body"))
			r.Expect = []byte("body")
			timeout := time.Minute
			if c.want == load.Timeout {
				timeout = 50 * time.Millisecond
			}
			res := driveUntil(t, load.Config{
				Address: overHTTP2(t, c.serve), Form: f, Requests: []load.Request{r}, Depth: 3, Duration: 100 * time.Millisecond, Timeout: timeout,
			}, failed(c.want))
			if res.Errors[c.want] == 0 || res.Replies > 0 {
				t.Errorf("%v, first %q", res.Errors, res.FirstError)
			}
		})
	}
}

func TestErrorsOfApplicationsOverGRPCAreReplies(t *testing.T) {
	f := load.Form{Dialect: load.GRPC}
	address := overHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/shop.Orders/Get" || r.Header.Get("A") != "b" || r.Header.Get("Content-Type") != "application/grpc+flatbuffers" || r.Header.Get("Te") != "trailers" {
			answerGRPC(w, nil, "13")
			return
		}
		answerGRPC(w, nil, "5") // not found
	})
	f.Headers = []load.Pair{{Key: "a", Value: "b"}}
	res := driveUntil(t, load.Config{
		Address: address, Form: f, Requests: []load.Request{messageCall(t, f, "/shop.Orders/Get", []byte("body"))},
		Rate: 500, Depth: 50, Duration: 200 * time.Millisecond,
	}, func(res *load.Result) bool { return res.Declared > 0 })
	delete(res.Errors, load.Unsent) // the machine is busy
	if res.Failed() > 0 || res.Declared == 0 || res.Latency.Count != res.Declared {
		t.Errorf("%+v", res)
	}
}

func TestWhatGRPCHasNotIsRefused(t *testing.T) {
	for name, make := range map[string]func() (load.Request, error){
		"a compression": func() (load.Request, error) {
			return (&load.Form{Dialect: load.GRPC, Compression: trpc.Zlib}).Message("/T/M", transport.FlatBuffers, nil)
		},
		"a header of its own": func() (load.Request, error) {
			return (&load.Form{Dialect: load.GRPC, Headers: []load.Pair{{Key: "grpc-timeout", Value: "1S"}}}).Message("/T/M", transport.FlatBuffers, nil)
		},
		"a method without a service": func() (load.Request, error) {
			return (&load.Form{Dialect: load.GRPC}).Message("M", transport.FlatBuffers, nil)
		},
		"an order": func() (load.Request, error) {
			return (&load.Form{Dialect: load.GRPC, InOrder: true}).Message("/T/M", transport.FlatBuffers, nil)
		},
	} {
		if _, err := make(); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
