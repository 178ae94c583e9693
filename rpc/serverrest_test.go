package rpc_test

import (
	"context"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file tests that what idles holds little, and goes on where it was.

// rested returns a server of echo whose connections rest soon.
func rested(t *testing.T) (*rpc.Server, string) {
	t.Helper()
	server, address := listen(t, []rpc.Method{echo})
	rpc.RestAfter(server, 10*time.Millisecond)
	return server, address
}

func awaitRest(t *testing.T, server *rpc.Server, n int) {
	t.Helper()
	eventually(t, "the connections rest", func() bool { return rpc.Resting(server) == n })
}

func TestAConnectionThatHasRestedServes(t *testing.T) {
	server, address := rested(t)
	inEveryDialect(t, address, func(t *testing.T, e exchange) {
		eventually(t, "the connection that recorded the call is gone", func() bool { return rpc.Connections(server) == 0 })
		c := open(t, address)
		defer c.Close()
		for range 3 {
			for _, part := range [][]byte{e.request[:7], e.request[7:]} {
				if _, err := c.Write(part); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Millisecond) // may be shorter than a rest, and may not
			}
			reply := make([]byte, len(e.reply))
			if _, err := io.ReadFull(c, reply); err != nil {
				t.Fatal(err)
			}
			awaitRest(t, server, 1)
		}
	})
}

func TestWhatRestsTakesLittleStack(t *testing.T) {
	server, address := rested(t)
	const clients = 200
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.StackInuse
	e := record(t, address, nil, "echo", "x")
	for range clients {
		c := open(t, address)
		defer c.Close()
		if _, err := c.Write(e.request); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, e.reply); err != nil {
			t.Fatal(err)
		}
	}
	awaitRest(t, server, clients)
	eventually(t, "an idle connection has a stack of 2 KiB", func() bool { // and the goroutines that served them have ended
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.StackInuse-before)/clients <= 3<<10
	})
}

func TestAServerStopsWhileItsConnectionsRest(t *testing.T) {
	server, address := rested(t)
	for range 20 {
		if _, err := invoke(t.Context(), dial(t, "tcp", address), "echo", "x"); err != nil {
			t.Fatal(err)
		}
	}
	awaitRest(t, server, 20)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}
