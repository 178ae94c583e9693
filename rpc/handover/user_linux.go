package handover

import (
	"net"
	"os"
	"syscall"
)

// sameUser reports whether the process at the other end belongs to the user
// of this one, or to root.
func sameUser(c *net.UnixConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	var peer *syscall.Ucred
	if e := raw.Control(func(fd uintptr) {
		peer, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); e != nil || err != nil {
		return false
	}
	return int(peer.Uid) == os.Getuid() || peer.Uid == 0
}
