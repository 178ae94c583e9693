package load

import (
	"fmt"
	"strings"

	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds calls of tRPC, whose requests and replies are messages that nobody looks into.

// Message encodes a call of a method on messages, "/package.Service/Method". The form must be that of tRPC or gRPC.
func (f *Form) Message(method string, t transport.ContentType, body []byte) (r Request, err error) {
	if err := f.check(); err != nil {
		return Request{}, err
	}
	switch {
	case f.Dialect == GRPC:
		return f.messageGRPC(method, t, body)
	case f.Dialect != TRPC:
		return Request{}, fmt.Errorf("load: %s carries structs, not messages", f.Dialect)
	}
	service, _, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	req := trpc.Request{Version: trpc.Version, ID: sequenceBase, ContentType: t, Encoding: f.Compression}
	var pairs []transport.Pair
	for _, p := range f.Headers {
		pairs = append(pairs, transport.Pair(p))
	}
	b := trpc.Head{Type: trpc.Unary, ID: sequenceBase, Version: trpc.Version}.Append(nil)
	b = req.AppendTo(b, method, service, pairs)
	header := len(b) - trpc.HeadSize
	if b, err = new(trpc.Compressor).Compress(b, body, f.Compression); err != nil {
		return Request{}, err
	}
	if err := trpc.Seal(b, 0, header, 0); err != nil {
		return Request{}, err
	}
	// The header's id is its third field, and the fields before it have no parts.
	before := (&trpc.Request{Version: trpc.Version, ID: sequenceBase}).Append(nil, nil)
	return Request{frame: b, ids: []place{
		{offset: trpcSequence}, {offset: trpc.HeadSize + len(before) - sequenceSize, varint: true},
	}}, nil
}

const (
	trpcSequence = 10 // where a frame's head has the sequence id
	sequenceSize = 5  // of a varint
)

// nextTRPC is next for tRPC.
func (r *replies) nextTRPC(b []byte) (rep reply, n int, err error) {
	frame, n, err := r.trpc.Next(b)
	if n == 0 || err != nil {
		return rep, 0, err
	}
	head, err := trpc.ParseHead(frame)
	if err != nil {
		return rep, 0, err
	}
	rep.seq, rep.message = head.ID, true
	if head.Type != trpc.Unary {
		return rep, n, nil // of no type that a reply has
	}
	h := &r.response
	if err := h.Parse(frame[trpc.HeadSize : trpc.HeadSize+int(head.Header)]); err != nil {
		return rep, 0, err
	}
	rep.kind, rep.mismatch = thriftwire.Reply, h.ID != head.ID
	rep.payload = frame[trpc.HeadSize+int(head.Header):]
	rep.thrown = h.FuncRet != 0
	if h.Ret != trpc.OK {
		rep.kind, rep.code, rep.ex = thriftwire.Exception, int32(h.Ret), h.Message
	}
	return rep, n, nil
}
