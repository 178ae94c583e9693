package handover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds a process' part in a row of processes of which each takes
// the place of the one before.

// version is that of what the processes say to each other.
const version = "1"

// answerTime is how long the other process may take for an answer that it
// has at hand.
const answerTime = 10 * time.Second

// startTime is how long a successor may take to serve: long, since it may fill its
// caches first, and not for ever, since no other one can come meanwhile.
const startTime = 5 * time.Minute

// ErrTooLate is why a process does not take the place of the one before: it took more than five minutes to serve.
var ErrTooLate = errors.New("handover: the process before goes on, because this one took too long to serve")

// Handover is the part of one process. Its methods are for one goroutine,
// but that Close can be called by any.
type Handover struct {
	server *rpc.Server
	answer time.Duration // answerTime, but for tests
	start  time.Duration // startTime, likewise
	before *net.UnixConn // to the predecessor; nil if there is none

	mu        sync.Mutex
	gate      *net.UnixListener       // where a successor comes
	inherited map[string]net.Listener // from the predecessor, and not asked for yet
	listeners map[string]net.Listener // of this process
	closed    bool
	late      bool // the predecessor has not waited
}

// Begin begins a hand-over at the path of a Unix socket. If a process listens
// there, it is the predecessor, and gives its listeners; it goes on serving until Run is called.
// A path that a process has left behind is taken.
//
// Whoever can open the path gets the listeners and connections of server, so
// its directory is to be the user's own. Linux lets only the same user and root in.
func Begin(ctx context.Context, path string, server *rpc.Server) (*Handover, error) {
	h := &Handover{server: server, answer: answerTime, start: startTime, inherited: map[string]net.Listener{}, listeners: map[string]net.Listener{}}
	nc, err := new(net.Dialer).DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		h.before = nc.(*net.UnixConn)
		if err := h.inherit(ctx); err != nil {
			h.Close()
			return nil, fmt.Errorf("handover: from the process at %s: %w", path, err)
		}
		return h, nil
	case errors.Is(err, syscall.ECONNREFUSED):
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("handover: %s is no socket", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("handover: %w", err)
		}
	case !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("handover: %w", err)
	}
	h.gate, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		h.Close()
		return nil, fmt.Errorf("handover: %w", err)
	}
	return h, nil
}

// inherit takes the listeners of the predecessor.
func (h *Handover) inherit(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { h.before.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	h.before.SetDeadline(time.Now().Add(h.answer))
	if err := send(h.before, hello, []byte(version), nil); err != nil {
		return err
	}
	for {
		k, body, file, err := receive(h.before)
		if err != nil {
			return errors.Join(err, ctx.Err())
		}
		if k == complete && h.gate != nil {
			h.before.SetDeadline(time.Time{})
			return nil
		}
		if file == nil {
			return fmt.Errorf("message %d comes without a socket", k)
		}
		l, err := net.FileListener(file)
		file.Close()
		if err != nil {
			return err
		}
		gate, ok := l.(*net.UnixListener)
		switch {
		case k == control && ok && h.gate == nil:
			h.gate = gate
		case k == listening && h.inherited[string(body)] == nil:
			h.inherited[string(body)] = l
		default:
			l.Close()
			return fmt.Errorf("message %d was not expected", k)
		}
	}
}

// Listen returns the predecessor's listener for an address, which it has asked for in the
// same words, and listens anew if there is none. The listener goes to the
// successor; who closes it earlier keeps that from happening.
func (h *Handover) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	key := network + "\n" + address
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, net.ErrClosed
	}
	if h.listeners[key] != nil {
		return nil, fmt.Errorf("handover: %s %s: %w", network, address, syscall.EADDRINUSE)
	}
	l := h.inherited[key]
	delete(h.inherited, key)
	if l == nil {
		var err error
		if l, err = new(net.ListenConfig).Listen(ctx, network, address); err != nil {
			return nil, err
		}
		if _, ok := l.(syscall.Conn); !ok {
			l.Close()
			return nil, fmt.Errorf("handover: %T cannot be handed over", l)
		}
	}
	h.listeners[key] = l
	return l, nil
}

// Run is called when the server serves. It tells the predecessor to go, takes
// its connections, and waits for a successor. When one has told that it serves, Run stops the
// server as [rpc.Server.HandOver] does, and returns nil when nothing is left: the process can
// end. When ctx ends, Run returns its error; then the program may shut the server down, or begin anew.
//
// A successor that goes before it serves, or takes more than five minutes for it, changes nothing; the Run of
// one that was too late returns [ErrTooLate]. Listeners of the
// predecessor that this process has not asked for are closed.
func (h *Handover) Run(ctx context.Context) error {
	defer h.Close()
	stop := context.AfterFunc(ctx, h.Close)
	defer stop()
	if h.before != nil && send(h.before, ready, nil, nil) != nil && ctx.Err() != nil {
		return ctx.Err() // the predecessor goes on
	}
	h.own()
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		h.takeConnections()
	}()
	for {
		next, err := h.gate.AcceptUnix()
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if h.wasLate() {
				return ErrTooLate
			}
			return fmt.Errorf("handover: %w", err)
		}
		if h.introduce(ctx, next) {
			<-taken // what comes from before goes on
			return h.depart(ctx, next)
		}
		next.Close()
	}
}

// Close ends the hand-over: no successor finds this process any more. The
// server and its listeners go on.
func (h *Handover) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	for _, l := range h.inherited {
		l.Close()
	}
	if h.gate != nil {
		h.gate.Close()
	}
	if h.before != nil {
		h.before.Close()
	}
}

// goBack leaves everything to the predecessor, which goes on.
func (h *Handover) goBack() {
	h.mu.Lock()
	h.late = true
	keepPaths(true, h.gate)
	for _, l := range h.listeners {
		keepPaths(true, l)
	}
	h.mu.Unlock()
	h.Close()
}

func (h *Handover) wasLate() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.late
}

// own makes the listeners those of this process, and closes the ones that
// nobody has asked for.
func (h *Handover) own() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.inherited {
		l.Close()
	}
	clear(h.inherited)
	keepPaths(false, h.gate)
	for _, l := range h.listeners {
		keepPaths(false, l)
	}
}

// takeConnections takes what the predecessor gives.
func (h *Handover) takeConnections() {
	if h.before == nil {
		return
	}
	defer h.before.Close()
	for {
		k, state, file, err := receive(h.before)
		if err != nil || k != conn || file == nil {
			if file != nil {
				file.Close()
			}
			if err == nil && k == late {
				h.goBack()
			}
			return // it has said goodbye, or has gone
		}
		c, err := net.FileConn(file)
		file.Close()
		if err == nil {
			h.server.Adopt(c, state) // or closes c, and the client comes again
		}
	}
}

// introduce gives the listeners to a process that has come, and reports
// whether it serves now.
func (h *Handover) introduce(ctx context.Context, next *net.UnixConn) bool {
	stop := context.AfterFunc(ctx, func() { next.Close() })
	defer stop()
	if !sameUser(next) {
		return false
	}
	next.SetDeadline(time.Now().Add(h.answer))
	k, body, file, err := receive(next)
	if file != nil {
		file.Close()
	}
	if err != nil || k != hello || string(body) != version {
		return false
	}
	if h.giveListeners(next) != nil {
		return false
	}
	next.SetDeadline(time.Now().Add(h.start))
	k, _, file, err = receive(next)
	if file != nil {
		file.Close()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		next.SetDeadline(time.Now().Add(h.answer))
		_ = send(next, late, nil, nil) // or it has gone
		return false
	}
	next.SetDeadline(time.Time{})
	return err == nil && k == ready
}

// giveListeners gives away the listeners, of which this process keeps its copies.
func (h *Handover) giveListeners(next *net.UnixConn) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := send(next, control, nil, h.gate); err != nil {
		return err
	}
	for key, l := range h.listeners {
		err := send(next, listening, []byte(key), l)
		if err != nil && !errors.Is(err, net.ErrClosed) { // which was on purpose
			return err
		}
	}
	return send(next, complete, nil, nil)
}

// depart stops the server and gives its connections to the successor.
func (h *Handover) depart(ctx context.Context, next *net.UnixConn) error {
	defer next.Close()
	h.mu.Lock()
	keepPaths(true, h.gate)
	for _, l := range h.listeners {
		keepPaths(true, l)
	}
	h.mu.Unlock()
	var giving sync.Mutex
	err := h.server.HandOver(ctx, func(c net.Conn, state []byte) error {
		giving.Lock()
		defer giving.Unlock()
		next.SetWriteDeadline(time.Now().Add(h.answer))
		return send(next, conn, state, c)
	})
	giving.Lock()
	defer giving.Unlock()
	next.SetWriteDeadline(time.Now().Add(h.answer)) // that of the last connection may be long past
	return errors.Join(err, send(next, goodbye, nil, nil))
}
