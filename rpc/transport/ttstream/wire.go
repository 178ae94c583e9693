package ttstream

import (
	"errors"
	"fmt"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file holds how one stream sends its frames.

// wire is the way of one stream to its connection.
type wire struct {
	conn   *Conn
	id     uint32
	method string
	pairs  []transport.Pair   // of a client's header, beside its metadata
	ints   []ttheader.IntPair // likewise
	data   []byte             // the header of each data frame
	s      *stream.Stream
}

// errEnded is why nothing can be sent on a connection that has ended.
var errEnded = errors.New("the connection has ended")

func newWire(c *Conn, id uint32, method string) *wire {
	w := &wire{conn: c, id: id, method: method}
	o := outgoing(id, dataFrame, method, nil)
	w.data, _ = o.Append(nil) // a method's name that is too long has failed before
	return w
}

// Writable tells whether the connection takes more messages.
func (w *wire) Writable() <-chan struct{} { return w.conn.out.full() }

// SendHeader sends the header.
func (w *wire) SendHeader(md stream.Metadata) error {
	pairs := append(pairsOf(md), w.pairs...)
	return w.send(outgoing(w.id, headerFrame, w.method, pairs, w.ints...), nil)
}

// SendData sends a message.
func (w *wire) SendData(appendTo func([]byte) ([]byte, error)) (int, error) {
	f := w.conn.out.get()
	head := append(f.b, w.data...)
	b, err := appendTo(head)
	size := len(b) - len(head)
	switch {
	case err != nil:
		w.conn.out.put(f)
		return 0, err
	case size < 0:
		return 0, &stream.Error{Code: stream.Misuse, Err: errors.New("the message dropped what it was to append to")}
	case size > w.conn.opt.MaxFrame:
		return 0, &stream.Error{Code: stream.Overflow, Err: fmt.Errorf("a message of %d bytes exceeds the limit of %d", size, w.conn.opt.MaxFrame)}
	}
	f.b = b
	ttheader.Seal(f.b, 0)
	if !w.conn.out.queue(f, false) {
		return 0, errEnded
	}
	return size, nil
}

// SendCredit does nothing: the protocol has no credits.
func (w *wire) SendCredit(int) {}

// SendClose closes this side's half. A trailer that fits into no frame is left out.
func (w *wire) SendClose(outcome error, trailer stream.Metadata) error {
	pairs := pairsOf(trailer)
	var exception []byte
	if outcome != nil {
		var status []transport.Pair
		status, exception = w.conn.opt.Outcome(outcome)
		pairs = append(pairs, status...)
	}
	err := w.send(outgoing(w.id, trailerFrame, w.method, pairs), exception)
	var misuse *stream.Error
	if errors.As(err, &misuse) {
		err = w.send(outgoing(w.id, trailerFrame, w.method, nil), exception)
	}
	return err
}

// SendReset resets the stream.
func (w *wire) SendReset(reason *stream.Error) {
	_ = w.send(outgoing(w.id, resetFrame, w.method, nil), resetException(reason)) // or the connection has ended, and the stream with it
}

// Ended makes the connection forget the stream.
func (w *wire) Ended(error) { w.conn.forget(w) }

// send queues a frame without a message.
func (w *wire) send(o ttheader.Outgoing, exception []byte) error {
	f := w.conn.out.get()
	b, err := appendFrame(f.b, o, w.method, exception)
	if err != nil {
		w.conn.out.put(f)
		return &stream.Error{Code: stream.Misuse, Err: err}
	}
	f.b = b
	if !w.conn.out.queue(f, true) {
		return errEnded
	}
	return nil
}
