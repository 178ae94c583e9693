//go:build !unix

package handover

import (
	"errors"
	"net"
	"os"
)

type kind byte

const (
	hello kind = iota + 1
	listening
	control
	complete
	ready
	conn
	goodbye
	late
)

func send(*net.UnixConn, kind, []byte, any) error { return errors.ErrUnsupported }

func receive(*net.UnixConn) (kind, []byte, *os.File, error) {
	return 0, nil, nil, errors.ErrUnsupported
}
