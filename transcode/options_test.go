package transcode_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

type opts = []transcode.Option

func TestOptionsForJSONInput(t *testing.T) {
	numbers := opts{transcode.NumberStrings()}
	long := opts{transcode.Int64Strings()}
	loose := opts{transcode.LooseBase64()}
	words := opts{transcode.NonFinite(transcode.NonFiniteStrings)}
	for _, x := range []struct {
		typ  *schema.Type
		opts opts
		json string
		want string // hex, or the code of the error
	}{
		{tI8, numbers, `"12"`, "0c"}, {tI8, numbers, `12`, "0c"}, {tI8, numbers, `"300"`, "out-of-range"},
		{tI8, numbers, `"1.5"`, "out-of-range"}, {tI8, numbers, `""`, "invalid-data"}, {tI8, numbers, `" 1"`, "invalid-data"},
		{tDouble, numbers, `"1"`, "3ff0000000000000"}, {tDouble, numbers, `"NaN"`, "invalid-data"}, {tDouble, numbers, `"1e400"`, "out-of-range"},
		{tI64, long, `"9223372036854775807"`, "7fffffffffffffff"}, {tI64, long, `5`, "0000000000000005"},
		{tI32, long, `"5"`, "type-mismatch"}, {tI32, nil, `"5"`, "type-mismatch"},
		{tBinary, loose, `"/w"`, "00000001ff"}, {tBinary, loose, `"_w=="`, "00000001ff"}, {tBinary, loose, `"-_-_"`, "00000003fbffbf"},
		{tBinary, loose, `"a"`, "invalid-data"},
		{tBinary, opts{transcode.RawBinary()}, `"/w"`, "000000022f77"},
		{tBinary, opts{transcode.RawBinary()}, `"YWJj"`, "0000000459574a6a"}, // no base64, though it might be some
		{tDouble, words, `"NaN"`, "7ff8000000000001"}, {tDouble, words, `"-Infinity"`, "fff0000000000000"},
		{tFloat, words, `"Infinity"`, "7f800000"}, {tFloat, words, `"inf"`, "invalid-data"}, {tFloat, words, `"1"`, "3f800000"},
		{tString, opts{transcode.LossyText()}, "\"a\xff\\ud800\"", "0000000761efbfbdefbfbd"},
		{schema.SetOf(tI8), opts{transcode.AllowDuplicates()}, `[1,1]`, "03000000020101"},
		{schema.MapOf(tI8, tI8), opts{transcode.AllowDuplicates()}, `{"1":2,"1":3}`, "03030000000201020103"},
		{schema.SetOf(tI8), nil, `[` + manyNumbers(100) + `]`, "0300000064" + manyBytes(100)},
		{schema.SetOf(tI8), nil, `[` + manyNumbers(100) + `,50]`, "duplicate-key"},
	} {
		out, err := converter(t, holding(x.typ), x.opts...).AppendThrift(nil, []byte(`{"v":`+x.json+`}`))
		got := ""
		if err != nil {
			got = diag.CodeOf(err).String()
		} else {
			got = hexOf(out[3 : len(out)-1])
		}
		if got != x.want {
			t.Errorf("%s %s: %s, want %s (%v)", x.typ, x.json, got, x.want, err)
		}
	}
}

func TestOptionsHoldBehindOtherFields(t *testing.T) {
	// The fields before v are of kinds that are read and written in one run.
	for _, x := range []struct {
		typ  *schema.Type
		opts opts
		json string
	}{
		{tBinary, opts{transcode.RawBinary()}, `"AAAA"`}, {tBinary, nil, `"AAAA"`},
		{tI64, opts{transcode.Int64Strings()}, `"5"`}, {tI8, opts{transcode.Unsigned8()}, `200`},
		{tDouble, opts{transcode.NonFinite(transcode.NonFiniteStrings)}, `"NaN"`},
		{color.Type(), opts{transcode.EnumNumbers()}, `2`}, {color.Type(), nil, `"GREEN"`},
	} {
		c := converter(t, structOf("S", field(1, "n", tI32), field(2, "s", tString), field(3, "v", x.typ)), x.opts...)
		want := `{"n":1,"s":"x","v":` + x.json + `}`
		thrift, err := c.AppendThrift(nil, []byte(want))
		if err != nil {
			t.Errorf("%s: %v", x.json, err)
			continue
		}
		if out, _, err := c.AppendJSON(nil, thrift); err != nil || string(out) != want {
			t.Errorf("%s became %s, %v", want, out, err)
		}
		alone, err := c.AppendThrift(nil, []byte(`{"v":`+x.json+`}`))
		if err != nil || !bytes.HasSuffix(thrift, alone) {
			t.Errorf("%s: %x behind others, %x alone, %v", x.json, thrift, alone, err)
		}
	}
}

func manyNumbers(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	return strings.Join(list, ",")
}

func manyBytes(n int) string {
	s := ""
	for i := range n {
		s += fmt.Sprintf("%02x", i)
	}
	return s
}

func TestOptionsForJSONOutput(t *testing.T) {
	null := opts{transcode.NonFinite(transcode.NonFiniteNull)}
	words := opts{transcode.NonFinite(transcode.NonFiniteStrings)}
	for _, x := range []struct {
		typ  *schema.Type
		opts opts
		hex  string
		want string // JSON, or the code of the error
	}{
		{tI64, opts{transcode.Int64Strings()}, "8000000000000000", `"-9223372036854775808"`},
		{schema.MapOf(tI64, tI64), opts{transcode.Int64Strings()}, "0a0a00000001 0000000000000001 0000000000000002", `{"1":"2"}`},
		{color.Type(), opts{transcode.EnumNumbers()}, "00000002", `2`},
		{schema.MapOf(color.Type(), tI8), opts{transcode.EnumNumbers()}, "080300000001 00000002 01", `{"2":1}`},
		{tDouble, null, "7ff8000000000001", `null`}, {tFloat, null, "7f800000", `null`},
		{schema.MapOf(tDouble, tI8), null, "040300000001 7ff0000000000000 01", "invalid-value"},
		{schema.MapOf(tDouble, tI8), nil, "040300000001 7ff0000000000000 01", "invalid-value"},
		{schema.MapOf(tDouble, tI8), words, "040300000001 7ff0000000000000 01", `{"Infinity":1}`},
		{tDouble, words, "7ff8000000000001", `"NaN"`}, {tFloat, words, "ff800000", `"-Infinity"`},
		{tBinary, opts{transcode.RawBinary()}, "00000002 6122", `"a\""`}, {tBinary, opts{transcode.RawBinary()}, "00000001 ff", "invalid-data"},
		{tString, opts{transcode.LossyText()}, "00000002 61ff", "\"a\ufffd\""},
		{schema.MapOf(tI8, tI8), opts{transcode.AllowDuplicates()}, "030300000002 0101 0102", `{"1":1,"1":2}`},
	} {
		in := append(append([]byte{wireOf(x.typ), 0, 1}, wire(t, x.hex)...), 0)
		out, _, err := converter(t, holding(x.typ), x.opts...).AppendJSON(nil, in)
		got := strings.TrimSuffix(strings.TrimPrefix(string(out), `{"v":`), "}")
		if err != nil {
			got = diag.CodeOf(err).String()
		}
		if got != x.want {
			t.Errorf("%s %s: %s, want %s (%v)", x.typ, x.hex, got, x.want, err)
		}
	}
}

func wireOf(t *schema.Type) byte {
	return map[schema.Kind]byte{schema.I64: 10, schema.Enum: 8, schema.Double: 4, schema.Float: 19,
		schema.String: 11, schema.Binary: 11, schema.Map: 13}[t.Kind()]
}

func TestUnknownFieldsAreRefusedIfAsked(t *testing.T) {
	c := converter(t, structOf("S", field(1, "known", tI8)), transcode.RejectUnknown())
	_, err := c.AppendThrift(nil, []byte(`{"known":1, "other":2}`))
	checkFault(t, "JSON", err, diag.UnknownField, 12, "")
	_, _, err = c.AppendJSON(nil, wire(t, "03 0001 01 08 0002 00000000 00"))
	checkFault(t, "Thrift", err, diag.UnknownField, 4, "")
}

// filled has fields of each requiredness with and without a default.
func filled() *schema.StructDef {
	inner := structOf("Inner", required(1, "must", tI32), field(2, "may", tI32))
	field := func(id int32, name string, t *schema.Type, r schema.Requiredness, v *schema.Value) *schema.Field {
		return schema.NewField(schema.FieldSpec{ID: id, Name: name, Type: t, Requiredness: r, Default: v})
	}
	num := func(n int64) *schema.Value { return &schema.Value{Kind: schema.IntValue, Int: n} }
	text := func(s string) *schema.Value { return &schema.Value{Kind: schema.StringValue, String: s} }
	return structOf("Filled",
		field(1, "plain", tI32, schema.Default, nil),
		field(2, "plainD", tI32, schema.Default, num(7)),
		field(3, "opt", tString, schema.Optional, nil),
		field(4, "optD", tString, schema.Optional, text("d\"")),
		field(5, "reqD", schema.ListOf(color.Type()), schema.Required, &schema.Value{Kind: schema.ListValue,
			List: []*schema.Value{{Kind: schema.EnumeratorValue, Int: 2}}}),
		field(6, "mapD", schema.MapOf(tBool, tDouble), schema.Default, &schema.Value{Kind: schema.MapValue,
			Map: []schema.MapEntry{{Key: &schema.Value{Kind: schema.BoolValue, Bool: true}, Value: &schema.Value{Kind: schema.FloatValue, Float: 0.5}}}}),
		field(7, "innerD", inner.Type(), schema.Default, &schema.Value{Kind: schema.StructValue,
			Fields: []schema.FieldValue{{Field: inner.Fields()[1], Value: num(3)}}}),
		field(8, "inner", inner.Type(), schema.Default, nil),
		field(9, "uuidD", tUUID, schema.Optional, text("6ba7b810-9dad-11d1-80b4-00c04fd430c8")),
		field(10, "list", schema.ListOf(tI8), schema.Default, nil),
		field(11, "req", tI8, schema.Required, nil),
	)
}

func TestRequiredFieldsAndDefaults(t *testing.T) {
	const defaults = `"plainD":7,"optD":"d\"","reqD":["GREEN"],"mapD":{"true":0.5},"innerD":{"may":3},"uuidD":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`
	missing := transcode.AllowMissing()
	for _, x := range []struct {
		opts opts
		json string
		want string // JSON after both conversions, or the name of the missing field
	}{
		{nil, `{"reqD":[],"req":1}`, `{"reqD":[],"req":1}`},
		{nil, `{"req":1}`, "reqD"},
		{nil, `{"reqD":[],"req":null}`, `req`},
		{opts{missing}, `{}`, `{}`},
		{opts{transcode.WriteDefaults()}, `{}`, "req"},
		{opts{transcode.WriteDefaults(), missing}, `{}`, "{" + defaults + "}"},
		{opts{transcode.WriteDefaults(), missing}, `{"plainD":null,"optD":"x"}`, `{"optD":"x",` + strings.Replace(defaults, `"optD":"d\"",`, "", 1) + "}"},
		{opts{transcode.WriteZeros()}, `{"reqD":[]}`, "req"},
		{opts{transcode.WriteZeros(), missing}, `{"reqD":[]}`, `{"reqD":[],"plain":0,"list":[],"req":0}`},
	} {
		c := converter(t, filled(), x.opts...)
		thrift, err := c.AppendThrift(nil, []byte(x.json))
		if err != nil {
			if diag.CodeOf(err) != diag.MissingRequired || !strings.Contains(err.Error(), fmt.Sprintf("%q", x.want)) {
				t.Errorf("%s: %v, want %s", x.json, err, x.want)
			}
			continue
		}
		plain := converter(t, filled(), missing)
		if out, _, err := plain.AppendJSON(nil, thrift); err != nil || string(out) != x.want {
			t.Errorf("%s became\n%s, want\n%s (%v)", x.json, out, x.want, err)
		}
		// The other way fills in the same.
		if thrift, err = plain.AppendThrift(nil, []byte(x.json)); err != nil {
			t.Fatal(err)
		}
		if out, _, err := c.AppendJSON(nil, thrift); err != nil || string(out) != x.want {
			t.Errorf("from Thrift, %s became\n%s, want\n%s (%v)", x.json, out, x.want, err)
		}
	}
	_, _, err := converter(t, filled()).AppendJSON(nil, []byte{0})
	checkFault(t, "an empty struct", err, diag.MissingRequired, 0, "")
}

func TestMoreFieldsThanBitsInAWord(t *testing.T) {
	var list []*schema.Field
	for i := range int32(200) {
		f := schema.FieldSpec{ID: i + 1, Name: fmt.Sprintf("f%d", i), Type: tI8}
		if i == 190 {
			f.Requiredness = schema.Required
		}
		list = append(list, schema.NewField(f))
	}
	wide := structOf("Wide", list...)
	list2 := make([]*schema.Field, 0, 200)
	for i := range int32(200) {
		list2 = append(list2, field(i+1, fmt.Sprintf("w%d", i), wide.Type()))
	}
	c := converter(t, structOf("Wider", list2...))
	for json, code := range map[string]diag.Code{
		`{"w0":{"f190":1},"w199":{"f190":1,"f0":2,"f64":3},"w64":{"f190":1}}`: 0,
		`{"w0":{"f190":1},"w199":{"f0":2,"f64":3}}`:                           diag.MissingRequired,
		`{"w0":{"f190":null}}`:                                                diag.MissingRequired,
		`{"w199":{"f190":1},"w199":{"f190":1}}`:                               diag.DuplicateKey,
		`{"w199":{"f190":1,"f128":1,"f128":2}}`:                               diag.DuplicateKey,
		`{"w199":{"f190":1,"f128":null,"f128":2}}`:                            diag.DuplicateKey,
	} {
		thrift, err := c.AppendThrift(nil, []byte(json))
		if diag.CodeOf(err) != code {
			t.Errorf("%s: %v", json, err)
		}
		if err == nil {
			if out, _, err := c.AppendJSON(nil, thrift); err != nil || string(out) != json {
				t.Errorf("%s came back as %s, %v", json, out, err)
			}
		}
	}
}

func TestTypesWithoutJSONAreRefused(t *testing.T) {
	for _, d := range []*schema.StructDef{
		holding(schema.Basic(schema.Void)),
		holding(schema.ListOf(schema.Basic(schema.Void))),
		structOf("S", field(40000, "v", tI8)),
		holding(schema.NewEnum(schema.DeclSpec{Name: "E"}, []*schema.EnumValue{{Name: "BIG", Value: 1 << 40}}).Type()),
	} {
		if _, err := transcode.New(d); diag.CodeOf(err) != diag.Unsupported {
			t.Errorf("%v", err)
		}
	}
}

func TestEnumsWithDistantValues(t *testing.T) {
	e := schema.NewEnum(schema.DeclSpec{Name: "E"}, []*schema.EnumValue{{Name: "LOW", Value: -1 << 31}, {Name: "HIGH", Value: 1<<31 - 1}, {Name: "MID", Value: 0}})
	c := converter(t, holding(schema.ListOf(e.Type())))
	const json = `{"v":["HIGH","MID","LOW",1,-2]}`
	thrift, err := c.AppendThrift(nil, []byte(json))
	if err != nil {
		t.Fatal(err)
	}
	if out, _, err := c.AppendJSON(nil, thrift); err != nil || string(out) != json {
		t.Errorf("%s, %v", out, err)
	}
}

func TestFieldNamesCanComeFromAnnotations(t *testing.T) {
	annotated := func(id int32, name, key string) *schema.Field {
		return schema.NewField(schema.FieldSpec{ID: id, Name: name, Type: tI8, Annotations: schema.Annotations{{Name: "api.key", Value: key, HasValue: true}}})
	}
	names := transcode.FieldNames(func(f *schema.Field) string { return f.Annotations().Value("api.key") })
	c := converter(t, structOf("S", annotated(1, "a", "the \"A\""), annotated(2, "b", ""), annotated(3, "c", "a")), names)
	const json = `{"the \"A\"":1,"b":2,"a":3}`
	thrift, err := c.AppendThrift(nil, []byte(json))
	if err != nil || hexOf(thrift) != "03000101030002020300030300" {
		t.Fatalf("%x, %v", thrift, err)
	}
	if out, _, err := c.AppendJSON(nil, thrift); err != nil || string(out) != json {
		t.Errorf("%s, %v", out, err)
	}
	if _, err := transcode.New(structOf("S", annotated(1, "a", ""), annotated(2, "b", "a")), names); diag.CodeOf(err) != diag.Unsupported {
		t.Errorf("one name for two fields: %v", err)
	}
}

func TestAConverterServesManyGoroutines(t *testing.T) {
	c := converter(t, all())
	const json = `{"byString":{"a":1,"b":2},"byInt":{"\u0031":"x"},"set":["p","q"],"byStruct":[[{"x":1},"a"]],"byDouble":{"0.5":1}}`
	thrift, err := c.AppendThrift(nil, []byte(json))
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := c.AppendJSON(nil, thrift)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for range 500 {
				a, err := c.AppendThrift(nil, []byte(json))
				b, _, err2 := c.AppendJSON(nil, thrift)
				if err != nil || err2 != nil || string(a) != string(thrift) || string(b) != string(text) {
					t.Errorf("%x %v, %s %v", a, err, b, err2)
					return
				}
			}
		}()
	}
	wait.Wait()
}

func TestConversionsIntoALargeBufferAllocateNothing(t *testing.T) {
	c := converter(t, simple())
	in := []byte(simpleJSON)
	thrift, err := c.AppendThrift(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	a, b := make([]byte, 0, 1024), make([]byte, 0, 1024)
	if n := allocations(func() {
		_, _ = c.AppendThrift(a, in)
		_, _, _ = c.AppendJSON(b, thrift)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTypesThatThriftDoesNotHaveAreRefused(t *testing.T) {
	for _, typ := range []*schema.Type{schema.Basic(schema.U32), schema.ListOf(schema.Basic(schema.U8)), schema.MapOf(schema.Basic(schema.U64), tI32)} {
		if _, err := transcode.New(holding(typ)); diag.CodeOf(err) != diag.Unsupported {
			t.Errorf("%s: %v", typ, err)
		}
	}
}
