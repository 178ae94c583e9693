package rpc_test

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file tests limits, and clients that are hostile or broken.

func TestAStreamThatCannotBeFollowedIsClosedWithAReason(t *testing.T) {
	for name, c := range map[string]struct{ bytes, reason string }{
		"TLS":              {"\x16\x03\x01\x02\x00\x01\x00\x01", "the client speaks TLS"},
		"unframed compact": {"\x82\x21\x00\x01x\xff", "a field has a type that does not exist"},
		"header":           {"\x00\x00\x00\x0c\x0f\xff\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00", "the header ends 34 bytes behind the frame"},
		"TTHeader":         {"\x00\x00\x00\x0e\x10\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x77\x00", "a block of the unknown kind 0x77"},
		"framed compact":   {"\x00\x00\x00\x05\x82\x3f\x00\x00\x00", "the client speaks unknown protocol"},
		"noise":            {"hello, world", "the client speaks unknown protocol, first bytes 68 65 6c 6c 6f 2c 20 77"},
		"zero length":      {"\x00\x00\x00\x00\x80\x01\x00\x01", "frame of length 0"},
		"negative length":  {"\xff\xff\xff\xff\x80\x01\x00\x01", "the client speaks unknown protocol"},
		"broken envelope":  {"\x00\x00\x00\x08\x80\x01\x00\x01\x7f\xff\xff\xff", "broken message envelope"},
		"unframed garbage": {"\x80\x01\x00\x01\xff\xff\xff\xff", "method name of length -1"},
	} {
		t.Run(name, func(t *testing.T) {
			var l logs
			_, address := listen(t, []rpc.Method{echo}, l.option())
			p := connect(t, address, true)
			p.send([]byte(c.bytes))
			p.wantClosed()
			l.await(t, c.reason)
			if !strings.Contains(l.String(), "level=WARN") {
				t.Errorf("log: %s", &l)
			}
		})
	}
}

func TestCallsBeforeABrokenOneAreAnswered(t *testing.T) {
	bothFramings(t, func(t *testing.T, framed bool) {
		_, address := listen(t, []rpc.Method{echo})
		p := connect(t, address, framed)
		p.send(append(append(p.call("echo", 1, "one"), p.call("echo", 2, "two")...), "\xff\xff\xff\xffbroken"...))
		p.want(1, "one")
		p.want(2, "two")
		p.wantClosed()
	})
}

func TestAMessageBeyondTheLimitIsRefusedByName(t *testing.T) {
	bothFramings(t, func(t *testing.T, framed bool) {
		_, address := listen(t, []rpc.Method{echo}, rpc.MaxFrameSize(1000))
		p := connect(t, address, framed)
		p.send(append(p.call("echo", 1, "small"), p.call("echo", 2, strings.Repeat("large", 1000))...))
		p.want(1, "small")
		r := p.wantException(2, rpc.ProtocolError)
		if !strings.Contains(r.text, "exceeds the limit of 1000 bytes") {
			t.Errorf("message %q", r.text)
		}
		p.wantClosed()
	})
}

func TestMessagesMayArriveByteByByte(t *testing.T) {
	bothFramings(t, func(t *testing.T, framed bool) {
		_, address := listen(t, []rpc.Method{echo})
		p := connect(t, address, framed)
		for i := range int32(2) {
			for _, c := range p.call("echo", i, "slowly") {
				p.send([]byte{c})
				if c%8 == 0 {
					time.Sleep(time.Millisecond) // so that the bytes travel alone
				}
			}
			p.want(i, "slowly")
		}
	})
}

func TestAClientThatHasOnlyStoppedSendingGetsItsReplies(t *testing.T) {
	bothFramings(t, func(t *testing.T, framed bool) {
		_, address := listen(t, []rpc.Method{echo})
		p := connect(t, address, framed)
		p.send(append(p.call("echo", 1, "one"), p.call("echo", 2, "two")...))
		p.Conn.(*net.TCPConn).CloseWrite()
		p.want(1, "one")
		p.want(2, "two")
		p.wantClosed()
	})
}

func TestAClientThatDisappearsInAMessageLeavesNothingBehind(t *testing.T) {
	bothFramings(t, func(t *testing.T, framed bool) {
		var l logs
		_, address := listen(t, []rpc.Method{echo}, l.option())
		p := connect(t, address, framed)
		b := p.call("echo", 1, "never complete")
		p.send(b[:len(b)-3])
		p.Close()
		l.await(t, "bytes into a message: EOF")
	})
}

func TestAMessageMustArriveInTime(t *testing.T) {
	var l logs
	_, address := listen(t, []rpc.Method{echo}, rpc.ReadTimeout(20*time.Millisecond), l.option())
	p := connect(t, address, true)
	p.send(p.call("echo", 1, "in time"))
	p.want(1, "in time")
	time.Sleep(50 * time.Millisecond) // between messages there is no limit
	p.send(p.call("echo", 2, "in time, too"))
	p.want(2, "in time, too")
	p.send(p.call("echo", 3, "late")[:10])
	p.wantClosed()
	l.await(t, "message incomplete after 20ms")
}

func TestIdleConnectionsAreClosedWhenAskedFor(t *testing.T) {
	var l logs
	var runs atomic.Bool
	slow := raw("slow", func(_ context.Context, args, dst []byte) ([]byte, error) {
		runs.Store(true)
		time.Sleep(250 * time.Millisecond)
		return append(dst, args...), nil
	})
	_, address := listen(t, []rpc.Method{slow}, rpc.IdleTimeout(100*time.Millisecond), l.option())
	eventually(t, "a call runs", func() bool { // on a busy machine its connection may be idle before it
		p := connect(t, address, true)
		p.send(p.call("slow", 1, "a connection with a running call is not idle"))
		if r, err := p.receive(); runs.Load() && (err != nil || r.text != "a connection with a running call is not idle") {
			t.Fatalf("received %v, %v", r, err)
		}
		p.wantClosed()
		return runs.Load()
	})
	l.await(t, "idle for 100ms")
}

// It has not been idle while a call ran.
func TestTheIdleTimeBeginsWithTheEndOfTheLastCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := raw("slow", func(_ context.Context, args, dst []byte) ([]byte, error) {
			time.Sleep(11 * time.Second)
			return append(dst, args...), nil
		})
		_, l := listenInBubble(t, []rpc.Method{slow, echo}, rpc.IdleTimeout(6*time.Second))
		p := connectInBubble(t, l, true)
		p.send(p.call("slow", 1, "slow"))
		p.want(1, "slow")
		time.Sleep(5 * time.Second)
		p.send(p.call("echo", 2, "soon after"))
		p.want(2, "soon after")
		p.wantClosed()
	})
}

func TestAConnectionTooManyIsToldSo(t *testing.T) {
	var l logs
	_, address := listen(t, []rpc.Method{echo}, rpc.MaxConnections(1), l.option())
	first := connect(t, address, true)
	first.send(first.call("echo", 1, "served"))
	first.want(1, "served")
	bothFramings(t, func(t *testing.T, framed bool) {
		second := connect(t, address, framed)
		second.send(second.call("echo", 2, "refused"))
		second.wantException(2, rpc.LoadShedding)
		second.wantClosed()
	})
	l.await(t, "too many connections")
	first.Close()
	eventually(t, "the place is free again", func() bool {
		p := connect(t, address, true)
		defer p.Close()
		p.send(p.call("echo", 3, "served"))
		r, err := p.receive()
		return err == nil && r.text == "served"
	})
}

func TestCallsBeyondTheServersLimitAreRefused(t *testing.T) {
	method, started, release := blocked()
	_, address := listen(t, []rpc.Method{method}, rpc.MaxInFlight(2))
	a, b := connect(t, address, true), connect(t, address, true)
	a.send(append(append(a.call("blocked", 1, "1"), a.call("blocked", 2, "2")...), a.call("blocked", 3, "3")...))
	receive(t, "the first call runs", started)
	receive(t, "the second call runs", started)
	b.send(b.call("blocked", 4, "4"))
	b.wantException(4, rpc.LoadShedding)
	close(release)
	a.want(1, "1")
	a.want(2, "2")
	a.wantException(3, rpc.LoadShedding)
	for i := range int32(100) { // who has a reply can call again at once
		a.send(a.call("blocked", i, "again"))
		a.want(i, "again")
		receive(t, "the call has run", started)
	}
}

func TestReadingStopsWhileAConnectionHasTooMuchInFlight(t *testing.T) {
	release := make(chan struct{})
	var running atomic.Int32
	wait := raw("wait", func(_ context.Context, args, dst []byte) ([]byte, error) {
		running.Add(1)
		<-release
		return append(dst, args...), nil
	})
	for name, option := range map[string]rpc.ServerOption{
		"calls": rpc.MaxInFlightPerConn(2),
		"bytes": rpc.MaxFrameSize(100), // a call has 40 bytes
	} {
		t.Run(name, func(t *testing.T) {
			release = make(chan struct{})
			running.Store(0)
			_, address := listen(t, []rpc.Method{wait}, option)
			p := connect(t, address, true)
			for i := range int32(5) {
				p.send(p.call("wait", i, "0123456"))
			}
			eventually(t, "two calls run", func() bool { return running.Load() == 2 })
			time.Sleep(20 * time.Millisecond)
			if n := running.Load(); n != 2 {
				t.Errorf("%d calls run", n)
			}
			close(release)
			for i := range int32(5) {
				p.want(i, "0123456")
			}
		})
	}
}

func TestAClientThatDoesNotReadIsGivenUpAndOthersAreServed(t *testing.T) {
	var l logs
	large := raw("large", func(_ context.Context, _, dst []byte) ([]byte, error) {
		return append(dst, textStruct(strings.Repeat("x", 1<<20))...), nil
	})
	_, address := listen(t, []rpc.Method{large, echo}, rpc.WriteTimeout(100*time.Millisecond), rpc.MaxInFlightPerConn(8), l.option())
	p := connect(t, address, true)
	for i := range int32(64) {
		p.send(p.call("large", i, ""))
	}
	other := connect(t, address, true)
	other.send(other.call("echo", 1, "served"))
	other.want(1, "served")
	l.await(t, "cannot write a reply")
	if _, err := io.Copy(io.Discard, p); isTimeout(err) {
		t.Error("the connection is still open")
	}
}

func TestClientsWithoutAVersionAreServedWhenAskedFor(t *testing.T) {
	loose := func(framed bool, method string, seq int32, text string) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(len(method)))
		b = append(append(b, method...), byte(thriftwire.Call))
		b = append(binary.BigEndian.AppendUint32(b, uint32(seq)), textStruct(text)...)
		if framed {
			b = append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
		}
		return b
	}
	bothFramings(t, func(t *testing.T, framed bool) {
		_, address := listen(t, []rpc.Method{echo}, rpc.NonStrict())
		old, strict := connect(t, address, framed), connect(t, address, framed)
		for i := range int32(3) {
			call := loose(framed, "echo", i, "old")
			old.send(call[:len(call)-5])
			old.send(append(call[len(call)-5:], loose(framed, "S:echo", i+10, "older")...))
			old.want(i, "old")
			old.want(i+10, "older")
			strict.send(strict.call("echo", i, "strict"))
			strict.want(i, "strict")
		}
		var l logs
		_, address = listen(t, []rpc.Method{echo}, l.option())
		old = connect(t, address, framed)
		old.send(loose(framed, "echo", 1, "old"))
		old.wantClosed()
		l.await(t, "the client speaks unknown protocol")
	})
}

func TestAConnectionMayHaveServicesOfItsOwn(t *testing.T) {
	say := func(text string) []rpc.Method {
		return []rpc.Method{raw("who", func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, textStruct(text)...), nil })}
	}
	server, address := listen(t, say("everybody"), rpc.ServicesFor(func(c rpc.ConnInfo) []*rpc.Service {
		if c.Dialect == transport.Framed && c.Remote != nil && c.Local.String() != "" && c.TLS == nil {
			return []*rpc.Service{{Name: "S", Methods: say("framed")}}
		}
		return nil
	}))
	for framed, want := range map[bool]string{true: "framed", false: "everybody"} {
		p := connect(t, address, framed)
		p.send(p.call("who", 1, ""))
		p.want(1, want)
	}
	if err := server.Replace(&rpc.Service{Name: "S", Methods: say("others")}); err != nil {
		t.Fatal(err)
	}
	p := connect(t, address, true)
	p.send(p.call("S:who", 1, ""))
	p.want(1, "framed")
}

func TestAPanicWhereServicesAreAskedForEndsOneConnection(t *testing.T) {
	var l logs
	server, address := listen(t, []rpc.Method{echo}, l.option(), rpc.ServicesFor(func(c rpc.ConnInfo) []*rpc.Service {
		if c.Dialect == transport.Framed {
			panic("no services")
		}
		return nil
	}))
	p := connect(t, address, true)
	p.send(p.call("echo", 1, "x"))
	p.wantClosed()
	l.await(t, "panic where the services of the connection were asked for: no services")
	q := connect(t, address, false)
	q.send(q.call("echo", 1, "alive"))
	q.want(1, "alive")
	if n := server.Stats().Panics; n != 1 {
		t.Errorf("%d panics were counted", n)
	}
}

func TestOldConnectionsAreLeft(t *testing.T) {
	const age = 300 * time.Millisecond
	method, started, release := blocked()
	server, address := listen(t, []rpc.Method{method, echo}, rpc.MaxConnectionAge(age))
	// served returns a connection on which a call is served, which on a busy machine may be too old before.
	served := func(call func(p *peer) []byte, seen func(p *peer) bool) (p *peer) {
		eventually(t, "a call is served", func() bool {
			p = connect(t, address, true)
			p.send(call(p))
			return seen(p)
		})
		return p
	}
	idle := served(func(p *peer) []byte { return p.call("echo", 1, "x") }, func(p *peer) bool {
		r, err := p.receive()
		return err == nil && r.text == "x"
	})
	idle.wantClosed()
	runs := func(p *peer) bool {
		select {
		case <-started:
			return true
		case <-time.After(10 * age):
			return false
		}
	}
	busy := served(func(p *peer) []byte { return p.call("blocked", 2, "in time") }, runs)
	told := served(func(*peer) []byte { return callWith(t, 3, "blocked") }, runs)
	eventually(t, "both are old", func() bool { return rpc.Old(server) == 2 })
	busy.send(busy.call("echo", 3, "served, too"))
	close(release)
	busy.want(2, "in time")
	busy.want(3, "served, too")
	busy.wantClosed()
	f, _ := told.headerReply()
	if bye, _ := f.Headers.Get("connection"); string(bye) != "goaway" {
		t.Errorf("connection=%s", bye)
	}
	told.wantClosed()
	client := dial(t, "tcp", address, rpc.THeader(header.None))
	last := time.Now()
	for end := last.Add(4 * age); time.Now().Before(end); time.Sleep(age / 20) {
		got, err := invoke(t.Context(), client, "echo", "x")
		if err == nil && got != "x" || err != nil && time.Since(last) < age/2 { // in which no connection grows old, unheard
			t.Errorf("%q, %v", got, err)
		}
		last = time.Now()
	}
}

func TestHeadersBeyondTheLimitAreRefused(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo}, rpc.MaxHeaderSize(100))
	p := connect(t, address, true)
	p.send(callWith(t, 1, "echo", header.Pair{Key: "k", Value: strings.Repeat("v", 200)}))
	_, message := p.headerReply()
	if r := parseReply(message); r.exception != rpc.ProtocolError || !strings.Contains(r.text, "exceed the limit of 100") {
		t.Errorf("%v", r)
	}
	p.send(callWith(t, 2, "echo"))
	if _, message = p.headerReply(); parseReply(message).text != "x" {
		t.Error("the stream does not go on")
	}
}

func TestOneLoopServesManyConnections(t *testing.T) {
	_, address := listen(t, formsOf(), rpc.IOLoops(1))
	var wg sync.WaitGroup
	for range 10 {
		client := dial(t, "tcp", address)
		for _, m := range formsOf() {
			wg.Go(func() {
				var result textResult
				if err := rpc.Call(t.Context(), client, m.Name, &textArgs{"abc"}, &result); err != nil || *result.Success != "cba" {
					t.Errorf("%s: %v", m.Name, err)
				}
			})
		}
	}
	wg.Wait()
}

func TestIdleConnectionsHoldLittleMemory(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	const n = 500
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before := heap()
	for i := range n {
		p := connect(t, address, true)
		p.send(p.call("echo", int32(i), "x"))
		p.want(int32(i), "x")
	}
	if each := (int64(heap()) - int64(before)) / n; each > 8<<10 { // the test's own end of the connection included
		t.Errorf("%d bytes for each idle connection", each)
	}
}

func TestGarbageNeverHarmsTheServer(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo, rpc.Unary("stock", stock)}, rpc.ReadTimeout(100*time.Millisecond))
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		p := connect(t, address, r.IntN(2) == 0)
		b := append(p.call("echo", 1, "valid"), p.call("stock", 2, "Emma")...)
		switch r.IntN(3) {
		case 0: // noise
			for i := range b {
				b[i] = byte(r.Uint32())
			}
		case 1: // a bit flipped
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		case 2: // cut off
			b = b[:r.IntN(len(b))]
		}
		p.send(b)
		p.Close()
	}
	p := connect(t, address, true)
	p.send(p.call("echo", 1, "alive"))
	p.want(1, "alive")
}

// FuzzServer sends any bytes to a server over a connection in memory.
func FuzzServer(f *testing.F) {
	framed, unframed := &peer{framed: true}, &peer{}
	f.Add(append(framed.call("echo", 1, "a"), framed.call("stock", 2, "Emma")...), uint16(0))
	f.Add(append(unframed.call("S:stock", 1, "a"), unframed.call("nothing", 2, "b")...), uint16(3))
	f.Add(framed.message(thriftwire.Oneway, "echo", 1, nil), uint16(1))
	for _, o := range []header.Outgoing{{}, {Flags: header.OutOfOrder, Transform: header.Zlib}, {Transform: header.Zstd, Protocol: header.Compact}} {
		f.Add(headerCall(f, o, echoCall("echo", 1, "a")), uint16(9))
	}
	tt, err := (&ttheader.Outgoing{}).Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	tt = append(tt, echoCall("stock", 1, "Emma")...)
	ttheader.Seal(tt, 0)
	f.Add(tt, uint16(0))
	f.Add([]byte("\x00\x00\x00\x0c\x82\x21\x01\x04echo\x18\x01a\x00"), uint16(4))
	f.Add(oversized(f, "THeader", 1), uint16(30))
	f.Add(oversized(f, "TTHeader, framed", 1), uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		server := rpc.NewServer(rpc.MaxFrameSize(1<<16), rpc.Grace(0, 0), new(logs).option())
		if err := server.Register(&rpc.Service{Name: "S", Methods: []rpc.Method{echo, rpc.Unary("stock", stock)}}); err != nil {
			t.Fatal(err)
		}
		client, conn := net.Pipe()
		l := &oneConn{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
		l.conn <- conn
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		read := make(chan struct{})
		go func() { io.Copy(io.Discard, client); close(read) }()
		at := min(int(cut), len(b))
		client.Write(b[:at])
		client.Write(b[at:])
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("the server does not stop: %v", err)
		}
		client.Close()
		<-read
		<-served
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func TestALengthThatIsOnlyClaimedCostsNoMemory(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	bothFramings(t, func(t *testing.T, framed bool) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 50 {
			p := connect(t, address, framed)
			claim := "\x00\xff\xff\xff\x80\x01\x00\x01"
			if !framed {
				claim = string(thriftwire.AppendMessage(nil, thriftwire.Call, "echo", 1)) + "\x0b\x00\x01\x00\xff\x00\x00"
			}
			p.send([]byte(claim))
			for range 100 {
				p.send([]byte("x"))
			}
		}
		runtime.ReadMemStats(&after)
		if grown := int64(after.TotalAlloc) - int64(before.TotalAlloc); grown > 50<<20 {
			t.Errorf("50 clients that claim 16 MiB made the server allocate %d MiB", grown>>20)
		}
	})
}

func TestRepliesThatAreReadyLeaveTogether(t *testing.T) {
	method, started, release := blocked()
	server := newServer()
	if err := server.Register(&rpc.Service{Methods: []rpc.Method{method, echo}}); err != nil {
		t.Fatal(err)
	}
	noLeaks(t)
	client, conn := net.Pipe()
	l := &oneConn{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
	counted := &countingConn{Conn: conn}
	l.conn <- counted
	go server.Serve(l)
	defer server.Close()
	defer client.Close()
	p := &peer{t, client, true}
	calls := p.call("blocked", 0, "0")
	for i := range int32(99) {
		calls = append(calls, p.call("echo", 1+i, "x")...)
	}
	p.send(calls)
	receive(t, "the first call runs", started)
	eventually(t, "the others have completed", func() bool { return rpc.Completed(server) == 99 })
	close(release)
	p.want(0, "0")
	for i := range int32(99) {
		p.want(1+i, "x")
	}
	if n := counted.writes.Load(); n != 1 {
		t.Errorf("100 replies took %d writes", n)
	}
}

// countingConn counts the writes of a server.
type countingConn struct {
	net.Conn
	writes atomic.Int32
}

func (c *countingConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

func TestAReplyLeavesLongAfterOneThatHadToWait(t *testing.T) {
	large := strings.Repeat("x", 8<<20)
	inTime(t, "a large reply is read", func(limit time.Duration) bool {
		_, address := listen(t, []rpc.Method{echo}, rpc.WriteTimeout(limit))
		p := connect(t, address, true)
		p.send(p.call("echo", 1, large)) // whose reply the system does not take at once
		r, err := p.receive()
		if err != nil {
			return false
		}
		if r.text != large {
			t.Errorf("%d bytes", len(r.text))
		}
		time.Sleep(limit + limit/2)
		p.send(p.call("echo", 2, "small"))
		p.want(2, "small")
		return true
	})
}
