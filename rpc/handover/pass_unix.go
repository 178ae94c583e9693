//go:build unix

package handover

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// This file holds how messages and descriptors go through a Unix socket.

// kind is what a message says.
type kind byte

const (
	hello     kind = iota + 1 // the successor has come; the body is its version
	listening                 // a listening socket; the body is its network and address
	control                   // the socket at the path of the hand-over
	complete                  // these were all
	ready                     // the successor serves
	conn                      // a connection; the body is its state
	goodbye                   // the predecessor has given everything
	late                      // it goes on, as the successor took too long
)

// maxBody bounds the body of a message: a connection's state holds at most a message in part, which is 1 GiB.
const maxBody = 1<<30 + 1<<20

const headSize = 5

// send sends a message, with a descriptor if socket is not nil.
func send(c *net.UnixConn, k kind, body []byte, socket any) error {
	b := append(binary.BigEndian.AppendUint32([]byte{byte(k)}, uint32(len(body))), body...)
	if socket == nil {
		_, err := c.Write(b)
		return err
	}
	plain, ok := socket.(syscall.Conn)
	if !ok {
		return fmt.Errorf("%T is no socket", socket)
	}
	raw, err := plain.SyscallConn()
	if err != nil {
		return err
	}
	n := 0
	if e := raw.Control(func(fd uintptr) {
		n, _, err = c.WriteMsgUnix(b[:headSize], syscall.UnixRights(int(fd)), nil)
	}); e != nil {
		return e
	}
	if err != nil {
		return err
	}
	if _, err = c.Write(b[n:]); err != nil {
		c.Close() // behind a part of a message nothing can be said any more
	}
	return err
}

// receive receives a message; file is nil if it came without a descriptor.
func receive(c *net.UnixConn) (k kind, body []byte, file *os.File, err error) {
	var head [headSize]byte
	oob := make([]byte, syscall.CmsgSpace(4))
	n, oobn, _, _, err := c.ReadMsgUnix(head[:], oob)
	if oobn > 0 {
		file = fileIn(oob[:oobn])
	}
	defer func() {
		if err != nil && file != nil {
			file.Close()
			file = nil
		}
	}()
	if err != nil {
		return 0, nil, file, err
	}
	if n == 0 {
		return 0, nil, file, io.EOF
	}
	if _, err = io.ReadFull(c, head[n:]); err != nil {
		return 0, nil, file, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxBody {
		return 0, nil, file, fmt.Errorf("a message of %d bytes", size)
	}
	body, err = io.ReadAll(io.LimitReader(c, int64(size))) // which grows with what arrives
	if err == nil && len(body) < int(size) {
		err = io.ErrUnexpectedEOF
	}
	return kind(head[0]), body, file, err
}

// fileIn returns the descriptor in a control message, and closes any others.
func fileIn(oob []byte) *os.File {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var file *os.File
	for i := range messages {
		fds, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			if file != nil {
				syscall.Close(fd)
				continue
			}
			syscall.SetNonblock(fd, true)
			file = os.NewFile(uintptr(fd), "handed over")
		}
	}
	return file
}
