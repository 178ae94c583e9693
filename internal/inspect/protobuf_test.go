package inspect_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/thrum-rpc/thrum/idl/protoidl"
	"github.com/thrum-rpc/thrum/internal/inspect"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

const protoText = `syntax = "proto2";
package shop;
enum Format { PAPER = 0; EBOOK = 3; }
message Line { required int64 book = 1; optional sint32 change = 2; }
message Order {
  optional uint64 id = 1;
  optional string customer = 2;
  repeated Line lines = 3;
  repeated int32 numbers = 4 [packed = true];
  map<string, Line> named = 5;
  optional Format format = 6;
  optional fixed32 a = 7;
  optional sfixed64 b = 8;
  optional float ratio = 9;
  optional double price = 10;
  optional bytes data = 11;
  optional bool paid = 12;
  optional group Box = 13 { optional int32 size = 1; }
  oneof delivery { string email = 14; Line line = 15; }
}
`

func protoStruct(t testing.TB, name string) *schema.StructDef {
	t.Helper()
	f, findings := protoidl.Load("shop.proto", protoidl.Sources(map[string][]byte{"shop.proto": []byte(protoText)}), protoidl.MemoryOnly())
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	return f.Struct(name)
}

// protoOrder is a message with something of everything.
func protoOrder() []byte {
	tag := protowire.AppendTag
	b := protowire.AppendVarint(tag(nil, 1, protowire.Varint), math.MaxUint64)
	b = protowire.AppendString(tag(b, 2, protowire.Bytes), "Ada\x1b[31m")
	line := protowire.AppendVarint(tag(nil, 1, protowire.Varint), 7)
	line = protowire.AppendVarint(tag(line, 2, protowire.Varint), protowire.ZigZag(-3))
	b = protowire.AppendBytes(tag(b, 3, protowire.Bytes), line)
	b = protowire.AppendBytes(tag(b, 3, protowire.Bytes), line[2:])
	numbers := protowire.AppendVarint(protowire.AppendVarint(nil, 300), uint64(math.MaxUint64)) // -1
	b = protowire.AppendBytes(tag(b, 4, protowire.Bytes), numbers)
	b = protowire.AppendVarint(tag(b, 4, protowire.Varint), 5)
	entry := protowire.AppendBytes(tag(protowire.AppendString(tag(nil, 1, protowire.Bytes), "k"), 2, protowire.Bytes), line)
	b = protowire.AppendBytes(tag(b, 5, protowire.Bytes), entry)
	b = protowire.AppendVarint(tag(b, 6, protowire.Varint), 3)
	b = protowire.AppendFixed32(tag(b, 7, protowire.Fixed32), 1<<31)
	b = protowire.AppendFixed64(tag(b, 8, protowire.Fixed64), math.MaxUint64)
	b = protowire.AppendFixed32(tag(b, 9, protowire.Fixed32), math.Float32bits(0.1))
	b = protowire.AppendFixed64(tag(b, 10, protowire.Fixed64), math.Float64bits(2.5))
	b = protowire.AppendBytes(tag(b, 11, protowire.Bytes), []byte{0xff, 0})
	b = protowire.AppendVarint(tag(b, 12, protowire.Varint), 1)
	b = tag(protowire.AppendVarint(tag(tag(b, 13, protowire.StartGroup), 1, protowire.Varint), 9), 13, protowire.EndGroup)
	b = protowire.AppendString(tag(b, 14, protowire.Bytes), "a@b.c")
	b = protowire.AppendBytes(tag(b, 15, protowire.Bytes), line)
	b = protowire.AppendVarint(tag(b, 2, protowire.Varint), 1)
	return protowire.AppendString(tag(b, 99, protowire.Bytes), "what")
}

func TestTreesOfProtobuf(t *testing.T) {
	order := inspect.Options{Struct: protoStruct(t, "Order"), Format: inspect.Format{Protocol: inspect.Protobuf}}
	few := order
	few.MaxParts = 1
	delimited := order
	delimited.Format.Framing = inspect.Delimited
	delimited.Struct = protoStruct(t, "Line")
	bare := order
	bare.Format.Framing, bare.Format.Envelope = inspect.Unframed, inspect.Bare
	for _, c := range []treeCase{
		{"protobuf with its schema", protoOrder(), order},
		{"protobuf without a schema", protoOrder(), inspect.Options{}},
		{"protobuf with few parts", protoOrder(), few},
		{"protobuf delimited", []byte{2, 8, 7, 0, 2, 8, 9}, delimited},
		{"protobuf that is cut", protoOrder()[:40], bare},
		{"protobuf with a packed list that is cut", []byte{0x22, 3, 1, 2, 0x80}, bare},
		{"protobuf with a group that does not end", []byte{0x6b, 8, 1}, bare},
		{"protobuf with the end of another group", []byte{0x6b, 8, 1, 0x74}, bare},
		{"protobuf with a length beyond its message", []byte{0x1a, 2, 0x12, 5}, bare},
		{"protobuf with a field number 0", []byte{0, 1}, bare},
		{"protobuf of nothing", nil, bare},
	} {
		checkTree(t, c)
	}
}

func FuzzWriteProtobuf(f *testing.F) {
	def := protoStruct(f, "Order")
	f.Add(protoOrder(), true)
	f.Add([]byte{2, 8, 7, 0, 2, 8, 9}, false)
	f.Fuzz(func(t *testing.T, b []byte, known bool) {
		o := inspect.Options{MaxBytes: 4000, MaxParts: 10, MaxText: 20}
		o.Format = inspect.Format{Protocol: inspect.Protobuf, Framing: inspect.Unframed, Envelope: inspect.Bare}
		if known {
			o.Struct = def
		}
		var out bytes.Buffer
		err := inspect.Write(&out, b, o)
		checkHarmless(t, out.String())
		checkFault(t, b, err)
		if out.Len() > 5000 {
			t.Fatalf("%d bytes of output", out.Len())
		}
	})
}
