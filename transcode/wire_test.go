package transcode_test

import (
	"encoding/hex"
	"runtime"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file holds cases of Thrift input.

// wire reads hex digits with spaces between them.
func wire(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestThriftBecomesThisJSON(t *testing.T) {
	c := converter(t, all())
	for in, want := range map[string]string{
		"00": `{}`,
		// Unknown fields and fields of another type are skipped.
		"0b 0063 00000001 61  03 0002 01  00":                   `{"i8":1}`,
		"0b 0002 00000001 61  00":                               `{}`,
		"0c 0063 0c 0001 00 0f 0002 0b 00000001 00000000 00 00": `{}`,
		"0f 000d 0b 00000001 00000001 61 00":                    `{}`, // a list where the schema has a set
		"02 0001 07 00":                                         `{"bool":true}`,
		"0f 000c 00 00000000 00":                                `{"list":[]}`, // empty, without an element type
		"0d 0014 00 00 00000000 00":                             `{"byString":{}}`,
		"0c 000f 08 0009 00000001 00 00":                        `{"either":{}}`, // a variant that is unknown here
		"0e 000d 0b 00000002 00000001 61 00000001 61 00":        `{"set":["a","a"]}`,
		"08 000b 00000001 00":                                   `{"color":"RED"}`,
		"0b 0008 0000000a 3c2fe280a8ef bfbf 7f 00 00":           `{"string":"</` + "\u2028\uffff\x7f" + `\u0000"}`,
		"0d 0016 02 03 00000001 02 01 00":                       `{"byBool":{"true":1}}`,
	} {
		out, n, err := c.AppendJSON([]byte("kept"), wire(t, in))
		if err != nil || string(out) != "kept"+want || n != len(wire(t, in)) {
			t.Errorf("%s became %s, n %d, %v; want %s", in, out, n, err, want)
		}
	}
}

func TestInvalidThriftIsRefusedWithCodeOffsetAndPath(t *testing.T) {
	c := converter(t, all())
	for _, x := range []struct {
		in     string
		code   diag.Code
		offset int
		path   string
	}{
		{"", diag.UnexpectedEOF, 0, ""},
		{"03 0002", diag.UnexpectedEOF, 3, "i8"},
		{"03 00", diag.UnexpectedEOF, 0, ""},
		{"03 0002 01", diag.UnexpectedEOF, 4, ""},
		{"01 0002 01", diag.InvalidType, 0, ""},
		{"03 0002 01 03 0002 01 00", diag.DuplicateKey, 4, ""},
		{"0b 0008 7fffffff", diag.UnexpectedEOF, 3, "string"},
		{"0b 0008 ffffffff", diag.InvalidLength, 3, "string"},
		{"0b 0008 00000001 ff 00", diag.InvalidData, 3, "string"},
		{"0f 000c 06 7fffffff 0000", diag.UnexpectedEOF, 3, "list"},
		{"0f 000c 03 00000001 01 00", diag.TypeMismatch, 3, "list"},
		{"0d 0014 0b 03 00000001 00000000 01 00", diag.TypeMismatch, 3, "byString"},
		{"0d 0014 0b 08 00000002 00000001 61 00000000 00000001 61 00000000 00", diag.DuplicateKey, 18, "byString"},
		{"0d 0016 02 03 00000002 01 00 02 00 00", diag.DuplicateKey, 11, "byBool"},
		{"0d 0015 0a 0b 00000001 0000000000000007 00000001 ff 00", diag.InvalidData, 17, `byInt["7"]`},
		{"0c 000f 00 00", diag.InvalidUnion, 3, "either"},
		{"0c 000f 08 0001 00000001 0b 0002 00000000 00 00", diag.InvalidUnion, 3, "either"},
		{"04 0007 7ff8000000000001 00", diag.InvalidValue, 3, "double"},
		{"13 0006 ff800000 00", diag.InvalidValue, 3, "float"},
		{"0b 0063 00000005 61 00", diag.UnexpectedEOF, 3, "99"},
		{"0c 0010 0f 0003 0c 00000002 00 0b 0001 00000000 00 08 0001", diag.UnexpectedEOF, 23, "node.value"},
		{"0c 0010 0f 0003 0c 00000002 00 08 0001 0000", diag.UnexpectedEOF, 15, "node.children[1].value"},
	} {
		out, n, err := c.AppendJSON([]byte("kept"), wire(t, x.in))
		checkFault(t, x.in, err, x.code, x.offset, x.path)
		if string(out) != "kept" || n != 0 {
			t.Errorf("%s: the output became %q, n %d", x.in, out, n)
		}
	}
}

func TestStrictTypesRefusesAnotherWireType(t *testing.T) {
	c := converter(t, all(), transcode.StrictTypes())
	_, _, err := c.AppendJSON(nil, wire(t, "0b 0002 00000001 61 00"))
	checkFault(t, "a string for an i8", err, diag.TypeMismatch, 0, "i8")
	if want := "type mismatch: 3 (i8) expected, got 11 (string)"; !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not say %q", err, want)
	}
}

func nested() *schema.StructDef {
	d := schema.NewStruct(schema.DeclSpec{Name: "Nested"}, schema.PlainStruct)
	d.Complete([]*schema.Field{field(1, "next", d.Type()), field(2, "list", schema.ListOf(schema.ListOf(d.Type()))),
		field(3, "m", schema.MapOf(tI8, d.Type()))})
	return d
}

func TestNestingIsBoundedBothWays(t *testing.T) {
	repeat := strings.Repeat
	c := converter(t, nested())
	for _, levels := range []int{64, 65, 1_000_000} {
		json := repeat(`{"next":`, levels-1) + "{}" + repeat("}", levels-1)
		thrift := repeat("\x0c\x00\x01", levels-1) + repeat("\x00", levels)
		_, err := c.AppendThrift(nil, []byte(json))
		_, _, err2 := c.AppendJSON(nil, []byte(thrift))
		unknown := `{"x":` + repeat(`[`, levels-1) + repeat("]", levels-1) + "}"
		_, err3 := c.AppendThrift(nil, []byte(unknown))
		_, _, err4 := c.AppendJSON(nil, []byte("\x0c\x00\x09"+thrift[3:]+"\x00"))
		for i, err := range []error{err, err2, err3, err4} {
			if got := diag.CodeOf(err); levels <= 64 && err != nil || levels > 64 && got != diag.DepthLimit {
				t.Errorf("%d levels, way %d: %v", levels, i, err)
			}
		}
	}
	c = converter(t, nested(), transcode.MaxDepth(3))
	for json, ok := range map[string]bool{
		`{"list":[[]]}`: true, `{"list":[[{}]]}`: false, `{"m":{"1":{}}}`: true, `{"m":{"1":{"next":{}}}}`: false,
		`{"list":[[],[]],"next":{"next":{}},"m":{"1":{},"2":{}}}`: true,
	} {
		thrift, err := c.AppendThrift(nil, []byte(json))
		if ok != (err == nil) {
			t.Errorf("%s: %v", json, err)
		}
		if ok {
			if _, _, err := c.AppendJSON(nil, thrift); err != nil {
				t.Errorf("%s: back: %v", json, err)
			}
		}
	}
}

func TestSizesAreBounded(t *testing.T) {
	c := converter(t, all(), transcode.MaxSize(64))
	_, err := c.AppendThrift(nil, []byte(`{"string":"`+strings.Repeat("x", 60)+`"}`))
	checkFault(t, "72 bytes of JSON", err, diag.SizeLimit, 0, "")
	_, err = converter(t, all(), transcode.MaxSize(20)).AppendThrift(nil, []byte(`{"i64":1,"double":1}`))
	checkFault(t, "20 bytes that need 23", err, diag.SizeLimit, 0, "")
	if _, err := c.AppendThrift(make([]byte, 1000), []byte(`{"list":[1]}`)); err != nil {
		t.Errorf("the limit counts what stood in the buffer: %v", err)
	}
	_, _, err = c.AppendJSON(nil, wire(t, "0b 0008 00000014 0000000000000000000000000000000000000000 00"))
	checkFault(t, "20 bytes that become 120", err, diag.SizeLimit, 3, "string")
	list := "0e 000d 0b 0000000b" + strings.Repeat("00000000", 11)
	_, _, err = c.AppendJSON(nil, wire(t, list+"00"))
	if err != nil {
		t.Errorf("11 empty strings: %v", err)
	}
}

func TestHostileLengthsAllocateNothing(t *testing.T) {
	c := converter(t, all())
	out := make([]byte, 0, 256)
	for _, in := range []string{"0f 000c 06 7fffffff", "0d 001b 0c 0b 7fffffff", "0b 0008 7fffffff", "0f 0063 0f 7fffffff"} {
		b := wire(t, in)
		const runs = 100
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			if _, _, err := c.AppendJSON(out, b); err == nil {
				t.Fatalf("%s was accepted", in)
			}
		}
		runtime.ReadMemStats(&after)
		if bytes := (after.TotalAlloc - before.TotalAlloc) / runs; bytes > 2048 {
			t.Errorf("%s allocates %d bytes", in, bytes)
		}
	}
}
