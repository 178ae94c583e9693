package transcode_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// methodOf makes a method; no result fields make it oneway.
func methodOf(name string, args, result []*schema.Field) *schema.Method {
	spec := schema.MethodSpec{DeclSpec: schema.DeclSpec{Name: name}, Args: structOf(name+"_args", args...), Oneway: result == nil}
	if result != nil {
		spec.Result = structOf(name+"_result", result...)
	}
	return schema.NewMethod(spec)
}

var (
	missing = flavored(schema.Exception, "Missing", field(1, "what", tString))
	busy    = flavored(schema.Exception, "Busy", required(1, "seconds", tI32))
)

// find takes two arguments and throws two exceptions.
func find() *schema.Method {
	return methodOf("find", []*schema.Field{field(1, "id", tI64), field(2, "words", schema.ListOf(tString))},
		[]*schema.Field{optional(0, "success", schema.ListOf(tI32)), optional(1, "missing", missing.Type()), optional(2, "busy", busy.Type())})
}

func methodConverter(t testing.TB, m *schema.Method, opts ...transcode.Option) *transcode.Method {
	t.Helper()
	c, err := transcode.NewMethod(m, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMethodsTakeAnyNumberOfArguments(t *testing.T) {
	for json, m := range map[string]*schema.Method{
		`{}`:                         methodOf("none", nil, []*schema.Field{}),
		`{"id":1}`:                   methodOf("one", []*schema.Field{field(1, "id", tI32)}, nil),
		`{"id":7,"words":["a","b"]}`: find(),
	} {
		c := methodConverter(t, m)
		thrift, err := c.AppendArgsThrift(nil, []byte(json))
		if err != nil {
			t.Errorf("%s: %v", m.Name(), err)
		}
		if out, n, err := c.AppendArgsJSON(nil, thrift); err != nil || n != len(thrift) || string(out) != json {
			t.Errorf("%s: %s, %v", m.Name(), out, err)
		}
		if out, err := c.AppendArgsThrift(nil, nil); err != nil || hexOf(out) != "00" {
			t.Errorf("%s: no text: %x, %v", m.Name(), out, err)
		}
	}
}

func TestMethodsReturnResultsAndEveryException(t *testing.T) {
	m := find()
	c := methodConverter(t, m)
	for field, json := range map[int32]string{0: `[1,2]`, 1: `{"what":"x"}`, 2: `{"seconds":3}`} {
		f := m.Result().FieldByID(field)
		thrift, err := c.AppendResultThrift([]byte("before"), f, []byte(json))
		if err != nil {
			t.Fatal(err)
		}
		out, got, err := c.AppendResultJSON([]byte("before"), thrift[6:])
		if err != nil || got != f || string(out) != "before"+json {
			t.Errorf("%s: %s, %v, %v", f, out, got, err)
		}
	}
	for in, want := range map[string]string{
		"00":                             "nil",
		"0f0000 08 00000001 00000005 00": "success [5]",
		"0f0000 08 00000000 0c0002 08000100000003 00 00": "busy {\"seconds\":3}",
		"0c0002 08000100000003 00 0f0000 08 00000000 00": "busy {\"seconds\":3}",
		"0c0002 08000100000003 00 0c0001 00 00":          "busy {\"seconds\":3}",
		"080009 00000001 0f0000 08 00000000 00":          "success []",
		"0c0002 00 00":                                   "missing-required",
		"080000 00000001 00":                             "type-mismatch",
		"0f0000 0a 00000001 0000000000000000 00":         "type-mismatch",
		"0f0000 08 ffffffff 00":                          "invalid-length",
		"0c0002 08000100000003 00 0f0000 08":             "unexpected-eof",
		"0f0000 08 00000000":                             "unexpected-eof",
		"":                                               "unexpected-eof",
		"770001":                                         "invalid-type",
	} {
		out, f, err := c.AppendResultJSON([]byte("x"), wire(t, in))
		got := "nil"
		if err != nil {
			got = diag.CodeOf(err).String()
		} else if f != nil {
			got = f.Name() + " " + string(out[1:])
		}
		if got != want || err != nil && string(out) != "x" {
			t.Errorf("%s: %s, want %s (%v)", in, got, want, err)
		}
	}
}

func TestResultsThatTheMethodDoesNotHaveAreRefused(t *testing.T) {
	c := methodConverter(t, find())
	if out, err := c.AppendResultThrift([]byte("x"), nil, nil); err != nil || hexOf(out) != "7800" {
		t.Errorf("nothing: %x, %v", out, err)
	}
	if _, err := c.AppendResultThrift(nil, find().Result().Fields()[0], []byte("[]")); diag.CodeOf(err) != diag.Unsupported {
		t.Errorf("another method's field: %v", err)
	}
	if out, err := c.AppendResultThrift([]byte("x"), c.Schema().Result().Fields()[0], []byte("[1.5]")); diag.CodeOf(err) != diag.OutOfRange || string(out) != "x" {
		t.Errorf("%x, %v", out, err)
	}
	oneway := methodConverter(t, methodOf("tell", nil, nil))
	if _, err := oneway.AppendResultThrift(nil, nil, nil); diag.CodeOf(err) != diag.Unsupported {
		t.Error(err)
	}
	if _, _, err := oneway.AppendResultJSON(nil, []byte{0}); diag.CodeOf(err) != diag.Unsupported {
		t.Error(err)
	}
	stream := schema.NewMethod(schema.MethodSpec{Args: structOf("A"), Result: structOf("R"), Stream: &schema.Stream{}})
	if _, err := transcode.NewMethod(stream); diag.CodeOf(err) != diag.Unsupported {
		t.Error(err)
	}
}
