package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/gateway"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
)

// FuzzGateway sends any request: the gateway answers with a status that exists,
// with JSON or a problem document, and what it sends on is a value of the
// method's arguments.
func FuzzGateway(f *testing.F) {
	for _, s := range []struct{ verb, uri, header, body string }{
		{"GET", "/items/7", "", ""},
		{"GET", "/scalars?flag=true&tiny=-8&ratio=NaN&color=GREEN&data=AA", "", ""},
		{"GET", "/lists?numbers=1,2&counts=%7B%22a%22:1%7D&size={}", "a, b", ""},
		{"PUT", "/items/5?rev=3&page=2", "session=s1", `{"title": "t", "dimensions": {"width": 2}, "id": 99}`},
		{"POST", "/body", "me", `{"a": "x", "b": 1}, "who": 1`},
		{"POST", "/keys", "", `{"b": 2, "choice": {"text": "t"}, "\u0061": "a"}`},
		{"POST", "/form", "", "name=a&n=1"},
		{"POST", "/raw", "", "\xff"},
		{"POST", "/node", "", strings.Repeat(`{"next":`, 100)},
		{"POST", "/Items/get", "", `{"id": 1e2}`},
		{"OPTIONS", "*", "", ""},
		{"HEAD", "/files/%2F/..//%zz", "", ""},
	} {
		f.Add(s.verb, s.uri, s.header, []byte(s.body), []byte("\x0b\x00\x00\x00\x00\x00\x01a\x00"))
	}
	file := load(f, "testdata/items.thrift")
	service := file.Service("Items")
	f.Fuzz(func(t *testing.T, verb, uri, header string, body, reply []byte) {
		u, err := url.ParseRequestURI(uri)
		if err != nil || verb == "" {
			t.Skip()
		}
		caller := callerFunc(func(_ context.Context, c *rpc.Invocation) error {
			encoded, err := c.AppendArgs(nil)
			if err != nil {
				return err
			}
			if _, err := convertJSON(service.Method(c.Method).Args(), encoded); err != nil {
				t.Errorf("%s was called with %q: %v", c.Method, encoded, err)
			}
			if c.ReadResult == nil {
				return nil
			}
			return c.ReadResult(reply)
		})
		g, err := gateway.New([]*schema.File{file}, caller)
		if err != nil {
			t.Fatal(err)
		}
		for _, media := range []string{"application/json", "application/x-www-form-urlencoded"} {
			r := httptest.NewRequest("GET", "/", strings.NewReader(string(body)))
			r.Method, r.URL, r.RequestURI = verb, u, uri
			r.Header = http.Header{
				"Content-Type": {media}, "Cookie": {header}, "X-Words": {header}, "X-Who": {header}, "X-Revision": {header},
			}
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			checkReply(t, w)
		}
	})
}

func checkReply(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if http.StatusText(w.Code) == "" {
		t.Errorf("status %d", w.Code)
	}
	switch media := w.Header().Get("Content-Type"); {
	case w.Code >= 400:
		var p gateway.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || media != gateway.ProblemType || p.Status != w.Code || p.Title == "" {
			t.Errorf("%d %s %v: %s", w.Code, media, err, w.Body)
		}
	case w.Body.Len() > 0 && !json.Valid(w.Body.Bytes()):
		t.Errorf("%d is no JSON: %s", w.Code, w.Body)
	}
}
