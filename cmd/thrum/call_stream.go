package main

import (
	"context"
	"fmt"
	"io"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file is "thrum call" for methods of Thrift that stream as Kitex has it.

// jsonStream is a stream of messages as JSON.
type jsonStream interface {
	SendJSON(message []byte) error
	CloseSend() error
	RecvJSON() ([]byte, error)
	Close()
}

// converse sends the messages of r, prints what comes back and returns the outcome.
func converse(env *environment, s jsonStream, r io.Reader) error {
	defer s.Close()
	wrong := make(chan error, 1)
	go func() {
		if err := sendAll(s, r); err != nil {
			wrong <- err
			s.Close()
		}
	}()
	for {
		reply, err := s.RecvJSON()
		if err != nil {
			return outcome(err, wrong)
		}
		if _, err := fmt.Fprintf(env.stdout, "%s\n", reply); err != nil {
			return err
		}
	}
}

// thriftStream is a client's stream of Thrift structs.
type thriftStream struct {
	s        *stream.Stream
	req, res *transcode.Converter
}

func (t *thriftStream) SendJSON(message []byte) error {
	b, err := t.req.AppendThrift(nil, message)
	if err != nil {
		return err
	}
	return t.s.Send(t.s.Context(), func(dst []byte) ([]byte, error) { return append(dst, b...), nil })
}

func (t *thriftStream) CloseSend() error { return t.s.CloseSend(t.s.Context()) }

func (t *thriftStream) RecvJSON() (out []byte, err error) {
	err = t.s.Recv(t.s.Context(), func(b []byte) (err error) {
		out, _, err = t.res.AppendJSON(nil, b)
		return err
	})
	return out, err
}

func (t *thriftStream) Close() { t.s.Cancel(nil) }

// callStream calls a method that streams.
func callStream(env *environment, args []string, o *callOptions, service *schema.Service, m *schema.Method) error {
	var t thriftStream
	var err error
	if t.req, err = transcode.New(m.Args().Fields()[0].Type().Struct(), transcode.RejectUnknown()); err != nil {
		return err
	}
	if t.res, err = transcode.New(m.Returns().Struct()); err != nil {
		return err
	}
	switch o.dialect {
	case "":
		o.dialect = "ttheader"
	case "ttheader":
	default:
		return usageError(args[1] + " streams, which goes over --dialect=ttheader")
	}
	options, err := o.client(args[0])
	if err != nil {
		return err
	}
	messages := requests(env, args[2:])
	if m.Stream().Kind == schema.ServerStream {
		input, err := callInput(env, args[2:])
		if err != nil {
			return err
		}
		messages = requests(env, []string{string(input)})
	}
	ctx, cancel := context.WithTimeout(env.ctx, o.timeout)
	defer cancel()
	client, err := dial(ctx, args[0], options)
	if err != nil {
		return unanswered(err, args[0])
	}
	defer client.Close()
	if t.s, err = client.OpenStream(ctx, &rpc.StreamCall{Service: service.Name(), Method: m.Name()}); err != nil {
		return unanswered(err, args[0])
	}
	return converse(env, &t, messages)
}
