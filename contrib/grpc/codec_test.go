package grpc

import (
	"context"
	"errors"
	"net"
	"testing"

	"google.golang.org/grpc"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/conform/words"
)

// Code written for grpc-go with Google's runtime goes on with ours: client and server are both
// grpc-go's, and messages ours.
func TestOurCodecServesGRPC(t *testing.T) {
	s := grpc.NewServer(grpc.ForceServerCodec(flatbuf.FlatbuffersCodec{}), grpc.MaxRecvMsgSize(64<<20))
	b := flatbuf.NewBuilder(0) // one for all replies, as a handler may keep it
	s.RegisterService(&grpc.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
		MethodName: "Repeat", Handler: func(_ any, _ context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			req := &words.Word{}
			if err := dec(req); err != nil {
				return nil, err
			}
			b.Reset()
			return words.New(b, req.Text()+"!", req.Count()+1), nil
		}}}}, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	t.Cleanup(s.Stop)
	c := peerClient(t, l.Addr().String(), grpc.WithDefaultCallOptions(grpc.ForceCodec(flatbuf.FlatbuffersCodec{})))
	for _, text := range []string{"", "a", large} {
		reply := &words.Word{}
		if err := c.Invoke(within(t), repeat, words.New(nil, text, 2), reply); err != nil {
			t.Fatal(err)
		}
		if reply.Text() != text+"!" || reply.Count() != 3 {
			t.Errorf("%d bytes came back as %d", len(text), len(reply.Text()))
		}
	}
}

func TestOurCodecRefusesWhatIsNoMessage(t *testing.T) {
	var c flatbuf.FlatbuffersCodec
	if _, err := c.Marshal(3); err == nil {
		t.Error("a number is sent")
	}
	if c.Unmarshal(make([]byte, 8), 3) == nil {
		t.Error("a number is received")
	}
	if err := c.Unmarshal(make([]byte, 3), &words.Word{}); !errors.Is(err, flatbuf.ErrInsufficientData) {
		t.Error(err)
	}
	if err := c.Unmarshal([]byte{5, 0, 0, 0, 0, 0, 0, 0}, &words.Word{}); !errors.Is(err, flatbuf.ErrInvalidRootOffset) {
		t.Error(err)
	}
	b := words.New(nil, "a", 1)
	sent, err := c.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	words.New(b, "b", 2)
	got := &words.Word{}
	if err := c.Unmarshal(sent, got); err != nil || got.Text() != "a" {
		t.Errorf("%q, %v: the next message overwrote it", got.Text(), err)
	}
}
