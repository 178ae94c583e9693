package stream

import (
	"bytes"
	"context"
	"io"
	"time"
)

// This file holds the receiving half of a stream: the queue of messages, and
// what the wire tells of.

// Owner owns the memory of a message.
type Owner interface{ Release() }

// message is one that has been received.
type message struct {
	b     []byte
	owner Owner // that is released when b has been read; may be nil
}

// messageCost is what a message in the queue counts beside its bytes.
const messageCost = 64

// queue holds messages in their order; those before head have been taken.
type queue struct {
	messages []message
	head     int
}

func (q *queue) len() int { return len(q.messages) - q.head }

func (q *queue) push(m message) {
	if q.head > 0 && len(q.messages) == cap(q.messages) {
		n := copy(q.messages, q.messages[q.head:])
		clear(q.messages[n:])
		q.messages, q.head = q.messages[:n], 0
	}
	q.messages = append(q.messages, m)
}

func (q *queue) pop() message {
	m := q.messages[q.head]
	q.messages[q.head] = message{}
	if q.head++; q.head == len(q.messages) {
		q.messages, q.head = q.messages[:0], 0
	}
	return m
}

func (q *queue) releaseAll() {
	for _, m := range q.messages[q.head:] {
		m.release()
	}
}

func (m message) release() {
	if m.owner != nil {
		m.owner.Release()
	}
}

// Recv waits for a message and reads it by read, whose argument is valid until
// it returns. An error of read is returned as it is. [io.EOF] says that the peer has closed
// regularly; errors are explained in the package's documentation. When ctx ends first, no message was taken.
func (s *Stream) Recv(ctx context.Context, read func(b []byte) error) error {
	if !s.lends.Load() {
		s.lends.Store(true)
	}
	m, err := s.next(ctx)
	if err != nil {
		return err
	}
	defer m.release()
	return read(m.b)
}

// Lends tells a wire whether messages are read by Recv, and so may be in memory that is used again,
// rather than kept by RecvOwn.
func (s *Stream) Lends() bool { return s.lends.Load() }

// RecvOwn waits for a message and returns it; it is the caller's. Errors are those of Recv.
func (s *Stream) RecvOwn(ctx context.Context) ([]byte, error) {
	m, err := s.next(ctx)
	if err != nil || m.owner == nil {
		return m.b, err
	}
	defer m.release()
	return bytes.Clone(m.b), nil
}

// next waits for a message.
func (s *Stream) next(ctx context.Context) (message, error) {
	for {
		m, credit, ok, err := s.take()
		if err != nil {
			return m, err
		}
		if ok {
			if credit > 0 {
				s.wire.SendCredit(credit)
			}
			return m, nil
		}
		select {
		case <-s.arrived:
		case <-s.ctx.Done():
			s.contextEnded()
		case <-ctx.Done():
			if s.ctx.Err() == nil {
				return m, errorOf(context.Cause(ctx))
			}
		}
	}
}

// take takes a message if there is one, or says why none will come. credit is
// what the peer is to be given.
func (s *Stream) take() (m message, credit int, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.len() == 0 {
		switch {
		case s.ended:
			return m, 0, false, s.endError()
		case s.peerClosed && s.outcome != nil:
			return m, 0, false, s.outcome
		case s.peerClosed:
			return m, 0, false, io.EOF
		}
		return m, 0, false, nil
	}
	m = s.queue.pop()
	s.hold(-len(m.b) - messageCost)
	s.touch()
	signal(s.taken)
	if s.queue.len() > 0 || s.peerClosed || s.ended {
		signal(s.arrived)
	}
	if s.opt.Window > 0 && !s.peerClosed && !s.ended {
		if s.consumed += len(m.b); s.consumed >= (s.opt.Window+3)/4 {
			credit, s.consumed = s.consumed, 0
			s.owed += credit
		}
	}
	return m, credit, true, nil
}

// hold counts what is queued. s.mu is held.
func (s *Stream) hold(n int) {
	s.bytes += n
	if s.opt.Hold != nil {
		s.opt.Hold(n)
	}
}

// dropQueue empties the queue and returns what was in it. s.mu is held.
func (s *Stream) dropQueue() queue {
	dropped := s.queue
	s.queue = queue{}
	s.hold(-s.bytes)
	return dropped
}

// fits tells whether a message of size bytes may be queued. s.mu is held.
func (s *Stream) fits(size int) bool {
	n := s.queue.len()
	return n == 0 || n < s.opt.MaxMessages && s.bytes+size+messageCost <= s.opt.MaxBytes
}

// AwaitRoom is for wires without credits: it waits until a message of size
// bytes may be queued, and reports whether it may. A stream whose user takes
// nothing for limit is reset; 0 means at once.
func (s *Stream) AwaitRoom(size int, limit time.Duration) bool {
	var timer *time.Timer
	for {
		s.mu.Lock()
		ended, room := s.ended || s.peerClosed, s.fits(size)
		s.mu.Unlock()
		switch {
		case ended:
			return false
		case room:
			return true
		}
		if timer == nil {
			timer = time.NewTimer(limit)
			defer timer.Stop()
		} else {
			timer.Reset(limit)
		}
		select {
		case <-s.taken:
		case <-s.ctx.Done():
		case <-timer.C:
			s.fail(errorf(Overflow, "%d messages wait, and none was taken for %v", s.waiting(), limit), true)
			return false
		}
	}
}

func (s *Stream) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.len()
}

// OnHeader says that the peer's header has come.
func (s *Stream) OnHeader(md Metadata) {
	s.mu.Lock()
	again := s.headerSet
	if !s.ended && !again {
		s.headerKnown(md)
		s.headerSet = true
	}
	s.mu.Unlock()
	if again {
		s.fail(errorf(Protocol, "a second header"), true)
	}
}

// headerKnown ends the wait for the header. s.mu is held.
func (s *Stream) headerKnown(md Metadata) {
	select {
	case <-s.headerDone:
	default:
		s.header = md
		close(s.headerDone)
	}
}

// RecvHeader returns the header of the peer if it has come.
func (s *Stream) RecvHeader() Metadata {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.header
}

// OnData takes a message, which o owns; without an o it is the stream's for good. A peer that sends
// beyond the limits has its stream reset.
func (s *Stream) OnData(b []byte, o Owner) {
	s.mu.Lock()
	var broken *Error
	p := Passage{Size: len(b)}
	var watchers []func(Passage) // of a message that is queued
	switch {
	case s.ended:
	case s.peerClosed:
		broken = errorf(Protocol, "a message after the close")
	case s.opt.Window > 0 && s.owed <= 0 && !(s.opt.Loose && s.fits(len(b))):
		broken = errorf(Overflow, "the peer sends without credit")
	case s.opt.Window > 0 && s.queue.len() < s.maxCredited() || s.opt.Window == 0 && s.fits(len(b)):
		s.queue.push(message{b, o})
		s.owed -= len(b)
		s.hold(len(b) + messageCost)
		o = nil
		s.received++
		p.Number, watchers = s.received, s.watchers
	default:
		broken = errorf(Overflow, "%d messages of %d bytes wait", s.queue.len(), s.bytes)
	}
	s.mu.Unlock()
	if broken != nil {
		s.fail(broken, true)
	}
	message{b, o}.release()
	tell(watchers, p)
	s.touch()
	signal(s.arrived)
}

// maxCredited bounds the messages that wait where credits bound their bytes:
// small ones, that cost more than their bytes, and empty ones, that cost no credit.
func (s *Stream) maxCredited() int { return max(s.opt.MaxMessages, s.opt.Window/16) }

// OnClose says that the peer has closed: with an outcome and a trailer if it is
// a server, which ends the stream.
func (s *Stream) OnClose(outcome error, trailer Metadata) {
	s.mu.Lock()
	if s.ended || s.peerClosed {
		s.mu.Unlock()
		return
	}
	s.peerClosed, s.outcome, s.trailer = true, outcome, trailer
	client := s.opt.Role == Client
	if client {
		s.endLocked(nil) // what is queued stays
	}
	s.mu.Unlock()
	signal(s.arrived)
	signal(s.taken)
	if client {
		s.over(outcome, queue{})
	}
}

// OnReset says that the peer has reset the stream, because of reason.
func (s *Stream) OnReset(reason error) {
	s.fail(&Error{Code: Reset, Remote: true, Err: reason}, false)
}

// OnLost says that the connection has ended.
func (s *Stream) OnLost(err error) {
	s.fail(&Error{Code: Lost, Err: err}, false)
}
