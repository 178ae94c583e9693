package gateway_test

import (
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/gateway"
)

// checkRequest compares what a Request says with what net/http and net/url say.
func checkRequest(t *testing.T, query, cookies, form string) {
	t.Helper()
	r := httptest.NewRequest("POST", "/", nil)
	r.URL.RawQuery = query
	r.Header["Cookie"] = []string{cookies, "last=1"}
	got := new(gateway.Request)
	got.Reset(httptest.NewRequest("GET", "/?left=over", nil), []byte("left=over"), true, []string{"left"}, []string{"over"})
	got.Query("left")
	got.Form("left")
	got.Reset(r, []byte(form), true, nil, nil)
	for _, x := range []struct {
		text string
		get  func(string) []string
		ok   bool
	}{{query, got.Query, got.CheckQuery()}, {form, got.Form, got.CheckForm()}} {
		want, err := url.ParseQuery(x.text)
		if (err == nil) != x.ok {
			t.Errorf("%q: whole is %t, net/url says %v", x.text, x.ok, err)
		}
		for name := range want {
			if !slices.Equal(x.get(name), want[name]) {
				t.Errorf("%q: %q is %q, net/url says %q", x.text, name, x.get(name), want[name])
			}
		}
		if v := x.get("left"); len(v) != 0 {
			t.Errorf("%q: %q from nowhere", x.text, v)
		}
	}
	seen := map[string]bool{}
	for _, c := range r.Cookies() {
		if seen[c.Name] {
			continue
		}
		seen[c.Name] = true
		if v, ok := got.Cookie(c.Name); !ok || v != c.Value {
			t.Errorf("%q: cookie %q is %q, net/http says %q", cookies, c.Name, v, c.Value)
		}
	}
}

func TestRequestsAreTakenApartAsNetHTTPDoes(t *testing.T) {
	for _, query := range []string{"", "a=1", "a=1&b=2&a=3", "a&=b&&a=%20+x", "a=%zz&b=1", "a;b=1&c=2", "%61=1", "a=b=c", strings.Repeat("x=1&y=%41&", 60) + "z"} {
		for _, cookies := range []string{"", "a=1", "a=1; b=\"2\"; a=3", " a = 1;b", "a=\x01; a=ok", "a=\"", "a=x y"} {
			checkRequest(t, query, cookies, query)
		}
	}
	r := httptest.NewRequest("GET", "http://host/p%20q?x=1", nil)
	r.Header.Set("X-A", "b")
	var got gateway.Request
	got.Reset(r, []byte("body"), false, []string{"id", "rest"}, []string{"7", "a/b"})
	if v, ok := got.Param("rest"); v != "a/b" || !ok {
		t.Errorf("parameter %q, %t", v, ok)
	}
	if v, ok := got.Param("none"); ok {
		t.Errorf("parameter %q from nowhere", v)
	}
	if got.URI() != "/p%20q?x=1" || string(got.Body()) != "body" || got.IsForm() || got.Form("body") != nil ||
		!slices.Equal(got.Header("X-A"), []string{"b"}) || !slices.Equal(got.Header("Host"), []string{"host"}) {
		t.Errorf("%+v", &got)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add("a=1&b=%41+x", "a=1; b=\"2\"", "a=1")
	f.Fuzz(func(t *testing.T, query, cookies, form string) {
		for i := range len(cookies) {
			if c := cookies[i]; c == '\r' || c == '\n' {
				t.Skip()
			}
		}
		checkRequest(t, query, cookies, form)
	})
}
