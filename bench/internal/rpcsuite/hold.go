package rpcsuite

import (
	"encoding/binary"
	"io"
	"net"
	"time"
)

// This file holds connections that are idle after a call.

// hold opens the connections of a job and makes a call on each.
func hold(j *job) ([]io.Closer, error) {
	if j.Dialect == "grpc" {
		_, held, err := openGRPC(j)
		return held, err
	}
	call, err := frame(j.Dialect, j.Calls[0])
	if err != nil {
		return nil, err
	}
	var held []io.Closer
	for range j.Connections {
		c, err := net.DialTimeout("tcp", j.Address, 5*time.Second)
		if err != nil {
			return held, err
		}
		held = append(held, c)
		if err := callOnce(c, call); err != nil {
			return held, err
		}
	}
	return held, nil
}

// callOnce sends a frame and reads another.
func callOnce(c net.Conn, call []byte) error {
	c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Write(call); err != nil {
		return err
	}
	var length [4]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(length[:])))
	return err
}
