package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/parcels"
	"github.com/thrum-rpc/thrum/examples/shop/store"
	"github.com/thrum-rpc/thrum/gateway"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
)

// This file is "thrum demo": the bookshop of examples/shop as a Thrift server,
// with a gateway in front of it, in one process.

const (
	demoThrift = "127.0.0.1:9090"
	demoHTTP   = "127.0.0.1:8080"
	// demoGrace is how long calls that run may take to end after Ctrl-C.
	demoGrace = 5 * time.Second
)

func demoCommand() *command {
	return &command{
		name: "demo", args: "[--listen ADDRESS] [--http ADDRESS] [--admin ADDRESS] [--etcd]",
		summary: "run a Thrift bookshop with an HTTP gateway in front of it",
		help: "Prints the addresses and three commands to try, and runs until Ctrl-C. Where a\n" +
			"default address is taken, a free port is used instead. With --etcd it is three\n" +
			"bookshops that register in an etcd, and a client that finds them there; that\n" +
			"takes a checkout of the repository and the go command.",
		examples: []string{"thrum demo", "thrum demo --http 127.0.0.1:0", "thrum demo --etcd"},
		setup: func(fs *flag.FlagSet) func(*environment, []string) error {
			listen := fs.String("listen", "", "serve Thrift on this `address` (usually "+demoThrift+")")
			web := fs.String("http", "", "serve HTTP on this `address` (usually "+demoHTTP+")")
			status := fs.String("admin", "", "serve a status page, health and profiles on this `address`")
			registry := fs.Bool("etcd", false, "show three servers and a client on an etcd instead")
			return func(env *environment, args []string) error {
				if len(args) > 0 {
					return usageError("demo takes no arguments")
				}
				if *registry {
					return demoEtcd(env)
				}
				return demo(env, *listen, *web, *status)
			}
		},
	}
}

func demo(env *environment, listen, web, status string) error {
	thriftListener, err := listenOr(listen, demoThrift)
	if err != nil {
		return err
	}
	defer thriftListener.Close()
	httpListener, err := listenOr(web, demoHTTP)
	if err != nil {
		return err
	}
	defer httpListener.Close()
	server, err := bookshop()
	if err != nil {
		return err
	}
	done := make(chan error, 2)
	go func() { done <- server.Serve(thriftListener) }()
	defer server.Close()

	client, err := rpc.Dial(env.ctx, "tcp", thriftListener.Addr().String())
	if err != nil {
		return err
	}
	defer client.Close()
	stopAdmin, err := demoAdmin(status, server, client, env.stdout)
	if err != nil {
		return err
	}
	defer stopAdmin()
	files, err := shopSchema()
	if err != nil {
		return err
	}
	handler, err := gateway.New(files, client, gateway.TellErrors(), gateway.Explorer())
	if err != nil {
		return err
	}
	front := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute}
	go func() { done <- front.Serve(httpListener) }()
	defer front.Close()

	printDemo(env.stdout, thriftListener.Addr().String(), httpListener.Addr().String())
	select {
	case err := <-done: // neither ends by itself
		return err
	case <-env.ctx.Done():
	}
	// The front goes first, so that its calls find the server still there.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(env.ctx), demoGrace)
	defer cancel()
	return errors.Join(front.Shutdown(ctx), client.Close(), server.Shutdown(ctx))
}

// bookshop returns a server with the services of the example.
func bookshop() (*rpc.Server, error) {
	s := rpc.NewServer()
	if err := s.Register(shop.NewShopService(store.New())); err != nil {
		return nil, err
	}
	return s, s.Register(parcels.NewParcelsService(store.Parcels{}))
}

// shopSchema returns the schema of the example's services.
func shopSchema() ([]*schema.File, error) {
	var files []*schema.File
	for _, path := range []string{"shop.thrift", "parcels.thrift"} {
		f, list := thriftidl.Load(path, thriftidl.Sources(shop.IDL()))
		if err := list.Err(); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// listenOr listens on address or, if it is empty, on usual or, if that is
// taken, on a free port.
func listenOr(address, usual string) (net.Listener, error) {
	if address != "" {
		return net.Listen("tcp", address)
	}
	l, err := net.Listen("tcp", usual)
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EACCES) {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	return l, err
}

func printDemo(w io.Writer, thriftAddress, httpAddress string) {
	fmt.Fprintf(w, `A bookshop is open.

  Thrift  %[1]s  (binary or compact; framed, unframed, THeader, TTHeader)
  HTTP    http://%[2]s/  (lists the routes; in a browser, a page to try them on)

Try, in another terminal:

  curl -s 'http://%[2]s/v1/books/1?currency=GBP'

  curl -s http://%[2]s/v1/orders -H 'Content-Type: application/json' -H 'X-Customer: Ada' -d '{"lines": [{"book": 1, "quantity": 2}], "delivery": {"email": "ada@example.org"}}'

  go run ./cmd/thrum call %[1]s Shop.search '{"search": {"text": "invisibili"}}' --idl examples/shop/shop.thrift

Ctrl-C closes it.
`, thriftAddress, httpAddress)
}
