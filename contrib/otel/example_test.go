package otelthrum_test

import (
	"context"
	"fmt"
	"net"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	otelthrum "github.com/thrum-rpc/thrum/contrib/otel"
	"github.com/thrum-rpc/thrum/rpc"
)

func Example() {
	spans := tracetest.NewInMemoryExporter() // a real program exports to a collector
	provider := otelthrum.TracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))

	server := rpc.NewServer(otelthrum.Server(provider))
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

	client, err := rpc.Dial(context.Background(), "tcp", l.Addr().String(), rpc.TTHeader(), rpc.ServiceName("Greeter"), otelthrum.Client(provider))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	if err := client.Invoke(context.Background(), &rpc.Invocation{Method: "Hello"}); err != nil {
		panic(err)
	}

	trace := spans.GetSpans()
	for _, s := range trace {
		fmt.Println(s.SpanKind, s.Name, s.SpanContext.TraceID() == trace[0].SpanContext.TraceID())
	}
	// Output:
	// server Greeter/Hello true
	// client Greeter/Hello true
}
