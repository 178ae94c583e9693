//go:build unix

package harness

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that this process has had. known is false
// where the system does not tell.
func cpuTime() (t time.Duration, known bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
