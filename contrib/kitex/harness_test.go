package kitex_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/klog"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/serviceinfo"
	"github.com/cloudwego/kitex/server"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/contrib/kitex/internal/bookshop"
	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/store"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file starts bookshops, and makes the calls that all peers share.

func TestMain(m *testing.M) {
	klog.SetOutput(io.Discard) // some calls fail as they should
	flag.Parse()
	if *beServer {
		if err := serveChat(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve starts a bookshop and returns its address.
func serve(t *testing.T, info *serviceinfo.ServiceInfo, opts ...server.Option) (string, *store.Store) {
	t.Helper()
	books := store.New()
	bound, err := bookshop.Bind(info, shop.NewShopService(books))
	if err != nil {
		t.Fatal(err)
	}
	return run(t, bound, &struct{}{}, opts...), books
}

// run starts a server on a free port and returns its address. It runs until
// the tests end: netpoll closes the number of a listener's file several
// times, and by the second time it may be that of another test's connection.
func run(t *testing.T, info *serviceinfo.ServiceInfo, handler any, opts ...server.Option) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := server.NewServer(append(opts, server.WithListener(listener))...)
	if err := s.RegisterService(info, handler); err != nil {
		t.Fatal(err)
	}
	go s.Run() // an error shows in the calls
	return listener.Addr().String()
}

func dial(t *testing.T, info *serviceinfo.ServiceInfo, address string, opts ...client.Option) client.Client {
	t.Helper()
	c, err := client.NewClient(info, append(opts,
		client.WithHostPorts(address), client.WithDestService("shop"), client.WithRPCTimeout(20*time.Second))...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newServer returns a server of ours that logs nothing, and whose calls have any time, since machines that
// run tests are slow.
func newServer(opts ...rpc.ServerOption) *rpc.Server {
	silent := rpc.Logger(slog.New(slog.DiscardHandler))
	return rpc.NewServer(append([]rpc.ServerOption{silent, rpc.QueueTimeout(0), rpc.TaskExpiry(0)}, opts...)...)
}

// call is one call of the list that internal/interop shares with the peers in
// other languages.
type call struct {
	Name   string
	Method string
	Args   json.RawMessage
}

func loadCalls(t *testing.T) ([]call, *schema.Service) {
	t.Helper()
	text, err := os.ReadFile("../../internal/interop/testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	var calls []call
	if err := json.Unmarshal(text, &calls); err != nil {
		t.Fatal(err)
	}
	file, list := thriftidl.Load("shop.thrift", thriftidl.Sources(shop.IDL()))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	service := file.Service("Shop")
	calls = slices.DeleteFunc(calls, func(c call) bool { return service.Method(c.Method) == nil })
	return calls, service
}

// makeCalls makes the calls with a Kitex client, and compares the results with
// those of a Thrum client and server.
func makeCalls(t *testing.T, info *serviceinfo.ServiceInfo, c client.Client) {
	t.Helper()
	calls, service := loadCalls(t)
	ours := newServer()
	if err := ours.Register(shop.NewShopService(store.New())); err != nil {
		t.Fatal(err)
	}
	reference := rpctest.Serve(t, ours)
	for _, each := range calls {
		method := service.Method(each.Method)
		args, err := converter(t, method.Args()).AppendThrift(nil, each.Args)
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := thrums(t.Context(), reference, method, args)
		got, err := invoke(t.Context(), info, c, each.Method, args)
		var app *remote.TransError
		switch {
		case wantErr != nil:
			if !errors.As(err, &app) || app.TypeID() != remote.InternalError {
				t.Errorf("%s: got the error %v, want an exception for %v", each.Name, err, wantErr)
			}
		case err != nil:
			t.Errorf("%s: %v", each.Name, err)
		case !method.Oneway():
			result := converter(t, method.Result())
			if g, w := normal(t, result, got), normal(t, result, want); g != w {
				t.Errorf("%s:\n got %s\nwant %s", each.Name, g, w)
			}
		}
	}
}

// thrums makes a call with Thrum on both sides.
func thrums(ctx context.Context, c rpc.Caller, method *schema.Method, args []byte) (result []byte, err error) {
	err = c.Invoke(ctx, &rpc.Invocation{
		Method:     method.Name(),
		Oneway:     method.Oneway(),
		AppendArgs: func(dst []byte) ([]byte, error) { return append(dst, args...), nil },
		ReadResult: func(b []byte) error {
			result = bytes.Clone(b)
			return nil
		},
	})
	return result, err
}

// invoke calls a method with encoded arguments and returns the encoded result.
func invoke(ctx context.Context, info *serviceinfo.ServiceInfo, c client.Client, method string, encoded []byte) ([]byte, error) {
	m := info.Methods[method]
	args := m.NewArgs()
	if _, err := codec.Unmarshal(encoded, args); err != nil {
		return nil, err
	}
	if m.OneWay() {
		return nil, c.Call(ctx, method, args, nil)
	}
	result := m.NewResult()
	if err := c.Call(ctx, method, args, result); err != nil {
		return nil, err
	}
	return codec.Marshal(result)
}

func converter(t *testing.T, def *schema.StructDef) *transcode.Converter {
	t.Helper()
	c, err := transcode.New(def, transcode.NonFinite(transcode.NonFiniteStrings))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// normal returns an encoded value as JSON in which all arrays are sorted, since
// maps and sets have no order.
func normal(t *testing.T, c *transcode.Converter, encoded []byte) string {
	t.Helper()
	text, _, err := c.AppendJSON(nil, encoded)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(sorted(v))
}

func sorted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = sorted(v[k])
		}
	case []any:
		texts := make([]string, len(v))
		for i := range v {
			texts[i] = fmt.Sprint(sorted(v[i]))
		}
		slices.Sort(texts)
		return texts
	}
	return v
}

// eventually waits until something that no reply tells of has happened.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("not within %v: %s", patience, what)
			return
		}
	}
}
