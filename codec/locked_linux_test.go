package codec

import "syscall"

// refuseExecutableMemory has the system refuse this process executable memory from now on.
func refuseExecutableMemory() error {
	const setMDWE, refuseGain = 65, 1 // of prctl, since Linux 6.3
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setMDWE, refuseGain, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
