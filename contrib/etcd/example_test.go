package etcd_test

import (
	"context"
	"fmt"
	"os"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/thrum-rpc/thrum/contrib/etcd"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// A server registers itself, and a client finds it.
func Example() {
	dir, err := os.MkdirTemp("", "etcd")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	member, err := startEtcd(dir) // in earnest, a cluster of one's own
	if err != nil {
		fmt.Println(err)
		return
	}
	defer member.Close()
	ctx := context.Background()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + member.Clients[0].Addr().String()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	registration, err := etcd.Register(ctx, client, "shop", resolve.Address{Addr: "10.0.0.1:9090", Zone: "eu-1", Weight: 50})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer registration.Close(ctx)

	set, err := resolve.Once(ctx, etcd.NewResolver(client, "shop"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range set {
		fmt.Println(a, a.Zone, a.Share())
	}
	// Output: 10.0.0.1:9090 eu-1 50
}
