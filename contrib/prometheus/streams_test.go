package promthrum_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	promthrum "github.com/thrum-rpc/thrum/contrib/prometheus"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

type word struct {
	Text string `frugal:"1,default,string"`
}

func chat(ctx context.Context, s stream.BidiStreamingServer[word, word]) error {
	for {
		w, err := s.Recv(ctx)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = s.Send(ctx, w)
		}
		if err != nil {
			return err
		}
	}
}

// eventuallyLines waits for a scrape that has all lines.
func eventuallyLines(t *testing.T, lines []string, collectors ...prometheus.Collector) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		text := scrape(t, collectors...)
		missing := false
		for _, line := range lines {
			missing = missing || !strings.Contains("\n"+text, "\n"+line+"\n")
		}
		if !missing {
			return
		}
		if time.Now().After(end) {
			wantLines(t, text, lines...)
			return
		}
	}
}

func TestAScrapeTellsOfStreams(t *testing.T) {
	servers, clients := promthrum.NewServer(promthrum.Buckets(60)), promthrum.NewClient(promthrum.Buckets(60))
	_, address := start(t, []*rpc.Service{{Name: "Shop", Methods: []rpc.Method{rpc.BidiStreaming("chat", chat)}}}, servers.Option())
	client, err := rpc.Dial(t.Context(), "tcp", address, rpc.TTHeader(), clients.Option())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx := t.Context()
	s, err := rpc.OpenBidiStream[word, word](ctx, client, "Shop", "chat")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.Send(ctx, &word{Text: "hi"}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(ctx); err != nil {
			t.Fatal(err)
		}
	}
	var open, closed []string
	for _, side := range []string{"client", "server"} {
		open = append(open, `thrum_`+side+`_streams{method="chat",service="Shop"} 1`,
			`thrum_`+side+`_stream_messages_total{direction="sent",method="chat",service="Shop"} 3`,
			`thrum_`+side+`_stream_messages_total{direction="received",method="chat",service="Shop"} 3`)
		closed = append(closed, `thrum_`+side+`_streams{method="chat",service="Shop"} 0`,
			`thrum_`+side+`_call_duration_seconds_count{method="chat",outcome="ok",service="Shop"} 1`)
	}
	eventuallyLines(t, open, servers, clients)
	if err := s.CloseSend(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(ctx); err != io.EOF {
		t.Fatal(err)
	}
	eventuallyLines(t, closed, servers, clients)
}

func TestAScrapeTellsOfStreamsOfAClusterOfMessages(t *testing.T) {
	release := make(chan struct{})
	_, address := start(t, []*rpc.Service{{Name: "Shop", Methods: []rpc.Method{{Name: "Chat", MessageStream: func(context.Context, *rpc.MessageStream) error {
		<-release
		return nil
	}}}}})
	calls, err := cluster.NewMessages(resolve.Hosts(address))
	if err != nil {
		t.Fatal(err)
	}
	defer calls.Close()
	clients := promthrum.NewClient(promthrum.Buckets(60))
	c := rpc.InterceptedMessageStreams(calls, rpc.Target{}, clients.InterceptMessageStream).(rpc.MessageStreamer)
	s, err := c.OpenMessageStream(t.Context(), &rpc.MessageStreamCall{Method: "/Shop/Chat", Type: transport.FlatBuffers})
	if err != nil {
		t.Fatal(err)
	}
	eventuallyLines(t, []string{`thrum_cluster_address_streams{address="` + address + `"} 1`, `thrum_client_streams{method="Chat",service="Shop"} 1`},
		promthrum.NewCluster(calls), clients)
	close(release)
	if err := s.Recv(t.Context(), func([]byte) error { return nil }); err != io.EOF {
		t.Fatal(err)
	}
	eventuallyLines(t, []string{`thrum_cluster_address_streams{address="` + address + `"} 0`, `thrum_client_streams{method="Chat",service="Shop"} 0`},
		promthrum.NewCluster(calls), clients)
}
