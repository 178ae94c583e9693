package overload

import (
	"container/heap"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// server is a simulation: some requests run at once, the others of those that
// were let in wait in order. Requests arrive at random.
type server struct {
	limit    *Adaptive
	random   *rand.Rand
	capacity int           // that run at once
	service  time.Duration // mean time that one runs
	gap      time.Duration // mean time between arrivals

	now     int64
	arrive  int64   // next arrival
	waiting []int64 // arrivals
	running ends
	served  int
	refused int
	sum     int64 // of latencies
	limits  []int // at every arrival
}

// end is the end of a running request.
type end struct{ at, arrived int64 }

type ends []end

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].at < e[j].at }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(end)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func newServer(o AdaptiveOptions, capacity int, service, gap time.Duration) *server {
	return &server{limit: NewAdaptive(o, 0), random: rand.New(rand.NewPCG(1, 2)), capacity: capacity, service: service, gap: gap}
}

// run goes on for a time and counts anew.
func (s *server) run(d time.Duration) {
	s.served, s.refused, s.sum, s.limits = 0, 0, 0, nil
	for until := s.now + int64(d); s.now < until; {
		if len(s.running) > 0 && s.running[0].at <= s.arrive {
			e := heap.Pop(&s.running).(end)
			s.now = e.at
			s.limit.Sample(s.now, s.now-e.arrived, len(s.running)+len(s.waiting)+1)
			s.served++
			s.sum += s.now - e.arrived
		} else {
			s.now = s.arrive
			s.arrive += int64(s.random.ExpFloat64() * float64(s.gap))
			s.limits = append(s.limits, s.limit.Limit())
			if len(s.running)+len(s.waiting) < s.limit.Limit() {
				s.waiting = append(s.waiting, s.now)
			} else {
				s.refused++
			}
		}
		for len(s.running) < s.capacity && len(s.waiting) > 0 {
			took := float64(s.service) * (0.8 + 0.4*s.random.Float64())
			heap.Push(&s.running, end{s.now + int64(took), s.waiting[0]})
			s.waiting = s.waiting[1:]
		}
	}
}

func (s *server) meanLimit() float64 {
	sum := 0
	for _, l := range s.limits {
		sum += l
	}
	return float64(sum) / float64(len(s.limits))
}

func (s *server) meanLatency() time.Duration { return time.Duration(s.sum / int64(max(s.served, 1))) }

// wantNear checks that a limit near the capacity was held: high enough to use
// it, low enough for latencies below twice what a request takes alone.
func (s *server) wantNear(t *testing.T, when string, d time.Duration) {
	t.Helper()
	s.run(d)
	if mean := s.meanLimit(); mean < float64(s.capacity) || mean > 2*float64(s.capacity) {
		t.Errorf("%s: mean limit %.0f for a capacity of %d", when, mean, s.capacity)
	}
	if s.meanLatency() > 2*s.service {
		t.Errorf("%s: mean latency %v for a service time of %v", when, s.meanLatency(), s.service)
	}
	if possible := float64(d) / float64(s.service) * float64(s.capacity); float64(s.served) < 0.9*possible {
		t.Errorf("%s: %d of %.0f possible requests served", when, s.served, possible)
	}
}

func TestAdaptiveLimitConvergesNearCapacity(t *testing.T) {
	for _, capacity := range []int{10, 64, 400} {
		gap := 40 * time.Millisecond / time.Duration(3*capacity) // three times the capacity
		s := newServer(AdaptiveOptions{}, capacity, 40*time.Millisecond, gap)
		s.run(15 * time.Second)
		s.wantNear(t, "under overload", 20*time.Second)
		if s.refused == 0 {
			t.Error("nothing was refused at three times the capacity")
		}
	}
}

func TestAdaptiveLimitFollowsTheCapacity(t *testing.T) {
	s := newServer(AdaptiveOptions{}, 80, 20*time.Millisecond, 20*time.Millisecond/240)
	s.run(15 * time.Second)
	s.wantNear(t, "at first", 10*time.Second)
	s.capacity = 20
	s.run(5 * time.Second)
	s.wantNear(t, "with a quarter of the capacity", 10*time.Second)
	s.capacity = 80
	s.run(10 * time.Second)
	s.wantNear(t, "with all of it again", 10*time.Second)
}

// Handlers that take longer, though there are as many, give a new target.
func TestAdaptiveLimitFallsWhenHandlersSlowAndRecovers(t *testing.T) {
	s := newServer(AdaptiveOptions{Recalibrate: 20 * time.Second}, 50, 10*time.Millisecond, 10*time.Millisecond/150)
	s.run(15 * time.Second)
	s.service = 50 * time.Millisecond
	s.run(3 * time.Second)
	if got := s.limit.Limit(); got > 50 {
		t.Errorf("the limit is %d three seconds after handlers slowed", got)
	}
	s.run(15 * time.Second)
	s.wantNear(t, "with slow handlers", 10*time.Second)
	s.service = 10 * time.Millisecond
	s.run(30 * time.Second) // till the target is measured again
	s.wantNear(t, "with fast handlers again", 10*time.Second)
}

func TestAdaptiveLimitDoesNotGrowWithoutNeed(t *testing.T) {
	s := newServer(AdaptiveOptions{}, 100, 10*time.Millisecond, time.Millisecond)
	s.run(time.Minute)
	if got := s.limit.Limit(); got > 100 {
		t.Errorf("the limit is %d for 10 requests in flight", got)
	}
	if s.refused > s.served/50 {
		t.Errorf("%d refused and %d served below capacity", s.refused, s.served)
	}
}

func TestAdaptiveLimitSparesTheFast(t *testing.T) {
	// Twenty microseconds or two hundred: both are far below the floor.
	s := newServer(AdaptiveOptions{Max: 200}, 2, 20*time.Microsecond, 12*time.Microsecond)
	s.run(5 * time.Second)
	s.service = 100 * time.Microsecond
	s.gap = 60 * time.Microsecond
	s.run(5 * time.Second)
	if s.refused > s.served/50 {
		t.Errorf("%d refused and %d served in fractions of a millisecond", s.refused, s.served)
	}
}

func TestAdaptiveLimitReactsToFewSamples(t *testing.T) {
	a := NewAdaptive(AdaptiveOptions{}, 0)
	now := int64(0)
	sample := func(n int, latency, gap int64) {
		for range n {
			now += gap
			a.Sample(now, latency, a.Limit())
		}
	}
	sample(120_000, 2*ms, ms/10)
	if a.Limit() != 1000 {
		t.Fatalf("limit %d without any queue", a.Limit())
	}
	sample(80, 100*ms, 100*ms) // ten a second
	if a.Limit() > 300 {
		t.Errorf("limit %d after eight seconds of slow requests", a.Limit())
	}
}

func TestAdaptiveLimitKeepsItsBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	a := NewAdaptive(AdaptiveOptions{Min: 7, Max: 70, Samples: 20, Recalibrate: time.Second}, 0)
	seen := map[int]bool{}
	for now := int64(0); now < 200*second; now += ms {
		a.Sample(now, int64(r.ExpFloat64()*float64(ms)*float64(1+now/second%50)), r.IntN(100))
		if l := a.Limit(); l < 7 || l > 70 {
			t.Fatalf("limit %d", l)
		}
		seen[a.Limit()] = true
	}
	if !seen[7] || !seen[70] {
		t.Errorf("limits %v, want both bounds reached", seen)
	}
}

func TestAdaptiveLimitIsSafeForConcurrentUse(t *testing.T) {
	a := NewAdaptive(AdaptiveOptions{Interval: time.Millisecond}, 0)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range int64(20_000) {
				a.Sample(n*1000, int64(i)*ms, 5)
				if l := a.Limit(); l < 10 || l > 1000 {
					t.Errorf("limit %d", l)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkAdaptive(b *testing.B) {
	a := NewAdaptive(AdaptiveOptions{}, 0)
	for i := range b.N {
		a.Sample(int64(i)*1000, int64(i)&0xFFFFF, 5)
	}
}
