package rpcsuite

import (
	"errors"
	"io"
	"time"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

// Suite is the suite "rpc".
func Suite() harness.Suite {
	return harness.Suite{
		Name:  "rpc",
		About: "servers and clients: processor time per request, memory of idle connections, order of replies, overload",
		Drive: drive,
	}
}

// drive runs the works one after another.
func drive(out io.Writer, o harness.Options, report *harness.Report) (err error) {
	if !supported {
		return errors.New("the suite rpc needs Linux")
	}
	if realTime() {
		return errors.New("the suite rpc does not run at a real-time priority: a server and a generator that spin would take the machine; nice is enough")
	}
	l, err := newLab(out)
	if err != nil {
		return err
	}
	defer l.close()
	l.short, l.profiles, l.memory = o.Short, o.Profiles, o.Memory
	l.pace = pace{rounds: 5, warmup: 100 * time.Millisecond, window: 400 * time.Millisecond}
	if o.Short {
		l.pace = pace{rounds: 3, warmup: 40 * time.Millisecond, window: 120 * time.Millisecond}
	}
	if o.Profiles != "" { // a profile has a hundred samples a second
		l.pace.rounds, l.pace.window = 1, 4*time.Second
	}
	if o.Timing.Rounds != 0 {
		l.quick = true
		l.pace = pace{rounds: o.Timing.Rounds, window: max(o.Timing.Slice, 10*time.Millisecond)}
	}
	for _, work := range []func(harness.Options, *harness.Report) error{
		l.cpuWork, l.bothWork, l.largeWork, l.idleWork, l.mixWork, l.overloadWork, l.queueWork,
	} {
		if err := work(o, report); err != nil {
			return err
		}
	}
	if len(report.Groups)+len(report.Figures) == 0 {
		return errors.New("suite rpc: no case matches")
	}
	l.printMarks(o, report)
	return nil
}
