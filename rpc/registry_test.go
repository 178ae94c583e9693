package rpc_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
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
