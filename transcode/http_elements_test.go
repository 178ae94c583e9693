package transcode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/transcode"
)

// This file holds request structs that are elements of lists and values of maps.

const elementsIDL = `
struct Item { 1: string name, 2: string tenant (api.header = "Tenant"), 3: i32 n (api.query = "n"), 4: i32 shared (api.body = "shared"), 5: Deep deep }
struct Deep { 1: string lang (api.cookie = "lang"), 2: i32 own, 3: string no (api.none = "") }
struct Plain { 1: string name }
union Either { 1: Item item, 2: i32 n }
struct Cart {
  1: list<Item> items
  2: map<string, Item> named
  3: list<map<i32, list<Deep>>> nested
  4: list<Plain> plain
  5: i32 shared
  6: list<Either> either
  7: list<Item> query (api.query = "items")
  8: map<Deep, Deep> keyed
  9: set<Deep> unique
}
`

func TestElementsAreRequestStructs(t *testing.T) {
	d := parseIDL(t, elementsIDL).Struct("Cart")
	tenant := []string{"header Tenant=t", "query n=4", "cookie lang=en"}
	for _, x := range []struct {
		opts  httpOpts
		body  string
		parts []string
		want  string
	}{
		{nil, `{"items":[{"name":"a"},{"name":"b","tenant":"own","n":9}]}`, tenant,
			`{"items":[{"tenant":"t","n":4,"name":"a","deep":{"lang":"en"}},{"tenant":"t","n":4,"name":"b","deep":{"lang":"en"}}]}`},
		{nil, `{"items":[{"name":"a"},{}]}`, nil, `{"items":[{"name":"a"},{}]}`},
		{nil, `{"items":[{"deep":{"own":1,"no":"x"}},{"deep":{"own":2}}]}`, tenant[2:], `{"items":[{"deep":{"lang":"en","own":1}},{"deep":{"lang":"en","own":2}}]}`},
		{nil, `{"items":[{"name":"a"},{"name":"b"}],"shared":3}`, nil, `{"shared":3,"items":[{"name":"a","shared":3},{"name":"b","shared":3}]}`},
		{nil, `{"named":{"k":{"name":"a"},"l":{}}}`, tenant[:1], `{"named":{"k":{"tenant":"t","name":"a"},"l":{"tenant":"t"}}}`},
		{nil, `{"nested":[{"1":[{"own":1},{}],"2":[]}]}`, tenant[2:], `{"nested":[{"1":[{"lang":"en","own":1},{"lang":"en"}],"2":[]}]}`},
		{nil, `{"plain":[{"name":"p"}]}`, tenant, `{"plain":[{"name":"p"}]}`},
		{nil, `{"either":[{"item":{"name":"a","n":1}},{"n":2}]}`, tenant, `{"either":[{"item":{"name":"a","n":1}},{"n":2}]}`},
		{nil, `{"keyed":[[{"own":1,"lang":"k"},{"own":2}]]}`, tenant, `{"keyed":[[{"own":1,"lang":"k"},{"lang":"en","own":2}]]}`},
		{nil, ``, append([]string{`query items=[{"name":"q","n":1}]`}, tenant...), `{"query":[{"name":"q","n":1}]}`},
		{nil, ``, append([]string{"form", `form items=[{"name":"f","n":1}]`, "form shared=5"}, tenant...), `{"items":[{"name":"f","n":1}],"shared":5}`},
		{httpOpts{transcode.BodyFallback()}, `{"items":[{"n":1},{"n":2,"tenant":"own"}]}`, tenant[:1], `{"items":[{"tenant":"t","n":1},{"tenant":"t","n":2}]}`},
		{httpOpts{transcode.RequestParts(nil)}, `{"items":[{"n":1,"shared":2}]}`, tenant, `{"items":[{"n":1,"shared":2}]}`},

		{nil, `{"items":[{},{}]}`, []string{"query n=x"}, "syntax items[0].n in query n"},
		{httpOpts{transcode.OmitMappingErrors()}, `{"items":[{},{}]}`, []string{"query n=x"}, `{"items":[{},{}]}`},
		{nil, `{"items":[{},{"name":1}]}`, nil, "type-mismatch items[1].name 21"},
		{nil, `{"unique":[{"own":1},{"own":1}]}`, tenant, "duplicate-key unique 21"},
		{nil, `{"items":[{},null]}`, nil, "type-mismatch items[1] 13"},
	} {
		out, err := httpConverter(t, d, x.opts...).AppendThrift(nil, newRequest(x.body, x.parts...))
		if got := asJSON(t, d, out, err); got != x.want {
			t.Errorf("%s %q:\n     %s\nwant %s (%v)", x.body, x.parts, got, x.want, err)
		}
	}
}

func TestElementsOfRepliesAreJSON(t *testing.T) {
	d := parseIDL(t, elementsIDL).Struct("Cart")
	thrift, err := converter(t, d).AppendThrift(nil, []byte(`{"items":[{"name":"a","tenant":"t"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var r response
	out, _, err := httpConverter(t, d).AppendReply(nil, thrift, &r)
	if err != nil || string(out) != `{"items":[{"name":"a","tenant":"t"}]}` || r.lines != nil {
		t.Errorf("%s %v %v", out, r.lines, err)
	}
}

// countingRequest counts how often it is asked for a cookie.
type countingRequest struct {
	*request
	asked int
}

func (r *countingRequest) Cookie(name string) (string, bool) {
	r.asked++
	return r.request.Cookie(name)
}

func TestWhatManyElementsAskForIsReadOnce(t *testing.T) {
	d := parseIDL(t, elementsIDL).Struct("Cart")
	c := httpConverter(t, d)
	body := `{"items":[` + strings.Repeat(`{"deep":{}},`, 1000) + `{"deep":{}}]}`
	for _, parts := range [][]string{nil, {"cookie lang=en"}} {
		r := &countingRequest{request: newRequest(body, parts...)}
		out, err := c.AppendThrift(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		if r.asked != 1 {
			t.Errorf("the cookie was read %d times", r.asked)
		}
		if n := strings.Count(string(out), "en"); n != 1001*len(parts) {
			t.Errorf("%d elements have the cookie", n)
		}
	}
}

func TestKeptValuesObeyTheLimits(t *testing.T) {
	d := parseIDL(t, `
struct Leaf { 1: list<list<i32>> lists (api.query = "q"), 2: list<Leaf> more }
struct Req { 1: list<Leaf> leaves }
`).Struct("Req")
	deep := func(levels int) string {
		return `{"leaves":[{},` + strings.Repeat(`{"more":[`, levels) + `{}` + strings.Repeat(`]}`, levels) + `]}`
	}
	for levels, want := range map[int]string{2: "", 3: "depth-limit"} {
		c := httpConverter(t, d, transcode.MaxDepth(10))
		_, err := c.AppendThrift(nil, newRequest(deep(levels), "query q=[[1]]"))
		if got := fmt.Sprint(err); (err == nil) != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%d levels: %v, want %q", levels, err, want)
		}
	}
	c := httpConverter(t, d, transcode.MaxSize(2000))
	_, err := c.AppendThrift(nil, newRequest(`{"leaves":[`+strings.Repeat(`{},`, 100)+`{}]}`, "query q=[["+strings.Repeat("1,", 50)+"1]]"))
	if err == nil || !strings.Contains(err.Error(), "size-limit") {
		t.Errorf("an output above the limit: %v", err)
	}
}
