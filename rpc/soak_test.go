package rpc_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
)

var soak = flag.Duration("soak", 2*time.Second, "how long the soak runs")

// TestSoak calls every form in every dialect, small and large, with calls that
// fail, expire and are given up, over connections that come and go, and checks every answer. Memory and
// goroutines must be as few at its end as in its first half.
func TestSoak(t *testing.T) {
	stuck := raw("stuck", func(ctx context.Context, _, dst []byte) ([]byte, error) {
		<-ctx.Done()
		return dst, ctx.Err()
	})
	forget := rpc.Method{Name: "forget", Callback: func([]byte, rpc.Responder) {}}
	server, address := listen(t, append(formsOf(), stuck, forget), rpc.QueueTimeout(0), rpc.TaskExpiry(10*time.Second))
	ctx, cancel := context.WithCancel(t.Context()) // no deadline, which calls would carry
	defer cancel()
	time.AfterFunc(*soak, cancel)
	var calls, conns atomic.Int64
	var wg sync.WaitGroup
	for name, opts := range dialects() {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(len(name))))
			for ctx.Err() == nil {
				client, err := rpc.Dial(ctx, "tcp", address, opts...)
				if err != nil {
					if ctx.Err() == nil {
						t.Errorf("%s: %v", name, err)
					}
					return
				}
				conns.Add(1)
				soakClient(ctx, t, client, r.Uint64(), &calls)
				client.Close()
			}
		})
	}
	first, last := soakLevels(ctx, t, server, &calls, &conns)
	wg.Wait()
	t.Logf("%d calls on %d connections", calls.Load(), conns.Load())
	if last.heap > first.heap+first.heap/2+16<<20 || last.goroutines > first.goroutines*3/2+50 {
		t.Errorf("in the first half %+v, at last %+v", first, last)
	}
}

// soakClient makes some hundred calls, up to eight at a time.
func soakClient(ctx context.Context, t *testing.T, client *rpc.Client, seed uint64, calls *atomic.Int64) {
	var wg sync.WaitGroup
	for k := range uint64(8) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, k))
			methods := formsOf()
			for range 50 {
				if ctx.Err() != nil {
					return
				}
				soakCall(ctx, t, client, methods[r.IntN(len(methods))].Name, r)
				calls.Add(1)
			}
		})
	}
	wg.Wait()
}

func soakCall(ctx context.Context, t *testing.T, client *rpc.Client, method string, r *rand.Rand) {
	size := r.IntN(200)
	if r.IntN(20) == 0 {
		size = r.IntN(100_000)
	}
	text := strings.Repeat(fmt.Sprint(r.IntN(1000), " "), size/4)
	var result textResult
	switch r.IntN(40) {
	case 0: // fails
		var e *rpc.ApplicationException
		if err := rpc.Call(ctx, client, method, &textArgs{"fail"}, &result); ctx.Err() == nil && (!errors.As(err, &e) || e.Message != "out of paper") {
			t.Errorf("%s: %v", method, err)
		}
	case 1: // is given up
		short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
		defer cancel()
		if _, err := invoke(short, client, []string{"stuck", "forget"}[r.IntN(2)], ""); err == nil {
			t.Error("a call that nobody answers has an answer")
		}
	default:
		err := rpc.Call(ctx, client, method, &textArgs{text}, &result)
		var e *rpc.Error
		if ctx.Err() != nil || errors.As(err, &e) && e.Stage != rpc.StageDecode && strings.Contains(err.Error(), "given up") {
			return
		}
		if err != nil || result.Success == nil || *result.Success != reversed(text) {
			t.Errorf("%s: %d bytes: %v", method, len(text), err)
		}
	}
}

// level is what a process holds.
type level struct {
	heap       uint64
	goroutines int
}

// soakLevels returns the highest levels of the first half and those at the end, and logs them every tenth.
func soakLevels(ctx context.Context, t *testing.T, server *rpc.Server, calls, conns *atomic.Int64) (first, last level) {
	tenth := time.NewTicker(max(*soak/10, time.Millisecond))
	defer tenth.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return first, last
		case <-tenth.C:
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		last = level{m.HeapAlloc, runtime.NumGoroutine()}
		if i < 5 {
			first = level{max(first.heap, last.heap), max(first.goroutines, last.goroutines)}
		}
		t.Logf("%d calls, %d connections, heap %d KiB, %d goroutines, %+v", calls.Load(), conns.Load(), last.heap>>10, last.goroutines, server.Stats())
	}
}
