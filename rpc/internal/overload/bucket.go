package overload

import (
	"math/bits"
	"sync/atomic"
)

// This file holds the limit on the rate of requests.

// second is the nanoseconds of one.
const second = 1e9

// TokenBucket limits requests to a number per second, after a burst. It is
// exact: in any stretch of time it lets through at most the burst and what the
// rate allows for that time, rounded up, and what is asked for steadily at the
// rate is let through. Its methods are safe for concurrent use.
//
// Tokens are numbered: number i exists from the time at which i tokens have
// come at the rate. So the bucket is one number, and no fraction is ever lost.
type TokenBucket struct {
	rate  uint64 // tokens per second
	burst int64
	start int64
	used  atomic.Int64 // tokens that were taken or have spilled over
}

// NewTokenBucket returns a bucket that is full. perSecond is cut to the range
// of 1 to 1e9, burst to 1 and above.
func NewTokenBucket(perSecond, burst int, now int64) *TokenBucket {
	b := &TokenBucket{rate: uint64(min(max(perSecond, 1), second)), burst: int64(max(burst, 1)), start: now}
	b.used.Store(-b.burst)
	return b
}

// Take takes a token and reports whether there was one.
func (b *TokenBucket) Take(now int64) bool {
	hi, lo := bits.Mul64(uint64(max(now-b.start, 0)), b.rate)
	made, _ := bits.Div64(hi, lo, second) // hi < 1e9, because the rate is at most 1e9
	for {
		used := b.used.Load()
		next := max(used, int64(made)-b.burst) + 1
		if next > int64(made) {
			return false
		}
		if b.used.CompareAndSwap(used, next) {
			return true
		}
	}
}
