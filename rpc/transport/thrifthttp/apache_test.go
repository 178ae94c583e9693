package thrifthttp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file tests against Apache Thrift's Go library as client and as server.

// text is the struct {1: text} of Apache's library.
type text struct{ string }

func (s *text) Write(ctx context.Context, p thrift.TProtocol) error {
	return errors.Join(p.WriteFieldBegin(ctx, "", thrift.STRING, 1), p.WriteString(ctx, s.string), p.WriteFieldStop(ctx))
}

func (s *text) Read(ctx context.Context, p thrift.TProtocol) (err error) {
	if _, err = p.ReadStructBegin(ctx); err != nil {
		return err
	}
	if _, _, _, err = p.ReadFieldBegin(ctx); err != nil {
		return err
	}
	if s.string, err = p.ReadString(ctx); err != nil {
		return err
	}
	if _, _, _, err = p.ReadFieldBegin(ctx); err != nil {
		return err
	}
	return p.ReadStructEnd(ctx)
}

// answer returns the reply to a message that has its arguments as result.
func answer(_ context.Context, r *thrifthttp.Request) (thrifthttp.Reply, error) {
	defer r.Block.Release()
	if m, n := thriftwire.ConsumeMessage(r.Message); n > 0 {
		if m.Type == thriftwire.Oneway {
			return thrifthttp.Reply{}, nil
		}
		return thrifthttp.Reply{Message: [][]byte{append(thriftwire.AppendMessage(nil, thriftwire.Reply, string(m.Name), m.SequenceID), r.Message[n:]...)}}, nil
	}
	m, dialect, n := compact.ConsumeMessage(r.Message)
	if n < 0 {
		return thrifthttp.Reply{}, &thrifthttp.StatusError{Status: http.StatusBadRequest, Detail: "no message"}
	}
	return thrifthttp.Reply{Message: [][]byte{append(dialect.AppendMessage(nil, thriftwire.Reply, string(m.Name), m.SequenceID), r.Message[n:]...)}}, nil
}

func protocols() map[string]thrift.TProtocolFactory {
	return map[string]thrift.TProtocolFactory{
		"binary": thrift.NewTBinaryProtocolFactoryConf(nil), "compact": thrift.NewTCompactProtocolFactoryConf(nil),
	}
}

func TestApacheClientsAreServed(t *testing.T) {
	for name, factory := range protocols() {
		t.Run(name, func(t *testing.T) {
			n := serve(t, thrifthttp.Options{Exchange: answer}, false)
			h := &http.Transport{}
			defer h.CloseIdleConnections()
			transport, err := thrift.NewTHttpClientWithOptions(n.url("/"), thrift.THttpClientOptions{Client: &http.Client{Transport: h}})
			if err != nil {
				t.Fatal(err)
			}
			defer transport.Close()
			protocol := factory.GetProtocol(transport)
			client := thrift.NewTStandardClient(protocol, protocol)
			for _, want := range []string{"a", strings.Repeat("b", 100_000)} {
				var got text
				if _, err := client.Call(t.Context(), "echo", &text{want}, &got); err != nil || got.string != want {
					t.Errorf("%d bytes: %d, %v", len(want), len(got.string), err)
				}
			}
			if _, err := client.Call(t.Context(), "note", &text{"oneway"}, nil); err != nil {
				t.Errorf("oneway: %v", err)
			}
		})
	}
}

// echoProcessor replies with the arguments.
type echoProcessor struct{ thrift.TProcessor }

func (echoProcessor) Process(ctx context.Context, in, out thrift.TProtocol) (bool, thrift.TException) {
	name, _, seq, err := in.ReadMessageBegin(ctx)
	var args text
	err = errors.Join(err, args.Read(ctx, in), in.ReadMessageEnd(ctx),
		out.WriteMessageBegin(ctx, name, thrift.REPLY, seq), args.Write(ctx, out), out.WriteMessageEnd(ctx), out.Flush(ctx))
	return err == nil, thrift.WrapTException(err)
}

func TestApacheServersAreCalled(t *testing.T) {
	noLeaks(t)
	factory := thrift.NewTBinaryProtocolFactoryConf(nil)
	server := httptest.NewServer(http.HandlerFunc(thrift.NewThriftHandlerFunc(echoProcessor{}, factory, factory)))
	defer server.Close()
	c, err := thrifthttp.NewClient(server.URL, thrifthttp.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	args := thriftwire.AppendStop(thriftwire.AppendString(thriftwire.AppendField(nil, thriftwire.String, 1), "hello"))
	reply, _, err := c.Post(t.Context(), append(thriftwire.AppendMessage(nil, thriftwire.Call, "echo", 7), args...), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := append(thriftwire.AppendMessage(nil, thriftwire.Reply, "echo", 7), args...)
	if string(reply.Message) != string(want) {
		t.Errorf("got % x, want % x", reply.Message, want)
	}
}
