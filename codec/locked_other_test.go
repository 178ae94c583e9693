//go:build !linux

package codec

import "errors"

func refuseExecutableMemory() error { return errors.ErrUnsupported }
