//go:build linux && !mips && !mipsle && !mips64 && !mips64le

package handover

import "syscall"

// soReusePort is SO_REUSEPORT, which package syscall lacks.
const soReusePort = 0xf

func shareAddress(fd uintptr) error {
	return syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, soReusePort, 1)
}
