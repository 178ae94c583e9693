package ttstream

import (
	"net"
	"sync"
	"time"
)

// This file holds the writing half of a connection: frames gather in a queue,
// and one goroutine writes what has gathered, until nothing has.

// joinLimit is the size in bytes up to which frames are copied behind one
// another, and keptBuffer that of the largest buffer which is used again.
const (
	joinLimit  = 16 << 10
	keptBuffer = 64 << 10
)

// buffer is memory for one frame.
type buffer struct{ b []byte }

// writer is the queue of what a connection is to write. Invariant: who sets
// writing is the only one to write, until it finds the queue empty.
type writer struct {
	nc      net.Conn
	limit   int           // bytes beyond which messages wait
	timeout time.Duration // of one write; 0 for none
	failed  func(error)   // is told, once at most, that a write has failed
	free    sync.Pool     // of *buffer

	mu      sync.Mutex
	chunks  net.Buffers // to be written, all but the last of which do not change
	open    bool        // the last of chunks may have more appended
	spare   []byte      // memory for the next chunk
	unsent  int         // bytes that are queued or being written
	control int         // of these, bytes of frames that do not wait for room
	writing bool
	closed  bool
	drained chan struct{} // closed when unsent is within the limit again; nil if nobody waits
}

// get returns an empty buffer for a frame.
func (w *writer) get() *buffer {
	if b, ok := w.free.Get().(*buffer); ok {
		b.b = b.b[:0]
		return b
	}
	return &buffer{b: make([]byte, 0, 512)}
}

func (w *writer) put(b *buffer) {
	if cap(b.b) <= keptBuffer {
		w.free.Put(b)
	}
}

// full returns what is closed when the queue takes messages again, nil if it
// does now.
func (w *writer) full() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unsent <= w.limit {
		return nil
	}
	return w.wait()
}

// flooded is full for frames that do not wait: there are so many only if the peer
// makes this side answer, and does not read.
func (w *writer) flooded() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.control <= w.limit {
		return nil
	}
	return w.wait()
}

// wait returns what is closed when it is worth looking again. mu is held.
func (w *writer) wait() <-chan struct{} {
	if w.closed {
		return nil
	}
	if w.drained == nil {
		w.drained = make(chan struct{})
	}
	return w.drained
}

// queue queues a frame, and takes its buffer. control says that it did not wait
// for room. It reports false if the connection has ended.
func (w *writer) queue(f *buffer, control bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		w.put(f)
		return false
	}
	w.unsent += len(f.b)
	if control {
		w.control += len(f.b)
	}
	switch last := len(w.chunks) - 1; {
	case len(f.b) > joinLimit:
		w.chunks = append(w.chunks, f.b) // which keeps its memory
		w.open = false
	case w.open && len(w.chunks[last])+len(f.b) <= keptBuffer:
		w.chunks[last] = append(w.chunks[last], f.b...)
		w.put(f)
	default:
		w.chunks = append(w.chunks, append(w.spare[:0], f.b...))
		w.spare, w.open = nil, true
		w.put(f)
	}
	if !w.writing {
		w.writing = true
		go w.run()
	}
	return true
}

// run writes until nothing is queued.
func (w *writer) run() {
	for {
		w.mu.Lock()
		batch, size, control := w.chunks, w.unsent, w.control
		w.chunks, w.open = nil, false
		if len(batch) == 0 || w.closed {
			w.writing = false
			w.wake()
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()

		last := batch[len(batch)-1]
		err := w.write(batch)
		w.mu.Lock()
		w.unsent -= size
		w.control -= control
		if cap(last) <= keptBuffer && w.spare == nil {
			w.spare = last[:0]
		}
		if w.unsent <= w.limit || w.control <= w.limit {
			w.wake()
		}
		w.mu.Unlock()
		if err != nil {
			w.failed(err)
		}
	}
}

// write writes what was queued.
func (w *writer) write(batch net.Buffers) error {
	if w.timeout > 0 {
		w.nc.SetWriteDeadline(time.Now().Add(w.timeout))
	}
	if len(batch) == 1 {
		_, err := w.nc.Write(batch[0])
		return err
	}
	_, err := batch.WriteTo(w.nc)
	return err
}

// wake lets those go on that wait for the queue. mu is held.
func (w *writer) wake() {
	if w.drained != nil {
		close(w.drained)
		w.drained = nil
	}
}

// idle reports whether everything has been written.
func (w *writer) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unsent == 0
}

// close gives up what has not been written.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.chunks = nil
	w.wake()
}
