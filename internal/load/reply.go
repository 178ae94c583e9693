package load

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/thrum-rpc/thrum/rpc/transport/framed"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds finding replies in a stream and reading their envelopes.

// reply is one reply. Its slices are valid until the next one is read.
type reply struct {
	kind     thriftwire.MessageType
	seq      uint32
	protocol compact.Dialect // of the payload; 0 is binary
	payload  []byte          // behind the envelope
	ex       []byte          // the value of the header ex; of tRPC and gRPC, the message of code
	message  bool            // the payload is no struct: it came over tRPC or gRPC
	code     int32           // of a message, why the call is refused
	thrown   bool            // of a message: it is the error of an application
	status   int             // of HTTP, HTTP2 and GRPC, where it is not 200 and there is no message
	mismatch bool            // the message has another sequence id than its frame
}

// replies finds the replies in a stream. It is not safe for concurrent use.
type replies struct {
	form     *Form
	limit    int
	scan     *framed.Scanner
	transfer header.Transformer
	header   header.Frame
	ttheader ttheader.Frame
	trpc     *trpc.Scanner
	response trpc.Response
	scratch  []byte
}

func newReplies(f *Form, limit int) *replies {
	r := &replies{form: f, limit: limit}
	switch {
	case f.Dialect == Unframed && f.Protocol != 0:
		r.scan = framed.NewCompactScanner(limit)
	case f.Dialect == TRPC:
		r.trpc = trpc.NewScanner(limit)
	case f.Dialect == GRPC:
		r.scan = framed.NewScanner(true, tunnelHead+tunnelStatus+grpcOutcome+maxOutcomeText+limit)
	case f.Dialect == HTTP2:
		r.scan = framed.NewScanner(true, tunnelHead+tunnelStatus+limit)
	case f.Dialect != HTTP:
		r.scan = framed.NewScanner(f.Dialect != Unframed, limit)
	}
	return r
}

// next reads the reply at the front of b and returns how many bytes it took, 0
// if it is not complete. After an error the stream
// cannot be followed any further.
func (r *replies) next(b []byte) (rep reply, n int, err error) {
	switch r.form.Dialect {
	case HTTP:
		return r.nextHTTP(b)
	case HTTP2:
		return r.nextHTTP2(b)
	case TRPC:
		return r.nextTRPC(b)
	case GRPC:
		return r.nextGRPC(b)
	}
	frame, n, err := r.scan.Next(b)
	if n == 0 || err != nil {
		return rep, 0, err
	}
	switch r.form.Dialect {
	case Header:
		rep, err = r.openHeader(frame)
	case TTHeader, TTHeaderFramed:
		rep, err = r.openTTHeader(frame)
	default:
		err = rep.envelope(frame)
	}
	return rep, n, err
}

// envelope reads the envelope of a message.
func (rep *reply) envelope(b []byte) error {
	var m thriftwire.Message
	var n int
	if len(b) > 0 && b[0] == 0x82 {
		m, rep.protocol, n = compact.ConsumeMessage(b)
	} else {
		m, n = thriftwire.ConsumeMessage(b)
	}
	if n < 0 {
		return fmt.Errorf("envelope of a reply: %w", thriftwire.Error(n))
	}
	rep.kind, rep.seq, rep.payload = m.Type, uint32(m.SequenceID), b[n:]
	return nil
}

func (r *replies) openHeader(frame []byte) (rep reply, err error) {
	f := &r.header
	if err := f.Parse(frame); err != nil {
		return rep, err
	}
	message := f.Payload
	if len(f.Transforms) > 0 {
		if message, err = r.transfer.Undo(r.scratch[:0], f, r.limit); err != nil {
			return rep, err
		}
		r.scratch = message
	}
	if err := rep.envelope(message); err != nil {
		return rep, err
	}
	if f.Headers.Len() > 0 {
		rep.ex, _ = f.Headers.Get("ex")
	}
	rep.mismatch = rep.seq != f.SequenceID && r.form.Transform == header.None
	rep.seq = f.SequenceID
	return rep, nil
}

func (r *replies) openTTHeader(frame []byte) (rep reply, err error) {
	f := &r.ttheader
	if err := f.Parse(frame); err != nil {
		return rep, err
	}
	message := f.Payload
	if n := framed.HeaderSize; r.form.Dialect == TTHeaderFramed {
		if len(message) < n || binary.BigEndian.Uint32(message) != uint32(len(message)-n) {
			return rep, errors.New("the message in a reply has no frame of its own")
		}
		message = message[n:]
	}
	if err := rep.envelope(message); err != nil {
		return rep, err
	}
	if f.Strings.Len() > 0 {
		rep.ex, _ = f.Strings.Get("ex")
	}
	rep.mismatch = rep.seq != f.SequenceID
	rep.seq = f.SequenceID
	return rep, nil
}

// binary returns the payload in the binary protocol, and b with what it took.
func (rep *reply) binary(b []byte) (payload, scratch []byte) {
	if rep.protocol == 0 {
		return rep.payload, b
	}
	out, n := rep.protocol.AppendToBinary(b[:0], rep.payload, thriftwire.Struct, maxNesting)
	if n < 0 {
		return nil, b
	}
	return out, out
}

// refusal returns why a call is refused, and what of scratch it took.
func (rep *reply) refusal(scratch []byte) (code int32, _ []byte) {
	if rep.code != 0 {
		return rep.code, scratch
	}
	b, scratch := rep.binary(scratch)
	return exceptionType(b), scratch
}

// exceptionType returns the type in the struct of a TApplicationException, 0 as
// one that says nothing.
func exceptionType(b []byte) int32 {
	for {
		t, id, n := thriftwire.ConsumeField(b)
		if n < 0 || t == thriftwire.Stop {
			return 0
		}
		b = b[n:]
		if id == 2 && t == thriftwire.I32 {
			v, _ := thriftwire.ConsumeI32(b)
			return v
		}
		if n = thriftwire.Skip(b, t, thriftwire.MaxDepth); n < 0 {
			return 0
		}
		b = b[n:]
	}
}

// declared reports whether a result struct holds a declared exception: its first
// field has another id than 0. A message has the error of an application beside it.
func (rep *reply) declared() bool {
	if rep.message {
		return rep.thrown
	}
	if rep.protocol == 0 {
		t, id, n := thriftwire.ConsumeField(rep.payload)
		return n > 0 && t != thriftwire.Stop && id != 0
	}
	f, n := rep.protocol.ConsumeField(rep.payload, 0)
	return n > 0 && f.Type != thriftwire.Stop && f.ID != 0
}
