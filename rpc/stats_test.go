package rpc_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file tests that what a server does to its clients is counted, and counted as what it is.

func TestWhyAServerEndsConnectionsIsCounted(t *testing.T) {
	fill := raw("fill", func(_ context.Context, _, dst []byte) ([]byte, error) {
		return append(dst, textStruct(strings.Repeat("x", 1<<20))...), nil
	})
	for name, c := range map[string]struct {
		option rpc.ServerOption
		send   func(p *peer)
		want   rpc.Stats // of the numbers that say why, all
		level  string    // of what the log says, "" for nothing
	}{
		"no dialect": {rpc.Workers(1), func(p *peer) { p.send([]byte("hello, world")) },
			rpc.Stats{UnknownDialect: 1, Broken: 1}, "level=WARN"},
		"broken": {rpc.Workers(1), func(p *peer) { p.send(append(p.call("echo", 1, "x"), "\xff\xff\xff\xffbroken"...)) },
			rpc.Stats{Broken: 1}, "level=WARN"},
		"late": {rpc.ReadTimeout(20 * time.Millisecond), func(p *peer) { p.send(p.call("echo", 1, "x")[:9]) },
			rpc.Stats{Late: 1}, "level=WARN"},
		"idle": {rpc.IdleTimeout(20 * time.Millisecond), func(p *peer) { p.send(p.call("echo", 1, "x")) },
			rpc.Stats{Idle: 1}, "level=DEBUG"},
		"idle from the start": {rpc.IdleTimeout(20 * time.Millisecond), func(*peer) {},
			rpc.Stats{Idle: 1}, "level=DEBUG"},
		"old": {rpc.MaxConnectionAge(20 * time.Millisecond), func(p *peer) { p.send(p.call("echo", 1, "x")) },
			rpc.Stats{Aged: 1}, ""},
		"does not read": {rpc.WriteTimeout(50 * time.Millisecond), func(p *peer) {
			for i := range int32(64) {
				p.send(p.call("fill", i, ""))
			}
		}, rpc.Stats{SlowClients: 1}, "level=WARN"},
		"went away": {rpc.Workers(1), func(p *peer) {
			p.send(p.call("echo", 1, "x")[:9])
			p.Conn.(*net.TCPConn).CloseWrite()
		}, rpc.Stats{}, "level=DEBUG"},
	} {
		t.Run(name, func(t *testing.T) {
			var l logs
			server, address := listen(t, []rpc.Method{echo, fill}, c.option, l.option())
			p := connect(t, address, true)
			c.send(p)
			eventually(t, "the connection has come and gone", func() bool {
				return server.Stats().Accepted == 1 && rpc.Connections(server) == 0
			})
			s := server.Stats()
			got := rpc.Stats{UnknownDialect: s.UnknownDialect, Broken: s.Broken, Late: s.Late, Idle: s.Idle, Aged: s.Aged, SlowClients: s.SlowClients}
			if got.UnknownDialect != c.want.UnknownDialect || got.Broken != c.want.Broken || got.Late != c.want.Late ||
				got.Idle != c.want.Idle || got.Aged != c.want.Aged || got.SlowClients != c.want.SlowClients {
				t.Errorf("counted %+v, want %+v", got, c.want)
			}
			if text := l.String(); c.level == "" && text != "" || !strings.Contains(text, c.level) || c.level == "level=DEBUG" && strings.Contains(text, "WARN") {
				t.Errorf("log %q, want %s", text, c.level)
			}
		})
	}
}

func TestQuietConnectionsOfStreamsAreCountedAsIdle(t *testing.T) {
	server, c := streamers(t, nil, rpc.IdleTimeout(100*time.Millisecond))
	eventually(t, "a stream has run to its end", func() bool { // on a busy machine its connection may be idle before it
		s, err := rpc.OpenBidiStream[note, note](t.Context(), c, "S", "echo")
		if err != nil {
			return false
		}
		s.CloseSend(t.Context())
		_, err = s.Recv(t.Context())
		return err == io.EOF
	})
	eventually(t, "that of calls and those of streams are closed", func() bool { return rpc.Connections(server) == 0 })
	if s := server.Stats(); s.Idle != s.Accepted || s.Accepted < 2 || s.Broken != 0 {
		t.Errorf("%d connections, %d idle and %d broken ones", s.Accepted, s.Idle, s.Broken)
	}
}

func TestWaitingForRoomIsCounted(t *testing.T) {
	method, started, release := blocked()
	server, address := listen(t, []rpc.Method{method}, rpc.MaxInFlightPerConn(1))
	p := connect(t, address, true)
	p.send(append(p.call("blocked", 1, "runs"), p.call("blocked", 2, "waits")...))
	receive(t, "the call runs", started)
	eventually(t, "reading waits", func() bool { return server.Stats().Paused == 1 })
	close(release)
	p.want(1, "runs")
	p.want(2, "waits")
}

func TestHandlersThatForgetTheirCallAreCounted(t *testing.T) {
	forms := map[string]rpc.Method{
		"callback": {Name: "m", Callback: func([]byte, rpc.Responder) {}},
		"future":   {Name: "m", Future: func(context.Context, []byte, rpc.Responder) {}},
		"plain": raw("m", func(ctx context.Context, _, dst []byte) ([]byte, error) {
			<-ctx.Done()
			return dst, ctx.Err()
		}),
	}
	for name, m := range forms {
		want := int64(1)
		if name == "plain" {
			want = 0
		}
		inTime(t, name+": the call is counted", func(limit time.Duration) bool {
			var l logs
			server, address := listen(t, []rpc.Method{m}, rpc.TaskExpiry(limit), l.option())
			p := connect(t, address, true)
			p.send(p.call("m", 1, ""))
			p.wantException(1, rpc.Timeout)
			s := server.Stats()
			if s.Refused[rpc.RefusedExpired] != 1 || s.Unanswered != want && name != "future" {
				t.Errorf("%s: %d unanswered, %v", name, s.Unanswered, s.Refused)
			}
			if s.Unanswered != want { // no worker had it before its time had passed
				return false
			}
			if want > 0 {
				l.await(t, "a handler has not answered in time")
			}
			return true
		})
	}
}

func TestAFutureThatExpiresInTheQueueIsNotForgotten(t *testing.T) {
	slow, started, release := blocked()
	future := rpc.Method{Name: "m", Future: func(context.Context, []byte, rpc.Responder) {}}
	future.Expiry = 20 * time.Millisecond
	opts := []rpc.ServerOption{rpc.Workers(1)}
	for p := rpc.HighImportant; p <= rpc.BestEffort; p++ {
		opts = append(opts, rpc.ExtraWorkers(p, 0))
	}
	server, address := listen(t, []rpc.Method{slow, future}, opts...)
	p, q := connect(t, address, true), connect(t, address, true)
	p.send(p.call("blocked", 1, "x"))
	receive(t, "the only worker is taken", started)
	q.send(q.call("m", 1, ""))
	q.wantException(1, rpc.Timeout)
	if n := server.Stats().Unanswered; n != 0 {
		t.Errorf("%d unanswered", n)
	}
	close(release)
	p.want(1, "x")
}

func TestTheLimitByLatencyIsShown(t *testing.T) {
	server, _ := listen(t, []rpc.Method{echo}, rpc.AdaptiveConcurrency(7, 100))
	if n := server.Stats().Concurrency; n != 7 { // before there is a latency
		t.Errorf("the limit is %d", n)
	}
	server, _ = listen(t, []rpc.Method{echo})
	if n := server.Stats().Concurrency; n != 0 {
		t.Errorf("the limit is %d without one", n)
	}
}

// oversized returns the start of a frame with headers that claims to be huge, up to its message's arguments.
func oversized(t testing.TB, dialect string, seq uint32) []byte {
	t.Helper()
	var b []byte
	switch dialect {
	case "THeader":
		b = headerCall(t, header.Outgoing{Flags: header.OutOfOrder, SequenceID: seq}, echoCall("echo", 9, "x"))
	case "THeader, zlib":
		b = headerCall(t, header.Outgoing{Flags: header.OutOfOrder, SequenceID: seq, Transform: header.Zlib}, echoCall("echo", 9, "x"))
	case "TTHeader", "TTHeader, framed":
		o := ttheader.Outgoing{SequenceID: seq}
		var err error
		if b, err = o.Append(nil); err != nil {
			t.Fatal(err)
		}
		if dialect == "TTHeader, framed" {
			b = append(b, 0x7f, 0, 0, 0)
		}
		b = append(b, echoCall("echo", 9, "x")...)
		ttheader.Seal(b, 0)
	}
	copy(b, "\x3f\xff\xff\x00")
	return b
}

func TestFramesBeyondTheLimitAreRefusedByTheirHeaders(t *testing.T) {
	for dialect, name := range map[string]string{"THeader": "echo", "THeader, zlib": "", "TTHeader": "echo", "TTHeader, framed": "echo"} {
		server, address := listen(t, []rpc.Method{echo}, rpc.MaxFrameSize(1000))
		p := connect(t, address, true)
		p.send(oversized(t, dialect, 7))
		var message []byte
		var seq uint32
		if strings.HasPrefix(dialect, "THeader") {
			var f header.Frame
			f, message = p.headerReply()
			seq = f.SequenceID
			if ex, _ := f.Headers.Get("ex"); string(ex) != "28" {
				t.Errorf("%s: ex %q", dialect, ex)
			}
		} else {
			var f ttheader.Frame
			if err := f.Parse(p.frame()); err != nil {
				t.Fatal(err)
			}
			seq, message = f.SequenceID, f.Payload
			if dialect == "TTHeader, framed" {
				message = message[4:]
			}
		}
		if r := parseReply(message); seq != 7 || r.exception != rpc.ProtocolError || r.name != name || !strings.Contains(r.text, "exceeds the limit") {
			t.Errorf("%s: frame %d, %v", dialect, seq, r)
		}
		p.wantClosed()
		if n := server.Stats().Refused[rpc.RefusedMessage]; n != 1 {
			t.Errorf("%s: %d refusals", dialect, n)
		}
	}
	// Of what is no header there is nobody to answer.
	_, address := listen(t, []rpc.Method{echo}, rpc.MaxFrameSize(1000))
	p := connect(t, address, true)
	p.send(append(oversized(t, "THeader", 1)[:12], 0xff, 0xff))
	p.wantClosed()
}

func TestWhatIsCompressedHasALimitOfItsOwn(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo}, rpc.MaxFrameSize(4000), rpc.MaxDecompressedSize(2000))
	for name, c := range map[string]struct {
		transform header.Transform
		size      int
		exception int32
	}{
		"plain, within":      {header.None, 3000, 0},
		"compressed, within": {header.Zlib, 1000, 0},
		"zlib, beyond":       {header.Zlib, 3000, rpc.ProtocolError},
		"zstd, beyond":       {header.Zstd, 3000, rpc.ProtocolError},
	} {
		p := connect(t, address, true)
		for seq := uint32(1); seq <= 2; seq++ { // the stream goes on
			text := strings.Repeat("a", c.size)
			p.send(headerCall(t, header.Outgoing{SequenceID: seq, Transform: c.transform}, echoCall("echo", int32(seq), text)))
			f, message := p.headerReply()
			if r := parseReply(message); f.SequenceID != seq || r.exception != c.exception || c.exception == 0 && r.text != text {
				t.Errorf("%s: %v", name, r)
			}
		}
	}
	// The limit may be the larger one, too.
	_, address = listen(t, []rpc.Method{raw("size", func(_ context.Context, args, dst []byte) ([]byte, error) {
		return append(dst, textStruct(strings.Repeat("b", len(textOf(args))/1000))...), nil
	})}, rpc.MaxFrameSize(4000), rpc.MaxDecompressedSize(100_000))
	p := connect(t, address, true)
	p.send(headerCall(t, header.Outgoing{Transform: header.Zlib}, echoCall("size", 1, strings.Repeat("a", 50_000))))
	if _, message := p.headerReply(); parseReply(message).text != strings.Repeat("b", 50) {
		t.Errorf("%v", parseReply(message))
	}
}
