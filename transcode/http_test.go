package transcode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

type httpOpts = []transcode.HTTPOption

const everyPart = `
enum Color { RED = 1, GREEN = 2 }
struct Size { 1: required i32 width, 2: i32 height (api.query = "h") }
struct Paging { 1: i32 page (api.query = "page"), 2: optional string order, 3: string all (api.body = "all") }
struct Outer { 1: i32 code (api.body = "code"), 2: i16 second (go.tag = "json:\"code\""), 3: Inner inner }
struct Inner { 1: i64 code (api.body = "code"), 2: i8 own, 3: list<Inner> more }
struct Every {
  1: i64 id (api.path = "id")
  2: list<i32> numbers (api.query = "n")
  3: string agent (api.header = "user-agent")
  4: string session (api.cookie = "sid")
  5: string title (api.body = "heading")
  6: string plain
  7: optional string fallback (api.cookie = "f", api.header = "F", api.body = "f", api.path = "f", api.query = "f")
  8: string hidden (api.none = "")
  9: binary raw (api.raw_body = "")
  10: string uri (api.raw_uri = "")
  11: Color color (api.query = "color")
  12: Size size (api.query = "size")
  13: Paging paging
  14: set<string> words (api.header = "Words")
  15: bool flag (api.query = "flag")
  16: double ratio (api.query = "ratio")
  17: binary data (api.query = "data")
  18: i64 big (api.js_conv = "", api.query = "big")
  19: string form (api.form = "field")
  20: Size only (api.no_body_struct = "")
  21: list<Size> sizes (api.query = "sizes")
  22: string agwName (agw.source = "query", agw.to_snake = "")
  23: map<string, i32> counts (api.query = "counts")
}
`

func TestFieldsComeFromEveryPartOfARequest(t *testing.T) {
	d := parseIDL(t, everyPart).Struct("Every")
	const uri = `"uri":"/uri?x=1"`
	for _, x := range []struct {
		body  string
		parts []string
		want  string // of the fields beside raw and uri
	}{
		{"", nil, `{}`},
		{"", []string{"path id=7"}, `{"id":7}`},
		{"", []string{"query n=1", "query n=2", "query n=-3"}, `{"numbers":[1,2,-3]}`},
		{"", []string{"query n=1,2 , 3"}, `{"numbers":[1,2,3]}`}, {"", []string{"query n=[1, 2]"}, `{"numbers":[1,2]}`}, {"", []string{"query n="}, `{"numbers":[]}`},
		{"", []string{"header User-Agent=a", "header User-Agent=b"}, `{"agent":"a,b"}`},
		{"", []string{"cookie sid=s s"}, `{"session":"s s"}`},
		{`{"heading":"t","plain":"p","id":1,"hidden":"h","agent":5,"uri":{},"unknown":[]}`, nil, `{"title":"t","plain":"p"}`},
		{`{"heading":"t","title":"u"}`, nil, `{"title":"t"}`}, {`{"title":"u","plain":"p"}`, nil, `{"plain":"p"}`},
		{`{"f":"body"}`, nil, `{"fallback":"body"}`},
		{`{"f":"body"}`, []string{"cookie f=c"}, `{"fallback":"c"}`},
		{`{"f":"body"}`, []string{"cookie f=c", "header F=h"}, `{"fallback":"h"}`},
		{`{"f":{}}`, []string{"cookie f=c", "header F=h", "query f=q"}, `{"fallback":"q"}`},
		{`{"f":null}`, []string{"cookie f=c", "path f=p", "query f=q"}, `{"fallback":"p"}`},
		{"", []string{"query color=GREEN", "query flag=1", "query ratio=1.5", "query data=AAE=", "query big="}, `{"color":"GREEN","flag":true,"ratio":1.5,"data":"AAE=","big":0}`},
		{"", []string{"query color=2", "query flag=false", "query big=12"}, `{"color":"GREEN","flag":false,"big":12}`},
		{"", []string{`query size={"width":3,"height":4}`}, `{"size":{"width":3,"height":4}}`}, {"", []string{`query size= null `}, `{}`},
		{"", []string{`query sizes={"width":3}`, `query sizes={"width":4}`}, `{"sizes":[{"width":3},{"width":4}]}`},
		{"", []string{`query sizes=[{"width":3}]`, `query counts={"a":1}`}, `{"sizes":[{"width":3}],"counts":{"a":1}}`},
		{`{"paging":{"order":"up","page":9},"all":"x"}`, []string{"query page=2"}, `{"paging":{"page":2,"order":"up","all":"x"}}`},
		{`{"all":"x","paging":{"order":"up"}}`, nil, `{"paging":{"order":"up","all":"x"}}`},
		{`{"all":"x"}`, nil, `{"paging":{"all":"x"}}`}, {``, []string{"query page=2"}, `{"paging":{"page":2}}`}, {`{"paging":{}}`, nil, `{"paging":{}}`},
		{"", []string{"header Words=b, a", "header Words=c"}, `{"words":["b","a","c"]}`},
		{"", []string{`header Words=["b,", "a"]`}, `{"words":["b,","a"]}`}, {"", []string{`header Words=[x]`}, `{"words":["[x]"]}`},
		{"heading=%", []string{"form", "form heading=t", "form field=v", "form plain=p", "form f=x"}, `{"form":"v","title":"t","plain":"p","fallback":"x"}`},
		{`{"only":{"width":1}}`, nil, `{}`},
		{`{}`, []string{"query agw_name=x"}, `{"agwName":"x"}`},

		{"", []string{"path id=x"}, "syntax id in path id"}, {"", []string{"path id=9223372036854775808"}, "out-of-range id in path id"},
		{"", []string{"query n=1", "query n=x"}, "syntax numbers[1] in query n"}, {"", []string{"query n=1,,2"}, "syntax numbers[1] in query n"},
		{"", []string{"query n=[1,x]"}, "syntax numbers[1] in query n"},
		{"", []string{"query color=PINK"}, "unknown-enum color in query color"}, {"", []string{"query flag=yes"}, "syntax flag in query flag"},
		{"", []string{"query ratio=NaN"}, "invalid-data ratio in query ratio"}, {"", []string{"query ratio=1e999"}, "out-of-range ratio in query ratio"},
		{"", []string{"query data=!"}, "invalid-data data in query data"}, {"", []string{"cookie sid=\xff"}, "invalid-data session in cookie sid"},
		{"", []string{`query size={"height":4}`}, "missing-required size in query size"}, {"", []string{`query size={"width":4} x`}, "trailing-data size in query size"},
		{"", []string{"header Words=a,a"}, "duplicate-key words in header Words"}, {"", []string{`query sizes={"width":3}`, `query sizes=null`}, "invalid-data sizes[1] in query sizes"},
		{"", []string{"query h=2"}, "missing-required only -1"},
		{`{"heading":1}`, nil, "type-mismatch title 11"}, {`{"heading":"a","heading":"b"}`, nil, "duplicate-key  15"},
		{`{"all":"a","all":"b"}`, nil, "duplicate-key  11"}, {`{"all":1}`, nil, "type-mismatch paging.all 7"},
		{`{"paging":{"order":1}}`, nil, "type-mismatch paging.order 19"}, {`{"paging":[]}`, nil, "type-mismatch paging 10"},
		{`[]`, nil, "type-mismatch  0"}, {`{} x`, nil, "trailing-data  3"}, {`{"x":`, nil, "unexpected-eof  5"}, {`{"x":1,}`, nil, "syntax  7"},
	} {
		r := newRequest(x.body, x.parts...)
		out, err := httpConverter(t, d).AppendThrift([]byte("before"), r)
		if err != nil && string(out) != "before" {
			t.Errorf("after an error dst is %q", out)
		}
		got := asJSON(t, d, out[6:], err)
		if err == nil { // raw and uri are in all of them
			got = strings.NewReplacer(uri+",", "", ","+uri, "", uri, "").Replace(got)
			if i := strings.Index(got, `"raw":"`); i >= 0 {
				n := i + len(`"raw":"`) + strings.IndexByte(got[i+7:], '"') + 1
				got = got[:i] + got[n:]
			}
			got = strings.NewReplacer("{,", "{", ",,", ",", ",}", "}").Replace(got)
		}
		if got != x.want && sortedFields(got) != sortedFields(x.want) {
			t.Errorf("%s %q: %s, want %s (%v)", x.body, x.parts, got, x.want, err)
		}
	}
}

// sortedFields makes texts of the same members alike.
func sortedFields(s string) string {
	b := strings.Split(strings.Trim(s, "{}"), ",")
	for i := range b {
		for j := i; j > 0 && b[j] < b[j-1]; j-- {
			b[j], b[j-1] = b[j-1], b[j]
		}
	}
	return strings.Join(b, ",")
}

func TestRawPartsAreTakenAsTheyStand(t *testing.T) {
	d := parseIDL(t, everyPart).Struct("Every")
	c := httpConverter(t, d, transcode.RequestParts(func(f *schema.Field) []transcode.Part {
		p := transcode.AnnotatedParts(f)
		if p != nil && p[0].Place >= transcode.InRawBody {
			return p
		}
		return []transcode.Part{{Place: transcode.Nowhere}}
	}))
	out, err := c.AppendThrift(nil, newRequest("\xffany"))
	if got := asJSON(t, d, out, err); got != `{"raw":"/2FueQ==","uri":"/uri?x=1"}` {
		t.Error(got)
	}
}

func TestOneKeyOfTheBodyServesSeveralFields(t *testing.T) {
	d := parseIDL(t, everyPart).Struct("Outer")
	c := httpConverter(t, d, transcode.FieldNames(func(f *schema.Field) string { return "" }))
	for body, want := range map[string]string{
		`{"code":5}`: `{"code":5,"inner":{"code":5}}`,
		`{"inner":{"own":1,"code":"x"},"code":5}`:  `{"code":5,"inner":{"own":1,"code":5}}`,
		`{"code":5,"inner":{"more":[{"code":7}]}}`: `{"code":5,"inner":{"more":[{"code":5}],"code":5}}`,
		`{"inner":{"own":1,"own":2},"code":5}`:     "duplicate-key inner 18",
		`{"inner":{"own":1}}`:                      `{"inner":{"own":1}}`,
		`{"inner":null,"code":null}`:               `{}`,
	} {
		out, err := c.AppendThrift(nil, newRequest(body))
		if got := asJSON(t, d, out, err); sortedFields(got) != sortedFields(want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	two := httpConverter(t, d)
	out, err := two.AppendThrift(nil, newRequest(`{"code":5}`))
	if got := asJSON(t, d, out, err); sortedFields(got) != sortedFields(`{"code":5,"second":5,"inner":{"code":5}}`) {
		t.Errorf("an api.body beside a json tag: %s", got)
	}
}

func TestOptionsForRequests(t *testing.T) {
	d := parseIDL(t, `
struct In { 1: required string must, 2: optional string may }
struct Req { 1: optional i32 n (api.query = "n", api.header = "N"), 2: string s (api.cookie = "s"), 3: required string must, 4: In in, 5: string t = "d" }
`).Struct("Req")
	for _, x := range []struct {
		opts  httpOpts
		body  string
		parts []string
		want  string
	}{
		{nil, `{}`, nil, "missing-required  0"}, {nil, ``, nil, "missing-required  -1"},
		{httpOpts{transcode.AllowMissing()}, `{"n":1,"s":"x"}`, nil, `{}`},
		{httpOpts{transcode.AllowMissing(), transcode.RejectUnknown()}, `{"n":1,"s":"x"}`, nil, `{}`},
		{httpOpts{transcode.AllowMissing(), transcode.RejectUnknown()}, `{"m":1}`, nil, `unknown-field  1`},
		{httpOpts{transcode.AllowMissing(), transcode.BodyFallback()}, `{"n":1,"s":"x"}`, nil, `{"n":1,"s":"x"}`},
		{httpOpts{transcode.AllowMissing(), transcode.BodyFallback()}, `{"n":1,"s":"x"}`, []string{"query n=2"}, `{"n":2,"s":"x"}`},
		{httpOpts{transcode.Traceback()}, `{}`, []string{"query must=q", "header Must=h"}, `{"must":"q"}`},
		{httpOpts{transcode.Traceback()}, ``, []string{"header Must=h", "cookie t=T"}, `{"must":"h","t":"T"}`},
		{httpOpts{transcode.Traceback()}, `{"must":"b","in":{}}`, []string{"cookie must=c", "cookie may=m"}, `{"must":"b","in":{"must":"c"}}`},
		{httpOpts{transcode.AllowMissing(), transcode.OmitMappingErrors()}, ``, []string{"query n=x", "header N=3"}, `{"n":3}`},
		{httpOpts{transcode.AllowMissing(), transcode.OmitMappingErrors()}, ``, []string{"query n=x"}, `{}`},
		{httpOpts{transcode.AllowMissing(), transcode.EmptyAbsent()}, ``, []string{"query n=", "header N=3", "cookie s="}, `{"n":3}`},
		{httpOpts{transcode.AllowMissing(), transcode.EmptyNumbers()}, ``, []string{"query n="}, `{"n":0}`},
		{httpOpts{transcode.WriteAbsent(schema.Optional, schema.Default, schema.Required)}, ``, nil, `{"n":0,"s":"","must":"","t":"d"}`},
		{httpOpts{transcode.RequestParts(nil)}, `{"n":1,"must":"m","s":"x"}`, []string{"query n=2"}, `{"n":1,"must":"m","s":"x"}`},
		{httpOpts{transcode.UsualParts(func(f *schema.Field) []transcode.Part {
			return []transcode.Part{{Place: transcode.InQuery, Name: f.Name()}, {Place: transcode.InBody, Name: f.Name()}}
		})}, `{"must":"b"}`, []string{"query t=q"}, `{"must":"b","t":"q"}`},
		{httpOpts{transcode.RequestParts(func(f *schema.Field) []transcode.Part {
			if f.Name() != "must" {
				return nil
			}
			return []transcode.Part{{Name: "mine", Read: func(r transcode.HTTPRequest) []string { return r.Header("Mine") }}}
		})}, `{"must":"b"}`, []string{"header Mine=own"}, `{"must":"own","in":{"must":"own"}}`},
	} {
		out, err := httpConverter(t, d, x.opts...).AppendThrift(nil, newRequest(x.body, x.parts...))
		if got := asJSON(t, d, out, err); sortedFields(got) != sortedFields(x.want) {
			t.Errorf("%s %q: %s, want %s", x.body, x.parts, got, x.want)
		}
	}
}

func TestRequestsOfMethods(t *testing.T) {
	f := parseIDL(t, `
struct Req { 1: i64 id (api.path = "id"), 2: string title }
struct Plain { 1: string a }
union U { 1: i32 n, 2: string s }
service S {
  void one(1: Req req)
  void plain(3: Plain p)
  void two(1: i64 id (api.path = "id"), 2: Plain plain, 3: Req req)
  void body(1: string who (api.header = "Who"), 2: Plain plain (api.body = ""))
  void none()
  void either(1: U u)
  void whole(1: Plain plain (api.body = ""))
}`)
	s := f.Service("S")
	for _, x := range []struct {
		method, body string
		parts        []string
		want         string
	}{
		{"one", `{"title":"t"}`, []string{"path id=7"}, `{"req":{"id":7,"title":"t"}}`}, {"one", ``, nil, `{"req":{}}`},
		{"one", `{"title":1}`, nil, `type-mismatch req.title 9`}, {"one", ``, []string{"path id=x"}, `syntax req.id in path id`},
		{"plain", `{"a":"x"}`, nil, `{"p":{"a":"x"}}`},
		{"two", `{"plain":{"a":"x"},"req":{"title":"t"}}`, []string{"path id=7"}, `{"id":7,"plain":{"a":"x"},"req":{"id":7,"title":"t"}}`},
		{"body", `{"a":"x"}`, []string{"header Who=me"}, `{"who":"me","plain":{"a":"x"}}`}, {"body", ` `, nil, `{}`},
		{"body", `{"a":"x"}, "who": "you"`, nil, `trailing-data plain 9`},
		{"none", `junk`, nil, `{}`},
		{"either", `{"u":{"n":1}}`, nil, `{"u":{"n":1}}`}, {"whole", `{"a":"x"}`, nil, `{"plain":{"a":"x"}}`},
	} {
		m := s.Method(x.method)
		c, err := transcode.NewHTTPMethod(m)
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.AppendArgs(nil, newRequest(x.body, x.parts...))
		if got := asJSON(t, m.Args(), out, err); sortedFields(got) != sortedFields(x.want) {
			t.Errorf("%s %s %q: %s, want %s", x.method, x.body, x.parts, got, x.want)
		}
	}
}

func TestMethodsAndServicesChooseTheCaseOfNames(t *testing.T) {
	s := parseIDL(t, `
struct Camel { 1: string OwnCase } (agw.to_lower_camel_case = "")
struct Off { 1: string OwnCase } (agw.to_snake = "false")
struct Req { 1: string FirstName, 2: string second_name (agw.to_lower_camel_case = ""), 3: Camel camel, 4: Off off, 5: string x (api.key = "Key") }
service S {
  void ofService(1: Req req)
  void ofMethod(1: Req req) (agw.to_lower_camel_case = "true")
} (agw.to_snake = "true")`).Service("S")
	for method, body := range map[string]string{
		"ofService": `{"first_name":"a","secondName":"b","camel":{"ownCase":"c"},"off":{"OwnCase":"d"},"Key":"e"}`,
		"ofMethod":  `{"firstName":"a","secondName":"b","camel":{"ownCase":"c"},"off":{"OwnCase":"d"},"Key":"e"}`,
	} {
		m := s.Method(method)
		c, err := transcode.NewHTTPMethod(m, transcode.RejectUnknown())
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.AppendArgs(nil, newRequest(body))
		if got := asJSON(t, m.Args(), out, err); got != `{"req":{"FirstName":"a","second_name":"b","camel":{"OwnCase":"c"},"off":{"OwnCase":"d"},"x":"e"}}` {
			t.Errorf("%s: %s", method, got)
		}
	}
}

func TestAnnotationsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, idl := range []string{
		`struct S { 1: i32 n (api.raw_body = "") }`, `struct S { 1: binary n (api.raw_uri = "") }`, `struct S { 1: i32 n (api.no_body_struct = "") }`,
		`struct S { 1: S s (api.no_body_struct = "") }`, `struct S { 1: i32 n (api.key = "a"), 2: i32 a }`,
		`struct S { 1: double n (api.http_code = "") }`,
	} {
		if _, err := transcode.NewHTTP(parseIDL(t, idl).Struct("S")); diag.CodeOf(err) != diag.Unsupported {
			t.Errorf("%s: %v", idl, err)
		}
	}
}

func TestStructsThatHoldEachOtherTooOftenAreRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("struct S0 { 1: i32 q (api.query = \"q\") }\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&b, "struct S%d { 1: S%d a, 2: S%[2]d b }\n", i, i-1)
	}
	if _, err := transcode.NewHTTP(parseIDL(t, b.String()).Struct("S39")); diag.CodeOf(err) != diag.Unsupported {
		t.Error(err)
	}
}

// The peer's defects, where they concern other parts of a request than JSON: see
// also peer_test.go.

func TestNumbersInPartsAreNeverChangedToFit(t *testing.T) {
	d := parseIDL(t, `struct S { 1: i8 a (api.query = "a"), 2: i16 b (api.query = "b"), 3: i32 c (api.query = "c"), 4: list<i8> d (api.query = "d") }`).Struct("S")
	c := httpConverter(t, d)
	for _, part := range []string{"a=300", "a=-129", "a=1.7", "b=40000", "c=2147483648", "d=1,300", "d=[300]", "a=9223372036854775808"} {
		out, err := c.AppendThrift(nil, newRequest("", "query "+part))
		if code := diag.CodeOf(err); code != diag.OutOfRange && code != diag.Syntax {
			t.Errorf("%s became %x, %v", part, out, err)
		}
	}
}

func TestEnumNamesAreKnownInParts(t *testing.T) {
	d := parseIDL(t, `enum E { A = 5 } struct S { 1: E e (api.cookie = "e"), 2: set<E> many (api.query = "many") }`).Struct("S")
	out, err := httpConverter(t, d).AppendThrift(nil, newRequest("", "cookie e=A", "query many=A,7"))
	if got := asJSON(t, d, out, err); got != `{"e":"A","many":["A",7]}` {
		t.Error(got)
	}
}

func TestCyclicRequestStructsCompileAndConvert(t *testing.T) {
	d := parseIDL(t, `struct Node { 1: string name (api.query = "name"), 2: optional Node next, 3: list<Node> all }`).Struct("Node")
	c := httpConverter(t, d)
	for body, want := range map[string]string{
		``:                              `{"name":"q"}`,
		`{"next":{"next":{}}}`:          `{"name":"q","next":{"name":"q","next":{"name":"q"}}}`,
		`{"all":[{"name":"own"}]}`:      `{"name":"q","all":[{"name":"q"}]}`,
		strings.Repeat(`{"next":`, 100): "depth-limit " + strings.TrimPrefix(strings.Repeat(".next", 64), ".") + " 512",
	} {
		out, err := c.AppendThrift(nil, newRequest(body, "query name=q"))
		if got := asJSON(t, d, out, err); got != want {
			t.Errorf("%.50s: %s, want %s", body, got, want)
		}
	}
}
