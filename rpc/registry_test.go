package rpc_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file tests services that take the place of others, and unknown methods.

// says is a method that answers a text.
func says(name, text string) rpc.Method {
	return raw(name, func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, textStruct(text)...), nil })
}

func TestAServiceTakesThePlaceOfItsNamesake(t *testing.T) {
	server, addr := listen(t, []rpc.Method{says("kept", "old"), says("gone", "old")})
	for _, s := range []*rpc.Service{
		{Name: "S", Methods: []rpc.Method{says("kept", "new"), says("more", "new")}},
		{Name: "T", Methods: []rpc.Method{says("other", "T")}},
	} {
		if err := server.Replace(s); err != nil {
			t.Fatal(err)
		}
	}
	p := connect(t, addr, true)
	for name, want := range map[string]string{"kept": "new", "S:kept": "new", "more": "new", "other": "T"} {
		p.send(p.call(name, 1, ""))
		p.want(1, want)
	}
	p.send(p.call("gone", 2, ""))
	p.wantException(2, rpc.UnknownMethod)
	if err := server.Replace(&rpc.Service{Name: "S", Methods: []rpc.Method{{Name: "kept"}}}); err == nil {
		t.Error("a method without Serve is accepted")
	}
	p.send(p.call("kept", 3, ""))
	p.want(3, "new")
}

func TestACallEndsWithTheMethodThatItFound(t *testing.T) {
	running, goOn := make(chan struct{}), make(chan struct{})
	server, addr := listen(t, []rpc.Method{raw("m", func(_ context.Context, _, dst []byte) ([]byte, error) {
		close(running)
		<-goOn
		return append(dst, textStruct("old")...), nil
	})})
	p := connect(t, addr, true)
	p.send(p.call("m", 1, ""))
	receive(t, "the call runs", running)
	if err := server.Replace(&rpc.Service{Name: "S", Methods: []rpc.Method{says("m", "new")}}); err != nil {
		t.Fatal(err)
	}
	p.send(p.call("m", 2, ""))
	close(goOn)
	p.want(1, "old")
	p.want(2, "new")
}

func TestUnknownMethodsLeadToTheServiceThatServesThem(t *testing.T) {
	silent := make(chan struct{}, 1)
	unknown := func(service string) func(string, bool) *rpc.Method {
		return func(method string, oneway bool) *rpc.Method {
			switch {
			case method == "refused":
				return nil
			case method == "broken":
				return &rpc.Method{}
			case oneway:
				return &rpc.Method{Serve: func(_ context.Context, _, dst []byte) ([]byte, error) {
					silent <- struct{}{}
					return dst, nil
				}}
			}
			m := says(method, service+"?"+method)
			return &m
		}
	}
	server, addr := listen(t, []rpc.Method{says("known", "S.known")})
	if err := server.Register(&rpc.Service{Name: "U", Methods: []rpc.Method{says("own", "U.own")}, Unknown: unknown("U")}); err != nil {
		t.Fatal(err)
	}
	p := connect(t, addr, true)
	for name, want := range map[string]string{"known": "S.known", "own": "U.own", "any": "U?any", "U:any": "U?any", "U:known": "U?known"} {
		p.send(p.call(name, 1, ""))
		p.want(1, want)
	}
	for _, name := range []string{"S:any", "", "U:", ":any", "U:a:b", "refused", "broken"} {
		p.send(p.call(name, 2, ""))
		p.wantException(2, rpc.UnknownMethod)
	}
	p.send(p.message(thriftwire.Oneway, "U:silent", 3, textStruct("")))
	p.send(p.call("any", 4, ""))
	p.want(4, "U?any")
	receive(t, "the oneway call runs", silent)
	if err := server.Register(&rpc.Service{Name: "V", Unknown: unknown("V")}); err != nil {
		t.Fatal(err)
	}
	p.send(p.call("any", 5, ""))
	p.wantException(5, rpc.UnknownMethod)
	p.send(p.call("V:any", 6, ""))
	p.want(6, "V?any")
}

// Kitex's clients call all methods by bare names, and name the service in a header.
func TestServicesOfOnePortAreToldApartByTheHeaderOfKitex(t *testing.T) {
	server, addr := listen(t, []rpc.Method{says("both", "S"), says("own", "S.own")})
	unknown := func(method string, _ bool) *rpc.Method {
		m := says(method, "T?"+method)
		return &m
	}
	for _, s := range []*rpc.Service{
		{Name: "T", Methods: []rpc.Method{says("both", "T")}, Unknown: unknown},
		{Name: "U", Unknown: func(string, bool) *rpc.Method { return nil }},
	} {
		if err := server.Register(s); err != nil {
			t.Fatal(err)
		}
	}
	p := connect(t, addr, true)
	for i, c := range []struct{ service, method, want string }{
		{"S", "both", "S"}, {"T", "both", "T"}, {"S", "both", "S"}, {"", "both", ""}, {"X", "both", ""}, {"U", "both", ""},
		{"T", "S:both", "S"}, {"S", "own", "S.own"}, {"T", "own", "S.own"}, // which no other service has
		{"T", "any", "T?any"}, {"S", "any", ""}, {"U", "any", ""}, {"T", "S:any", ""},
	} {
		o := ttheader.Outgoing{Flags: ttheader.OutOfOrder, SequenceID: uint32(i + 1)}
		if c.service != "" {
			o.Strings = []ttheader.StringPair{{Key: ttheader.KeyServiceName, Value: c.service}}
		}
		b, err := o.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, echoCall(c.method, int32(i+1), "")...)
		ttheader.Seal(b, 0)
		p.send(b)
		var f ttheader.Frame
		if err := f.Parse(p.frame()); err != nil {
			t.Fatal(err)
		}
		if r := parseReply(f.Payload); c.want == "" && r.exception != rpc.UnknownMethod || c.want != "" && r.text != c.want {
			t.Errorf("%s of %s: %v, want %s", c.method, c.service, r, c.want)
		}
	}
}

func TestAPanicOfUnknownIsAnswered(t *testing.T) {
	server := newServer()
	if err := server.Register(&rpc.Service{Name: "S", Unknown: func(string, bool) *rpc.Method { panic("no") }}); err != nil {
		t.Fatal(err)
	}
	client := dial(t, "tcp", serveOn(t, server, "tcp"))
	for range 2 { // the connection stays
		_, err := invoke(t.Context(), client, "any", "")
		var e *rpc.ApplicationException
		if !errors.As(err, &e) || e.Type != rpc.InternalError || !strings.Contains(e.Message, "panic") {
			t.Errorf("%v", err)
		}
	}
}
