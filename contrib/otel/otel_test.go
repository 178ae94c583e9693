package otelthrum_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	otelthrum "github.com/thrum-rpc/thrum/contrib/otel"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// process is the telemetry of what would be a process of its own.
type process struct {
	spans  *tracetest.InMemoryExporter
	reader *metric.ManualReader
	opts   []otelthrum.Option
}

func newProcess(opts ...otelthrum.Option) *process {
	p := &process{spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	p.opts = append([]otelthrum.Option{
		otelthrum.TracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(p.spans))),
		otelthrum.MeterProvider(metric.NewMeterProvider(metric.WithReader(p.reader))),
	}, opts...)
	return p
}

// span returns the one span of a kind that has ended, which it waits for.
func (p *process) span(t *testing.T, kind trace.SpanKind) tracetest.SpanStub {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		var found tracetest.SpanStubs
		for _, s := range p.spans.GetSpans() {
			if s.SpanKind == kind {
				found = append(found, s)
			}
		}
		switch {
		case len(found) == 1:
			return found[0]
		case len(found) > 1 || time.Now().After(end):
			t.Fatalf("%d spans of kind %v", len(found), kind)
		}
	}
}

// point is what was measured under a set of attributes.
type point struct {
	attributes string
	count      uint64
}

// measured returns the histogram of a name, and its unit.
func (p *process) measured(t *testing.T, name string) (points []point, unit string) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := p.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			unit = m.Unit
			for _, d := range m.Data.(metricdata.Histogram[float64]).DataPoints {
				points = append(points, point{d.Attributes.Encoded(attribute.DefaultEncoder()), d.Count})
			}
		}
	}
	return points, unit
}

func attributesOf(s tracetest.SpanStub) map[string]string {
	m := map[string]string{}
	for _, a := range s.Attributes {
		m[string(a.Key)] = a.Value.String()
	}
	return m
}

// serve lets a server with the methods of a service "Shop" serve until the test ends. Its calls have any time unless
// opts say otherwise, since machines that run tests are slow.
func serve(t testing.TB, methods []rpc.Method, opts ...rpc.ServerOption) string {
	t.Helper()
	server := rpc.NewServer(append([]rpc.ServerOption{rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0)}, opts...)...)
	if err := server.Register(&rpc.Service{Name: "Shop", Methods: methods}); err != nil {
		t.Fatal(err)
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
	return l.Addr().String()
}

func dial(t testing.TB, address string, opts ...rpc.ClientOption) *rpc.Client {
	t.Helper()
	client, err := rpc.Dial(context.Background(), "tcp", address, append(opts, rpc.ServiceName("Shop"))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// dialects are the options of clients, and whether they carry headers.
func dialects(address string) map[string]struct {
	opts    []rpc.ClientOption
	carries bool
} {
	return map[string]struct {
		opts    []rpc.ClientOption
		carries bool
	}{
		"framed":   {nil, false},
		"THeader":  {[]rpc.ClientOption{rpc.THeader(header.Zlib)}, true},
		"TTHeader": {[]rpc.ClientOption{rpc.TTHeader()}, true},
		"HTTP":     {[]rpc.ClientOption{rpc.HTTP("http://" + address + "/")}, true},
		"HTTP/2":   {[]rpc.ClientOption{rpc.HTTP2("http://" + address + "/")}, true},
	}
}

func call(ctx context.Context, c rpc.Caller, method string) error {
	return c.Invoke(ctx, &rpc.Invocation{Method: method})
}

// empty is a method that does what f does and returns nothing.
func empty(name string, f func(ctx context.Context) error) rpc.Method {
	return rpc.Method{Name: name, Serve: func(ctx context.Context, _, dst []byte) ([]byte, error) { return append(dst, 0), f(ctx) }}
}

func TestATraceCrossesEveryDialect(t *testing.T) {
	for name := range dialects("") {
		t.Run(name, func(t *testing.T) {
			caller, front, back := newProcess(), newProcess(), newProcess()
			var tenant string
			last := serve(t, []rpc.Method{empty("Store", func(ctx context.Context) error {
				tenant = baggage.FromContext(ctx).Member("tenant").Value()
				return nil
			})}, otelthrum.Server(back.opts...))
			d := dialects(last)[name]
			onward := dial(t, last, append(d.opts, otelthrum.Client(front.opts...))...)
			first := serve(t, []rpc.Method{empty("Buy", func(ctx context.Context) error { return call(ctx, onward, "Store") })},
				otelthrum.Server(front.opts...))
			client := dial(t, first, append(dialects(first)[name].opts, otelthrum.Client(caller.opts...))...)

			member, _ := baggage.NewMember("tenant", "acme")
			bag, _ := baggage.New(member)
			if err := call(baggage.ContextWithBaggage(t.Context(), bag), client, "Buy"); err != nil {
				t.Fatal(err)
			}
			spans := []tracetest.SpanStub{caller.span(t, trace.SpanKindClient), front.span(t, trace.SpanKindServer),
				front.span(t, trace.SpanKindClient), back.span(t, trace.SpanKindServer)}
			for i := 1; i < len(spans); i++ {
				linked := spans[i].Parent.SpanID() == spans[i-1].SpanContext.SpanID() &&
					spans[i].SpanContext.TraceID() == spans[0].SpanContext.TraceID()
				remote := i != 2 // in one process, the handler's context links the two
				if want := d.carries || !remote; linked != want && (d.carries || spans[i].Parent.IsValid() != want) {
					t.Errorf("span %d of %v is linked: %t", i, spans[i].Name, linked)
				}
				if linked && spans[i].Parent.IsRemote() != remote {
					t.Errorf("span %d has a remote parent: %t", i, spans[i].Parent.IsRemote())
				}
			}
			if want := map[bool]string{true: "acme"}[d.carries]; tenant != want {
				t.Errorf("the baggage is %q, want %q", tenant, want)
			}
			if spans[0].Name != "Shop/Buy" || spans[3].Name != "Shop/Store" {
				t.Errorf("spans %s and %s", spans[0].Name, spans[3].Name)
			}
		})
	}
}

func TestACallbackPassesItsTraceOn(t *testing.T) {
	p, back := newProcess(), newProcess()
	last := serve(t, []rpc.Method{empty("Store", func(context.Context) error { return nil })}, otelthrum.Server(back.opts...))
	onward := dial(t, last, rpc.TTHeader(), otelthrum.Client(p.opts...))
	first := serve(t, []rpc.Method{{Name: "Buy", Callback: func(_ []byte, r rpc.Responder) {
		ctx := r.Context()
		go func() {
			if err := call(ctx, onward, "Store"); err != nil {
				r.Fail(err)
				return
			}
			r.Done()
		}()
	}}}, otelthrum.Server(p.opts...))
	if err := call(t.Context(), dial(t, first), "Buy"); err != nil {
		t.Fatal(err)
	}
	server := p.span(t, trace.SpanKindServer)
	if client := p.span(t, trace.SpanKindClient); client.Parent.SpanID() != server.SpanContext.SpanID() {
		t.Error("the call of the handler is not linked to its own")
	}
}

// outcomes are methods and what both sides say of their calls.
var outcomes = []struct {
	method         string
	serve          func(ctx context.Context, args, dst []byte) ([]byte, error)
	client, server string
	strict         string // of the client that takes exceptions for errors
}{
	{"Good", func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, 12, 0, 0, 0, 0), nil },
		"Unset", "Unset", "Unset"},
	{"Declared", func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, 12, 0, 2, 0, 0), nil },
		"Unset thrift.exception.field=2", "Unset thrift.exception.field=2", "Error error.type=exception thrift.exception.field=2"},
	{"Biz", func(context.Context, []byte, []byte) ([]byte, error) {
		return nil, &rpc.BizStatus{Code: 404, Message: "no"}
	},
		"Unset rpc.response.status_code=404", "Unset rpc.response.status_code=404",
		"Error error.type=biz_status rpc.response.status_code=404"},
	{"Broken", func(context.Context, []byte, []byte) ([]byte, error) { return nil, errors.New("out of paper") },
		"Error error.type=INTERNAL_ERROR rpc.response.status_code=6", "Error error.type=INTERNAL_ERROR rpc.response.status_code=6",
		"Error error.type=INTERNAL_ERROR rpc.response.status_code=6"},
	{"Shed", func(context.Context, []byte, []byte) ([]byte, error) {
		return nil, fmt.Errorf("no: %w", &rpc.ApplicationException{Type: rpc.LoadShedding})
	}, "Error error.type=LOADSHEDDING rpc.response.status_code=11", "Error error.type=LOADSHEDDING rpc.response.status_code=11",
		"Error error.type=LOADSHEDDING rpc.response.status_code=11"},
	{"Garbled", func(context.Context, []byte, []byte) ([]byte, error) {
		return nil, &rpc.ApplicationException{Type: rpc.ProtocolError}
	}, "Error error.type=PROTOCOL_ERROR rpc.response.status_code=7", "Unset error.type=PROTOCOL_ERROR rpc.response.status_code=7",
		"Error error.type=PROTOCOL_ERROR rpc.response.status_code=7"},
	{"Odd", func(context.Context, []byte, []byte) ([]byte, error) {
		return nil, &rpc.ApplicationException{Type: 4711}
	},
		"Error error.type=_OTHER rpc.response.status_code=4711", "Error error.type=_OTHER rpc.response.status_code=4711",
		"Error error.type=_OTHER rpc.response.status_code=4711"},
}

// said returns what a span says of the end of its call.
func said(s tracetest.SpanStub) string {
	text, m := s.Status.Code.String(), attributesOf(s)
	for _, key := range []string{"error.type", "rpc.response.status_code", "thrift.exception.field"} {
		if v, ok := m[key]; ok {
			text += " " + key + "=" + v
		}
	}
	return text
}

func TestSpansTellHowCallsEnd(t *testing.T) {
	for _, o := range outcomes {
		server := newProcess()
		address := serve(t, []rpc.Method{{Name: o.method, Serve: o.serve}}, otelthrum.Server(server.opts...))
		for _, strict := range []bool{false, true} {
			client, want := newProcess(), o.client
			if strict {
				client, want = newProcess(otelthrum.ExceptionsAreErrors()), o.strict
			}
			server.spans.Reset()
			_ = call(t.Context(), dial(t, address, rpc.TTHeader(), otelthrum.Client(client.opts...)), o.method)
			if got := said(client.span(t, trace.SpanKindClient)); got != want {
				t.Errorf("%s, client: %s, want %s", o.method, got, want)
			}
			if got := said(server.span(t, trace.SpanKindServer)); got != o.server {
				t.Errorf("%s, server: %s, want %s", o.method, got, o.server)
			}
		}
	}
}

// expired makes a call that expires at the server while its handler runs. A call that has expired before is made again,
// on new connections, with more time.
func expired(t *testing.T) (client, server *process, c *rpc.Client) {
	t.Helper()
	for expiry := 50 * time.Millisecond; expiry < patience; expiry *= 4 {
		var begun atomic.Bool
		client, server = newProcess(), newProcess()
		address := serve(t, []rpc.Method{empty("Wait", func(ctx context.Context) error {
			begun.Store(true)
			<-ctx.Done()
			return ctx.Err()
		})}, otelthrum.Server(server.opts...), rpc.TaskExpiry(expiry))
		c = dial(t, address, otelthrum.Client(client.opts...))
		if err := call(t.Context(), c, "Wait"); err == nil {
			t.Fatal("no timeout")
		}
		if begun.Load() {
			return client, server, c
		}
	}
	t.Fatal("no handler begins")
	return nil, nil, nil
}

func TestTimeoutsAndLostConnectionsAreTold(t *testing.T) {
	client, server, c := expired(t)
	if got := said(client.span(t, trace.SpanKindClient)); got != "Error error.type=TIMEOUT rpc.response.status_code=12" {
		t.Errorf("the server's timeout at the client: %s", got)
	}
	if got := said(server.span(t, trace.SpanKindServer)); got != "Error error.type=timeout" {
		t.Errorf("the server's timeout: %s", got)
	}
	client.spans.Reset()
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	_ = call(ctx, c, "Wait")
	if got := said(client.span(t, trace.SpanKindClient)); got != "Error error.type=timeout" {
		t.Errorf("the client's timeout: %s", got)
	}
	client.spans.Reset()
	c.Close()
	_ = call(t.Context(), c, "Wait")
	if got := said(client.span(t, trace.SpanKindClient)); got != "Error error.type=dial" {
		t.Errorf("a closed client: %s", got)
	}
}

func TestSpansAndMeasurementsHaveTheNamesOfTheConventions(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		var opts []otelthrum.Option
		system := "rpc.method=Shop/Good,rpc.system.name=thrift"
		histogram, unit := "rpc.%s.call.duration", "s"
		if legacy {
			opts = append(opts, otelthrum.Legacy())
			system = "rpc.method=Good,rpc.service=Shop,rpc.system=thrift"
			histogram, unit = "rpc.%s.duration", "ms"
		}
		p := newProcess(opts...)
		address := serve(t, []rpc.Method{{Name: "Good", Serve: outcomes[0].serve}, {Name: "Broken", Serve: outcomes[3].serve}},
			otelthrum.Server(p.opts...))
		host, port, _ := net.SplitHostPort(address)
		client := dial(t, address, otelthrum.Client(p.opts...))
		for range 3 {
			if err := call(t.Context(), client, "Good"); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]string{"client": system + ",server.address=" + host + ",server.port=" + port, "server": system}
		for side, attributes := range want {
			points, got := p.measured(t, fmt.Sprintf(histogram, side))
			if len(points) != 1 || points[0] != (point{attributes, 3}) || got != unit {
				t.Errorf("%s: %v in %s, want 3 of %s in %s", side, points, got, attributes, unit)
			}
		}
		_ = call(t.Context(), client, "Broken")
		for side := range want {
			if points, _ := p.measured(t, fmt.Sprintf(histogram, side)); len(points) != 2 {
				t.Errorf("%s: %v, want another one with error.type", side, points)
			}
		}
		for _, s := range p.spans.GetSpans() {
			m := attributesOf(s)
			switch {
			case s.SpanKind == trace.SpanKindServer && (m["network.peer.address"] != "127.0.0.1" || m["network.transport"] != "tcp"):
				t.Errorf("a server's span has %v", m)
			case s.SpanKind == trace.SpanKindClient && (m["server.address"] != host || m["server.port"] != port):
				t.Errorf("a client's span has %v", m)
			}
		}
	}
}

func TestNamesThatClientsChooseAreNotToldApart(t *testing.T) {
	p := newProcess()
	server := rpc.NewServer(otelthrum.Server(p.opts...), rpc.QueueTimeout(0), rpc.TaskExpiry(0))
	any := &rpc.Service{Name: "Any", Unknown: func(string, bool) *rpc.Method {
		m := empty("", func(context.Context) error { return nil })
		return &m
	}}
	if err := server.Register(any); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	proxy := newProcess()
	client := dial(t, l.Addr().String(), otelthrum.Client(proxy.opts...))
	for i := range 1100 {
		if err := call(t.Context(), client, fmt.Sprint("m", i)); err != nil {
			t.Fatal(err)
		}
	}
	points, _ := p.measured(t, "rpc.server.call.duration")
	if len(points) != 1 || points[0] != (point{"rpc.method=_OTHER,rpc.system.name=thrift", 1100}) {
		t.Errorf("%v", points)
	}
	if s := p.spans.GetSpans()[7]; s.Name != "thrift" || attributesOf(s)["rpc.method_original"] != "Any/m7" {
		t.Errorf("%s, %v", s.Name, attributesOf(s))
	}
	points, _ = proxy.measured(t, "rpc.client.call.duration")
	if len(points) != 1001 {
		t.Errorf("a client tells %d methods apart", len(points))
	}
}

func TestMessagesAreTraced(t *testing.T) {
	t.Run("trpc", func(t *testing.T) { traceMessages(t, "trpc") })
	t.Run("grpc", func(t *testing.T) { traceMessages(t, "grpc", rpc.GRPC()) })
}

// traceMessages traces calls on messages over a system.
func traceMessages(t *testing.T, system string, opts ...rpc.ClientOption) {
	caller, server := newProcess(), newProcess()
	address := serve(t, []rpc.Method{{Name: "Buy", Message: func(context.Context, rpc.Message) (rpc.Message, error) {
		return rpc.Message{}, nil
	}}}, otelthrum.Server(server.opts...))
	client, err := rpc.DialMessages(t.Context(), "tcp", address, append(opts, otelthrum.Client(caller.opts...))...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.InvokeMessage(t.Context(), &rpc.MessageCall{Method: "/Shop/Buy"}); err != nil {
		t.Fatal(err)
	}
	sent, served := caller.span(t, trace.SpanKindClient), server.span(t, trace.SpanKindServer)
	if served.Parent.SpanID() != sent.SpanContext.SpanID() || sent.Name != "Shop/Buy" || served.Name != "Shop/Buy" {
		t.Errorf("%s and %s are not linked", sent.Name, served.Name)
	}
	if m := attributesOf(served); m["rpc.system.name"] != system || m["rpc.method"] != "Shop/Buy" {
		t.Error(m)
	}
	if err := client.InvokeMessage(t.Context(), &rpc.MessageCall{Method: "/Shop/Other"}); err == nil {
		t.Fatal("an unknown method is served")
	}
	spans := caller.spans.GetSpans()
	if got := said(spans[len(spans)-1]); got != "Error error.type=UNKNOWN_METHOD rpc.response.status_code=12" {
		t.Error(got)
	}
}

func TestAnyCallerCanBeTraced(t *testing.T) {
	p := newProcess()
	address := serve(t, []rpc.Method{empty("Buy", func(context.Context) error { return nil })})
	caller := rpc.Intercepted(dial(t, address), rpc.Target{Service: "Fleet"}, otelthrum.Interceptor(p.opts...))
	if err := call(t.Context(), caller, "Buy"); err != nil {
		t.Fatal(err)
	}
	if s := p.span(t, trace.SpanKindClient); s.Name != "Fleet/Buy" || s.Status.Code != codes.Unset {
		t.Errorf("%s %v", s.Name, s.Status)
	}
}

// BenchmarkCall shows what telemetry costs that goes nowhere.
func BenchmarkCall(b *testing.B) {
	nothing := []otelthrum.Option{otelthrum.TracerProvider(noop.NewTracerProvider())}
	for _, c := range []struct {
		name   string
		caller rpc.Caller
	}{
		{"bare", doneCaller{}},
		{"no-op", rpc.Intercepted(doneCaller{}, rpc.Target{Service: "Shop"}, otelthrum.Interceptor(nothing...))},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			invocation := &rpc.Invocation{Method: "Buy"}
			for range b.N {
				if err := c.caller.Invoke(b.Context(), invocation); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type doneCaller struct{}

func (doneCaller) Invoke(context.Context, *rpc.Invocation) error { return nil }

func TestEveryAttemptOfAClusterHasASpan(t *testing.T) {
	caller, server := newProcess(), newProcess()
	var calls atomic.Int32
	overloaded := func(rpc.CallInfo) error {
		if calls.Add(1) == 1 {
			return errors.New("come again")
		}
		return nil
	}
	address := serve(t, []rpc.Method{empty("Buy", func(context.Context) error { return nil })},
		otelthrum.Server(server.opts...), rpc.Overloaded(overloaded))
	fleet, err := cluster.New(resolve.Static(resolve.Address{Addr: address, Zone: "a"}), cluster.Dial(rpc.TTHeader()),
		cluster.Idempotent("Buy"), cluster.Timeout(patience), otelthrum.Attempts("Shop", caller.opts...))
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	whole := rpc.Intercepted(fleet, rpc.Target{Service: "Shop"}, otelthrum.Interceptor(append(caller.opts, otelthrum.OverAttempts())...))
	if err := call(t.Context(), whole, "Buy"); err != nil {
		t.Fatal(err)
	}
	parent := caller.span(t, trace.SpanKindInternal)
	if parent.Name != "Shop/Buy" || parent.Status.Code != codes.Unset {
		t.Errorf("%s %v", parent.Name, parent.Status)
	}
	var attempts tracetest.SpanStubs
	for _, s := range caller.spans.GetSpans() {
		if s.SpanKind == trace.SpanKindClient {
			attempts = append(attempts, s)
		}
	}
	if len(attempts) != 2 {
		t.Fatalf("%d attempts", len(attempts))
	}
	for i, want := range []string{"refused Error error.type=LOADSHEDDING rpc.response.status_code=11", "succeeded Unset"} {
		m := attributesOf(attempts[i])
		if got := m["thrum.outcome"] + " " + said(attempts[i]); got != want || m["thrum.attempt"] != fmt.Sprint(i+1) || m["thrum.zone"] != "a" {
			t.Errorf("attempt %d: %s, %v", i+1, got, m)
		}
		if attempts[i].Parent.SpanID() != parent.SpanContext.SpanID() {
			t.Errorf("attempt %d is not linked", i+1)
		}
	}
	if served := server.span(t, trace.SpanKindServer); served.Parent.SpanID() != attempts[1].SpanContext.SpanID() {
		t.Error("the call that was served is not linked to its attempt")
	}
	if points, _ := caller.measured(t, "rpc.client.call.duration"); len(points) != 1 || points[0].count != 1 {
		t.Errorf("measured %v, want one call", points)
	}
}
