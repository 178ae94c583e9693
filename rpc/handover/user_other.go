//go:build !linux

package handover

import "net"

// sameUser leaves it to the mode of the path who may connect.
func sameUser(*net.UnixConn) bool { return true }
