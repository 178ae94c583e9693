package gateway_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/parcels"
	"github.com/thrum-rpc/thrum/examples/shop/store"
	"github.com/thrum-rpc/thrum/gateway"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/schema"
)

// newShop returns a gateway for the example's services behind caller.
func newShop(t *testing.T, caller rpc.Caller, opts ...gateway.Option) *gateway.Gateway {
	t.Helper()
	var files []*schema.File
	for _, path := range []string{"shop.thrift", "parcels.thrift"} {
		f, list := thriftidl.Load(path, thriftidl.Sources(shop.IDL()), thriftidl.MemoryOnly())
		if err := list.Err(); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	g, err := gateway.New(files, caller, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// everything has a value of every type. Its maps and sets have one element
// each, since the order of more is the service's.
const everything = `{"flag":true,"tiny":-128,"small":32767,"medium":-2147483648,"large":9223372036854775807,` +
	`"ratio":-0.1,"text":"тест \u0000","data":"AP8=","format":"AUDIO","numbers":[1,-1],"words":["a"],` +
	`"byText":{"":1e+300},"byNumber":{"-1":"minus one"},"byEnum":{"PAPERBACK":[{"name":"A","born":1900},{"name":"B"}]},` +
	`"byStruct":[[{"aisle":1,"level":2},[3]]],"author":{"name":"C"},"subject":{"name":"top","narrower":[{"name":"below","narrower":[]}]},` +
	`"delivery":{"parcel":{"lines":["x"],"country":"FR"}},"nested":[{"x":[true,false]},{}],"maybe":0,"label":"l","must":1,` +
	`"listed":["c"],"counted":{"two":2},"shelf":{"aisle":5,"level":6},"blobs":["AQ==",""],"shelves":[{"aisle":7,"level":8}],"byBool":{"true":1}}`

func TestShopAnswersOverHTTP(t *testing.T) {
	caller := rpctest.Start(t, shop.NewShopService(store.New()), parcels.NewParcelsService(store.Parcels{}))
	golden(t, "shop.golden", exchangeAll(newShop(t, caller), new(backend), []string{
		"GET /v1/version",
		"GET /v1/ping",
		"POST /v1/notes" + asJSON + `{"line": "rain"}`,
		"GET /v1/books/2?currency=USD",
		"GET /v1/books/2\nX-Currency: GBP",
		"GET /v1/books/99",
		"GET /v1/books?tag=fiction&min_rating=4.05",
		"GET /v1/books?q=earth&format=AUDIO,EBOOK&size=1",
		"GET /v1/books/1/cover",
		"POST /v1/books/1/views\nCookie: reader=Ada",
		"GET /v1/subjects",
		"GET /v1/stock?ids=5",
		"POST /v1/orders\nX-Customer: Ada" + asJSON + `{"lines": [{"book": 2, "quantity": 2}], "delivery": {"pickup": {"aisle": 1, "level": 2}}}`,
		"POST /v1/orders\nX-Customer: Ada" + asJSON + `{"lines": [{"book": 2}]}`,
		"POST /v1/orders\nX-Customer: Ada" + asJSON + `{"lines": [{"quantity": 2}]}`,
		"POST /v1/orders\nX-Customer: Ada",
		"POST /v1/orders\nX-Customer: Ada" + asJSON + `null`,
		"GET /v1/orders/1",
		"PUT /v1/orders/1/delivery" + asJSON + `{"email": "ada@example.org"}`,
		"PUT /v1/orders/1/delivery" + asJSON + `{"email": "ada@example.org", "pickup": {"aisle": 1, "level": 2}}`,
		"DELETE /v1/orders/1?reason=rain",
		"DELETE /v1/orders/1",
		"POST /Shop/echo" + asJSON + `{"value": ` + everything + `}`,
		"POST /Shop/describe" + asJSON + `{"flag": true, "tiny": -8, "words": ["a", "b"], "counts": {"x": 1}, "format": "EBOOK", "data": "Af8="}`,
		"POST /v1/drill?how=NOT_FOUND",
		"POST /v1/drill?how=OUT_OF_STOCK",
		"POST /v1/drill?how=UNDECLARED",
		"POST /v1/drill?how=NONE",
		"GET /v1/parcels/6ba7b810-9dad-11d1-80b4-00c04fd430c8",
		"GET /v1/parcels/6ba7b810",
	}))
}

func TestEverythingComesBackAsItWent(t *testing.T) {
	g := newShop(t, rpctest.Start(t, shop.NewShopService(store.New())))
	got := exchange(g, new(backend), "POST /v1/echo"+asJSON+everything)
	if want := "\n< " + everything + "\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got %s", got)
	}
}

func TestServicesThatAreGoneAre502(t *testing.T) {
	l := rpctest.NewListener()
	server := rpc.NewServer(rpc.QueueTimeout(0), rpc.TaskExpiry(0))
	if err := server.Register(shop.NewShopService(store.New())); err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	client, err := rpctest.Dial(l)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	g := newShop(t, client)
	status := func() string { return exchange(g, new(backend), "GET /v1/version") }
	if got := status(); !strings.Contains(got, "< 200 ") {
		t.Errorf("while the service runs: %s", got)
	}
	if got := exchange(g, new(backend), "GET /v1/parcels/6ba7b810-9dad-11d1-80b4-00c04fd430c8"); !strings.Contains(got, "< 501 ") {
		t.Errorf("a service that the server does not have: %s", got)
	}
	server.Close()
	if got := status(); !strings.Contains(got, "< 502 ") {
		t.Errorf("when the service is gone: %s", got)
	}
}

func TestSlowServicesAre504(t *testing.T) {
	slow := &rpc.Service{Name: "Shop", Methods: []rpc.Method{{Name: "version",
		Serve: func(ctx context.Context, _, dst []byte) ([]byte, error) {
			<-ctx.Done()
			return dst, ctx.Err()
		}}}}
	g := newShop(t, rpctest.Start(t, slow), gateway.Timeout(20*time.Millisecond))
	if got := exchange(g, new(backend), "GET /v1/version"); !strings.Contains(got, "< 504 ") {
		t.Error(got)
	}
}
