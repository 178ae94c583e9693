package promthrum_test

import (
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	promthrum "github.com/thrum-rpc/thrum/contrib/prometheus"
	"github.com/thrum-rpc/thrum/rpc"
)

func Example() {
	metrics := promthrum.NewServer()
	server := rpc.NewServer(metrics.Option())
	metrics.Watch(server)
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)

	hello := rpc.Method{Name: "Hello", Serve: func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, 0), nil }}
	if err := server.Register(&rpc.Service{Name: "Greeter", Methods: []rpc.Method{hello}}); err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	client, err := rpc.Dial(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	defer client.Close()
	if err := client.Invoke(context.Background(), &rpc.Invocation{Method: "Hello"}); err != nil {
		panic(err)
	}

	page := httptest.NewRecorder() // which a program would serve
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(page.Body.String()) {
		if strings.HasPrefix(line, "thrum_server_calls_total") || strings.HasPrefix(line, "thrum_server_call_duration_seconds_count") {
			fmt.Print(line)
		}
	}
	// Output:
	// thrum_server_call_duration_seconds_count{method="Hello",outcome="ok",service="Greeter"} 1
	// thrum_server_calls_total 1
}
