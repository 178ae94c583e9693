package workers

import (
	"iter"
	"time"
)

// This file holds the workers: which one is woken, how it parks and ends.
//
// The rule of wake-ups is that of Go's scheduler for its threads: at most one
// worker is on its way to the queues at a time, and when it arrives it sends
// the next one on its way if more waits than it takes. A burst of short tasks
// is so run by one worker, while a task that blocks holds up nobody: the worker
// that was sent before it began takes the rest.
//
// Invariant, whenever mu is free: if a task waits that an idle worker or one
// that may be started could run, then waking > 0. Whatever makes a task wait
// (Submit) and whatever lowers waking (a worker that arrives) restores it by
// next. A worker parks only when nothing waits for it.

const (
	// keepIdle is how many idle shared workers stay for good.
	keepIdle = 2
	// trimInterval is how often idle workers and memory that were not
	// needed since the last time are given up.
	trimInterval = 5 * time.Second
)

// group is workers with the same duty.
type group struct {
	serves uint // the priorities, as bits
	limit  int  // highest live
	keep   int  // idle workers that trim leaves
	live   int  // workers: running, on their way or idle
	idle   []*worker
	low    int // the lowest len(idle) since the last trim: so many workers were not needed
}

// worker is a goroutine of the pool.
type worker struct {
	group  *group
	signal chan bool // one element, so that waking never blocks: true to take tasks, false to end
	parked bool      // it is to be woken, not started
}

// groups yields all groups.
func (p *Pool) groups() iter.Seq[*group] {
	return func(yield func(*group) bool) {
		if !yield(&p.shared) {
			return
		}
		for i := range p.extra {
			if !yield(&p.extra[i]) {
				return
			}
		}
	}
}

// live returns the number of workers. p.mu is held.
func (p *Pool) live() int {
	n := 0
	for g := range p.groups() {
		n += g.live
	}
	return n
}

// running returns the number of workers that run a task. p.mu is held, so all
// others are idle or on their way.
func (p *Pool) running() int {
	n := p.live() - p.waking
	for g := range p.groups() {
		n -= len(g.idle)
	}
	return n
}

// next chooses a worker to be sent on its way, nil if one is already or none
// can help. The caller wakes it after it has let go of p.mu, which is held.
func (p *Pool) next() *worker {
	if p.waking > 0 || p.filled == 0 {
		return nil
	}
	if w := p.shared.next(&p.stats); w != nil {
		p.waking++
		return w
	}
	for i := range p.extra {
		if p.filled&(1<<i) == 0 {
			continue
		}
		if w := p.extra[i].next(&p.stats); w != nil {
			p.waking++
			return w
		}
	}
	return nil
}

// next takes the worker that parked last, or one that is to be started.
func (g *group) next(stats *Stats) *worker {
	if n := len(g.idle); n > 0 {
		w := g.idle[n-1]
		g.idle[n-1] = nil
		g.idle = g.idle[:n-1]
		g.low = min(g.low, n-1)
		stats.Woken++
		return w
	}
	if g.live == g.limit {
		return nil
	}
	g.live++
	stats.Started++
	return &worker{group: g, signal: make(chan bool, 1)}
}

// wake sends a worker on its way.
func (p *Pool) wake(w *worker) {
	switch {
	case w == nil:
	case w.parked:
		w.signal <- true
	default:
		go p.work(w)
	}
}

// work is a worker's goroutine.
func (p *Pool) work(w *worker) {
	running := false
	defer func() {
		if !running {
			return
		}
		// The task has panicked or ended the goroutine: another one takes
		// the worker's place.
		recover()
		p.mu.Lock()
		p.stats.Broken++
		p.waking++ // as a worker that is not there yet
		p.mu.Unlock()
		go p.work(w)
	}()

	p.mu.Lock()
	for {
		p.waking--
		task := p.take(w.group.serves)
		another := p.next()
		for task != nil {
			p.mu.Unlock()
			p.wake(another)
			another = nil
			running = true
			task.Run()
			running = false
			p.mu.Lock()
			task = p.take(w.group.serves)
		}
		if !p.park(w, another) {
			return
		}
		p.mu.Lock()
	}
}

// park lets a worker wait until it is woken, after it has woken another one;
// false means that it is to end. p.mu is held on entry and not on return.
func (p *Pool) park(w, another *worker) bool {
	g := w.group
	if p.closed {
		g.live--
		if p.live() == 0 {
			close(p.ended)
		}
		p.mu.Unlock()
		p.wake(another)
		return false
	}
	w.parked = true
	g.idle = append(g.idle, w)
	if len(g.idle) > g.keep {
		p.arm()
	}
	p.mu.Unlock()
	p.wake(another)
	return <-w.signal
}

// arm starts an interval that trim ends, if there is none. p.mu is held.
func (p *Pool) arm() {
	if p.armed {
		return
	}
	for g := range p.groups() {
		g.low = len(g.idle)
	}
	p.armed = true
	if p.timer == nil {
		p.timer = time.AfterFunc(trimInterval, p.trim)
	} else {
		p.timer.Reset(trimInterval)
	}
}

// trim ends the idle workers that were not needed for an interval, and gives
// memory of the queues back.
func (p *Pool) trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	if p.closed {
		return
	}
	more := false
	for g := range p.groups() {
		g.dismiss(min(g.low, len(g.idle)-g.keep))
		more = more || len(g.idle) > g.keep
	}
	for i := range p.queues {
		p.queues[i].shrink()
		more = more || len(p.queues[i].slots) > smallRing
	}
	if more {
		p.arm()
	}
}

// dismiss ends the n workers that have been idle longest.
func (g *group) dismiss(n int) {
	if n <= 0 {
		return
	}
	for _, w := range g.idle[:n] {
		w.signal <- false
	}
	g.live -= n
	g.idle = append(g.idle[:0], g.idle[n:]...)
	clear(g.idle[len(g.idle) : len(g.idle)+n])
}
