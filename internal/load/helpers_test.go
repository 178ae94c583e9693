package load_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/internal/load"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds the servers that tests drive, good ones and bad ones.

// text returns a struct whose field id is a string.
func text(id int16, s string) []byte {
	b := thriftwire.AppendField(nil, thriftwire.String, id)
	return thriftwire.AppendStop(thriftwire.AppendString(b, s))
}

// methods are what the servers of this module serve in these tests.
func methods() []rpc.Method {
	return []rpc.Method{
		{Name: "echo", Serve: func(_ context.Context, args, dst []byte) ([]byte, error) {
			_, _, n := thriftwire.ConsumeField(args) // a string, which goes to field 0
			dst = thriftwire.AppendField(dst, thriftwire.String, 0)
			return append(dst, args[n:]...), nil
		}},
		{Name: "noop", Serve: func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, 0), nil }},
		{Name: "slow", Serve: func(_ context.Context, _, dst []byte) ([]byte, error) {
			time.Sleep(5 * time.Millisecond)
			return append(dst, 0), nil
		}},
		{Name: "throw", Serve: func(_ context.Context, _, dst []byte) ([]byte, error) {
			return append(dst, text(1, "declared")...), nil
		}},
		{Name: "shed", Serve: func(context.Context, []byte, []byte) ([]byte, error) {
			return nil, &rpc.ApplicationException{Type: rpc.LoadShedding, Message: "enough"}
		}},
	}
}

// serve runs a server of this module and returns its address.
func serve(t testing.TB) string {
	t.Helper()
	s := rpc.NewServer(rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0)) // on any machine
	if err := s.Register(&rpc.Service{Name: "Test", Methods: append(methods(), messages()...)}); err != nil {
		t.Fatal(err)
	}
	l := listener(t)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	return l.Addr().String()
}

func listener(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// serveHTTP runs an HTTP server that answers POSTs with what the methods do.
func serveHTTP(t testing.TB) string {
	t.Helper()
	l := listener(t)
	table := map[string]rpc.Method{}
	for _, m := range methods() {
		table[m.Name] = m
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, n := thriftwire.ConsumeMessage(body)
		if n < 0 {
			http.Error(w, "no message", http.StatusBadRequest)
			return
		}
		reply := thriftwire.AppendMessage(nil, thriftwire.Reply, string(m.Name), m.SequenceID)
		reply, err := table[string(m.Name)].Serve(r.Context(), body[n:], reply)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		if f, ok := w.(http.Flusher); ok && len(reply) > 1000 { // in chunks
			w.Write(reply[:500])
			f.Flush()
			reply = reply[500:]
		}
		w.Write(reply)
	})}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

// forms are all ways in which requests travel.
func forms() map[string]load.Form {
	return map[string]load.Form{
		"framed":                  {},
		"unframed":                {Dialect: load.Unframed},
		"framed compact":          {Protocol: compact.Apache},
		"unframed compact":        {Dialect: load.Unframed, Protocol: compact.FBThrift},
		"theader":                 {Dialect: load.Header},
		"theader in order":        {Dialect: load.Header, InOrder: true},
		"theader compact":         {Dialect: load.Header, Protocol: compact.Apache},
		"theader zlib":            {Dialect: load.Header, Transform: header.Zlib},
		"theader compact zstd":    {Dialect: load.Header, Protocol: compact.FBThrift, Transform: header.Zstd},
		"ttheader":                {Dialect: load.TTHeader, Headers: []load.Pair{{Key: "isn", Value: "Test"}}},
		"ttheader compact":        {Dialect: load.TTHeader, Protocol: compact.Apache},
		"ttheader numbered":       {Dialect: load.TTHeader, Numbered: []ttheader.IntPair{{Key: ttheader.ToMethod, Value: "echo"}}},
		"ttheader framed":         {Dialect: load.TTHeaderFramed},
		"ttheader framed inorder": {Dialect: load.TTHeaderFramed, InOrder: true},
		"http2":                   {Dialect: load.HTTP2, Headers: []load.Pair{{Key: "X-Test", Value: "yes"}}},
		"http2 compact":           {Dialect: load.HTTP2, Protocol: compact.Apache},
		"http":                    {Dialect: load.HTTP, Headers: []load.Pair{{Key: "X-Test", Value: "yes"}}},
	}
}

// request makes a request.
func request(t testing.TB, f load.Form, method string, args []byte) load.Request {
	t.Helper()
	r, err := f.Request(method, args)
	if err != nil {
		t.Fatal(err)
	}
	r.Kind = method
	return r
}

// drive runs a load, whose replies have any time that a busy machine takes unless c says otherwise.
func drive(t testing.TB, c load.Config) *load.Result {
	t.Helper()
	if c.Network == "" {
		c.Network = "tcp"
	}
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	res, err := load.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// driveUntil runs a load again, for a longer time, until enough has happened: a machine may be so busy that hardly a
// request is sent in the first.
func driveUntil(t testing.TB, c load.Config, enough func(*load.Result) bool) *load.Result {
	t.Helper()
	for {
		res := drive(t, c)
		if c.Duration *= 4; enough(res) || c.Duration > time.Minute {
			return res
		}
	}
}

// answered is enough for most tests: n replies of each kind, or a failure.
func answered(n int64) func(*load.Result) bool {
	return func(res *load.Result) bool {
		fewest := res.Latency.Count
		for _, k := range res.Kinds {
			fewest = min(fewest, k.Latency.Count)
		}
		return res.Failed() > 0 || fewest >= n
	}
}

// failed is enough where an error of a kind must come.
func failed(kind load.ErrorKind) func(*load.Result) bool {
	return func(res *load.Result) bool { return res.Errors[kind] > 0 }
}
