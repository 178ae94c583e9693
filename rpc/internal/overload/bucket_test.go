package overload

import (
	"math/big"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

func TestBucketLetsTheRateThrough(t *testing.T) {
	for _, rate := range []int{1, 3, 7, 1000, 999_983} {
		b := NewTokenBucket(rate, 1, 0)
		taken := 0
		const seconds = 3
		steps := 4 * rate // four attempts for each token
		for i := range seconds * steps {
			if b.Take(int64(i) * second / int64(steps)) {
				taken++
			}
		}
		if want := seconds * rate; taken != want {
			t.Errorf("rate %d: %d of %d tokens in %d seconds", rate, taken, want, seconds)
		}
	}
}

func TestBucketIsFullAtTheStartAndAfterAPause(t *testing.T) {
	b := NewTokenBucket(10, 50, 1000)
	for _, now := range []int64{1000, 1000 + 3600*second} {
		for i := range 51 {
			if got, want := b.Take(now), i < 50; got != want {
				t.Errorf("at %d, request %d: %v, want %v", now, i, got, want)
			}
		}
	}
	if !b.Take(1000 + 3600*second + second/10) {
		t.Error("no token after a tenth of a second")
	}
}

// A clock that goes back gives no tokens twice.
func TestBucketOutlastsAClockThatGoesBack(t *testing.T) {
	b := NewTokenBucket(1000, 1, 5*second)
	if !b.Take(6*second) || b.Take(4*second) || b.Take(6*second) || !b.Take(6*second+second/1000) {
		t.Error("the tokens depend on the order of times")
	}
}

// In every stretch of time: at most the burst and what the rate allows, and
// no refusal of what both allow.
func TestBucketIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(1, second)).Draw(t, "rate")
		burst := rapid.IntRange(1, 10).Draw(t, "burst")
		start := rapid.Int64Range(0, 1<<62).Draw(t, "start")
		b := NewTokenBucket(rate, burst, start)
		// The model holds tokens × second as one exact number.
		one := big.NewInt(second)
		full := new(big.Int).Mul(one, big.NewInt(int64(burst)))
		level := new(big.Int).Set(full)
		now := start
		step := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 3*second/int64(rate)+1), rapid.Int64Range(0, second))
		spilled := false
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			d := step.Draw(t, "step")
			now += d
			level.Add(level, new(big.Int).Mul(big.NewInt(d), big.NewInt(int64(rate))))
			if level.Cmp(full) > 0 {
				level.Set(full)
				spilled = true
			}
			got, want := b.Take(now), level.Cmp(one) >= 0
			if want {
				level.Sub(level, one)
			}
			switch {
			case got == want:
			case got && spilled && new(big.Int).Add(level, one).Cmp(one) > 0:
				// Numbered tokens come on a grid: after a bucket was full, the
				// next may come up to one token earlier than in the model.
				level.Sub(level, one)
			default:
				t.Fatalf("at %d: %v, want %v", now-start, got, want)
			}
		}
	})
}

func TestBucketIsExactUnderConcurrency(t *testing.T) {
	b := NewTokenBucket(1000, 100, 0)
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for now := int64(0); now <= second; now += second / 10_000 {
				if b.Take(now) {
					taken.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if got := taken.Load(); got > 1100 {
		t.Errorf("%d tokens in a second, of 1100", got)
	}
}

func BenchmarkTokenBucket(b *testing.B) {
	for name, rate := range map[string]int{"taken": second, "refused": 1} {
		b.Run(name, func(b *testing.B) {
			bucket := NewTokenBucket(rate, 1, 0)
			for i := range b.N {
				bucket.Take(int64(i) & (1<<20 - 1))
			}
		})
	}
}
