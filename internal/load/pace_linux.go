package load

import (
	"syscall"
	"time"
)

// pause sleeps in the kernel. It asks to be woken in time: by default that may be
// 50 µs late, so that several threads are woken at once. A signal may end it early.
func pause(d time.Duration) {
	const setTimerSlack = 29 // PR_SET_TIMERSLACK, of this thread
	syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, 1, 0)
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil)
}
