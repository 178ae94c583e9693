package flatrpc_test

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/internal/conform/words"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds a client of gRPC that writes its HTTP/2 itself, as far as
// it takes to write it wrong.

// The types and flags of frames of HTTP/2.
const (
	frameData, frameHeaders, frameSettings = 0, 1, 4
	flagEndStream, flagEndHeaders          = 1, 4
)

// appendFrame appends a frame of HTTP/2.
func appendFrame(b []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	b = append(b, byte(n>>16), byte(n>>8), byte(n), kind, flags)
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// appendFields appends header fields as HPACK has them without its tables.
func appendFields(b []byte, fields ...string) []byte {
	for i := 0; i < len(fields); i += 2 {
		name, value := fields[i], fields[i+1][:min(len(fields[i+1]), 126)]
		b = append(append(append(b, 0, byte(len(name))), name...), byte(len(value)))
		b = append(b, value...)
	}
	return b
}

// grpcBodies are bodies of requests, good ones, and the fields that go with them.
func grpcBodies() (bodies [][]byte, encodings []string) {
	body := words.New(nil, "some text", 2).FinishedBytes()
	var x trpc.Compressor
	packed, err := x.Compress(nil, body, trpc.Gzip)
	if err != nil {
		panic(err)
	}
	message := func(b []byte, compressed bool) []byte {
		out := make([]byte, grpc.PrefixSize)
		grpc.PutPrefix(out, len(b), compressed)
		return append(out, b...)
	}
	plain, zipped := message(body, false), message(packed, true)
	return [][]byte{plain, zipped, append(append([]byte{}, plain...), plain...), append(append([]byte{}, zipped...), plain...)},
		[]string{"identity", "gzip", "identity", "gzip"}
}

// oddFields are fields with values that good clients do not send.
func oddFields(r *rand.Rand) []string {
	odd := [][]string{
		{"grpc-timeout", "1x"}, {"grpc-timeout", "-1S"}, {"grpc-timeout", "1n"}, {"grpc-encoding", "br"}, {"grpc-encoding", "gzip, gzip"},
		{"content-type", "application/grpc+proto"}, {"content-type", "application/grpc+x"}, {"trace-bin", "no!"}, {"trace-bin", "AAE="},
		{"grpc-status", "13"}, {"content-length", "3"}, {"rpc-persist-k", "v"},
	}
	return odd[r.IntN(len(odd))]
}

// hostileRequest returns the frames of a request that is wrong somewhere, mostly.
func hostileRequest(r *rand.Rand, stream uint32, bodies [][]byte, encodings []string) []byte {
	i := r.IntN(len(bodies))
	paths := []string{repeatMethod, repeatMethod, "/test.Words/Echo", "/test.Words/Join", "/test.Words/Split", "/test.Words/Other", "/", "x"}
	fields := []string{":method", "POST", ":scheme", "http", ":path", paths[r.IntN(len(paths))], ":authority", "test",
		"te", "trailers", "content-type", "application/grpc+flatbuffers", "grpc-encoding", encodings[i]}
	if r.IntN(4) == 0 {
		fields = append(fields, oddFields(r)...)
	}
	body := append([]byte{}, bodies[i]...)
	for range r.IntN(4) {
		switch at := r.IntN(len(body)); r.IntN(4) {
		case 0: // a prefix
			body[min(at%grpc.PrefixSize, len(body)-1)] = byte(r.Uint32())
		case 1, 2:
			body[at] = byte(r.Uint32())
		case 3:
			body = body[:at+1]
		}
	}
	b := appendFrame(nil, frameHeaders, flagEndHeaders, stream, appendFields(nil, fields...))
	cut := r.IntN(len(body) + 1)
	b = appendFrame(b, frameData, 0, stream, body[:cut])
	b = appendFrame(b, frameData, byte(r.IntN(8)&flagEndStream|r.IntN(2)), stream, body[cut:])
	if r.IntN(50) == 0 { // a frame of HTTP/2 itself
		b[r.IntN(len(b))] = byte(r.Uint32())
	}
	return b
}

// go test ./rpc/flatrpc -run MalformedRequests -frames 1000000
func TestMalformedRequestsOfGRPCLeaveTheServerServing(t *testing.T) {
	_, address := serve(t, append(streaming(), flatrpc.Unary("Repeat", words.Verifier(), repeat)), rpc.MaxFrameSize(1<<20))
	good := dial(t, address, rpc.GRPC())
	bodies, encodings := grpcBodies()
	r := rand.New(rand.NewPCG(3, 4))
	for sent := 0; sent < *hostileFrames; {
		nc, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		gone := make(chan struct{})
		go func() {
			io.Copy(io.Discard, nc)
			close(gone)
		}()
		b := appendFrame([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frameSettings, 0, 0, nil)
		for stream := uint32(1); stream < 200; stream += 2 {
			b = append(b, hostileRequest(r, stream, bodies, encodings)...)
			sent++
			nc.SetWriteDeadline(time.Now().Add(patience))
			if _, err := nc.Write(b); err != nil {
				break // the server could not follow
			}
			b = b[:0]
		}
		if sent%1000 < 100 {
			if _, err := callRepeat(mustEnd(t), good, "still", 3); err != nil {
				t.Fatalf("after %d requests: %v", sent, err)
			}
		}
		nc.(*net.TCPConn).CloseWrite()
		nc.SetReadDeadline(time.Now().Add(10 * time.Millisecond)) // for what is answered
		<-gone
		nc.Close()
	}
	if err := bothWays(mustEnd(t), good, "and streaming", 5); err != nil {
		t.Error(err)
	}
	if err := bothWays(mustEnd(t), dial(t, address, rpc.GRPC()), "and taking connections", 5); err != nil {
		t.Error(err)
	}
}
