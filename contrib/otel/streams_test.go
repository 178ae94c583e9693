package otelthrum_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	otelthrum "github.com/thrum-rpc/thrum/contrib/otel"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file tests spans and measurements of streams, and of what a server refuses.

type word struct {
	Text string `frugal:"1,default,string"`
}

// chat answers each word but "fail".
func chat(ctx context.Context, s stream.BidiStreamingServer[word, word]) error {
	for {
		w, err := s.Recv(ctx)
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case w.Text == "fail":
			return &rpc.ApplicationException{Type: rpc.InternalError, Message: "as asked"}
		}
		if err := s.Send(ctx, w); err != nil {
			return err
		}
	}
}

// talk says words, and returns how the stream has ended.
func talk(t *testing.T, c rpc.Caller, words ...string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := rpc.OpenBidiStream[word, word](ctx, c, "Shop", "chat")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range words {
		if err := s.Send(ctx, &word{Text: text}); err != nil {
			return err
		}
		if _, err := s.Recv(ctx); err != nil {
			return err
		}
	}
	if err := s.CloseSend(ctx); err != nil {
		return err
	}
	_, err = s.Recv(ctx)
	return err
}

// counts returns what was measured in a histogram or counter of whole numbers.
func (p *process) counts(t *testing.T, name string) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := p.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Histogram[int64]:
				for _, d := range data.DataPoints {
					found[d.Attributes.Encoded(attribute.DefaultEncoder())] = d.Sum
				}
			case metricdata.Sum[int64]:
				for _, d := range data.DataPoints {
					found[d.Attributes.Encoded(attribute.DefaultEncoder())] = d.Value
				}
			}
		}
	}
	return found
}

func TestAStreamIsOneSpanOnEachSide(t *testing.T) {
	client, server := newProcess(otelthrum.MessageEvents()), newProcess()
	address := serve(t, []rpc.Method{rpc.BidiStreaming("chat", chat)}, otelthrum.Server(server.opts...))
	c := dial(t, address, rpc.TTHeader(), otelthrum.Client(client.opts...))
	if err := talk(t, c, "a", "b"); err != io.EOF {
		t.Fatal(err)
	}
	outer, inner := client.span(t, trace.SpanKindClient), server.span(t, trace.SpanKindServer)
	if outer.Name != "Shop/chat" || inner.Name != "Shop/chat" || inner.Parent.SpanID() != outer.SpanContext.SpanID() {
		t.Errorf("%s of %v, %s in %v", outer.Name, outer.SpanContext.SpanID(), inner.Name, inner.Parent.SpanID())
	}
	for _, s := range []tracetest.SpanStub{outer, inner} {
		a := attributesOf(s)
		if a["thrum.messages.sent"] != "2" || a["thrum.messages.received"] != "2" || s.Status.Code == codes.Error {
			t.Errorf("%v, %v", a, s.Status)
		}
	}
	var events []string
	for _, e := range outer.Events {
		events = append(events, fmt.Sprint(e.Name, " ", e.Attributes[0].Value.AsString(), " ", e.Attributes[1].Value.AsInt64()))
	}
	slices.Sort(events) // a reply may be quicker than the word that it was sent
	if want := []string{"rpc.message RECEIVED 1", "rpc.message RECEIVED 2", "rpc.message SENT 1", "rpc.message SENT 2"}; !slices.Equal(events, want) {
		t.Errorf("%q", events)
	}
	if len(inner.Events) != 0 {
		t.Errorf("events that nobody has asked for: %v", inner.Events)
	}
	for side, p := range map[string]*process{"client": client, "server": server} {
		points, _ := p.measured(t, "rpc."+side+".call.duration")
		if len(points) != 1 || points[0].count != 1 {
			t.Errorf("the %s has measured %v", side, points)
		}
	}
}

func TestSpansTellHowStreamsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		end            func(t *testing.T, c rpc.Caller)
		client, server string // what error.type is
		fault          [2]bool
	}{
		"an exception": {func(t *testing.T, c rpc.Caller) { talk(t, c, "a", "fail") }, "INTERNAL_ERROR", "INTERNAL_ERROR", [2]bool{true, true}},
		"a client that gives up": {func(t *testing.T, c rpc.Caller) {
			ctx, cancel := context.WithCancel(t.Context())
			s, err := rpc.OpenBidiStream[word, word](ctx, c, "Shop", "chat")
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Send(ctx, &word{Text: "a"}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Recv(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
		}, "canceled", "reset", [2]bool{true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			client, server := newProcess(), newProcess()
			address := serve(t, []rpc.Method{rpc.BidiStreaming("chat", chat)}, otelthrum.Server(server.opts...))
			c.end(t, dial(t, address, rpc.TTHeader(), otelthrum.Client(client.opts...)))
			outer, inner := client.span(t, trace.SpanKindClient), server.span(t, trace.SpanKindServer)
			if got := attributesOf(outer)["error.type"]; got != c.client || (outer.Status.Code == codes.Error) != c.fault[0] {
				t.Errorf("the client's span: %q, %v", got, outer.Status)
			}
			if got := attributesOf(inner)["error.type"]; got != c.server || (inner.Status.Code == codes.Error) != c.fault[1] {
				t.Errorf("the server's span: %q, %v", got, inner.Status)
			}
		})
	}
}

func TestOldNamesCountMessages(t *testing.T) {
	client, server := newProcess(otelthrum.Legacy()), newProcess(otelthrum.Legacy())
	address := serve(t, []rpc.Method{rpc.ServerStreaming("list", func(ctx context.Context, w *word, s stream.ServerStreamingServer[word]) error {
		for range 3 {
			if err := s.Send(ctx, w); err != nil {
				return err
			}
		}
		return nil
	})}, otelthrum.Server(server.opts...))
	c := dial(t, address, rpc.TTHeader(), otelthrum.Client(client.opts...))
	s, err := rpc.OpenServerStream[word, word](t.Context(), c, "Shop", "list", &word{})
	for err == nil {
		_, err = s.Recv(t.Context())
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	client.span(t, trace.SpanKindClient)
	server.span(t, trace.SpanKindServer)
	for side, p := range map[string]*process{"client": client, "server": server} {
		for what, want := range map[string]int64{"requests": 1, "responses": 3} {
			for attributes, n := range p.counts(t, "rpc."+side+"."+what+"_per_rpc") {
				if n != want {
					t.Errorf("%s of the %s: %d, %s", what, side, n, attributes)
				}
			}
		}
	}
}

func TestStreamsOfMessagesHaveSpans(t *testing.T) {
	client, server := newProcess(), newProcess()
	address := serve(t, []rpc.Method{{Name: "Chat", MessageStream: func(ctx context.Context, s *rpc.MessageStream) error {
		for {
			if err := s.Recv(ctx, func([]byte) error { return nil }); err != nil {
				return nil
			}
		}
	}}}, otelthrum.Server(server.opts...))
	c, err := rpc.DialMessages(t.Context(), "tcp", address, otelthrum.Client(client.opts...))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.OpenMessageStream(t.Context(), &rpc.MessageStreamCall{Method: "/Shop/Chat", Type: transport.FlatBuffers})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), func(dst []byte) ([]byte, error) { return append(dst, "hi"...), nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseSend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Recv(t.Context(), func([]byte) error { return nil }); err != io.EOF {
		t.Fatal(err)
	}
	outer, inner := client.span(t, trace.SpanKindClient), server.span(t, trace.SpanKindServer)
	if outer.Name != "Shop/Chat" || attributesOf(outer)["thrum.messages.sent"] != "1" || attributesOf(inner)["thrum.messages.received"] != "1" ||
		inner.Parent.SpanID() != outer.SpanContext.SpanID() {
		t.Errorf("%v, %v", attributesOf(outer), attributesOf(inner))
	}
}

func TestStreamsOfAClusterHaveSpans(t *testing.T) {
	client, server := newProcess(), newProcess()
	address := serve(t, []rpc.Method{rpc.BidiStreaming("chat", chat)}, otelthrum.Server(server.opts...))
	c, err := cluster.New(resolve.Hosts(address), cluster.Dial(rpc.TTHeader()), otelthrum.Attempts("Shop", client.opts...))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	over := otelthrum.StreamInterceptor(append(client.opts, otelthrum.OverAttempts())...)
	if err := talk(t, rpc.InterceptedStreams(c, rpc.Target{Service: "Shop"}, over), "a"); err != io.EOF {
		t.Fatal(err)
	}
	call, attempt, inner := client.span(t, trace.SpanKindInternal), client.span(t, trace.SpanKindClient), server.span(t, trace.SpanKindServer)
	if attempt.Parent.SpanID() != call.SpanContext.SpanID() || inner.Parent.SpanID() != attempt.SpanContext.SpanID() {
		t.Error("the spans are not within each other")
	}
	if a := attributesOf(attempt); a["thrum.messages.sent"] != "1" || a["thrum.outcome"] != "succeeded" {
		t.Errorf("%v", a)
	}
}

func TestRefusalsAreMeasured(t *testing.T) {
	p := newProcess()
	server := rpc.NewServer(rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0), rpc.Overloaded(func(rpc.CallInfo) error { return errors.New("no") }))
	if err := server.Register(&rpc.Service{Name: "Shop", Methods: []rpc.Method{empty("f", func(context.Context) error { return nil }), rpc.BidiStreaming("chat", chat)}}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	defer server.Close()
	watching, err := otelthrum.Watch(server, p.opts...)
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, l.Addr().String(), rpc.TTHeader())
	for range 3 {
		if err := call(t.Context(), c, "f"); err == nil {
			t.Fatal("not refused")
		}
	}
	if err := talk(t, c, "a"); err == nil || err == io.EOF {
		t.Fatal("not refused")
	}
	got := p.counts(t, "thrum.server.refusals")
	if n := got["thrum.refusal="+rpc.RefusedOverload.String()]; n != 4 || len(got) < 5 {
		t.Errorf("%v", got)
	}
	if err := watching.Unregister(); err != nil {
		t.Fatal(err)
	}
	if got := p.counts(t, "thrum.server.refusals"); len(got) > 0 {
		t.Errorf("after the end: %v", got)
	}
}
