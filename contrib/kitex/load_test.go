package kitex_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/client/genericclient"
	"github.com/cloudwego/kitex/pkg/generic"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	"github.com/thrum-rpc/thrum/contrib/kitex"
	full "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/full/shop"
	fullshop "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/full/shop/shop"
	slim "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/slim/shop"
	slimshop "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/slim/shop/shop"
)

// value is a different value for each number, with parts of all sizes up to
// several megabytes.
func value(i int) *slim.Everything {
	size := 1 << (i % 23)
	return &slim.Everything{
		Text: strings.Repeat(string(rune('a'+i%26)), size), Data: bytes.Repeat([]byte{byte(i)}, 2*size), Must: int32(i),
		Blobs: [][]byte{bytes.Repeat([]byte{byte(i)}, 5000), nil, {byte(i)}}, Words: []string{fmt.Sprint(i)},
		Author: &slim.Author{Name: "Ada"}, Shelf: &slim.Shelf{}, Format: slim.Format_AUDIO,
	}
}

// same compares what value fills and echo returns.
func same(want, got *slim.Everything) bool {
	return want.Text == got.Text && bytes.Equal(want.Data, got.Data) && want.Must == got.Must && len(got.Blobs) == 3 &&
		bytes.Equal(want.Blobs[0], got.Blobs[0]) && len(got.Blobs[1]) == 0 && bytes.Equal(want.Blobs[2], got.Blobs[2]) &&
		got.Words[0] == want.Words[0] && got.Format == want.Format
}

// TestManyCallersShareAService sends large and small values at once; all come
// back to their callers.
func TestManyCallersShareAService(t *testing.T) {
	wirings := map[string][2][]any{
		"mux": {{server.WithMuxTransport()}, {client.WithMuxConnection(2)}},
	}
	for name, protocol := range transports {
		wirings[name] = [2][]any{nil, {client.WithTransportProtocol(protocol)}}
	}
	for name, wiring := range wirings {
		t.Run(name, func(t *testing.T) {
			codec := kitex.New()
			serverOptions := []server.Option{server.WithPayloadCodec(codec)}
			for _, o := range wiring[0] {
				serverOptions = append(serverOptions, o.(server.Option))
			}
			clientOptions := []client.Option{client.WithPayloadCodec(codec), client.WithRPCTimeout(time.Minute)}
			for _, o := range wiring[1] {
				clientOptions = append(clientOptions, o.(client.Option))
			}
			address, _ := serve(t, slimshop.NewServiceInfo(), serverOptions...)
			c, err := slimshop.NewClient("shop", append(clientOptions, client.WithHostPorts(address))...)
			if err != nil {
				t.Fatal(err)
			}
			var callers sync.WaitGroup
			for i := range 16 {
				callers.Go(func() {
					for j := range 6 {
						want := value(i + 16*j)
						got, err := c.Echo(t.Context(), want)
						if err != nil || !same(want, got) {
							t.Errorf("caller %d, call %d: %v", i, j, err)
							return
						}
					}
				})
			}
			callers.Wait()
		})
	}
}

// TestAnUnchangedKitexClientSeesExceptionsAsTypes calls a service that was
// switched by one option, with generated clients and Kitex's own codec.
func TestAnUnchangedKitexClientSeesExceptionsAsTypes(t *testing.T) {
	address, _ := serve(t, slimshop.NewServiceInfo(), server.WithPayloadCodec(kitex.New()))
	for name, protocol := range transports {
		c, err := fullshop.NewClient("shop", client.WithHostPorts(address), client.WithTransportProtocol(protocol))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Drill(t.Context(), full.Failure_OUT_OF_STOCK)
		if _, ok := err.(*full.OutOfStock); !ok {
			t.Errorf("%s: got %v", name, err)
		}
		if version, err := c.Version(t.Context()); err != nil || version != "bookshop 1" {
			t.Errorf("%s: %q, %v", name, version, err)
		}
	}
}

// TestGenericCallsAreLeftToKitex calls by IDL and JSON, with the option set.
func TestGenericCallsAreLeftToKitex(t *testing.T) {
	address, _ := serve(t, slimshop.NewServiceInfo(), server.WithPayloadCodec(kitex.New()))
	const idl = `
		struct Book { 1: i64 id, 2: string title }
		service Shop { Book getBook(1: i64 id) }`
	provider, err := generic.NewThriftContentWithAbsIncludePathProvider("shop.thrift", map[string]string{"shop.thrift": idl})
	if err != nil {
		t.Fatal(err)
	}
	g, err := generic.JSONThriftGeneric(provider)
	if err != nil {
		t.Fatal(err)
	}
	c, err := genericclient.NewClient("shop", g, client.WithHostPorts(address), client.WithPayloadCodec(kitex.New()),
		client.WithTransportProtocol(transport.TTHeader))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.GenericCall(context.Background(), "getBook", "1")
	if text, _ := got.(string); err != nil || !strings.Contains(text, `"title"`) {
		t.Errorf("%v, %v", got, err)
	}
}
