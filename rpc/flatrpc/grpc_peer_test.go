package flatrpc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/conform/words"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
)

// This file holds peers of gRPC that are made of net/http alone, and so say what our own sides do not.

// overHTTP2 returns a transport that speaks HTTP/2 in the clear.
func overHTTP2(t *testing.T) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// post makes a call of Repeat with further fields and returns the fields that its answer ends with.
func post(t *testing.T, address string, fields http.Header) http.Header {
	t.Helper()
	message := words.New(nil, "x", 2).FinishedBytes()
	body := make([]byte, grpc.PrefixSize, grpc.PrefixSize+len(message))
	grpc.PutPrefix(body, len(message), false)
	r, err := http.NewRequestWithContext(mustEnd(t), http.MethodPost, "http://"+address+repeatMethod, bytes.NewReader(append(body, message...)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/grpc+flatbuffers"}, "Te": {"trailers"}}
	for name, values := range fields {
		r.Header[name] = values
	}
	reply, err := overHTTP2(t).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if _, err := io.ReadAll(reply.Body); err != nil {
		t.Fatal(err)
	}
	if len(reply.Trailer) > 0 {
		return reply.Trailer
	}
	return reply.Header
}

func TestATimeoutOfGRPCIsTheHandlersDeadline(t *testing.T) {
	left := make(chan time.Duration, 1)
	_, address := serve(t, []rpc.Method{flatrpc.Unary("Repeat", words.Verifier(), func(ctx context.Context, req *words.Word) (*flatbuf.Builder, error) {
		deadline, ok := ctx.Deadline()
		if !ok {
			left <- 0
		} else {
			left <- time.Until(deadline)
		}
		return repeat(ctx, req)
	})})
	for text, within := range map[string][2]time.Duration{
		"1H":        {30 * time.Minute, time.Hour},
		"2562047H":  {10_000 * time.Hour, 1<<63 - 1}, // as Java has it for the longest time it knows
		"99999999H": {10_000 * time.Hour, 1<<63 - 1},
		"0n":        {-time.Hour, -1},
	} {
		end := post(t, address, http.Header{"Grpc-Timeout": {text}})
		if got := <-left; got < within[0] || got > within[1] {
			t.Errorf("with the timeout %s the handler has %v left, status %v", text, got, end["Grpc-Status"])
		}
	}
}

func TestAServerThatGoesLosesItsStreamsOverGRPC(t *testing.T) {
	server, address := serve(t, streaming())
	s, err := flatrpc.OpenBidi[words.Word](mustEnd(t), dial(t, address, rpc.GRPC()), "/test.Words/Echo", words.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Send(words.New(nil, "x", 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); err != nil {
		t.Fatal(err)
	}
	server.Close()
	_, err = s.Recv()
	var e *stream.Error
	if !errors.As(err, &e) || e.Code != stream.Lost {
		t.Errorf("the client is told %v", err)
	}
}

// otherServer returns the address of a server of HTTP/2 that runs handle for each request.
func otherServer(t *testing.T, handle http.HandlerFunc) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: handle, Protocols: protocols}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return l.Addr().String()
}

func TestAResetStreamOverGRPCIsNoLostConnection(t *testing.T) {
	for name, begin := range map[string]func(http.ResponseWriter){
		"before its header": func(http.ResponseWriter) {},
		"behind its header": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/grpc+flatbuffers")
			http.NewResponseController(w).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			address := otherServer(t, func(w http.ResponseWriter, r *http.Request) {
				begin(w)
				panic(http.ErrAbortHandler)
			})
			s, err := flatrpc.OpenBidi[words.Word](mustEnd(t), dial(t, address, rpc.GRPC()), "/test.Words/Echo", words.Verifier())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			_, err = s.Recv()
			var e *stream.Error
			var status *grpc.Status
			if !errors.As(err, &e) || e.Code != stream.Reset || !errors.As(err, &status) || status.Code != grpc.Internal {
				t.Errorf("the client is told %v", err)
			}
		})
	}
}

func TestAStatusOfGRPCCountsMoreThanThatOfHTTP(t *testing.T) {
	address := otherServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = []string{"application/grpc"}
		w.Header()["Grpc-Status"], w.Header()["Grpc-Message"] = []string{"7"}, []string{"no%21"}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	var status *grpc.Status
	_, err := callRepeat(mustEnd(t), dial(t, address, rpc.GRPC()), "x", 1)
	if !errors.As(err, &status) || status.Code != grpc.PermissionDenied || status.Message != "no!" {
		t.Errorf("the client is told %v", err)
	}
}

func TestAnAnswerOfGRPCThatEndsInsideAMessageIsAProtocolError(t *testing.T) {
	address := otherServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc+flatbuffers")
		w.Write([]byte{0, 0, 0})
	})
	s, err := flatrpc.OpenBidi[words.Word](mustEnd(t), dial(t, address, rpc.GRPC()), "/test.Words/Echo", words.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Recv()
	var e *stream.Error
	if !errors.As(err, &e) || e.Code != stream.Protocol {
		t.Errorf("the client is told %v", err)
	}
}
