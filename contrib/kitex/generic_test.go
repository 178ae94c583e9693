package kitex_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/client/genericclient"
	kitexgeneric "github.com/cloudwego/kitex/pkg/generic"
	"github.com/cloudwego/kitex/pkg/generic/descriptor"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/server/genericserver"
	"github.com/cloudwego/kitex/transport"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/idl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/schema"
)

// This file makes generic calls between Kitex and Thrum.

const echoIDL = `
struct Item {
	1: bool flag
	2: byte tiny
	3: i16 small
	4: i32 medium
	5: i64 large
	6: double ratio
	7: string name
	8: binary raw
	9: list<string> tags
	10: map<string, i32> counts
	11: map<i64, Item> byNumber
	12: optional Item next
}
exception Refused { 1: string why }
service Echo {
	Item echo(1: Item item) throws (1: Refused refused)
	string name(1: Item item)
	void nothing(1: Item item)
	oneway void tell(1: Item item)
}
`

// item is a value of Item as both sides have it in maps.
func item(name string) map[string]any {
	part := func(name string) map[string]any {
		return map[string]any{
			"flag": true, "tiny": int8(-7), "small": int16(-300), "medium": int32(1) << 30, "large": int64(-1) << 62,
			"ratio": 1.25, "name": name, "raw": []byte("\x00bytes"), "tags": []any{"a", "b"},
			"counts": map[any]any{"one": int32(1)}, "byNumber": map[any]any{},
		}
	}
	whole := part(name)
	whole["next"], whole["byNumber"] = part("next"), map[any]any{int64(5): part("five")}
	return whole
}

// itemJSON is a value of Item as both sides write it.
const itemJSON = `{"flag":true,"tiny":-7,"small":-300,"medium":1073741824,"large":-4611686018427387904,"ratio":1.25,` +
	`"name":"NAME","raw":"AGJ5dGVz","tags":["a","b"],"counts":{"one":1},"byNumber":{}}`

func echoService(t *testing.T) *schema.Service {
	t.Helper()
	source, err := idl.Open(idl.Memory(map[string][]byte{"echo.thrift": []byte(echoIDL)}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := source.Set().Service("Echo")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serveOurs serves on a TCP port until the test ends.
func serveOurs(t *testing.T, s *rpc.Service) string {
	t.Helper()
	server := newServer()
	if err := server.Register(s); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return l.Addr().String()
}

func dialOurs(t *testing.T, address string, opts ...rpc.ClientOption) *rpc.Client {
	t.Helper()
	c, err := rpc.Dial(within(t), "tcp", address, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// kinds are the generics of Kitex.
func kinds(t *testing.T) (maps, texts kitexgeneric.Generic) {
	t.Helper()
	provider := func() kitexgeneric.DescriptorProvider {
		p, err := kitexgeneric.NewThriftContentWithAbsIncludePathProvider("echo.thrift", map[string]string{"echo.thrift": echoIDL})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	maps, err := kitexgeneric.MapThriftGeneric(provider())
	if err != nil {
		t.Fatal(err)
	}
	if err := kitexgeneric.SetBinaryWithByteSlice(maps, true); err != nil {
		t.Fatal(err)
	}
	if texts, err = kitexgeneric.JSONThriftGeneric(provider()); err != nil {
		t.Fatal(err)
	}
	return maps, texts
}

func dialKitex(t *testing.T, g kitexgeneric.Generic, address string, protocol transport.Protocol) genericclient.Client {
	t.Helper()
	c, err := genericclient.NewClient("echo", g, client.WithHostPorts(address),
		client.WithTransportProtocol(protocol), client.WithRPCTimeout(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// canonical returns JSON with its members in order.
func canonical(t *testing.T, text []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// heard returns what a oneway call said.
func heard(told <-chan string) string {
	select {
	case name := <-told:
		return name
	case <-time.After(patience):
		return "nothing"
	}
}

// echoMaps answers on our side.
func echoMaps(told chan<- string) generic.MapHandler {
	return func(_ context.Context, m *schema.Method, args map[string]any) (any, error) {
		item, _ := args["item"].(map[string]any)
		switch name, _ := item["name"].(string); {
		case m.Name() == "tell":
			told <- name
			return nil, nil
		case m.Name() == "nothing":
			return nil, nil
		case m.Name() == "name":
			return name, nil
		case name == "refuse":
			return nil, generic.Throw(m, "Refused", map[string]any{"why": "as asked"})
		case name == "fail":
			return nil, errors.New("out of order")
		default:
			return item, nil
		}
	}
}

func TestKitexCallsOurMapsDirectlyAndThroughProxies(t *testing.T) {
	service, told := echoService(t), make(chan string, 1)
	direct := serveOurs(t, generic.ServeMaps(service, echoMaps(told)))
	proxy := serveOurs(t, generic.Serve(service, generic.Proxy(generic.New(dialOurs(t, direct), service))))
	behind := dialOurs(t, direct)
	relay := serveOurs(t, generic.Relay("", func(context.Context, string, dynamic.Node) (rpc.Caller, error) { return behind, nil }))
	maps, _ := kinds(t)
	type way struct {
		address  string
		protocol transport.Protocol
	}
	ways := map[string]way{"by a proxy": {proxy, transport.Framed}, "by a relay": {relay, transport.Framed}}
	for name, protocol := range transports {
		ways["directly, "+name] = way{direct, protocol}
	}
	for how, way := range ways {
		c := dialKitex(t, maps, way.address, way.protocol)
		x, err := c.GenericCall(within(t), "echo", item("an item"))
		if err != nil || !reflect.DeepEqual(x, any(item("an item"))) {
			t.Errorf("%s: %v, %v", how, x, err)
		}
		if x, err := c.GenericCall(within(t), "name", item("its name")); x != "its name" || err != nil {
			t.Errorf("%s: %v, %v", how, x, err)
		}
		if _, err := c.GenericCall(within(t), "nothing", item("")); err != nil {
			t.Errorf("%s: %v", how, err)
		}
		if _, err := c.GenericCall(within(t), "tell", item("told")); err != nil || heard(told) != "told" {
			t.Errorf("%s: %v", how, err)
		}
		if _, err := c.GenericCall(within(t), "echo", item("refuse")); err == nil || !strings.Contains(err.Error(), "as asked") {
			t.Errorf("%s: %v", how, err)
		}
		if _, err := c.GenericCall(within(t), "echo", item("fail")); err == nil || !strings.Contains(err.Error(), "out of order") {
			t.Errorf("%s: %v", how, err)
		}
	}
}

func TestKitexCallsOurJSON(t *testing.T) {
	service, err := generic.ServeJSON(echoService(t), func(_ context.Context, m *schema.Method, args []byte) ([]byte, error) {
		text := strings.TrimSuffix(strings.TrimPrefix(string(args), `{"item":`), "}")
		if strings.Contains(text, "refuse") {
			return nil, generic.ThrowJSON(m, "Refused", []byte(`{"why": "as asked"}`))
		}
		return []byte(text), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, texts := kinds(t)
	c := dialKitex(t, texts, serveOurs(t, service), transport.Framed)
	x, err := c.GenericCall(within(t), "echo", itemJSON)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := canonical(t, []byte(x.(string))), canonical(t, []byte(itemJSON)); got != want {
		t.Errorf("%s instead of %s", got, want)
	}
	if _, err := c.GenericCall(within(t), "echo", `{"name": "refuse"}`); err == nil || !strings.Contains(err.Error(), "as asked") {
		t.Error(err)
	}
}

// kitexEcho answers on Kitex's side. Its generic servers can neither answer with
// declared exceptions nor run oneway methods: v0.16.3 fails on the result that
// these do not have.
type kitexEcho struct {
	name func(request any) string
	say  func(name string) string
}

func (k *kitexEcho) GenericCall(_ context.Context, method string, request any) (any, error) {
	switch name := k.name(request); {
	case method == "nothing":
		return descriptor.Void{}, nil
	case method == "name":
		return k.say(name), nil
	case name == "fail":
		return nil, errors.New("out of order")
	default:
		return request, nil
	}
}

func serveKitex(t *testing.T, k *kitexEcho, g kitexgeneric.Generic) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := genericserver.NewServer(k, g, server.WithListener(l))
	go s.Run() // an error shows in the calls
	return l.Addr().String()
}

func TestOurClientCallsKitexsGenericServers(t *testing.T) {
	maps, texts := kinds(t)
	addresses := map[string]string{
		"maps": serveKitex(t, &kitexEcho{func(x any) string { s, _ := x.(map[string]any)["name"].(string); return s }, strings.Clone}, maps),
		"JSON": serveKitex(t, &kitexEcho{func(x any) string {
			var item struct{ Name string }
			if err := json.Unmarshal([]byte(x.(string)), &item); err != nil {
				return err.Error()
			}
			return item.Name
		}, strconv.Quote}, texts),
	}
	clients := map[string]*generic.Client{}
	for name, address := range addresses {
		for dialect, opts := range map[string][]rpc.ClientOption{"framed": nil, "plain": {rpc.Unframed()}, "ttheader": {rpc.TTHeader()}} {
			clients[name+", "+dialect] = generic.New(dialOurs(t, address, opts...), echoService(t))
		}
	}
	for server, c := range clients {
		x, err := c.Call(within(t), "echo", map[string]any{"item": item("an item")})
		if err != nil || !reflect.DeepEqual(x, any(item("an item"))) {
			t.Errorf("%s: %v, %v", server, x, err)
		}
		text, err := c.CallJSON(within(t), "echo", []byte(`{"item":`+itemJSON+`}`))
		if err != nil || canonical(t, text) != canonical(t, []byte(itemJSON)) {
			t.Errorf("%s: %s, %v", server, text, err)
		}
		if x, err := c.Call(within(t), "name", map[string]any{"item": item("its name")}); x != "its name" || err != nil {
			t.Errorf("%s: %v, %v", server, x, err)
		}
		// Without frames a reply of type void cannot be told from what follows: it has a STOP too many.
		if !strings.HasSuffix(server, "plain") {
			if x, err := c.Call(within(t), "nothing", map[string]any{"item": item("")}); x != nil || err != nil {
				t.Errorf("%s: %v, %v", server, x, err)
			}
		}
		var app *rpc.ApplicationException
		if _, err := c.Call(within(t), "echo", map[string]any{"item": item("fail")}); !errors.As(err, &app) || !strings.Contains(app.Message, "out of order") {
			t.Errorf("%s: %v", server, err)
		}
	}
}
