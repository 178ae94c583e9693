package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/gateway"
	"github.com/thrum-rpc/thrum/idl"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// golden compares got with the file of that name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs, -rewrite accepts it; got:\n%s", path, got)
	}
}

func load(t testing.TB, path string) *schema.File {
	t.Helper()
	f, list := thriftidl.Load(path)
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

// backend answers every call as reply says and keeps the arguments as JSON. It
// is for one call at a time.
type backend struct {
	service *schema.Service
	reply   string // the result struct as JSON; "" stands for {"success": "ok"}
	raw     []byte // the result struct as it is, if not nil
	err     error

	method string
	args   string
}

func (b *backend) Invoke(ctx context.Context, call *rpc.Invocation) error {
	def := b.service.Method(call.Method)
	b.method, b.args = call.Method, ""
	encoded, err := call.AppendArgs(nil)
	if err != nil {
		return err
	}
	if b.args, err = convertJSON(def.Args(), encoded); err != nil {
		return err
	}
	if b.err != nil {
		return b.err
	}
	if call.ReadResult == nil {
		return ctx.Err()
	}
	result := b.raw
	if result == nil {
		reply := b.reply
		if reply == "" {
			reply = `{"success": "ok"}`
		}
		conv, err := transcode.New(def.Result())
		if err != nil {
			return err
		}
		if result, err = conv.AppendThrift(nil, []byte(reply)); err != nil {
			return err
		}
	}
	return call.ReadResult(result)
}

func convertJSON(def *schema.StructDef, encoded []byte) (string, error) {
	conv, err := transcode.New(def, transcode.NonFinite(transcode.NonFiniteStrings))
	if err != nil {
		return "", err
	}
	out, _, err := conv.AppendJSON(nil, encoded)
	return string(out), err
}

// newItems returns a gateway for testdata/items.thrift and its backend.
func newItems(t testing.TB, opts ...gateway.Option) (*gateway.Gateway, *backend) {
	t.Helper()
	f := load(t, "testdata/items.thrift")
	b := &backend{service: f.Service("Items")}
	g, err := gateway.New([]*schema.File{f}, b, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return g, b
}

// exchange sends a request, given as lines (request line, header fields, an
// empty line, body), and renders what came of it.
func exchange(g http.Handler, b *backend, text string) string {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	verb, uri, _ := strings.Cut(lines[0], " ")
	r := httptest.NewRequest(verb, uri, strings.NewReader(body))
	if body == "" {
		r = httptest.NewRequest(verb, uri, nil)
	}
	for _, l := range lines[1:] {
		name, value, _ := strings.Cut(l, ": ")
		r.Header.Add(name, value)
	}
	b.method = ""
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)

	var out strings.Builder
	fmt.Fprintf(&out, "> %s\n", strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n> "))
	if b.method != "" {
		fmt.Fprintf(&out, "= %s %s\n", b.method, b.args)
	}
	fmt.Fprintf(&out, "< %d %s\n", w.Code, w.Header().Get("Content-Type"))
	if allow := w.Header().Get("Allow"); allow != "" {
		fmt.Fprintf(&out, "< Allow: %s\n", allow)
	}
	if s := w.Body.String(); s != "" {
		fmt.Fprintf(&out, "< %s\n", strings.TrimSuffix(s, "\n"))
	}
	return out.String()
}

// exchangeAll sends each request in turn.
func exchangeAll(g http.Handler, b *backend, requests []string) string {
	var all []string
	for _, r := range requests {
		all = append(all, exchange(g, b, r))
	}
	return strings.Join(all, "\n")
}

const asJSON = "\nContent-Type: application/json\n\n"

func TestRoutesFindTheirMethod(t *testing.T) {
	g, b := newItems(t)
	golden(t, "routes.golden", exchangeAll(g, b, []string{
		"GET /items/7",
		"GET /items/fixed",
		"GET /items/%37",
		"HEAD /items/7",
		"HEAD /heads/7",
		"GET /hello",
		"GET /files/",
		"GET /files/a/b%2Fc/d%20e",
		"GET /files",
		"DELETE /any/1",
		"POST /items/7",
		"OPTIONS /items/7",
		"GET /nowhere",
		"GET /items/",
		"GET /items/7/",
		"GET /Items/get",
		"POST /Items/get" + asJSON + `{"id": 7}`,
		"POST /Items/hello",
		"POST /Items/none",
		"POST /Base/hello",
		"POST /",
	}))
}

func TestPartsOfARequestBecomeArguments(t *testing.T) {
	g, b := newItems(t)
	golden(t, "arguments.golden", exchangeAll(g, b, []string{
		"GET /scalars?flag=true&tiny=-8&large=9223372036854775807&ratio=1.5&text=a%22b&data=AAE%3D&color=GREEN",
		"GET /scalars?flag=0&color=2&ratio=NaN&text=",
		"GET /scalars",
		"GET /lists?numbers=1&numbers=2&colors=RED,GREEN\nX-Words: a, b\nX-Words: c",
		"GET /lists?numbers=1,2,3&counts=%7B%22a%22:1%7D&size=%7B%22width%22:3%7D\nX-Words: a, b",
		"GET /lists?numbers=&sizes=%7B%22width%22:3%7D&sizes=%7B%22width%22:4%7D",
		"GET /lists?sizes=[%7B%22width%22:3%7D]",
		"PUT /items/5?rev=3&page=2&tag=x,y\nX-Revision: 9\nCookie: session=s1; other=2\nContent-Type: application/json\n\n" +
			`{"title": "t", "dimensions": {"width": 2}, "id": 99, "trusted": true, "unknown": 1, "revision": 8, "tags": ["z"]}`,
		"PUT /items/5\nX-Revision: 9" + asJSON + `{"tags": ["z"], "size": {"width": 1}}`,
		"PATCH /any/5",
		"POST /body\nX-Who: me" + asJSON + ` {"a": "x", "b": 1} `,
		"POST /body\nX-Who: me",
		"POST /keys" + asJSON + `{"b": 2, "choice": {"text": "t"}, "a": "\u0061"}`,
		"POST /keys\nContent-Type: application/vnd.items+json; charset=utf-8\n\n{}",
		"POST /keys\n\n{\"b\": 1}",
		"POST /form\nContent-Type: application/x-www-form-urlencoded\n\nname=a+b&n=1&n=2",
		"POST /form\nContent-Type: application/x-www-form-urlencoded; boundary=stray\n\nname=c",
		"POST /form" + asJSON + `{"name": "n", "numbers": [1]}`,
		"POST /form\nContent-Type: multipart/form-data; boundary=--\n\n----\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\na b\r\n" +
			"----\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n7\r\n----\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\nfile\r\n------\r\n",
		"POST /raw?x=1\nContent-Type: text/plain\n\nany {text",
		"POST /node" + asJSON + `{"name": "a", "next": {"name": "b"}}`,
		"POST /Items/scalars" + asJSON + `{"color": "RED", "tiny": 1}`,
	}))
}

func TestRefusedRequestsSayWhy(t *testing.T) {
	g, b := newItems(t, gateway.MaxBody(64), gateway.MaxURI(100), gateway.MaxHeader(300))
	golden(t, "refusals.golden", exchangeAll(g, b, []string{
		"GET /items/x",
		"GET /items/99999999999999999999",
		"GET /scalars?tiny=300",
		"GET /scalars?flag=maybe",
		"GET /scalars?color=PINK",
		"GET /scalars?data=%21",
		"GET /scalars?text=%ff",
		"GET /scalars?large=%zz",
		"GET /lists?size=%7B%22width%22:1%7D,%22x%22:1",
		"GET /lists?size=%7B%22height%22:1%7D",
		"GET /lists?numbers=1,x",
		"PUT /items/5" + asJSON + `{"dimensions": {"width": "x"}}`,
		"PUT /items/5" + asJSON + `{"title": 1}`,
		"PUT /items/5" + asJSON + `{"title": "a", "title": "b"}`,
		"PUT /items/5" + asJSON + `[]`,
		"PUT /items/5" + asJSON + `{"title": "a"} x`,
		"POST /body" + asJSON + `{"a": "x"}, "who": "you"`,
		"POST /body" + asJSON + `{"a": `,
		"POST /body" + asJSON + `  {"a": "x", "b": 1000}`,
		"POST /keys" + asJSON + `{"choice": {"number": 1, "text": "t"}}`,
		"POST /keys" + asJSON + `{"choice": {"number": 2147483648}}`,
		"POST /keys" + asJSON + strings.Repeat("[", 64),
		"POST /keys" + asJSON + `{"a": "` + strings.Repeat("x", 64) + `"}`,
		"POST /keys\nContent-Type: text/plain\n\n{}",
		"POST /form\nContent-Type: text/plain\n\n{}",
		"POST /form\nContent-Type: application/x-www-form-urlencoded\n\nname=%zz",
		"POST /form\nContent-Type: multipart/form-data; boundary=x\n\n--x\r\nno part",
		"POST /form\nContent-Type: multipart/form-data\n\nx",
		"POST /Items/get" + asJSON + `{"id": 1.5}`,
		"POST /Items/get" + asJSON + `{"id": 1`,
		"POST /Items/get\nContent-Type: application/x-www-form-urlencoded\n\n{}",
		"GET /files/" + strings.Repeat("x", 100),
		"GET /hello\nX-Long: " + strings.Repeat("x", 300),
	}))
}

func TestQueriesAndFormsOfTooManyPairsAreRefusedUnread(t *testing.T) {
	g, b := newItems(t, gateway.MaxBody(8<<20), gateway.MaxURI(1<<20))
	const form = "POST /form\nContent-Type: application/x-www-form-urlencoded\n\nname=x"
	for _, x := range []struct{ request, want string }{
		{form + strings.Repeat("&a", 9999), "< 200"},
		{form + strings.Repeat("&a", 10000), `"the form has more than 10000 pairs"`},
		{"GET /lists?numbers=1" + strings.Repeat("&a", 9999), "< 200"},
		{"GET /lists?numbers=1" + strings.Repeat("&a", 10000), `"status":400,"detail":"the query has more than 10000 pairs"`},
	} {
		if got := exchange(g, b, x.request); !strings.Contains(got, x.want) {
			t.Errorf("%.60s…: %s, want %s", x.request, got[len(x.request):], x.want)
		}
	}
	body := []byte(strings.Repeat("a&", 4<<20))
	var r gateway.Request
	r.Reset(httptest.NewRequest("POST", "/", nil), body, true, nil, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	whole := r.CheckForm()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; whole || took > 2*uint64(len(body)) {
		t.Errorf("a form of %d bytes is whole: %t, and took %d", len(body), whole, took)
	}
}

func TestOutcomesBecomeReplies(t *testing.T) {
	g, b := newItems(t)
	var out []string
	try := func(request, reply string, err error) {
		b.reply, b.err = reply, err
		note := reply
		if err != nil {
			note = err.Error()
		}
		out = append(out, exchange(g, b, request)+"  ("+note+")\n")
	}
	try("POST /created", `{"success": {"width": 1, "height": 2}}`, nil)
	try("GET /tree", `{"success": {"name": "a", "next": {"name": "b"}}}`, nil)
	try("DELETE /items/1", `{}`, nil)
	try("POST /ping"+asJSON+`{"text": "x"}`, `{}`, nil)
	try("GET /items/1", `{"missing": {"key": "1", "message": "no item 1"}}`, nil)
	try("GET /items/1", `{"busy": {"seconds": 3}}`, nil)
	try("GET /items/1", `{"fatal": {"text": "it <broke>"}}`, nil)
	try("GET /items/1", `{"broken": {"code": 1}}`, nil)
	try("GET /items/1", `{"restarting": {"code": 1}}`, nil)
	try("GET /items/1", `{}`, nil)
	try("GET /items/1", "", &rpc.ApplicationException{Type: rpc.UnknownMethod, Message: "no get here"})
	try("GET /items/1", "", &rpc.ApplicationException{Type: rpc.InternalError, Message: "oh"})
	try("GET /items/1", "", &rpc.ApplicationException{Type: rpc.LoadShedding})
	try("GET /items/1", "", &rpc.ApplicationException{Type: rpc.Timeout})
	try("GET /items/1", "", &rpc.ApplicationException{Type: 16})
	try("GET /items/1", "", &rpc.ApplicationException{Type: rpc.ProtocolError})
	try("GET /items/1", "", &rpc.Error{Stage: rpc.StageDial, Err: errors.New("10.0.0.1 refused")})
	try("GET /items/1", "", &rpc.Error{Stage: rpc.StageWait, Err: context.DeadlineExceeded})
	try("GET /items/1", "", &rpc.Error{Stage: rpc.StageEncode, Err: errors.New("too large")})
	try("GET /items/1", "", &rpc.Error{Stage: rpc.StageQueue, Err: rpc.ErrTooManyCalls})
	golden(t, "outcomes.golden", strings.Join(out, "\n"))
}

func TestRepliesThatDoNotFitTheSchemaAre502(t *testing.T) {
	g, b := newItems(t)
	for name, raw := range map[string]string{
		"a result of another type": "\x08\x00\x00\x00\x00\x00\x01\x00",
		"no stop":                  "\x0b\x00\x00\x00\x00\x00\x01a",
		"a length beyond the end":  "\x0b\x00\x00\x7f\xff\xff\xffa\x00",
		"an unknown wire type":     "\x7f\x00\x00",
		"nothing":                  "",
		"text that is not UTF-8":   "\x0b\x00\x00\x00\x00\x00\x01\xff\x00",
	} {
		b.raw = []byte(raw)
		if got := exchange(g, b, "GET /items/1"); !strings.Contains(got, "< 502 "+gateway.ProblemType) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestUnknownFieldsOfAReplyAreSkipped(t *testing.T) {
	g, b := newItems(t)
	b.raw = []byte("\x08\x00\x09\x00\x00\x00\x01\x0b\x00\x00\x00\x00\x00\x01a\x00")
	if got := exchange(g, b, "GET /items/1"); !strings.Contains(got, "< 200 application/json\n< \"a\"\n") {
		t.Error(got)
	}
}

func TestCallsEndAtTheirDeadline(t *testing.T) {
	f := load(t, "testdata/items.thrift")
	g, err := gateway.New([]*schema.File{f}, waiting{}, gateway.Timeout(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest("GET", "/hello", nil))
	if w.Code != http.StatusGatewayTimeout {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// waiting is a backend that never answers.
type waiting struct{}

func (waiting) Invoke(ctx context.Context, _ *rpc.Invocation) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestMultiplexedCallsNameTheirService(t *testing.T) {
	f := load(t, "testdata/items.thrift")
	var named []string
	caller := callerFunc(func(_ context.Context, c *rpc.Invocation) error {
		named = append(named, c.Service+"/"+c.Method)
		return c.ReadResult([]byte("\x0b\x00\x00\x00\x00\x00\x00\x00"))
	})
	for _, opts := range [][]gateway.Option{nil, {gateway.Multiplexed()}} {
		g, err := gateway.New([]*schema.File{f}, caller, opts...)
		if err != nil {
			t.Fatal(err)
		}
		g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/Items/hello", nil))
	}
	if got := strings.Join(named, " "); got != "/hello Items/hello" {
		t.Errorf("called %s", got)
	}
}

type callerFunc func(context.Context, *rpc.Invocation) error

func (f callerFunc) Invoke(ctx context.Context, c *rpc.Invocation) error { return f(ctx, c) }

func TestReportSeesTheCause(t *testing.T) {
	var status int
	var cause error
	g, b := newItems(t, gateway.Report(func(_ *http.Request, s int, err error) { status, cause = s, err }))
	b.err = io.ErrUnexpectedEOF
	got := exchange(g, b, "GET /hello")
	if status != http.StatusBadGateway || cause != io.ErrUnexpectedEOF || strings.Contains(got, cause.Error()) {
		t.Errorf("reported %d %v, answered %s", status, cause, got)
	}
}

func TestUndeclaredErrorsAreToldOnRequest(t *testing.T) {
	const secret = "the password is wrong"
	for _, tell := range []bool{false, true} {
		var opts []gateway.Option
		if tell {
			opts = append(opts, gateway.TellErrors())
		}
		g, b := newItems(t, opts...)
		for _, b.err = range []error{
			&rpc.ApplicationException{Type: rpc.InternalError, Message: secret},
			&rpc.BizStatus{Code: 4711, Message: secret},
		} {
			if got := exchange(g, b, "GET /hello"); strings.Contains(got, secret) != tell || !strings.Contains(got, "< 500 ") {
				t.Errorf("%T, tell = %t: %s", b.err, tell, got)
			}
		}
	}
}

func TestIndexListsServicesAndRoutes(t *testing.T) {
	g, b := newItems(t)
	golden(t, "index.golden", exchange(g, b, "GET /"))
}

func TestNewReportsEveryRouteThatCannotBe(t *testing.T) {
	f := load(t, "testdata/conflicts.thrift")
	_, err := gateway.New([]*schema.File{f}, waiting{})
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	sort.Strings(lines[1:])
	golden(t, "conflicts.golden", strings.Join(lines, "\n")+"\n")
}

func TestServicesOfOneNameConflict(t *testing.T) {
	a, b := load(t, "testdata/items.thrift"), load(t, "testdata/items.thrift")
	if _, err := gateway.New([]*schema.File{a, a}, waiting{}); err != nil {
		t.Errorf("the same file twice: %v", err)
	}
	if _, err := gateway.New([]*schema.File{a, b}, waiting{}); err == nil {
		t.Error("two services named Items: no error")
	}
}

func TestBodiesOfUnknownLengthAreBounded(t *testing.T) {
	g, _ := newItems(t, gateway.MaxBody(10))
	r := httptest.NewRequest("POST", "/keys", io.MultiReader(strings.NewReader("{"), bytes.NewReader(bytes.Repeat([]byte(" "), 100))))
	r.ContentLength = -1
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestRoutesAreReplacedAsAWhole(t *testing.T) {
	g, b := newItems(t)
	const request = "POST /Items/get" + asJSON + `{"id": 1}`
	before := exchange(g, b, request)
	broken := load(t, "testdata/conflicts.thrift")
	if err := g.Replace([]*schema.File{broken}); err == nil {
		t.Fatal("routes that conflict are taken")
	}
	if after := exchange(g, b, request); after != before {
		t.Errorf("a refused table changed something:\n%s", after)
	}
	if err := g.Replace(nil); err != nil {
		t.Fatal(err)
	}
	if got := exchange(g, b, request); !strings.Contains(got, "404") {
		t.Errorf("a route that is no longer there answers:\n%s", got)
	}
}

func TestRoutesAreReplacedUnderLoadWithoutALostRequest(t *testing.T) {
	items := load(t, "testdata/items.thrift")
	b := callerFunc(func(_ context.Context, c *rpc.Invocation) error {
		return c.ReadResult([]byte("\x0b\x00\x00\x00\x00\x00\x01a\x00"))
	})
	source, err := idl.Open(idl.Memory(map[string][]byte{"a.thrift": []byte("")}))
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New([]*schema.File{items}, b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Follow(func(set *idl.Set) error { return g.Replace(append([]*schema.File{items}, set.Files()...)) }); err != nil {
		t.Fatal(err)
	}
	status := func(path string) int {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code
	}
	before := status("/items/7")
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if got := status("/items/7"); got != before {
				t.Errorf("status %d, and %d before", got, before)
				return
			}
		}
	})
	for n := range 200 {
		text := fmt.Sprintf(`service S { string m%d() (api.get = "/m/%d") }`, n, n)
		if err := source.Replace(idl.Memory(map[string][]byte{"a.thrift": []byte(text)})); err != nil {
			t.Fatal(err)
		}
		if got := status(fmt.Sprintf("/m/%d", n)); got != http.StatusOK {
			t.Errorf("the new route %d: status %d", n, got)
		}
		if got := status(fmt.Sprintf("/m/%d", n-1)); got != http.StatusNotFound {
			t.Errorf("the old route %d: status %d", n-1, got)
		}
	}
	close(done)
	wg.Wait()
}
