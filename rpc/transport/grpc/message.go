package grpc

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds messages in bodies.

// PrefixSize is the size in bytes of what stands before a message: whether it is
// compressed, and its length.
const PrefixSize = 5

// PutPrefix writes the prefix of a message of size bytes into the first
// PrefixSize bytes of b.
func PutPrefix(b []byte, size int, compressed bool) {
	b[0] = 0
	if compressed {
		b[0] = 1
	}
	binary.BigEndian.PutUint32(b[1:PrefixSize], uint32(size))
}

// Reader takes the messages out of a body. It is not safe for concurrent use.
type Reader struct {
	in      *transport.Reader
	limit   int
	arrived func(n int) error
}

// NewReader returns a Reader of a body whose messages have limit bytes at most. Its memory comes from
// pool, and grows with what arrives, not with what is claimed. arrived, unless it is nil, is told how many bytes have
// arrived of a message that has not whole, and may refuse them.
func NewReader(body io.Reader, pool *transport.Pool, limit int, arrived func(n int) error) *Reader {
	return &Reader{in: transport.NewReader(body, pool), limit: limit, arrived: arrived}
}

// Close gives memory back that no message is a view of.
func (r *Reader) Close() { r.in.Close() }

// Next returns the next message. It is a view of block, which must be released. After the last
// message the error is [io.EOF]. A body that ends inside a message, a message
// beyond the limit, or a prefix that is none, is a [*diag.Fault]. Errors of the body are returned as they are.
func (r *Reader) Next() (message []byte, compressed bool, block *transport.Block, err error) {
	for {
		want := PrefixSize
		b := r.in.Bytes()
		if len(b) >= PrefixSize {
			if b[0] > 1 {
				return nil, false, nil, diag.NewFault(diag.InvalidHeader, 0, fmt.Sprintf("a message starts with %#02x, where 0 or 1 says whether it is compressed", b[0]))
			}
			size := binary.BigEndian.Uint32(b[1:])
			if uint64(size) > uint64(r.limit) {
				return nil, false, nil, diag.NewFault(diag.SizeLimit, 1, fmt.Sprintf("message of %d bytes exceeds the limit of %d", size, r.limit))
			}
			if want += int(size); len(b) >= want {
				compressed = b[0] == 1
				b, block = r.in.Take(want)
				return b[PrefixSize:], compressed, block, nil
			}
		}
		if err := r.fill(want); err != nil {
			return nil, false, nil, err
		}
	}
}

// fill reads once.
func (r *Reader) fill(want int) error {
	err := r.in.Fill(want)
	n := len(r.in.Bytes())
	switch {
	case err == io.EOF && n > 0:
		return diag.NewFault(diag.UnexpectedEOF, n, fmt.Sprintf("the body ends %d bytes into a message", n))
	case err != nil:
		return err
	case r.arrived != nil:
		return r.arrived(n)
	}
	return nil
}
