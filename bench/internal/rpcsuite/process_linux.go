package rpcsuite

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// This file asks Linux: which cores there are, how much processor time and
// memory a process has had. Other systems have no suite rpc.

// allowedCores returns the cores that this process may use, in order.
func allowedCores() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil
	}
	var cores []int
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			cores = append(cores, i)
		}
	}
	return cores
}

// startOn starts a command that may use the given cores only; any if there are
// none. A process inherits the cores of the thread that starts it.
func startOn(cmd *exec.Cmd, cores []int) error {
	if len(cores) == 0 {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("which cores there are: %w", err)
	}
	for _, c := range cores {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("cores %v: %w", cores, err)
	}
	defer unix.SchedSetaffinity(0, &before)
	return cmd.Start()
}

// answers returns what was the standard output of this process. That is the
// standard error from now on, since some libraries write what they log to it.
func answers() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "answers"), unix.Dup3(2, 1, 0)
}

// processorTime is the time that all threads of a process have had, those that
// have ended included, in user space and in the kernel.
func processorTime(pid int) (time.Duration, error) {
	// The number of a process's clock, as clock_getcpuclockid makes it: the
	// complement of the process's number, and 2 for the scheduler's own count of nanoseconds.
	const schedulerClock = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedulerClock), &t); err != nil {
		return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// residentBytes is the memory of a process that is in RAM; what the kernel
// holds for its connections is not in it.
func residentBytes(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm of process %d: %q", pid, text)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// ownTimes are the times of this process in user space and in the kernel.
func ownTimes() (user, system time.Duration) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
}

// realTime tells whether this process, and so all that it starts, comes before
// every ordinary one.
func realTime() bool {
	attr, err := unix.SchedGetAttr(0, 0)
	return err == nil && (attr.Policy == unix.SCHED_FIFO || attr.Policy == unix.SCHED_RR)
}

const supported = true
