package rpcsuite

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
)

// This file holds the limit of Go: what floor does in C, by a goroutine for each connection
// on the standard library's sockets and poller, as our server has them.

// goLoopServer turns each request into its reply in place: one read, all whole
// frames, one write.
func goLoopServer() (net.Addr, func() error, error) {
	l, err := listen()
	if err != nil {
		return nil, nil, err
	}
	return l.Addr(), func() error {
		for {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			go func() {
				defer c.Close()
				goLoop(c)
			}()
		}
	}, nil
}

// goLoop serves a connection until it ends or holds what is no call.
func goLoop(c io.ReadWriter) error {
	block := make([]byte, 64<<10)
	used := 0
	for {
		n, err := c.Read(block[used:])
		if err != nil {
			return err
		}
		used += n
		done, want, err := answerFrames(block[:used])
		if err != nil {
			return err
		}
		if done > 0 {
			if _, err := c.Write(block[:done]); err != nil {
				return err
			}
		}
		rest := block[done:used]
		if want > len(block) {
			block = make([]byte, want)
		}
		used = copy(block, rest)
	}
}

// errNoCall ends a connection that sends something else than calls.
var errNoCall = errors.New("no call of the binary protocol")

// answerFrames makes replies of the whole frames at the front of b, and returns
// their bytes and those that the next one needs.
func answerFrames(b []byte) (done, want int, err error) {
	for len(b)-done >= 4 {
		frame := b[done:]
		size := 4 + int(binary.BigEndian.Uint32(frame))
		if size > 16<<20 {
			return done, 0, errNoCall
		}
		if size > len(frame) {
			return done, size, nil
		}
		if !answerFrame(frame[:size]) {
			return done, 0, errNoCall
		}
		done += size
	}
	return done, 0, nil
}

// answerFrame makes a reply of a call: another message type, and for an echo
// another id of the one field.
func answerFrame(frame []byte) bool {
	if len(frame) < 17 || frame[4] != 0x80 || frame[5] != 1 {
		return false
	}
	name := int(binary.BigEndian.Uint32(frame[8:]))
	if name > len(frame)-17 {
		return false
	}
	frame[7] = 2
	if args := frame[16+name:]; args[0] != 0 {
		if len(args) < 4 {
			return false
		}
		args[1], args[2] = 0, 0
	}
	return true
}
