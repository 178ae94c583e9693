package gateway_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/gateway"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

const parts = `
struct Page { 1: string etag (api.header = "ETag"), 2: i32 status (api.http_code = ""), 3: string seen (api.cookie = "seen"),
  4: string text (go.tag = "json:\"body\""), 5: i64 big (api.js_conv = "") }
struct File { 1: binary data (api.raw_body = ""), 2: string kind (api.header = "Content-Type") }
exception Gone { 1: string message, 2: string hint (api.header = "Hint") } (api.http_code = "410")
service Pages {
  Page page(1: string id (api.path = "id"), 2: i64 big (api.js_conv = "", api.body = "big")) throws (1: Gone gone) (api.post = "/pages/:id")
  File file() (api.get = "/file")
}`

// newPages returns a gateway for parts and its backend.
func newPages(t *testing.T, opts ...gateway.Option) (*gateway.Gateway, *backend) {
	t.Helper()
	f, list := thriftidl.Load("p.thrift", thriftidl.Sources(map[string][]byte{"p.thrift": []byte(parts)}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	b := &backend{service: f.Service("Pages")}
	g, err := gateway.New([]*schema.File{f}, b, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return g, b
}

func TestFieldsOfAResultGoWhereAnnotationsSay(t *testing.T) {
	g, b := newPages(t)
	for _, x := range []struct {
		verb, uri, reply string
		code             int
		header, body     string
	}{
		{"POST", "/pages/1", `{"success":{"etag":"e1","status":203,"seen":"a b","text":"t","big":7}}`, 203, "Etag: e1|Set-Cookie: seen=\"a b\"; Path=/|Content-Type: application/json", `{"body":"t","big":"7"}`},
		{"POST", "/pages/1", `{"success":{}}`, 200, "Etag: |Set-Cookie: |Content-Type: application/json", `{}`},
		{"GET", "/file", `{"success":{"data":"/w==","kind":"image/png"}}`, 200, "Content-Type: image/png", "\xff"},
		{"GET", "/file", `{"success":{"data":"/w=="}}`, 200, "Content-Type: application/octet-stream", "\xff"},
		{"POST", "/pages/1", `{"gone":{"message":"m","hint":"h"}}`, 410, "Hint: |Content-Type: " + gateway.ProblemType, `"exception":{"message":"m","hint":"h"}`},
		{"POST", "/pages/1", `{"success":{"etag":"a\u0001"}}`, 502, "Etag: ", "cannot hold"},
		{"POST", "/Pages/page", `{"success":{"etag":"e1","status":203,"text":"t","big":7}}`, 200, "Etag: ", `{"etag":"e1","status":203,"text":"t","big":7}`},
	} {
		b.reply = x.reply
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(x.verb, x.uri, strings.NewReader(`{"big":"12"}`[:len(`{"big":"12"}`)*min(1, strings.Count(x.uri, "pages"))])))
		for _, line := range strings.Split(x.header, "|") {
			name, want, _ := strings.Cut(line, ": ")
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s %s: %s is %q, want %q", x.uri, x.reply, name, got, want)
			}
		}
		if w.Code != x.code || !strings.Contains(w.Body.String(), x.body) {
			t.Errorf("%s %s: %d %s", x.uri, x.reply, w.Code, w.Body)
		}
		if strings.HasPrefix(x.uri, "/pages") && b.args != `{"id":"1","big":12}` && b.args != `{"big":12,"id":"1"}` {
			t.Errorf("called with %s", b.args)
		}
	}
}

func TestMappingOptionsAreHeeded(t *testing.T) {
	g, b := newPages(t, gateway.Mapping(transcode.ReplyParts(nil)))
	b.reply = `{"success":{"etag":"e1","status":203}}`
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest("POST", "/pages/1", nil))
	if w.Code != 200 || w.Body.String() != `{"etag":"e1","status":203}`+"\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
