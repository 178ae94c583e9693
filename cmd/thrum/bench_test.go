package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/store"
	"github.com/thrum-rpc/thrum/internal/load"
	"github.com/thrum-rpc/thrum/rpc"
)

// benchJSON runs "thrum bench" and returns its result, without what a busy machine does not send in time. It
// runs again, for a longer time, where hardly anything was sent at all.
func benchJSON(t *testing.T, code int, address string, args ...string) benchReport {
	t.Helper()
	for duration := 100 * time.Millisecond; ; duration *= 4 {
		got, out, stderr := thrum("", append([]string{"bench", address, "--idl", shopIDL, "--warmup", "0s", "--duration", duration.String(), "--json-out", "-"}, args...)...)
		var r benchReport
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatalf("%v in %s%s", err, out, stderr)
		}
		delete(r.Result.Errors, load.Unsent)
		if r.Result.Failed() == 0 && r.Result.Latency.Count < 40 && duration < time.Minute {
			continue
		}
		if r.Result.Failed() == 0 && r.Result.Latency.Count > 0 && got == exitFailed {
			got = exitOK
		}
		if got != code {
			t.Fatalf("%q: exit code %d, want %d\n%s%s", args, got, code, out, stderr)
		}
		return r
	}
}

// benchText runs "thrum bench" and returns what it prints. It runs again, for a longer time, until want is in that.
func benchText(t *testing.T, code int, want, address string, args ...string) string {
	t.Helper()
	for duration := 50 * time.Millisecond; ; duration *= 4 {
		got, out, stderr := thrum("", append([]string{"bench", address, "--warmup", "0s", "--duration", duration.String()}, args...)...)
		switch {
		case got == code && strings.Contains(out, want):
			return out
		case duration > time.Minute:
			t.Fatalf("%q: exit code %d, want %d and %q in\n%s%s", args, got, code, want, out, stderr)
		}
	}
}

func TestBenchSpeaksEveryDialect(t *testing.T) {
	address, _ := serveShop(t)
	for _, args := range []string{
		"--dialect framed", "--dialect unframed", "--dialect framed --protocol compact", "--dialect unframed --protocol compact-fbthrift",
		"--dialect theader", "--dialect theader --compress zlib --header a=b", "--dialect theader --compress zstd --protocol compact",
		"--dialect ttheader", "--dialect ttheader --protocol compact --in-order", "--dialect ttheader-framed --header isn=Shop",
		"--dialect http --path /x", "--dialect http --protocol compact --header a=b",
		"--dialect http2 --path /x --depth 200", "--dialect http2 --protocol compact-fbthrift --header a=b --rate 500",
		"--multiplexed", "--rate 500", "--rate 500 --poisson --dialect ttheader",
	} {
		t.Run(args, func(t *testing.T) {
			words := append(strings.Fields(args), "--connections", "2", "--method", "Shop.getBook", "--json", `{"id": {{rand 1 3}}}`, "--same", "--variants", "10", "--seed", "7")
			r := benchJSON(t, exitOK, address, words...)
			if r.Result.Failed() > 0 || r.Result.Latency.Count == 0 || r.Result.Declared > 0 {
				t.Errorf("%+v", r.Result)
			}
			if r.Calls[0].Variants != 10 || r.Address != address || r.Started.IsZero() {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestBenchMixesMethods(t *testing.T) {
	address, _ := serveShop(t)
	r := benchJSON(t, exitOK, address, "--method", "Shop.getBook", "--json", `{"id": {{rand 1 3}}}`, "--weight", "3",
		"--method", "Shop.ping", "--weight", "1", "--depth", "50", "--connections", "1", "--variants", "7")
	kinds := r.Result.Kinds
	if len(kinds) != 2 || kinds[0].Name != "Shop.getBook" || kinds[1].Name != "Shop.ping" {
		t.Fatalf("%+v", kinds)
	}
	if got, of := kinds[0].Latency.Count, r.Result.Latency.Count; got*10 < of*6 || got*10 > of*9 {
		t.Errorf("%d of %d calls are getBook", got, of)
	}
}

func TestBenchReadsTemplatesAndWritesFiles(t *testing.T) {
	dir := t.TempDir()
	in, out, chart := filepath.Join(dir, "in.json"), filepath.Join(dir, "out.json"), filepath.Join(dir, "chart.svg")
	if err := os.WriteFile(in, []byte(`{"search": {"text": "{{pick invisibili solaris}}"}}`), 0o666); err != nil {
		t.Fatal(err)
	}
	address, _ := serveShop(t)
	text, stderr := expect(t, exitOK, "bench", address, "--idl", shopIDL, "--method", "Shop.search", "--json", "@"+in,
		"--warmup", "0s", "--duration", "1500ms", "--json-out", out, "--chart", chart, "--progress")
	for _, want := range []string{"Shop.search at " + address + ", framed binary\n8 connections, 1 outstanding on each, for ", " per second\n", "p99.9", "failed      0\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if !regexp.MustCompile(`(?m)^ +\d+ s, .*/s, p50 .*, 0 failed$`).MatchString(stderr) {
		t.Errorf("progress: %q", stderr)
	}
	var r benchReport
	b, err := os.ReadFile(out)
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil || r.Result.Latency.Count == 0 {
		t.Errorf("%v in %s", err, b)
	}
	if b, err := os.ReadFile(chart); err != nil || !bytes.Contains(b, []byte("Replies per second")) {
		t.Errorf("chart: %v, %s", err, b)
	}
}

func TestBenchFailsIfCallsFail(t *testing.T) {
	address, _ := serveShop(t)
	r := benchJSON(t, exitFailed, address, "--method", "Parcels.track", "--idl", filepath.Join("testdata", "unserved.thrift"))
	if r.Result.Errors[load.Refusal] == 0 || len(r.Result.Exceptions) != 1 || r.Result.Exceptions[0].Type != 1 {
		t.Errorf("%+v", r.Result)
	}
	// What declares its exception has answered.
	if r := benchJSON(t, exitOK, address, "--method", "Shop.getBook", "--json", `{"id": 999}`); r.Result.Declared == 0 {
		t.Errorf("%+v", r.Result)
	}
}

func TestBenchDoesNotWaitWhereNothingWorks(t *testing.T) {
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
			go func() {
				defer c.Close()
				io.WriteString(c, "SSH-2.0-server\r\n")
				io.Copy(io.Discard, c)
			}()
		}
	}()
	out, _ := expect(t, exitFailed, "bench", l.Addr().String(), "--idl", shopIDL, "--method", "Shop.ping", "--duration", "1h")
	if !strings.Contains(out, "what came is no reply in this dialect") || !strings.Contains(out, "hint: the server may speak another dialect") {
		t.Errorf("got:\n%s", out)
	}
}

func TestBenchSaysThatNobodyIsThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, stderr := expect(t, exitFailed, "bench", l.Addr().String(), "--idl", shopIDL, "--method", "Shop.ping")
	if !strings.Contains(stderr, "hint: is a server running at "+l.Addr().String()) {
		t.Errorf("got %q", stderr)
	}
}

func TestTheResultOfABenchIsNotLostForAFile(t *testing.T) {
	dir := t.TempDir()
	args := []string{"--idl", shopIDL, "--method", "Shop.ping", "--json-out"}
	_, stderr := expect(t, exitFailed, append([]string{"bench", "127.0.0.1:1"}, append(args, filepath.Join(dir, "a.json"), "--chart", filepath.Join(dir, "none", "a.svg"))...)...)
	if !strings.Contains(stderr, "a.svg: no such file or directory") { // before it finds that nobody is there
		t.Errorf("got %q", stderr)
	}
	if entries, err := os.ReadDir(dir); len(entries) > 0 || err != nil {
		t.Errorf("%v is left, %v", entries, err)
	}
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip(err)
	}
	address, _ := serveShop(t)
	code, out, stderr := thrum("", append([]string{"bench", address, "--duration", "10ms", "--warmup", "0s"}, append(args, full)...)...)
	if code != exitFailed || !strings.Contains(stderr, "no space left") || !strings.Contains(out, "per second") {
		t.Errorf("exit code %d, %q, %q", code, stderr, out)
	}
}

func TestFlagsThatMakeNoSenseAreSaidToBeWrong(t *testing.T) {
	idl := []string{"--idl", shopIDL}
	bench := func(args ...string) []string {
		return append([]string{"bench", "127.0.0.1:1", "--method", "Shop.ping", "--idl", shopIDL}, args...)
	}
	for _, args := range [][]string{
		append([]string{"call", "127.0.0.1:1", "Shop.ping", "--timeout", "0"}, idl...),
		append([]string{"gateway", "127.0.0.1:1", "--timeout", "-1s"}, idl...),
		append([]string{"call", "127.0.0.1:1", "Shop.ping", "--dialect", "http", "--path", "/a b"}, idl...),
		bench("--timeout", "0"),
		bench("--dialect", "http", "--header", "a\r\nb=c"),
		bench("--dialect", "http2", "--header", "a b=c"),
		bench("--dialect", "http", "--header", "a=b\nc"),
		bench("--json-out", "x", "--chart", "./x"),
	} {
		expect(t, exitUsage, args...)
	}
}

func TestInterruptedBenchShowsItsResult(t *testing.T) {
	address, _ := serveShop(t)
	for after := time.Second; ; after *= 4 { // before which a busy machine may have made no call
		ctx, cancel := context.WithTimeout(context.Background(), after)
		var out, errs bytes.Buffer
		code := run(ctx, []string{"bench", address, "--idl", shopIDL, "--method", "Shop.ping", "--warmup", "0s", "--duration", "1h"}, strings.NewReader(""), &out, &errs)
		cancel()
		if code == exitOK && strings.Contains(out.String(), "Shop.ping  ") {
			return
		}
		if after > time.Minute {
			t.Fatalf("exit code %d:\n%s%s", code, out.String(), errs.String())
		}
	}
}

// testCertificate returns a certificate for example.com and 127.0.0.1, and the file of its authority.
func testCertificate(t *testing.T) (certificates []tls.Certificate, ca string) {
	t.Helper()
	web := httptest.NewTLSServer(nil)
	web.Close()
	ca = filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o666); err != nil {
		t.Fatal(err)
	}
	return web.TLS.Certificates, ca
}

// serveTLS serves the bookshop inside TLS and returns its address and the file of
// its authority.
func serveTLS(t *testing.T) (address, ca string) {
	t.Helper()
	certificates, ca := testCertificate(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := rpc.NewServer(rpc.TLS(&tls.Config{Certificates: certificates}), rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0))
	if err := s.Register(shop.NewShopService(store.New())); err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String(), ca
}

func TestCallAndBenchSpeakInsideTLS(t *testing.T) {
	address, ca := serveTLS(t)
	for _, args := range []string{"--depth 10", "--tls-name example.com --dialect ttheader", "--dialect http", "--dialect http2"} {
		r := benchJSON(t, exitOK, address, append(strings.Fields(args), "--method", "Shop.ping", "--tls", "--tls-ca", ca)...)
		if r.Result.Latency.Count == 0 || r.Result.Failed() > 0 {
			t.Errorf("%+v", r.Result)
		}
	}
	for _, dialect := range []string{"framed", "ttheader", "http", "http2"} {
		if out, _ := expect(t, exitOK, "call", address, "Shop.version", "--idl", shopIDL, "--tls", "--tls-ca", ca, "--dialect", dialect); out != "\"bookshop 1\"\n" {
			t.Errorf("call printed %q", out)
		}
	}
	for _, args := range [][]string{{"--tls"}, {"--tls", "--tls-ca", ca, "--tls-name", "example.org"}, {"--tls", "--tls-ca", shopIDL}} {
		for _, command := range [][]string{{"call", address, "Shop.version"}, {"bench", address, "--method", "Shop.ping"}} {
			_, stderr := expect(t, exitFailed, append(append(command, "--idl", shopIDL), args...)...)
			if !strings.Contains(stderr, "certificate") {
				t.Errorf("%s %v: %q", command[0], args, stderr)
			}
		}
	}
}

func TestTemplatesAreFilled(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                            `^\{\}$`,
		`{"a": {{seq}}}`:                `^\{"a": 42\}$`,
		`{{ rand -3 3 }} {{rand 7 7}}`:  `^-?[0-3] 7$`,
		`"{{text 5}}{{text 0}}"`:        `^"[a-z]{5}"$`,
		`"{{uuid}}"`:                    `^"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"$`,
		`[{{pick 1 2}},{{pick "a"}}]}}`: `^\[[12],"a"\]\}\}$`,
		`{{rand -9223372036854775808 9223372036854775807}}`: `^-?[0-9]+$`,
	} {
		tmpl, err := parseTemplate(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			if got := tmpl.fill(42, rng); !regexp.MustCompile(want).Match(got) {
				t.Errorf("%s became %s", text, got)
			}
		}
	}
	seen := map[string]bool{}
	tmpl, err := parseTemplate("{{rand 1 3}}")
	if err != nil {
		t.Fatal(err)
	}
	for rng := rand.New(rand.NewPCG(3, 4)); len(seen) < 3; {
		seen[string(tmpl.fill(1, rng))] = true
	}
	for _, text := range []string{"{{", "{{}}", "{{seq 1}}", "{{rand}}", "{{rand a b}}", "{{text -1}}", "{{text 99999999999}}", "{{pick}}", "{{uuid}", "{{now}}"} {
		if _, err := parseTemplate(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

func TestPreparedCallsAreBounded(t *testing.T) {
	_, stderr := expect(t, exitFailed, "bench", "localhost:1", "--idl", shopIDL, "--method", "Shop.search",
		"--json", `{"search": {"text": "{{text 10000000}}"}}`)
	if !strings.Contains(stderr, "the prepared calls exceed 268 MB; --variants makes them fewer") {
		t.Errorf("got %q", stderr)
	}
}

// sampleReport is a result as it could be.
func sampleReport() *benchReport {
	sum := func(n int64, base time.Duration) load.Latency {
		return load.Latency{Count: n, Min: base / 3, Mean: base, P50: base, P75: base * 2, P90: base * 3, P99: base * 30, P999: base * 400, Max: base * 5000}
	}
	r := &load.Result{
		Connections: 8, Depth: 1000, Rate: 25_000, Poisson: true, Elapsed: 4*time.Second + 3*time.Millisecond, Replies: 99_941, Throughput: 24_966.5,
		BytesSent: 4_123_456, BytesReceived: 61_000_000,
		Latency: sum(99_900, 80*time.Microsecond), Refused: sum(41, 30*time.Microsecond), Lag: sum(99_941, 999*time.Nanosecond),
		Kinds:      []load.Kind{{Name: "Shop.getBook", Latency: sum(89_910, 80*time.Microsecond)}, {Name: "Shop.<search>", Latency: sum(9_990, 120*time.Microsecond)}},
		Errors:     map[load.ErrorKind]int64{load.Refusal: 41, load.Timeout: 3, load.Unsent: 15},
		Exceptions: []load.Exception{{Type: 11, Ex: "22", Count: 40}, {Type: 6, Count: 1}},
		Declared:   12, FirstError: "exception: type 11", Reconnects: 1,
	}
	for i := range 60 {
		share := 1 - 1/float64(int64(1)<<(i/4))
		r.Percentiles = append(r.Percentiles, load.Percentile{Percent: 100 * share, Latency: time.Duration(30+i*i*i) * time.Microsecond})
	}
	for i := range time.Duration(4) {
		r.Series = append(r.Series, load.Second{At: (i + 1) * time.Second, Length: time.Second, Replies: 25_000 - 700*int64(i), Errors: int64(i) * 9,
			P50: 80 * time.Microsecond, P99: (i + 2) * time.Millisecond, Max: 400 * time.Millisecond})
	}
	return &benchReport{
		Address: "127.0.0.1:9090", Dialect: "theader", Protocol: "compact", Compress: "zstd", Started: time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC),
		Calls: []benchCall{{Method: "Shop.getBook", Template: "{}", Weight: 9, Variants: 1}, {Method: "Shop.<search>", Template: "{}", Weight: 1, Variants: 1}}, Result: r,
	}
}

func TestReportsOfBenchLookAsTheyShould(t *testing.T) {
	var text strings.Builder
	if err := sampleReport().print(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "bench.golden", text.String())
	golden(t, "bench.svg", string(sampleReport().chart()))
}

func TestABenchThatMeasuresNoCallSaysWhy(t *testing.T) {
	var text strings.Builder
	if err := (&benchReport{Result: &load.Result{Connections: 1, Depth: 1000, Replies: 7}}).print(&text); err != nil {
		t.Fatal(err)
	}
	if want := "hint: no call that was sent in the measured time was answered"; !strings.Contains(text.String(), want) {
		t.Errorf("got %s", text.String())
	}
}

func TestEveryKindOfErrorIsExplained(t *testing.T) {
	for k := load.Timeout; k <= load.Unsent; k++ {
		if new(benchReport).errorMeaning(k) == "" {
			t.Errorf("%v", k)
		}
	}
}

// TestChartsStayInTheirFrame reads charts of usual and of odd results.
func TestChartsStayInTheirFrame(t *testing.T) {
	one := &load.Result{Connections: 1, Depth: 1, Elapsed: 1, Percentiles: []load.Percentile{{Latency: 5}}, Series: []load.Second{{At: 1, Length: 1}}}
	long := sampleReport()
	long.Result.Elapsed = 30 * time.Hour
	long.Result.Percentiles[59].Latency = 20 * time.Minute
	for name, r := range map[string]*benchReport{
		"usual": sampleReport(), "nothing": {Result: &load.Result{}}, "one call": {Result: one}, "long": long,
	} {
		d := xml.NewDecoder(bytes.NewReader(r.chart()))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			for _, a := range e.Attr {
				for _, s := range regexp.MustCompile(`-?[0-9.]+|NaN|Inf`).FindAllString(a.Value, -1) {
					v, err := strconv.ParseFloat(s, 64)
					if strings.ContainsAny(a.Name.Local, "xyd") && (err != nil || !(v >= 0 && v <= 1000)) && a.Name.Local != "viewBox" && a.Name.Local != "xmlns" {
						t.Errorf("%s: %s of %s is %s", name, a.Name.Local, e.Name.Local, a.Value)
					}
				}
			}
		}
	}
}

func TestNumbersAndLatenciesAreReadable(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := number(n); got != want {
			t.Errorf("%d is %q", n, got)
		}
	}
	for rate, want := range map[float64]string{0.5: "0.5", 2: "2", 1.0 / 3: "0.3333", 1234.6: "1,235"} {
		if got := rateText(rate); got != want {
			t.Errorf("%v is %q", rate, got)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 ns", 999: "999 ns", 1234: "1.23 µs", 12345: "12.3 µs", 123456: "123 µs", 1500 * time.Millisecond: "1.50 s", 600 * time.Second: "600 s"} {
		if got := latency(d); got != want {
			t.Errorf("%v is %q", d, got)
		}
	}
}
