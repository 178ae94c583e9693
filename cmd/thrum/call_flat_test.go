package main

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatgeneric"
	"github.com/thrum-rpc/thrum/schema"
)

// serveFlat serves the orders of an IDL file and returns the address.
func serveFlat(t *testing.T, idl string, opts ...rpc.ServerOption) string {
	t.Helper()
	file, list := fbsidl.Load(idl)
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	place := func(_ context.Context, _ *schema.Method, req flatbuffers.Value) (any, error) {
		name, err := req.Field("items").Index(0).Field("name").Text()
		if err != nil {
			return nil, &rpc.BizStatus{Code: 7, Message: "nothing ordered", Extra: map[string]string{"least": "1"}}
		}
		return map[string]any{"name": name, "color": "Green"}, nil
	}
	stream := func(ctx context.Context, m *schema.Method, s *flatgeneric.Stream) error {
		var last any
		for {
			req, err := s.Recv()
			if err == io.EOF && m.Name() == "Feed" && last != nil {
				return s.Send(last)
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if last, err = place(ctx, m, req); err != nil {
				return err
			}
			if m.Name() == "Feed" {
				continue
			}
			for range 2 {
				if err := s.Send(last); err != nil {
					return err
				}
			}
		}
	}
	service, err := flatgeneric.Serve(file.Service("Shop"), place, stream)
	if err != nil {
		t.Fatal(err)
	}
	server := rpc.NewServer(append(opts, rpc.QueueTimeout(0), rpc.TaskExpiry(0))...)
	if err := server.Register(service); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return l.Addr().String()
}

func TestCallSpeaksToServicesOfFlatBuffers(t *testing.T) {
	idl := flatIDL(t)
	address := serveFlat(t, idl)
	const (
		ink   = `{"items":[{"name":"ink"}]}`
		green = `{"name":"ink","color":"Green"}` + "\n"
		pen   = `{"name":"pen","color":"Green"}` + "\n"
	)
	for _, c := range []struct {
		in             string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"", []string{"Shop.Place", ink}, exitOK, green, ""},
		{ink, []string{"shop.v1.Shop.Place", "-", "--dialect", "trpc", "--compress", "gzip"}, exitOK, green, ""},
		{ink, []string{"shop.v1.Shop.Place", "-", "--dialect", "grpc", "--compress", "gzip"}, exitOK, green, ""},
		{"", []string{"Shop.Chat", ink + "\n" + ink, "--dialect", "grpc"}, exitOK, green + green + green + green, ""},
		{"", []string{"Shop.Place", "--dialect", "grpc"}, exitFailed, "", `{"code":7,"message":"nothing ordered","extra":{"least":"1"}}` + "\n"},
		{"", []string{"Shop.Watch", ink}, exitOK, green + green, ""},
		{ink + `{"items":[{"name":"pen"}]}`, []string{"Shop.Feed", "-"}, exitOK, pen, ""},
		{"", []string{"Shop.Chat", ink + "\n" + ink}, exitOK, green + green + green + green, ""},
		{"", []string{"Shop.Chat"}, exitOK, "", ""},
		{"", []string{"Shop.Place"}, exitFailed, "", `{"code":7,"message":"nothing ordered"}` + "\n"},
		{"", []string{"Shop.Watch"}, exitFailed, "", `{"code":7,"message":"nothing ordered"}` + "\n"},
		{"", []string{"Shop.Place", `{"item":[]}`}, exitFailed, "", "thrum call: Order has no such field at item (offset 1) [unknown-field]\n"},
		{"", []string{"Shop.Feed", ink + ` {"item":[]}`}, exitFailed, "", "thrum call: Order has no such field at [1].item (offset 28) [unknown-field]\n"},
		{"", []string{"Shop.Feed", ink + ` {"items"`}, exitFailed, "", "thrum call: the input ends before ':' at [1] (offset 35) [unexpected-eof]\n"},
		{"", []string{"Shop.Plce"}, exitFailed, "", "thrum call: service Shop has no method Plce; did you mean Place?\n"},
	} {
		code, stdout, stderr := thrum(c.in, append(append([]string{"call", address}, c.args...), "--idl", idl)...)
		if code != c.code || stdout != c.stdout || stderr != c.stderr {
			t.Errorf("%q: got %d\n%s%s\nwant %d\n%s%s", c.args, code, stdout, stderr, c.code, c.stdout, c.stderr)
		}
	}
}

func TestWhatIsWrongWithACallOfFlatBuffersIsSaidWithoutAServer(t *testing.T) {
	idl := flatIDL(t)
	if _, stderr := expect(t, exitFailed, "call", "127.0.0.1:1", "Shop.Place", `{"item":[]}`, "--idl", idl); !strings.Contains(stderr, "no such field at item") {
		t.Errorf("got %q", stderr)
	}
	_, stderr := expect(t, exitUsage, "call", "127.0.0.1:1", "Shop.Place", "--idl", idl, "--dialect", "grpc", "--compress", "snappy")
	if !strings.Contains(stderr, "it can be gzip, none") {
		t.Errorf("got %q", stderr)
	}
}

func TestServicesOfFlatBuffersInADirectoryAreNotCalledAsThrift(t *testing.T) {
	idl := flatIDL(t)
	address := serveFlat(t, idl)
	for _, args := range [][]string{{"call", address, "Shop.Place"}, {"bench", address, "--method", "Shop.Place"}} {
		_, stderr := expect(t, exitUsage, append(args, "--idl", filepath.Dir(idl))...)
		if want := "--idl must name its file: --idl " + idl; !strings.Contains(stderr, want) {
			t.Errorf("%s: got %q, want %q", args[0], stderr, want)
		}
	}
}

func TestCallSpeaksToServicesOfFlatBuffersInsideTLS(t *testing.T) {
	idl := flatIDL(t)
	certificates, ca := testCertificate(t)
	address := serveFlat(t, idl, rpc.TLS(&tls.Config{Certificates: certificates}), rpc.Logger(slog.New(slog.DiscardHandler)))
	for _, dialect := range []string{"trpc", "grpc"} {
		out, _ := expect(t, exitOK, "call", address, "Shop.Place", `{"items":[{"name":"ink"}]}`, "--idl", idl, "--dialect", dialect, "--tls", "--tls-ca", ca)
		if want := `{"name":"ink","color":"Green"}` + "\n"; out != want {
			t.Errorf("over %s call printed %q", dialect, out)
		}
	}
}
