package workers

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The tests run in bubbles of testing/synctest: time in them is not the real
// one, synctest.Wait returns when every goroutine is blocked, and a goroutine
// that is left behind fails the test.

type task func()

func (f task) Run() { f() }

// open returns a pool that is closed when the test function returns.
func open(t *testing.T, o Options) *Pool {
	p := New(o)
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return p
}

// block occupies n workers until release is called.
func block(p *Pool, priority, n int) (release func()) {
	gate := make(chan struct{})
	for range n {
		p.Submit(priority, task(func() { <-gate }))
	}
	synctest.Wait()
	return func() { close(gate) }
}

func wantStats(t *testing.T, p *Pool, what string, ok func(Stats) bool) {
	t.Helper()
	if s := p.Stats(); !ok(s) {
		t.Errorf("not %s: %+v", what, s)
	}
}

func TestEveryTaskRunsOnce(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		o := Options{Workers: workers, Extra: [Priorities]int{1, 0, 2, 0, 1}}
		p := New(o)
		var running, most, broken atomic.Int64
		const producers, batches = 8, 300
		var counts [producers * batches * 16]atomic.Int32
		var used atomic.Int64
		var wg sync.WaitGroup
		for i := range producers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), uint64(workers)))
				for range batches {
					var batch []Task
					for range 1 + r.IntN(8) {
						n, kind, nested := used.Add(1)-1, r.IntN(12), used.Add(1)-1
						batch = append(batch, task(func() {
							if counts[n].Add(1); running.Add(1) > most.Load() {
								most.Store(running.Load())
							}
							defer running.Add(-1)
							p.Submit(int(n)%Priorities, task(func() { counts[nested].Add(1) }))
							switch kind {
							case 0:
								broken.Add(1)
								panic("on purpose")
							case 1:
								broken.Add(1)
								runtime.Goexit()
							case 2:
								runtime.Gosched()
							}
						}))
					}
					if taken := p.Submit(r.IntN(Priorities), batch...); taken != len(batch) {
						t.Errorf("%d of %d tasks taken", taken, len(batch))
					}
				}
			})
		}
		wg.Wait()
		for !p.Idle() {
			runtime.Gosched()
		}
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for n := range used.Load() {
			if got := counts[n].Load(); got != 1 {
				t.Fatalf("task %d ran %d times", n, got)
			}
		}
		if most.Load() > int64(workers+4) {
			t.Errorf("%d tasks at once on %d workers", most.Load(), workers+4)
		}
		s := p.Stats()
		if n := uint64(used.Load()); s.Submitted != n || s.Run != n || s.Refused != 0 || s.Broken != uint64(broken.Load()) || s.Workers != 0 {
			t.Errorf("after %d tasks, %d of them broken: %+v", n, broken.Load(), s)
		}
	}
}

func TestHigherPrioritiesGoFirstAndEqualOnesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Options{Workers: 1})
		release := block(p, Normal, 1)
		type place struct{ priority, n int }
		var got, want []place
		for n := range 1000 {
			priority := (n*7 + n/3) % Priorities
			p.Submit(priority, task(func() { got = append(got, place{priority, n}) }))
			want = append(want, place{priority, n})
		}
		slices.SortStableFunc(want, func(a, b place) int { return a.priority - b.priority })
		release()
		synctest.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("ran in the order %v", got)
		}
	})
}

func TestAPriorityThatDoesNotExistIsNormal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Options{Workers: 1})
		release := block(p, Normal, 1)
		var got []int
		for _, priority := range []int{BestEffort, Priorities, -1, Normal, Important} {
			p.Submit(priority, task(func() { got = append(got, priority) }))
		}
		release()
		synctest.Wait()
		if want := []int{Important, Priorities, -1, Normal, BestEffort}; !slices.Equal(got, want) {
			t.Errorf("ran %v, want %v", got, want)
		}
	})
}

func TestExtraWorkersLetAPriorityAdvanceUnderAFlood(t *testing.T) {
	p := New(Options{Workers: 2, Extra: [Priorities]int{BestEffort: 1}})
	var stop atomic.Bool
	var flood func()
	flood = func() {
		if !stop.Load() {
			p.Submit(High, task(flood), task(func() {}))
		}
	}
	for range 8 {
		p.Submit(High, task(flood))
	}
	done := make(chan struct{})
	for range 100 {
		p.Submit(BestEffort, task(func() { done <- struct{}{} }))
		<-done
		if p.queuesEmpty(High) {
			t.Fatal("the flood has ended")
		}
	}
	stop.Store(true)
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// queuesEmpty reports whether nothing of a priority waits or runs.
func (p *Pool) queuesEmpty(priority int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queues[priority].n == 0 && p.running() == 0
}

func TestExtraWorkersServeTheirPriorityOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Options{Workers: 1, Extra: [Priorities]int{2, 2, 2, 0, 2}})
		defer block(p, Normal, 1)()
		release := block(p, HighImportant, 3)
		defer release()
		wantStats(t, p, "two extra workers busy", func(s Stats) bool { return s.Running == 3 && s.Waiting == 1 })
		ran := false
		p.Submit(BestEffort, task(func() { ran = true }))
		p.Submit(Normal, task(func() {}))
		synctest.Wait()
		if !ran {
			t.Error("a task of another priority was not run by its extra worker")
		}
		wantStats(t, p, "waiting for the shared worker", func(s Stats) bool { return s.Running == 3 && s.Waiting == 2 })
	})
}

func TestABurstStartsNoMoreWorkersThanTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Options{Workers: 5, Extra: [Priorities]int{2, 2, 2, 0, 2}})
		before := runtime.NumGoroutine()
		gate := make(chan struct{})
		for i := range 5000 {
			p.Submit(i%Priorities, task(func() { <-gate }))
		}
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n > 13 {
			t.Errorf("%d goroutines", n)
		}
		wantStats(t, p, "all workers busy", func(s Stats) bool {
			return s.Running == 13 && s.Workers == 13 && s.Started == 13 && s.Waiting == 5000-13 && s.MostWaiting <= 5000
		})
		close(gate)
		synctest.Wait()
		wantStats(t, p, "done", func(s Stats) bool { return s.Run == 5000 && s.Started == 13 && s.Waiting == 0 })
	})
}

// Tasks that wait for each other end only if each has a worker, so one
// Submit must be enough to wake all, whatever the number of threads.
func TestATaskThatBlocksDoesNotHoldUpTheNext(t *testing.T) {
	for _, threads := range []int{1, 2, 4} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
		synctest.Test(t, func(t *testing.T) {
			p := open(t, Options{Workers: 6, Extra: [Priorities]int{2, 0, 0, 0, 2}})
			for range 50 {
				var all sync.WaitGroup
				all.Add(10)
				meet := task(func() { all.Done(); all.Wait() })
				p.Submit(BestEffort, slices.Repeat([]Task{meet}, 8)...)
				synctest.Wait() // else the shared workers take what comes now first
				p.Submit(HighImportant, meet, meet)
				all.Wait()
				synctest.Wait()
			}
		})
	}
}

func TestTasksThatAreWithdrawnAreNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Options{Workers: 1})
		release := block(p, Normal, 1)
		ran := 0
		var marked [10]Task
		for i := range marked {
			marked[i] = &counted{&ran, i}
			p.Submit(i%Priorities, marked[i])
		}
		even := func(task Task) bool { return task.(*counted).n%2 == 0 }
		if got := p.Withdraw(1, even); !slices.Equal(got, []Task{marked[0], marked[2], marked[4]}) { // the first of each priority
			t.Errorf("withdrew %v", got)
		}
		if got := p.Withdraw(100, even); !slices.Equal(got, []Task{marked[6], marked[8]}) {
			t.Errorf("withdrew %v", got)
		}
		if n := len(p.Withdraw(100, even)); n != 0 || p.Waiting() != 5 {
			t.Errorf("%d withdrawn again, %d wait", n, p.Waiting())
		}
		release()
		synctest.Wait()
		wantStats(t, p, "five withdrawn, and all others run", func(s Stats) bool {
			return ran == 5 && s.Withdrawn == 5 && s.Run == 6 && s.Waiting == 0 && s.Submitted == 11
		})
		if p.Withdraw(100, even) != nil {
			t.Error("something is withdrawn from empty queues")
		}
	})
}

// counted is a task that counts that it was run.
type counted struct {
	ran *int
	n   int
}

func (c *counted) Run() { *c.ran++ }

func TestShortTasksAreRunByFewWorkers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Options{Workers: 64})
		const batches = 200
		for range batches {
			p.Submit(Normal, slices.Repeat([]Task{task(func() {})}, 100)...)
			synctest.Wait()
		}
		// Two a batch, and room for what preemption does.
		wantStats(t, p, "few wake-ups", func(s Stats) bool { return s.Woken+s.Started < 4*batches })
	})
}

func TestTheWorkerThatParkedLastIsWokenFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Options{Workers: 4})
		block(p, Normal, 4)()
		synctest.Wait()
		idle := slices.Clone(p.shared.idle)
		for range 10 {
			p.Submit(Normal, task(func() {
				if p.mu.Lock(); !slices.Equal(p.shared.idle, idle[:3]) {
					t.Error("another worker has been woken than the last one")
				}
				p.mu.Unlock()
			}))
			synctest.Wait()
		}
		if !slices.Equal(p.shared.idle, idle) {
			t.Error("the order of idle workers has changed")
		}
	})
}

func TestIdleWorkersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Options{Workers: 50, Extra: [Priorities]int{BestEffort: 3}})
		block(p, BestEffort, 53)()
		synctest.Wait()
		wantStats(t, p, "all workers idle", func(s Stats) bool { return s.Workers == 53 && s.Running == 0 })
		time.Sleep(2 * trimInterval)
		synctest.Wait()
		wantStats(t, p, "few workers left", func(s Stats) bool { return s.Workers == keepIdle })
		if p.armed {
			t.Error("the timer goes on though nothing is left to end")
		}
		block(p, BestEffort, 53)()
		synctest.Wait()
		wantStats(t, p, "workers started anew", func(s Stats) bool { return s.Workers == 53 && s.Run == 106 })
	})
}

func TestWorkersThatAreNeededNowAndThenStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Options{Workers: 50})
		block(p, Normal, 50)()
		for range 50 {
			block(p, Normal, 20)()
			time.Sleep(trimInterval / 2)
		}
		wantStats(t, p, "the twenty of every burst there", func(s Stats) bool { return s.Workers == 20 && s.Started == 50 })
	})
}

func TestTheMemoryOfABurstIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Options{Workers: 1})
		release := block(p, Normal, 1)
		p.Submit(Normal, slices.Repeat([]Task{task(func() {})}, 10_000)...)
		release()
		time.Sleep(20 * trimInterval)
		synctest.Wait()
		if n := len(p.queues[Normal].slots); n != smallRing || p.armed {
			t.Errorf("%d slots are left, timer armed: %v", n, p.armed)
		}
	})
}

func TestAFullQueueTakesTheFirstTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Options{Workers: 1, MaxQueue: 10})
		release := block(p, Normal, 1)
		ran := 0
		batch := slices.Repeat([]Task{task(func() { ran++ })}, 7)
		for _, want := range []int{7, 3, 0} {
			if got := p.Submit(High, batch...); got != want {
				t.Errorf("took %d, want %d", got, want)
			}
		}
		wantStats(t, p, "full", func(s Stats) bool { return s.Waiting == 10 && s.MostWaiting == 10 && s.Refused == 11 })
		for _, other := range []int{HighImportant, BestEffort} {
			if got := p.Submit(other, batch[0]); got != 1 {
				t.Errorf("priority %d has no room because another has none", other)
			}
		}
		release()
		synctest.Wait()
		if ran != 12 {
			t.Errorf("%d tasks ran, want 12", ran)
		}
	})
}

func TestATaskSeesWhetherMoreWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Options{Workers: 1})
		var seen []int
		look := task(func() { seen = append(seen, p.Waiting()) })
		p.Submit(Normal, look, look, look)
		synctest.Wait()
		if want := []int{2, 1, 0}; !slices.Equal(seen, want) {
			t.Errorf("saw %v waiting, want %v", seen, want)
		}
		if !p.Idle() || p.Running() != 0 {
			t.Error("not idle with nothing to do")
		}
	})
}

func TestCloseRunsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Workers: 2, Extra: [Priorities]int{HighImportant: 1}})
		release := block(p, HighImportant, 3)
		var ran atomic.Int64
		for range 100 {
			p.Submit(Normal, task(func() { time.Sleep(time.Second); ran.Add(1) }))
		}
		closed := make(chan error)
		go func() { closed <- p.Close(t.Context()) }()
		synctest.Wait()
		if p.Submit(HighImportant, task(func() { t.Error("a task ran that came after Close") })) != 0 {
			t.Error("a closed pool took a task")
		}
		release()
		if err := <-closed; err != nil || ran.Load() != 100 {
			t.Errorf("Close: %v after %d tasks, want 100", err, ran.Load())
		}
		if err := p.Close(t.Context()); err != nil {
			t.Errorf("Close again: %v", err)
		}
		wantStats(t, p, "ended", func(s Stats) bool { return s.Workers == 0 && s.Refused == 1 && s.Run == 103 })
	})
}

func TestCloseOfAPoolThatNeverRanReturns(t *testing.T) {
	if err := New(Options{}).Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestCloseGivesUpWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Workers: 1})
		ran := false
		release := block(p, Normal, 1)
		p.Submit(Normal, task(func() { ran = true }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close with a stuck task: %v", err)
		}
		release()
		if err := p.Close(t.Context()); err != nil || !ran {
			t.Errorf("Close: %v, the task that waited ran: %v", err, ran)
		}
	})
}

// Broken tasks on all workers at once would stop the pool if a worker were lost.
func TestABrokenTaskLosesNoWorker(t *testing.T) {
	for name, end := range map[string]func(){
		"panic":  func() { panic("on purpose") },
		"nil":    func() { panic(nil) },
		"Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := open(t, Options{Workers: 3})
				p.Submit(Normal, slices.Repeat([]Task{task(end)}, 100)...)
				synctest.Wait()
				release := block(p, Normal, 3)
				wantStats(t, p, "three workers busy", func(s Stats) bool { return s.Running == 3 && s.Broken == 100 && s.Workers == 3 })
				release()
			})
		})
	}
}

func TestTasksCostNoAllocation(t *testing.T) {
	p := New(Options{Workers: 1})
	done := make(chan struct{}, 1)
	batch := batchOf(100)
	batch[99] = &last{done}
	if n := testing.AllocsPerRun(1000, func() {
		p.Submit(Normal, batch...)
		p.Submit(High, batch[0])
		<-done
	}); n != 0 {
		t.Errorf("%v allocations for 101 tasks", n)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
