//go:build !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && (!linux || mips || mipsle || mips64 || mips64le)

package handover

import "errors"

func shareAddress(uintptr) error { return errors.ErrUnsupported }
