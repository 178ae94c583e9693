package transcode_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

func TestOptionsChangeTheJSONOfProtobuf(t *testing.T) {
	zeros := `{"on":false,"int":0,"zig":"0","big":"0","fixed":0,"float":0,"double":0,"text":"","data":"","hue":"NONE","numbers":[],"texts":[],` +
		`"points":[],"byText":{},"byNumber":{},"byBool":{},"levels":{},"levelList":[],"far":0}`
	for _, x := range []struct {
		what string
		opt  transcode.Option
		wire string
		want string
	}{
		{"numbers", transcode.Int64Numbers(), "1801 20ffffffffffffffffff01", `{"zig":-1,"big":18446744073709551615}`},
		{"declared names", transcode.DeclaredNames(), "880101 b00101", `{"maybe_zero":1,"level_list":["LOW"]}`},
		{"names of one's own", transcode.FieldNames(func(f *schema.Field) string { return map[string]string{"int": "Number"}[f.Name()] }), "1001 880101", `{"Number":1,"maybeZero":1}`},
		{"enum numbers", transcode.EnumNumbers(), "5001", `{"hue":1}`},
		{"raw bytes", transcode.RawBinary(), "4a0161", `{"data":"a"}`},
		{"null for NaN", transcode.NonFinite(transcode.NonFiniteNull), "350000c07f", `{"float":null}`},
		{"zeros", transcode.WriteZeros(), "", zeros},
		{"zeros that stand", transcode.WriteZeros(), "1000 6200 4200", zeros},
		{"replaced text", transcode.LossyText(), "4201ff", `{"text":"` + "\uFFFD" + `"}`},
	} {
		c := protobufConverter(t, message(), x.opt)
		out, err := c.AppendJSON(nil, unhex(t, x.wire))
		if err != nil || string(out) != x.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", x.what, out, err, x.want)
		}
		if back, err := c.AppendProtobuf(nil, out); err != nil {
			t.Errorf("%s: %s: %v, %x", x.what, out, err, back)
		}
	}
}

func TestPolicyOnNonFiniteNumbersHoldsForProtobuf(t *testing.T) {
	c := protobufConverter(t, message(), transcode.NonFinite(transcode.NonFiniteError))
	_, err := c.AppendJSON(nil, unhex(t, "350000c07f"))
	checkFault(t, "NaN", err, diag.InvalidValue, 1, "float")
	_, err = c.AppendProtobuf(nil, []byte(`{"float":"NaN"}`))
	checkFault(t, "NaN", err, diag.InvalidData, 9, "float")
}

func TestRequiredFieldsAndDefaultsOfProto2(t *testing.T) {
	withDefault := func(id int32, name string, typ *schema.Type, v *schema.Value) *schema.Field {
		return schema.NewField(schema.FieldSpec{ID: id, Name: name, Type: typ, Requiredness: schema.Optional, Default: v})
	}
	d := structOf("Old", required(1, "id", tI32),
		withDefault(2, "n", tU64, &schema.Value{Kind: schema.IntValue, Int: -1}),
		withDefault(3, "s", tString, &schema.Value{Kind: schema.StringValue, String: "x"}),
		withDefault(4, "d", tDouble, &schema.Value{Kind: schema.FloatValue, Float: 1.5}),
		withDefault(5, "b", tBool, &schema.Value{Kind: schema.BoolValue, Bool: true}),
		withDefault(6, "e", level.Type(), &schema.Value{Kind: schema.EnumeratorValue, Int: 2}),
		optional(7, "old", schema.NewStruct(schema.DeclSpec{}, 0).Type()))
	d.Fields()[6].Type().Struct().Complete([]*schema.Field{required(1, "id", tI32)})

	c := protobufConverter(t, d)
	_, err := c.AppendProtobuf(nil, []byte(`{"old":{}}`))
	checkFault(t, "no id", err, diag.MissingRequired, 7, "old")
	_, err = c.AppendJSON(nil, unhex(t, "3a00"))
	checkFault(t, "no id", err, diag.MissingRequired, 2, "old")
	// A required field may come in a later piece of its message.
	if out, err := c.AppendJSON(nil, unhex(t, "3a00 0801 3a020802")); err != nil || string(out) != `{"id":1,"old":{"id":2}}` {
		t.Errorf("%s, %v", out, err)
	}

	c = protobufConverter(t, d, transcode.WriteDefaults(), transcode.AllowMissing())
	want := `{"n":"18446744073709551615","s":"x","d":1.5,"b":true,"e":"HIGH"}`
	if out, err := c.AppendJSON(nil, nil); err != nil || string(out) != want {
		t.Errorf("%s, %v", out, err)
	}
	wire, err := c.AppendProtobuf(nil, []byte(`{}`))
	if got := hexOf(wire); err != nil || got != "10ffffffffffffffffff011a017821000000000000f83f28013002" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestDuplicateKeysPassToProtobufIfAllowed(t *testing.T) {
	c := protobufConverter(t, message(), transcode.AllowDuplicates())
	wire, err := c.AppendProtobuf(nil, []byte(`{"byText":{"a":1,"a":2}}`))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := c.AppendJSON(nil, wire); err != nil || string(out) != `{"byText":{"a":2}}` {
		t.Errorf("%s, %v", out, err)
	}
}

// The peer's defect: an uint64 above 2^63 prints negative.
func TestUnsignedNumbersAbove2To63StayPositive(t *testing.T) {
	c := protobufConverter(t, holding(tU64), transcode.Int64Numbers())
	wire, err := c.AppendProtobuf(nil, []byte(`{"v":9223372036854775808}`))
	if err != nil || hexOf(wire) != "0880808080808080808001" {
		t.Fatalf("%x, %v", wire, err)
	}
	if out, err := c.AppendJSON(nil, wire); err != nil || string(out) != `{"v":9223372036854775808}` {
		t.Errorf("%s, %v", out, err)
	}
}

func TestWhatProtobufDoesNotHaveIsRefusedAtOnce(t *testing.T) {
	for what, d := range map[string]*schema.StructDef{
		"set":           holding(schema.SetOf(tI32)),
		"i8":            holding(tI8),
		"uuid":          holding(tUUID),
		"list of lists": holding(schema.ListOf(schema.ListOf(tI32))),
		"double key":    holding(schema.MapOf(tDouble, tI32)),
		"enum key":      holding(schema.MapOf(hue.Type(), tI32)),
		"map of lists":  holding(schema.MapOf(tI32, schema.ListOf(tI32))),
		"number 0":      structOf("S", field(0, "v", tI32)),
		"number 2^29":   structOf("S", field(1<<29, "v", tI32)),
	} {
		if _, err := transcode.NewProtobuf(d); diag.CodeOf(err) != diag.Unsupported {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAnyIsRefusedUnlessItIsEmpty(t *testing.T) {
	c := protobufConverter(t, holding(google("Any", field(1, "type_url", tString), field(2, "value", tBinary)).Type()))
	out, err := c.AppendProtobuf(nil, []byte(`{"v": { } }`))
	if err != nil || hexOf(out) != "0a00" {
		t.Errorf("%x, %v", out, err)
	}
	if out, err = c.AppendJSON(nil, out); err != nil || string(out) != `{"v":{}}` {
		t.Errorf("%s, %v", out, err)
	}
	_, err = c.AppendProtobuf(nil, []byte(`{"v":{"@type":"x"}}`))
	checkFault(t, "a message", err, diag.Unsupported, 5, "v")
	_, err = c.AppendJSON(nil, unhex(t, "0a03 0a0178"))
	checkFault(t, "a message", err, diag.Unsupported, 2, "v")
}

// TestADescriptorOfADescriptorConverts takes a real message of proto2, with
// groups nowhere and everything else somewhere.
func TestADescriptorOfADescriptorConverts(t *testing.T) {
	m := protodesc.ToFileDescriptorProto(descriptorpb.File_google_protobuf_descriptor_proto)
	wire, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	c := protobufConverter(t, describe(m.ProtoReflect().Descriptor()), transcode.RejectUnknown())
	text, err := c.AppendJSON(nil, wire)
	if err != nil {
		t.Fatal(err)
	}
	back := new(descriptorpb.FileDescriptorProto)
	if err := protojson.Unmarshal(text, back); err != nil || !proto.Equal(back, m) {
		t.Errorf("%s: %v", text, err)
	}
	wire, err = c.AppendProtobuf(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	back.Reset()
	if err := proto.Unmarshal(wire, back); err != nil || !proto.Equal(back, m) {
		t.Errorf("%v, %v", back, err)
	}
}
