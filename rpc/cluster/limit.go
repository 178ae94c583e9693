package cluster

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
)

// This file holds the time limit of calls whose context has none.

// limits hands out contexts that end after a time. Calls that begin at about the same
// time share one, since making one for each would cost more than all else that this package does.
type limits struct {
	after  time.Duration
	grain  int64                   // for which a context is handed out
	shards []atomic.Pointer[limit] // several, so that not all calls wait on one channel
}

// grains is the number of parts of a limit within which calls share a context: a
// call has up to a sixty-fourth more time than the limit.
const grains = 64

// limit is a context for the calls that begin until a moment.
type limit struct {
	context.Context
	cancel context.CancelFunc
	until  int64
}

func newLimits(after time.Duration) *limits {
	shards := 1
	for shards < runtime.GOMAXPROCS(0) && shards < 64 {
		shards *= 2
	}
	return &limits{after: after, grain: max(int64(after)/grains, 1), shards: make([]atomic.Pointer[limit], shards)}
}

// within returns ctx with the time limit. ctx cannot be cancelled.
func (l *limits) within(ctx context.Context, now int64) context.Context {
	shard := &l.shards[rand.Uint32()&uint32(len(l.shards)-1)]
	shared := shard.Load()
	if shared == nil || now >= shared.until {
		shared = l.renew(shard, shared, now)
	}
	if ctx == context.Background() {
		return shared.Context
	}
	return limited{ctx, shared.Context}
}

// renew replaces an old context. It ends by itself, when the calls that have it must.
func (l *limits) renew(shard *atomic.Pointer[limit], old *limit, now int64) *limit {
	fresh := &limit{until: now + l.grain}
	fresh.Context, fresh.cancel = context.WithTimeout(context.Background(), l.after+time.Duration(l.grain))
	if shard.CompareAndSwap(old, fresh) {
		return fresh
	}
	fresh.cancel()
	return shard.Load()
}

// limited is a context with the values of one and the end of another.
type limited struct {
	context.Context
	end context.Context
}

func (l limited) Deadline() (time.Time, bool) { return l.end.Deadline() }
func (l limited) Done() <-chan struct{}       { return l.end.Done() }
func (l limited) Err() error                  { return l.end.Err() }

// Value asks both, so that package context finds whose end it is.
func (l limited) Value(key any) any {
	if v := l.Context.Value(key); v != nil {
		return v
	}
	return l.end.Value(key)
}
