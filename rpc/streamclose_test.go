package rpc_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file tests how connections of streams end, over pipes whose time is the test's.

// streamFrame is a frame of a stream, without a payload.
func streamFrame(t *testing.T, id uint32, kind, method string) []byte {
	t.Helper()
	b, err := (&ttheader.Outgoing{Flags: ttheader.Streaming, SequenceID: id, Protocol: ttheader.StreamData,
		Ints: []ttheader.IntPair{{Key: ttheader.FrameType, Value: kind}, {Key: ttheader.ToMethod, Value: method}}}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	ttheader.Seal(b, 0)
	return b
}

// nextFrame returns the stream and the kind of the next frame that p receives, and what it holds.
func nextFrame(t *testing.T, p *peer) (id uint32, kind string, payload []byte) {
	t.Helper()
	var f ttheader.Frame
	if err := f.Parse(p.frame()); err != nil {
		t.Fatal(err)
	}
	text, _ := f.Ints.Get(ttheader.FrameType)
	return f.SequenceID, string(text), f.Payload
}

// A stream may be on its way when the client is told that its connection is old.
func TestAStreamOnItsWayToAnOldConnectionIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served := rpc.Method{Name: "served", Stream: func(context.Context, *stream.Stream) error { return nil }}
		server, l := listenInBubble(t, []rpc.Method{served}, rpc.MaxConnectionAge(10*time.Second))
		p := connectInBubble(t, l, false)
		for _, id := range []uint32{1, 2} {
			p.send(streamFrame(t, id, "2", "served"))
			for {
				from, kind, payload := nextFrame(t, p)
				if from == id && kind == "4" {
					if len(payload) > 0 {
						t.Errorf("stream %d ended with % x", id, payload)
					}
					break
				}
			}
			if id == 1 {
				if from, kind, _ := nextFrame(t, p); from != 0 || kind != "1" {
					t.Errorf("a frame of kind %s of stream %d, want one about the connection", kind, from)
				}
			}
		}
		p.wantClosed()
		if n := server.Stats().Aged; n != 1 {
			t.Errorf("%d connections were old", n)
		}
	})
}

// A stream of which nothing is taken holds up its connection, and not the server's end.
func TestCloseEndsStreamsWhoseConnectionIsHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		deaf := rpc.BidiStreaming("deaf", func(ctx context.Context, s stream.BidiStreamingServer[note, note]) error {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return nil
		})
		server, l := listenInBubble(t, []rpc.Method{deaf}, rpc.StreamQueue(1000, 10), rpc.StreamStall(time.Hour))
		s, err := rpc.OpenBidiStream[note, note](t.Context(), dialInBubble(t, l, rpc.TTHeader()), "S", "deaf")
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if err := s.Send(t.Context(), &note{Text: "hello?"}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		server.Close()
		synctest.Wait()
		select {
		case err := <-ended:
			if streamCode(err) != stream.Lost {
				t.Errorf("the handler gets %v", err)
			}
		default:
			t.Error("the handler runs on")
		}
	})
}
