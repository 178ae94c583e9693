package rpc_test

import (
	"context"
	"net"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file tests that connections go from one server to another without
// their clients noticing. Package handover has it between processes.

// adopting returns how a connection is given to a server of this process.
func adopting(next *rpc.Server) func(net.Conn, []byte) error {
	return func(c net.Conn, state []byte) error {
		file, err := c.(*net.TCPConn).File()
		if err != nil {
			return err
		}
		defer file.Close()
		same, err := net.FileConn(file)
		if err != nil {
			return err
		}
		return next.Adopt(same, state)
	}
}

func TestConnectionsGoToAnotherServerBetweenTwoCalls(t *testing.T) {
	bothFramings(t, func(t *testing.T, framed bool) {
		method, started, release := blocked()
		first, address := listen(t, []rpc.Method{method}, rpc.MaxConcurrentPerConn(1))
		second, _ := listen(t, []rpc.Method{echo})
		p := connect(t, address, framed)
		p.send(p.call("blocked", 1, "runs"))
		receive(t, "the call runs", started)
		stopped := make(chan error, 1)
		go func() { stopped <- first.HandOver(t.Context(), adopting(second)) }()
		eventually(t, "the server leaves", func() bool { return rpc.Leaving(first) })
		p.send(p.call("echo", 2, "which the first server does not have"))
		close(release)
		p.want(1, "runs")
		p.want(2, "which the first server does not have")
		if err := receive(t, "HandOver returns", stopped); err != nil {
			t.Error(err)
		}
		p.send(p.call("echo", 3, "later"))
		p.want(3, "later")
	})
}

func TestConnectionsGoToAnotherServerInTheMiddleOfAMessage(t *testing.T) {
	bothFramings(t, func(t *testing.T, framed bool) {
		message := (&peer{framed: framed}).call("echo", 2, "in two pieces")
		for at := 1; at < len(message); at += 7 {
			first, address := listen(t, []rpc.Method{echo})
			second, _ := listen(t, []rpc.Method{echo})
			p := connect(t, address, framed)
			p.send(p.call("echo", 1, "before"))
			p.want(1, "before")
			p.send(message[:at])
			if err := first.HandOver(t.Context(), adopting(second)); err != nil {
				t.Error(err)
			}
			p.send(message[at:])
			p.want(2, "in two pieces")
			p.Close()
			first.Close()
			second.Close()
		}
	})
}

func TestPersistentHeadersGoToTheNextServer(t *testing.T) {
	who := raw("who", func(ctx context.Context, _, dst []byte) ([]byte, error) {
		info, _ := rpc.Info(ctx)
		user, _ := info.Header("user")
		return append(dst, textStruct(user)...), nil
	})
	first, address := listen(t, []rpc.Method{who}, rpc.Grace(0, 0))
	second, _ := listen(t, []rpc.Method{who})
	p := connect(t, address, true)
	ask := func(seq uint32, persistent []header.Pair) {
		t.Helper()
		p.send(headerCall(t, header.Outgoing{SequenceID: seq, Persistent: persistent}, echoCall("who", int32(seq), "")))
		if _, message := p.headerReply(); parseReply(message).text != "Ada" {
			t.Errorf("call %d is of %q", seq, parseReply(message).text)
		}
	}
	ask(1, []header.Pair{{Key: "user", Value: "Ada"}})
	if err := first.HandOver(t.Context(), adopting(second)); err != nil {
		t.Error(err)
	}
	ask(2, nil)
}

func TestAConnectionThatCannotBeGivenAwayIsClosed(t *testing.T) {
	server, address := listen(t, []rpc.Method{echo})
	p := connect(t, address, true)
	p.send(p.call("echo", 1, ""))
	p.want(1, "")
	if err := server.HandOver(t.Context(), func(net.Conn, []byte) error { return net.ErrClosed }); err != nil {
		t.Error(err)
	}
	p.wantClosed()
}

func TestTheStateOfAConnectionIsChecked(t *testing.T) {
	server, _ := listen(t, []rpc.Method{echo})
	for _, state := range []string{"", "\x00", "\x01", "\x01\x05abc", "\x01\x00", "\x01\x00\x01\x01a", "\x01\x00\x00x", "\x01\x00\xff\xff\xff\xff\x0f", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f"} {
		ours, theirs := net.Pipe()
		if err := server.Adopt(ours, []byte(state)); err == nil {
			t.Errorf("%q is taken", state)
		}
		if _, err := theirs.Write([]byte("x")); err == nil {
			t.Errorf("%q: the connection is open", state)
		}
	}
}

// Clients of every dialect lose no call, however many share a connection,
// and whether they can be told or not.
func TestNoCallIsLostWhenConnectionsAreHandedOver(t *testing.T) {
	for name, opts := range map[string][]rpc.ClientOption{
		"framed":           nil,
		"unframed":         {rpc.Unframed()},
		"framed compact":   {rpc.Compact(compact.Apache)},
		"unframed compact": {rpc.Unframed(), rpc.Compact(compact.FBThrift)},
		"THeader":          {rpc.THeader(header.Zlib)},
		"TTHeader":         {rpc.TTHeader()},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			turns := newTurns(t, true, brief)
			client := dial(t, "tcp", "whichever serves", append(opts, rpc.Dialer(turns.dial))...)
			takeTurns(t, turns, client)
		})
	}
}
