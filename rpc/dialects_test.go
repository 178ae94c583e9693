package rpc_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file tests the dialects with headers, and the compact protocol.

// dialects are all that a client speaks.
func dialects() map[string][]rpc.ClientOption {
	return map[string][]rpc.ClientOption{
		"framed":                   nil,
		"unframed":                 {rpc.Unframed()},
		"framed compact":           {rpc.Compact(compact.Apache)},
		"unframed compact":         {rpc.Unframed(), rpc.Compact(compact.Apache)},
		"framed compact, fbthrift": {rpc.Compact(compact.FBThrift)},
		"header":                   {rpc.THeader(header.None)},
		"header, zlib":             {rpc.THeader(header.Zlib)},
		"header, zstd":             {rpc.THeader(header.Zstd)},
		"header, compact, zstd":    {rpc.THeader(header.Zstd), rpc.Compact(compact.FBThrift)},
		"TTHeader":                 {rpc.TTHeader()},
	}
}

func TestEveryDialectSharesAPort(t *testing.T) {
	noted := make(chan string, 1)
	note := raw("note", func(_ context.Context, args, dst []byte) ([]byte, error) {
		noted <- textOf(args)
		return dst, nil
	})
	note.Oneway = true
	fail := raw("fail", func(context.Context, []byte, []byte) ([]byte, error) { return nil, errors.New("out of paper") })
	_, address := listen(t, []rpc.Method{echo, note, fail})
	for name, opts := range dialects() {
		t.Run(name, func(t *testing.T) {
			c := dial(t, "tcp", address, opts...)
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					want := strings.Repeat(fmt.Sprint(name, i), i*i)
					if got, err := invoke(t.Context(), c, "echo", want); err != nil || got != want {
						t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
					}
				})
			}
			wg.Wait()
			_, err := invoke(t.Context(), c, "fail", "")
			var e *rpc.ApplicationException
			if !errors.As(err, &e) || e.Type != rpc.InternalError || e.Message != "out of paper" {
				t.Errorf("fail: %v", err)
			}
			if _, err := invoke(t.Context(), c, "nothing", ""); !errors.As(err, &e) || e.Type != rpc.UnknownMethod {
				t.Errorf("nothing: %v", err)
			}
			if err := c.Invoke(t.Context(), &rpc.Invocation{Method: "note", Oneway: true,
				AppendArgs: func(dst []byte) ([]byte, error) { return append(dst, textStruct(name)...), nil }}); err != nil {
				t.Errorf("note: %v", err)
			}
			if got := receive(t, "the oneway call runs", noted); got != name {
				t.Errorf("note: %q", got)
			}
			if err := c.Invoke(t.Context(), &rpc.Invocation{Method: "echo"}); err != nil {
				t.Errorf("without arguments: %v", err)
			}
		})
	}
}

func TestDialectsThatDoNotGoTogetherAreRefused(t *testing.T) {
	for name, opts := range map[string][]rpc.ClientOption{
		"TTHeader compact":      {rpc.TTHeader(), rpc.Compact(compact.Apache)},
		"no such dialect":       {rpc.Compact(77)},
		"compression by snappy": {rpc.THeader(header.Snappy)},
	} {
		if _, err := rpc.Dial(t.Context(), "tcp", "127.0.0.1:1", opts...); err == nil || strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// headerCall returns a call of echo in a THeader frame.
func headerCall(t testing.TB, o header.Outgoing, payload []byte) []byte {
	t.Helper()
	var x header.Transformer
	b, err := o.Append(nil)
	if err == nil {
		b, err = x.Seal(append(b, payload...), 0, len(b), o.Transform)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// echoCall returns the message of a call of a method.
func echoCall(method string, seq int32, text string) []byte {
	return append(thriftwire.AppendMessage(nil, thriftwire.Call, method, seq), textStruct(text)...)
}

// headerReply receives a THeader frame.
func (p *peer) headerReply() (header.Frame, []byte) {
	p.t.Helper()
	frame := p.frame()
	var f header.Frame
	var x header.Transformer
	if err := f.Parse(frame); err != nil {
		p.t.Fatal(err)
	}
	message, err := x.Undo(nil, &f, 1<<20)
	if err != nil {
		p.t.Fatal(err)
	}
	return f, message
}

// frame receives a frame without its length.
func (p *peer) frame() []byte {
	p.t.Helper()
	var size [4]byte
	if _, err := io.ReadFull(p, size[:]); err != nil {
		p.t.Fatal(err)
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(p, b); err != nil {
		p.t.Fatal(err)
	}
	return b
}

func TestRepliesLeaveAsTheyCompleteIfTheClientTakesThem(t *testing.T) {
	release := make(chan struct{})
	slow := raw("slow", func(_ context.Context, args, dst []byte) ([]byte, error) {
		<-release
		return append(dst, args...), nil
	})
	_, address := listen(t, []rpc.Method{echo, slow})
	p := connect(t, address, true)
	for i, method := range []string{"slow", "echo"} {
		p.send(headerCall(t, header.Outgoing{Flags: header.OutOfOrder, SequenceID: uint32(i) + 70}, echoCall(method, int32(i), method)))
	}
	f, message := p.headerReply()
	if r := parseReply(message); r.text != "echo" || r.seq != 1 || f.SequenceID != 71 || f.Flags != header.OutOfOrder {
		t.Errorf("first %v in frame %d", r, f.SequenceID)
	}
	close(release)
	if f, message := p.headerReply(); parseReply(message).text != "slow" || f.SequenceID != 70 {
		t.Errorf("then frame %d", f.SequenceID)
	}
}

func TestRepliesKeepTheOrderOfRequestsOtherwise(t *testing.T) {
	release := make(chan struct{})
	slow := raw("slow", func(_ context.Context, args, dst []byte) ([]byte, error) {
		<-release
		return append(dst, args...), nil
	})
	server, address := listen(t, []rpc.Method{echo, slow})
	p := connect(t, address, true)
	for i, method := range []string{"slow", "echo"} {
		p.send(headerCall(t, header.Outgoing{SequenceID: uint32(i)}, echoCall(method, int32(i), method)))
	}
	eventually(t, "the second call is complete", func() bool { return rpc.Completed(server) == 1 })
	close(release)
	for i := range uint32(2) {
		if f, _ := p.headerReply(); f.SequenceID != i {
			t.Errorf("reply %d comes as number %d", f.SequenceID, i)
		}
	}
}

func TestTheOrderOfRepliesIsAgreedOnOnce(t *testing.T) {
	var l logs
	_, address := listen(t, []rpc.Method{echo}, l.option())
	p := connect(t, address, true)
	p.send(headerCall(t, header.Outgoing{}, echoCall("echo", 1, "a")))
	p.headerReply()
	p.send(headerCall(t, header.Outgoing{Flags: header.OutOfOrder}, echoCall("echo", 2, "b")))
	p.wantClosed()
	l.await(t, "changed its mind about the order of replies")
}

func TestWhatCannotBeUndoneIsRefusedAndTheConnectionStays(t *testing.T) {
	bomb := make([]byte, 1<<20)
	_, address := listen(t, []rpc.Method{echo}, rpc.MaxFrameSize(10_000))
	p := connect(t, address, true)
	compressed := headerCall(t, header.Outgoing{SequenceID: 3, Transform: header.Zlib}, bomb)
	snappy := headerCall(t, header.Outgoing{SequenceID: 1}, echoCall("echo", 9, "x"))
	// A header of protocol 0 and no transforms becomes one with snappy.
	snappy[15] = 1
	snappy[16] = byte(header.Snappy)
	for _, c := range []struct {
		frame    []byte
		sequence uint32
		code     int32
	}{
		{snappy, 1, rpc.InvalidTransform},
		{headerCall(t, header.Outgoing{SequenceID: 2, Protocol: header.JSON}, []byte("[1]")), 2, rpc.InvalidProtocol},
		{compressed, 3, rpc.ProtocolError},
		{headerCall(t, header.Outgoing{SequenceID: 4}, bomb[:11_000]), 4, rpc.ProtocolError},
	} {
		p.send(c.frame)
		f, message := p.headerReply()
		if r := parseReply(message); f.SequenceID != c.sequence || r.t != thriftwire.Exception || r.exception != c.code {
			t.Errorf("frame %d gets %v in frame %d", c.sequence, r, f.SequenceID)
		}
	}
	p.send(headerCall(t, header.Outgoing{SequenceID: 5}, echoCall("echo", 5, "still here")))
	if _, message := p.headerReply(); parseReply(message).text != "still here" {
		t.Error("the connection does not go on")
	}
}

func TestRepliesMirrorTheCompressionOfRequests(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	p := connect(t, address, true)
	for _, x := range []header.Transform{header.None, header.Zlib, header.Zstd, header.None} {
		p.send(headerCall(t, header.Outgoing{Transform: x}, echoCall("echo", 1, "text")))
		f, message := p.headerReply()
		got := header.None
		if len(f.Transforms) > 0 {
			got = f.Transforms[0]
		}
		if got != x || parseReply(message).text != "text" {
			t.Errorf("%v is answered with %v", x, got)
		}
	}
}

func TestOnewayCallsOfFBThriftAreNotAnswered(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	p := connect(t, address, true)
	p.send(headerCall(t, header.Outgoing{SequenceID: header.OnewaySequence}, echoCall("echo", 1, "oneway")))
	p.send(headerCall(t, header.Outgoing{SequenceID: header.OnewaySequence}, echoCall("nothing", 1, "oneway")))
	p.send(headerCall(t, header.Outgoing{SequenceID: 8}, echoCall("echo", 2, "call")))
	if f, message := p.headerReply(); f.SequenceID != 8 || parseReply(message).text != "call" {
		t.Errorf("frame %d answers", f.SequenceID)
	}
}

func TestAFrameInsideATTHeaderFrameIsMirrored(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	p := connect(t, address, true)
	for _, inner := range []bool{false, true} {
		o := ttheader.Outgoing{SequenceID: 12}
		b, err := o.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		message := echoCall("echo", 3, "text")
		if inner {
			message = append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
		}
		b = append(b, message...)
		ttheader.Seal(b, 0)
		p.send(b)
		var f ttheader.Frame
		if err := f.Parse(p.frame()); err != nil {
			t.Fatal(err)
		}
		payload := f.Payload
		if inner {
			if len(payload) < 4 || binary.BigEndian.Uint32(payload) != uint32(len(payload)-4) {
				t.Fatalf("no frame inside: % x", payload)
			}
			payload = payload[4:]
		}
		if r := parseReply(payload); r.text != "text" || r.seq != 3 || f.SequenceID != 12 {
			t.Errorf("inner %v: %v in frame %d", inner, r, f.SequenceID)
		}
	}
}

func TestAResultThatCompactDoesNotHaveIsAnError(t *testing.T) {
	uuid := raw("uuid", func(_ context.Context, _, dst []byte) ([]byte, error) {
		dst = thriftwire.AppendField(dst, thriftwire.UUID, 0)
		return thriftwire.AppendStop(thriftwire.AppendUUID(dst, [16]byte{1})), nil
	})
	_, address := listen(t, []rpc.Method{uuid})
	for d, want := range map[compact.Dialect]bool{compact.Apache: true, compact.FBThrift: false} {
		_, err := invoke(t.Context(), dial(t, "tcp", address, rpc.Compact(d)), "uuid", "")
		var e *rpc.ApplicationException
		if ok := err == nil; ok != want || !ok && (!errors.As(err, &e) || e.Type != rpc.InternalError) {
			t.Errorf("%v: %v", d, err)
		}
	}
}

func TestCompressedCallsCountAsWhatTheyHold(t *testing.T) {
	release := make(chan struct{})
	wait := raw("wait", func(_ context.Context, args, dst []byte) ([]byte, error) {
		<-release
		return append(dst, 0), nil
	})
	server, address := listen(t, []rpc.Method{wait}, rpc.MaxFrameSize(1<<20))
	p := connect(t, address, true)
	const calls = 8
	for i := range calls { // each holds more than half of what may be in flight
		p.send(headerCall(t, header.Outgoing{SequenceID: uint32(i), Transform: header.Zstd}, echoCall("wait", 1, strings.Repeat("x", 600_000))))
	}
	eventually(t, "the first call runs", func() bool { return rpc.InFlight(server) == 1 })
	time.Sleep(20 * time.Millisecond) // in which the others would be taken too
	if n := rpc.InFlight(server); n != 1 {
		t.Errorf("%d calls are in flight", n)
	}
	close(release)
	for range calls {
		p.headerReply()
	}
}

func TestCompressedCallsWaitForMemoryBeforeTheyAreUnpacked(t *testing.T) {
	method, started, release := blocked()
	server, address := listen(t, []rpc.Method{method}, rpc.MaxFrameSize(4<<20), rpc.MaxMemory(6<<20), rpc.TaskExpiry(0))
	bomb := headerCall(t, header.Outgoing{Transform: header.Zstd}, echoCall("blocked", 1, strings.Repeat("x", 4<<20-100)))
	const clients = 40
	var peers []*peer
	for range clients {
		p := connect(t, address, true)
		p.send(bomb)
		peers = append(peers, p)
	}
	receive(t, "the first call runs", started)
	time.Sleep(100 * time.Millisecond) // in which all would be unpacked
	if held := server.Stats().Memory; held > 40<<20 {
		t.Errorf("%d MiB are held", held>>20)
	}
	close(release)
	for _, p := range peers {
		p.frame()
	}
	eventually(t, "all memory is given back", func() bool { return server.Stats().Memory == 0 })
}

func TestABrokenFrameIsNamedOnAConnectionOutOfOrder(t *testing.T) {
	var l logs
	_, address := listen(t, []rpc.Method{echo}, l.option())
	p := connect(t, address, true)
	p.send(headerCall(t, header.Outgoing{Flags: header.OutOfOrder}, echoCall("echo", 1, "a")))
	p.headerReply()
	p.send([]byte("\x00\x00\x00\x0c\x0f\xff\x00\x01\x00\x00\x00\x00\x00\x09\x00\x00"))
	p.wantClosed()
	l.await(t, "the header ends 34 bytes behind the frame")
}

func TestProtocolsInsideTTHeaderThatNobodyReadsAreRefused(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	p := connect(t, address, true)
	b, err := (&ttheader.Outgoing{SequenceID: 5, Protocol: ttheader.Protobuf}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, "\x0a\x01x"...)
	ttheader.Seal(b, 0)
	p.send(b)
	var f ttheader.Frame
	if err := f.Parse(p.frame()); err != nil {
		t.Fatal(err)
	}
	if r := parseReply(f.Payload); r.exception != rpc.InvalidProtocol || f.SequenceID != 5 {
		t.Errorf("%v in frame %d", r, f.SequenceID)
	}
}
