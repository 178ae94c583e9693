package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds what streams over tRPC are on both sides: how their frames
// are sent, and how their ends are told.

// MessageStream is one side of a stream of messages. Its Send takes plain
// messages and its Recv gives them, however they travel.
type MessageStream struct {
	*stream.Stream
	Type transport.ContentType // the format of the messages

	packing    trpc.Compression
	compressor *trpc.Compressor
	limit      int // of a message, in bytes
}

// Recv waits for a message and reads it by read, whose argument is valid until
// it returns. Errors are those of [stream.Stream.Recv]; one of a message that cannot be
// decompressed is a [*StatusError].
func (s *MessageStream) Recv(ctx context.Context, read func(body []byte) error) error {
	if s.packing == trpc.None {
		return s.Stream.Recv(ctx, read)
	}
	return s.Stream.Recv(ctx, func(b []byte) error {
		body, err := s.compressor.Decompress(nil, b, s.packing, s.limit)
		if err != nil {
			return &StatusError{Code: trpc.StreamDecode, Message: err.Error()}
		}
		return read(body)
	})
}

// RecvOwn waits for a message and returns it, which is the caller's. Errors are those of Recv.
func (s *MessageStream) RecvOwn(ctx context.Context) (body []byte, err error) {
	if s.packing == trpc.None {
		return s.Stream.RecvOwn(ctx)
	}
	err = s.Recv(ctx, func(b []byte) error {
		body = b // which nobody else has: it was decompressed for this
		return nil
	})
	return body, err
}

// trpcQueue is the connection of a stream.
type trpcQueue interface {
	newFrame() *buffer
	dropFrame(*buffer)
	blockPool() *transport.Pool
	queueFrame(*buffer) bool // false if the connection has ended
	writable() <-chan struct{}
	forgetStream(w *trpcWire)
}

// maxUnsent is how many bytes may wait to be written before a stream waits,
// too, where it has a queue of its own; maxShared where streams share their connection's.
const (
	maxUnsent = 256 << 10
	maxShared = 4 << 20
)

// trpcWire sends the frames of a stream.
type trpcWire struct {
	conn  trpcQueue
	id    uint32
	ms    *MessageStream
	init  *trpc.Init       // a client's, nil on a server
	pairs []transport.Pair // that go with a client's header
	head  stream.Metadata  // of a server, which has no frame for it before the end
}

// errStreamOver is why nothing can be sent on a connection that has ended.
var errStreamOver = errors.New("the connection has ended")

func (w *trpcWire) Writable() <-chan struct{} { return w.conn.writable() }

// SendHeader sends a client's INIT. A server's has been sent, and holds no
// metadata: that goes with the end.
func (w *trpcWire) SendHeader(md stream.Metadata) error {
	if w.init == nil {
		w.head = md
		return nil
	}
	return w.queue(func(b []byte) []byte { return w.init.Append(b, w.id, pairsOfMetadata(w.pairs, md)) })
}

// SendData sends a message. What it counts is what it has on the wire; but a
// server counts no more than the message has without compression, because the client of
// trpc-go gives credit for that.
func (w *trpcWire) SendData(appendTo func([]byte) ([]byte, error)) (int, error) {
	buf := w.conn.newFrame()
	b := trpc.Head{Type: trpc.Stream, Stream: trpc.StreamData, ID: w.id}.Append(buf.b)
	out, err := appendTo(b)
	size := len(out) - trpc.HeadSize
	if err == nil && size < 0 {
		err = &stream.Error{Code: stream.Misuse, Err: errors.New("the message dropped what it was to append to")}
	}
	if err == nil && w.ms.packing != trpc.None {
		var packed []byte
		packed, err = w.ms.compressor.Compress(nil, out[trpc.HeadSize:], w.ms.packing)
		out = append(out[:trpc.HeadSize], packed...)
	}
	if err == nil && len(out) > w.ms.limit {
		err = &stream.Error{Code: stream.Overflow, Err: fmt.Errorf("a message of %d bytes exceeds the limit of %d", len(out), w.ms.limit)}
	}
	if err == nil {
		err = trpc.Seal(out, 0, 0, 0)
	}
	if err != nil {
		w.conn.dropFrame(buf)
		return 0, err
	}
	if sent := len(out) - trpc.HeadSize; w.init != nil || sent < size {
		size = sent
	}
	buf.b = out
	if !w.conn.queueFrame(buf) {
		return 0, errStreamOver
	}
	return size, nil
}

func (w *trpcWire) SendCredit(n int) {
	_ = w.queue(func(b []byte) []byte { return trpc.AppendFeedback(b, w.id, uint32(n)) })
}

func (w *trpcWire) SendClose(outcome error, trailer stream.Metadata) error {
	c := trpc.Close{}
	if outcome != nil {
		status := streamStatus(outcome)
		c = trpc.Close{Reset: status.app == 0, Ret: status.Code, FuncRet: status.app, Message: []byte(clipText(status.Message))}
	}
	pairs := pairsOfMetadata(pairsOfMetadata(nil, w.head), trailer)
	return w.queue(func(b []byte) []byte { return c.Append(b, w.id, pairs) })
}

func (w *trpcWire) SendReset(reason *stream.Error) {
	status := streamStatus(reason)
	c := trpc.Close{Reset: true, Ret: status.Code, Message: []byte(clipText(status.Message))}
	_ = w.queue(func(b []byte) []byte { return c.Append(b, w.id, nil) })
}

func (w *trpcWire) Ended(error) { w.conn.forgetStream(w) }

// queue queues a frame without a message.
func (w *trpcWire) queue(appendFrame func([]byte) []byte) error {
	buf := w.conn.newFrame()
	buf.b = appendFrame(buf.b)
	if len(buf.b) > w.ms.limit+trpc.HeadSize {
		w.conn.dropFrame(buf)
		return &stream.Error{Code: stream.Misuse, Err: errors.New("metadata of a stream exceeds the limit of a frame")}
	}
	if !w.conn.queueFrame(buf) {
		return errStreamOver
	}
	return nil
}

// clipText bounds a text that is sent to the peer.
func clipText(text string) string {
	if len(text) > maxExceptionText {
		text = strings.ToValidUTF8(text[:maxExceptionText], "")
	}
	return text
}

func pairsOfMetadata(pairs []transport.Pair, md stream.Metadata) []transport.Pair {
	for k, v := range md {
		pairs = append(pairs, transport.Pair{Key: k, Value: v})
	}
	return pairs
}

// metadataOf returns the keys and values of a frame.
func metadataOf(p trpc.Pairs) stream.Metadata {
	if p.Len() == 0 {
		return nil
	}
	md := stream.Metadata{}
	for k, v := range p.All() {
		md[string(k)] = string(v)
	}
	return md
}

// streamCodes are what the reasons of streams to end are on the wire.
var streamCodes = map[stream.Code]trpc.Code{
	stream.Cancelled: trpc.ClientCancelled, stream.DeadlineExceeded: trpc.ClientTimeout, stream.Overflow: trpc.StreamOverflow,
	stream.Expired: trpc.StreamWriteEnd, stream.Idle: trpc.StreamIdle, stream.Lost: trpc.StreamNetwork, stream.Protocol: trpc.StreamDecode,
	stream.Refused: trpc.ServerOverload,
}

// streamStatus returns what the peer is told of the end of a stream. An error
// that holds a nil pointer is no rare mistake, and its methods panic.
func streamStatus(err error) (status *StatusError) {
	defer func() {
		if recover() != nil {
			status = &StatusError{Code: trpc.ServerSystem, Message: fmt.Sprintf("an error of type %T without a message", err)}
		}
	}()
	status = statusOf(err)
	var e *stream.Error
	if status.app == int32(trpc.Unknown) && errors.As(err, &e) {
		code, ok := streamCodes[e.Code]
		if !ok {
			code = trpc.ServerSystem
		}
		return &StatusError{Code: code, Message: status.Message}
	}
	return status
}

// closeError returns the outcome in a peer's close, nil for success.
func closeError(c *trpc.Close) error {
	switch {
	case c.Ret != trpc.OK:
		return &StatusError{Code: c.Ret, Message: string(c.Message)}
	case c.FuncRet != 0:
		return &BizStatus{Code: c.FuncRet, Message: string(c.Message)}
	case c.Reset:
		return &StatusError{Code: trpc.Unknown, Message: string(c.Message)}
	}
	return nil
}

// viewed is the size in bytes from which on a message that waits is a view of
// what was read. A shorter one is copied, or a byte of it might hold a whole block: from pooled bytes on into
// a block of its own, if it is read in passing.
const (
	viewed = transport.WideBlock / 4
	pooled = transport.BlockSize / 2
)

// receive hands a frame of a stream to it, and reports whether it has taken the block.
func (w *trpcWire) receive(head trpc.Head, frame []byte, o stream.Owner) (taken bool) {
	b := frame[trpc.HeadSize+int(head.Header):]
	var err error
	switch head.Stream {
	case trpc.StreamInit:
		err = w.receiveInit(b)
	case trpc.StreamData:
		switch {
		case len(b) >= viewed:
			w.ms.OnData(b, o)
			return true
		case len(b) >= pooled && w.ms.Lends():
			view, block := w.conn.blockPool().Copy(b)
			w.ms.OnData(view, block)
		default:
			w.ms.OnData(bytes.Clone(b), nil)
		}
		return false
	case trpc.StreamFeedback:
		var n uint32
		if n, err = trpc.ParseFeedback(b); err == nil {
			w.ms.OnCredit(windowSize(n))
		}
	case trpc.StreamClose:
		var c trpc.Close
		if err = c.Parse(b); err != nil {
			break
		}
		outcome := closeError(&c)
		if w.init == nil && outcome != nil {
			w.ms.OnReset(outcome)
		} else {
			w.ms.OnClose(outcome, metadataOf(c.TransInfo))
		}
	default:
		err = fmt.Errorf("a frame of type %d", head.Stream)
	}
	if err != nil {
		w.ms.Cancel(&stream.Error{Code: stream.Protocol, Err: err})
	}
	return false
}

// receiveInit takes a server's answer to the opening of a stream.
func (w *trpcWire) receiveInit(b []byte) error {
	if w.init == nil {
		return errors.New("a stream is opened twice")
	}
	var i trpc.Init
	if err := i.Parse(b); err != nil {
		return err
	}
	if i.Ret != trpc.OK {
		w.ms.OnClose(&StatusError{Code: i.Ret, Message: string(i.Message)}, nil)
		return nil
	}
	w.ms.OnHeader(nil)
	w.ms.OnWindow(windowSize(i.Window))
	return nil
}

// windowSize returns a number of bytes as an int, which may have fewer bits: a peer may take more than this side can send.
func windowSize(n uint32) int { return int(min(n, math.MaxInt32)) }
