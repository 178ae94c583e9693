package kitex_test

import (
	"net"
	"testing"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	full "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/full/shop/shop"
	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/store"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
)

// This file lets Thrum's own servers and clients meet Kitex, with Kitex's own
// codec: what they share is the wire.

// serveThrum starts a bookshop of package rpc and returns its address.
func serveThrum(t *testing.T) string {
	t.Helper()
	s := newServer()
	if err := s.Register(shop.NewShopService(store.New())); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l) // an error shows in the calls
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

func TestKitexClientsCallThrumServers(t *testing.T) {
	info := full.NewServiceInfo()
	for name, protocol := range transports {
		t.Run(name, func(t *testing.T) {
			makeCalls(t, info, dial(t, info, serveThrum(t), client.WithTransportProtocol(protocol)))
		})
	}
	t.Run("mux", func(t *testing.T) {
		makeCalls(t, info, dial(t, info, serveThrum(t), client.WithTransportProtocol(transport.TTHeader), client.WithMuxConnection(1)))
	})
}

func TestThrumClientsCallKitexServers(t *testing.T) {
	for name, c := range map[string]struct {
		server []server.Option
		client []rpc.ClientOption
	}{
		"plain":         {nil, []rpc.ClientOption{rpc.Unframed()}},
		"framed":        {nil, nil},
		"ttheader":      {nil, []rpc.ClientOption{rpc.TTHeader()}},
		"ttheader, mux": {[]server.Option{server.WithMuxTransport()}, []rpc.ClientOption{rpc.TTHeader()}},
	} {
		t.Run(name, func(t *testing.T) {
			address, _ := serve(t, full.NewServiceInfo(), c.server...)
			theirs, err := rpc.Dial(t.Context(), "tcp", address, c.client...)
			if err != nil {
				t.Fatal(err)
			}
			defer theirs.Close()
			compareCalls(t, theirs)
		})
	}
}

// compareCalls makes the calls that all peers share and compares the results
// with those of a Thrum server.
func compareCalls(t *testing.T, theirs rpc.Caller) {
	t.Helper()
	calls, service := loadCalls(t)
	ours := newServer()
	if err := ours.Register(shop.NewShopService(store.New())); err != nil {
		t.Fatal(err)
	}
	reference := rpctest.Serve(t, ours)
	for _, each := range calls {
		method := service.Method(each.Method)
		args, err := converter(t, method.Args()).AppendThrift(nil, each.Args)
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := thrums(t.Context(), reference, method, args)
		got, err := thrums(t.Context(), theirs, method, args)
		switch {
		case (err == nil) != (wantErr == nil):
			t.Errorf("%s: got the error %v, want %v", each.Name, err, wantErr)
		case err == nil && !method.Oneway():
			result := converter(t, method.Result())
			if g, w := normal(t, result, got), normal(t, result, want); g != w {
				t.Errorf("%s:\n got %s\nwant %s", each.Name, g, w)
			}
		}
	}
}
