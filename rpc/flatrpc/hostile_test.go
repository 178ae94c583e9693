package flatrpc_test

import (
	"encoding/binary"
	"flag"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/internal/conform/words"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

var hostileFrames = flag.Int("frames", 5000, "malformed frames that a server is sent")

// unaryFrame returns the frame of a call.
func unaryFrame(id uint32, method string, kind trpc.Compression, body []byte) []byte {
	req := trpc.Request{Version: trpc.Version, ID: id, ContentType: transport.FlatBuffers, Encoding: kind}
	b := trpc.Head{Type: trpc.Unary, ID: id, Version: trpc.Version}.Append(nil)
	b = req.AppendTo(b, method, "test.Words", []transport.Pair{{Key: "k", Value: "v"}})
	header := len(b) - trpc.HeadSize
	b = append(b, body...)
	if err := trpc.Seal(b, 0, header, 0); err != nil {
		panic(err)
	}
	return b
}

// goodFrames are what the malformed ones are made of.
func goodFrames() [][]byte {
	body := words.New(nil, "some text", 2).FinishedBytes()
	var x trpc.Compressor
	frames := [][]byte{unaryFrame(7, repeatMethod, trpc.None, body), unaryFrame(8, "/test.Words/Other", trpc.None, body)}
	for c := trpc.Gzip; c.Supported(); c++ {
		packed, err := x.Compress(nil, body, c)
		if err != nil {
			panic(err)
		}
		frames = append(frames, unaryFrame(9, repeatMethod, c, packed))
	}
	init := trpc.Init{IsRequest: true, Func: []byte("/test.Words/Echo"), Window: trpc.DefaultWindow, ContentType: transport.FlatBuffers}
	data := append(trpc.Head{Type: trpc.Stream, Stream: trpc.StreamData, ID: 100}.Append(nil), body...)
	if err := trpc.Seal(data, 0, 0, 0); err != nil {
		panic(err)
	}
	end := trpc.Close{}
	return append(frames, init.Append(nil, 100, nil), data, data, trpc.AppendFeedback(nil, 100, 100), end.Append(nil, 100, nil))
}

// damage returns a frame that is not what it was.
func damage(r *rand.Rand, frame []byte) []byte {
	b := append([]byte(nil), frame...)
	for range 1 + r.IntN(4) {
		switch r.IntN(6) {
		case 0, 1, 2: // anywhere behind the magic
			b[2+r.IntN(len(b)-2)] = byte(r.Uint32())
		case 3: // what it says of its length agrees with what it has lost
			if n := trpc.HeadSize + r.IntN(len(b)-trpc.HeadSize+1); n < len(b) {
				b = b[:n]
				binary.BigEndian.PutUint32(b[4:], uint32(n))
			}
		case 4:
			binary.BigEndian.PutUint16(b[8:], uint16(r.Uint32()))
		case 5:
			b = append(b, byte(r.Uint32()))
			binary.BigEndian.PutUint32(b[4:], uint32(len(b)))
		}
		if len(b) <= trpc.HeadSize {
			break
		}
	}
	return b
}

// go test ./rpc/flatrpc -run Malformed -frames 1000000
func TestMalformedFramesLeaveTheServerServing(t *testing.T) {
	_, address := serve(t, append(streaming(), flatrpc.Unary("Repeat", words.Verifier(), repeat)), rpc.MaxFrameSize(1<<20))
	good := dial(t, address)
	frames := goodFrames()
	r := rand.New(rand.NewPCG(1, 2))
	sent := 0
	for sent < *hostileFrames {
		nc, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		gone := make(chan struct{})
		go func() {
			io.Copy(io.Discard, nc)
			close(gone)
		}()
		for range 100 {
			frame := frames[r.IntN(len(frames))]
			if r.IntN(8) > 0 {
				frame = damage(r, frame)
			}
			sent++
			nc.SetWriteDeadline(time.Now().Add(patience))
			if _, err := nc.Write(frame); err != nil {
				break // the server could not follow
			}
		}
		if sent%1000 < 100 {
			if _, err := callRepeat(mustEnd(t), good, "still", 3); err != nil {
				t.Fatalf("after %d frames: %v", sent, err)
			}
		}
		nc.Close()
		<-gone
	}
	if err := bothWays(mustEnd(t), good, "and streaming", 5); err != nil {
		t.Error(err)
	}
	if err := bothWays(mustEnd(t), dial(t, address), "and taking connections", 5); err != nil {
		t.Error(err)
	}
}
