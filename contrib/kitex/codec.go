package kitex

import (
	"context"
	"fmt"
	"sync"

	"github.com/cloudwego/kitex/pkg/remote"
	kitexcodec "github.com/cloudwego/kitex/pkg/remote/codec"
	"github.com/cloudwego/kitex/pkg/rpcinfo"
	"github.com/cloudwego/kitex/pkg/serviceinfo"
	"github.com/cloudwego/kitex/pkg/stats"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/rpc/transport/framed"
)

// This file holds the codec that Kitex sees: who encodes or decodes a message.

// DefaultMaxMessage is the length in bytes of the longest message unless
// MaxMessage says otherwise.
const DefaultMaxMessage = 256 << 20

// Option changes what New returns.
type Option func(*payloadCodec)

// ReadOnly leaves writing to Kitex's own codec.
func ReadOnly() Option { return func(c *payloadCodec) { c.writes = false } }

// WriteOnly leaves reading to Kitex's own codec.
func WriteOnly() Option { return func(c *payloadCodec) { c.reads = false } }

// MaxMessage limits the length of messages, without the headers of the
// transport; the default is DefaultMaxMessage.
func MaxMessage(bytes int) Option { return func(c *payloadCodec) { c.limit = bytes } }

// Codec reads and writes by the given codec of Thrum, which brings its own
// options: limits, checks, NoCopy. Its protocol must be the binary one; with another every message is an error.
func Codec(set *codec.Set) Option { return func(c *payloadCodec) { c.structs = set } }

// New returns a codec for server.WithPayloadCodec and client.WithPayloadCodec.
func New(opts ...Option) remote.PayloadCodec { return newCodec(opts) }

func newCodec(opts []Option) *payloadCodec {
	c := &payloadCodec{reads: true, writes: true, limit: DefaultMaxMessage, structs: codec.Default()}
	for _, o := range opts {
		o(c)
	}
	c.scanners.New = func() any { return framed.NewScanner(false, c.limit) }
	return c
}

type payloadCodec struct {
	structs       *codec.Set
	reads, writes bool
	limit         int
	types         sync.Map  // reflect.Type → *verdict
	scanners      sync.Pool // of *framed.Scanner, each at the start of a message
}

// Name returns the name of the payload, which is also what Kitex's own codec
// calls itself.
func (c *payloadCodec) Name() string { return serviceinfo.Thrift.String() }

// String is what Kitex's options note of the codec. They print it by %+v, which would read what calls are
// changing at the same time.
func (c *payloadCodec) String() string { return "thrum" }

// Marshal writes the envelope and the struct of a message.
func (c *payloadCodec) Marshal(ctx context.Context, message remote.Message, out remote.ByteBuffer) error {
	ri := message.RPCInfo()
	method := ri.Invocation().MethodName()
	if message.MessageType() == remote.Exception || ri.Config().PayloadCodec() != serviceinfo.Thrift || method == "" {
		return c.own(message, func(k remote.PayloadCodec) error { return k.Marshal(ctx, message, out) })
	}
	if err := kitexcodec.NewDataIfNeeded(method, message); err != nil {
		return err
	}
	if v, err := c.takes(message.Data(), c.writes); err != nil {
		return err
	} else if v == nil {
		return c.own(message, func(k remote.PayloadCodec) error { return k.Marshal(ctx, message, out) })
	}
	return c.write(message, method, out)
}

// Unmarshal reads the envelope and the struct of a message. Until it is known
// who decodes, bytes are only looked at, and what it does to the message may be done again: Kitex's codec then starts
// from the same place.
func (c *payloadCodec) Unmarshal(ctx context.Context, message remote.Message, in remote.ByteBuffer) error {
	ri := message.RPCInfo()
	kitexs := func(k remote.PayloadCodec) error { return k.Unmarshal(ctx, message, in) }
	if ri.Config().PayloadCodec() != serviceinfo.Thrift {
		return c.own(message, kitexs)
	}
	e, err := peekEnvelope(in, message.PayloadLen())
	if err != nil {
		return err
	}
	if err := kitexcodec.UpdateMsgType(uint32(e.kind), message); err != nil {
		return err
	}
	if message.MessageType() == remote.Exception {
		return c.own(message, kitexs)
	}
	if err := kitexcodec.SetOrCheckSeqID(e.sequenceID, message); err != nil {
		return err
	}
	if err := kitexcodec.SetOrCheckMethodName(ctx, e.method, message); err != nil {
		return err
	}
	if err := kitexcodec.NewDataIfNeeded(e.method, message); err != nil {
		return err
	}
	v, err := c.takes(message.Data(), c.reads)
	if err != nil {
		return err
	}
	if v == nil {
		return c.own(message, kitexs)
	}
	rpcinfo.Record(ctx, ri, stats.WaitReadStart, nil)
	err = c.read(message, e.size, v.aliases, in)
	rpcinfo.Record(ctx, ri, stats.WaitReadFinish, err)
	return err
}

// own calls f with the codec that Kitex would use for the message if this one
// had not been set. That panics on some bytes, such as an exception with a
// field of a type that does not exist, which is an error here.
func (c *payloadCodec) own(message remote.Message, f func(remote.PayloadCodec) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = remote.NewTransErrorWithMsg(remote.ProtocolError, fmt.Sprintf("Kitex's codec panics on the message: %v", p))
		}
	}()
	message.SetPayloadCodec(nil)
	k, err := remote.GetPayloadCodec(message)
	message.SetPayloadCodec(c)
	if err != nil {
		return err
	}
	return f(k)
}

// takes returns the verdict on data if this codec handles it, in a direction
// for which it is wanted or not, and nil if Kitex's does. An error says that
// neither can.
func (c *payloadCodec) takes(data any, wanted bool) (*verdict, error) {
	v := c.verdict(data)
	switch {
	case v.problem == nil && (wanted || !v.kitex):
		return v, nil
	case v.kitex:
		return nil, nil
	}
	return nil, remote.NewTransError(remote.InvalidProtocol, fmt.Errorf("%T fits neither Kitex's codec nor Thrum's: %w", data, v.problem))
}

// Pretouch compiles the argument and result structs of a service's methods,
// so that no call has to. Methods that would be left to Kitex's own codec are
// passed over. The options are those of New; only Codec matters here.
func Pretouch(info *serviceinfo.ServiceInfo, opts ...Option) error {
	c := newCodec(opts)
	var structs []any
	for _, m := range info.Methods {
		structs = appendTaken(c, structs, m.NewArgs())
		if !m.OneWay() {
			structs = appendTaken(c, structs, m.NewResult())
		}
	}
	return c.structs.Pretouch(structs...)
}

func appendTaken(c *payloadCodec, structs []any, data any) []any {
	if data == nil || c.verdict(data).problem != nil {
		return structs
	}
	return append(structs, data)
}
