package interop

// Thrum's side: its client makes the calls of the list by schema, and its
// server is the demo's.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// invoke makes one call on a Thrum client and returns the JSON of its result.
func invoke(t *testing.T, client rpc.Caller, shop *schema.Service, c call) json.RawMessage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	inv := &rpc.Invocation{Method: c.Method}
	result := []byte("null")
	if method := shop.Method(c.Method); method != nil {
		inv.Oneway = method.Oneway()
		args := converter(t, method.Args())
		inv.AppendArgs = func(dst []byte) ([]byte, error) { return args.AppendThrift(dst, c.Args) }
		if !inv.Oneway {
			conv := converter(t, method.Result())
			inv.ReadResult = func(b []byte) (err error) {
				result, _, err = conv.AppendJSON(nil, b)
				return err
			}
		}
	}
	var app *rpc.ApplicationException
	switch err := client.Invoke(ctx, inv); {
	case errors.As(err, &app):
		return json.RawMessage(fmt.Sprintf(`{"applicationException":%d}`, app.Type))
	case err != nil:
		t.Fatalf("%s: %v", c.Name, err)
	}
	return result
}

func converter(t *testing.T, def *schema.StructDef) *transcode.Converter {
	t.Helper()
	conv, err := transcode.New(def, transcode.NonFinite(transcode.NonFiniteStrings))
	if err != nil {
		t.Fatal(err)
	}
	return conv
}

// TestThrumCallsApacheServers makes the calls of the list to servers in other
// languages.
func TestThrumCallsApacheServers(t *testing.T) {
	calls, shop := replayable(loadCalls(t)), loadShop(t)
	peers(t, func(t *testing.T, server peer) {
		for _, w := range server.wirings() {
			t.Run(w.String(), func(t *testing.T) {
				client := dial(t, server.serve(t, calls, w), w)
				for _, c := range calls {
					compare(t, shop, c, invoke(t, client, shop, c))
				}
			})
		}
	})
}

func dial(t *testing.T, port string, w wiring) rpc.Caller {
	t.Helper()
	var opts []rpc.ClientOption
	if w.transport == "unframed" {
		opts = append(opts, rpc.Unframed())
	}
	client, err := rpc.Dial(t.Context(), "tcp", "127.0.0.1:"+port, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if w.service != "" {
		return rpc.Multiplexed(client, w.service)
	}
	return client
}
