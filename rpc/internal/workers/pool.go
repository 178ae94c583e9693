package workers

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// This file holds what users of a pool see. How workers are woken, park and
// end is in worker.go.

// The priorities, as fbthrift numbers them. A lower number goes first.
const (
	HighImportant = iota
	High
	Important
	Normal
	BestEffort

	// Priorities is how many there are.
	Priorities
)

// Task is what a pool runs. A pointer in a Task costs no allocation.
type Task interface{ Run() }

// Options say how large a pool may become.
type Options struct {
	// Workers take the task of the highest priority that waits; at least 1.
	Workers int
	// Extra workers serve one priority only, so that it advances while the
	// others are busy. They run when no shared worker is free.
	Extra [Priorities]int
	// MaxQueue limits the tasks of each priority that wait, so that what is
	// stuck in one keeps out no other; 0 means no limit. A task that a worker
	// is on its way for waits too.
	MaxQueue int
}

// Pool runs tasks on at most Workers + Extra goroutines, which it starts when
// they are needed. All methods are safe for concurrent use, by tasks too.
//
// Tasks of one priority start in the order in which they were submitted. A
// task that panics or calls runtime.Goexit is counted and costs nothing else;
// one that wants its panic to be seen recovers itself.
type Pool struct {
	waiting  atomic.Int64 // tasks in queues; written under mu
	maxQueue int

	mu     sync.Mutex
	queues [Priorities]ring
	filled uint // bit p: queues[p] is not empty
	shared group
	extra  [Priorities]group
	waking int           // workers on their way to the queues: woken or started, and not there yet
	closed bool          // by Close
	ended  chan struct{} // closed when the pool is closed and no worker is left
	timer  *time.Timer   // for trim
	armed  bool          // the timer will fire
	stats  Stats
}

// Stats are counts since the pool was made and the state it is in.
type Stats struct {
	Submitted   uint64 // tasks taken by Submit
	Refused     uint64 // tasks not taken, because the queue was full or the pool closed
	Withdrawn   uint64 // tasks taken back by Withdraw
	Run         uint64 // tasks that have ended
	Broken      uint64 // of these, by a panic or runtime.Goexit
	Started     uint64 // workers started; all but a few end when they are idle
	Woken       uint64 // idle workers woken
	MostWaiting int    // highest number of tasks that waited at once
	Waiting     int    // tasks that wait now
	Running     int    // tasks that run now
	Workers     int    // goroutines now
}

// New returns a pool without goroutines.
func New(o Options) *Pool {
	p := &Pool{maxQueue: o.MaxQueue, ended: make(chan struct{})}
	p.shared = group{serves: 1<<Priorities - 1, limit: max(o.Workers, 1), keep: keepIdle}
	for i := range p.extra {
		p.extra[i] = group{serves: 1 << i, limit: o.Extra[i]}
	}
	return p
}

// Submit lets tasks wait for workers and returns how many it took: all, or
// the first ones if the queue has no more room, or none if the pool is closed.
// A priority that does not exist is taken as Normal. The slice is not kept.
func (p *Pool) Submit(priority int, tasks ...Task) (taken int) {
	if uint(priority) >= Priorities {
		priority = Normal
	}
	p.mu.Lock()
	taken = len(tasks)
	switch {
	case p.closed:
		taken = 0
	case p.maxQueue > 0:
		taken = min(taken, p.maxQueue-p.queues[priority].n)
	}
	p.stats.Submitted += uint64(taken)
	p.stats.Refused += uint64(len(tasks) - taken)
	if taken == 0 {
		p.mu.Unlock()
		return 0
	}
	waiting := int(p.waiting.Load()) + taken
	p.waiting.Store(int64(waiting))
	p.stats.MostWaiting = max(p.stats.MostWaiting, waiting)
	if p.queues[priority].push(tasks[:taken]) {
		p.arm()
	}
	p.filled |= 1 << priority
	w := p.next()
	p.mu.Unlock()
	p.wake(w)
	return taken
}

// Withdraw takes tasks that wait out of their queues, without running them: those of the first most of each priority for
// which drop reports true. drop must not use the pool.
func (p *Pool) Withdraw(most int, drop func(Task) bool) (tasks []Task) {
	if p.Waiting() == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.queues {
		q := &p.queues[i]
		if q.n == 0 {
			continue
		}
		if tasks = q.withdraw(most, drop, tasks); q.n == 0 {
			p.filled &^= 1 << i
		}
	}
	p.waiting.Add(-int64(len(tasks)))
	p.stats.Withdrawn += uint64(len(tasks))
	return tasks
}

// Waiting returns how many tasks wait. It costs an atomic load, so that a task
// can ask it: what a server writes at the end of a turn may as well wait while
// more is to come.
func (p *Pool) Waiting() int { return int(p.waiting.Load()) }

// Running returns how many tasks run.
func (p *Pool) Running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running()
}

// Idle reports whether no task waits or runs.
func (p *Pool) Idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.filled == 0 && p.running() == 0
}

// Stats returns what the pool has done.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Waiting, s.Running, s.Workers = p.Waiting(), p.running(), p.live()
	s.Run = s.Submitted - s.Withdrawn - uint64(s.Waiting) - uint64(s.Running)
	return s
}

// Close lets the pool take no more tasks, runs those that wait, and returns
// when all have ended, or with the error of ctx when that ends first; the
// tasks go on then. It may be called again. A task that calls it waits for itself.
func (p *Pool) Close(ctx context.Context) error {
	p.close()
	select {
	case <-p.ended:
		return nil
	default:
	}
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	// What waits is served by workers that run or are on their way, and by
	// those that these wake or start anew.
	for g := range p.groups() {
		g.dismiss(len(g.idle))
	}
	if p.live() == 0 {
		close(p.ended)
	}
}

// take takes the next task of those that serves allows, nil if there is none.
// p.mu is held.
func (p *Pool) take(serves uint) Task {
	may := p.filled & serves
	if may == 0 {
		return nil
	}
	priority := bits.TrailingZeros(may)
	q := &p.queues[priority]
	task := q.pop()
	if q.n == 0 {
		p.filled &^= 1 << priority
	}
	p.waiting.Store(p.waiting.Load() - 1)
	return task
}
