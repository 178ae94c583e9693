package stream

import (
	"context"
	"errors"
	"math"
	"time"
)

// This file holds the sending half of a stream.

// Open sends a client's header.
func (s *Stream) Open(md Metadata) error {
	if err := s.lockSending(s.ctx); err != nil {
		return err
	}
	defer s.unlockSending()
	s.mu.Lock()
	if s.ended {
		defer s.mu.Unlock()
		return s.endError()
	}
	s.opened = true
	s.mu.Unlock()
	if err := s.check(s.wire.SendHeader(md)); err != nil {
		return err
	}
	s.mu.Lock()
	s.begun = true
	untold, why := s.untold, s.err
	s.mu.Unlock()
	if untold { // a reset before the header would have told the peer nothing
		s.wire.SendReset(errorOf(why))
		return why
	}
	return nil
}

// SendHeader sends a server's header, with what SetHeader has set, before the first message.
func (s *Stream) SendHeader(md Metadata) error {
	if err := s.SetHeader(md); err != nil {
		return err
	}
	if err := s.lockSending(s.ctx); err != nil {
		return err
	}
	defer s.unlockSending()
	return s.sendHeader()
}

// sendHeader sends a server's header unless it has been sent. The token of
// sending is held.
func (s *Stream) sendHeader() error {
	s.mu.Lock()
	if s.opened || s.ended {
		defer s.mu.Unlock()
		if s.ended {
			return s.endError()
		}
		return nil
	}
	s.opened = true
	md := s.ownHeader
	s.mu.Unlock()
	return s.check(s.wire.SendHeader(md))
}

// Send sends the message that appendTo appends, once there is credit for it
// and room in the network's queue. It returns when the message is queued; an error of appendTo is returned as it is, and
// the stream goes on. When ctx ends first, nothing was sent.
func (s *Stream) Send(ctx context.Context, appendTo func(dst []byte) ([]byte, error)) error {
	if err := s.lockSending(ctx); err != nil {
		return err
	}
	defer s.unlockSending()
	s.piece.appendTo = appendTo
	return s.sendPiece(ctx)
}

// SendBytes is Send of a message that is given whole. It is the caller's again when SendBytes returns.
func (s *Stream) SendBytes(ctx context.Context, message []byte) error {
	if err := s.lockSending(ctx); err != nil {
		return err
	}
	defer s.unlockSending()
	s.piece.whole = message
	return s.sendPiece(ctx)
}

// piece is the message that is being sent: what appends it, or it itself.
type piece struct {
	appendTo func([]byte) ([]byte, error)
	whole    []byte
	broken   error                        // of appendTo
	append   func([]byte) ([]byte, error) // the method, made once
}

// appendMessage appends the message to a wire's buffer.
func (p *piece) appendMessage(dst []byte) ([]byte, error) {
	if p.appendTo == nil {
		return append(dst, p.whole...), nil
	}
	out, err := p.appendTo(dst)
	p.broken = err
	return out, err
}

// sendPiece sends the message in s.piece. The token of sending is held.
func (s *Stream) sendPiece(ctx context.Context) error {
	defer func() { s.piece.appendTo, s.piece.whole, s.piece.broken = nil, nil, nil }()
	if err := s.awaitCredit(ctx); err != nil {
		return err
	}
	if s.opt.Role == Server {
		if err := s.sendHeader(); err != nil {
			return err
		}
	}
	if s.piece.append == nil {
		s.piece.append = s.piece.appendMessage
	}
	size, err := s.wire.SendData(s.piece.append)
	if broken := s.piece.broken; broken != nil {
		return broken
	}
	if err != nil {
		return s.check(err)
	}
	s.touch()
	s.mu.Lock()
	s.credit -= size
	s.sent++
	p, watchers := Passage{Sent: true, Number: s.sent, Size: size}, s.watchers
	s.mu.Unlock()
	tell(watchers, p)
	return nil
}

// CloseSend is a client's half-close: it will send no more. A second one does nothing.
func (s *Stream) CloseSend(ctx context.Context) error {
	if err := s.lockSending(ctx); err != nil {
		return err
	}
	defer s.unlockSending()
	s.mu.Lock()
	if s.ended || s.sentClose {
		defer s.mu.Unlock()
		return s.failure()
	}
	s.sentClose = true
	s.mu.Unlock()
	return s.check(s.wire.SendClose(nil, nil))
}

// failure returns why the stream ended irregularly. s.mu is held.
func (s *Stream) failure() error {
	if s.err != nil {
		return s.err
	}
	return nil
}

// check ends the stream if the wire could not send. Where the connection goes on, the peer is told, or it would wait for ever.
func (s *Stream) check(err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	unfit := errors.As(err, &e)
	if !unfit {
		e = &Error{Code: Lost, Err: err}
	}
	s.fail(e, unfit)
	return e
}

// lockSending takes the token of sending.
func (s *Stream) lockSending(ctx context.Context) error {
	select {
	case s.sending <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.sending <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errorOf(context.Cause(ctx))
	case <-s.ctx.Done():
		return s.why()
	}
}

func (s *Stream) unlockSending() { <-s.sending }

// why returns why the stream, whose context has ended, has.
func (s *Stream) why() error {
	s.contextEnded() // unless it has
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endError()
}

// awaitCredit waits until a message may be sent. The token of sending is held.
func (s *Stream) awaitCredit(ctx context.Context) error {
	var expiry *time.Timer
	var expired <-chan time.Time
	for {
		wait, err := s.blocked()
		if wait == nil {
			return err
		}
		if expiry == nil && s.opt.Expiry > 0 {
			expiry = time.NewTimer(s.opt.Expiry)
			defer expiry.Stop()
			expired = expiry.C
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return errorOf(context.Cause(ctx))
		case <-s.ctx.Done():
			return s.why()
		case <-expired:
			e := errorf(Expired, "the peer has taken nothing for %v", s.opt.Expiry)
			s.fail(e, true)
			return e
		}
	}
}

// blocked returns what must be waited for before a message may be sent, or why
// none may.
func (s *Stream) blocked() (<-chan struct{}, error) {
	if s.ctx.Err() != nil {
		return nil, s.why()
	}
	if wait, err := s.barred(); wait != nil || err != nil {
		return wait, err
	}
	return s.wire.Writable(), nil
}

// barred is blocked but for the network.
func (s *Stream) barred() (<-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return nil, s.endError()
	case s.sentClose:
		return nil, errorf(Misuse, "send after CloseSend")
	case s.opt.Role == Client && !s.opened:
		return nil, errorf(Misuse, "send before Open")
	case s.credited && s.credit <= 0:
		return s.granted, nil
	}
	return nil, nil
}

// OnCredit says that the peer takes n bytes more.
func (s *Stream) OnCredit(n int) {
	s.mu.Lock()
	if n > 0 {
		s.credit = min(s.credit, maxCredit-min(n, maxCredit)) + min(n, maxCredit)
	}
	s.mu.Unlock()
	signal(s.granted)
}

// maxCredit bounds the credit that a peer can give, so that sums of it do not overflow.
const maxCredit = math.MaxInt / 2

// OnWindow says how many bytes the peer takes before it gives credit, of which
// those that have been sent are a part; 0 says that it gives none, and takes any.
func (s *Stream) OnWindow(n int) {
	s.mu.Lock()
	s.credited = n > 0
	s.credit = n + min(s.credit-s.opt.Credit, 0)
	s.mu.Unlock()
	signal(s.granted)
}

// signal puts a token into c, unless it holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
