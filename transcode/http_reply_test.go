package transcode_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

const everyReply = `
enum Code { CREATED = 201, BAD = 9 }
struct Inner { 1: string a (api.header = "Inner-A"), 2: string b }
struct Plain { 1: string a (api.query = "a"), 2: i32 b }
struct Reply {
  1: string title
  2: i32 status (api.http_code = "")
  3: string etag (api.header = "e-tag")
  4: i64 visits (api.cookie = "visits")
  5: list<i32> numbers (api.header = "Numbers")
  6: Inner inner
  7: string hidden (api.none = "")
  8: string sought (api.query = "q")
  9: string renamed (api.body = "newName")
  10: binary data (api.header = "Data")
  11: bool flag (api.header = "Flag")
  12: Code code (agw.target = "header")
  13: list<string> words (api.cookie = "words")
  14: string gone (agw.target = "ignore")
  15: i64 big (api.js_conv = "")
  16: uuid id (api.header = "Id")
  17: Plain plain
  18: Plain asHeader (api.header = "Plain")
  19: double ratio (api.header = "Ratio")
}
struct Raw { 1: binary body (api.raw_body = ""), 2: string kind (api.header = "Content-Type"), 3: string other }
`

func TestFieldsGoToEveryPartOfAReply(t *testing.T) {
	f := parseIDL(t, everyReply)
	d := f.Struct("Reply")
	for _, x := range []struct {
		opts       httpOpts
		json       string // the struct
		body, rest string
	}{
		{nil, `{}`, `{}`, ""},
		{nil, `{"title":"t","sought":"s","renamed":"r","hidden":"h","gone":"g","big":"5"}`, `{"title":"t","sought":"s","newName":"r","big":"5"}`, ""},
		{nil, `{"status":404,"title":"t"}`, `{"title":"t"}`, "status 404"},
		{nil, `{"etag":"a\"é","visits":-5}`, `{}`, "cookie visits=-5, header E-Tag=a\"é"},
		{nil, `{"numbers":[1,2],"words":["a","b"]}`, `{}`, `cookie words=["a","b"], header Numbers=[1,2]`},
		{httpOpts{transcode.CommaLists()}, `{"numbers":[1,2],"words":["a","b"]}`, `{}`, `cookie words=a,b, header Numbers=1,2`},
		{httpOpts{transcode.CommaLists()}, `{"numbers":[],"words":["a"]}`, `{}`, `cookie words=a, header Numbers=`},
		{nil, `{"inner":{"a":"A","b":"B"}}`, `{"inner":{"b":"B"}}`, "header Inner-A=A"},
		{nil, `{"data":"AAE=","flag":true,"code":"CREATED","ratio":0.5}`, `{}`, "header Code=CREATED, header Data=AAE=, header Flag=true, header Ratio=0.5"},
		{nil, `{"code":77,"id":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`, `{}`, "header Code=77, header Id=6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
		{nil, `{"plain":{"a":"x","b":1},"asHeader":{"b":2}}`, `{"plain":{"a":"x","b":1}}`, `header Plain={"b":2}`},
		{nil, `{"status":99}`, "invalid-data status 3", ""}, {nil, `{"etag":"a\r\nb"}`, "invalid-data etag 3", ""},
		{httpOpts{transcode.OmitMappingErrors()}, `{"status":99,"etag":"a\nb","visits":1}`, `{}`, "cookie visits=1"},
		{httpOpts{transcode.ReplyParts(nil)}, `{"status":99,"etag":"a","hidden":"h"}`, `{"status":99,"etag":"a","hidden":"h"}`, ""},
		{httpOpts{transcode.WriteZeros()}, `{"title":"x","inner":{"b":"b"},"renamed":"y","sought":"z","big":1,"plain":{}}`,
			`{"title":"x","inner":{"b":"b"},"newName":"y","sought":"z","big":"1","plain":{"a":"","b":0}}`, ""},
		{httpOpts{transcode.WriteZeros()}, `{}`, `{"title":"","sought":"","newName":"","big":"0"}`, ""},
		{httpOpts{transcode.ReplyParts(func(f *schema.Field) []transcode.Part {
			return []transcode.Part{{Write: func(r transcode.HTTPResponse, v string) { r.SetHeader("Own-"+f.Name(), v) }}}
		})}, `{"title":"t","status":7}`, `{}`, "header Own-status=7, header Own-title=t"},
	} {
		thrift, err := converter(t, d).AppendThrift(nil, []byte(x.json))
		if err != nil {
			thrift, err = converter(t, d, transcode.ValueCodecs(transcode.AnnotatedCodec)).AppendThrift(nil, []byte(x.json))
		}
		if err != nil {
			t.Fatal(err)
		}
		var resp response
		out, raw, err := httpConverter(t, d, x.opts...).AppendReply([]byte("before"), thrift, &resp)
		body := string(bytes.TrimPrefix(out, []byte("before")))
		if err != nil {
			if body = problemOf(err); string(out) != "before" {
				t.Errorf("after an error dst is %q", out)
			}
		}
		if body != x.body || resp.String() != x.rest || raw {
			t.Errorf("%s: %s with %s, want %s with %s", x.json, body, &resp, x.body, x.rest)
		}
	}
}

func TestValuesThatAreLeftOutCostNoDepth(t *testing.T) {
	d := parseIDL(t, `struct S { 1: list<list<double>> bad (api.header = "Bad"), 2: list<list<double>> good }`).Struct("S")
	c := httpConverter(t, d, transcode.OmitMappingErrors(), transcode.MaxDepth(3))
	thrift := wire(t, "0f0001 0f00000001 0400000001 7ff8000000000001 0f0002 0f00000001 0400000001 3ff0000000000000 00")
	var resp response
	if out, _, err := c.AppendReply(nil, thrift, &resp); string(out) != `{"good":[[1]]}` || err != nil || resp.lines != nil {
		t.Errorf("%s with %s, %v", out, &resp, err)
	}
}

func TestHTTPConvertersServeManyGoroutines(t *testing.T) {
	reply := parseIDL(t, everyReply).Struct("Reply")
	in, out := httpConverter(t, parseIDL(t, everyPart).Struct("Every")), httpConverter(t, reply)
	thrift, err := converter(t, reply).AppendThrift(nil, []byte(`{"etag":"e","status":201,"title":"t","inner":{"a":"A"}}`))
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			req := newRequest(fmt.Sprintf(`{"all":"x","paging":{"order":"%d"},"heading":"h"}`, i), fmt.Sprint("path id=", i), "query n=1,2")
			first, err := in.AppendThrift(nil, req)
			for range 300 {
				var resp response
				again, err2 := in.AppendThrift(nil, req)
				body, _, err3 := out.AppendReply(nil, thrift, &resp)
				if !bytes.Equal(again, first) || string(body) != `{"title":"t","inner":{}}` || len(resp.lines) != 3 || errors.Join(err, err2, err3) != nil {
					t.Errorf("%x, %s, %s, %v", again, body, &resp, errors.Join(err, err2, err3))
					return
				}
			}
		}()
	}
	wait.Wait()
}

func TestARawBodyTakesTheWholeBody(t *testing.T) {
	d := parseIDL(t, everyReply).Struct("Raw")
	thrift, err := converter(t, d).AppendThrift(nil, []byte(`{"other":"x","body":"/w==","kind":"image/png"}`))
	if err != nil {
		t.Fatal(err)
	}
	var resp response
	out, raw, err := httpConverter(t, d).AppendReply([]byte("b"), thrift, &resp)
	if string(out) != "b\xff" || !raw || err != nil || resp.String() != "header Content-Type=image/png" {
		t.Errorf("%q, %t, %v, %s", out, raw, err, &resp)
	}
}

func TestDamagedRepliesGiveNothingAway(t *testing.T) {
	d := parseIDL(t, everyReply).Struct("Reply")
	c := httpConverter(t, d)
	thrift, err := converter(t, d).AppendThrift(nil, []byte(`{"etag":"e","visits":1,"status":200,"numbers":[1,2],"inner":{"a":"A"},"data":"AAE=","title":"t"}`))
	if err != nil {
		t.Fatal(err)
	}
	for i := range thrift {
		var resp response
		if out, _, err := c.AppendReply([]byte("b"), thrift[:i], &resp); err == nil || string(out) != "b" || resp.lines != nil {
			t.Errorf("%x became %q with %s", thrift[:i], out, &resp)
		}
	}
	for in, want := range map[string]string{
		"0b0003 00000001 61 0b0003 00000001 61 00": "duplicate-key  8",
		"0f0005 0b 00000001 00000000 00":           "type-mismatch numbers 3",
		"0b0003 7fffffff 00":                       "invalid-length etag 3",
	} {
		_, _, err := c.AppendReply(nil, wire(t, in), &response{})
		if got := problemOf(err); got != want && diag.CodeOf(err) != diag.UnexpectedEOF {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

const outcomes = `
struct Item { 1: string name, 2: i32 status (api.http_code = "") }
exception Missing { 1: string what, 2: string hint (api.header = "Hint") } (api.http_code = "404")
exception Busy { 1: i32 seconds (api.header = "Retry-After") }
service S {
  Item get() throws (1: Missing missing, 2: Busy busy (api.http_code = "503"))
  Item create() (api.http_code = "201")
  void clear() throws (1: Missing missing)
  string text()
  oneway void tell()
}
`

func TestOutcomesOfMethodsBecomeReplies(t *testing.T) {
	s := parseIDL(t, outcomes).Service("S")
	converted := httpOpts{transcode.ConvertExceptions()}
	for _, x := range []struct {
		opts                 httpOpts
		method, result, want string
		rest                 string
		body                 transcode.Body
	}{
		{nil, "get", `{"success":{"name":"n"}}`, `{"name":"n"}`, "status 200", transcode.JSONBody},
		{nil, "get", `{"success":{"name":"n","status":206}}`, `{"name":"n"}`, "status 206", transcode.JSONBody},
		{nil, "create", `{"success":{}}`, `{}`, "status 201", transcode.JSONBody},
		{nil, "text", `{"success":"a\"b"}`, `"a\"b"`, "status 200", transcode.JSONBody},
		{nil, "clear", `{}`, ``, "status 204", transcode.NoBody},
		{nil, "get", `{}`, `missing-required  0`, "", transcode.NoBody},
		{nil, "get", `{"missing":{"what":"w","hint":"h"}}`, `Missing {"what":"w","hint":"h"}`, "", transcode.NoBody},
		{converted, "get", `{"missing":{"what":"w","hint":"h"}}`, `{"what":"w"}`, "header Hint=h, status 404", transcode.JSONBody},
		{converted, "clear", `{"missing":{"what":"w"}}`, `{"what":"w"}`, "status 404", transcode.JSONBody},
		{converted, "get", `{"busy":{"seconds":3}}`, `{}`, "header Retry-After=3, status 503", transcode.JSONBody},
		{converted, "get", `{"success":{"name":"n","status":206},"busy":{"seconds":3}}`, `{}`, "header Retry-After=3, status 503", transcode.JSONBody},
		{nil, "tell", "", "unsupported  -1", "", transcode.NoBody},
	} {
		m := s.Method(x.method)
		c, err := transcode.NewHTTPMethod(m, x.opts...)
		if err != nil || c.Schema() != m {
			t.Fatal(err)
		}
		thrift := []byte{0}
		if m.Result() != nil {
			if thrift, err = converter(t, m.Result()).AppendThrift(nil, []byte(x.result)); err != nil {
				t.Fatal(err)
			}
		}
		var resp response
		out, body, err := c.AppendResult([]byte("b"), thrift, &resp)
		got := string(out[1:])
		if err != nil {
			if got = problemOf(err); string(out) != "b" {
				t.Errorf("after an error dst is %q", out)
			}
		}
		if got != x.want || resp.String() != x.rest || body != x.body {
			t.Errorf("%s %s: %s with %s, want %s with %s", x.method, x.result, got, &resp, x.want, x.rest)
		}
	}
}

func TestStatusesThatMakeNoSenseAreRefused(t *testing.T) {
	s := parseIDL(t, `
exception E { 1: i32 n } (api.http_code = "200")
service S { void a() (api.http_code = "404"), string b() (api.http_code = "204"), void c() throws (1: E e), string d() (api.http_code = "x") }
`).Service("S")
	for _, m := range s.Methods() {
		_, err := transcode.SuccessStatus(m)
		if m.Name() == "c" {
			_, err = transcode.ExceptionStatus(m.Throws()[0])
		}
		if err == nil {
			t.Errorf("%s has a status", m.Name())
		}
		if _, err := transcode.NewHTTPMethod(m); err == nil {
			t.Errorf("%s was compiled", m.Name())
		}
	}
}

const withBase = `
include "base.thrift"
struct Req { 1: string q (api.query = "q"), 255: required base.Base base }
struct Resp { 1: string title, 255: base.BaseResp base }
service S { Resp call(1: Req req) }
`

func TestTheCallersBaseGoesIntoRequests(t *testing.T) {
	d := parseIDL(t, withBase).Struct("Req")
	given := thriftwire.AppendStop(thriftwire.AppendString([]byte{11, 0, 1}, "log"))
	merge := func(dst, inJSON, given []byte) ([]byte, error) {
		return append(append(dst, inJSON[:len(inJSON)-1]...), given...), nil
	}
	fail := func(dst, inJSON, given []byte) ([]byte, error) { return nil, errors.New("no") }
	junk := func(dst, inJSON, given []byte) ([]byte, error) { return []byte{8}, nil }
	for _, x := range []struct {
		opt  transcode.Option
		json string
		base []byte
		want string
	}{
		{transcode.Base(nil), `{"q":"x"}`, given, `{"q":"x","base":{"LogID":"log"}}`},
		{transcode.Base(nil), `{"base":{"Caller":"c"}}`, given, `{"base":{"Caller":"c"}}`},
		{transcode.Base(nil), `{"base":null}`, given, `{"base":{"LogID":"log"}}`},
		{transcode.Base(merge), `{"base":{"Caller":"c"}}`, given, `{"base":{"Caller":"c","LogID":"log"}}`},
		{transcode.Base(merge), `{"base":{"Caller":"c"}}`, nil, `{"base":{"Caller":"c"}}`},
		{transcode.Base(nil), `{"q":"x"}`, nil, `missing-required  0`},
		{transcode.Base(nil), `{"q":"x"}`, []byte{8}, `invalid-value  -1`},
		{transcode.Base(fail), `{"base":{"Caller":"c"}}`, given, `invalid-data base 22`},
		{transcode.Base(junk), `{"base":{"Caller":"c"}}`, given, `invalid-value base 22`},
		{transcode.AllowMissing(), `{}`, given, `unsupported  -1`},
	} {
		out, err := converter(t, d, x.opt).AppendThriftBase([]byte("b"), []byte(x.json), x.base)
		if got := asJSON(t, d, out[1:], err); got != x.want {
			t.Errorf("%s: %s, want %s", x.json, got, x.want)
		}
	}
	r := newRequest("", "query q=x")
	r.base = given
	out, err := httpConverter(t, d, transcode.Base(nil)).AppendThrift(nil, r)
	if got := asJSON(t, d, out, err); got != `{"q":"x","base":{"LogID":"log"}}` {
		t.Errorf("of a request: %s", got)
	}
	m := parseIDL(t, withBase).Service("S").Method("call")
	out, err = methodConverter(t, m, transcode.Base(nil)).AppendArgsThriftBase(nil, []byte(`{"req":{"q":"x"}}`), given)
	if got := asJSON(t, m.Args(), out, err); got != `{"req":{"q":"x","base":{"LogID":"log"}}}` {
		t.Errorf("of a method: %s", got)
	}
	if _, err := converter(t, d, transcode.Base(nil)).AppendThrift(nil, []byte(`{"q":"x"}`)); diag.CodeOf(err) != diag.MissingRequired {
		t.Errorf("without a base: %v", err)
	}
}

func TestTheBaseOfAReplyIsTheCallers(t *testing.T) {
	f := parseIDL(t, withBase)
	d := f.Struct("Resp")
	plain := converter(t, d)
	thrift, err := plain.AppendThrift(nil, []byte(`{"title":"t","base":{"StatusCode":7}}`))
	if err != nil {
		t.Fatal(err)
	}
	base := wire(t, "080002 00000007 00")
	c := converter(t, d, transcode.Base(nil))
	out, got, n, err := c.AppendJSONBase(nil, thrift)
	if string(out) != `{"title":"t"}` || !bytes.Equal(got, base) || n != len(thrift) || err != nil {
		t.Errorf("%s, %x, %v", out, got, err)
	}
	if out, _, err := c.AppendJSON(nil, thrift); err != nil || string(out) != `{"title":"t"}` {
		t.Errorf("%s, %v", out, err)
	}
	if _, _, _, err := c.AppendJSONBase(nil, thrift[:9]); err == nil {
		t.Error("half a reply was converted")
	}
	m := methodConverter(t, f.Service("S").Method("call"), transcode.Base(nil))
	result := append(append([]byte{12, 0, 0}, thrift...), 0)
	if out, field, got, err := m.AppendResultJSONBase(nil, result); string(out) != `{"title":"t"}` || field.ID() != 0 || !bytes.Equal(got, base) || err != nil {
		t.Errorf("%s, %x, %v", out, got, err)
	}
	var resp response
	if out, _, err := httpConverter(t, d, transcode.Base(nil)).AppendReply(nil, thrift, &resp); string(out) != `{"title":"t"}` || !bytes.Equal(resp.base, base) || err != nil {
		t.Errorf("%s, %x, %v", out, resp.base, err)
	}
}
