package flatrpc

import (
	"bytes"
	"context"
	"fmt"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds calls of clients.

// Call calls a method, such as "/shop.Orders/Place", with the finished message
// of req, and returns the reply's root, which owns its bytes. v verifies the reply;
// one that it refuses is an error of [rpc.StageDecode]. req is the caller's again when Call returns. Errors
// are those of [rpc.MessageCaller].
func Call[T any, P Table[T]](ctx context.Context, c rpc.MessageCaller, method string, req *flatbuf.Builder, v *flatbuf.Verifier) (P, error) {
	var reply P
	err := View(ctx, c, method, req, v, func(p P) error {
		reply = p
		t := p.Table()
		reply.Init(bytes.Clone(t.Bytes), t.Pos)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// View is [Call] for those who need the reply for a moment only: read is given
// its root, which is a view of the network's memory and valid until read returns. It returns the error
// of read as one of [rpc.StageDecode].
func View[T any, P Table[T]](ctx context.Context, c rpc.MessageCaller, method string, req *flatbuf.Builder, v *flatbuf.Verifier, read func(reply P) error) error {
	return c.InvokeMessage(ctx, &rpc.MessageCall{
		Method:  method,
		Request: rpc.Message{Type: transport.FlatBuffers, Body: req.FinishedBytes()},
		ReadReply: func(m rpc.Message, _ []byte) error {
			if m.Type != transport.FlatBuffers {
				return fmt.Errorf("the reply is in %s", m.Type)
			}
			if err := v.Verify(m.Body); err != nil {
				return err
			}
			return read(root[T, P](m.Body))
		},
	})
}

// Send calls a oneway method with the finished message of req. A nil error means that the
// request was handed to the network, not that the server has seen it.
func Send(ctx context.Context, c rpc.MessageCaller, method string, req *flatbuf.Builder) error {
	return c.InvokeMessage(ctx, &rpc.MessageCall{
		Method: method, Oneway: true,
		Request: rpc.Message{Type: transport.FlatBuffers, Body: req.FinishedBytes()},
	})
}
