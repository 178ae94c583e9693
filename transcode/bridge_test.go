package transcode_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"
)

// This file converts between Thrift and Protobuf.

func bridge(t testing.TB, thrift, proto *schema.StructDef, opts ...transcode.Option) *transcode.Bridge {
	t.Helper()
	b, err := transcode.NewBridge(thrift, proto, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// asThrift returns the type in Thrift that a Protobuf type pairs with.
func asThrift(d *schema.StructDef, seen map[*schema.StructDef]*schema.StructDef) *schema.StructDef {
	if s := seen[d]; s != nil {
		return s
	}
	s := schema.NewStruct(schema.DeclSpec{Name: d.Name()}, schema.PlainStruct)
	seen[d] = s
	var typ func(t *schema.Type) *schema.Type
	typ = func(t *schema.Type) *schema.Type {
		switch t.Kind() {
		case schema.U32, schema.U64:
			return tI64
		case schema.List:
			return schema.ListOf(typ(t.Elem()))
		case schema.Map:
			return schema.MapOf(typ(t.Key()), typ(t.Elem()))
		case schema.Struct:
			return asThrift(t.Struct(), seen).Type()
		case schema.Enum:
			return t
		default:
			return schema.Basic(t.Kind())
		}
	}
	var fields []*schema.Field
	for _, f := range d.Fields() {
		if f.ID() < 1<<15 {
			fields = append(fields, schema.NewField(schema.FieldSpec{ID: f.ID(), Name: f.Name(), Type: typ(f.Type()), Requiredness: f.Requiredness()}))
		}
	}
	s.Complete(fields)
	return s
}

// withinThrift makes what Thrift cannot hold absent: unsigned numbers of 64
// bits and fields with greater numbers.
func withinThrift(m protoreflect.Message) {
	big := func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		return (f.Kind() == protoreflect.Uint64Kind || f.Kind() == protoreflect.Fixed64Kind) && int64(v.Uint()) < 0
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		drop := f.Number() >= 1<<15
		switch {
		case f.IsMap():
			v.Map().Range(func(k protoreflect.MapKey, x protoreflect.Value) bool {
				drop = drop || big(f.MapKey(), k.Value()) || big(f.MapValue(), x)
				if f.MapValue().Message() != nil {
					withinThrift(x.Message())
				}
				return true
			})
		case f.IsList():
			for i := range v.List().Len() {
				drop = drop || big(f, v.List().Get(i))
				if f.Message() != nil {
					withinThrift(v.List().Get(i).Message())
				}
			}
		case f.Message() != nil:
			withinThrift(v.Message())
		default:
			drop = drop || big(f, v)
		}
		if drop {
			m.Clear(f)
		}
		return true
	})
}

func TestProtobufReturnsFromThriftAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		md, m := randomProtobuf(t)
		withinThrift(m)
		wire, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		def := describe(md)
		b, err := transcode.NewBridge(asThrift(def, map[*schema.StructDef]*schema.StructDef{}), def, transcode.RejectUnknown(), transcode.StrictTypes(), transcode.AllowMissing())
		if err != nil {
			t.Fatal(err)
		}
		thrift, err := b.AppendThrift([]byte("kept"), wire)
		if err != nil {
			t.Fatalf("%x: %v", wire, err)
		}
		back, n, err := b.AppendProtobuf([]byte("kept"), append(thrift[4:], "rest"...))
		if err != nil || n != len(thrift)-4 {
			t.Fatalf("%x, from %x: %d, %v", thrift[4:], wire, n, err)
		}
		got := dynamicpb.NewMessage(md)
		if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(back[4:], got); err != nil {
			t.Fatal(err)
		}
		sameMessage(t, "by way of Thrift", got, m)
	})
}

func TestMessagesInPiecesBecomeWholeInThrift(t *testing.T) {
	partial := proto.UnmarshalOptions{AllowPartial: true}
	rapid.Check(t, func(t *rapid.T) {
		md, m := randomProtobuf(t)
		withinThrift(m)
		wire, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		wire = scramble(r, md, append(wire, wire...))
		def := describe(md)
		b, err := transcode.NewBridge(asThrift(def, map[*schema.StructDef]*schema.StructDef{}), def, transcode.AllowMissing())
		if err != nil {
			t.Fatal(err)
		}
		thrift, err := b.AppendThrift(nil, wire)
		if err != nil {
			t.Fatalf("%x: %v", wire, err)
		}
		back, _, err := b.AppendProtobuf(nil, thrift)
		if err != nil {
			t.Fatal(err)
		}
		want, got := dynamicpb.NewMessage(md), dynamicpb.NewMessage(md)
		if err := partial.Unmarshal(wire, want); err != nil {
			t.Fatal(err)
		}
		if err := partial.Unmarshal(back, got); err != nil {
			t.Fatal(err)
		}
		discardUnknown(want)
		sameMessage(t, "by way of Thrift", got, want)
	})
}

// bridged returns types that pair and differ as much as pairs may.
func bridged() (thrift, proto *schema.StructDef) {
	choice := schema.NewOneof(schema.DeclSpec{Name: "choice"})
	point := structOf("Point", field(1, "x", tI16), field(2, "y", tI64))
	protoPoint := structOf("P", field(1, "x", tI32), field(2, "y", tI32))
	either := flavored(schema.Union, "Either", field(1, "left", tI32), field(2, "right", tString))
	protoEither := structOf("E", oneof(choice, 1, "left", tI32), oneof(choice, 2, "right", tString))
	thrift = structOf("T",
		field(1, "tiny", tI8), field(2, "unsigned", tI64), field(3, "single", tDouble), field(4, "text", tBinary),
		field(5, "id", tUUID), field(6, "id_text", tUUID), field(7, "set", schema.SetOf(tI32)), field(8, "level", tI32),
		field(9, "points", schema.MapOf(tI8, point.Type())), optional(10, "either", either.Type()),
		required(11, "needed", tI32), field(12, "enum", color.Type()), field(13, "list", schema.ListOf(tString)), field(-1, "odd", tI32))
	proto = structOf("M",
		field(1, "tiny", tI64), field(2, "unsigned", tU64), field(3, "single", tFloat), field(4, "text", tString),
		optional(5, "id", tBinary), optional(6, "id_text", tString), packed(7, "set", tI32.WithEncoding(schema.ZigZag)), optional(8, "level", level.Type()),
		field(9, "points", schema.MapOf(tU32.WithEncoding(schema.Fixed), protoPoint.Type())), optional(10, "either", protoEither.Type().WithEncoding(schema.Delimited)),
		field(11, "needed", tI32), field(12, "enum", tI32), field(13, "list", schema.ListOf(tString)), field(99, "extra", tI32))
	return thrift, proto
}

func TestThriftBecomesTheseProtobufBytes(t *testing.T) {
	b := bridge(t, bridgedThrift(), bridgedProto())
	for thrift, want := range map[string]string{
		"08000b0000000000":                                 "",
		"030001ff 08000b0000000100":                        "08ffffffffffffffffff01 5801",
		"040003 3ff8000000000000" + needed:                 "1d0000c03f 5801",
		"0b0004 0000000161" + needed:                       "220161 5801",
		"100005 000102030405060708090a0b0c0d0e0f" + needed: "2a10000102030405060708090a0b0c0d0e0f 5801",
		"100006 000102030405060708090a0b0c0d0e0f" + needed: "3224 " + hexOf([]byte("00010203-0405-0607-0809-0a0b0c0d0e0f")) + "5801",
		"0e0007 08 00000002 00000001 ffffffff" + needed:    "3a020201 5801",
		"080008 00000002" + needed:                         "4002 5801",
		"0d0009 030c 00000001 05 060001000700" + needed:    "4a09 0d05000000 1202 0807 5801",
		"0c000a 0800010000000500" + needed:                 "53 0805 54 5801",
		"08000c 00000009" + needed:                         "6009 5801",
		"0f000d 0b 00000002 0000000161 00000000" + needed:  "6a0161 6a00 5801",
		"08ffff 00000001" + needed:                         "5801",
	} {
		in := unhex(t, thrift)
		out, n, err := b.AppendProtobuf(nil, in)
		if err != nil || n != len(in) || hexOf(out) != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%s became %x, %d, %v, want %s", thrift, out, n, err, want)
			continue
		}
		if strings.HasPrefix(thrift, "08ffff") {
			continue
		}
		if back, err := b.AppendThrift(nil, out); err != nil || hexOf(back) != hexOf(in) {
			t.Errorf("%s came back as %x, %v", thrift, back, err)
		}
	}
}

// needed is the required field of a bridged struct and its end.
const needed = "08000b 00000001 00"

func bridgedThrift() *schema.StructDef { t, _ := bridged(); return t }
func bridgedProto() *schema.StructDef  { _, p := bridged(); return p }

func TestWhatTheOtherSideCannotHoldIsRefused(t *testing.T) {
	b := bridge(t, bridgedThrift(), bridgedProto())
	for _, x := range []struct {
		thrift string
		code   diag.Code
		offset int
		path   string
	}{
		{"0a0002 ffffffffffffffff" + needed, diag.OutOfRange, 3, "unsigned"},
		{"040003 3fb999999999999a" + needed, diag.OutOfRange, 3, "single"},
		{"0b0004 00000001ff" + needed, diag.InvalidData, 3, "text"},
		{"080008 00000003" + needed, diag.UnknownEnum, 3, "level"},
		{"0d0009 030c 00000001 ff 00" + needed, diag.OutOfRange, 9, "points[0]"},
		{"0d0009 030c 00000001 01 0a0002 0000000080000000 00" + needed, diag.OutOfRange, 13, "points[0].y"},
		{"0c000a 00" + needed, diag.InvalidUnion, 3, "either"},
		{"00", diag.MissingRequired, 0, ""},
		{"08000b 00000001 08000b 00000001 00", diag.DuplicateKey, 7, ""},
	} {
		out, n, err := b.AppendProtobuf([]byte("kept"), unhex(t, x.thrift))
		checkFault(t, x.thrift, err, x.code, x.offset, x.path)
		if string(out) != "kept" || n != 0 {
			t.Errorf("%s: %q, %d", x.thrift, out, n)
		}
	}
	for _, x := range []struct {
		proto  string
		code   diag.Code
		offset int
		path   string
	}{
		{"088001", diag.OutOfRange, 1, "tiny"},
		{"10ffffffffffffffffff01", diag.OutOfRange, 1, "unsigned"},
		{"2a0100", diag.InvalidData, 1, "id"},
		{"32024142", diag.InvalidData, 1, "id_text"},
		{"3a020202", diag.DuplicateKey, 3, "set"},
		{"4a05 0d00010000", diag.OutOfRange, 3, "points"},
		{"5354", diag.InvalidUnion, 1, "either"},
		{"2202", diag.UnexpectedEOF, 1, "text"},
		{"0880", diag.UnexpectedEOF, 1, "tiny"},
		{"2201ff", diag.InvalidData, 1, "text"},
		{"0801 2201 61 088001", diag.OutOfRange, -1, "tiny"}, // in pieces
	} {
		out, err := b.AppendThrift([]byte("kept"), unhex(t, x.proto))
		checkFault(t, x.proto, err, x.code, x.offset, x.path)
		if string(out) != "kept" {
			t.Errorf("%s: %q", x.proto, out)
		}
	}
}

func TestBridgesPairByNameIfAsked(t *testing.T) {
	thrift := structOf("T", field(1, "userName", tString), field(2, "age", tI32), field(3, "alone", tI32))
	proto := structOf("M", field(7, "user_name", tString), field(1, "age", tU32), field(2, "lonely", tI32))
	b := bridge(t, thrift, proto, transcode.PairByName())
	in := unhex(t, "0b0001 0000000161 080002 00000005 080003 00000001 00")
	out, _, err := b.AppendProtobuf(nil, in)
	if err != nil || hexOf(out) != "3a01610805" {
		t.Fatalf("%x, %v", out, err)
	}
	if back, err := b.AppendThrift(nil, append(out, 0x10, 9)); err != nil || hexOf(back) != "0b0001000000016108000200000005"+"00" {
		t.Errorf("%x, %v", back, err)
	}
	b = bridge(t, thrift, proto, transcode.PairByName(), transcode.RejectUnknown())
	_, _, err = b.AppendProtobuf(nil, in)
	checkFault(t, "alone", err, diag.UnknownField, 15, "")
	_, err = b.AppendThrift(nil, []byte{0x10, 9})
	checkFault(t, "lonely", err, diag.UnknownField, 0, "")
}

func TestTypesWithoutValuesInCommonAreRefusedAtOnce(t *testing.T) {
	for what, x := range map[string][2]*schema.StructDef{
		"a number and a text":         {holding(tI32), holding(tString)},
		"a list and a number":         {holding(schema.ListOf(tI32)), holding(tI32)},
		"a list of lists":             {holding(schema.ListOf(schema.ListOf(tI32))), holding(schema.ListOf(tI32))},
		"keys that are structs":       {holding(schema.MapOf(holding(tI32).Type(), tI32)), holding(schema.MapOf(tI32, tI32))},
		"a double and an integer":     {holding(tDouble), holding(tI64)},
		"a struct and a text":         {holding(holding(tI32).Type()), holding(tString)},
		"parts of a struct":           {holding(holding(tI32).Type()), holding(holding(tString).Type())},
		"a union and plain fields":    {flavored(schema.Union, "U", field(1, "v", tI32)), holding(tI32)},
		"what is no Protobuf message": {holding(tI32), holding(tI8)},
	} {
		if _, err := transcode.NewBridge(x[0], x[1]); diag.CodeOf(err) != diag.Unsupported {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestZerosThatProtobufLeavesOutComeBackWhereThriftNeedsThem(t *testing.T) {
	seven := &schema.Value{Kind: schema.IntValue, Int: 7}
	thrift := structOf("T", required(1, "needed", tI32), field(2, "plain", tI32),
		schema.NewField(schema.FieldSpec{ID: 3, Name: "seven", Type: tI32, Default: seven}), required(4, "list", schema.ListOf(tI32)), optional(5, "maybe", tI32))
	proto := structOf("M", field(1, "needed", tI32), field(2, "plain", tI32), field(3, "seven", tI32), packed(4, "list", tI32), field(5, "maybe", tI32))
	for _, x := range []struct {
		opts []transcode.Option
		want string
	}{
		{nil, "080001 00000000 080003 00000000 0f0004 08 00000000 00"},
		{[]transcode.Option{transcode.WriteZeros()}, "080001 00000000 080002 00000000 080003 00000000 0f0004 08 00000000 00"},
	} {
		if out, err := bridge(t, thrift, proto, x.opts...).AppendThrift(nil, nil); err != nil || hexOf(out) != strings.ReplaceAll(x.want, " ", "") {
			t.Errorf("%x, %v, want %s", out, err, x.want)
		}
	}
}

func TestDamagedMessagesDoNotPassABridge(t *testing.T) {
	b := bridge(t, bridgedThrift(), bridgedProto())
	thrift := unhex(t, "030001ff 0d0009 030c 00000001 05 060001000700 0e0007 08 00000002 00000001 ffffffff 0c000a 0800010000000500"+needed)
	proto, _, err := b.AppendProtobuf(nil, thrift)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for i := range thrift {
		if _, _, err := b.AppendProtobuf(nil, thrift[:i]); diag.CodeOf(err) == 0 {
			t.Errorf("%d bytes of Thrift passed", i)
		}
	}
	for range 3000 {
		for _, in := range [][]byte{thrift, proto} {
			in = append([]byte(nil), in...)
			in[r.IntN(len(in))] ^= 1 << r.IntN(8)
			checkBridge(t, b, in)
		}
	}
}

// checkBridge gives any bytes to both directions: errors only, and what passes
// once passes again.
func checkBridge(t *testing.T, b *transcode.Bridge, in []byte) {
	if out, _, err := b.AppendProtobuf(nil, in); err != nil {
		checkOffset(t, err, in)
	} else if _, err := b.AppendThrift(nil, out); err != nil && diag.CodeOf(err) != diag.InvalidUnion && diag.CodeOf(err) != diag.DuplicateKey {
		t.Fatalf("%x became %x: %v", in, out, err)
	}
	if out, err := b.AppendThrift(nil, in); err != nil {
		if diag.CodeOf(err) == 0 {
			t.Fatalf("%x: %v is no fault", in, err)
		}
	} else if _, _, err := b.AppendProtobuf(nil, out); err != nil {
		t.Fatalf("%x became %x: %v", in, out, err)
	}
}

func FuzzBridge(f *testing.F) {
	b := bridge(f, bridgedThrift(), bridgedProto(), transcode.AllowDuplicates(), transcode.AllowMissing())
	f.Add(unhex(f, "030001ff 0d0009 030c 00000001 05 060001000700 0e0007 08 00000002 00000001 ffffffff 0c000a 0800010000000500"+needed))
	f.Add(unhex(f, "0801 220161 3a020201 4a09 0d05000000 1202 0807 53 0805 54 5801 3801"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) <= 1<<14 {
			checkBridge(t, b, in)
		}
	})
}

func TestConvertersOfProtobufAreSharedFreely(t *testing.T) {
	c := protobufConverter(t, message())
	thrift, proto := bridged()
	b := bridge(t, thrift, proto)
	json := []byte(`{"byText":{"a":1,"b":2},"points":[{"x":1}],"at":"1970-01-01T00:00:01Z"}`)
	in := unhex(t, "0d0009 030c 00000001 05 060001000700"+needed)
	var group sync.WaitGroup
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 200 {
				wire, err := c.AppendProtobuf(nil, json)
				if err != nil {
					t.Error(err)
				}
				if back, err := c.AppendJSON(nil, append(wire, wire...)); err != nil || strings.Count(string(back), `"x"`) != 2 {
					t.Errorf("%s, %v", back, err)
				}
				out, _, err := b.AppendProtobuf(nil, in)
				if err != nil {
					t.Error(err)
				}
				if back, err := b.AppendThrift(nil, append(out, out...)); err != nil || string(back) != string(in) {
					t.Errorf("%x, %v", back, err)
				}
			}
		}()
	}
	group.Wait()
}
