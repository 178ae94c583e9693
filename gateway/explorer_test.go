package gateway_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/gateway"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
)

// index asks for GET /.
func index(g http.Handler, accept string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

func TestBrowsersGetThePageWhereItIsAllowed(t *testing.T) {
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	plain, _ := newItems(t)
	if got := index(plain, browser).Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("without the option: %s", got)
	}
	g, _ := newItems(t, gateway.Explorer())
	for accept, want := range map[string]string{
		browser: "text/html; charset=utf-8", "Text/HTML ; q=1": "text/html; charset=utf-8",
		"*/*": "application/json", "": "application/json", "application/json": "application/json", "text/htmlx": "application/json",
	} {
		w := index(g, accept)
		if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != want || w.Header().Get("Vary") != "Accept" {
			t.Errorf("Accept: %s: %d, %s", accept, w.Code, got)
		}
	}
}

// The page's policy lets its own script run and nothing else.
func TestThePageRunsItsOwnScriptOnly(t *testing.T) {
	g, _ := newItems(t, gateway.Explorer())
	w := index(g, "text/html")
	_, rest, _ := strings.Cut(w.Body.String(), "<script>")
	script, _, ok := strings.Cut(rest, "</script>")
	hash := sha256.Sum256([]byte(script))
	policy := w.Header().Get("Content-Security-Policy")
	if !ok || !strings.Contains(policy, "script-src 'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("policy: %s", policy)
	}
}

func TestExamplesOfArgumentsAreAccepted(t *testing.T) {
	g, b := newItems(t)
	var all struct {
		Services []struct {
			Name    string
			Methods []struct {
				Name      string
				Arguments json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(index(g, "").Body.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	for _, s := range all.Services {
		for _, m := range s.Methods {
			b.reply = "{}"
			r := httptest.NewRequest(http.MethodPost, "/"+s.Name+"/"+m.Name, strings.NewReader(string(m.Arguments)))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			if w.Code == http.StatusBadRequest || b.method != m.Name && s.Name == "Items" {
				t.Errorf("%s.%s %s: %d %s", s.Name, m.Name, m.Arguments, w.Code, w.Body)
			}
		}
	}
}

// loadText returns the services of a text.
func loadText(t *testing.T, text string) http.Handler {
	t.Helper()
	f, list := thriftidl.Load("a.thrift", thriftidl.Sources(map[string][]byte{"a.thrift": []byte(text)}))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New([]*schema.File{f}, waiting{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestExamplesStayShort(t *testing.T) {
	var text strings.Builder
	text.WriteString("struct S0 { 1: i32 n }\n")
	for depth := 1; depth <= 5; depth++ {
		fmt.Fprintf(&text, "struct S%d {", depth)
		for field := 1; field <= 30; field++ {
			fmt.Fprintf(&text, " %d: S%d f%d,", field, depth-1, field)
		}
		text.WriteString("}\n")
	}
	body := index(loadText(t, text.String()+"service A { void f(1: S5 s) }"), "").Body.String()
	if len(body) > 4000 || !strings.Contains(body, `"f1":{"f1":`) {
		t.Errorf("%d bytes", len(body))
	}
}

func TestMethodsThatStreamAreLeftOut(t *testing.T) {
	g := loadText(t, `struct A {} service S { A one(1: A a) (streaming.mode = "unary"), A two(1: A a) (streaming.mode = "server") }`)
	if body := index(g, "").Body.String(); !strings.Contains(body, "/S/one") || strings.Contains(body, "/S/two") {
		t.Errorf("routes: %s", body)
	}
}
