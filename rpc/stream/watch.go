package stream

// This file holds what others can see of a stream: how many messages have passed.

// Passage is a message that went or came.
type Passage struct {
	Sent   bool // by this side; else it has come
	Number int  // of its direction, from 1
	Size   int  // in bytes, as flow control counts them
}

// Watch tells f of each message from now on, and returns how many went and came before: a message goes when it
// is queued for the network, and comes when it is queued for Recv. f is called by whoever moves the message, by two
// goroutines at the same time if messages go and come, and must not wait.
func (s *Stream) Watch(f func(Passage)) (sent, received int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers[:len(s.watchers):len(s.watchers)], f)
	return s.sent, s.received
}

// End reports whether the stream has ended, and how: err is nil if regularly, a client's has the outcome that the
// server closed with, and a [*Error] says why there is none. The stream's context may have ended
// for a reason that came later.
func (s *Stream) End() (ended bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.ended:
		return false, nil
	case s.err != nil:
		return true, s.err
	}
	return true, s.outcome
}

// Counts returns how many messages went and came.
func (s *Stream) Counts() (sent, received int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent, s.received
}

// tell tells watchers of a message.
func tell(watchers []func(Passage), p Passage) {
	for _, f := range watchers {
		f(p)
	}
}
