package transcode_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// all has a field of every type; its maps have every kind of key.
func all() *schema.StructDef {
	point := structOf("Point", field(1, "x", tI32), field(2, "y", tI32))
	either := flavored(schema.Union, "Either", field(1, "left", tI32), field(2, "right", tString))
	node := schema.NewStruct(schema.DeclSpec{Name: "Node"}, schema.PlainStruct)
	node.Complete([]*schema.Field{field(1, "value", tI32), optional(2, "next", node.Type()), field(3, "children", schema.ListOf(node.Type()))})
	m := schema.MapOf
	return structOf("All",
		field(1, "bool", tBool), field(2, "i8", tI8), field(3, "i16", tI16), field(4, "i32", tI32), field(5, "i64", tI64),
		field(6, "float", tFloat), field(7, "double", tDouble), field(8, "string", tString), field(9, "binary", tBinary),
		field(10, "uuid", tUUID), field(11, "color", color.Type()), field(12, "list", schema.ListOf(tI16)),
		field(13, "set", schema.SetOf(tString)), field(14, "point", point.Type()), field(15, "either", either.Type()),
		field(16, "node", node.Type()),
		field(20, "byString", m(tString, tI32)), field(21, "byInt", m(tI64, tString)), field(22, "byBool", m(tBool, tI8)),
		field(23, "byDouble", m(tDouble, tI8)), field(24, "byEnum", m(color.Type(), tI8)), field(25, "byBinary", m(tBinary, tI8)),
		field(26, "byUUID", m(tUUID, tI8)), field(27, "byStruct", m(point.Type(), tString)),
		field(28, "byList", m(schema.ListOf(tI8), schema.SetOf(tI8))), field(29, "byMap", m(m(tI8, tI8), tI8)),
		field(-3, "odd", tI32), field(5000, "far", tI32))
}

func TestEveryTypeReturnsFromThriftAsItWasInJSON(t *testing.T) {
	c := converter(t, all())
	for _, json := range []string{
		`{}`,
		`{"bool":true,"i8":-128,"i16":-32768,"i32":-2147483648,"i64":-9223372036854775808}`,
		`{"bool":false,"i8":127,"i16":32767,"i32":2147483647,"i64":9223372036854775807}`,
		`{"float":3.4028235e+38,"double":1.7976931348623157e+308}`,
		`{"float":1e-45,"double":5e-324}`,
		`{"float":0.1,"double":0.1}`,
		`{"double":-0}`, `{"double":123456789012345680000}`, `{"double":1e+21}`, `{"double":0.000001}`, `{"double":1e-7}`,
		`{"string":"","binary":""}`,
		`{"string":"a\"\\/\b\f\n\r\t\u0000\u001f é 漢 😀","binary":"AAEC/v8="}`,
		`{"uuid":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","color":"GREEN"}`,
		`{"color":77}`, `{"color":-1}`,
		`{"list":[],"set":[]}`, `{"list":[1,-2,3],"set":["a","b"]}`,
		`{"point":{"x":1,"y":2},"either":{"right":"r"}}`,
		`{"node":{"value":1,"next":{"value":2,"next":{}},"children":[{},{"children":[]}]}}`,
		`{"byString":{},"byStruct":[]}`,
		`{"byString":{"":1,"é\n":2},"byInt":{"-1":"a","9223372036854775807":"b"},"byBool":{"true":1,"false":0}}`,
		`{"byDouble":{"1.5":1,"1e+100":2,"0":3},"byEnum":{"RED":1,"99":2},"byBinary":{"":0,"/w==":1}}`,
		`{"byUUID":{"6ba7b810-9dad-11d1-80b4-00c04fd430c8":1}}`,
		`{"byStruct":[[{"x":1},"a"],[{"x":2,"y":3},"b"]],"byList":[[[1,2],[3]],[[],[]]],"byMap":[[{"1":2},3]]}`,
		`{"odd":1,"far":2,"bool":true}`,
	} {
		thrift, err := c.AppendThrift(nil, []byte(json))
		if err != nil {
			t.Errorf("%s: %v", json, err)
			continue
		}
		out, n, err := c.AppendJSON(nil, append(thrift, "rest"...))
		if err != nil || n != len(thrift) || string(out) != json {
			t.Errorf("%s\ncame back as %s, n %d of %d, error %v", json, out, n, len(thrift), err)
		}
	}
}

func TestJSONBecomesTheseThriftBytes(t *testing.T) {
	c := converter(t, all())
	for json, want := range map[string]string{
		"{}":                          "00",
		" {\t\"bool\" :\n true } ":    "02 0001 01 00",
		`{"i16":1e3}`:                 "06 0003 03e8 00",
		`{"i16":10.0}`:                "06 0003 000a 00",
		`{"i16":1200e-2}`:             "06 0003 000c 00",
		`{"i64":0e99999999999}`:       "0a 0005 0000000000000000 00",
		`{"float":1}`:                 "13 0006 3f800000 00",
		`{"double":-0.0}`:             "04 0007 8000000000000000 00",
		`{"string":"\/\ud83d\ude00"}`: "0b 0008 00000005 2ff09f9880 00",
		`{"binary":"/w=="}`:           "0b 0009 00000001 ff 00",
		`{"uuid":"6BA7B810-9dad-11d1-80b4-00c04fd430c8"}`: "10 000a 6ba7b8109dad11d180b400c04fd430c8 00",
		`{"color":"CRIMSON"}`:                             "08 000b 00000001 00",
		`{"color":2}`:                                     "08 000b 00000002 00",
		`{"list":[1,2]}`:                                  "0f 000c 06 00000002 0001 0002 00",
		`{"set":["a"]}`:                                   "0e 000d 0b 00000001 00000001 61 00",
		`{"either":{"left":7}}`:                           "0c 000f 08 0001 00000007 00 00",
		`{"byBool":{"true":1}}`:                           "0d 0016 02 03 00000001 01 01 00",
		`{"byInt":{"\u0031":""}}`:                         "0d 0015 0a 0b 00000001 0000000000000001 00000000 00",
		`{"byStruct":[[{},"a"]]}`:                         "0d 001b 0c 0b 00000001 00 00000001 61 00",
		`{"odd":1}`:                                       "08 fffd 00000001 00",
		`{"b\u006fol":true}`:                              "02 0001 01 00",
		`{"none":[{"a":null}],"i8":1,"else":"x"}`:         "03 0002 01 00",
		`{"i8":null,"list":null}`:                         "00",
	} {
		out, err := c.AppendThrift([]byte("kept"), []byte(json))
		if err != nil {
			t.Errorf("%s: %v", json, err)
			continue
		}
		if got := hexOf(out[4:]); !bytes.HasPrefix(out, []byte("kept")) || got != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%s\n got %s\nwant %s", json, got, want)
		}
	}
}

func TestInvalidJSONIsRefusedWithCodeOffsetAndPath(t *testing.T) {
	c := converter(t, all())
	for _, x := range []struct {
		json   string
		code   diag.Code
		offset int
		path   string
	}{
		{``, diag.UnexpectedEOF, 0, ""},
		{`null`, diag.TypeMismatch, 0, ""},
		{`[]`, diag.TypeMismatch, 0, ""},
		{`{"i8":1`, diag.UnexpectedEOF, 7, ""},
		{`{"i8"`, diag.UnexpectedEOF, 5, ""},
		{`{"i8":`, diag.UnexpectedEOF, 6, "i8"},
		{`{"i8":1,}`, diag.Syntax, 8, ""},
		{`{"i8" 1}`, diag.Syntax, 6, ""},
		{`{i8:1}`, diag.Syntax, 1, ""},
		{`{"i8":1 "i16":2}`, diag.Syntax, 8, ""},
		{`{"i8":01}`, diag.Syntax, 6, "i8"},
		{`{"i8":1.}`, diag.Syntax, 6, "i8"},
		{`{"i8":+1}`, diag.Syntax, 6, "i8"},
		{`{"i8":nul}`, diag.Syntax, 6, "i8"},
		{`{"i8":"1"}`, diag.TypeMismatch, 6, "i8"},
		{`{"i8":true}`, diag.TypeMismatch, 6, "i8"},
		{`{"bool":1}`, diag.TypeMismatch, 8, "bool"},
		{`{"string":1}`, diag.TypeMismatch, 10, "string"},
		{`{"string":"a`, diag.UnexpectedEOF, 10, "string"},
		{`{"string":"\ud83d"}`, diag.InvalidData, 10, "string"},
		{`{"string":"\x41"}`, diag.InvalidData, 10, "string"},
		{`{"list":[1,"a"]}`, diag.TypeMismatch, 11, "list[1]"},
		{`{"list":[1,null]}`, diag.TypeMismatch, 11, "list[1]"},
		{`{"list":{}}`, diag.TypeMismatch, 8, "list"},
		{`{"list":[1`, diag.UnexpectedEOF, 10, "list[1]"},
		{`{"node":{"children":[{},{"value":"x"}]}}`, diag.TypeMismatch, 33, "node.children[1].value"},
		{`{"byString":{"a":null}}`, diag.TypeMismatch, 17, `byString["a"]`},
		{`{"byInt":{"x":""}}`, diag.InvalidData, 10, "byInt"},
		{`{"byInt":{"1 ":""}}`, diag.InvalidData, 10, "byInt"},
		{`{"byStruct":[[{}]]}`, diag.TypeMismatch, 13, "byStruct[0]"},
		{`{"byStruct":[[{},"a",1]]}`, diag.TypeMismatch, 13, "byStruct[0]"},
		{`{"byStruct":[[{"x":1},7]]}`, diag.TypeMismatch, 22, "byStruct[0][1]"},
		{`{"binary":"/w"}`, diag.InvalidData, 10, "binary"},
		{`{"binary":"/x=="}`, diag.InvalidData, 10, "binary"},
		{`{"binary":"_w=="}`, diag.InvalidData, 10, "binary"},
		{`{"binary":"/w\n=="}`, diag.InvalidData, 10, "binary"},
		{`{"uuid":"6ba7b8109dad11d180b400c04fd430c8"}`, diag.InvalidData, 8, "uuid"},
		{`{"color":"BLUE"}`, diag.UnknownEnum, 9, "color"},
		{`{"color":2147483648}`, diag.OutOfRange, 9, "color"},
		{`{"either":{}}`, diag.InvalidUnion, 10, "either"},
		{`{"either":{"left":1,"right":"b"}}`, diag.InvalidUnion, 10, "either"},
		{`{"either":{"left":null}}`, diag.InvalidUnion, 10, "either"},
		{`{"set":["a","b","a"]}`, diag.DuplicateKey, 16, "set"},
		{`{"byString":{"a":1,"\u0061":1}}`, diag.DuplicateKey, 19, "byString"},
		{`{"byDouble":{"1":1,"1.0":1}}`, diag.DuplicateKey, 19, "byDouble"},
		{`{"byStruct":[[{"x":1},""],[{"x":1},""]]}`, diag.DuplicateKey, 26, "byStruct"},
		{`{"i8":1,"i8":2}`, diag.DuplicateKey, 8, ""},
		{`{"i8":null,"i8":2}`, diag.DuplicateKey, 11, ""},
		{`{} {}`, diag.TrailingData, 3, ""},
		{`{"unknown":[1,}`, diag.Syntax, 11, ""},
		{"{\"a\u00a0\":1}x", diag.TrailingData, 9, ""},
	} {
		out, err := c.AppendThrift([]byte("kept"), []byte(x.json))
		checkFault(t, x.json, err, x.code, x.offset, x.path)
		if string(out) != "kept" {
			t.Errorf("%s: the output became %q", x.json, out)
		}
	}
}
