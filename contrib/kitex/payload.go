package kitex

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/remote/codec/perrors"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport/framed"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file reads and writes payloads in Kitex's buffers.

// envelope is what stands before the struct of a message.
type envelope struct {
	kind       thriftwire.MessageType
	method     string
	sequenceID int32
	size       int // in bytes
}

// envelopeSize is the size of an envelope without the method's name.
const envelopeSize = 12

// peekEnvelope reads the envelope at the front of in and leaves it there.
// payload is the length of the message, 0 if it is not known.
func peekEnvelope(in remote.ByteBuffer, payload int) (envelope, error) {
	b, err := in.Peek(8)
	if err != nil {
		return envelope{}, headerError(err)
	}
	name := binary.BigEndian.Uint32(b[4:])
	if name > thriftwire.MaxNameLength || payload > 0 && envelopeSize+int(name) > payload {
		return envelope{}, headerError(fmt.Errorf("method name of length %d", int32(name)))
	}
	if b, err = in.Peek(envelopeSize + int(name)); err != nil {
		return envelope{}, headerError(err)
	}
	m, n := thriftwire.ConsumeMessage(b)
	if n < 0 {
		return envelope{}, headerError(thriftwire.Error(n))
	}
	return envelope{m.Type, string(m.Name), m.SequenceID, n}, nil
}

func headerError(err error) error {
	return perrors.NewProtocolErrorWithErrMsg(err, "thrum: the message's header: "+err.Error())
}

// read takes one message from in, whose envelope has the given size, and
// decodes its struct. A struct that would alias the bytes gets a copy of its own.
func (c *payloadCodec) read(message remote.Message, envelope int, aliases bool, in remote.ByteBuffer) error {
	b, err := c.next(in, message.PayloadLen())
	if err != nil {
		return remote.NewTransError(remote.ProtocolError, err)
	}
	b = b[envelope:]
	if aliases {
		b = append([]byte(nil), b...)
	}
	if _, err := c.structs.Unmarshal(b, message.Data()); err != nil {
		return remote.NewTransError(remote.ProtocolError, err)
	}
	return nil
}

// firstPeek is as much as is asked of a buffer before anything of the payload
// has been seen.
const firstPeek = 64 << 10

// next takes one message from in. payload is its length, or 0 if only the
// message itself tells where it ends.
//
// Some buffers allocate what they are asked for before it has arrived, so a
// length is not believed at once: each time at most as much again is asked for as has
// come.
func (c *payloadCodec) next(in remote.ByteBuffer, payload int) ([]byte, error) {
	if payload > c.limit {
		return nil, c.tooLong(payload)
	}
	if payload > 0 {
		for n := firstPeek; n < payload; n *= 2 {
			if _, err := in.Peek(n); err != nil {
				return nil, err
			}
		}
		return in.Next(payload)
	}
	s := c.scanners.Get().(*framed.Scanner)
	for want := envelopeSize; ; {
		b, err := in.Peek(max(want, buffered(in)))
		if err != nil {
			return nil, err
		}
		_, n, err := s.Next(b)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			c.scanners.Put(s)
			if n > c.limit { // by the last stop
				return nil, c.tooLong(n)
			}
			return in.Next(n)
		}
		want = min(max(s.Want(), len(b)+1), max(firstPeek, 2*len(b)))
	}
}

func (c *payloadCodec) tooLong(n int) error {
	return diag.NewFault(diag.SizeLimit, 0, fmt.Sprintf("a message of %d bytes, more than the limit of %d", n, c.limit))
}

// buffered returns how many bytes of in have arrived, 0 if that is not known.
// Kitex's buffers over Go's net panic when they are asked.
func buffered(in remote.ByteBuffer) int {
	if _, ok := in.(remote.NocopyWrite); !ok {
		return 0
	}
	return max(0, in.ReadableLen())
}

// write appends the message to out.
func (c *payloadCodec) write(message remote.Message, method string, out remote.ByteBuffer) error {
	data := message.Data()
	n, err := c.structs.Size(data)
	if err != nil {
		return encodeError(err)
	}
	header := envelopeSize + len(method)
	if n > c.limit-header || len(method) > thriftwire.MaxNameLength {
		return encodeError(c.tooLong(header + n))
	}
	b, err := out.Malloc(header + n)
	if err != nil {
		return encodeError(err)
	}
	total := out.WrittenLen()
	thriftwire.AppendMessage(b[:0], thriftwire.MessageType(message.MessageType()), method, message.RPCInfo().Invocation().SeqID())
	direct, ok := out.(remote.NocopyWrite)
	if !ok || n < codec.DirectSize {
		written, err := c.structs.EncodeInto(b[header:header+n], nil, data)
		return encoded(n, written, err)
	}
	w := &directWriter{NocopyWrite: direct}
	written, err := c.structs.EncodeInto(b[header:header+n], w, data)
	if err := encoded(n, written+w.bytes, err); err != nil {
		return err
	}
	return direct.MallocAck(total)
}

// directWriter counts what it hands on.
type directWriter struct {
	remote.NocopyWrite
	bytes int
}

// WriteDirect hands b on.
func (w *directWriter) WriteDirect(b []byte, remainCap int) error {
	w.bytes += len(b)
	return w.NocopyWrite.WriteDirect(b, remainCap)
}

var errChanged = errors.New("the value was changed while it was encoded")

// encoded checks that exactly the size was written: the space was taken before,
// and what is not filled of it may hold the bytes of other messages.
func encoded(size, written int, err error) error {
	if err == nil && written != size {
		err = errChanged
	}
	if err != nil {
		return encodeError(err)
	}
	return nil
}

func encodeError(err error) error {
	return perrors.NewProtocolErrorWithErrMsg(err, "thrum: encoding: "+err.Error())
}
