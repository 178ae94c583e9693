package transcode_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// anything is a request that answers every question with the same text.
type anything struct {
	text string
	body []byte
	form bool
	base []byte
}

func (a anything) lines() []string              { return strings.Split(a.text, "\n") }
func (a anything) Param(string) (string, bool)  { return a.text, a.text != "" }
func (a anything) Query(string) []string        { return a.lines() }
func (a anything) Header(string) []string       { return a.lines() }
func (a anything) Cookie(string) (string, bool) { return a.text, a.text != "" }
func (a anything) IsForm() bool                 { return a.form }
func (a anything) Form(string) []string         { return a.lines() }
func (a anything) Body() []byte                 { return a.body }
func (a anything) URI() string                  { return a.text }
func (a anything) RequestBase() []byte          { return a.base }

// httpSubjects are the structs of the other tests with a choice of options.
func httpSubjects(t testing.TB) (defs []*schema.StructDef, convs []*transcode.HTTPConverter) {
	add := func(d *schema.StructDef, opts ...transcode.HTTPOption) {
		defs, convs = append(defs, d), append(convs, httpConverter(t, d, opts...))
	}
	every := parseIDL(t, everyPart)
	for _, name := range []string{"Every", "Outer", "Size"} {
		add(every.Struct(name))
		add(every.Struct(name), transcode.OmitMappingErrors(), transcode.BodyFallback(), transcode.RejectUnknown())
		add(every.Struct(name), transcode.Traceback(), transcode.EmptyAbsent(), transcode.WriteAbsent(schema.Default), transcode.LossyText())
	}
	add(parseIDL(t, withBase).Struct("Req"), transcode.Base(func(dst, a, b []byte) ([]byte, error) { return append(dst, b...), nil }))
	reply := parseIDL(t, everyReply)
	for _, name := range []string{"Reply", "Raw"} {
		add(reply.Struct(name))
		add(reply.Struct(name), transcode.OmitMappingErrors(), transcode.CommaLists(), transcode.LossyText(), transcode.WriteZeros())
	}
	add(all(), transcode.RequestParts(func(f *schema.Field) []transcode.Part {
		return []transcode.Part{{Place: transcode.InQuery, Name: f.Name()}}
	}), transcode.AllowDuplicates(), transcode.Unsigned8(), transcode.ReplyParts(func(f *schema.Field) []transcode.Part {
		return []transcode.Part{{Place: transcode.InHeader, Name: f.Name()}}
	}))
	return defs, convs
}

// checkRequest converts a request, which must give an error or what is of the type.
func checkRequest(t *testing.T, d *schema.StructDef, c *transcode.HTTPConverter, req transcode.HTTPRequest) {
	t.Helper()
	out, err := c.AppendThrift([]byte("before"), req)
	if err != nil {
		var fault *diag.Fault
		if !errors.As(err, &fault) || string(out) != "before" {
			t.Errorf("%v with %q", err, out)
		}
		return
	}
	conv := converter(t, d, transcode.AllowMissing(), transcode.AllowDuplicates(), transcode.NonFinite(transcode.NonFiniteStrings), transcode.StrictTypes())
	if _, n, err := conv.AppendJSON(nil, out[6:]); err != nil || n != len(out)-6 {
		t.Errorf("%x is no %s: %v", out[6:], d.Name(), err)
	}
}

// checkReply converts Thrift to a reply, which must give an error and nothing else, or what HTTP can hold.
func checkReply(t *testing.T, c *transcode.HTTPConverter, thrift []byte) {
	t.Helper()
	var resp response
	out, _, err := c.AppendReply([]byte("before"), thrift, &resp)
	if err != nil && (string(out) != "before" || resp.lines != nil) {
		t.Errorf("%v with %q and %s", err, out, &resp)
	}
	if strings.ContainsAny(resp.String(), "\r\n\x00") {
		t.Errorf("a reply with control characters: %q", resp.String())
	}
}

func FuzzHTTP(f *testing.F) {
	f.Add(uint8(0), "1", []byte(`{"heading":"t","f":1,"paging":{"order":"a"},"all":"x"}`), []byte{0})
	f.Add(uint8(1), "a,b\nc", []byte(`{"f":null}`), []byte("\x0b\x00\x01\x00\x00\x00\x01a\x00"))
	f.Add(uint8(3), `[{"width":1}]`, []byte(`{"code":5,"inner":{"more":[{"code":7}],"code":[]},"code":1}`), []byte("\x08\x00\x02\x00\x00\x00\xc8\x00"))
	f.Add(uint8(14), `{"a":[1]}`, []byte(`null`), []byte("\x0f\x00\x05\x08\x00\x00\x00\x01\x00\x00\x00\x01\x00"))
	defs, convs := httpSubjects(f)
	f.Fuzz(func(t *testing.T, which uint8, text string, body, thrift []byte) {
		i := int(which) % len(defs)
		for _, form := range []bool{false, true} {
			checkRequest(t, defs[i], convs[i], anything{text, body, form, thrift})
		}
		checkReply(t, convs[i], thrift)
	})
}

func TestDamagedRequestsGiveErrorsOrValues(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	bodies := []string{`{"heading":"t","f":"x","paging":{"order":"a"},"all":"x","only":{}}`, `{"code":5,"inner":{"more":[{"code":7}],"own":1}}`, `{"base":{"Caller":"c"},"q":1}`}
	texts := []string{"1", "a, b", `{"width":1}`, `["a"]`, "[1,2]", "", "-1.5", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "AAE=\nx"}
	defs, convs := httpSubjects(t)
	for i, d := range defs {
		for range 200 {
			text := texts[r.IntN(len(texts))]
			body := mutate(r, []byte(bodies[r.IntN(len(bodies))]))
			checkRequest(t, d, convs[i], anything{text, body, false, nil})
			checkRequest(t, d, convs[i], anything{string(mutate(r, []byte(text))), nil, r.IntN(2) == 0, nil})
		}
	}
}

// still is a request that allocates nothing for its answers.
type still struct {
	anything
	list []string
}

func (s still) Query(string) []string  { return s.list }
func (s still) Header(string) []string { return s.list }

func TestConvertingHTTPIntoALargeBufferAllocatesNothing(t *testing.T) {
	d := parseIDL(t, `enum Color { RED = 1 }
struct S { 1: i64 id (api.path = "id"), 2: list<i32> n (api.query = "n"), 3: string a (api.header = "A"), 4: string t, 5: Color c (api.cookie = "c") }
service T { void call(1: S s) }`)
	c := httpConverter(t, d.Struct("S"))
	m, err := transcode.NewHTTPMethod(d.Service("T").Method("call"))
	if err != nil {
		t.Fatal(err)
	}
	var req transcode.HTTPRequest = still{anything{text: "1", body: []byte(`{"t":"x"}`)}, []string{"7,8"}}
	dst := make([]byte, 0, 1024)
	if n := allocations(func() {
		_, err1 := c.AppendThrift(dst, req)
		_, err2 := m.AppendArgs(dst, req)
		if err := errors.Join(err1, err2); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
