package workers

import "slices"

// This file holds the queue of one priority.

// smallRing is the length that a ring starts with and may keep for good.
const smallRing = 256

// ring is a queue in a slice whose length is a power of two.
//
// Invariant: the slots outside of the queue are nil, so that a task which has
// run is not kept alive.
type ring struct {
	slots []Task
	front uint // of the next task; taken modulo len(slots)
	n     int  // tasks in the queue
	most  int  // the highest n since the last shrink
}

// push appends tasks, in their order, and reports whether there is something
// that shrink may give back.
func (r *ring) push(tasks []Task) (grown bool) {
	if r.n+len(tasks) > len(r.slots) {
		r.grow(r.n + len(tasks))
		grown = len(r.slots) > smallRing
	}
	back := int((r.front + uint(r.n)) & uint(len(r.slots)-1))
	k := copy(r.slots[back:], tasks)
	copy(r.slots, tasks[k:])
	r.n += len(tasks)
	r.most = max(r.most, r.n)
	return grown
}

// pop takes the first task of a queue that is not empty.
func (r *ring) pop() Task {
	slot := &r.slots[r.front&uint(len(r.slots)-1)]
	task := *slot
	*slot = nil
	r.front++
	r.n--
	return task
}

// withdraw takes those of the first most tasks for which drop reports true, and appends them to out, in their order.
func (r *ring) withdraw(most int, drop func(Task) bool, out []Task) []Task {
	mask, start := uint(len(r.slots)-1), len(out)
	most = min(most, r.n)
	kept := most // tasks from here on stay
	for i := most - 1; i >= 0; i-- {
		slot := &r.slots[(r.front+uint(i))&mask]
		task := *slot
		*slot = nil
		if drop(task) {
			out = append(out, task)
			continue
		}
		kept--
		r.slots[(r.front+uint(kept))&mask] = task
	}
	r.front += uint(kept)
	r.n -= kept
	slices.Reverse(out[start:])
	return out
}

// grow makes room for n tasks.
func (r *ring) grow(n int) {
	size := max(smallRing, len(r.slots))
	for size < n {
		size *= 2
	}
	r.resize(size)
}

// shrink gives memory back that was not needed since the last shrink.
func (r *ring) shrink() {
	if len(r.slots) > smallRing && r.most <= len(r.slots)/4 {
		r.resize(len(r.slots) / 2)
	}
	r.most = r.n
}

func (r *ring) resize(size int) {
	slots := make([]Task, size)
	if r.n > 0 {
		front := int(r.front & uint(len(r.slots)-1))
		k := copy(slots, r.slots[front:min(front+r.n, len(r.slots))])
		copy(slots[k:r.n], r.slots)
	}
	r.slots, r.front = slots, 0
}
