package main

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
)

// note is the message of the streams.
type note struct {
	Text string `thrift:"text,1"`
	N    int32  `thrift:"n,2"`
}

const notesIDL = `struct Note { 1: string text, 2: i32 n }
service Base { Note echo(1: Note note) (streaming.mode = "bidirectional") }
service Notes extends Base {
  Note count(1: Note note) (streaming.mode = "server")
  Note add(1: Note note) (streaming.mode = "client")
  sink<i32, i32> other(1: Note note)
}`

// serveNotes serves streams of Thrift and returns the address and the IDL.
func serveNotes(t *testing.T) (address, idl string) {
	t.Helper()
	dir := t.TempDir()
	idl = filepath.Join(dir, "notes.thrift")
	placeFile(t, idl, notesIDL)
	server := rpc.NewServer(rpc.QueueTimeout(0), rpc.TaskExpiry(0))
	err := server.Register(&rpc.Service{Name: "Notes", Methods: []rpc.Method{
		rpc.ServerStreaming("count", func(ctx context.Context, req *note, s stream.ServerStreamingServer[note]) error {
			for i := range req.N {
				if err := s.Send(ctx, &note{req.Text, i}); err != nil {
					return err
				}
			}
			if req.Text == "fail" {
				return &rpc.ApplicationException{Type: rpc.InternalError, Message: "as asked"}
			}
			return nil
		}),
		rpc.ClientStreaming("add", func(ctx context.Context, s stream.ClientStreamingServer[note, note]) error {
			sum := &note{}
			for {
				n, err := s.Recv(ctx)
				if err == io.EOF {
					return s.SendAndClose(ctx, sum)
				}
				if err != nil {
					return err
				}
				sum.Text, sum.N = sum.Text+n.Text, sum.N+n.N
			}
		}),
		rpc.BidiStreaming("echo", func(ctx context.Context, s stream.BidiStreamingServer[note, note]) error {
			for {
				n, err := s.Recv(ctx)
				if err == io.EOF {
					return nil
				}
				if err == nil {
					err = s.Send(ctx, n)
				}
				if err != nil {
					return err
				}
			}
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "notes.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return "unix:" + path, idl
}

func TestCallStreamsOfThrift(t *testing.T) {
	address, idl := serveNotes(t)
	for _, c := range []struct {
		method, stdin, json string
		code                int
		stdout, stderr      string
	}{
		{"Notes.count", "", `{"text":"a","n":2}`, exitOK, "{\"text\":\"a\",\"n\":0}\n{\"text\":\"a\",\"n\":1}\n", ""},
		{"Notes.count", "", "", exitOK, "", ""},
		{"Notes.count", "", `{"text":"fail","n":1}`, exitFailed, "{\"text\":\"fail\",\"n\":0}\n", "as asked"},
		{"Notes.add", "", `{"text":"a","n":2}{"text":"b","n":3}`, exitOK, "{\"text\":\"ab\",\"n\":5}\n", ""},
		{"Notes.add", "{\"n\":2}\n{\"n\":4}\n", "-", exitOK, "{\"text\":\"\",\"n\":6}\n", ""},
		{"Notes.echo", "", `{"text":"x"} {"text":"y"}`, exitOK, "{\"text\":\"x\",\"n\":0}\n{\"text\":\"y\",\"n\":0}\n", ""},
		{"Notes.echo", "", `{"n":"x"}`, exitFailed, "", "type mismatch"},
		{"Notes.echo", "", `{"txt":"x"}`, exitFailed, "", `has no field "txt"`},
		{"Notes.other", "", "{}", exitFailed, "", "streams, which generic calls cannot"},
	} {
		args := []string{"call", address, c.method}
		if c.json != "" {
			args = append(args, c.json)
		}
		code, stdout, stderr := thrum(c.stdin, append(args, "--idl", idl)...)
		if code != c.code || stdout != c.stdout || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s %s: %d\n%s%s", c.method, c.json, code, stdout, stderr)
		}
	}
	expect(t, exitUsage, "call", address, "Notes.echo", "--idl", idl, "--dialect", "framed")
	expect(t, exitFailed, "bench", address, "--method", "Notes.echo", "--idl", idl)
	if _, stderr := expect(t, exitFailed, "call", address+"x", "Notes.echo", "--idl", idl); !strings.Contains(stderr, "hint: is a server running") {
		t.Errorf("got %q", stderr)
	}
}
