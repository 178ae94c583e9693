package generic_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

var methods = []string{"name", "get", "put", "touch", "none"}

// FuzzReplies calls any method with any JSON, as it is and as a map, and reads
// any bytes as its result struct, by every kind of call: it ends with a value, an
// exception or an error with its code.
func FuzzReplies(f *testing.F) {
	for _, reply := range []string{
		"\x0c\x00\x00\x0a\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x0b\x00\x02\x00\x00\x00\x04item\x00\x00",
		"\x0c\x00\x01\x0b\x00\x01\x00\x00\x00\x02it\x00\x00", "\x0c\x00\x02\x08\x00\x01\x00\x00\x00\x02\x00\x00", "\x0b\x00\x00\x00\x00\x00\x01x\x00",
		"\x00", "", "\x01\x00\x00\x00\x00", "\x0c\x00\x00\x0c\x00\x05\x00\x00\x00", "\x0c\x00\x01\x00\x0c\x00\x02\x00\x0c\x00\x00\x00\x00",
	} {
		for i := range methods {
			f.Add(uint8(i), []byte(reply), []byte("{}"))
		}
	}
	s := shop(f)
	f.Fuzz(func(t *testing.T, which uint8, reply, args []byte) {
		method := methods[int(which)%len(methods)]
		c := generic.New(answer(reply), s)
		var values map[string]any
		if json.Unmarshal(args, &values) != nil {
			values = map[string]any{"id": len(args)}
		}
		_, byMap := c.Call(context.Background(), method, values)
		text, byJSON := c.CallJSON(context.Background(), method, args)
		v, encoded := c.CallEncoded(context.Background(), method, []byte{0})
		_, _, byHTTP := c.CallHTTP(context.Background(), method, &message{body: string(args)}, new(message))
		for kind, err := range map[string]error{"map": byMap, "JSON": byJSON, "encoded": encoded, "HTTP": byHTTP} {
			if err != nil && !known(err) {
				t.Errorf("%s: %T %v", kind, err, err)
			}
		}
		if byJSON == nil && text != nil && !json.Valid(text) {
			t.Errorf("%q is no JSON", text)
		}
		if encoded == nil && v.Exists() && v.Check() != nil {
			t.Errorf("%x is no value: %v", v.Raw(), v.Check())
		}
	})
}

// known reports whether an error is one of those that calls are said to end with.
func known(err error) bool {
	var argument *generic.ArgumentError
	var reply *generic.ReplyError
	var thrown *generic.Exception
	var app *rpc.ApplicationException
	switch {
	case errors.As(err, &argument), errors.As(err, &reply):
		return diag.CodeOf(err) != 0
	case errors.As(err, &thrown):
		return thrown.Value.Exists() && err.Error() != ""
	}
	return errors.As(err, &app)
}

// FuzzRequests sends any bytes as the arguments of any method to services of
// every kind, directly and through proxies: each is answered, and a service that
// echoes JSON answers with a result that fits.
func FuzzRequests(f *testing.F) {
	for i := range methods {
		for _, args := range []string{"\x00", "", "\x0a\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00", "\x0a\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\x00",
			"\x0b\x00\x01\x00\x00\x00\x00\x00", "\x0c\x00\x01\x0a\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00", "\x0f\x00\x02\x0b\x7f\xff\xff\xff"} {
			f.Add(uint8(i), []byte(args))
		}
	}
	s := shop(f)
	texts, err := generic.ServeJSON(s, func(_ context.Context, m *schema.Method, args []byte) ([]byte, error) {
		if !json.Valid(args) {
			f.Errorf("arguments %q", args)
		}
		if m.Returns().Kind() == schema.Void {
			return nil, nil
		}
		return args, nil // fits or does not
	})
	if err != nil {
		f.Fatal(err)
	}
	handler := func(_ context.Context, m *schema.Method, args map[string]any) (any, error) {
		if m.Returns().Kind() == schema.Void {
			return nil, nil
		}
		return map[string]any{"id": args["id"]}, nil
	}
	maps := rpctest.Start(f, generic.ServeMaps(s, handler))
	callers := []rpc.Caller{
		maps, rpctest.Start(f, texts), rpctest.Start(f, generic.Serve(s, generic.Proxy(generic.New(maps, s)))),
		rpctest.Start(f, generic.Relay("", to(maps))),
	}
	f.Fuzz(func(t *testing.T, which uint8, args []byte) {
		method := methods[int(which)%len(methods)]
		for i, caller := range callers {
			err := caller.Invoke(t.Context(), &rpc.Invocation{
				Method: method, Oneway: method == "touch",
				AppendArgs: func(dst []byte) ([]byte, error) { return append(append(dst, args...), 0), nil },
				ReadResult: func(b []byte) error {
					if n := thriftwire.Skip(b, thriftwire.Struct, thriftwire.MaxDepth); n < 0 {
						t.Errorf("caller %d: the reply %x is no struct", i, b)
					}
					return nil
				},
			})
			var app *rpc.ApplicationException
			if err != nil && !errors.As(err, &app) {
				t.Errorf("caller %d: %v", i, err)
			}
		}
	})
}
