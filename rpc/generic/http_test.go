package generic_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file tests calls with HTTP requests.

// message is an HTTP request or reply whose parts are lines such as "query id=1".
type message struct {
	parts []string
	body  string
}

func (m *message) values(place, name string) (all []string) {
	for _, p := range m.parts {
		if v, ok := strings.CutPrefix(p, place+" "+name+"="); ok {
			all = append(all, v)
		}
	}
	return all
}

func (m *message) value(place, name string) (string, bool) {
	all := m.values(place, name)
	if len(all) == 0 {
		return "", false
	}
	return all[0], true
}

func (m *message) Param(name string) (string, bool)  { return m.value("path", name) }
func (m *message) Query(name string) []string        { return m.values("query", name) }
func (m *message) Header(name string) []string       { return m.values("header", name) }
func (m *message) Cookie(name string) (string, bool) { return m.value("cookie", name) }
func (m *message) IsForm() bool                      { return false }
func (m *message) Form(string) []string              { return nil }
func (m *message) Body() []byte                      { return []byte(m.body) }
func (m *message) URI() string                       { return "/" }
func (m *message) SetStatus(code int)                { m.parts = append(m.parts, fmt.Sprint("status ", code)) }
func (m *message) SetHeader(name, value string)      { m.parts = append(m.parts, "header "+name+"="+value) }
func (m *message) SetCookie(name, value string)      { m.parts = append(m.parts, "cookie "+name+"="+value) }

const httpIDL = `
struct Item { 1: i64 id, 2: string name, 3: string tag (api.header = "etag") }
struct Query { 1: i64 id (api.path = "id"), 2: list<string> options (api.query = "o"), 3: string note }
exception NotFound { 1: string what }
service Shop {
	Item get(1: Query q) throws (1: NotFound missing)
	Item two(1: i64 id (api.path = "id"), 2: string note)
	void put(1: Item item) (api.http_code = "205")
	oneway void touch(1: i64 id (api.query = "id"))
}
`

func httpShop(t testing.TB) *schema.Service {
	t.Helper()
	file, list := thriftidl.Load("http.thrift", thriftidl.Sources(map[string][]byte{"http.thrift": []byte(httpIDL)}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return file.Service("Shop")
}

func httpClient(t *testing.T, touched chan<- int64, opts ...generic.Option) *generic.Client {
	s := httpShop(t)
	return generic.New(rpctest.Start(t, generic.ServeMaps(s, func(_ context.Context, m *schema.Method, args map[string]any) (any, error) {
		switch m.Name() {
		case "get":
			args = args["q"].(map[string]any)
		case "touch":
			touched <- args["id"].(int64)
			return nil, nil
		case "put":
			return nil, nil
		}
		switch args["id"] {
		case int64(-1):
			return nil, generic.Throw(m, "NotFound", map[string]any{"what": "it"})
		case int64(0):
			return nil, nil
		}
		return map[string]any{"id": args["id"], "name": fmt.Sprint(args["options"], args["note"]), "tag": "t1"}, nil
	})), s, opts...)
}

func TestCallsByHTTPTakeAndGiveTheirParts(t *testing.T) {
	touched := make(chan int64, 1)
	c := httpClient(t, touched)
	for _, test := range []struct {
		method string
		req    message
		reply  string // its parts and its body
		kind   transcode.Body
	}{
		{"get", message{[]string{"path id=7", "query o=a", "query o=b"}, `{"note": "n"}`}, `header Etag=t1, status 200: {"id":7,"name":"[a b]n"}`, transcode.JSONBody},
		{"two", message{[]string{"path id=8"}, `{"note": "n"}`}, `header Etag=t1, status 200: {"id":8,"name":"<nil>n"}`, transcode.JSONBody},
		{"put", message{nil, `{"name": "n"}`}, `status 205: `, transcode.NoBody},
		{"touch", message{[]string{"query id=5"}, ""}, `status 202: `, transcode.NoBody},
	} {
		var reply message
		body, kind, err := c.CallHTTP(within(t), test.method, &test.req, &reply)
		if got := strings.Join(reply.parts, ", ") + ": " + string(body); got != test.reply || kind != test.kind || err != nil {
			t.Errorf("%s: %s, %v, %v", test.method, got, kind, err)
		}
	}
	if id := <-touched; id != 5 {
		t.Errorf("touched with %d", id)
	}
}

func TestErrorsOfCallsByHTTPHaveTheirTypes(t *testing.T) {
	c := httpClient(t, nil)
	call := func(method string, req message) error {
		var reply message
		body, kind, err := c.CallHTTP(within(t), method, &req, &reply)
		if len(reply.parts) > 0 || body != nil || kind != transcode.NoBody {
			t.Errorf("an error has a reply: %v, %s", reply, body)
		}
		return err
	}
	var argument *generic.ArgumentError
	var part *transcode.PartError
	if err := call("get", message{[]string{"path id=x"}, ""}); !errors.As(err, &argument) || !errors.As(err, &part) || part.Name != "id" {
		t.Errorf("%#v", err)
	}
	var thrown *generic.Exception
	if err := call("get", message{[]string{"path id=-1"}, ""}); !errors.As(err, &thrown) || string(thrown.JSON) != `{"what":"it"}` || !thrown.Value.Exists() {
		t.Errorf("%#v", err)
	}
	var app *rpc.ApplicationException
	if err := call("get", message{[]string{"path id=0"}, ""}); !errors.As(err, &app) || app.Type != rpc.MissingResult {
		t.Errorf("%#v", err)
	}
	if err := call("none", message{}); !errors.As(err, &app) || app.Type != rpc.UnknownMethod {
		t.Errorf("%#v", err)
	}
	var bad *generic.ReplyError
	for _, reply := range []string{"", "\x0c\x00\x00", "\x0b\x00\x00\x00\x00\x00\x01x\x00", "\x0c\x00\x01\x08\x00\x01\x00", "\x0b\x00\x01\x00\x00\x00\x01x\x00"} {
		c = generic.New(answer(reply), httpShop(t))
		if err := call("get", message{}); !errors.As(err, &bad) || diag.CodeOf(err) == 0 {
			t.Errorf("%x: %v", reply, err)
		}
	}
}

func TestOptionsOfHTTPAreHeeded(t *testing.T) {
	c := httpClient(t, nil, generic.Conversion(transcode.Int64Strings()), generic.HTTP(transcode.ConvertExceptions()))
	for id, want := range map[string]string{"7": `header Etag=t1, status 200: {"id":"7","name":"[] <nil>"}`, "-1": `status 422: {"what":"it"}`} {
		var reply message
		body, _, err := c.CallHTTP(within(t), "get", &message{parts: []string{"path id=" + id, "query o="}}, &reply)
		if got := strings.Join(reply.parts, ", ") + ": " + string(body); got != want || err != nil {
			t.Errorf("%s, %v", got, err)
		}
	}
}
