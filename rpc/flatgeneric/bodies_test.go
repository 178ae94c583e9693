package flatgeneric_test

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatgeneric"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// name is the table Name { text:string; } as a generator has it.
type name struct{ table flatbuf.Table }

func (n *name) Init(b []byte, i flatbuf.UOffsetT) { n.table.Bytes, n.table.Pos = b, i }
func (n *name) Table() flatbuf.Table              { return n.table }

func TestGeneratedServicesTakeOtherBodies(t *testing.T) {
	const idl = `table Name { text:string; } table Greeting { answer:string; } rpc_service Greeter { Greet(Name):Greeting; }`
	file, list := fbsidl.Load("greeter.fbs", fbsidl.Sources(map[string][]byte{"greeter.fbs": []byte(idl)}), fbsidl.MemoryOnly())
	if file == nil {
		t.Fatal(list.Err())
	}
	layout, err := flatbuf.LayoutOf(file.Struct("Name"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := flatbuf.NewVerifier(layout, 0)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := flatgeneric.Bodies(file.Service("Greeter"))
	if err != nil {
		t.Fatal(err)
	}
	greet := flatrpc.Unary("Greet", v, func(_ context.Context, req *name) (*flatbuf.Builder, error) {
		b := new(flatbuf.Builder)
		text := b.CreateString("hello " + req.table.String(req.table.Pos+flatbuf.UOffsetT(req.table.Offset(4))))
		b.StartObject(1)
		b.PrependUOffsetTSlot(0, text, 0)
		b.Finish(b.EndObject())
		return b, nil
	}, bodies)
	server := rpc.NewServer(rpc.Logger(slog.New(slog.DiscardHandler)))
	if err := server.Register(&rpc.Service{Name: "Greeter", Methods: []rpc.Method{greet}}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	defer server.Close()
	for _, dialect := range [][]rpc.ClientOption{nil, {rpc.GRPC()}} {
		client, err := rpc.DialMessages(t.Context(), "tcp", l.Addr().String(), dialect...)
		if err != nil {
			t.Fatal(err)
		}
		for format, c := range map[transport.ContentType][2]string{
			transport.JSON:     {`{"text":"Ada"}`, `{"answer":"hello Ada"}`},
			transport.Protobuf: {"\x0a\x03Ada", "\x0a\x09hello Ada"},
		} {
			var got string
			err := client.InvokeMessage(t.Context(), &rpc.MessageCall{
				Method: "/Greeter/Greet", Request: rpc.Message{Type: format, Body: []byte(c[0])},
				ReadReply: func(m rpc.Message, _ []byte) error {
					got = string(m.Body)
					return nil
				},
			})
			if err != nil || got != c[1] {
				t.Errorf("%s over %s: %q, %v", format, client.Dialect(), got, err)
			}
		}
		client.Close()
	}
}
