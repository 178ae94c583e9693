package rpc_test

import (
	"bytes"
	"context"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file tests what clients can make a server keep in memory: by sending
// little and claiming much, by not reading, by compressing zeros. The bounds
// count the heap and stacks of the whole process, so the clients' part too.

// memory returns the bytes that are in use.
func memory() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools let go of
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// wantMemory fails the test if more than limit bytes stay in use than before. What handlers
// leave behind while the collector runs is in use for once, and not the next time.
func wantMemory(t *testing.T, what string, before, limit int64) {
	t.Helper()
	grown := memory() - before
	for end := time.Now().Add(patience); grown > limit; grown = memory() - before {
		if time.Now().After(end) {
			t.Errorf("%s: %d KiB more than before, want at most %d", what, grown>>10, limit>>10)
			return
		}
	}
}

// Clients that begin a message of 16 MiB and send a little of it.
func TestPartialMessagesCostWhatHasArrived(t *testing.T) {
	server, address := host(t, []rpc.Method{echo})
	served := bystanders(t, address)
	inEveryDialect(t, address, func(t *testing.T, e exchange) {
		large := bytes.Clone(e.request)
		if large[0] == 0 {
			large[1] = 0xf0 // a frame of 15 MiB and something
		} else { // a string of as much
			large = thriftwire.AppendField(thriftwire.AppendMessage(nil, thriftwire.Call, "echo", 1), thriftwire.String, 1)
			large = append(large, 0, 0xf0, 0, 0)
		}
		large = append(large, make([]byte, 1<<12)...)
		before := memory()
		const clients = 100
		var all []net.Conn
		for i := range clients {
			c := open(t, address)
			c.Write(large[:20+i*40])
			all = append(all, c)
		}
		eventually(t, "all are connected", func() bool { return rpc.Connections(server) >= clients })
		wantMemory(t, "100 clients that have sent 2 KiB each on average", before, clients*64<<10)
		for _, c := range all {
			c.Close()
		}
		eventually(t, "all are gone", func() bool { return rpc.Connections(server) < clients/2 })
	})
	served()
}

// Clients that ask for large replies and do not read them.
func TestSlowReadersCostABoundedAmount(t *testing.T) {
	const frame = 1 << 18
	large := raw("large", func(_ context.Context, _, dst []byte) ([]byte, error) {
		return append(dst, textStruct(strings.Repeat("x", frame-100))...), nil
	})
	server, address := host(t, []rpc.Method{echo, large}, rpc.MaxFrameSize(frame), rpc.MaxConcurrentPerConn(8))
	served := bystanders(t, address)
	before := memory()
	const clients = 10
	var all []*peer
	for range clients {
		p := connect(t, address, true)
		p.Conn.(*net.TCPConn).SetReadBuffer(1 << 14)
		all = append(all, p)
		for i := range int32(200) { // 50 MiB each
			p.send(p.call("large", i, ""))
		}
	}
	// A frame that is ready and eight that handlers were making, with the
	// garbage of that: not what has been asked for.
	eventually(t, "the replies are stuck", func() bool { return rpc.InFlight(server) >= clients })
	for range 5 {
		wantMemory(t, "10 clients that do not read", before, clients*3*(1+8)*frame)
		time.Sleep(10 * time.Millisecond)
	}
	served()
	// One of them reads after all, and everything is there.
	for i := range int32(200) {
		r, err := all[0].receive()
		if err != nil || r.seq != i || len(r.text) != frame-100 {
			t.Fatalf("reply %d: #%d of %d bytes, %v", i, r.seq, len(r.text), err)
		}
	}
	for _, p := range all {
		p.Close()
	}
	eventually(t, "only the bystanders are connected", func() bool { return rpc.Connections(server) == 3 })
	wantMemory(t, "after they have gone", before, 24*frame)
}

// Clients that do not read, when they hold all the memory there is.
func TestSlowReadersDoNotKeepOutOthers(t *testing.T) {
	const frame = 1 << 18
	large := raw("large", func(_ context.Context, _, dst []byte) ([]byte, error) {
		return append(dst, textStruct(strings.Repeat("x", frame-100))...), nil
	})
	server, address := host(t, []rpc.Method{echo, large}, rpc.MaxFrameSize(frame), rpc.MaxMemory(1<<20))
	served := bystanders(t, address)
	for range 10 {
		p := connect(t, address, true)
		p.Conn.(*net.TCPConn).SetReadBuffer(1 << 14)
		for i := range int32(50) {
			p.send(p.call("large", i, ""))
		}
	}
	eventually(t, "there is no memory left", func() bool { return server.Stats().Memory > 1<<20 })
	for range 5 {
		served()
	}
	if n := server.Stats().Memory; n < 1<<20 {
		t.Errorf("%d bytes in use, so nothing was tested", n)
	}
}

// Large messages that arrive in part, more than there is memory for: they
// wait, and small ones do not. When they go on all are answered.
func TestLargeMessagesWaitForMemoryAndSmallOnesDoNot(t *testing.T) {
	const size, limit, clients = 1 << 20, 4 << 20, 40
	server, address := host(t, []rpc.Method{echo}, rpc.MaxMemory(limit))
	served := bystanders(t, address)
	text := strings.Repeat("a large message ", size/16)
	var all []*peer
	var wg sync.WaitGroup
	before := memory()
	for i := range clients {
		p := connect(t, address, true)
		all = append(all, p)
		b := p.call("echo", int32(i), text)
		wg.Go(func() { p.send(b[:size*3/4]) })
	}
	eventually(t, "there is no memory left", func() bool { return server.Stats().Memory > limit-size })
	for range 5 {
		served()
		// The messages are here too, and what is in sockets is not.
		wantMemory(t, "parts of 40 messages", before, clients*(size+size/4)+4*limit)
		if n := server.Stats().Memory; n > limit+4*size {
			t.Errorf("%d bytes in use, %d allowed", n, limit)
		}
	}
	for i, p := range all {
		wg.Go(func() {
			b := p.call("echo", int32(i), text)
			p.send(b[size*3/4:])
			p.want(int32(i), text)
		})
	}
	wg.Wait()
	served()
}

// A client that reads a byte now and then gets all of its reply.
func TestASlowReaderGetsItsReplies(t *testing.T) {
	_, address := host(t, []rpc.Method{echo})
	served := bystanders(t, address)
	p := connect(t, address, true)
	text := strings.Repeat("slowly but surely ", 5000)
	for i := range int32(4) {
		p.send(p.call("echo", i, text))
	}
	p.Conn = slowReader{p.Conn}
	for i := range int32(4) {
		p.want(i, text)
	}
	served()
}

// slowReader is a connection of which little is read at a time.
type slowReader struct{ net.Conn }

func (s slowReader) Read(b []byte) (int, error) {
	time.Sleep(10 * time.Microsecond)
	return s.Conn.Read(b[:min(len(b), 100)])
}

// Frames that become much more than they are.
func TestBombsCostABoundedAmount(t *testing.T) {
	const limit = 1 << 18
	_, address := host(t, []rpc.Method{echo}, rpc.MaxFrameSize(limit))
	served := bystanders(t, address)
	for _, transform := range []header.Transform{header.Zlib, header.Zstd} {
		t.Run(transform.String(), func(t *testing.T) {
			message := append(thriftwire.AppendMessage(nil, thriftwire.Call, "echo", 1), textStruct(strings.Repeat("\x00", 16<<20))...)
			bomb := headerCall(t, header.Outgoing{Flags: header.OutOfOrder, SequenceID: 1, Transform: transform}, message)
			small := headerCall(t, header.Outgoing{Flags: header.OutOfOrder, SequenceID: 2}, echoCall("echo", 2, "still here"))
			if len(bomb) > limit/4 { // 16 MiB of one byte become 16 to 33 KiB, by the release of Go
				t.Fatalf("the bomb has %d bytes", len(bomb))
			}
			message = nil
			before := memory()
			const clients, each = 16, 10 // at least
			var wg sync.WaitGroup
			var measured atomic.Bool
			for range clients {
				p := connect(t, address, true)
				wg.Go(func() {
					for n := 0; n < each || !measured.Load(); n++ {
						p.send(bomb)
						f, m := p.headerReply()
						if r := parseReply(m); f.SequenceID != 1 || r.t != thriftwire.Exception || r.exception != rpc.ProtocolError {
							t.Errorf("%v", r)
							return
						}
					}
					p.send(small)
					if _, m := p.headerReply(); parseReply(m).text != "still here" {
						t.Errorf("%v", parseReply(m))
					}
				})
			}
			for range 5 { // with what is garbage while they go on
				wantMemory(t, "16 clients that send bombs", before, clients*12*limit)
				time.Sleep(5 * time.Millisecond)
			}
			measured.Store(true)
			wg.Wait()
			wantMemory(t, "after the bombs of 16 MiB", before, clients*2*limit)
		})
	}
	served()
}

// Many calls that are answered with what they sent, over and over.
func TestMemoryIsFlat(t *testing.T) {
	_, address := host(t, []rpc.Method{echo})
	served := bystanders(t, address)
	inEveryDialect(t, address, func(t *testing.T, e exchange) {
		round := func() {
			c := open(t, address)
			defer c.Close()
			go func() {
				for range 200 {
					c.SetWriteDeadline(time.Now().Add(patience))
					c.Write(e.request)
				}
			}()
			for range 200 {
				e.wantReply(t, c)
			}
		}
		round()
		before, goroutines := memory(), runtime.NumGoroutine()
		for range 8 {
			round()
		}
		wantMemory(t, "after 8 connections", before, 2<<20)
		if n := runtime.NumGoroutine(); n > goroutines+100 { // workers that are idle, most of all
			t.Errorf("%d goroutines, %d before", n, goroutines)
		}
	})
	served()
}
