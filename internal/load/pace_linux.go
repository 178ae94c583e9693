package load

import (
	"syscall"
	"time"
)

// sharpen asks the kernel to wake this thread in time: by default it may be 50 µs
// late, to wake several threads at once.
func sharpen() {
	const setTimerSlack = 29 // PR_SET_TIMERSLACK
	syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, 1, 0)
}

// pause sleeps on this thread. A signal may end it early.
func pause(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil)
}
