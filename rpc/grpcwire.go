package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds what streams over gRPC are on both sides: the queue between
// a stream and its body of HTTP/2, and how messages come out of such a body.

// grpcQueue holds what is to be written into a body. The stream never waits
// for the peer; who writes the body does, and takes all that has gathered.
type grpcQueue struct {
	ms         *MessageStream
	buffers    *bufferPool
	compressor *trpc.Compressor
	packing    trpc.Compression // of messages to send
	limit      int              // of a message, in bytes

	mu      sync.Mutex
	out     outQueue
	taken   int           // bytes that are being written
	over    bool          // nothing more comes
	drained chan struct{} // closed when streams may go on; nil if none waits
	wake    chan struct{} // holds a token if the writer should look again
}

func (q *grpcQueue) init(ms *MessageStream, buffers *bufferPool, compressor *trpc.Compressor, packing trpc.Compression, limit int) {
	q.ms, q.buffers, q.compressor, q.packing, q.limit = ms, buffers, compressor, packing, limit
	q.out.pool = buffers
	q.wake = make(chan struct{}, 1)
}

// Writable returns nil if the peer reads what it is sent, else what is closed when it has.
func (q *grpcQueue) Writable() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.out.size+q.taken <= maxUnsent || q.over {
		return nil
	}
	if q.drained == nil {
		q.drained = make(chan struct{})
	}
	return q.drained
}

// SendCredit does nothing: HTTP/2 has windows of its own, which open when a body is read.
func (q *grpcQueue) SendCredit(int) {}

// SendData queues a message behind its prefix.
func (q *grpcQueue) SendData(appendTo func([]byte) ([]byte, error)) (int, error) {
	buf := q.buffers.get()
	var prefix [grpc.PrefixSize]byte
	out, err := appendTo(append(buf.b, prefix[:]...))
	if err == nil && len(out) < grpc.PrefixSize {
		err = &stream.Error{Code: stream.Misuse, Err: errors.New("the message dropped what it was to append to")}
	}
	if err == nil && q.packing != trpc.None && len(out) > grpc.PrefixSize {
		var packed []byte
		packed, err = q.compressor.Compress(nil, out[grpc.PrefixSize:], q.packing)
		out = append(out[:grpc.PrefixSize], packed...)
	}
	size := len(out) - grpc.PrefixSize
	if err == nil && size > q.limit {
		err = &stream.Error{Code: stream.Overflow, Err: fmt.Errorf("a message of %d bytes exceeds the limit of %d", size, q.limit)}
	}
	if err != nil {
		q.buffers.put(buf)
		return 0, err
	}
	grpc.PutPrefix(out, size, q.packing != trpc.None && size > 0)
	buf.b = out
	if !q.add(buf) {
		return 0, errStreamOver
	}
	return size, nil
}

// add queues a message. It reports false if nothing more is written.
func (q *grpcQueue) add(buf *buffer) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over {
		q.buffers.put(buf)
		return false
	}
	q.out.add(buf)
	q.signal()
	return true
}

// signal wakes who writes. q.mu may be held.
func (q *grpcQueue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take takes what is queued into spare, which holds nothing, and reports
// whether nothing more comes.
func (q *grpcQueue) take(spare *outQueue) (over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	*spare, q.out = q.out, *spare
	q.taken = spare.size
	return q.over
}

// wrote gives up what was taken, and lets streams go on.
func (q *grpcQueue) wrote(spare *outQueue) {
	spare.release()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken = 0
	if q.out.size <= maxUnsent {
		q.letGo()
	}
}

// letGo wakes streams that wait. q.mu is held.
func (q *grpcQueue) letGo() {
	if q.drained != nil {
		close(q.drained)
		q.drained = nil
	}
}

// end says that nothing more is to be written than what is queued, if nobody
// has; drop gives up what is queued. q.mu is held.
func (q *grpcQueue) end(drop bool) {
	if q.over {
		return
	}
	q.over = true
	if drop {
		q.out.release()
	}
	q.letGo()
	q.signal()
}

// deliver hands the next message of a body to the stream, once there is room for it; unpack decompresses those that are
// compressed. The error is [io.EOF] at the end, or why the body cannot be read any more, or errStreamOver.
func (q *grpcQueue) deliver(in *grpc.Reader, unpack func([]byte) ([]byte, error)) error {
	b, compressed, block, err := in.Next()
	if err != nil {
		return err
	}
	owner := stream.Owner(block)
	small := !compressed && len(b) < viewed
	switch {
	case compressed:
		b, err = unpack(b)
	case small:
		b = bytes.Clone(b)
	}
	if compressed || small {
		block.Release()
		owner = nil
	}
	if err != nil {
		return err
	}
	if !q.ms.AwaitRoom(len(b), forever) {
		if owner != nil {
			owner.Release()
		}
		return errStreamOver
	}
	q.ms.OnData(b, owner)
	return nil
}

// forever is as long as a body may wait for its stream: HTTP/2 lets the others go on, within the connection's window.
const forever = 1<<63 - 1

// unpackGRPC decompresses a message whose prefix says that it is compressed.
func unpackGRPC(x *trpc.Compressor, b []byte, packing trpc.Compression, limit int) ([]byte, error) {
	if packing == trpc.None {
		return nil, diag.NewFault(diag.InvalidHeader, 0, "a message is compressed, and no header says how")
	}
	return x.Decompress(nil, b, packing, limit)
}

// brokenBody returns why a body that cannot be read ends its stream.
func brokenBody(ctx context.Context, err error) *stream.Error {
	var fault *diag.Fault
	var status *StatusError
	switch {
	case errors.As(err, &fault) && fault.Code == diag.SizeLimit, errors.As(err, &status):
		return &stream.Error{Code: stream.Overflow, Err: err}
	case errors.As(err, &fault):
		return &stream.Error{Code: stream.Protocol, Err: err}
	case ctx.Err() != nil:
		return &stream.Error{Code: stream.Cancelled, Err: context.Cause(ctx)}
	}
	return &stream.Error{Code: stream.Lost, Err: err}
}
