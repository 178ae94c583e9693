package gateway_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/store"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
)

// A service, and the gateway to it, can share a port, whatever its clients speak.
func TestGatewaysShareThePortOfTheirService(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	backend, err := rpc.Dial(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { backend.Close() })
	server := rpc.NewServer(rpc.HTTPFallback(newShop(t, backend)), rpc.QueueTimeout(0), rpc.TaskExpiry(0))
	if err := server.Register(shop.NewShopService(store.New())); err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })

	for name, opts := range map[string][]rpc.ClientOption{
		"framed": nil, "THeader": {rpc.THeader(header.None)}, "HTTP/1.1": {rpc.HTTP("http://" + address)}, "HTTP/2": {rpc.HTTP2("http://" + address)},
	} {
		client, err := rpc.Dial(t.Context(), "tcp", address, opts...)
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Invoke(t.Context(), &rpc.Invocation{Service: "Shop", Method: "version"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		client.Close()
	}
	for _, two := range []bool{false, true} {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(!two)
		protocols.SetUnencryptedHTTP2(two)
		h := &http.Client{Transport: &http.Transport{Protocols: protocols}}
		for path, want := range map[string]string{"/v1/version": "200 ", "/v1/nothing": "404 ", "/v1/books/99": "404 "} {
			reply, err := h.Get("http://" + address + path)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(reply.Body)
			reply.Body.Close()
			if !strings.HasPrefix(reply.Status, want) || len(body) == 0 {
				t.Errorf("%s %s: %s %s", reply.Proto, path, reply.Status, body)
			}
		}
		h.CloseIdleConnections()
	}
}
