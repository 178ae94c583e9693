//go:build unix

package rpc

import (
	"fmt"
	"syscall"
)

// rawSockets tells that readSome and writeSome work on the descriptors of
// sockets, which never block: package net makes them so.
const rawSockets = true

func readSome(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), b)
		switch err {
		case nil:
			return n, nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, errAgain
		default:
			return 0, fmt.Errorf("read: %w", err)
		}
	}
}

func writeSome(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Write(int(fd), b)
		switch err {
		case nil:
			return n, nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, errAgain
		default:
			return 0, fmt.Errorf("write: %w", err)
		}
	}
}
