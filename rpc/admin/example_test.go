package admin_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/admin"
)

func Example() {
	server := rpc.NewServer()
	a, err := admin.New(admin.Title("shop"), admin.WithServer("front", server))
	if err != nil {
		panic(err)
	}
	if err := server.Register(a.Service()); err != nil { // for those who ask by Thrift
		panic(err)
	}
	port := httptest.NewServer(a) // a program serves it on an address that only operators reach
	defer port.Close()

	ready := func() {
		reply, err := http.Get(port.URL + "/readyz")
		if err != nil {
			panic(err)
		}
		defer reply.Body.Close()
		text, _ := io.ReadAll(reply.Body)
		fmt.Printf("%d %s", reply.StatusCode, text)
	}
	ready()
	a.SetStatus(admin.Stopping) // before a restart
	ready()
	// Output:
	// 200 ok
	// 503 the process is STOPPING
}
