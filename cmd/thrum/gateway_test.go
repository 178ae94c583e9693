package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// sharedText is what goroutines write and a test reads.
type sharedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *sharedText) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *sharedText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// startGateway runs "thrum gateway" until the test ends, and returns its address.
func startGateway(t *testing.T, stderr io.Writer, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"gateway", "--http", "127.0.0.1:0"}, args...), strings.NewReader(""), in, stderr)
		in.Close()
	}()
	t.Cleanup(func() {
		cancel()
		if c := <-code; c != exitOK {
			t.Errorf("the gateway ended with %d", c)
		}
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		cancel()
		t.Fatalf("the gateway says nothing on standard output: %v", stderr)
	}
	go io.Copy(io.Discard, out)
	return regexp.MustCompile(`http://(\S+)/`).FindStringSubmatch(lines.Text())[1]
}

// post returns the status and the body of a reply.
func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	reply, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(text)
}

func TestGatewayServesAnyServerAndFollowsItsIDL(t *testing.T) {
	backend, _ := serveShop(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.thrift")
	placeFile(t, path, "service Shop { string version() }")
	placeFile(t, filepath.Join(dir, "flat.fbs"), "table A {} rpc_service Flat { get(A):A; }")
	var stderr sharedText
	address := startGateway(t, &stderr, backend, "--idl", dir, "--dialect", "ttheader")
	if status, text := post(t, "http://"+address+"/Shop/version", "{}"); status != http.StatusOK || strings.TrimSpace(text) != `"bookshop 1"` {
		t.Errorf("got %d %s", status, text)
	}
	page, err := http.NewRequest(http.MethodGet, "http://"+address+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	page.Header.Set("Accept", "text/html")
	if reply, err := http.DefaultClient.Do(page); err != nil || !strings.HasPrefix(reply.Header.Get("Content-Type"), "text/html") {
		t.Errorf("the page for browsers: %v", err)
	} else {
		reply.Body.Close()
	}
	if status, _ := post(t, "http://"+address+"/Shop/ping", "{}"); status != http.StatusNotFound {
		t.Errorf("a method that the IDL has not: %d", status)
	}
	if status, _ := post(t, "http://"+address+"/Flat/get", "{}"); status != http.StatusNotFound {
		t.Errorf("a method of FlatBuffers: %d", status)
	}
	placeFile(t, path, "service Shop { string version()  void ping( }") // wrong, and so reported
	until(t, "a report", func() bool { return strings.Contains(stderr.String(), "shop.thrift:1:") })
	placeFile(t, path, "service Shop { string version()\n\n\n  void ping() }")
	until(t, "the new method", func() bool {
		status, _ := post(t, "http://"+address+"/Shop/ping", "{}")
		return status == http.StatusNoContent
	})
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not come", what)
		}
	}
}

func TestGatewaySaysWhatIsWrong(t *testing.T) {
	backend, _ := serveShop(t)
	dir := t.TempDir()
	wrong := filepath.Join(dir, "wrong.thrift")
	placeFile(t, wrong, "service {")
	placeFile(t, filepath.Join(dir, "flat", "a.fbs"), "table A {} rpc_service Flat { get(A):A; }")
	for _, args := range [][]string{
		{}, {backend}, {backend, "second", "--idl", wrong}, {backend, "--idl", "x.fbs"}, {backend, "--idl", "x.proto"},
		{backend, "--idl", filepath.Join(dir, "flat")},
		{"nowhere", "--idl", "../../examples/shop/shop.thrift"}, {backend, "--idl", "../../examples/shop/shop.thrift", "--dialect", "ttheade"},
	} {
		expect(t, exitUsage, append([]string{"gateway"}, args...)...)
	}
	for want, args := range map[string][]string{
		"wrong.thrift:1:9: error":                            {backend, "--idl", wrong},
		"there is no such file":                              {backend, "--idl", filepath.Join(dir, "none.thrift")},
		"no .thrift or .fbs file":                            {backend, "--idl", t.TempDir()},
		"hint: is a server running at unix:" + dir + "/none": {"unix:" + dir + "/none", "--idl", "../../examples/shop/shop.thrift"},
		"missing port":                                       {backend, "--idl", "../../examples/shop/shop.thrift", "--http", "127.0.0.1"},
	} {
		if _, stderr := expect(t, exitFailed, append([]string{"gateway"}, args...)...); !strings.Contains(stderr, want) {
			t.Errorf("%v: got %q, want %q", args, stderr, want)
		}
	}
}
