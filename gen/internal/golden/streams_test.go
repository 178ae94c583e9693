package golden_test

// How a generated service and its client stream.

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/thrum-rpc/thrum/gen/internal/golden/streams"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/rpc/stream"
)

// notes serves all but name.
type notes struct{ streams.UnimplementedNotes }

func (notes) Echo(ctx context.Context, s stream.BidiStreamingServer[streams.Note, streams.Note]) error {
	for {
		n, err := s.Recv(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Send(ctx, n); err != nil {
			return err
		}
	}
}

func (notes) Count(ctx context.Context, req *streams.Note, s stream.ServerStreamingServer[streams.Note]) error {
	for i := range req.Number {
		if err := s.Send(ctx, &streams.Note{Text: req.Text, Number: i}); err != nil {
			return err
		}
	}
	return nil
}

func (notes) Add(ctx context.Context, s stream.ClientStreamingServer[streams.Note, streams.Sum]) error {
	sum := &streams.Sum{}
	for {
		n, err := s.Recv(ctx)
		if err == io.EOF {
			return s.SendAndClose(ctx, sum)
		}
		if err != nil {
			return err
		}
		if sum.Total += int64(n.Number); sum.Total > 100 {
			return &streams.Full{Limit: 100}
		}
	}
}

func (notes) Last(_ context.Context, n *streams.Note) (*streams.Note, error) { return n, nil }

// A generated client works on a client of many addresses as it does on one of one.
func TestAGeneratedClientStreamsOverACluster(t *testing.T) {
	server := rpc.NewServer(rpc.QueueTimeout(0), rpc.TaskExpiry(0))
	if err := server.Register(streams.NewNotesService(notes{})); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	calls, err := cluster.New(resolve.Hosts(l.Addr().String()), cluster.Dial(rpc.TTHeader()))
	if err != nil {
		t.Fatal(err)
	}
	defer calls.Close()
	ctx, c := t.Context(), streams.NewNotesClient(calls)
	count, err := c.Count(ctx, &streams.Note{Text: "b", Number: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(2) {
		if n, err := count.Recv(ctx); err != nil || n.Number != i || n.Text != "b" {
			t.Fatalf("got %v, %v", n, err)
		}
	}
	if _, err := count.Recv(ctx); err != io.EOF {
		t.Errorf("got %v", err)
	}
	if n, err := c.Last(ctx, &streams.Note{Text: "z"}); err != nil || n.Text != "z" {
		t.Errorf("the unary method: %v, %v", n, err)
	}
}

func TestAGeneratedServiceStreams(t *testing.T) {
	server := rpc.NewServer(rpc.QueueTimeout(0), rpc.TaskExpiry(0))
	if err := server.Register(streams.NewNotesService(notes{})); err != nil {
		t.Fatal(err)
	}
	if err := streams.PretouchNotes(); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	c := streams.NewNotesClient(rpctest.Serve(t, server, rpc.TTHeader()))

	echo, err := c.Echo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(3) {
		if err := echo.Send(ctx, &streams.Note{Text: "a", Number: i}); err != nil {
			t.Fatal(err)
		}
		if n, err := echo.Recv(ctx); err != nil || n.Number != i {
			t.Fatalf("got %v, %v", n, err)
		}
	}
	if err := echo.CloseSend(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := echo.Recv(ctx); err != io.EOF {
		t.Errorf("got %v", err)
	}

	count, err := c.Count(ctx, &streams.Note{Text: "b", Number: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(2) {
		if n, err := count.Recv(ctx); err != nil || n.Number != i || n.Text != "b" {
			t.Fatalf("got %v, %v", n, err)
		}
	}
	if _, err := count.Recv(ctx); err != io.EOF {
		t.Errorf("got %v", err)
	}

	add, err := c.Add(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(5) {
		if err := add.Send(ctx, &streams.Note{Number: i}); err != nil {
			t.Fatal(err)
		}
	}
	if sum, err := add.CloseAndRecv(ctx); err != nil || sum.Total != 10 {
		t.Errorf("got %v, %v", sum, err)
	}

	var e *rpc.ApplicationException
	if add, err = c.Add(ctx); err != nil {
		t.Fatal(err)
	}
	if err := add.Send(ctx, &streams.Note{Number: 101}); err != nil {
		t.Fatal(err)
	}
	if _, err := add.CloseAndRecv(ctx); !errors.As(err, &e) || e.Message != (&streams.Full{Limit: 100}).Error() {
		t.Errorf("of a declared exception the client gets %v", err)
	}

	if n, err := c.Last(ctx, &streams.Note{Text: "z"}); err != nil || n.Text != "z" {
		t.Errorf("the unary method: %v, %v", n, err)
	}
	if _, err := c.Name(ctx); !errors.As(err, &e) || e.Type != rpc.UnknownMethod {
		t.Errorf("the method that is not served: %v", err)
	}
}
