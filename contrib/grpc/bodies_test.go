package grpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatgeneric"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode/flatproto"
)

// This file holds clients that speak Protobuf and JSON to a service of a .fbs file.

const shop = `
namespace shop;
enum Mood : short { Sad = -1, Calm, Glad = 4 }
enum Flags : ubyte (bit_flags) { New, Used }
struct Point { x: float; y: short; at: [int:2]; marks: [ubyte:3]; }
table Item { name: string; price: double = 1.5; mood: Mood = Glad; flags: Flags; }
union Thing { Item, Point, Text: string }
table Order {
  id: ulong; small: byte; items: [Item]; thing: Thing; things: [Thing]; data: [ubyte]; numbers: [short]; texts: [string];
  point: Point; points: [Point]; self: Order; maybe: int = null; yes: bool = true; moods: [Mood]; note: string = "none"; size: int;
  floats: [float]; bools: [bool]; wide: [ulong]; big: long;
}
rpc_service Orders { Place(Order): Order; Watch(Order): Item (streaming: "server"); Talk(Item): Item (streaming: "bidi"); }
root_type Order;
`

// orders are messages as protojson and flatjson have them, whose numbers of 64 bits protojson writes as strings.
var orders = []string{
	`{}`,
	`{"id":"18446744073709551615","small":-128,"big":"-9223372036854775808","size":-1}`,
	`{"items":[{"name":"pen","price":0,"mood":"Mood_Calm","flags":3},{"name":""},{}]}`,
	`{"thing":{"Item":{"name":"in"}},"things":[{"Text":"t"},{},{"Point":{"x":1.5,"y":-2}},{"Item":{}}]}`,
	`{"data":"AAECAw==","numbers":[1,-1,32767],"texts":["","a"],"floats":[0.5,1],"bools":[true,false],"wide":["1","18446744073709551615"]}`,
	`{"point":{"x":1,"at":[3,-4],"marks":"AQID"},"points":[{},{"y":7}],"moods":["Mood_Sad","Mood_Glad","Mood_Calm"]}`,
	`{"self":{"self":{"id":"1"}},"maybe":0,"yes":false,"note":""}`,
}

// loadShop returns the schema, and its messages as Protobuf's own library has them.
func loadShop(t *testing.T) (*schema.File, protoreflect.MessageDescriptor, protoreflect.MessageDescriptor) {
	t.Helper()
	file, list := fbsidl.Load("shop.fbs", fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{"shop.fbs": []byte(shop)}))
	if file == nil {
		t.Fatal(list.Err())
	}
	text, err := flatproto.AppendSchema(nil, file)
	if err != nil {
		t.Fatal(err)
	}
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(map[string]string{"shop.proto": string(text)})}}
	files, err := compiler.Compile(context.Background(), "shop.proto")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	messages := files[0].Messages()
	return file, messages.ByName("Order"), messages.ByName("Item")
}

func TestProtobufsLibraryReadsAndWritesTheSame(t *testing.T) {
	file, order, _ := loadShop(t)
	c, err := flatproto.New(file.Root())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range orders {
		in := dynamicpb.NewMessage(order)
		if err := protojson.Unmarshal([]byte(text), in); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		body, err := proto.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		message, err := c.AppendMessage(nil, body)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		back, err := c.AppendBody(nil, message)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		out := dynamicpb.NewMessage(order)
		if err := proto.Unmarshal(back, out); err != nil || len(out.GetUnknown()) > 0 {
			t.Errorf("%s: %v, unknown % x", text, err, out.GetUnknown())
			continue
		}
		fillDefaults(in)
		if !proto.Equal(in, out) {
			t.Errorf("%s\ncomes back as\n%s", protojson.Format(in), protojson.Format(out))
		}
	}
}

// fillDefaults sets what a message leaves out and its schema has a default for
// other than zero, which is always written, and the arrays of structs, which have all their elements.
func fillDefaults(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	set := func(name protoreflect.Name, v protoreflect.Value) {
		if f := fields.ByName(name); f != nil && !m.Has(f) {
			m.Set(f, v)
		}
	}
	switch m.Descriptor().Name() {
	case "Order":
		set("yes", protoreflect.ValueOfBool(true))
		set("note", protoreflect.ValueOfString("none"))
	case "Item":
		set("price", protoreflect.ValueOfFloat64(1.5))
		set("mood", protoreflect.ValueOfEnum(4))
	case "Point":
		if f := fields.ByName("at"); m.Get(f).List().Len() == 0 {
			list := m.Mutable(f).List()
			list.Append(protoreflect.ValueOfInt32(0))
			list.Append(protoreflect.ValueOfInt32(0))
		}
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				fillDefaults(v.List().Get(i).Message())
			}
		default:
			fillDefaults(v.Message())
		}
		return true
	})
}

// shopServer serves Orders to clients of any format.
func shopServer(t *testing.T, file *schema.File) string {
	t.Helper()
	service, err := flatgeneric.Serve(file.Service("Orders"), func(_ context.Context, _ *schema.Method, req flatbuffers.Value) (any, error) {
		if n, _ := req.Field("size").Int(); n == 99 {
			return nil, errors.New("as asked")
		}
		return req.Any()
	}, func(_ context.Context, m *schema.Method, s *flatgeneric.Stream) error {
		for {
			v, err := s.Recv()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if m.Name() == "Watch" {
				for i := range v.Field("items").Len() {
					x, err := v.Field("items").Index(i).Any()
					if err == nil {
						err = s.Send(x)
					}
					if err != nil {
						return err
					}
				}
				return nil
			}
			x, err := v.Any()
			if err == nil {
				err = s.Send(x)
			}
			if err != nil {
				return err
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s := rpc.NewServer(rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0))
	if err := s.Register(service); err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

func TestClientsOfProtobufCallServicesOfFlatBuffers(t *testing.T) {
	file, order, item := loadShop(t)
	address := shopServer(t, file)
	c, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, opts := range [][]grpc.CallOption{nil, {grpc.CallContentSubtype("proto"), grpc.UseCompressor("gzip")}} {
		for _, text := range orders {
			in, out := dynamicpb.NewMessage(order), dynamicpb.NewMessage(order)
			if err := protojson.Unmarshal([]byte(text), in); err != nil {
				t.Fatal(err)
			}
			if err := c.Invoke(within(t), "/shop.Orders/Place", in, out, opts...); err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			fillDefaults(in)
			if !proto.Equal(in, out) {
				t.Errorf("%s\ncomes back as\n%s", protojson.Format(in), protojson.Format(out))
			}
		}
	}
	in := dynamicpb.NewMessage(order)
	protojson.Unmarshal([]byte(`{"size":99}`), in)
	if err := c.Invoke(within(t), "/shop.Orders/Place", in, dynamicpb.NewMessage(order)); status.Code(err) != codes.Unknown {
		t.Errorf("a failure: %v", err)
	}
	protojson.Unmarshal([]byte(`{"small":1000}`), in)
	if err := c.Invoke(within(t), "/shop.Orders/Place", in, dynamicpb.NewMessage(order)); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a number that does not fit: %v", err)
	}
	streamProtobuf(t, c, order, item)
}

// streamProtobuf uses the methods that stream.
func streamProtobuf(t *testing.T, c *grpc.ClientConn, order, item protoreflect.MessageDescriptor) {
	t.Helper()
	in := dynamicpb.NewMessage(order)
	protojson.Unmarshal([]byte(orders[2]), in)
	s, err := c.NewStream(within(t), &grpc.StreamDesc{ServerStreams: true}, "/shop.Orders/Watch")
	if err == nil {
		err = errors.Join(s.SendMsg(in), s.CloseSend())
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		out := dynamicpb.NewMessage(item)
		if err := s.RecvMsg(out); err == io.EOF && i == 3 {
			break
		} else if err != nil {
			t.Fatalf("item %d: %v", i, err)
		}
	}
	s, err = c.NewStream(within(t), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/shop.Orders/Talk")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		ask, answer := dynamicpb.NewMessage(item), dynamicpb.NewMessage(item)
		name := item.Fields().ByName("name")
		ask.Set(name, protoreflect.ValueOfString(fmt.Sprint("item ", i)))
		if err := errors.Join(s.SendMsg(ask), s.RecvMsg(answer)); err != nil || answer.Get(name).String() != fmt.Sprint("item ", i) {
			t.Fatalf("item %d: %v, %v", i, answer, err)
		}
	}
	if err := s.CloseSend(); err != nil {
		t.Error(err)
	}
	if err := s.RecvMsg(dynamicpb.NewMessage(item)); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// jsonCodec is a codec of grpc-go that sends text as it is.
type jsonCodec struct{}

func (jsonCodec) Name() string                    { return "json" }
func (jsonCodec) Marshal(v any) ([]byte, error)   { return *v.(*json.RawMessage), nil }
func (jsonCodec) Unmarshal(b []byte, v any) error { return v.(*json.RawMessage).UnmarshalJSON(b) }

func TestClientsOfJSONCallServicesOfFlatBuffers(t *testing.T) {
	file, _, _ := loadShop(t)
	c := peerClient(t, shopServer(t, file), grpc.WithDefaultCallOptions(grpc.ForceCodec(jsonCodec{})))
	in, out := json.RawMessage(`{"id":7,"items":[{"name":"pen"}],"thing_type":"Text","thing":"t"}`), json.RawMessage{}
	if err := c.Invoke(within(t), "/shop.Orders/Place", &in, &out); err != nil || string(out) != string(in) {
		t.Errorf("%s, %v", out, err)
	}
	in = json.RawMessage(`{"id":"pen"}`)
	if err := c.Invoke(within(t), "/shop.Orders/Place", &in, &out); status.Code(err) != codes.InvalidArgument {
		t.Errorf("what the schema does not have: %v", err)
	}
}
