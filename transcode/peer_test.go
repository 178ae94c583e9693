package transcode_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/protoidl"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file holds, as tests of the right result, what other converters by
// schema are known to do wrong.

func TestAStringOnTheWireIsNoI64(t *testing.T) {
	in := wire(t, "0b 0001 00000003 616263 00")
	out, _, err := converter(t, holding(tI64)).AppendJSON(nil, in)
	if err != nil || string(out) != "{}" {
		t.Errorf("by default: %s, %v; want the field skipped", out, err)
	}
	_, _, err = converter(t, holding(tI64), transcode.StrictTypes()).AppendJSON(nil, in)
	checkFault(t, "strict", err, diag.TypeMismatch, 0, "v")
}

func TestAHundredThousandLevelsAreRefused(t *testing.T) {
	d := schema.NewStruct(schema.DeclSpec{Name: "Deep"}, schema.PlainStruct)
	d.Complete([]*schema.Field{field(1, "v", d.Type())})
	_, _, err := converter(t, d).AppendJSON(nil, bytes.Repeat([]byte{12, 0, 1}, 100_000))
	if diag.CodeOf(err) != diag.DepthLimit {
		t.Error(err)
	}
}

func TestNumbersAreNeverChangedToFit(t *testing.T) {
	for _, x := range []struct {
		typ  *schema.Type
		json string
	}{
		{tI8, "300"}, {tI8, "128"}, {tI8, "-129"}, {tI8, "1.7"}, {tI16, "32768"}, {tI32, "2147483648"}, {tI32, "1e10"},
		{tI64, "9223372036854775808"}, {tI64, "-9223372036854775809"}, {tI64, "0.5"}, {tI64, "1e400"},
		{tDouble, "1e400"}, {tDouble, "-1e400"}, {tFloat, "1e39"}, {color.Type(), "4294967296"},
	} {
		_, err := converter(t, holding(x.typ)).AppendThrift(nil, []byte(`{"v":`+x.json+`}`))
		checkFault(t, x.typ.String()+" "+x.json, err, diag.OutOfRange, 5, "v")
	}
	out, err := converter(t, holding(tI64)).AppendThrift(nil, []byte(`{"v":9223372036854775807}`))
	if err != nil || hexOf(out) != "0a00017fffffffffffffff00" {
		t.Errorf("%x, %v", out, err)
	}
}

func TestEscapedSlashesAndSurrogatePairsAreText(t *testing.T) {
	out, err := converter(t, holding(tString)).AppendThrift(nil, []byte(`{"v":"\/\ud83d\ude00"}`))
	if err != nil || !bytes.Contains(out, []byte("/😀")) {
		t.Errorf("%q, %v", out, err)
	}
}

func TestLooseJSONIsRefused(t *testing.T) {
	c := converter(t, structOf("S", field(1, "v", tString), field(2, "n", tI32)))
	for json, code := range map[string]diag.Code{
		`{"v":"a"}x`:             diag.TrailingData,
		`{"v":"a"}{}`:            diag.TrailingData,
		"{\"v\":\"a\nb\"}":       diag.InvalidData,
		"{\"v\":\"\xff\"}":       diag.InvalidData,
		"{\"v\xff\":\"\"}":       diag.InvalidData,
		`{"n":1,"n":2}`:          diag.DuplicateKey,
		`{"n":1,"\u006e":2}`:     diag.DuplicateKey,
		`{"n":1,}`:               diag.Syntax,
		`{'n':1}`:                diag.Syntax,
		`{"n":NaN}`:              diag.Syntax,
		`{"n":1} // a remark`:    diag.TrailingData,
		"\ufeff{}":               diag.Syntax,
		`{"other":"` + "\x01\"}": diag.InvalidData,
	} {
		if _, err := c.AppendThrift(nil, []byte(json)); diag.CodeOf(err) != code {
			t.Errorf("%q: %v, want code %s", json, err, code)
		}
	}
}

func TestEnumNamesAndEveryMapKeyConvert(t *testing.T) {
	point := structOf("Point", field(1, "x", tI32))
	c := converter(t, structOf("S", field(1, "e", color.Type()), field(2, "b", schema.MapOf(tBool, tI8)),
		field(3, "d", schema.MapOf(tDouble, tI8)), field(4, "s", schema.MapOf(point.Type(), tI8))))
	const json = `{"e":"RED","b":{"true":1},"d":{"0.5":1},"s":[[{"x":1},1]]}`
	thrift, err := c.AppendThrift(nil, []byte(json))
	if err != nil {
		t.Fatal(err)
	}
	if out, _, err := c.AppendJSON(nil, thrift); err != nil || string(out) != json {
		t.Errorf("%s, %v", out, err)
	}
}

func TestSeveralArgumentsAndExceptionsAreStructsLikeAnyOther(t *testing.T) {
	args := converter(t, structOf("add_args", field(1, "a", tI32), field(2, "b", tI32)))
	thrift, err := args.AppendThrift(nil, []byte(`{"a":1,"b":2}`))
	if err != nil || hexOf(thrift) != "080001000000010800020000000200" {
		t.Errorf("%x, %v", thrift, err)
	}
	oops := flavored(schema.Exception, "Oops", field(1, "why", tString))
	late := flavored(schema.Exception, "Late", field(1, "by", tI32))
	result := converter(t, structOf("add_result", optional(0, "success", tI32), optional(1, "oops", oops.Type()), optional(2, "late", late.Type())))
	out, _, err := result.AppendJSON(nil, wire(t, "0c 0002 08 0001 00000007 00 00"))
	if err != nil || string(out) != `{"late":{"by":7}}` {
		t.Errorf("%s, %v", out, err)
	}
}

func TestCyclicTypesCompileAndConvert(t *testing.T) {
	a := schema.NewStruct(schema.DeclSpec{Name: "A"}, schema.PlainStruct)
	b := schema.NewStruct(schema.DeclSpec{Name: "B"}, schema.Union)
	a.Complete([]*schema.Field{field(1, "b", b.Type()), field(2, "as", schema.MapOf(tString, a.Type()))})
	b.Complete([]*schema.Field{field(1, "a", a.Type()), field(2, "n", schema.ListOf(b.Type()))})
	c := converter(t, a)
	const json = `{"b":{"n":[{"a":{}},{"a":{"as":{"k":{}}}}]},"as":{"x":{"b":{"n":[]}}}}`
	thrift, err := c.AppendThrift(nil, []byte(json))
	if err != nil {
		t.Fatal(err)
	}
	if out, _, err := c.AppendJSON(nil, thrift); err != nil || string(out) != json {
		t.Errorf("%s, %v", out, err)
	}
}

func TestTheEndOfABufferIsNeverPassed(t *testing.T) {
	text := strings.Repeat("x", 40)
	c := converter(t, structOf("S", field(1, "v", tString)))
	whole := []byte(`{"v":"` + text + `"}`)
	for i := range whole {
		// The bytes after the slice must not be taken for input.
		if _, err := c.AppendThrift(nil, whole[:i:len(whole)]); err == nil {
			t.Errorf("%s was accepted", whole[:i])
		}
	}
}

func TestProtobufsLargestNumberIsNotNegativeAndOneofsAndEnumsConvert(t *testing.T) {
	file, problems := protoidl.Load("m.proto", protoidl.MemoryOnly(), protoidl.Sources(map[string][]byte{"m.proto": []byte(`
		syntax = "proto3";
		enum Hue { NONE = 0; RED = 1; }
		message M {
			uint64 big = 1;
			Hue hue = 2;
			oneof choice { int32 left = 3; string right = 4; }
		}`)}))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	c, err := transcode.NewProtobuf(file.Struct("M"))
	if err != nil {
		t.Fatal(err)
	}
	const json = `{"big":"18446744073709551615","hue":"RED","right":"x"}`
	message, err := c.AppendProtobuf(nil, []byte(json))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := c.AppendJSON(nil, message); err != nil || string(out) != json {
		t.Errorf("%s, %v", out, err)
	}
	if _, err := c.AppendProtobuf(nil, []byte(`{"left":1,"right":"x"}`)); err == nil {
		t.Error("two fields of a oneof were taken")
	}
}
