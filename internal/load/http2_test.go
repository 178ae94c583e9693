package load_test

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/internal/load"
)

// This file tests how servers of HTTP/2 that answer wrongly are seen.

// overHTTP2 runs an HTTP/2 server, counts the connections that have had requests, and returns its address.
func overHTTP2(t *testing.T, serve http.HandlerFunc) (address string) {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{Protocols: protocols, Handler: serve}
	l := listener(t)
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

func TestFailuresOfHTTP2AreCountedAsWhatTheyAre(t *testing.T) {
	f := load.Form{Dialect: load.HTTP2}
	for name, c := range map[string]struct {
		want  load.ErrorKind
		serve http.HandlerFunc
	}{
		"a status":               {load.Status, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }},
		"no message":             {load.Garbage, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }},
		"nothing":                {load.Garbage, func(http.ResponseWriter, *http.Request) {}},
		"a stream that is reset": {load.Reset, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"no reply":               {load.Timeout, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := time.Minute
			if c.want == load.Timeout {
				timeout = 50 * time.Millisecond
			}
			res := driveUntil(t, load.Config{
				Address: overHTTP2(t, c.serve), Form: f, Requests: []load.Request{request(t, f, "noop", []byte{0})},
				Depth: 3, Duration: 100 * time.Millisecond, Timeout: timeout,
			}, failed(c.want))
			if res.Errors[c.want] == 0 || res.Replies > 0 {
				t.Errorf("%+v", res.Errors)
			}
		})
	}
}

func TestAConnectionThatAServerOfHTTP2LeavesIsMadeAgain(t *testing.T) {
	f := load.Form{Dialect: load.HTTP2}
	var n atomic.Int64
	address := overHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
		message, err := io.ReadAll(r.Body)
		if err != nil {
			return // the run has ended
		}
		if n.Add(1)%50 == 0 {
			w.Header().Set("Connection", "close") // which becomes GOAWAY
		}
		message[3] = 2 // a reply
		w.Write(message)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res, err := load.Run(ctx, load.Config{
		Network: "tcp", Address: address, Form: f, Requests: []load.Request{request(t, f, "noop", []byte{0})}, Depth: 5,
		Progress: func(p load.Progress) {
			if p.Replies > 200 {
				cancel()
			}
		},
	})
	if err != nil || res.Replies < 200 || res.Reconnects == 0 {
		t.Errorf("%v, %+v", err, res)
	}
}
