package cluster

import (
	"sync"
	"time"
)

// This file holds budgets, which bound how much load repeated calls add.

// Budget bounds the calls that are made beside the first attempts: a share
// of those, and so many a second at least, each as a mean over ten seconds.
type Budget struct {
	Share     float64 // of first attempts; 0.2 lets five calls pay for one more
	PerSecond float64 // beside the share, so that clients with few calls have some, too
}

// budgetWindow is the time after which what was not used is gone.
const budgetWindow = 10 * time.Second

// budget is a bucket of tokens, each of which is one more attempt. First attempts are not
// counted here but where they are made, and read when a token is wanted: so
// calls that go well share nothing.
type budget struct {
	opt Budget

	mu     sync.Mutex
	tokens float64
	seen   uint64 // first attempts
	last   int64  // when seen was read
}

func newBudget(opt Budget) *budget {
	return &budget{opt: opt, tokens: opt.PerSecond * budgetWindow.Seconds()}
}

// take takes a token, if there is one. calls is the number of first attempts since the beginning.
func (b *budget) take(now int64, calls uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if passed := time.Duration(now - b.last); passed > 0 || calls > b.seen {
		passed = max(passed, 0)
		fresh := 1 - passed.Seconds()/budgetWindow.Seconds() // of the old tokens
		b.tokens *= max(fresh, 0)
		earned := b.opt.PerSecond * passed.Seconds()
		if calls > b.seen {
			earned += b.opt.Share * float64(calls-b.seen)
		}
		if passed > budgetWindow { // only the last ten seconds count; when the calls were is not known
			earned *= budgetWindow.Seconds() / passed.Seconds()
		}
		b.tokens += earned
		b.seen, b.last = max(b.seen, calls), now // attempts that run make calls look fewer for a while
	}
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
