package generic_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/schema"
)

const shopIDL = `
struct Item { 1: required i64 id, 2: string name }
exception NotFound { 1: string what }
exception Busy { 1: i32 seconds }
service Base { string name() }
service Shop extends Base {
	Item get(1: i64 id, 2: list<string> options) throws (1: NotFound missing, 2: Busy busy)
	void put(1: Item item)
	oneway void touch(1: i64 id)
}
`

func shop(t testing.TB) *schema.Service {
	t.Helper()
	file, list := thriftidl.Load("shop.thrift", thriftidl.Sources(map[string][]byte{"shop.thrift": []byte(shopIDL)}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return file.Service("Shop")
}

// store answers the calls of a Shop and tells what it was touched with.
func store(t testing.TB, touched chan<- int64) generic.Handler {
	return func(_ context.Context, m *schema.Method, args dynamic.Value) (any, error) {
		switch m.Name() {
		case "name":
			return "the shop", nil
		case "touch":
			v, _ := args.Get(dynamic.Name("id"))
			id, err := v.Int()
			touched <- id
			return nil, err
		case "put":
			return nil, nil
		}
		v, err := args.Get(dynamic.Name("id"))
		if err != nil {
			return nil, err
		}
		id, err := v.Int()
		if err != nil {
			return nil, err
		}
		switch {
		case id < 0:
			f := m.Result().FieldByName("missing")
			b, err := dynamic.AppendAny(nil, f.Type(), map[string]any{"what": "nothing below 0"})
			if err != nil {
				t.Error(err)
			}
			return nil, &generic.Exception{Field: f, Value: dynamic.NewValue(f.Type(), b)}
		case id == 0:
			return nil, nil
		case id == 99:
			return nil, errors.New("out of order")
		}
		return map[string]any{"id": id, "name": "item"}, nil
	}
}

// clients call the store, directly and through a proxy.
func clients(t *testing.T, touched chan<- int64) map[string]*generic.Client {
	s := shop(t)
	direct := generic.New(rpctest.Start(t, generic.Serve(s, store(t, touched))), s)
	proxied := generic.New(rpctest.Start(t, generic.Serve(s, generic.Proxy(direct))), s)
	return map[string]*generic.Client{"directly": direct, "through a proxy": proxied}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestCallsByMapReturnResultsAndExceptions(t *testing.T) {
	touched := make(chan int64, 2)
	for how, c := range clients(t, touched) {
		ctx := within(t)
		x, err := c.Call(ctx, "get", map[string]any{"id": 7, "options": []string{"a"}})
		if item, ok := x.(map[string]any); err != nil || !ok || item["id"] != int64(7) || item["name"] != "item" {
			t.Errorf("%s: %v, %v", how, x, err)
		}
		if x, err := c.Call(ctx, "name", nil); x != "the shop" || err != nil {
			t.Errorf("%s: an inherited method: %v, %v", how, x, err)
		}
		if x, err := c.Call(ctx, "put", map[string]any{"item": map[string]any{"id": 1}}); x != nil || err != nil {
			t.Errorf("%s: %v, %v", how, x, err)
		}
		if x, err := c.Call(ctx, "touch", map[string]any{"id": 5}); x != nil || err != nil || <-touched != 5 {
			t.Errorf("%s: %v, %v", how, x, err)
		}
		_, err = c.Call(ctx, "get", map[string]any{"id": -1})
		var thrown *generic.Exception
		if !errors.As(err, &thrown) || thrown.Field.Name() != "missing" || err.Error() != "exception NotFound map[what:nothing below 0]" {
			t.Errorf("%s: %v", how, err)
		}
		var app *rpc.ApplicationException
		if _, err := c.Call(ctx, "get", map[string]any{"id": 0}); !errors.As(err, &app) || app.Type != rpc.MissingResult {
			t.Errorf("%s: no result: %v", how, err)
		}
		if _, err := c.Call(ctx, "get", map[string]any{"id": 99}); !errors.As(err, &app) || !strings.Contains(app.Message, "out of order") {
			t.Errorf("%s: %v", how, err)
		}
	}
}

func TestEncodedCallsPassBytesOn(t *testing.T) {
	for how, c := range clients(t, nil) {
		ctx := within(t)
		v, err := c.CallEncoded(ctx, "get", []byte("\x0a\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00"))
		if err != nil || v.Type().String() != "Item" || string(v.Raw()) != "\x0a\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x0b\x00\x02\x00\x00\x00\x04item\x00" {
			t.Errorf("%s: %x, %v", how, v.Raw(), err)
		}
		for _, args := range []string{"", "\x0a", "\x00\x00"} {
			if _, err := c.CallEncoded(ctx, "get", []byte(args)); diag.CodeOf(err) == 0 {
				t.Errorf("%s: %x was sent: %v", how, args, err)
			}
		}
	}
}

func TestCallsThatDoNotFitTheSchemaAreNotMade(t *testing.T) {
	c := generic.New(nobody{}, shop(t))
	for method, args := range map[string]map[string]any{
		"get": {"id": "7"}, "put": {"item": map[string]any{"name": "no id"}}, "touch": {"none": 1},
	} {
		if _, err := c.Call(context.Background(), method, args); diag.CodeOf(err) == 0 {
			t.Errorf("%s: %v", method, err)
		}
	}
	var app *rpc.ApplicationException
	if _, err := c.Call(context.Background(), "none", nil); !errors.As(err, &app) || app.Type != rpc.UnknownMethod {
		t.Error(err)
	}
}

// nobody must not be called.
type nobody struct{}

func (nobody) Invoke(context.Context, *rpc.Invocation) error {
	return errors.New("a call was made")
}

func TestTheSchemaIsReplacedUnderLoadWithoutALostCall(t *testing.T) {
	c := clients(t, nil)["directly"]
	ctx := within(t)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := int64(1); ; n++ {
				select {
				case <-done:
					return
				default:
				}
				x, err := c.Call(ctx, "get", map[string]any{"id": 1 + n%50})
				if item, ok := x.(map[string]any); err != nil || !ok || item["id"] != 1+n%50 {
					t.Errorf("%v, %v", x, err)
					return
				}
			}
		}()
	}
	for range 100 {
		s := shop(t)
		if c.Replace(s); c.Service() != s {
			t.Error("another schema is in use")
		}
	}
	close(done)
	wg.Wait()
}
