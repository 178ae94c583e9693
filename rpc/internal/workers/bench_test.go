package workers

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// This file measures the queue alone: what a task costs that does nothing.

type noop struct{}

func (*noop) Run() {}

// report adds the metric that targets are stated in.
func report(b *testing.B) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}

// submitAll submits n tasks in batches; a full queue gives way to the workers,
// as a connection that is not read does.
func submitAll(p *Pool, n int, batch []Task) {
	for n > 0 {
		k := p.Submit(Normal, batch[:min(len(batch), n)]...)
		if k == 0 {
			runtime.Gosched()
		}
		n -= k
	}
}

func batchOf(n int) []Task {
	batch := make([]Task, n)
	for i := range batch {
		batch[i] = new(noop)
	}
	return batch
}

// BenchmarkPoolThroughput has several producers fill the queue while workers
// empty it: the measure of a server whose connections read as fast as they can.
func BenchmarkPoolThroughput(b *testing.B) {
	for _, size := range []int{1, 10, 100} {
		for _, producers := range []int{1, 4, 16} {
			b.Run(fmt.Sprintf("batch=%d/producers=%d", size, producers), func(b *testing.B) {
				p := New(Options{Workers: runtime.GOMAXPROCS(0), Extra: [Priorities]int{2, 2, 2, 0, 2}, MaxQueue: 4096})
				defer p.Close(context.Background())
				b.ReportAllocs()
				b.ResetTimer()
				var wg sync.WaitGroup
				for i := range producers {
					n := b.N / producers
					if i == 0 {
						n += b.N % producers
					}
					wg.Go(func() { submitAll(p, n, batchOf(size)) })
				}
				wg.Wait()
				for !p.Idle() {
					runtime.Gosched()
				}
				report(b)
			})
		}
	}
}

// last ends a batch.
type last struct{ done chan struct{} }

func (l *last) Run() { l.done <- struct{}{} }

// BenchmarkPoolTurn submits a batch and waits until it has run, as one client
// with so many calls outstanding has it: a batch of 1 measures the way to a
// worker and back.
func BenchmarkPoolTurn(b *testing.B) {
	for _, size := range []int{1, 10, 100} {
		for _, workers := range []int{1, 16} {
			b.Run(fmt.Sprintf("batch=%d/workers=%d", size, workers), func(b *testing.B) {
				p := New(Options{Workers: workers})
				defer p.Close(context.Background())
				done := make(chan struct{}, 1)
				batch := batchOf(size)
				batch[size-1] = &last{done}
				b.ReportAllocs()
				b.ResetTimer()
				for n := 0; n < b.N; n += size {
					p.Submit(Normal, batch...)
					<-done
				}
				report(b)
				s := p.Stats()
				b.ReportMetric(float64(s.Woken)/float64(b.N/size+1), "wakes/batch")
			})
		}
	}
}
