package resolve

import (
	"math/rand/v2"
	"time"
)

// This file holds the pauses between attempts.

// Backoff is a pause that grows with each failure. The zero value never waits.
type Backoff struct {
	Base time.Duration // the longest pause after the first failure
	Max  time.Duration // the longest pause at all
}

// Delay returns the pause after a number of failures in a row, which starts at 1: any time from 0 to Base·2ⁿ⁻¹,
// all equally likely, so that many who failed together do not come back together.
func (b Backoff) Delay(failures int) time.Duration {
	return time.Duration(rand.Float64() * float64(b.Limit(failures)))
}

// Limit returns the longest pause after a number of failures in a row.
func (b Backoff) Limit(failures int) time.Duration {
	d := min(b.Base, b.Max)
	for ; failures > 1 && d < b.Max; failures-- {
		if d > b.Max/2 {
			return b.Max
		}
		d *= 2
	}
	return d
}
