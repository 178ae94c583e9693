// Command shopserver serves the demo's bookshop with Kitex and Thrum's codec
// on a free port of this machine, prints the port, and ends with its standard input. The
// interoperation tests let clients of other languages call it.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"os"

	"github.com/cloudwego/kitex/pkg/klog"
	"github.com/cloudwego/kitex/server"

	"github.com/thrum-rpc/thrum/contrib/kitex"
	"github.com/thrum-rpc/thrum/contrib/kitex/internal/bookshop"
	kitexshop "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/slim/shop/shop"
	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/store"
)

func main() {
	klog.SetOutput(io.Discard) // some calls of the tests fail as they should
	info, err := bookshop.Bind(kitexshop.NewServiceInfo(), shop.NewShopService(store.New()))
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s := server.NewServer(server.WithListener(listener), server.WithPayloadCodec(kitex.New()))
	if err := s.RegisterService(info, &struct{}{}); err != nil {
		log.Fatal(err)
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		s.Stop()
	}()
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	if err := s.Run(); err != nil {
		log.Fatal(err)
	}
}
