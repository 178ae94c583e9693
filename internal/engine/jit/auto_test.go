package jit

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/internal/engine"
)

// choosing returns a choice whose compile is f, between engines that are told apart by a reason.
func choosing(by *Compiler, f func() engine.Encoder) *choice[engine.Encoder] {
	c := new(choice[engine.Encoder])
	c.init(by, declinedEncoder{reason: "the first"}, f, func(reason string) engine.Encoder { return declinedEncoder{reason: reason} })
	return c
}

func reason(e *engine.Encoder) string { return (*e).(declinedEncoder).reason }

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("never: " + what)
		}
	}
}

func TestNoUseWaitsForCode(t *testing.T) {
	goOn := make(chan bool)
	c := choosing(nil, func() engine.Encoder {
		<-goOn
		return declinedEncoder{reason: "code"}
	})
	for range 10 * patience {
		if got := reason(c.use()); got != "the first" {
			t.Fatalf("%s runs, whose code is not ready", got)
		}
	}
	if !c.Report().Pending {
		t.Error("not pending")
	}
	close(goOn)
	eventually(t, "the code runs", func() bool { return reason(c.use()) == "code" })
	if c.Report().Pending {
		t.Error("still pending")
	}
}

func TestCodeIsMadeOnceHoweverManyAsk(t *testing.T) {
	var made atomic.Int32
	c := choosing(nil, func() engine.Encoder {
		made.Add(1)
		return declinedEncoder{reason: "code"}
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 2 * patience {
				c.use()
			}
			if i%2 == 0 {
				c.Prepare()
			}
		})
	}
	wg.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("made %d times", n)
	}
}

func TestWhatIsSeldomUsedGetsNoCode(t *testing.T) {
	c := choosing(nil, func() engine.Encoder {
		t.Error("code is made")
		return declinedEncoder{}
	})
	for range patience - 1 {
		c.use()
	}
	for range 1000 {
		c.current()
	}
	if !c.Report().Pending || c.compiler.working {
		t.Error("something was begun")
	}
}

func TestACompilerWorksOnOneTypeAtATimeAndRests(t *testing.T) {
	by := new(Compiler)
	var at, most, done atomic.Int32
	var all []*choice[engine.Encoder]
	for range 50 {
		all = append(all, choosing(by, func() engine.Encoder {
			most.Store(max(most.Load(), at.Add(1)))
			time.Sleep(10 * time.Microsecond)
			at.Add(-1)
			done.Add(1)
			return declinedEncoder{reason: "code"}
		}))
	}
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() {
			for range patience {
				c.use()
			}
		})
	}
	wg.Wait()
	eventually(t, "all are made", func() bool { return done.Load() == int32(len(all)) })
	eventually(t, "the compiler rests", func() bool {
		by.mu.Lock()
		defer by.mu.Unlock()
		return !by.working
	})
	if n := most.Load(); n != 1 {
		t.Errorf("%d at a time", n)
	}
}

func TestADefectInTheMakingOfCodeIsAReasonToDecline(t *testing.T) {
	c := choosing(nil, func() engine.Encoder { panic("a defect") })
	for range patience {
		c.use()
	}
	eventually(t, "it is declined", func() bool { return strings.Contains(reason(c.use()), "a defect") })
	if r := c.Report(); r.Pending || r.Engine != "interp" || !strings.HasSuffix(r.Declined, "a defect") {
		t.Errorf("%+v", r)
	}
}
