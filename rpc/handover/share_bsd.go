//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package handover

import "syscall"

func shareAddress(fd uintptr) error {
	return syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEPORT, 1)
}
