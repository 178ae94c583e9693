package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file tests against Apache Thrift's Go library as client and as server.

// apacheText is the struct {1: text} of Apache's library.
type apacheText struct{ text string }

func (s *apacheText) Write(ctx context.Context, p thrift.TProtocol) error {
	return errors.Join(p.WriteStructBegin(ctx, ""),
		p.WriteFieldBegin(ctx, "", thrift.STRING, 1), p.WriteString(ctx, s.text), p.WriteFieldEnd(ctx),
		p.WriteFieldStop(ctx), p.WriteStructEnd(ctx))
}

func (s *apacheText) Read(ctx context.Context, p thrift.TProtocol) error {
	if _, err := p.ReadStructBegin(ctx); err != nil {
		return err
	}
	for {
		_, t, id, err := p.ReadFieldBegin(ctx)
		switch {
		case err != nil:
			return err
		case t == thrift.STOP:
			return p.ReadStructEnd(ctx)
		case id == 1 && t == thrift.STRING:
			s.text, err = p.ReadString(ctx)
		default:
			err = p.Skip(ctx, t)
		}
		if err != nil {
			return err
		}
	}
}

// spoken is a dialect as Apache's library and as our client name it.
type spoken struct {
	name      string
	transport thrift.TTransportFactory
	protocol  thrift.TProtocolFactory
	options   []rpc.ClientOption
}

// spokenByApache has every dialect that Apache's library has.
func spokenByApache() []spoken {
	framed := thrift.NewTFramedTransportFactoryConf(thrift.NewTTransportFactory(), nil)
	plain := thrift.NewTTransportFactory()
	binary, compactly := thrift.NewTBinaryProtocolFactoryConf(nil), thrift.NewTCompactProtocolFactoryConf(nil)
	inside := func(id thrift.THeaderProtocolID, transforms ...thrift.THeaderTransformID) thrift.TProtocolFactory {
		return thrift.NewTHeaderProtocolFactoryConf(&thrift.TConfiguration{THeaderProtocolID: &id, THeaderTransforms: transforms})
	}
	return []spoken{
		{name: "framed", transport: framed, protocol: binary},
		{name: "unframed", transport: thrift.NewTBufferedTransportFactory(4096), protocol: binary, options: []rpc.ClientOption{rpc.Unframed()}},
		{name: "framed compact", transport: framed, protocol: compactly, options: []rpc.ClientOption{rpc.Compact(compact.Apache)}},
		{name: "unframed compact", transport: thrift.NewTBufferedTransportFactory(4096), protocol: compactly,
			options: []rpc.ClientOption{rpc.Unframed(), rpc.Compact(compact.Apache)}},
		{name: "header", transport: plain, protocol: inside(thrift.THeaderProtocolBinary),
			options: []rpc.ClientOption{rpc.THeader(header.None)}},
		{name: "header, compact", transport: plain, protocol: inside(thrift.THeaderProtocolCompact),
			options: []rpc.ClientOption{rpc.THeader(header.None), rpc.Compact(compact.Apache)}},
		{name: "header, zlib", transport: plain, protocol: inside(thrift.THeaderProtocolBinary, thrift.TransformZlib),
			options: []rpc.ClientOption{rpc.THeader(header.Zlib)}},
	}
}

// connect connects Apache's library to an address.
func (s *spoken) connect(t *testing.T, address string) thrift.TProtocol {
	t.Helper()
	socket := thrift.NewTSocketConf(address, &thrift.TConfiguration{ConnectTimeout: patience, SocketTimeout: patience})
	transport, err := s.transport.GetTransport(socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := transport.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { transport.Close() })
	return s.protocol.GetProtocol(transport)
}

func TestApacheClientsAreServed(t *testing.T) {
	noted := make(chan string, 1)
	oneway := raw("note", func(_ context.Context, args, dst []byte) ([]byte, error) {
		noted <- textOf(args)
		return dst, nil
	})
	oneway.Oneway = true
	fail := raw("fail", func(context.Context, []byte, []byte) ([]byte, error) { return nil, errors.New("out of paper") })
	for _, s := range spokenByApache() {
		t.Run(s.name, func(t *testing.T) {
			_, address := listen(t, []rpc.Method{echo, oneway, fail})
			protocol := s.connect(t, address)
			for name, client := range map[string]*thrift.TStandardClient{
				"bare":        thrift.NewTStandardClient(protocol, protocol),
				"multiplexed": thrift.NewTStandardClient(protocol, thrift.NewTMultiplexedProtocol(protocol, "S")),
			} {
				for i := range 20 {
					want := fmt.Sprint(name, i)
					var got apacheText
					if _, err := client.Call(t.Context(), "echo", &apacheText{want}, &got); err != nil || got.text != want {
						t.Fatalf("%s: %q, %v", name, got.text, err)
					}
				}
				if _, err := client.Call(t.Context(), "note", &apacheText{"oneway"}, nil); err != nil {
					t.Errorf("%s: oneway: %v", name, err)
				}
				if got := receive(t, "the oneway call runs", noted); got != "oneway" {
					t.Errorf("%s: oneway: %q", name, got)
				}
				for method, code := range map[string]int32{"nothing": thrift.UNKNOWN_METHOD, "fail": thrift.INTERNAL_ERROR} {
					_, err := client.Call(t.Context(), method, &apacheText{}, &apacheText{})
					var e thrift.TApplicationException
					if !errors.As(err, &e) || e.TypeId() != code {
						t.Errorf("%s: %s: %v", name, method, err)
					}
				}
			}
		})
	}
}

// apacheProcessor serves echo, note and fail with Apache's library.
type apacheProcessor struct {
	thrift.TProcessor // for the methods that no server calls
	noted             chan string
}

func (a *apacheProcessor) Process(ctx context.Context, in, out thrift.TProtocol) (bool, thrift.TException) {
	name, _, seq, err := in.ReadMessageBegin(ctx)
	if err != nil {
		return false, thrift.WrapTException(err)
	}
	var args apacheText
	if err := errors.Join(args.Read(ctx, in), in.ReadMessageEnd(ctx)); err != nil {
		return false, thrift.WrapTException(err)
	}
	var reply thrift.TStruct = &args
	kind := thrift.REPLY
	switch name {
	case "note":
		a.noted <- args.text
		return true, nil
	case "fail":
		kind, reply = thrift.EXCEPTION, thrift.NewTApplicationException(thrift.INTERNAL_ERROR, "out of paper")
	}
	err = errors.Join(out.WriteMessageBegin(ctx, name, kind, seq), reply.Write(ctx, out), out.WriteMessageEnd(ctx), out.Flush(ctx))
	if err != nil {
		return false, thrift.WrapTException(err)
	}
	return true, nil
}

func TestApacheServersAreCalled(t *testing.T) {
	for _, s := range spokenByApache() {
		t.Run(s.name, func(t *testing.T) {
			noted := make(chan string, 1)
			service := &apacheProcessor{noted: noted}
			processor := thrift.NewTMultiplexedProcessor()
			processor.RegisterDefault(service)
			processor.RegisterProcessor("S", service)
			socket, err := thrift.NewTServerSocket("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := thrift.NewTSimpleServer4(processor, socket, s.transport, s.protocol)
			if err := server.Listen(); err != nil {
				t.Fatal(err)
			}
			address := socket.Addr().String()
			go server.AcceptLoop()
			t.Cleanup(func() { server.Stop() })

			client := dial(t, "tcp", address, s.options...)
			for name, c := range map[string]rpc.Caller{"bare": client, "multiplexed": rpc.Multiplexed(client, "S")} {
				done := make(chan error, 20)
				for i := range cap(done) { // pipelined on one connection
					go func() {
						want := fmt.Sprint(name, i)
						got, err := invoke(t.Context(), c, "echo", want)
						if err == nil && got != want {
							err = fmt.Errorf("got %q, want %q", got, want)
						}
						done <- err
					}()
				}
				for range cap(done) {
					if err := receive(t, "every call is answered", done); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := c.Invoke(ctx, &rpc.Invocation{Method: "note", Oneway: true,
					AppendArgs: func(dst []byte) ([]byte, error) { return append(dst, textStruct("oneway")...), nil }})
				if err != nil {
					t.Errorf("%s: oneway: %v", name, err)
				}
				if got := receive(t, "the oneway call runs", noted); got != "oneway" {
					t.Errorf("%s: oneway: %q", name, got)
				}
				_, err = invoke(ctx, c, "fail", "")
				var e *rpc.ApplicationException
				if !errors.As(err, &e) || e.Type != rpc.InternalError || e.Message != "out of paper" {
					t.Errorf("%s: fail: %v", name, err)
				}
			}
		})
	}
}
