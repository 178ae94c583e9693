package interop

// fbthrift by the byte: no package of it exists to test against, so vectors
// written by hand from its wire format stand for it.

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

// TestFBThriftVectors sends the requests of testdata/fbthrift.txt and compares
// the answers with those that stand there.
func TestFBThriftVectors(t *testing.T) {
	server, address := startVectors(t)
	runVectors(t, "testdata/fbthrift.txt", func() (*rpc.Server, string) { return server, address })
}

// TestFBThriftGoodbyes does so with testdata/fbthrift_goaway.txt, whose cases have servers of their own that stop.
func TestFBThriftGoodbyes(t *testing.T) {
	patience := rpc.Grace(time.Minute, time.Minute) // with clients that stay
	runVectors(t, "testdata/fbthrift_goaway.txt", func() (*rpc.Server, string) { return startVectors(t, patience) })
}

// runVectors sends the requests of a file, each case to the server that serve returns.
func runVectors(t *testing.T, name string, serve func() (*rpc.Server, string)) {
	t.Helper()
	golden, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var server *rpc.Server
	var out strings.Builder
	var conn net.Conn
	for line := range strings.Lines(string(golden)) {
		text := strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(text, "<") {
			continue
		}
		out.WriteString(line)
		kind, tokens, _ := strings.Cut(text, " ")
		switch kind {
		case "==":
			var address string
			server, address = serve()
			conn = connect(t, address)
		case "~":
			stop(t, server)
		case ">", "-", "!":
			b := vector(t, tokens)
			if kind != "!" {
				b = slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b)
			}
			if _, err := conn.Write(b); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if kind != "-" {
				fmt.Fprintf(&out, "< %s\n", answer(t, conn, b))
			}
		}
	}
	if *rewrite {
		if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got := strings.Split(out.String(), "\n")
	for i, want := range strings.Split(string(golden), "\n") {
		if i >= len(got) || got[i] != want {
			t.Fatalf("line %d:\nwant %s\n got %s", i+1, want, strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""))
		}
	}
}

// stop lets a server begin to stop.
func stop(t *testing.T, server *rpc.Server) {
	t.Helper()
	go server.Shutdown(t.Context())
	for end := time.Now().Add(30 * time.Second); !server.Stopping(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the server does not stop")
		}
	}
}

// startVectors serves methods on the bytes of their structs, and returns the
// server and its address.
func startVectors(t *testing.T, opts ...rpc.ServerOption) (*rpc.Server, string) {
	t.Helper()
	method := func(name string, serve func(ctx context.Context, args, dst []byte) ([]byte, error)) rpc.Method {
		return rpc.Method{Name: name, Serve: serve}
	}
	say := func(dst []byte, text string) []byte {
		dst = thriftwire.AppendField(dst, thriftwire.String, 0)
		return thriftwire.AppendStop(thriftwire.AppendString(dst, text))
	}
	server := rpc.NewServer(append(opts, rpc.Logger(slog.New(slog.DiscardHandler)), rpc.Overloaded(func(call rpc.CallInfo) error {
		if call.Method() == "shed" {
			return errors.New("not now")
		}
		return nil
	}))...)
	methods := []rpc.Method{
		method("echo", func(_ context.Context, args, dst []byte) ([]byte, error) { return append(dst, args...), nil }),
		method("note", func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, 0), nil }),
		method("shed", func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, 0), nil }),
		method("fail", func(context.Context, []byte, []byte) ([]byte, error) { return nil, errors.New("out of paper") }),
		method("headers", func(ctx context.Context, _, dst []byte) ([]byte, error) {
			info, _ := rpc.Info(ctx)
			var pairs []string
			for key, value := range info.Headers() {
				pairs = append(pairs, key+"="+value)
			}
			slices.Sort(pairs)
			return say(dst, strings.Join(pairs, " ")), nil
		}),
		method("urgency", func(ctx context.Context, _, dst []byte) ([]byte, error) {
			info, _ := rpc.Info(ctx)
			_, limited := ctx.Deadline()
			return say(dst, fmt.Sprintf("%v, deadline: %v", info.Priority(), limited)), nil
		}),
	}
	if err := server.Register(&rpc.Service{Name: "Vectors", Methods: methods}); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return server, listener.Addr().String()
}

func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

// vector reads the text form of bytes.
func vector(t *testing.T, tokens string) []byte {
	t.Helper()
	var out []byte
	for tokens = strings.TrimSpace(tokens); tokens != ""; tokens = strings.TrimSpace(tokens) {
		if tokens[0] == '"' {
			text, rest, _ := strings.Cut(tokens[1:], `"`)
			out, tokens = append(out, text...), rest
			continue
		}
		end := strings.IndexAny(tokens+" ", ` "`)
		b, err := hex.DecodeString(tokens[:end])
		if err != nil {
			t.Fatalf("%s: %v", tokens, err)
		}
		out, tokens = append(out, b...), tokens[end:]
	}
	return out
}

// answer reads the answer to a request and returns it as text.
func answer(t *testing.T, conn net.Conn, request []byte) string {
	t.Helper()
	if request[0] == 0x82 {
		// Unframed, the end is where the struct ends; here it ends with the last
		// byte that is 0, as in the request.
		b := make([]byte, len(request))
		if _, err := io.ReadFull(conn, b); err != nil {
			t.Fatal(err)
		}
		return render(b)
	}
	var length [4]byte
	switch _, err := io.ReadFull(conn, length[:]); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		t.Fatal("no answer")
	case err != nil:
		return "the connection is closed"
	}
	b := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(conn, b); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(b, []byte{0x0f, 0xff}) {
		return render(b)
	}
	var f header.Frame
	var x header.Transformer
	if err := f.Parse(b); err != nil {
		t.Fatal(err)
	}
	message, err := x.Undo(nil, &f, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, transform := range f.Transforms {
		name += fmt.Sprint(transform, " ")
	}
	// The prefix field by field, then what the header holds.
	head := b[:len(b)-len(f.Payload)]
	return fmt.Sprintf("%x %x %x %x %s  %s%s", head[:2], head[2:4], head[4:8], head[8:10], render(head[10:]), name, render(message))
}

// render writes bytes as text: runs of printable letters, and the rest as
// hexadecimal digits in words.
func render(b []byte) string {
	var words []string
	for len(b) > 0 {
		n := 0
		for n < len(b) && b[n] >= ' ' && b[n] <= '~' && b[n] != '"' {
			n++
		}
		if n > 1 {
			words, b = append(words, `"`+string(b[:n])+`"`), b[n:]
			continue
		}
		n = 1
		for n < min(len(b), 4) && (b[n] < ' ' || b[n] > '~') {
			n++
		}
		words, b = append(words, hex.EncodeToString(b[:n])), b[n:]
	}
	return strings.Join(words, " ")
}
