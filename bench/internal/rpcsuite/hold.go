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
		c, err := net.DialTimeout("tcp", j.Address, patience)
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

// patience is how long a connection and a call on it may take, on any machine.
const patience = 30 * time.Second

// callOnce sends a frame and reads another.
func callOnce(c net.Conn, call []byte) error {
	c.SetDeadline(time.Now().Add(patience))
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
