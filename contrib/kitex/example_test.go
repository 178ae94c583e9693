package kitex_test

import (
	"context"
	"fmt"
	"net"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/server"

	"github.com/thrum-rpc/thrum/contrib/kitex"
	"github.com/thrum-rpc/thrum/contrib/kitex/internal/bookshop"
	kitexshop "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/slim/shop/shop"
	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/store"
)

func Example() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	// The option is all that changes in a service …
	s := server.NewServer(server.WithListener(listener), server.WithPayloadCodec(kitex.New()))
	info, err := bookshop.Bind(kitexshop.NewServiceInfo(), shop.NewShopService(store.New()))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.RegisterService(info, &struct{}{}); err != nil {
		fmt.Println(err)
		return
	}
	go s.Run()

	// … and in a client, of which either may go without it.
	c, err := kitexshop.NewClient("shop", client.WithHostPorts(listener.Addr().String()), client.WithPayloadCodec(kitex.New()))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Version(context.Background()))
	// Output: bookshop 1 <nil>
}
