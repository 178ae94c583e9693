package transcode_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file holds requests and replies for the tests of HTTP.

// request is a request in memory: its parts by place and name, as lines such
// as "query a=1" and "header X-A=b", and a body.
type request struct {
	values map[string][]string
	body   string
	form   bool
	base   []byte
}

func newRequest(body string, parts ...string) *request {
	r := &request{values: map[string][]string{}, body: body}
	for _, p := range parts {
		if p == "form" {
			r.form = true
			continue
		}
		key, value, _ := strings.Cut(p, "=")
		r.values[key] = append(r.values[key], value)
	}
	return r
}

func (r *request) one(key string) (string, bool) {
	v := r.values[key]
	if len(v) == 0 {
		return "", false
	}
	return v[0], true
}

func (r *request) Param(name string) (string, bool)  { return r.one("path " + name) }
func (r *request) Query(name string) []string        { return r.values["query "+name] }
func (r *request) Header(name string) []string       { return r.values["header "+name] }
func (r *request) Cookie(name string) (string, bool) { return r.one("cookie " + name) }
func (r *request) IsForm() bool                      { return r.form }
func (r *request) Form(name string) []string         { return r.values["form "+name] }
func (r *request) Body() []byte                      { return []byte(r.body) }
func (r *request) URI() string                       { return "/uri?x=1" }
func (r *request) RequestBase() []byte               { return r.base }

// response is what a reply had beside its body.
type response struct {
	lines []string
	base  []byte
}

func (r *response) SetStatus(code int)       { r.lines = append(r.lines, fmt.Sprint("status ", code)) }
func (r *response) SetHeader(name, v string) { r.lines = append(r.lines, "header "+name+"="+v) }
func (r *response) SetCookie(name, v string) { r.lines = append(r.lines, "cookie "+name+"="+v) }
func (r *response) SetReplyBase(base []byte) { r.base = append([]byte(nil), base...) }
func (r *response) String() string           { sort.Strings(r.lines); return strings.Join(r.lines, ", ") }

// baseIDL has the bases that frameworks add.
const baseIDL = `
struct Base { 1: string LogID, 2: string Caller }
struct BaseResp { 1: string StatusMessage, 2: i32 StatusCode }
`

func parseIDL(t testing.TB, text string) *schema.File {
	t.Helper()
	f, list := thriftidl.Load("test.thrift", thriftidl.Sources(map[string][]byte{
		"test.thrift": []byte(text), "base.thrift": []byte(baseIDL),
	}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

func httpConverter(t testing.TB, d *schema.StructDef, opts ...transcode.HTTPOption) *transcode.HTTPConverter {
	t.Helper()
	c, err := transcode.NewHTTP(d, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// asJSON renders a struct by the fields' own names, and an error as its code with path and part.
func asJSON(t testing.TB, d *schema.StructDef, thrift []byte, err error) string {
	t.Helper()
	if err != nil {
		return problemOf(err)
	}
	out, n, err := converter(t, d, transcode.AllowMissing()).AppendJSON(nil, thrift)
	if err != nil || n != len(thrift) {
		t.Errorf("%x is no %s: %v", thrift, d.Name(), err)
	}
	return string(out)
}

func problemOf(err error) string {
	text := diag.CodeOf(err).String()
	switch e := err.(type) {
	case *diag.Fault:
		return fmt.Sprint(text, " ", e.Path(), " ", e.Offset)
	case *transcode.PartError:
		return fmt.Sprint(text, " ", e.Fault.Path(), " in ", e.Place, " ", e.Name)
	}
	return err.Error()
}
