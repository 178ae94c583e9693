package rpcsuite

import (
	"errors"
	"io"

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
	l, err := newLab(out, "rpc", o)
	if err != nil {
		return err
	}
	defer l.close()
	for _, work := range []func(harness.Options, *harness.Report) error{
		l.cpuWork, l.bothWork, l.largeWork, l.idleWork, l.mixWork, l.overloadWork, l.slowWork, l.queueWork,
	} {
		if err := work(o, report); err != nil {
			return err
		}
	}
	if len(report.Groups)+len(report.Figures) == 0 {
		return errors.New("suite rpc: no case matches")
	}
	report.Mark(l.out, o, marks(report))
	return nil
}
