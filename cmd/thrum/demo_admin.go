package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/admin"
)

// This file is the demo's port for operators.

// demoAdmin serves the status of a demo on an address, if it is not empty, and health as a service of server.
func demoAdmin(address string, server *rpc.Server, client *rpc.Client, out io.Writer) (stop func() error, err error) {
	if address == "" {
		return func() error { return nil }, nil
	}
	handler, err := admin.New(admin.Title("bookshop"), admin.WithServer("bookshop", server), admin.WithClient("gateway", client))
	if err != nil {
		return nil, err
	}
	if err := server.Register(handler.Service()); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	site := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute}
	go site.Serve(l) // until stop, and a failure shows at who asks
	fmt.Fprintf(out, "The bookshop's status is at http://%s/\n\n", l.Addr())
	return site.Close, nil
}
