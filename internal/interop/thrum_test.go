package interop

// Thrum's side: its client makes the calls of the list by schema, and its
// server is the demo's.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/parcels"
	"github.com/thrum-rpc/thrum/examples/shop/store"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
	thriftcompact "github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// invoke makes one call on a Thrum client and returns the JSON of its result.
func invoke(t *testing.T, client rpc.Caller, service *schema.Service, c call) json.RawMessage {
	t.Helper()
	result, err := tryInvoke(t, client, service, c, time.Minute)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return result
}

// tryInvoke is invoke for a call that may fail.
func tryInvoke(t *testing.T, client rpc.Caller, service *schema.Service, c call, patience time.Duration) (json.RawMessage, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	inv := &rpc.Invocation{Method: c.Method}
	result := []byte("null")
	if method := service.Method(c.Method); method != nil {
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
		return json.RawMessage(fmt.Sprintf(`{"applicationException":%d}`, forwardedType(app))), nil
	case err != nil:
		return nil, err
	}
	return result, nil
}

// forwardedType returns the type of an exception. The processors of some
// libraries keep only the text of an error that is not declared; peers that
// forward put the type there.
func forwardedType(app *rpc.ApplicationException) int32 {
	var typ int32
	if _, err := fmt.Sscanf(app.Message, "type %d: ", &typ); err == nil {
		return typ
	}
	return app.Type
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
	all, service := loadCalls(t), loadShop(t)
	peers(t, func(t *testing.T, server peer) {
		for _, w := range server.wirings(asServer) {
			t.Run(w.String(), func(t *testing.T) {
				calls := server.able(asServer, w, all)
				port, books := server.serve(t, calls, w)
				client := dial(t, port, w)
				for _, c := range calls {
					compare(t, service, c, invoke(t, client, service, c))
				}
				if books != nil && slices.ContainsFunc(calls, oneway) {
					checkOneway(t, books)
				}
			})
		}
	})
}

func dial(t *testing.T, port string, w wiring) rpc.Caller {
	t.Helper()
	var opts []rpc.ClientOption
	switch w.transport {
	case "unframed":
		opts = append(opts, rpc.Unframed())
	case "http":
		opts = append(opts, rpc.HTTP("http://127.0.0.1:"+port+"/"))
	case "ttheader":
		opts = append(opts, rpc.TTHeader())
	case "header":
		opts = append(opts, rpc.THeader(header.None))
	case "header-zlib":
		opts = append(opts, rpc.THeader(header.Zlib))
	}
	if strings.HasPrefix(w.protocol, "compact") {
		opts = append(opts, rpc.Compact(thriftcompact.Apache))
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

// startShop serves the demo's bookshop, with nothing sold yet, and returns its
// port.
func startShop(t *testing.T) (*store.Store, string) {
	t.Helper()
	books := store.New()
	server := rpc.NewServer(rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0)) // some calls fail as they should
	for _, service := range []*rpc.Service{shop.NewShopService(books), parcels.NewParcelsService(store.Parcels{})} {
		if err := server.Register(service); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return books, strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

// TestApacheClientsCallTheDemo lets clients in other languages make the calls
// of the list.
func TestApacheClientsCallTheDemo(t *testing.T) {
	all, service := loadCalls(t), loadShop(t)
	peers(t, func(t *testing.T, client peer) {
		for _, w := range client.wirings(asClient) {
			t.Run(w.String(), func(t *testing.T) {
				calls := client.able(asClient, w, all)
				books, port := startShop(t)
				for i, got := range client.call(t, calls, port, w) {
					compare(t, service, calls[i], got)
				}
				if slices.ContainsFunc(calls, oneway) {
					checkOneway(t, books)
				}
			})
		}
	})
}

// TestThrumCallsTheDemo makes the same calls with Thrum on both sides.
func TestThrumCallsTheDemo(t *testing.T) {
	calls, service := loadCalls(t), loadShop(t)
	for _, w := range []wiring{{"framed", "binary", ""}, {"unframed", "binary", "Shop"}} {
		t.Run(w.String(), func(t *testing.T) {
			books, port := startShop(t)
			client := dial(t, port, w)
			for _, c := range calls {
				compare(t, service, c, invoke(t, client, service, c))
			}
			checkOneway(t, books)
		})
	}
}

// checkOneway checks that the oneway calls of the list arrive: nobody says when.
func checkOneway(t *testing.T, books *store.Store) {
	t.Helper()
	wanted := func() bool {
		return slices.Equal(books.Notes(), []string{"from a peer ✉"}) && books.Views(2) == 1
	}
	for deadline := time.Now().Add(30 * time.Second); !wanted(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the log holds %q, and the book was looked at %d times, not once", books.Notes(), books.Views(2))
		}
	}
}
