package transcodesuite

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cloudwego/dynamicgo/conv"
	"github.com/cloudwego/dynamicgo/conv/j2t"
	"github.com/cloudwego/dynamicgo/conv/t2j"
	dynamic "github.com/cloudwego/dynamicgo/thrift"

	"github.com/thrum-rpc/thrum/bench/internal/same"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file holds conversions of HTTP against dynamicgo's over its options.

const partsIDL = `
struct Sub { 1: string x, 2: i32 y }
struct Req {
  1: i64 id (api.path = "id")
  2: string q (api.query = "q")
  3: i32 n (api.query = "n", api.header = "X-N")
  4: optional string h (api.header = "X-H")
  5: required bool b (api.cookie = "b")
  6: double d (api.query = "d")
  7: list<i32> l (api.query = "l")
  8: string text
  9: i64 js (api.js_conv = "")
  10: optional i32 o (api.cookie = "o")
  11: Sub sub
  12: binary bin (api.header = "X-Bin")
  13: map<string, i32> m (api.query = "m")
  14: required string must
  15: Sub s (api.query = "s")
}
struct Resp {
  1: i32 status (api.http_code = "status")
  2: string h (api.header = "X-H")
  3: i64 c (api.cookie = "c")
  4: list<i32> l (api.header = "X-L")
  5: string text
  6: i64 js (api.js_conv = "")
  7: Sub sub
  8: bool b (api.header = "X-B")
  9: Sub s (api.header = "X-S")
}
service S { Resp call(1: Req req) }
`

// partsTypes returns the request and the reply on both sides.
func partsTypes(t *testing.T) (req, resp *schema.StructDef, peerReq, peerResp *dynamic.TypeDescriptor) {
	t.Helper()
	return typesOf(t, partsIDL, "Req", "Resp")
}

// typesOf returns what the method call takes and returns.
func typesOf(t *testing.T, idl, takes, returns string) (req, resp *schema.StructDef, peerReq, peerResp *dynamic.TypeDescriptor) {
	t.Helper()
	file, list := thriftidl.Load("p.thrift", thriftidl.Sources(map[string][]byte{"p.thrift": []byte(idl)}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	service, err := dynamic.NewDescritorFromContent(context.Background(), "p.thrift", idl, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	m, err := service.LookupFunctionByMethod("call")
	if err != nil {
		t.Fatal(err)
	}
	return file.Struct(takes), file.Struct(returns), m.Request().Struct().FieldById(1).Type(), m.Response().Struct().FieldById(0).Type()
}

// partTexts are values that stand in parts of a request.
var partTexts = []struct {
	place string
	name  string
	key   string // in the body
	texts []string
	json  bool // whether the text is the JSON of the value
}{
	{"path", "id", "id", []string{"7", "-9223372036854775808"}, true},
	{"query", "q", "q", []string{"text", "a b"}, false},
	{"query", "n", "n", []string{"1", "-5"}, true}, {"header", "X-N", "", []string{"2147483647"}, true},
	{"header", "X-H", "h", []string{"x", "é"}, false},
	{"cookie", "b", "b", []string{"true", "false"}, true},
	{"query", "d", "d", []string{"1.5", "-1e300", "3"}, true},
	{"query", "l", "l", []string{"1,2,3", "[4,5]", "6"}, false},
	{"cookie", "o", "o", []string{"12"}, true},
	{"header", "X-Bin", "bin", []string{"AAE=", "/w=="}, false},
	{"query", "m", "m", []string{`{"a":1}`, `{}`}, true},
	{"query", "s", "s", []string{`{"x":"in","y":2}`}, true},
}

// randomRequest gives each field a value in its part, in the body, if fallback
// is set, or nowhere.
func randomRequest(r *rand.Rand, fallback bool) *memoryRequest {
	req := &memoryRequest{path: map[string][]string{}, query: map[string][]string{}, header: map[string][]string{}, cookie: map[string][]string{}}
	places := map[string]map[string][]string{"path": req.path, "query": req.query, "header": req.header, "cookie": req.cookie}
	body := map[string]json.RawMessage{}
	for _, p := range partTexts {
		text := p.texts[r.IntN(len(p.texts))]
		switch r.IntN(3) {
		case 0:
			places[p.place][p.name] = []string{text}
		case 1:
			if fallback && p.key != "" {
				if body[p.key] = json.RawMessage(text); !p.json {
					if body[p.key], _ = json.Marshal(text); p.key == "l" {
						body[p.key] = json.RawMessage("[" + strings.Trim(text, "[]") + "]")
					}
				}
			}
		}
	}
	for key, value := range map[string]string{"text": `"t\u0041"`, "js": `12`, "sub": `{"x":"y"}`, "must": `"m"`} {
		if r.IntN(4) > 0 {
			body[key] = json.RawMessage(value)
		}
	}
	if r.IntN(4) == 0 && body["js"] != nil {
		body["js"] = json.RawMessage(`"34"`)
	}
	req.body, _ = json.Marshal(body)
	return req
}

// optionPairs are options of dynamicgo with ours of the same meaning.
var optionPairs = []struct {
	name string
	peer func(*conv.Options)
	ours []transcode.HTTPOption
}{
	{"plain", func(*conv.Options) {}, nil},
	{"fallback", func(o *conv.Options) { o.ReadHttpValueFallback = true }, []transcode.HTTPOption{transcode.BodyFallback()}},
	{"optional", func(o *conv.Options) { o.WriteOptionalField = true }, []transcode.HTTPOption{transcode.WriteAbsent(schema.Optional)}},
	{"default", func(o *conv.Options) { o.WriteDefaultField = true }, []transcode.HTTPOption{transcode.WriteAbsent(schema.Default)}},
	{"required", func(o *conv.Options) { o.WriteRequireField = true }, []transcode.HTTPOption{transcode.WriteAbsent(schema.Required)}},
	{"raw", func(o *conv.Options) { o.NoBase64Binary = true }, []transcode.HTTPOption{transcode.RawBinary()}},
	{"unknown", func(o *conv.Options) { o.DisallowUnknownField = true }, []transcode.HTTPOption{transcode.RejectUnknown()}},
	{"strings", func(o *conv.Options) { o.String2Int64 = true }, []transcode.HTTPOption{transcode.NumberStrings()}},
}

func TestRequestsBecomeTheSameThriftAsWithDynamicgo(t *testing.T) {
	def, _, desc, _ := partsTypes(t)
	for _, pair := range optionPairs {
		c, err := transcode.NewHTTP(def, append([]transcode.HTTPOption{transcode.EmptyAbsent()}, pair.ours...)...)
		if err != nil {
			t.Fatal(err)
		}
		options := conv.Options{EnableHttpMapping: true, EnableValueMapping: true}
		pair.peer(&options)
		peer := j2t.NewBinaryConv(options)
		r := rand.New(rand.NewPCG(1, 1))
		agreed, refused := 0, 0
		for range 2000 {
			req := randomRequest(r, options.ReadHttpValueFallback)
			ours, err := c.AppendThrift(nil, req)
			theirs, peerErr := peer.Do(context.WithValue(context.Background(), conv.CtxKeyHTTPRequest, peerRequest{req}), desc, req.body)
			shown := fmt.Sprintf("%s: path %v, query %v, header %v, cookie %v, body %s", pair.name, req.path, req.query, req.header, req.cookie, req.body)
			if (err == nil) != (peerErr == nil) {
				t.Fatalf("%s: ours says %v, dynamicgo %v", shown, err, peerErr)
			}
			if err != nil {
				refused++
				continue
			}
			a, err := same.Message(ours)
			if err != nil {
				t.Fatalf("%s: %v", shown, err)
			}
			b, err := same.Message(theirs)
			if err != nil || string(a) != string(b) {
				t.Fatalf("%s:\nours      %x\ndynamicgo %x (%v)", shown, ours, theirs, err)
			}
			agreed++
		}
		if agreed < 100 {
			t.Errorf("%s: only %d requests were converted, %d refused", pair.name, agreed, refused)
		}
	}
}

func TestThriftBecomesTheSameReplyAsWithDynamicgo(t *testing.T) {
	_, def, _, desc := partsTypes(t)
	for _, pair := range []struct {
		name string
		peer conv.Options
		ours []transcode.HTTPOption
	}{
		{"plain", conv.Options{}, nil},
		{"kitex", conv.Options{UseKitexHttpEncoding: true}, []transcode.HTTPOption{transcode.CommaLists()}},
		{"long", conv.Options{Int642String: true}, []transcode.HTTPOption{transcode.Int64Strings()}},
	} {
		c, err := transcode.NewHTTP(def, pair.ours...)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := transcode.New(def)
		if err != nil {
			t.Fatal(err)
		}
		pair.peer.EnableHttpMapping, pair.peer.EnableValueMapping = true, true
		peer := t2j.NewBinaryConv(pair.peer)
		r := rand.New(rand.NewPCG(2, 2))
		for range 2000 {
			var members []string
			for _, m := range []string{`"status":404`, `"h":"x y"`, `"c":-7`, `"l":[1,2]`, `"text":"t\""`, `"js":5`, `"sub":{"x":"y","y":1}`, `"b":true`, `"s":{"x":"z"}`} {
				if pair.name == "kitex" && strings.HasPrefix(m, `"s"`) {
					continue // Go's rendering of a map
				}
				if r.IntN(2) == 0 {
					members = append(members, m)
				}
			}
			thrift, err := plain.AppendThrift(nil, []byte("{"+strings.Join(members, ",")+"}"))
			if err != nil {
				t.Fatal(err)
			}
			var ours, theirs memoryReply
			a, _, err := c.AppendReply(nil, thrift, &ours)
			b, peerErr := peer.Do(context.WithValue(context.Background(), conv.CtxKeyHTTPResponse, peerReply{&theirs}), desc, thrift)
			if err != nil || peerErr != nil {
				t.Fatalf("%s %v: ours says %v, dynamicgo %v", pair.name, members, err, peerErr)
			}
			x, _ := replyForm(append(ours.lines, a...))
			y, _ := replyForm(append(theirs.lines, b...))
			if string(x) != string(y) {
				t.Fatalf("%s %v:\nours\n%s\ndynamicgo\n%s", pair.name, members, x, y)
			}
		}
	}
}

const elementsIDL = `
struct Deep { 1: i32 own, 2: string lang (api.cookie = "lang") }
struct Item { 1: string name, 2: string tenant (api.header = "Tenant"), 3: optional i32 n (api.query = "n"), 4: Deep deep }
struct Req { 1: list<Item> items, 2: map<string, Item> named, 3: list<list<Deep>> nested, 4: Item one }
service S { Req call(1: Req req) }
`

func TestElementsGetWhatTheyGetFromDynamicgo(t *testing.T) {
	def, _, desc, _ := typesOf(t, elementsIDL, "Req", "Req")
	// deep is always there: where it is not, ours makes it of the cookie.
	item := func(r *rand.Rand) string {
		members := []string{[]string{`"deep":{"own":1}`, `"deep":{}`}[r.IntN(2)]}
		for _, m := range []string{`"name":"a"`, `"tenant":"own"`, `"n":9`} {
			if r.IntN(2) == 0 {
				members = append(members, m)
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	for _, fallback := range []bool{false, true} {
		var opts []transcode.HTTPOption
		if fallback {
			opts = append(opts, transcode.BodyFallback())
		}
		c, err := transcode.NewHTTP(def, opts...)
		if err != nil {
			t.Fatal(err)
		}
		peer := j2t.NewBinaryConv(conv.Options{EnableHttpMapping: true, ReadHttpValueFallback: fallback})
		r := rand.New(rand.NewPCG(3, 3))
		for range 2000 {
			req := &memoryRequest{path: map[string][]string{}, query: map[string][]string{}, header: map[string][]string{}, cookie: map[string][]string{}}
			for _, p := range []struct {
				part        map[string][]string
				name, value string
			}{{req.header, "Tenant", "t"}, {req.query, "n", "4"}, {req.cookie, "lang", "en"}} {
				if r.IntN(3) > 0 {
					p.part[p.name] = []string{p.value}
				}
			}
			req.body = fmt.Appendf(nil, `{"items":[%s,%s],"named":{"k":%s},"nested":[[{"own":1},{}],[]],"one":%s}`, item(r), item(r), item(r), item(r))
			ours, err := c.AppendThrift(nil, req)
			theirs, peerErr := peer.Do(context.WithValue(context.Background(), conv.CtxKeyHTTPRequest, peerRequest{req}), desc, req.body)
			shown := fmt.Sprintf("fallback %t: query %v, header %v, cookie %v, body %s", fallback, req.query, req.header, req.cookie, req.body)
			if err != nil || peerErr != nil {
				t.Fatalf("%s: ours says %v, dynamicgo %v", shown, err, peerErr)
			}
			a, err := same.Message(ours)
			if err != nil {
				t.Fatalf("%s: %v", shown, err)
			}
			b, err := same.Message(theirs)
			if err != nil || string(a) != string(b) {
				t.Fatalf("%s:\nours      %x\ndynamicgo %x (%v)", shown, ours, theirs, err)
			}
		}
	}
}
