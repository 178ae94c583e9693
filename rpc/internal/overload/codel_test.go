package overload

import (
	"testing"
	"time"
)

const ms = int64(time.Millisecond)

// queue is a server that takes capacity requests per millisecond in order of
// arrival, drops those that CoDel tells it to, and is offered some.
type queue struct {
	codel   *CoDel
	now     int64
	waiting []int64 // arrivals
	served  int
	dropped int
	longest int64 // wait of those served, since reset
}

func (q *queue) run(milliseconds, offered, capacity int) {
	for range milliseconds {
		for range offered {
			q.waiting = append(q.waiting, q.now)
		}
		for room := capacity; room > 0 && len(q.waiting) > 0; q.waiting = q.waiting[1:] {
			delay := q.now - q.waiting[0]
			if q.codel.Overloaded(q.now, delay) {
				q.dropped++
				continue
			}
			q.served++
			q.longest = max(q.longest, delay)
			room--
		}
		q.now += ms
	}
}

func TestCoDelBoundsTheWaitUnderOverloadAndKeepsTheThroughput(t *testing.T) {
	q := &queue{codel: NewCoDel(0, 0), now: 1}
	q.run(1000, 30, 10) // to get there
	q.served, q.dropped, q.longest = 0, 0, 0
	q.run(5000, 30, 10)
	// At the end of an interval in which dropping brought the least wait under the
	// target, a queue may stand for one more interval.
	if q.longest > 150*ms {
		t.Errorf("a request was served after %d ms", q.longest/ms)
	}
	if q.served != 50_000 {
		t.Errorf("%d of 50000 served", q.served)
	}
	if q.dropped < 90_000 {
		t.Errorf("%d dropped of 100000 too many", q.dropped)
	}
}

func TestCoDelDropsNothingOfABurst(t *testing.T) {
	q := &queue{codel: NewCoDel(0, 0), now: 1}
	for range 100 {
		q.run(1, 500, 10) // 50 ms of work
		q.run(149, 5, 10)
	}
	if q.dropped != 0 || q.longest < 40*ms {
		t.Errorf("%d dropped, longest wait %d ms", q.dropped, q.longest/ms)
	}
}

func TestCoDelRecovers(t *testing.T) {
	q := &queue{codel: NewCoDel(0, 0), now: 1}
	q.run(2000, 30, 10)
	if q.dropped == 0 {
		t.Fatal("nothing was dropped at three times the capacity")
	}
	q.run(300, 5, 10)
	q.dropped = 0
	q.run(1000, 9, 10)
	if q.dropped != 0 || len(q.waiting) > 10 {
		t.Errorf("%d dropped and %d waiting below the capacity", q.dropped, len(q.waiting))
	}
}

func TestCoDelForgetsAnOverloadBeforeAPause(t *testing.T) {
	c := NewCoDel(0, 0)
	now := int64(1)
	for range 300 {
		c.Overloaded(now, 50*ms)
		now += ms
	}
	if !c.Overloaded(now, 50*ms) {
		t.Fatal("no overload after 300 ms of long waits")
	}
	if now += 1000 * ms; c.Overloaded(now, 50*ms) {
		t.Error("a request after a pause is dropped")
	}
}

func TestCoDelSparesShortWaits(t *testing.T) {
	c := NewCoDel(100*time.Millisecond, 5*time.Millisecond)
	for now := int64(1); now < 1000*ms; now += ms {
		if c.Overloaded(now, 10*ms) {
			t.Fatal("dropped after twice the target, want beyond it only")
		}
	}
	if !c.Overloaded(1000*ms, 10*ms+1) {
		t.Error("not dropped beyond twice the target")
	}
}

func TestCoDelOutlastsAClockThatGoesBack(t *testing.T) {
	c := NewCoDel(0, 0)
	for now := int64(1000 * second); now < 1001*second; now += ms {
		c.Overloaded(now, 50*ms)
	}
	drops := 0
	for now := int64(1); now < 1000*ms; now += ms {
		if c.Overloaded(now, 50*ms) {
			drops++
		}
	}
	if drops < 700 {
		t.Errorf("%d requests dropped in the second after the clock went back", drops)
	}
}

func BenchmarkCoDel(b *testing.B) {
	c := NewCoDel(0, 0)
	for i := range b.N {
		c.Overloaded(int64(i)*50, int64(i)&0xFFFFF)
	}
}
