package generic_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file tests calls and services with JSON.

// jsonStore answers get with JSON that depends on the arguments as they came.
func jsonStore(touched chan<- int64) generic.JSONHandler {
	return func(_ context.Context, m *schema.Method, args []byte) ([]byte, error) {
		switch text := string(args); {
		case m.Name() == "name":
			return []byte(` "the shop" `), nil
		case m.Name() == "touch":
			touched <- int64(len(args))
			return []byte("ignored"), nil
		case m.Name() == "put":
			return nil, nil
		case strings.Contains(text, `"id":-1`):
			return nil, generic.ThrowJSON(m, "NotFound", []byte(`{"what": "nothing below 0"}`))
		case strings.Contains(text, `"id":-2`):
			return nil, generic.Throw(m, "busy", map[string]any{"seconds": 3})
		case strings.Contains(text, `"id":-3`):
			return nil, generic.ThrowJSON(m, "missing", []byte(`{"what": 1}`))
		case strings.Contains(text, `"id":0`):
			return nil, nil
		case strings.Contains(text, `"id":98`):
			return []byte(`{"id": 1}, "missing": {"what": "smuggled"}`), nil
		case strings.Contains(text, `"id":97`):
			return []byte(`{"id": }`), nil
		case strings.Contains(text, `"id":96`):
			return []byte(`{"id": "x"}`), nil
		case strings.Contains(text, `"id":99`):
			return nil, errors.New("out of order")
		default:
			return []byte(`{"id": 7, "name": ` + strconv.Quote(text) + `}`), nil
		}
	}
}

func jsonClient(t *testing.T, touched chan<- int64) *generic.Client {
	t.Helper()
	service, err := generic.ServeJSON(shop(t), jsonStore(touched))
	if err != nil {
		t.Fatal(err)
	}
	return generic.New(rpctest.Start(t, service), shop(t))
}

func TestCallsByJSONReturnResultsAndExceptions(t *testing.T) {
	touched := make(chan int64, 1)
	c := jsonClient(t, touched)
	for _, test := range []struct{ method, args, want, failure string }{
		{"get", `{"id": 5, "options": ["a"]}`, `{"id":7,"name":"{\"id\":5,\"options\":[\"a\"]}"}`, ""},
		{"get", `{}`, `{"id":7,"name":"{}"}`, ""},
		{"name", `{}`, `"the shop"`, ""},
		{"put", `{"item": {"id": 1}}`, "", ""},
		{"touch", `{"id": 5}`, "", ""},
		{"get", `{"id": -1}`, "", `exception NotFound {"what":"nothing below 0"}`},
		{"get", `{"id": -2}`, "", `exception Busy {"seconds":3}`},
		{"get", `{"id": -3}`, "", `internal error: type mismatch`},
		{"get", `{"id": 0}`, "", `missing result`},
		{"get", `{"id": 96}`, "", `internal error: type mismatch: i64 expected, got a string at id (offset 7)`},
		{"get", `{"id": 97}`, "", `internal error: `},
		{"get", `{"id": 98}`, "", `internal error: data after the end of the value (offset 9)`},
		{"get", `{"id": 99}`, "", `internal error: out of order`},
		{"get", `{"id": "x"}`, "", `arguments: type mismatch`},
		{"get", `{"id": 1`, "", `arguments: `},
		{"none", `{}`, "", `unknown method`},
	} {
		got, err := c.CallJSON(within(t), test.method, []byte(test.args))
		if string(got) != test.want || (err == nil) != (test.failure == "") || err != nil && !strings.Contains(err.Error(), test.failure) {
			t.Errorf("%s(%s): %q, %v", test.method, test.args, got, err)
		}
	}
	if n := <-touched; n != int64(len(`{"id":5}`)) {
		t.Errorf("touched with %d bytes", n)
	}
}

func TestErrorsOfCallsByJSONHaveTheirTypes(t *testing.T) {
	c := jsonClient(t, nil)
	call := func(method, args string) error {
		_, err := c.CallJSON(within(t), method, []byte(args))
		return err
	}
	var thrown *generic.Exception
	if err := call("get", `{"id": -1}`); !errors.As(err, &thrown) || thrown.Name() != "NotFound" || thrown.Field.Name() != "missing" ||
		string(thrown.JSON) != `{"what":"nothing below 0"}` || thrown.Value.Type().Struct().Name() != "NotFound" {
		t.Errorf("%#v", err)
	}
	var argument *generic.ArgumentError
	if err := call("get", `{"id": 1e99}`); !errors.As(err, &argument) || diag.CodeOf(err) != diag.OutOfRange {
		t.Errorf("%#v", err)
	}
	var app *rpc.ApplicationException
	if err := call("none", ``); !errors.As(err, &app) || app.Type != rpc.UnknownMethod {
		t.Errorf("%#v", err)
	}
}

func TestRepliesThatDoNotFitTheSchemaAreErrors(t *testing.T) {
	for _, reply := range []string{
		"", "\x0c\x00\x00", "\x0b\x00\x00\x00\x00\x00\x01x\x00", "\x0c\x00\x00\x0a\x00\x01", "\x0b\x00\x01\x00\x00\x00\x01x\x00", "\xff",
	} {
		c := generic.New(answer(reply), shop(t))
		_, byMap := c.Call(context.Background(), "get", nil)
		_, byJSON := c.CallJSON(context.Background(), "get", []byte("{}"))
		_, encoded := c.CallEncoded(context.Background(), "get", []byte{0})
		for kind, err := range map[string]error{"map": byMap, "JSON": byJSON, "encoded": encoded} {
			var bad *generic.ReplyError
			if !errors.As(err, &bad) || diag.CodeOf(err) == 0 {
				t.Errorf("%s: %x: %v", kind, reply, err)
			}
		}
	}
}

// answer is a caller that gets a result struct for everything.
type answer []byte

func (a answer) Invoke(_ context.Context, call *rpc.Invocation) error {
	if _, err := call.AppendArgs(nil); err != nil {
		return err
	}
	if call.ReadResult == nil {
		return nil
	}
	return call.ReadResult(a)
}

func TestOptionsOfTheConversionAreHeeded(t *testing.T) {
	s := shop(t)
	service, err := generic.ServeJSON(s, func(_ context.Context, _ *schema.Method, args []byte) ([]byte, error) {
		return []byte(`{"id": "9", "name": ` + strconv.Quote(string(args)) + `}`), nil
	}, generic.Conversion(transcode.Int64Strings()))
	if err != nil {
		t.Fatal(err)
	}
	c := generic.New(rpctest.Start(t, service), s, generic.Conversion(transcode.Int64Strings()))
	got, err := c.CallJSON(within(t), "get", []byte(`{"id": "5"}`))
	if want := `{"id":"9","name":"{\"id\":\"5\"}"}`; string(got) != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}
