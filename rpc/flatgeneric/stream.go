package flatgeneric

import (
	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
)

// Stream is one side of a stream. It is for one goroutine that sends and one
// that receives.
type Stream struct {
	in         *flatrpc.Receiver[*root]
	out        *flatrpc.Sender
	recv, send *part
	closeSend  func() error // nil on a server
	close      func()
}

// Recv waits for a message, which owns its bytes. io.EOF says that the other side has sent its last
// one; other errors are the stream's outcome, or why it ended without one.
func (s *Stream) Recv() (flatbuffers.Value, error) {
	r, err := s.in.Recv()
	if err != nil {
		return flatbuffers.Value{}, err
	}
	return s.recv.value(r), nil
}

// RecvJSON is Recv with JSON.
func (s *Stream) RecvJSON() ([]byte, error) {
	r, err := s.in.Recv()
	if err != nil {
		return nil, err
	}
	return s.recv.json.AppendJSON(nil, r.t.Bytes)
}

// Send sends a message, x as flatbuffers.Make takes it, once the other side has room for it. A
// *diag.Fault says that it does not fit the schema; the stream goes on.
func (s *Stream) Send(x any) error {
	return s.message(func(b *flatbuf.Builder) error { return flatbuffers.Build(b, s.send.def, x) })
}

// SendJSON is Send with JSON.
func (s *Stream) SendJSON(text []byte) error {
	return s.message(func(b *flatbuf.Builder) error { return s.send.json.BuildMessage(b, text) })
}

func (s *Stream) message(build func(*flatbuf.Builder) error) error {
	b := s.out.NewBuilder()
	if err := build(b); err != nil {
		b.Release()
		return err
	}
	return s.out.Send(b)
}

// CloseSend tells the server that no more messages will be sent. On a server it does nothing.
func (s *Stream) CloseSend() error {
	if s.closeSend == nil {
		return nil
	}
	return s.closeSend()
}

// Close gives a client's stream up, unless it has ended. On a server it does nothing.
func (s *Stream) Close() {
	if s.close != nil {
		s.close()
	}
}
