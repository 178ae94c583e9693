package stream

import (
	"context"
	"errors"
	"io"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// This file holds a stream's state, and how it ends.

// Metadata travels beside messages: in headers and trailers.
type Metadata map[string]string

// Role is the side of a stream.
type Role uint8

const (
	Client Role = iota + 1 // opened the stream
	Server                 // serves it, and decides on its outcome
)

// Wire sends the frames of one stream. SendHeader, SendData and SendClose are
// called one after another; SendCredit and SendReset at any time, beside
// them. No method waits for the peer, unless the wire has no other way: that
// is what Writable is for. Nothing is called after Ended, unless it was on its way.
// An error that is an [*Error] says that what was to be sent cannot be, and any other that the connection has ended.
type Wire interface {
	// Writable returns nil if the connection takes more messages, else a
	// channel that is closed when it is worth asking again.
	Writable() (wait <-chan struct{})
	// SendHeader opens the stream, from a client; from a server it goes before
	// the first message or the end.
	SendHeader(md Metadata) error
	// SendData sends the message that appendTo appends to the wire's own buffer, and
	// returns its size in bytes as flow control counts it.
	SendData(appendTo func(dst []byte) ([]byte, error)) (size int, err error)
	// SendCredit tells the peer that it may send n bytes more.
	SendCredit(n int)
	// SendClose is a client's half-close, with a nil outcome and no trailer, or
	// a server's end.
	SendClose(outcome error, trailer Metadata) error
	// SendReset ends the stream at once. It is called once at most.
	SendReset(reason *Error)
	// Ended is called exactly once, when this side has ended; err is nil if
	// regularly. The wire forgets the stream.
	Ended(err error)
}

// Options are the limits of a stream and what its wire is like.
type Options struct {
	Role Role

	// MaxBytes and MaxMessages bound what has been received and not been
	// taken; defaults 1 MiB and 4096. One message is taken whatever its size.
	MaxBytes, MaxMessages int
	// Hold, unless it is nil, is told by how many bytes that has changed. It must not wait.
	Hold func(delta int)

	// Window is what the peer may send, in bytes, before it gets credit, which
	// it gets by quarters; 0 where the wire has no credits.
	Window int
	// Loose says that the peer may count otherwise than this side does: it may
	// send without credit as long as MaxBytes and MaxMessages have room.
	Loose bool
	// Credited says that this side sends only while it has credit, of which it
	// has Credit bytes at first. The last message may exceed it.
	Credited bool
	Credit   int

	Expiry time.Duration // that a Send may wait; 0 for one minute, less for ever
	Idle   time.Duration // without a message either way, after which the stream ends; 0 for never
}

// The defaults of Options.
const (
	DefaultMaxBytes    = 1 << 20
	DefaultMaxMessages = 4096
	DefaultExpiry      = time.Minute
)

// Stream is one side of one stream.
//
// Invariants: who sets ended is the only one to call Wire.Ended, after which
// the context is cancelled; err is set before that and never changes.
// Wire methods are never called with mu held. Who holds the token of sending
// is the only one to call SendHeader, SendData and SendClose.
type Stream struct {
	wire    Wire
	opt     Options
	ctx     context.Context
	cancel  context.CancelCauseFunc
	release func() bool // stops to watch the parent context
	started time.Time
	active  atomic.Int64 // when a message last came or went, since started
	lends   atomic.Bool  // Recv has been called
	sending chan struct{}
	piece   piece // of who holds the token of sending

	arrived chan struct{} // holds a token if Recv should look again
	taken   chan struct{} // if AwaitRoom should
	granted chan struct{} // if Send should look at its credit again

	mu         sync.Mutex
	queue      queue
	bytes      int // of queue, with what each message costs beside its own
	consumed   int // bytes that the peer has not been given credit for
	owed       int // bytes that the peer may send
	credit     int // bytes that this side may send
	credited   bool
	opened     bool // the header has been sent, or is about to be
	begun      bool // and has gone out, so that the peer of a client can be told of more
	untold     bool // it ended in between, and is reset by Open
	sentClose  bool
	peerClosed bool
	outcome    error // that the peer closed with
	ended      bool
	err        error // why it ended, nil if regularly
	idle       *time.Timer
	sent       int             // messages
	received   int             // messages that were queued
	watchers   []func(Passage) // which never changes, but for another one in its place

	headerDone chan struct{} // closed when the peer's header is known, or will not come
	headerSet  bool
	header     Metadata // of the peer
	trailer    Metadata // of the peer
	ownHeader  Metadata // to be sent
	ownTrailer Metadata
}

// New returns a stream whose frames w sends. When ctx ends, which is the
// user's or the call's, the stream does.
func New(ctx context.Context, w Wire, o Options) *Stream {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.MaxMessages <= 0 {
		o.MaxMessages = DefaultMaxMessages
	}
	if o.Expiry == 0 {
		o.Expiry = DefaultExpiry
	}
	s := &Stream{
		wire: w, opt: o, started: time.Now(), owed: o.Window, credit: o.Credit, credited: o.Credited,
		sending: make(chan struct{}, 1), arrived: make(chan struct{}, 1), taken: make(chan struct{}, 1),
		granted: make(chan struct{}, 1), headerDone: make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release = context.AfterFunc(s.ctx, s.contextEnded)
	if o.Idle > 0 {
		s.idle = time.AfterFunc(o.Idle, s.checkIdle)
	}
	return s
}

// Context returns the stream's context. It ends with the stream.
func (s *Stream) Context() context.Context { return s.ctx }

// contextEnded ends the stream because its context has ended.
func (s *Stream) contextEnded() { s.fail(errorOf(context.Cause(s.ctx)), true) }

// touch notes that a message has come or gone.
func (s *Stream) touch() {
	if s.opt.Idle > 0 {
		s.active.Store(int64(time.Since(s.started)))
	}
}

// checkIdle ends the stream if nothing has happened on it for too long, or
// looks again later.
func (s *Stream) checkIdle() {
	quiet := time.Since(s.started) - time.Duration(s.active.Load())
	if quiet >= s.opt.Idle {
		s.fail(errorf(Idle, "no message for %v", s.opt.Idle), true)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.idle.Reset(s.opt.Idle - quiet)
	}
}

// Cancel resets the stream, unless it has ended. A reason that is an [*Error]
// is told to the peer as it is; a nil one is [context.Canceled].
func (s *Stream) Cancel(reason error) {
	if reason == nil {
		reason = context.Canceled
	}
	s.fail(errorOf(reason), true)
}

// fail ends the stream because of e, and resets it if the peer is to be told.
func (s *Stream) fail(e *Error, tell bool) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.untold = tell && s.opened && !s.begun && s.opt.Role == Client
	tell = tell && (s.begun || s.opt.Role == Server)
	dropped := s.endLocked(e)
	s.mu.Unlock()
	if tell {
		s.wire.SendReset(e)
	}
	s.over(e, dropped)
}

// endLocked makes the stream one that has ended, and returns what nobody will
// take any more. s.mu is held.
func (s *Stream) endLocked(err error) queue {
	s.ended, s.err = true, err
	if s.idle != nil {
		s.idle.Stop()
	}
	var dropped queue
	if err != nil || s.opt.Role == Server {
		dropped = s.dropQueue()
	}
	s.headerKnown(nil)
	return dropped
}

// over tells the wire and everyone who waits that the stream has ended.
func (s *Stream) over(err error, dropped queue) {
	s.wire.Ended(err)
	dropped.releaseAll()
	s.release()
	cause := err
	if cause == nil {
		cause = &Error{Code: Ended}
	}
	s.cancel(cause)
}

// Finish ends a server's stream with an outcome, nil for success, and the
// trailer that has been set. If the stream has ended before, it returns why.
func (s *Stream) Finish(outcome error) error {
	s.mu.Lock()
	if s.ended {
		err := s.endError()
		s.mu.Unlock()
		return err
	}
	dropped := s.endLocked(nil)
	s.sentClose = true
	header, trailer, opened := s.ownHeader, s.ownTrailer, s.opened
	s.opened = true
	s.mu.Unlock()
	s.release()
	s.cancel(&Error{Code: Ended}) // lets those go that hold the token
	s.sending <- struct{}{}
	var err error
	if !opened {
		err = s.wire.SendHeader(header)
	}
	if err == nil {
		err = s.wire.SendClose(outcome, trailer)
	}
	var unfit *Error
	if errors.As(err, &unfit) {
		s.wire.SendReset(unfit)
	}
	<-s.sending
	s.wire.Ended(outcome)
	dropped.releaseAll()
	return err
}

// endError returns what is answered after the end. s.mu is held.
func (s *Stream) endError() error {
	switch {
	case s.err != nil:
		return s.err
	case s.opt.Role == Client && s.outcome != nil:
		return s.outcome
	case s.opt.Role == Client:
		return io.EOF
	}
	return &Error{Code: Ended}
}

// SetHeader adds to the header that a server sends before its first message.
func (s *Stream) SetHeader(md Metadata) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened {
		return errorf(Misuse, "the header has been sent")
	}
	s.ownHeader = merge(s.ownHeader, md)
	return nil
}

// SetTrailer adds to the trailer that a server ends the stream with.
func (s *Stream) SetTrailer(md Metadata) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sentClose {
		return errorf(Misuse, "the trailer has been sent")
	}
	s.ownTrailer = merge(s.ownTrailer, md)
	return nil
}

func merge(to, from Metadata) Metadata {
	if to == nil {
		to = Metadata{}
	}
	maps.Copy(to, from)
	return to
}

// Header waits for the header of the peer and returns it; nil if the peer
// ended the stream without one.
func (s *Stream) Header(ctx context.Context) (Metadata, error) {
	select {
	case <-s.headerDone:
	case <-ctx.Done():
		return nil, errorOf(context.Cause(ctx))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.headerSet && s.err != nil {
		return nil, s.err
	}
	return s.header, nil
}

// Trailer returns the trailer of the peer, once Recv has returned an error.
func (s *Stream) Trailer() Metadata {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trailer
}
