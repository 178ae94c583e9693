package stream_test

import (
	"context"
	"fmt"

	"github.com/thrum-rpc/thrum/rpc/stream"
)

// words is the codec of a message that is a string.
type words struct{}

func (words) Append(dst []byte, v *string) ([]byte, error) { return append(dst, *v...), nil }
func (words) Decode(b []byte) (*string, error)             { s := string(b); return &s, nil }

// Example joins both sides of a stream by a wire in memory.
func Example() {
	ctx := context.Background()
	toServer, toClient := &end{}, &end{}
	client := stream.New(ctx, toServer, stream.Options{Role: stream.Client})
	server := stream.New(ctx, toClient, stream.Options{Role: stream.Server})
	toServer.peer, toClient.peer = server, client

	caller := stream.NewBidiStreamingClient[string, string](client, words{}, words{})
	handler := stream.NewBidiStreamingServer[string, string](server, words{}, words{})

	client.Open(nil)
	question := "who goes there?"
	caller.Send(ctx, &question)
	caller.CloseSend(ctx)

	asked, _ := handler.Recv(ctx)
	answer := "asked: " + *asked
	handler.Send(ctx, &answer)
	server.Finish(nil)

	told, _ := caller.Recv(ctx)
	_, err := caller.Recv(ctx)
	fmt.Println(*told, err)
	// Output: asked: who goes there? EOF
}
