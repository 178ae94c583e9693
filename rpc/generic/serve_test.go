package generic_test

import (
	"context"
	"errors"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/schema"
)

// This file tests services of one function.

func TestAServiceByMapsTakesAndReturnsGoValues(t *testing.T) {
	s := shop(t)
	service := generic.ServeMaps(s, func(_ context.Context, m *schema.Method, args map[string]any) (any, error) {
		switch {
		case m.Name() == "name":
			return len(args), nil // no string
		case m.Name() == "put":
			return "something", nil // where nothing is returned
		case args["id"] == int64(-1):
			return nil, generic.Throw(m, "missing", map[string]any{"what": "it"})
		case args["id"] == int64(-2):
			return nil, generic.Throw(m, "nobody", nil)
		case args["id"] == int64(-3):
			return nil, &generic.Exception{Field: m.Args().Fields()[0]}
		}
		return map[string]any{"id": args["id"], "name": args["options"].([]any)[0]}, nil
	})
	caller := rpctest.Start(t, service)
	c := generic.New(caller, s)
	x, err := c.Call(within(t), "get", map[string]any{"id": 3, "options": []string{"first"}})
	if item, ok := x.(map[string]any); err != nil || !ok || item["id"] != int64(3) || item["name"] != "first" {
		t.Errorf("%v, %v", x, err)
	}
	var thrown *generic.Exception
	if _, err := c.Call(within(t), "get", map[string]any{"id": -1}); !errors.As(err, &thrown) || thrown.Name() != "NotFound" {
		t.Error(err)
	}
	var app *rpc.ApplicationException
	for method, args := range map[string]map[string]any{"name": nil, "put": nil, "get": {"id": -2}} {
		if _, err := c.Call(within(t), method, args); !errors.As(err, &app) || app.Type != rpc.InternalError {
			t.Errorf("%s: %v", method, err)
		}
	}
	if _, err := c.Call(within(t), "get", map[string]any{"id": -3}); !errors.As(err, &app) || app.Type != rpc.InternalError {
		t.Errorf("an exception that is not declared: %v", err)
	}
	// An id that is a string by its wire type.
	if _, err := generic.CallBinary(within(t), caller, "get", []byte("\x0b\x00\x01\x00\x00\x00\x00\x00")); !errors.As(err, &app) || app.Type != rpc.ProtocolError {
		t.Error(err)
	}
}

func TestCallsWithoutASchemaSendAndReturnStructs(t *testing.T) {
	touched := make(chan int64, 1)
	caller := rpctest.Start(t, generic.Serve(shop(t), store(t, touched)))
	b, err := generic.CallBinary(within(t), caller, "get", []byte("\x0a\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00"))
	if want := "\x0c\x00\x00\x0a\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x0b\x00\x02\x00\x00\x00\x04item\x00\x00"; string(b) != want || err != nil {
		t.Errorf("%x, %v", b, err)
	}
	if err := generic.SendBinary(within(t), caller, "touch", []byte("\x0a\x00\x01\x00\x00\x00\x00\x00\x00\x00\x05\x00")); err != nil || <-touched != 5 {
		t.Error(err)
	}
	var argument *generic.ArgumentError
	for _, args := range []string{"", "\x0a", "\x00\x00"} {
		_, err := generic.CallBinary(within(t), caller, "get", []byte(args))
		if !errors.As(err, &argument) || !errors.As(generic.SendBinary(within(t), caller, "touch", []byte(args)), &argument) {
			t.Errorf("%x: %v", args, err)
		}
	}
	var reply *generic.ReplyError
	if _, err := generic.CallBinary(within(t), answer("\x0a\x00"), "get", []byte{0}); !errors.As(err, &reply) || diag.CodeOf(err) != diag.UnexpectedEOF {
		t.Error(err)
	}
}

func TestARelayPassesOnWhatItDoesNotKnow(t *testing.T) {
	touched := make(chan int64, 2)
	even := rpctest.Start(t, generic.Serve(shop(t), store(t, touched)))
	odd := rpctest.Start(t, generic.Serve(shop(t), func(context.Context, *schema.Method, dynamic.Value) (any, error) {
		return map[string]any{"id": 1, "name": "odd"}, nil
	}))
	relay := rpctest.Start(t, generic.Relay("any", func(_ context.Context, method string, args dynamic.Node) (rpc.Caller, error) {
		id, err := args.Get(dynamic.Field(1))
		if err != nil || !id.Exists() {
			return even, err
		}
		n, err := id.Int()
		switch {
		case n == 13:
			return nil, &rpc.ApplicationException{Type: rpc.LoadShedding, Message: "not this one"}
		case n%2 == 0:
			return even, err
		}
		return odd, err
	}))
	c := generic.New(relay, shop(t))
	for id, want := range map[int]string{6: "item", 7: "odd"} {
		x, err := c.Call(within(t), "get", map[string]any{"id": id})
		if item, ok := x.(map[string]any); err != nil || !ok || item["name"] != want {
			t.Errorf("%d: %v, %v", id, x, err)
		}
	}
	if x, err := c.Call(within(t), "name", nil); x != "the shop" || err != nil {
		t.Error(x, err)
	}
	if _, err := c.Call(within(t), "touch", map[string]any{"id": 8}); err != nil || <-touched != 8 {
		t.Error(err)
	}
	var thrown *generic.Exception
	if _, err := c.Call(within(t), "get", map[string]any{"id": -2}); !errors.As(err, &thrown) {
		t.Error(err)
	}
	var app *rpc.ApplicationException
	if _, err := c.Call(within(t), "get", map[string]any{"id": 13}); !errors.As(err, &app) || app.Type != rpc.LoadShedding {
		t.Error(err)
	}
	if _, err := generic.CallBinary(within(t), relay, "nothing", []byte{0}); !errors.As(err, &app) || app.Type != rpc.UnknownMethod {
		t.Errorf("what the server behind says is lost: %v", err)
	}
}

func TestMethodsThatStreamAreRefused(t *testing.T) {
	file, list := thriftidl.Load("s.thrift", thriftidl.Sources(map[string][]byte{"s.thrift": []byte(`struct A {}
		service S { stream<i32> watch(), A count(1: A a) (streaming.mode = "server") }`)}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	s := file.Service("S")
	for _, m := range []string{"watch", "count"} {
		if _, err := generic.New(nobody{}, s).Call(context.Background(), m, nil); diag.CodeOf(err) != diag.Unsupported {
			t.Error(m, err)
		}
	}
	if served := generic.ServeMaps(s, nil); len(served.Methods) != 0 {
		t.Error("a stream is served")
	}
}

// to chooses one caller for everything.
func to(caller rpc.Caller) func(context.Context, string, dynamic.Node) (rpc.Caller, error) {
	return func(context.Context, string, dynamic.Node) (rpc.Caller, error) { return caller, nil }
}

func TestTheVoidOfKitexIsNoResult(t *testing.T) {
	// What its generic servers answer: a field of type void, and STOP twice.
	kitex := rpctest.Start(t, &rpc.Service{Name: "Shop", Unknown: func(string, bool) *rpc.Method {
		return &rpc.Method{Serve: func(_ context.Context, _, dst []byte) ([]byte, error) {
			return append(dst, "\x01\x00\x00\x00\x00"...), nil
		}}
	}})
	for how, caller := range map[string]rpc.Caller{"directly": kitex, "through a relay": rpctest.Start(t, generic.Relay("", to(kitex)))} {
		c := generic.New(caller, shop(t))
		if x, err := c.Call(within(t), "put", map[string]any{"item": map[string]any{"id": 1}}); x != nil || err != nil {
			t.Errorf("%s: %v, %v", how, x, err)
		}
		if x, err := c.CallJSON(within(t), "put", []byte(`{"item": {"id": 1}}`)); x != nil || err != nil {
			t.Errorf("%s: %v, %v", how, x, err)
		}
		var app *rpc.ApplicationException
		if _, err := c.Call(within(t), "get", nil); !errors.As(err, &app) || app.Type != rpc.MissingResult {
			t.Errorf("%s: where a result is due: %v", how, err)
		}
	}
}
