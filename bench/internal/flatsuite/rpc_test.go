package flatsuite

import (
	"runtime"
	"testing"

	"github.com/thrum-rpc/thrum/bench/internal/rpcsuite"
)

func TestAllMakeTheSameCalls(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("calls are measured on Linux only")
	}
	addresses := map[string]string{}
	for name, start := range servers {
		address, run, err := start()
		if err != nil {
			t.Fatal(err)
		}
		go run()
		addresses[name] = address.String()
	}
	for _, m := range append(matches(true), grpcMatches(false)...) {
		for _, s := range m.Sides {
			calls, closers, err := clients[s.Client](rpcsuite.Load{Address: addresses[s.Server], Shape: m.Calls, Callers: 2})
			if err != nil {
				t.Fatalf("%s of %s: %v", m.Shape, s.Name, err)
			}
			for _, call := range calls {
				for range 3 {
					if err := call(t.Context()); err != nil {
						t.Errorf("%s of %s: %v", m.Shape, s.Name, err)
					}
				}
			}
			for _, c := range closers {
				c.Close()
			}
		}
	}
}
