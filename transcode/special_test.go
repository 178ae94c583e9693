package transcode_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// marked returns a field with annotations, given as name, value, name, value…
func marked(id int32, name string, t *schema.Type, annotations ...string) *schema.Field {
	return schema.NewField(schema.FieldSpec{ID: id, Name: name, Type: t, Annotations: notes(annotations...)})
}

func notes(pairs ...string) schema.Annotations {
	var a schema.Annotations
	for i := 0; i < len(pairs); i += 2 {
		a = append(a, schema.Annotation{Name: pairs[i], Value: pairs[i+1], HasValue: true})
	}
	return a
}

func TestAnnotationsChooseTheJSONOfValues(t *testing.T) {
	js := func(typ *schema.Type) *schema.StructDef { return structOf("S", marked(1, "v", typ, "api.js_conv", "")) }
	dynamic := structOf("S", marked(1, "v", tString, "agw.body_dynamic", ""))
	for _, x := range []struct {
		def  *schema.StructDef
		opts opts
		json string
		want string // the JSON that comes back, or the code of the error
	}{
		{js(tI64), nil, `"9223372036854775807"`, `"9223372036854775807"`}, {js(tI64), nil, `7`, `"7"`}, {js(tI64), nil, `""`, `"0"`},
		{js(tI8), nil, `"300"`, "out-of-range"}, {js(tI8), nil, `300`, "out-of-range"}, {js(tI8), nil, `"x"`, "invalid-data"}, {js(tI8), nil, `true`, "type-mismatch"},
		{js(tI16), nil, `""x`, "syntax"}, {js(tI16), nil, `"`, "unexpected-eof"},
		{js(tDouble), nil, `"1.5"`, `"1.5"`}, {js(tDouble), nil, `1.5`, `"1.5"`}, {js(tDouble), nil, `"1e400"`, "out-of-range"},
		{js(tString), nil, `12.50`, `"12.50"`}, {js(tString), nil, `"a"`, `"a"`}, {js(tString), nil, `""`, `""`}, {js(tString), nil, `{}`, "type-mismatch"},
		{js(schema.ListOf(tI64)), nil, `[1,"2",""]`, `["1","2","0"]`},
		{js(schema.MapOf(tI8, tI64)), nil, `{"1":"2"}`, `{"1":"2"}`},
		{js(tI8), opts{transcode.Unsigned8()}, `"200"`, `"200"`},
		{dynamic, nil, `{"a":[1,"\u0041"]}`, `{"a":[1,"\u0041"]}`}, {dynamic, nil, `"text"`, `"text"`}, {dynamic, nil, `1`, `1`},
		{dynamic, nil, `{"a":}`, "syntax"}, {dynamic, nil, "\"\xff\"", "invalid-data"},
		{dynamic, opts{transcode.MaxDepth(2)}, `[[[[]]]]`, "depth-limit"},
		{holding(tI8), opts{transcode.Unsigned8()}, `255`, `255`}, {holding(tI8), opts{transcode.Unsigned8()}, `0`, `0`},
		{holding(tI8), opts{transcode.Unsigned8()}, `-1`, "out-of-range"}, {holding(tI8), opts{transcode.Unsigned8()}, `256`, "out-of-range"},
		{holding(tI8), opts{transcode.Unsigned8()}, `"1"`, "type-mismatch"}, {holding(tI8), opts{transcode.Unsigned8(), transcode.NumberStrings()}, `"201"`, `201`},
		{holding(schema.MapOf(tI8, tI8)), opts{transcode.Unsigned8()}, `{"200":201}`, `{"200":201}`},
		{holding(tI32), opts{transcode.NumberStrings()}, `""`, "invalid-data"},
		{holding(tI32), opts{transcode.NumberStrings(), transcode.EmptyNumbers()}, `""`, `0`},
		{holding(tDouble), opts{transcode.NumberStrings(), transcode.EmptyNumbers()}, `""`, `0`},
		{holding(tI64), opts{transcode.Int64Strings(), transcode.EmptyNumbers()}, `""`, `"0"`},
	} {
		c := converter(t, x.def, append(x.opts, transcode.ValueCodecs(transcode.AnnotatedCodec))...)
		got := ""
		thrift, err := c.AppendThrift(nil, []byte(`{"v":`+x.json+`}`))
		if err == nil {
			var out []byte
			out, _, err = c.AppendJSON(nil, thrift)
			got = strings.TrimSuffix(strings.TrimPrefix(string(out), `{"v":`), "}")
		}
		if err != nil {
			got = diag.CodeOf(err).String()
		}
		if got != x.want {
			t.Errorf("%s %s: %s, want %s (%v)", x.def.Fields()[0].Type(), x.json, got, x.want, err)
		}
	}
}

func TestEmbeddedJSONThatIsNoneIsRefused(t *testing.T) {
	c := converter(t, structOf("S", marked(1, "v", tString, "agw.body_dynamic", "")), transcode.ValueCodecs(transcode.AnnotatedCodec))
	for text, want := range map[string]string{` {"a":1} `: `{"v":{"a":1}}`, `{"a":1}]`: "", `{`: "", ``: "", `"`: ""} {
		in := append(thriftwire.AppendString([]byte{11, 0, 1}, text), 0)
		out, _, err := c.AppendJSON(nil, in)
		if string(out) != want || (want == "") != (diag.CodeOf(err) == diag.InvalidData) {
			t.Errorf("%q became %s, %v", text, out, err)
		}
	}
}

// backwards is a codec of text that stands in JSON from its end to its start.
type backwards struct{ broken bool }

func (b backwards) AppendThrift(dst, json []byte) ([]byte, error) {
	if b.broken {
		return append(dst, 1), nil
	}
	if json[0] != '"' {
		return dst, errors.New("no text")
	}
	return thriftwire.AppendBytes(dst, reversed(bytes.Trim(json, `"`))), nil
}

func (b backwards) AppendJSON(dst, thrift []byte) ([]byte, error) {
	if b.broken {
		return append(dst, '{'), nil
	}
	return append(append(append(dst, '"'), reversed(thrift[4:])...), '"'), nil
}

func reversed(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		out[len(b)-1-i] = c
	}
	return out
}

func TestUsersChooseTheJSONOfValues(t *testing.T) {
	def := structOf("S", marked(1, "back", tString, "my.backwards", ""), field(2, "forth", tString), marked(3, "number", tI8, "api.js_conv", ""))
	codecs := func(broken bool) transcode.Option {
		return transcode.ValueCodecs(func(f *schema.Field) transcode.ValueCodec {
			if f.Annotations().Has("my.backwards") {
				return backwards{broken}
			}
			return transcode.AnnotatedCodec(f)
		})
	}
	c := converter(t, def, codecs(false))
	const json = `{"back":"abc","forth":"abc","number":"1"}`
	thrift, err := c.AppendThrift(nil, []byte(json))
	if err != nil || !bytes.Contains(thrift, []byte("\x03cba")) || !bytes.Contains(thrift, []byte("\x03abc")) {
		t.Fatalf("%q, %v", thrift, err)
	}
	if out, _, err := c.AppendJSON(nil, thrift); err != nil || string(out) != json {
		t.Errorf("%s, %v", out, err)
	}
	_, err = c.AppendThrift(nil, []byte(`{"forth":"", "back": 1}`))
	checkFault(t, "an error of the codec", err, diag.InvalidData, 21, "back")
	broken := converter(t, def, codecs(true))
	_, err = broken.AppendThrift(nil, []byte(json))
	checkFault(t, "bad Thrift of the codec", err, diag.InvalidValue, 8, "back")
	_, _, err = broken.AppendJSON(nil, thrift)
	checkFault(t, "bad JSON of the codec", err, diag.InvalidValue, 3, "back")
}

func TestCodecsThatDoNotSuitTheTypeAreRefused(t *testing.T) {
	for _, f := range []*schema.Field{marked(1, "v", tBool, "api.js_conv", ""), marked(1, "v", tI32, "agw.body_dynamic", "")} {
		if _, err := transcode.New(structOf("S", f), transcode.ValueCodecs(transcode.AnnotatedCodec)); diag.CodeOf(err) != diag.Unsupported {
			t.Errorf("%s: %v", f.Type(), err)
		}
	}
}

func TestAnnotationsNameFields(t *testing.T) {
	snake := schema.NewStruct(schema.DeclSpec{Name: "S", Annotations: notes("agw.to_snake", "true")}, schema.PlainStruct)
	fields := []*schema.Field{
		marked(1, "PlainName", tI8), marked(2, "HTTPCodeOK", tI8), marked(3, "own", tI8, "agw.to_snake", "false"),
		marked(4, "aB_c", tI8, "agw.to_lower_camel_case", ""), marked(5, "e", tI8, "api.key", "K"), marked(6, "f", tI8, "agw.key", "L"),
		marked(7, "g", tI8, "go.tag", `json:\"tagged,omitempty\" xml:\"y\"`), marked(8, "h", tI8, "go.tag", `xml:"y" json:"-"`),
		marked(9, "i", tI8, "go.tag", `json:`), marked(10, "___", tI8),
	}
	snake.Complete(fields)
	var got []string
	for _, f := range fields {
		got = append(got, transcode.AnnotatedName(f))
	}
	if s := strings.Join(got, " "); s != "plain_name http_code_ok  aBC K L tagged h i ___" {
		t.Error(s)
	}
}

func TestFieldsCanBeReadByBothNames(t *testing.T) {
	def := structOf("S", marked(1, "a", tI8, "api.key", "b"), marked(2, "b", tI8, "api.key", "c"), field(3, "d", tI8))
	names := transcode.FieldNames(transcode.AnnotatedName)
	for json, want := range map[string]string{
		`{"a":1}`: `{"b":1}`, `{"b":1}`: `{"b":1}`, `{"c":1,"d":2}`: `{"c":1,"d":2}`, `{"a":1,"b":2}`: "duplicate-key",
	} {
		c := converter(t, def, names, transcode.AnyName(), transcode.RejectUnknown())
		got := ""
		thrift, err := c.AppendThrift(nil, []byte(json))
		if err != nil {
			got = diag.CodeOf(err).String()
		} else if out, _, err := c.AppendJSON(nil, thrift); err == nil {
			got = string(out)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", json, got, want)
		}
	}
	if _, err := converter(t, def, names, transcode.RejectUnknown()).AppendThrift(nil, []byte(`{"a":1}`)); diag.CodeOf(err) != diag.UnknownField {
		t.Errorf("without AnyName: %v", err)
	}
}

func TestAbsentFieldsAreWrittenByRequiredness(t *testing.T) {
	const must, plain, opt = schema.Required, schema.Default, schema.Optional
	for _, x := range []struct {
		which []schema.Requiredness
		json  string
		want  string
	}{
		{[]schema.Requiredness{must, plain, opt}, `{}`, `{"plain":0,"plainD":7,"opt":"","optD":"d\"","reqD":["GREEN"],"mapD":{"true":0.5},` +
			`"innerD":{"may":3},"uuidD":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","list":[],"req":0}`},
		{[]schema.Requiredness{must}, `{}`, `{"reqD":["GREEN"],"req":0}`},
		{[]schema.Requiredness{must}, `{"req":1}`, `{"req":1,"reqD":["GREEN"]}`},
		{[]schema.Requiredness{opt}, `{"req":1,"reqD":[]}`, `{"req":1,"reqD":[],"opt":"","optD":"d\"","uuidD":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`},
		{[]schema.Requiredness{opt}, `{"req":1}`, "missing-required"},
	} {
		thrift, err := converter(t, filled(), transcode.WriteAbsent(x.which...)).AppendThrift(nil, []byte(x.json))
		got := diag.CodeOf(err).String()
		if err == nil {
			out, _, _ := converter(t, filled(), transcode.AllowMissing()).AppendJSON(nil, thrift)
			got = string(out)
		}
		if got != x.want {
			t.Errorf("%v %s:\n%s, want\n%s", x.which, x.json, got, x.want)
		}
	}
	empty := structOf("Outer", optional(1, "in", structOf("In", optional(1, "x", tI8)).Type()))
	if out, err := converter(t, empty, transcode.WriteAbsent(opt)).AppendThrift(nil, []byte(`{}`)); err != nil || hexOf(out) != "0c00010000" {
		t.Errorf("a struct: %x, %v", out, err)
	}
}
