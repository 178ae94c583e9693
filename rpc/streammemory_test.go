package rpc_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file tests what connections of streams hold, over pipes whose time is the test's.

// streamMessage is a frame of a stream with a payload of size bytes.
func streamMessage(t *testing.T, id uint32, method string, size int) []byte {
	t.Helper()
	b := append(streamFrame(t, id, "3", method), make([]byte, size)...)
	ttheader.Seal(b, 0)
	return b
}

// takers is a server in a bubble with two methods of streams: "take" counts messages, "leave" takes none.
func takers(t *testing.T, taken *atomic.Int64, opts ...rpc.ServerOption) (*rpc.Server, func() *peer) {
	t.Helper()
	take := rpc.Method{Name: "take", Stream: func(ctx context.Context, s *stream.Stream) error {
		for {
			if err := s.Recv(ctx, func([]byte) error { return nil }); err != nil {
				return nil
			}
			taken.Add(1)
		}
	}}
	leave := rpc.Method{Name: "leave", Stream: func(ctx context.Context, s *stream.Stream) error {
		<-ctx.Done()
		return nil
	}}
	server, l := listenInBubble(t, []rpc.Method{take, leave, echo}, opts...)
	return server, func() *peer { return connectInBubble(t, l, false) }
}

// Large messages of streams that arrive in part, more than there is memory for, wait, and small ones do not. When
// they go on all are taken.
func TestLargeMessagesOfStreamsWaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, limit, clients = 1 << 20, 4 << 20, 40
		const smallest = 80 << 10 // that is counted as it arrives
		var taken atomic.Int64
		server, open := takers(t, &taken, rpc.MaxMemory(limit), rpc.ReadTimeout(time.Hour))
		gone := open()
		gone.send(streamMessage(t, 1, "take", smallest)[:smallest])
		gone.Close()
		goOn := make(chan struct{})
		var sent sync.WaitGroup
		for range clients {
			p := open()
			p.send(streamFrame(t, 1, "2", "take"))
			sent.Go(func() {
				frame := streamMessage(t, 1, "take", size)
				p.send(frame[:size*3/4])
				<-goOn
				p.send(frame[size*3/4:])
			})
		}
		time.Sleep(patience / 4)
		// Connections that look at the same time may each read once more.
		if n := server.Stats().Memory; n < limit-size || n > 4*limit {
			t.Errorf("%d bytes are counted where %d are allowed", n, limit)
		}
		small := open()
		small.send(small.call("echo", 1, "small"))
		small.want(1, "small")
		close(goOn)
		sent.Wait()
		time.Sleep(patience / 4)
		if n := taken.Load(); n != clients {
			t.Errorf("%d messages of %d", n, clients)
		}
		if n := server.Stats().Memory; n != 0 {
			t.Errorf("%d bytes are counted when all is taken, or gone", n)
		}
	})
}

// One connection may go beyond the memory, until what it has sent is taken, is for nobody, or waits too long.
func TestOneLargeMessageOfAStreamMayGoBeyondTheMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const large = 1 << 18
		var taken atomic.Int64
		const stall = patience / 2
		_, open := takers(t, &taken, rpc.MaxMemory(1<<20), rpc.ReadTimeout(time.Hour), rpc.StreamStall(stall))
		full := open()
		full.send(streamFrame(t, 1, "2", "leave"))
		full.send(streamMessage(t, 1, "leave", 1<<20-large/2))
		synctest.Wait()
		toNobody := open()
		toNobody.send(streamFrame(t, 1, "2", "leave"))
		toNobody.send(streamMessage(t, 7, "leave", large))
		synctest.Wait()
		late := open()
		late.send(streamFrame(t, 1, "2", "leave"))
		late.send(streamMessage(t, 1, "leave", large))
		synctest.Wait()
		held := open()
		held.send(streamFrame(t, 1, "2", "leave"))
		held.send(streamMessage(t, 1, "leave", large))
		synctest.Wait()
		var sent sync.WaitGroup
		for range 2 {
			p := open()
			p.send(streamFrame(t, 1, "2", "take"))
			sent.Go(func() { p.send(streamMessage(t, 1, "take", large)) })
		}
		time.Sleep(patience / 4)
		if n := taken.Load(); n != 0 {
			t.Errorf("%d messages while one that is beyond the memory has not been taken", n)
		}
		held.Close()
		sent.Wait()
		synctest.Wait()
		if n := taken.Load(); n != 2 {
			t.Errorf("%d messages of 2", n)
		}
	})
}

// A goroutine that has ended reads no streams; its connection ends, and is not counted for ever.
func TestAJudgeOfStreamsThatEndsItsGoroutineEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var judged, taken atomic.Int64
		_, open := takers(t, &taken, rpc.Overloaded(func(rpc.CallInfo) error {
			if judged.Add(1) == 2 {
				runtime.Goexit()
			}
			return nil
		}))
		p := open()
		p.send(streamFrame(t, 1, "2", "leave"))
		p.send(streamFrame(t, 2, "2", "leave"))
		p.wantClosed()
	})
}
