package main

import (
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/internal/load"
	"github.com/thrum-rpc/thrum/rpc"
)

func TestBenchLoadsServicesOfFlatBuffers(t *testing.T) {
	idl := flatIDL(t)
	address := serveFlat(t, idl)
	for _, args := range []string{"", "--dialect trpc --depth 20", "--compress gzip", "--compress snappy --header a=b", "--rate 500", "--dialect grpc --depth 20", "--dialect grpc --compress gzip --header a=b", "--dialect grpc --rate 500"} {
		words := append(strings.Fields(args), "--idl", idl, "--connections", "2", "--method", "Shop.Place", "--json", `{"items": [{"name": "{{text 5}}"}]}`, "--same", "--variants", "10")
		r := benchJSON(t, exitOK, address, words...)
		dialect := "trpc"
		if strings.Contains(args, "grpc") {
			dialect = "grpc"
		}
		if r.Result.Failed() > 0 || r.Result.Latency.Count == 0 || r.Result.Declared > 0 || r.Dialect != dialect || r.Protocol != "flatbuffers" || r.Calls[0].Variants != 10 {
			t.Errorf("%s: %+v %+v", args, r, r.Result)
		}
	}
	out := benchText(t, exitOK, "calls had an error of the application for an answer\n", address, "--idl", idl, "--method", "shop.v1.Shop.Place")
	if !strings.Contains(out, "shop.v1.Shop.Place at "+address+", trpc flatbuffers\n") {
		t.Errorf("got\n%s", out)
	}
}

func TestBenchSaysWhatFlatBuffersHaveNot(t *testing.T) {
	idl := flatIDL(t)
	address := serveFlat(t, idl)
	for want, args := range map[string][]string{
		"--dialect is":                  {"--dialect", "framed"},
		"--compress is":                 {"--compress", "zstd"},
		"it can be gzip, none":          {"--dialect", "grpc", "--compress", "zlib"},
		"for services of Thrift":        {"--protocol", "compact"},
		"--in-order is for services of": {"--in-order"},
	} {
		_, stderr := expect(t, exitUsage, append([]string{"bench", address, "--idl", idl, "--method", "Shop.Place"}, args...)...)
		if !strings.Contains(stderr, want) {
			t.Errorf("%q: %s", args, stderr)
		}
	}
	for _, dialect := range []string{"trpc", "grpc"} {
		expect(t, exitUsage, "bench", address, "--idl", shopIDL, "--method", "Shop.ping", "--dialect", dialect)
	}
	for want, args := range map[string][]string{
		"nothing to measure":                  {"Shop.Watch"},
		"no such field at item":               {"Shop.Place", "--json", `{"item": []}`},
		"no method Plce; did you mean Place?": {"Shop.Plce"},
	} {
		_, stderr := expect(t, exitFailed, append([]string{"bench", address, "--idl", idl, "--method"}, args...)...)
		if !strings.Contains(stderr, want) {
			t.Errorf("%q: %s", args, stderr)
		}
	}
}

func TestBenchShowsWhyMessagesAreRefused(t *testing.T) {
	address, _ := serveShop(t)
	out := benchText(t, exitFailed, "code 11 (no such service)", address, "--idl", flatIDL(t), "--method", "Shop.Place")
	if !strings.Contains(out, `the first: "exception: code 11: no service for \"/shop.v1.Shop/Place\"`) {
		t.Errorf("got\n%s", out)
	}
	certificates, ca := testCertificate(t)
	idl := flatIDL(t)
	out, _ = expect(t, exitFailed, "bench", serveFlat(t, idl), "--idl", otherIDL(t), "--method", "Other.Do", "--dialect", "grpc", "--warmup", "0s", "--duration", "50ms")
	if !strings.Contains(out, "code 12 (unimplemented)") {
		t.Errorf("got\n%s", out)
	}
	address = serveFlat(t, idl, rpc.TLS(&tls.Config{Certificates: certificates}), rpc.Logger(slog.New(slog.DiscardHandler)))
	for _, dialect := range []string{"trpc", "grpc"} {
		r := benchJSON(t, exitOK, address, "--idl", idl, "--method", "Shop.Place", "--dialect", dialect, "--json", `{"items": [{"name": "ink"}]}`, "--tls", "--tls-ca", ca)
		if r.Result.Errors[load.Garbage] > 0 || r.Result.Latency.Count == 0 {
			t.Errorf("%s: %+v", dialect, r.Result)
		}
	}
	if out, _ := expect(t, exitFailed, "bench", address, "--idl", idl, "--method", "Shop.Place", "--warmup", "0s", "--duration", "1h"); !strings.Contains(out, "may not speak tRPC") {
		t.Errorf("got\n%s", out)
	}
}

// otherIDL writes a schema of a service that nobody serves.
func otherIDL(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "other.fbs")
	if err := os.WriteFile(path, []byte("table T {} rpc_service Other { Do(T):T; }"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
