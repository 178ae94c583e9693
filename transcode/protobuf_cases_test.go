package transcode_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// packed returns a list field whose elements are packed.
func packed(id int32, name string, elem *schema.Type) *schema.Field {
	return schema.NewField(schema.FieldSpec{ID: id, Name: name, Type: schema.ListOf(elem), Packed: true})
}

// oneof returns a field in o.
func oneof(o *schema.Oneof, id int32, name string, t *schema.Type) *schema.Field {
	return schema.NewField(schema.FieldSpec{ID: id, Name: name, Type: t, Requiredness: schema.Optional, Oneof: o})
}

// google returns a message of google.protobuf.
func google(name string, fields ...*schema.Field) *schema.StructDef {
	f := schema.NewFile("google/protobuf/" + strings.ToLower(name) + ".proto")
	f.Complete(schema.FileSpec{Package: "google.protobuf"})
	d := schema.NewStruct(schema.DeclSpec{Name: name, File: f}, schema.PlainStruct)
	d.Complete(fields)
	return d
}

var (
	tU32      = schema.Basic(schema.U32)
	tU64      = schema.Basic(schema.U64)
	timestamp = google("Timestamp", field(1, "seconds", tI64), field(2, "nanos", tI32))
	duration  = google("Duration", field(1, "seconds", tI64), field(2, "nanos", tI32))
	fieldMask = google("FieldMask", field(1, "paths", schema.ListOf(tString)))
	hue       = schema.NewEnum(schema.DeclSpec{Name: "Hue"}, []*schema.EnumValue{{Name: "NONE", Value: 0}, {Name: "RED", Value: 1}})
	level     = schema.NewClosedEnum(schema.DeclSpec{Name: "Level"}, []*schema.EnumValue{{Name: "LOW", Value: 1}, {Name: "HIGH", Value: 2}})
)

// message has a field of every kind that the cases need.
func message() *schema.StructDef {
	point := structOf("Point", field(1, "x", tI32), field(2, "y", tI32))
	node := schema.NewStruct(schema.DeclSpec{Name: "Node"}, schema.PlainStruct)
	node.Complete([]*schema.Field{field(1, "value", tI32), optional(2, "next", node.Type()), field(3, "children", schema.ListOf(node.Type()))})
	choice := schema.NewOneof(schema.DeclSpec{Name: "choice"})
	m := schema.MapOf
	return structOf("Message",
		field(1, "on", tBool), field(2, "int", tI32), field(3, "zig", tI64.WithEncoding(schema.ZigZag)), field(4, "big", tU64),
		field(5, "fixed", tU32.WithEncoding(schema.Fixed)), field(6, "float", tFloat), field(7, "double", tDouble),
		field(8, "text", tString), field(9, "data", tBinary), field(10, "hue", hue.Type()), optional(11, "level", level.Type()),
		packed(12, "numbers", tI32), field(13, "texts", schema.ListOf(tString)), field(14, "points", schema.ListOf(point.Type())),
		optional(15, "point", point.Type()), optional(16, "node", node.Type()), optional(17, "maybe_zero", tI32),
		field(18, "by_text", m(tString, tI32)), field(19, "by_number", m(tI32, point.Type())), field(20, "by_bool", m(tBool, tString)),
		field(21, "levels", m(tString, level.Type())), field(22, "level_list", schema.ListOf(level.Type())),
		oneof(choice, 23, "left", tI32), oneof(choice, 24, "right", point.Type()),
		optional(25, "group", point.Type().WithEncoding(schema.Delimited)),
		optional(26, "at", timestamp.Type()), optional(27, "took", duration.Type()), optional(28, "mask", fieldMask.Type()),
		field(5000, "far", tI32))
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestJSONBecomesTheseProtobufBytes(t *testing.T) {
	c := protobufConverter(t, message())
	for json, want := range map[string]string{
		`{}`:                          "",
		` { "on" : true , "int":-1 }`: "0801 10ffffffffffffffffff01",
		`{"on":false,"int":0,"text":"","hue":"NONE","float":0,"double":0.0,"data":""}`: "",
		`{"double":-0}`:        "39 0000000000000080",
		`{"maybeZero":0}`:      "880100",
		`{"maybe_zero":"1e1"}`: "88010a",
		`{"zig":"-1","big":18446744073709551615,"fixed":4294967295}`: "1801 20ffffffffffffffffff01 2dffffffff",
		`{"big":"18446744073709551615"}`:                             "20ffffffffffffffffff01",
		`{"float":"NaN","double":"-Infinity"}`:                       "350000c07f 39000000000000f0ff",
		`{"text":"\/\ud83d\ude00"}`:                                  "42052ff09f9880",
		`{"data":"_-8"}`:                                             "4a02ffef",
		`{"data":"/+8="}`:                                            "4a02ffef",
		`{"hue":7}`:                                                  "5007",
		`{"level":2}`:                                                "5802",
		`{"numbers":[1,-1,"300"]}`:                                   "620d 01 ffffffffffffffffff01 ac02",
		`{"numbers":[],"texts":[],"byText":{}}`:                      "",
		`{"texts":["","a"]}`:                                         "6a00 6a0161",
		`{"points":[{},{"x":1}]}`:                                    "7200 72020801",
		`{"byText":{"a":0,"":2}}`:                                    "9201050a01611000 9201040a001002",
		`{"byBool":{"true":"x"}}`:                                    "a20105 0801 120178",
		`{"byNumber":{"-0":{"y":1}}}`:                                "9a0106 0800 12021001",
		`{"left":0}`:                                                 "b80100",
		`{"left":null,"right":{}}`:                                   "c20100",
		`{"group":{"x":2}}`:                                          "cb01 0802 cc01",
		`{"at":"1970-01-01T00:00:00Z"}`:                              "d20100",
		`{"at":"1970-01-01T00:00:01.5+00:01"}`:                       "d20111 08c5ffffffffffffffff01 1080cab5ee01",
		`{"took":"-1.000000001s"}`:                                   "da0116 08ffffffffffffffffff01 10ffffffffffffffffff01",
		`{"mask":"a.bC,d"}`:                                          "e2010a 0a05612e625f63" + "0a0164",
		`{"far":1,"unknown":[{}]}`:                                   "c0b80201",
		`{"text":null,"point":null}`:                                 "",
	} {
		out, err := c.AppendProtobuf([]byte("kept"), []byte(json))
		if err != nil {
			t.Errorf("%s: %v", json, err)
			continue
		}
		if got := hexOf(out[4:]); !strings.HasPrefix(string(out), "kept") || got != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%s\n got %s\nwant %s", json, got, want)
		}
	}
}

func TestProtobufBecomesThisJSON(t *testing.T) {
	c := protobufConverter(t, message())
	for wire, want := range map[string]string{
		"":                                  `{}`,
		"0800 1000 4200 5000":               `{}`,
		"880100":                            `{"maybeZero":0}`,
		"08ff01":                            `{"on":true}`,
		"08808080808080808080 01":           `{"on":true}`,
		"10ffffffffffffffffff01":            `{"int":-1}`,
		"10ffffffff0f":                      `{"int":-1}`,
		"108080808010":                      `{}`,
		"20ffffffffffffffffff01":            `{"big":"18446744073709551615"}`,
		"350000c0ff":                        `{"float":"NaN"}`,
		"4a03fffefd":                        `{"data":"//79"}`,
		"5001":                              `{"hue":"RED"}`,
		"5009":                              `{"hue":9}`,
		"5803":                              `{}`,
		"5801 5803":                         `{"level":"LOW"}`,
		"6203010203 6004 6000":              `{"numbers":[1,2,3,4,0]}`,
		"6200":                              `{}`,
		"6001 4201 61 620102":               `{"text":"a","numbers":[1,2]}`,
		"6a0161 1001 6a0162":                `{"int":1,"texts":["a","b"]}`,
		"1001 1002":                         `{"int":2}`,
		"1001 1000":                         `{}`,
		"7a020801 7a021002":                 `{"point":{"x":1,"y":2}}`,
		"72020801 7200":                     `{"points":[{"x":1},{}]}`,
		"9201050a01611001 9201050a01611002": `{"byText":{"a":2}}`,
		"9201021005 920103 0a0162":          `{"byText":{"":5,"b":0}}`,
		"920105 1001 0a0163":                `{"byText":{"c":1}}`,
		"9a0100":                            `{"byNumber":{"0":{}}}`,
		"9a010a 0801 12020801 12021002":     `{"byNumber":{"1":{"x":1,"y":2}}}`,
		"a201051201780801":                  `{"byBool":{"true":"x"}}`,
		"aa01050a01611001 aa01050a01611009 aa01050a01621009": `{"levels":{"a":"LOW"}}`,
		"b00101 b00109 b00102":                               `{"levelList":["LOW","HIGH"]}`,
		"b00109":                                             `{}`,
		"b80105 c2010208 01":                                 `{"right":{"x":1}}`,
		"c201020801 b80105":                                  `{"left":5}`,
		"c201020801 b80105 c201021001":                       `{"right":{"y":1}}`,
		"c201020801 c201021001":                              `{"right":{"x":1,"y":1}}`,
		"cb010802cc01":                                       `{"group":{"x":2}}`,
		"cb010802cc01 cb011003cc01":                          `{"group":{"x":2,"y":3}}`,
		"d201 00":                                            `{"at":"1970-01-01T00:00:00Z"}`,
		"d201020801 d20103 10c03e":                           `{"at":"1970-01-01T00:00:01.000008Z"}`,
		"da0102107b":                                         `{"took":"0.000000123s"}`,
		"e201 0a 0a05612e625f63 0a0164":                      `{"mask":"a.bC,d"}`,
		"e201 00":                                            `{"mask":""}`,
		"c0b80201 f8ffffff0f01":                              `{"far":1}`,
		"a306 0801 a406":                                     `{}`,        // an unknown group
		"15 01020304 1001":                                   `{"int":1}`, // int as fixed32
	} {
		out, err := c.AppendJSON([]byte("kept"), unhex(t, wire))
		if err != nil || string(out) != "kept"+want {
			t.Errorf("%s\n got %s, %v\nwant %s", wire, out, err, want)
		}
	}
}

func TestInvalidJSONForProtobufIsRefused(t *testing.T) {
	c := protobufConverter(t, message())
	for _, x := range []struct {
		json   string
		code   diag.Code
		offset int
		path   string
	}{
		{``, diag.UnexpectedEOF, 0, ""},
		{`null`, diag.TypeMismatch, 0, ""},
		{`{"int":2147483648}`, diag.OutOfRange, 7, "int"},
		{`{"int":1.5}`, diag.OutOfRange, 7, "int"},
		{`{"int":"1.5"}`, diag.OutOfRange, 7, "int"},
		{`{"int":" 1"}`, diag.InvalidData, 7, "int"},
		{`{"int":""}`, diag.InvalidData, 7, "int"},
		{`{"big":-1}`, diag.OutOfRange, 7, "big"},
		{`{"big":18446744073709551616}`, diag.OutOfRange, 7, "big"},
		{`{"fixed":4294967296}`, diag.OutOfRange, 9, "fixed"},
		{`{"float":1e39}`, diag.OutOfRange, 9, "float"},
		{`{"on":"true"}`, diag.TypeMismatch, 6, "on"},
		{`{"hue":"BLUE"}`, diag.UnknownEnum, 7, "hue"},
		{`{"hue":"1"}`, diag.UnknownEnum, 7, "hue"},
		{`{"level":3}`, diag.UnknownEnum, 9, "level"},
		{`{"data":"="}`, diag.InvalidData, 8, "data"},
		{`{"text":"\ud800"}`, diag.InvalidData, 8, "text"},
		{`{"texts":["a",null]}`, diag.TypeMismatch, 14, "texts[1]"},
		{`{"byText":{"a":null}}`, diag.TypeMismatch, 15, `byText["a"]`},
		{`{"byText":{"a":1,"\u0061":1}}`, diag.DuplicateKey, 17, "byText"},
		{`{"byNumber":{"1":{},"1.0":{}}}`, diag.DuplicateKey, 20, "byNumber"},
		{`{"byNumber":{"x":{}}}`, diag.InvalidData, 13, "byNumber"},
		{`{"byNumber":{"1":{"y":[]}}}`, diag.TypeMismatch, 22, `byNumber["1"].y`},
		{`{"byBool":{"1":""}}`, diag.InvalidData, 11, "byBool"},
		{`{"int":1,"int":2}`, diag.DuplicateKey, 9, ""},
		{`{"maybeZero":1,"maybe_zero":2}`, diag.DuplicateKey, 15, ""},
		{`{"left":1,"right":{}}`, diag.InvalidUnion, 10, ""},
		{`{"at":"1970-02-29T00:00:00Z"}`, diag.InvalidData, 6, "at"},
		{`{"at":"1970-01-01T00:00:00"}`, diag.InvalidData, 6, "at"},
		{`{"at":"0001-01-01T00:00:00+00:01"}`, diag.InvalidData, 6, "at"},
		{`{"at":"1970-01-01T00:00:00.0123456789Z"}`, diag.InvalidData, 6, "at"},
		{`{"took":"1"}`, diag.InvalidData, 8, "took"},
		{`{"took":"315576000001s"}`, diag.InvalidData, 8, "took"},
		{`{"mask":"a_b"}`, diag.InvalidData, 8, "mask"},
		{`{"mask":"a,"}`, diag.InvalidData, 8, "mask"},
		{`{"node":{"children":[{},{"value":"x"}]}}`, diag.InvalidData, 33, "node.children[1].value"},
		{`{"points":[{"x":1}`, diag.UnexpectedEOF, 18, "points[0]"},
		{`{} {}`, diag.TrailingData, 3, ""},
	} {
		out, err := c.AppendProtobuf([]byte("kept"), []byte(x.json))
		checkFault(t, x.json, err, x.code, x.offset, x.path)
		if string(out) != "kept" {
			t.Errorf("%s: the output became %q", x.json, out)
		}
	}
}

func TestInvalidProtobufIsRefused(t *testing.T) {
	c := protobufConverter(t, message())
	strict := protobufConverter(t, message(), transcode.StrictTypes(), transcode.RejectUnknown())
	for _, x := range []struct {
		wire   string
		code   diag.Code
		offset int
		path   string
		c      *transcode.ProtobufConverter
	}{
		{"08", diag.UnexpectedEOF, 1, "on", c},
		{"10ffffffffffffffffff02", diag.InvalidData, 1, "int", c},
		{"80", diag.UnexpectedEOF, 0, "", c},
		{"00", diag.InvalidData, 0, "", c},
		{"1000 0e", diag.InvalidType, 2, "", c},
		{"1000 0c", diag.InvalidData, 2, "1", c},
		{"420261", diag.UnexpectedEOF, 1, "text", c},
		{"4201ff", diag.InvalidData, 1, "text", c},
		{"4280808080 10", diag.InvalidLength, 1, "text", c},
		{"72020801 7a030803 10", diag.UnexpectedEOF, 9, "point.y", c},
		{"7202080172020880", diag.UnexpectedEOF, 7, "points[1].x", c},
		{"9a01060801 12020880", diag.UnexpectedEOF, 8, "byNumber[\"1\"].x", c},
		{"cb010802", diag.UnexpectedEOF, 4, "group", c},
		{"cb0108020c", diag.InvalidData, 4, "group", c},
		{"d2010210ff", diag.UnexpectedEOF, 4, "at", c},
		{"da010508ffffffff", diag.UnexpectedEOF, 4, "took", c},
		{"d20106 1080 94 eb dc03", diag.OutOfRange, 3, "at", c},
		{"e20103 0a0141", diag.InvalidValue, 4, "mask", c},
		{"1501020304", diag.TypeMismatch, 0, "int", strict},
		{"f8ffffff0f01", diag.UnknownField, 0, "", strict},
		{"9201 07 0a0161 1001 1801", diag.UnknownField, 8, "byText", strict},
	} {
		out, err := x.c.AppendJSON([]byte("kept"), unhex(t, x.wire))
		checkFault(t, x.wire, err, x.code, x.offset, x.path)
		if string(out) != "kept" {
			t.Errorf("%s: the output became %q", x.wire, out)
		}
	}
}
