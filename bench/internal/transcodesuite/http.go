package transcodesuite

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/dynamicgo/conv"
	"github.com/cloudwego/dynamicgo/conv/j2t"
	"github.com/cloudwego/dynamicgo/conv/t2j"
	peerhttp "github.com/cloudwego/dynamicgo/http"
	dynamic "github.com/cloudwego/dynamicgo/thrift"

	"github.com/thrum-rpc/thrum/bench/idl"
	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/bench/internal/same"
	"github.com/thrum-rpc/thrum/gateway"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file holds the works http-to-thrift and thrift-to-http. Requests are those of
// net/http with the body read, which each side sees through its own library's
// view of them: dynamicgo's is made for each conversion, ours is reused, as the
// gateway does; in the shapes named parsed both see the same
// request in memory, which answers at the same cost. Both write to the same reply.

// exchange is a request, with the reply to it as a Thrift message.
type exchange struct {
	name    string
	request memoryRequest
	def     *schema.StructDef // of the request
	reply   *schema.StructDef
	message []byte // a reply
}

// memoryRequest has its parts in maps by name, each value beside the list that
// holds it.
type memoryRequest struct {
	path, query, header, cookie map[string][]string
	body                        []byte
}

func first(list []string) (string, bool) {
	if len(list) == 0 {
		return "", false
	}
	return list[0], true
}

func one(m map[string][]string, name string) string {
	v, _ := first(m[name])
	return v
}

// What ours asks.

func (r *memoryRequest) Param(name string) (string, bool)  { return first(r.path[name]) }
func (r *memoryRequest) Cookie(name string) (string, bool) { return first(r.cookie[name]) }
func (r *memoryRequest) Query(name string) []string        { return r.query[name] }
func (r *memoryRequest) Header(name string) []string       { return r.header[name] }
func (r *memoryRequest) Form(string) []string              { return nil }
func (r *memoryRequest) IsForm() bool                      { return false }
func (r *memoryRequest) Body() []byte                      { return r.body }
func (r *memoryRequest) URI() string                       { return "/" }

// peerRequest is the request as dynamicgo asks.
type peerRequest struct{ *memoryRequest }

func (r peerRequest) GetMethod() string              { return "POST" }
func (r peerRequest) GetHost() string                { return "" }
func (r peerRequest) GetUri() string                 { return "/" }
func (r peerRequest) GetHeader(name string) string   { return one(r.header, name) }
func (r peerRequest) GetCookie(name string) string   { return one(r.cookie, name) }
func (r peerRequest) GetQuery(name string) string    { return one(r.query, name) }
func (r peerRequest) GetParam(name string) string    { return one(r.path, name) }
func (r peerRequest) GetPostForm(name string) string { return "" }
func (r peerRequest) GetMapBody(name string) string  { return "" }
func (r peerRequest) GetBody() []byte                { return r.body }

// memoryReply keeps what is beside the body, as lines.
type memoryReply struct{ lines []byte }

func (r *memoryReply) line(kind, name, value string) {
	r.lines = append(append(append(append(append(append(r.lines, kind...), ' '), name...), '='), value...), '\n')
}

func (r *memoryReply) SetStatus(code int)           { r.line("status", "", strconv.Itoa(code)) }
func (r *memoryReply) SetHeader(name, value string) { r.line("header", name, value) }
func (r *memoryReply) SetCookie(name, value string) { r.line("cookie", name, value) }

// peerReply is the reply as dynamicgo writes to it.
type peerReply struct{ *memoryReply }

func (r peerReply) SetStatusCode(code int) error       { r.SetStatus(code); return nil }
func (r peerReply) SetHeader(name, value string) error { r.line("header", name, value); return nil }
func (r peerReply) SetCookie(name, value string) error { r.line("cookie", name, value); return nil }
func (r peerReply) SetRawBody([]byte) error            { return nil }

var (
	_ peerhttp.RequestGetter  = peerRequest{}
	_ peerhttp.ResponseSetter = peerReply{}
)

// httpThrift are the works http-to-thrift and thrift-to-http.
func httpThrift() ([]harness.Group, error) {
	all, err := exchanges()
	if err != nil {
		return nil, err
	}
	var from, to []harness.Group
	for _, x := range all {
		message, err := x.oursFromHTTP().make()
		if err != nil {
			return nil, err
		}
		sample, err := message()
		if err != nil {
			return nil, err
		}
		from = append(from, group("http-to-thrift", x.name, len(sample), same.Message, x.oursFromNetHTTP(), x.peerFromNetHTTP()),
			group("http-to-thrift", x.name+"-parsed", len(sample), same.Message, x.oursFromHTTP(), x.peerFromHTTP()))
		to = append(to, group("thrift-to-http", x.name, len(x.message), replyForm, x.oursToHTTP(), x.peerToHTTP()))
	}
	return append(from, to...), nil
}

// netHTTP is the request as net/http has it.
func (r *memoryRequest) netHTTP() *http.Request {
	out := &http.Request{Method: "POST", URL: &url.URL{Path: "/"}, Header: http.Header{"Content-Type": {"application/json"}}}
	out.URL.RawQuery = url.Values(r.query).Encode()
	for name, v := range r.header {
		out.Header[name] = v
	}
	for name, v := range r.cookie {
		out.AddCookie(&http.Cookie{Name: name, Value: v[0], Quoted: true})
	}
	return out
}

func (x *exchange) oursFromNetHTTP() contender {
	return contender{harness.Ours, func() (op, error) {
		c, err := transcode.NewHTTP(x.def)
		r, buf := x.request.netHTTP(), make([]byte, 0, 2*len(x.message))
		var names, params []string
		for name, v := range x.request.path {
			names, params = append(names, name), append(params, v[0])
		}
		req := new(gateway.Request)
		return func() (_ []byte, err error) {
			req.Reset(r, x.request.body, false, names, params)
			buf, err = c.AppendThrift(buf[:0], req)
			return buf, err
		}, err
	}}
}

func (x *exchange) peerFromNetHTTP() contender {
	return contender{"dynamicgo", func() (op, error) {
		desc, _, err := x.descriptors()
		c := j2t.NewBinaryConv(conv.Options{EnableHttpMapping: true})
		r, buf := x.request.netHTTP(), make([]byte, 0, 2*len(x.message))
		var params peerhttp.Params
		for name, v := range x.request.path {
			params.Set(name, v[0])
		}
		return func() ([]byte, error) {
			req := &peerhttp.HTTPRequest{Request: r, Params: params}
			buf = buf[:0]
			err := c.DoInto(context.WithValue(context.Background(), conv.CtxKeyHTTPRequest, req), desc, x.request.body, &buf)
			return buf, err
		}, err
	}}
}

// replyForm is the canonical form of a reply: its lines, sorted, and its body,
// whose members stand in the same order on both sides.
func replyForm(b []byte) ([]byte, error) {
	lines := strings.Split(string(b), "\n")
	slices.Sort(lines)
	return []byte(strings.Join(lines, "\n")), nil
}

func exchanges() ([]*exchange, error) {
	file, list := thriftidl.Load("http.thrift", thriftidl.Sources(map[string][]byte{"http.thrift": idl.HTTP}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		return nil, err
	}
	small := &exchange{name: "small", def: file.Struct("SmallRequest"), reply: file.Struct("SmallReply"), request: memoryRequest{
		path:   map[string][]string{"id": {"1234567"}},
		query:  map[string][]string{"page": {"12"}, "tags": {"new,red,long"}},
		header: map[string][]string{"X-Agent": {text}},
		cookie: map[string][]string{"session": {text}},
		body:   []byte(`{"title":"` + text + `","price":12.5}`),
	}}
	body := `"title":"` + text + `","lines":[`
	for i := range each {
		body += fmt.Sprintf(`{"book":%d,"quantity":%d,"note":%q},`, 1000000+i, i, text)
	}
	body = strings.TrimSuffix(body, ",") + `],"notes":{`
	for i := range each {
		body += fmt.Sprintf(`"%d":%q,`, i, text)
	}
	body = strings.TrimSuffix(body, ",") + `},"ids":[` + strings.TrimSuffix(strings.Repeat("1234567890123,", each), ",") + `],"text":"` + text + `"}`
	medium := &exchange{name: "medium", def: file.Struct("MediumRequest"), reply: file.Struct("MediumReply"), request: memoryRequest{
		path:   map[string][]string{"id": {"1234567"}, "shop": {"north"}},
		query:  map[string][]string{"page": {"12"}, "all": {"true"}, "least": {"4.25"}, "numbers": {"1,22,333,4444"}, "tags": {"new,red,long"}},
		header: map[string][]string{"X-Agent": {text}, "X-Revision": {"1234567890123"}},
		cookie: map[string][]string{"session": {text}},
		body:   []byte(`{` + body),
	}}
	if err := small.setReply(`{"status":201,"etag":"` + text + `","visits":12345,"title":"` + text + `","price":12.5}`); err != nil {
		return nil, err
	}
	err := medium.setReply(`{"status":201,"etag":"` + text + `","revision":1234567890123,"last":true,"visits":12345,"session":"` + text + `",` + body)
	return []*exchange{small, medium}, err
}

// setReply makes the message of a reply.
func (x *exchange) setReply(json string) error {
	c, err := transcode.New(x.reply)
	if err == nil {
		x.message, err = c.AppendThrift(nil, []byte(json))
	}
	return err
}

func (x *exchange) oursFromHTTP() contender {
	return contender{harness.Ours, func() (op, error) {
		c, err := transcode.NewHTTP(x.def)
		var req transcode.HTTPRequest = &x.request
		buf := make([]byte, 0, 2*len(x.message))
		return func() (_ []byte, err error) {
			buf, err = c.AppendThrift(buf[:0], req)
			return buf, err
		}, err
	}}
}

func (x *exchange) oursToHTTP() contender {
	return contender{harness.Ours, func() (op, error) {
		c, err := transcode.NewHTTP(x.reply)
		buf, resp := make([]byte, 0, 2*len(x.message)), &memoryReply{}
		return func() ([]byte, error) {
			resp.lines = resp.lines[:0]
			buf, _, err = c.AppendReply(buf[:0], x.message, resp)
			resp.lines = append(resp.lines, buf...)
			return resp.lines, err
		}, err
	}}
}

// descriptors returns dynamicgo's of the method's argument and result.
func (x *exchange) descriptors() (request, reply *dynamic.TypeDescriptor, err error) {
	service, err := dynamic.NewDescritorFromContent(context.Background(), "http.thrift", string(idl.HTTP), nil, false)
	if err != nil {
		return nil, nil, err
	}
	m, err := service.LookupFunctionByMethod(x.name)
	if err != nil {
		return nil, nil, err
	}
	return m.Request().Struct().FieldById(1).Type(), m.Response().Struct().FieldById(0).Type(), nil
}

func (x *exchange) peerFromHTTP() contender {
	return contender{"dynamicgo", func() (op, error) {
		desc, _, err := x.descriptors()
		c := j2t.NewBinaryConv(conv.Options{EnableHttpMapping: true})
		ctx := context.WithValue(context.Background(), conv.CtxKeyHTTPRequest, peerRequest{&x.request})
		buf := make([]byte, 0, 2*len(x.message))
		return func() ([]byte, error) {
			buf = buf[:0]
			err := c.DoInto(ctx, desc, x.request.body, &buf)
			return buf, err
		}, err
	}}
}

func (x *exchange) peerToHTTP() contender {
	return contender{"dynamicgo", func() (op, error) {
		_, desc, err := x.descriptors()
		c := t2j.NewBinaryConv(conv.Options{EnableHttpMapping: true})
		resp := &memoryReply{}
		ctx := context.WithValue(context.Background(), conv.CtxKeyHTTPResponse, peerReply{resp})
		buf := make([]byte, 0, 2*len(x.message))
		return func() ([]byte, error) {
			buf, resp.lines = buf[:0], resp.lines[:0]
			err := c.DoInto(ctx, desc, x.message, &buf)
			resp.lines = append(resp.lines, buf...)
			return resp.lines, err
		}, err
	}}
}
