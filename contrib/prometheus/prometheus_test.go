package promthrum_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	promthrum "github.com/thrum-rpc/thrum/contrib/prometheus"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// shop is a service whose methods end in every way.
var shop = &rpc.Service{Name: "Shop", Methods: []rpc.Method{
	{Name: "Buy", Serve: func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, 12, 0, 0, 0, 0), nil }},
	{Name: "Return", Serve: func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, 12, 0, 1, 0, 0), nil }},
	{Name: "Break", Serve: func(context.Context, []byte, []byte) ([]byte, error) { return nil, errors.New("broken") }},
	{Name: "Panic", Serve: func(context.Context, []byte, []byte) ([]byte, error) { panic("oh") }},
	{Name: "Refuse", Serve: func(context.Context, []byte, []byte) ([]byte, error) {
		return nil, &rpc.ApplicationException{Type: rpc.LoadShedding}
	}},
}}

// start lets a server serve until the test ends, and returns its address. Its calls have any time, since machines that
// run tests are slow.
func start(t *testing.T, services []*rpc.Service, opts ...rpc.ServerOption) (*rpc.Server, string) {
	t.Helper()
	server := rpc.NewServer(append([]rpc.ServerOption{rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0)}, opts...)...)
	for _, s := range services {
		if err := server.Register(s); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	return server, l.Addr().String()
}

// scrape returns the lines of a scrape that tell a value.
func scrape(t *testing.T, collectors ...prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	site := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	defer site.Close()
	reply, err := http.Get(site.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v: %s", reply.StatusCode, err, text)
	}
	return string(text)
}

// wantLines checks that each line is there.
func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestAScrapeTellsWhatServerAndClientDo(t *testing.T) {
	servers := promthrum.NewServer(promthrum.Buckets(60), promthrum.Labels(prometheus.Labels{"zone": "a"}))
	clients := promthrum.NewClient(promthrum.Buckets(60))
	server, address := start(t, []*rpc.Service{shop}, servers.Option())
	servers.Watch(server)
	client, err := rpc.Dial(t.Context(), "tcp", address, rpc.ServiceName("Shop"), clients.Option())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	clients.Watch(client)
	for _, method := range []string{"Buy", "Buy", "Return", "Break", "Panic", "Refuse", "Missing"} {
		_ = client.Invoke(t.Context(), &rpc.Invocation{Method: method})
	}
	_ = client.Invoke(t.Context(), &rpc.Invocation{Method: "Buy", ReadResult: func([]byte) error { return errors.New("no") }})
	text := scrape(t, servers, clients)
	for _, side := range []string{"server", "client"} {
		zone := map[string]string{"server": `,zone="a"`}[side]
		line := func(method, outcome string, n int) string {
			return fmt.Sprintf(`thrum_%s_call_duration_seconds_count{method=%q,outcome=%q,service="Shop"%s} %d`, side, method, outcome, zone, n)
		}
		buys := map[string]int{"server": 3, "client": 2}[side]
		wantLines(t, text, line("Buy", "ok", buys), line("Return", "exception", 1), line("Break", "INTERNAL_ERROR", 1),
			line("Panic", "INTERNAL_ERROR", 1), line("Refuse", "LOADSHEDDING", 1))
	}
	wantLines(t, text,
		`thrum_client_call_duration_seconds_count{method="Missing",outcome="UNKNOWN_METHOD",service="Shop"} 1`,
		`thrum_client_call_duration_seconds_count{method="Buy",outcome="decode",service="Shop"} 1`,
		`thrum_server_connections{zone="a"} 1`, `thrum_server_calls_total{zone="a"} 8`, `thrum_server_panics_total{zone="a"} 1`,
		`thrum_server_refused_total{reason="method",zone="a"} 1`, `thrum_server_refused_total{reason="expired",zone="a"} 0`,
		`thrum_server_stopping{zone="a"} 0`, `thrum_client_connections 1`, `thrum_client_calls_pending 0`)
	if strings.Contains(text, `thrum_server_call_duration_seconds_count{method="Missing"`) {
		t.Error("a method that does not exist has a series")
	}
	server.Close()
	wantLines(t, scrape(t, servers), `thrum_server_stopping{zone="a"} 1`)
}

func TestCallsOnMessagesAreMeasured(t *testing.T) {
	servers, clients := promthrum.NewServer(), promthrum.NewClient()
	_, address := start(t, []*rpc.Service{{Name: "Shop", Methods: []rpc.Method{{Name: "Buy", Message: func(context.Context, rpc.Message) (rpc.Message, error) {
		return rpc.Message{}, nil
	}}}}}, servers.Option())
	client, err := rpc.DialMessages(t.Context(), "tcp", address, clients.Option())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.InvokeMessage(t.Context(), &rpc.MessageCall{Method: "/Shop/Buy"}); err != nil {
		t.Fatal(err)
	}
	wantLines(t, scrape(t, servers, clients),
		`thrum_server_call_duration_seconds_count{method="Buy",outcome="ok",service="Shop"} 1`,
		`thrum_client_call_duration_seconds_count{method="Buy",outcome="ok",service="Shop"} 1`)
}

func TestAScrapeTellsOfTheAddressesOfACluster(t *testing.T) {
	server, address := start(t, []*rpc.Service{shop})
	fleet, err := cluster.New(resolve.Hosts(address), cluster.Dial(rpc.TTHeader()), cluster.Retries(cluster.Retry{Attempts: 1}))
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	clients := promthrum.NewClient(promthrum.Buckets(60))
	caller := rpc.Intercepted(fleet, rpc.Target{Service: "Shop"}, clients.Intercept)
	for range 3 {
		if err := caller.Invoke(t.Context(), &rpc.Invocation{Method: "Buy"}); err != nil {
			t.Fatal(err)
		}
	}
	metrics := promthrum.NewCluster(fleet, promthrum.Labels(prometheus.Labels{"fleet": "shop"}))
	label := fmt.Sprintf("{address=%q,fleet=\"shop\"}", address)
	wantLines(t, scrape(t, metrics, clients), "thrum_cluster_address_attempts_total"+label+" 3", "thrum_cluster_address_failed_total"+label+" 0",
		"thrum_cluster_address_connections"+label+" 1", "thrum_cluster_address_reachable"+label+" 1", `thrum_cluster_retries_total{fleet="shop"} 0`,
		`thrum_client_call_duration_seconds_count{method="Buy",outcome="ok",service="Shop"} 3`)
	server.Close()
}

func TestNamesThatClientsChooseShareASeries(t *testing.T) {
	servers, clients := promthrum.NewServer(), promthrum.NewClient()
	any := &rpc.Service{Name: "Any", Unknown: func(string, bool) *rpc.Method {
		return &rpc.Method{Serve: func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, 0), nil }}
	}}
	_, address := start(t, []*rpc.Service{any}, servers.Option())
	client, err := rpc.Dial(t.Context(), "tcp", address, clients.Option())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i := range 1100 {
		if err := client.Invoke(t.Context(), &rpc.Invocation{Method: fmt.Sprint("m", i)}); err != nil {
			t.Fatal(err)
		}
	}
	text := scrape(t, servers, clients)
	wantLines(t, "\n"+text,
		`thrum_server_call_duration_seconds_count{method="_OTHER",outcome="ok",service="_OTHER"} 1100`,
		`thrum_client_call_duration_seconds_count{method="_OTHER",outcome="ok",service="_OTHER"} 100`)
	if n := strings.Count(text, "thrum_client_call_duration_seconds_count{"); n != 1001 {
		t.Errorf("%d series of a client", n)
	}
}

func TestWithoutAServerThereAreHistogramsAlone(t *testing.T) {
	if text := scrape(t, promthrum.NewServer(), promthrum.NewClient()); text != "" {
		t.Error(text)
	}
}

// BenchmarkIntercept shows what measuring a call costs.
func BenchmarkIntercept(b *testing.B) {
	caller := rpc.Intercepted(doneCaller{}, rpc.Target{Service: "Shop"}, promthrum.NewClient().Intercept)
	b.ReportAllocs()
	call := &rpc.Invocation{Method: "Buy"}
	for range b.N {
		if err := caller.Invoke(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

type doneCaller struct{}

func (doneCaller) Invoke(context.Context, *rpc.Invocation) error { return nil }
