package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file tests what travels beside messages.

// describe returns a method that answers with the headers of its call, sorted.
func describe() rpc.Method {
	return raw("describe", func(ctx context.Context, _, dst []byte) ([]byte, error) {
		info, _ := rpc.Info(ctx)
		headers := maps.Collect(info.Headers())
		delete(headers, "client_timeout")
		var lines []string
		for _, k := range slices.Sorted(maps.Keys(headers)) {
			lines = append(lines, k+"="+headers[k])
		}
		user, _ := info.Header("user")
		tenant, _ := info.Persistent("tenant")
		lines = append(lines, "user:"+user, "tenant:"+tenant)
		return append(dst, textStruct(strings.Join(lines, " "))...), nil
	})
}

func TestMetadataReachesTheHandlerAndThoseBehind(t *testing.T) {
	_, last := listen(t, []rpc.Method{describe()})
	for name, opts := range map[string][]rpc.ClientOption{"header": {rpc.THeader(header.None)}, "TTHeader": {rpc.TTHeader()}} {
		t.Run(name, func(t *testing.T) {
			onward := dial(t, "tcp", last, opts...)
			pass := raw("pass", func(ctx context.Context, _, dst []byte) ([]byte, error) {
				text, err := invoke(rpc.WithHeader(ctx, "hop", "2"), onward, "describe", "")
				return append(dst, textStruct(text)...), err
			})
			server := newServer()
			if err := server.Register(&rpc.Service{Name: "S", Methods: []rpc.Method{pass, describe()}}); err != nil {
				t.Fatal(err)
			}
			first := serveOn(t, server, "tcp")
			client := dial(t, "tcp", first, opts...)
			ctx := rpc.WithPersistent(rpc.WithHeader(t.Context(), "user", "emma"), "tenant", "old")
			ctx = rpc.WithPersistent(ctx, "tenant", "acme")
			transit := ""
			if name == "TTHeader" {
				transit = "RPC_TRANSIT_"
			}
			for method, want := range map[string]string{
				"describe": "RPC_PERSIST_tenant=acme " + transit + "user=emma user:emma tenant:acme",
				"pass":     "RPC_PERSIST_tenant=acme " + transit + "hop=2 user: tenant:acme",
			} {
				if got, err := invoke(ctx, client, method, ""); err != nil || sorted(got) != sorted(want) {
					t.Errorf("%s: %s, %v, want %s", method, got, err, want)
				}
			}
		})
	}
}

func sorted(words string) string {
	f := strings.Fields(words)
	slices.Sort(f)
	return fmt.Sprint(f)
}

func TestPersistentHeadersHoldForTheCallsBehind(t *testing.T) {
	_, address := listen(t, []rpc.Method{describe()})
	p := connect(t, address, true)
	persistent := []header.Pair{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}
	for i, o := range []header.Outgoing{
		{Persistent: persistent}, {}, {Persistent: []header.Pair{{Key: "b", Value: "3"}}, Headers: []header.Pair{{Key: "c", Value: "4"}}}, {},
	} {
		o.Flags, o.SequenceID = header.OutOfOrder, uint32(i+1)
		p.send(headerCall(t, o, echoCall("describe", 1, "")))
		_, message := p.headerReply()
		want := []string{"a=1 b=2", "a=1 b=2", "a=1 b=3 c=4", "a=1 b=3"}[i] + " user: tenant:"
		if r := parseReply(message); r.text != want {
			t.Errorf("call %d: %q, want %q", i, r.text, want)
		}
	}
}

func TestPersistentHeadersOfAConnectionAreBounded(t *testing.T) {
	_, address := listen(t, []rpc.Method{describe()})
	p := connect(t, address, true)
	for i := range 8 {
		o := header.Outgoing{Flags: header.OutOfOrder, SequenceID: uint32(i + 1),
			Persistent: []header.Pair{{Key: fmt.Sprint("key", i), Value: strings.Repeat("x", 30<<10)}}}
		p.send(headerCall(t, o, echoCall("describe", 1, "")))
		_, message := p.headerReply()
		if r := parseReply(message); len(r.text) > 64<<10+100 {
			t.Fatalf("the connection keeps %d bytes of headers", len(r.text))
		}
	}
}

// A call without its headers could do what nobody wants.
func TestCallsWhoseHeadersFitIntoNoFrameAreNotSent(t *testing.T) {
	_, address := listen(t, []rpc.Method{describe()}, rpc.MaxHeaderSize(0))
	for name, opts := range map[string][]rpc.ClientOption{"header": {rpc.THeader(header.Zlib)}, "TTHeader": {rpc.TTHeader()}} {
		c := dial(t, "tcp", address, opts...)
		for _, size := range []int{60_000, 70_000} {
			ctx := rpc.WithHeader(rpc.WithHeader(t.Context(), "user", "emma"), "much", strings.Repeat("m", size))
			text, err := invoke(ctx, c, "describe", "")
			var e *rpc.Error
			switch {
			case size < 1<<16 && (err != nil || !strings.Contains(text, "user:emma")):
				t.Errorf("%s, %d bytes: %q, %v", name, size, text, err)
			case size > 1<<16 && (!errors.As(err, &e) || e.Stage != rpc.StageEncode || e.Sent):
				t.Errorf("%s, %d bytes: %q, %v", name, size, text, err)
			}
		}
	}
}

func TestPersistentHeadersSayWhatOthersDo(t *testing.T) {
	priority := raw("priority", func(ctx context.Context, _, dst []byte) ([]byte, error) {
		info, _ := rpc.Info(ctx)
		_, limited := ctx.Deadline()
		return append(dst, textStruct(fmt.Sprint(info.Priority(), limited))...), nil
	})
	_, address := listen(t, []rpc.Method{priority})
	p := connect(t, address, true)
	for seq, c := range []struct {
		persistent, own []header.Pair
		want            string
	}{
		{nil, nil, "normal false"},
		{[]header.Pair{{Key: "thrift_priority", Value: "4"}, {Key: "client_timeout", Value: "60000"}}, nil, "best effort true"},
		{nil, nil, "best effort true"},
		{nil, []header.Pair{{Key: "thrift_priority", Value: "0"}}, "high important true"},
		{[]header.Pair{{Key: "thrift_priority", Value: "1"}}, nil, "high true"},
	} {
		o := header.Outgoing{SequenceID: uint32(seq), Persistent: c.persistent, Headers: c.own}
		p.send(headerCall(t, o, echoCall("priority", int32(seq), "")))
		if _, message := p.headerReply(); parseReply(message).text != c.want {
			t.Errorf("call %d: %v, want %s", seq, parseReply(message), c.want)
		}
	}
}

func TestReplyHeaders(t *testing.T) {
	set := raw("set", func(ctx context.Context, args, dst []byte) ([]byte, error) {
		info, _ := rpc.Info(ctx)
		if !info.SetReplyHeader("load", "1") || !info.SetReplyHeader("load", "0.5") {
			t.Error("the headers of a reply cannot be set")
		}
		return append(dst, args...), nil
	})
	_, address := listen(t, []rpc.Method{set})
	p := connect(t, address, true)
	p.send(callWith(t, 1, "set"))
	f, _ := p.headerReply()
	if load, _ := f.Headers.Get("load"); string(load) != "0.5" || f.Headers.Len() != 1 {
		t.Errorf("load %q of %d headers", load, f.Headers.Len())
	}
}

func TestABizStatusTravelsInHeaders(t *testing.T) {
	want := &rpc.BizStatus{Code: 404, Message: "no such book", Extra: map[string]string{"isbn": "1"}}
	fail := raw("fail", func(context.Context, []byte, []byte) ([]byte, error) { return nil, fmt.Errorf("wrapped: %w", want) })
	_, address := listen(t, []rpc.Method{fail})
	_, err := invoke(t.Context(), dial(t, "tcp", address, rpc.TTHeader()), "fail", "")
	var got *rpc.BizStatus
	if !errors.As(err, &got) || got.Code != 404 || got.Message != want.Message || !maps.Equal(got.Extra, want.Extra) {
		t.Errorf("%v", err)
	}
	_, err = invoke(t.Context(), dial(t, "tcp", address), "fail", "")
	var e *rpc.ApplicationException
	if !errors.As(err, &e) || !strings.Contains(e.Message, "no such book") {
		t.Errorf("where nothing has headers: %v", err)
	}
}

func TestABizStatusTooLongForHeadersIsStillOne(t *testing.T) {
	_, address := listen(t, []rpc.Method{raw("fail", func(context.Context, []byte, []byte) ([]byte, error) {
		return nil, &rpc.BizStatus{Code: 7, Message: strings.Repeat("m", 70<<10), Extra: map[string]string{"k": strings.Repeat("x", 70<<10)}}
	})})
	_, err := invoke(t.Context(), dial(t, "tcp", address, rpc.TTHeader()), "fail", "")
	var got *rpc.BizStatus
	if !errors.As(err, &got) || got.Code != 7 || !strings.HasPrefix(got.Message, "mmm") {
		t.Errorf("%v", err)
	}
}

func TestAStoppingServerSaysSoInHeaders(t *testing.T) {
	method, started, release := blocked()
	server, address := listen(t, []rpc.Method{method}, rpc.Grace(0, 0))
	h, tt := connect(t, address, true), connect(t, address, true)
	h.send(callWith(t, 1, "blocked"))
	o := ttheader.Outgoing{Flags: ttheader.OutOfOrder, SequenceID: 2}
	b, err := o.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, echoCall("blocked", 2, "x")...)
	ttheader.Seal(b, 0)
	tt.send(b)
	receive(t, "a call runs", started)
	receive(t, "the other runs", started)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(t.Context()) }()
	var f ttheader.Frame
	if err := f.Parse(tt.frame()); err != nil {
		t.Fatal(err)
	}
	if v, _ := f.Strings.Get(ttheader.KeyClosing); string(v) != "1" || f.SequenceID != 0 || len(f.Payload) != 0 {
		t.Errorf("the announcement is %+v", f)
	}
	// The announcement goes out before calls are refused.
	eventually(t, "the grace is over", func() bool { return rpc.Draining(server) })
	h.send(callWith(t, 3, "blocked"))
	frame, message := h.headerReply()
	bye, _ := frame.Headers.Get("connection")
	ex, _ := frame.Headers.Get("ex")
	if r := parseReply(message); r.exception != rpc.InternalError || string(bye) != "goaway" || string(ex) != "5" {
		t.Errorf("refused with %v, connection=%s, ex=%s", r, bye, ex)
	}
	close(release)
	if frame, _ = h.headerReply(); frame.SequenceID != 1 {
		t.Errorf("reply to %d", frame.SequenceID)
	}
	if bye, _ = frame.Headers.Get("connection"); string(bye) != "goaway" {
		t.Errorf("connection=%s", bye)
	}
	if err := f.Parse(tt.frame()); err != nil {
		t.Fatal(err)
	}
	if v, _ := f.Strings.Get(ttheader.KeyClosing); string(v) != "1" || f.SequenceID != 2 {
		t.Errorf("the reply is %+v", f)
	}
	h.wantClosed()
	tt.wantClosed()
	h.Close()
	tt.Close()
	if err := receive(t, "Shutdown returns", stopped); err != nil {
		t.Error(err)
	}
}

func TestAClientLeavesAServerThatIsStopping(t *testing.T) {
	for name, opts := range map[string][]rpc.ClientOption{"header": {rpc.THeader(header.None)}, "TTHeader": {rpc.TTHeader()}} {
		method, started, release := blocked()
		server, address := listen(t, []rpc.Method{method})
		client := dial(t, "tcp", address, opts...)
		answered := make(chan error, 1)
		go func() {
			_, err := invoke(t.Context(), client, "blocked", "x")
			answered <- err
		}()
		receive(t, "the call runs", started)
		stopped := make(chan error, 1)
		go func() { stopped <- server.Shutdown(t.Context()) }()
		eventually(t, "the server says that it leaves", func() bool { return rpc.Leaving(server) })
		close(release)
		if err := receive(t, "the call is answered", answered); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := receive(t, "the server stops", stopped); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var e *rpc.Error
		if _, err := invoke(t.Context(), client, "blocked", "x"); !errors.As(err, &e) || e.Stage != rpc.StageDial {
			t.Errorf("%s: the next call: %v", name, err)
		}
	}
}
