package rpcsuite

import (
	"runtime"
	"sync"
	"time"
)

// This file holds work that costs processor time and nothing else.

// rounds is how many rounds of spin fill a microsecond. Work is counted in
// rounds, not by the clock, so that a server which is interrupted has it still to do.
var rounds = sync.OnceValue(func() float64 {
	const n = 200_000
	best := time.Duration(1 << 62)
	for range 9 {
		start := time.Now()
		spin(n)
		best = min(best, time.Since(start))
	}
	return n / (float64(max(best, 1)) / 1000)
})

func burn(micros int32) { spin(int(float64(micros) * rounds())) }

func spin(n int) {
	x := uint64(n) | 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	runtime.KeepAlive(x)
}
