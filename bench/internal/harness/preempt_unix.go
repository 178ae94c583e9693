//go:build unix

package harness

import "syscall"

// preemptions is how often the system took a processor away from this process.
func preemptions() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return int64(u.Nivcsw)
}
