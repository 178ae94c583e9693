package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/store"
	"github.com/thrum-rpc/thrum/rpc"
)

// demoRun is a demo that runs.
type demoRun struct {
	text         string // what it printed
	thrift, http string // its addresses
	cancel       context.CancelFunc
	code         chan int
}

// startDemo runs "thrum demo" until stop or the end of the test.
func startDemo(t *testing.T, args ...string) *demoRun {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	d := &demoRun{cancel: cancel, code: make(chan int, 1)}
	var stderr bytes.Buffer
	go func() {
		d.code <- run(ctx, append([]string{"demo"}, args...), strings.NewReader(""), in, &stderr)
		in.Close()
	}()
	t.Cleanup(cancel)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		d.text += lines.Text() + "\n"
		if strings.HasPrefix(lines.Text(), "Ctrl-C") {
			go io.Copy(io.Discard, out)
			d.thrift = regexp.MustCompile(`Thrift  (\S+)`).FindStringSubmatch(d.text)[1]
			d.http = regexp.MustCompile(`HTTP    http://(\S+)/`).FindStringSubmatch(d.text)[1]
			return d
		}
	}
	t.Fatalf("the demo ended with %d: %s%s", <-d.code, d.text, stderr.String())
	return nil
}

// stop ends the demo as Ctrl-C does and returns its exit code.
func (d *demoRun) stop() int {
	d.cancel()
	return <-d.code
}

// commands returns the printed commands as words.
func (d *demoRun) commands() (all [][]string) {
	for _, line := range strings.Split(d.text, "\n") {
		if !strings.HasPrefix(line, "  curl ") && !strings.HasPrefix(line, "  go run ") {
			continue
		}
		all = append(all, shellWords(line))
	}
	return all
}

// shellWords splits a command at spaces outside single quotes.
func shellWords(line string) (words []string) {
	for _, w := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
		words = append(words, strings.Trim(w, "'"))
	}
	return words
}

// curl does what curl does with -s, -H and -d.
func curl(t *testing.T, words []string) string {
	t.Helper()
	verb, url, body := http.MethodGet, "", ""
	header := http.Header{}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-s":
		case "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			header.Set(name, value)
		case "-d":
			i++
			verb, body = http.MethodPost, words[i]
		default:
			url = words[i]
		}
	}
	r, err := http.NewRequest(verb, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header, r.Close = header, true
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	b, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestDemoAnswersTheCommandsItPrints(t *testing.T) {
	before := runtime.NumGoroutine()
	atRoot(t)
	d := startDemo(t, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
	commands := d.commands()
	if len(commands) != 3 {
		t.Fatalf("%d commands in:\n%s", len(commands), d.text)
	}
	hide := strings.NewReplacer(d.thrift, "THRIFT", d.http, "HTTP")
	out := hide.Replace(d.text)
	for _, words := range commands {
		out += "\n$ " + hide.Replace(strings.Join(words, " ")) + "\n"
		switch words[0] {
		case "curl":
			out += curl(t, words)
		default: // go run ./cmd/thrum …
			stdout, _ := expect(t, exitOK, words[3:]...)
			out += stdout
		}
	}
	golden(t, "demo.golden", out)

	if code := d.stop(); code != exitOK {
		t.Errorf("the stopped demo's exit code is %d", code)
	}
	for _, address := range []string{d.thrift, d.http} {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			t.Errorf("%s is still open", address)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if runtime.NumGoroutine() <= before { // goroutines end a little after what they serve
			return
		}
	}
	stacks := make([]byte, 64<<10)
	t.Errorf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
}

func TestDemoTakesFreePortsWhereTheUsualAreTaken(t *testing.T) {
	for _, address := range []string{demoThrift, demoHTTP} {
		// If somebody else has it already, it is taken all the same.
		if l, err := net.Listen("tcp", address); err == nil {
			defer l.Close()
		}
	}
	d := startDemo(t)
	if d.thrift == demoThrift || d.http == demoHTTP {
		t.Errorf("the demo says that it took %s and %s", d.thrift, d.http)
	}
	if got := curl(t, []string{"curl", "-s", "http://" + d.http + "/v1/version"}); got != "\"bookshop 1\"\n" {
		t.Errorf("got %q", got)
	}
	if code := d.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestDemoRefusesAnAddressThatIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, stderr := expect(t, exitFailed, "demo", "--listen", l.Addr().String()); !strings.Contains(stderr, "in use") {
		t.Errorf("stderr: %q", stderr)
	}
}

// serveShop serves the bookshop on a Unix socket.
func serveShop(t *testing.T) (address string, books *store.Store) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s, books := rpc.NewServer(rpc.QueueTimeout(0), rpc.TaskExpiry(0)), store.New() // on any machine
	if err := s.Register(shop.NewShopService(books)); err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return "unix:" + path, books
}

func TestCallPrintsResultsAndExceptions(t *testing.T) {
	atRoot(t)
	address, books := serveShop(t)
	idl := []string{"--idl", "examples/shop/shop.thrift"}
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"Shop.version"}, exitOK, "\"bookshop 1\"\n", ""},
		{[]string{"Shop.version", "{}", "--dialect=unframed"}, exitOK, "\"bookshop 1\"\n", ""},
		{[]string{"Shop.version", "--dialect=ttheader"}, exitOK, "\"bookshop 1\"\n", ""},
		{[]string{"Shop.version", "--dialect=http", "--path=/thrift"}, exitOK, "\"bookshop 1\"\n", ""},
		{[]string{"Shop.version", "--dialect=http2"}, exitOK, "\"bookshop 1\"\n", ""},
		{[]string{"Shop.version", "--protocol=compact"}, exitOK, "\"bookshop 1\"\n", ""},
		{[]string{"Shop.version", "--dialect=theader", "--protocol=compact-fbthrift", "--compress=zstd"}, exitOK, "\"bookshop 1\"\n", ""},
		{[]string{"Shop.version", "--multiplexed"}, exitOK, "\"bookshop 1\"\n", ""},
		{[]string{"Shop.ping"}, exitOK, "", ""},
		{[]string{"Shop.note", `{"line": "x"}`}, exitOK, "", ""},
		{[]string{"Shop.stock", `{"ids": [2]}`}, exitOK, "{\"2\":2}\n", ""},
		{[]string{"Shop.getOrder", `{"id": 9}`}, exitFailed, "",
			`{"exception":"NotFound","fields":{"kind":"order","key":"9","message":"there is no order 9"}}` + "\n"},
		{[]string{"Shop.drill", `{"how": "UNDECLARED"}`}, exitFailed, "", "thrum call: internal error: this error is not declared\n"},
		{[]string{"Shop.getOrder", `{"id": "x"}`}, exitFailed, "",
			"thrum call: arguments: type mismatch: i64 expected, got a string at id (offset 7) [type-mismatch]\n"},
		{[]string{"Shop.stock", `{"id": [2]}`}, exitFailed, "",
			"thrum call: arguments: stock_args has no field \"id\" (offset 1) [unknown-field]\n"},
		{[]string{"Shop.nothing"}, exitFailed, "", "thrum call: service Shop has no method nothing; it has version, ping, note, getBook, " +
			"search, cover, viewed, subjects, shelves, stock, placeOrder, getOrder, redirect, cancelOrder, echo, describe, drill\n"},
		{[]string{"Other.get"}, exitFailed, "", "thrum call: examples/shop/shop.thrift has no service Other; it has Shop\n"},
	} {
		code, stdout, stderr := thrum("", append(append([]string{"call", address}, c.args...), idl...)...)
		if code != c.code || stdout != c.stdout || stderr != c.stderr {
			t.Errorf("%q: got %d\n%s%s\nwant %d\n%s%s", c.args, code, stdout, stderr, c.code, c.stdout, c.stderr)
		}
	}
	code, stdout, _ := thrum(`{"ids": [3]}`, append([]string{"call", address, "Shop.stock", "-"}, idl...)...)
	if code != exitOK || stdout != "{\"3\":4}\n" {
		t.Errorf("arguments from standard input: %d %s", code, stdout)
	}
	deadline := time.Now().Add(30 * time.Second)
	for len(books.Notes()) == 0 { // a oneway call takes effect some time after it was made
		if time.Now().After(deadline) {
			t.Fatal("the oneway call note took no effect")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestCallFindsServicesInADirectory(t *testing.T) {
	atRoot(t)
	address, _ := serveShop(t)
	for _, c := range []struct {
		method         string
		code           int
		stdout, stderr string
	}{
		{"Shop.version", exitOK, "\"bookshop 1\"\n", ""},
		{"shop.thrift:Shop.version", exitOK, "\"bookshop 1\"\n", ""},
		{"Shop.nothing", exitFailed, "", "thrum call: service Shop has no method nothing; it has version,"},
		{"Other.get", exitFailed, "", "thrum call: idl: no service \"Other\"; there are "},
		{"Shop", exitUsage, "", "Service.method"},
	} {
		code, stdout, stderr := thrum("", "call", address, c.method, "--idl", "examples/shop")
		if code != c.code || stdout != c.stdout || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: got %d\n%s%s", c.method, code, stdout, stderr)
		}
	}
	if code, _, stderr := thrum("", "call", address, "Shop.version", "--idl", "cmd/thrum/testdata"); code != exitFailed || !strings.Contains(stderr, "broken.thrift:") {
		t.Errorf("a file that is wrong: %d %s", code, stderr)
	}
}

func TestCallSaysThatNobodyAnswers(t *testing.T) {
	address := "unix:" + filepath.Join(t.TempDir(), "nobody")
	_, stderr := expect(t, exitFailed, "call", address, "Base.ping", "--idl", "../../examples/shop/common.thrift")
	if !strings.Contains(stderr, "dial") {
		t.Errorf("stderr: %q", stderr)
	}
}

func TestCallHintsAtFramesWhenTheServerHangsUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 100))
			c.Close()
		}
	}()
	_, stderr := expect(t, exitFailed, "call", l.Addr().String(), "Base.ping", "--idl", "../../examples/shop/common.thrift")
	if !strings.Contains(stderr, "hint: the server may speak another dialect, such as --dialect=unframed") {
		t.Errorf("stderr: %q", stderr)
	}
}

func TestCallGivesUpInTime(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, stderr := expect(t, exitFailed, "call", l.Addr().String(), "Base.ping", "--idl", "../../examples/shop/common.thrift", "--timeout", "1s")
	if !strings.Contains(stderr, "deadline") {
		t.Errorf("stderr: %q", stderr)
	}
}

func TestCommandsShowWhatIsWrongWithIDL(t *testing.T) {
	for _, args := range [][]string{
		{"call", "localhost:1", "Shop.get", "--idl", "testdata/broken.thrift"},
		{"gen", "testdata/broken.thrift", "-o", t.TempDir()},
		{"convert", "--from", "json", "--to", "binary", "--idl", "testdata/broken.thrift", "--type", "Book"},
	} {
		if _, stderr := expect(t, exitFailed, args...); !strings.Contains(stderr, "broken.thrift:5:") || !strings.Contains(stderr, "^") {
			t.Errorf("%q: %s", args, stderr)
		}
	}
}

func TestTheDemoShowsItsStatusWhereItIsTold(t *testing.T) {
	d := startDemo(t, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	address := regexp.MustCompile(`status is at (http://\S+/)`).FindStringSubmatch(d.text)
	if address == nil {
		t.Fatal(d.text)
	}
	for path, want := range map[string]string{"readyz": "ok", "": "Server bookshop", "status.json": `"ready": true`} {
		reply, err := http.Get(address[1] + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("/%s: %v, %s", path, err, text)
		}
	}
	client, err := rpc.Dial(t.Context(), "tcp", d.thrift)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Invoke(t.Context(), &rpc.Invocation{Service: "FacebookService", Method: "getStatus"}); err != nil {
		t.Error(err)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestDemoWithEtcdSaysWhereItRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, stderr := expect(t, exitFailed, "demo", "--etcd"); !strings.Contains(stderr, "git clone https://github.com/thrum-rpc/thrum") {
		t.Errorf("stderr: %q", stderr)
	}
}
