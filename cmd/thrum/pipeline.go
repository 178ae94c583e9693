package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/transcode"
	"github.com/thrum-rpc/thrum/wire/flatwire"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/protowire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file cuts an input into its values, each of which is held whole.

// flushSize is how much output is gathered before it is written.
const flushSize = 256 << 10

// pipeline converts the values of in one after another.
func (k *conversion) pipeline(ctx context.Context, w io.Writer, in io.Reader, p *progress) (stats transcode.Stats, err error) {
	c := &cutter{r: in, limit: k.maxSize, format: k.from, entire: k.entire}
	var out, one []byte
	flush := func() error {
		n, err := w.Write(out)
		stats.Written += int64(n)
		out = out[:0]
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return stats, err
		}
		v, err := c.next()
		stats.Read = c.base + int64(c.at)
		if err == io.EOF {
			break
		}
		if err == nil {
			one, err = k.value(one[:0], v)
			err = placed(err, c.start)
		}
		if err != nil {
			return stats, errors.Join(indexed(err, stats.Values), flush())
		}
		if out, err = k.before(out, stats.Values, len(one)); err != nil {
			return stats, err
		}
		if out = append(out, one...); k.to == jsonFormat {
			out = append(out, '\n')
		}
		stats.Values++
		if len(out) >= flushSize || len(bytes.TrimSpace(c.buf[c.at:])) == 0 { // nobody waits for what is ready
			if err := flush(); err != nil {
				return stats, err
			}
			p.report(stats)
		}
	}
	out = append(out, k.end(stats.Values)...)
	return stats, flush()
}

// placed gives a fault of a value its offset in the stream; start is the value's.
func placed(err error, start int64) error {
	if f := (*diag.Fault)(nil); errors.As(err, &f) {
		f.Offset = int(start) + max(f.Offset, 0)
	}
	return err
}

// indexed adds the number of the value to a fault's path.
func indexed(err error, i int64) error {
	if f := (*diag.Fault)(nil); errors.As(err, &f) {
		f.Index(int(i))
	}
	return err
}

// cutter cuts an input into values.
//
// Invariant: buf[at:] has been read and not been returned; buf[0] stands at
// base in the stream.
type cutter struct {
	r      io.Reader
	format format
	limit  int // of bytes of a value
	buf    []byte
	at     int
	base   int64
	start  int64 // where the value that next returned stands
	ended  bool
	entire bool // the whole input is one value
	array  bool // inside an outermost JSON array
	comma  bool // a value of the array has stood
}

// next returns the next value, which is valid until the next call, or io.EOF.
func (c *cutter) next() ([]byte, error) {
	if c.format.family() == familyJSON && !c.entire {
		return c.nextJSON()
	}
	c.start = c.base + int64(c.at)
	if c.entire || c.format == protobufFormat || c.format == flatbuffersFormat {
		return c.whole()
	}
	if ok, err := c.ensure(1); !ok {
		return nil, errOr(err, io.EOF)
	}
	switch {
	case c.format == protobufDelimited:
		return c.delimited()
	case c.format == flatbuffersPrefixed:
		return c.prefixed()
	case c.format.framed():
		return c.frame()
	}
	return c.structure()
}

func errOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func (c *cutter) fault(code diag.Code, detail string) error { return diag.NewFault(code, 0, detail) }

func (c *cutter) cutShort() error {
	return c.fault(diag.UnexpectedEOF, "the input ends inside a value")
}

// more reads more and reports whether there was any.
func (c *cutter) more() (bool, error) {
	if c.ended {
		return false, nil
	}
	if c.at > 0 && (c.at == len(c.buf) || len(c.buf) == cap(c.buf)) {
		c.base += int64(c.at)
		c.buf = c.buf[:copy(c.buf, c.buf[c.at:])]
		c.at = 0
	}
	if len(c.buf)-c.at >= c.limit+binary.MaxVarintLen64 {
		return false, placed(c.fault(diag.SizeLimit, fmt.Sprintf("a value exceeds the limit of %d bytes", c.limit)), c.base+int64(c.at))
	}
	if len(c.buf) == cap(c.buf) {
		c.buf = append(make([]byte, 0, max(flushSize, 2*cap(c.buf))), c.buf...)
	}
	for range 100 {
		n, err := c.r.Read(c.buf[len(c.buf):cap(c.buf)])
		c.buf = c.buf[:len(c.buf)+n]
		if err != nil && err != io.EOF {
			return false, err
		}
		if c.ended = err == io.EOF; n > 0 || c.ended {
			return n > 0, nil
		}
	}
	return false, io.ErrNoProgress
}

// ensure reports whether n bytes are there.
func (c *cutter) ensure(n int) (bool, error) {
	for len(c.buf)-c.at < n {
		if ok, err := c.more(); !ok {
			return false, err
		}
	}
	return true, nil
}

// take returns the next n bytes as a value.
func (c *cutter) take(n int) ([]byte, error) {
	if n > c.limit {
		return nil, placed(c.fault(diag.SizeLimit, fmt.Sprintf("a value of %d bytes exceeds the limit of %d", n, c.limit)), c.start)
	}
	c.start = c.base + int64(c.at)
	ok, err := c.ensure(n)
	if !ok {
		return nil, errOr(err, placed(c.cutShort(), c.base+int64(len(c.buf))))
	}
	c.at += n
	return c.buf[c.at-n : c.at], nil
}

func (c *cutter) frame() ([]byte, error) {
	if ok, err := c.ensure(4); !ok {
		return nil, errOr(err, placed(c.cutShort(), c.start))
	}
	size := int32(binary.BigEndian.Uint32(c.buf[c.at:]))
	if size <= 0 {
		return nil, placed(c.fault(diag.InvalidLength, fmt.Sprintf("frame of length %d", size)), c.start)
	}
	c.at += 4
	v, err := c.take(int(size))
	if err != nil {
		return nil, err
	}
	if n, code := c.skip(v); code < 0 {
		return nil, placed(wireFault(code, n), c.start)
	} else if n < len(v) {
		return nil, placed(diag.NewFault(diag.TrailingData, n, fmt.Sprintf("%s of the frame follow its value", count(len(v)-n, "byte"))), c.start)
	}
	return v, nil
}

func (c *cutter) delimited() ([]byte, error) {
	for {
		size, n := protowire.ConsumeVarint(c.buf[c.at:])
		switch {
		case n > 0 && size > uint64(c.limit):
			return nil, placed(c.fault(diag.SizeLimit, fmt.Sprintf("a message of %d bytes exceeds the limit of %d", size, c.limit)), c.start)
		case n > 0:
			c.at += n
			return c.take(int(size))
		case n != protowire.ErrEOF:
			return nil, placed(c.fault(diag.InvalidLength, "the length of a message is no varint"), c.start)
		}
		if ok, err := c.more(); !ok {
			return nil, errOr(err, placed(c.cutShort(), c.start))
		}
	}
}

// prefixed returns the next message of FlatBuffers with its size, which is part of it.
func (c *cutter) prefixed() ([]byte, error) {
	if ok, err := c.ensure(flatwire.SizePrefix); !ok {
		return nil, errOr(err, placed(c.cutShort(), c.start))
	}
	size := binary.LittleEndian.Uint32(c.buf[c.at:])
	if int64(size) > int64(c.limit) {
		return nil, placed(c.fault(diag.SizeLimit, fmt.Sprintf("a message of %d bytes exceeds the limit of %d", size, c.limit)), c.start)
	}
	return c.take(flatwire.SizePrefix + int(size))
}

// whole returns all of the input, once.
func (c *cutter) whole() ([]byte, error) {
	if c.ended {
		return nil, io.EOF
	}
	for !c.ended {
		if _, err := c.more(); err != nil {
			return nil, err
		}
	}
	c.at = len(c.buf)
	return c.buf, nil
}

// skip steps over the struct at the front of b.
func (c *cutter) skip(b []byte) (end, code int) {
	if d := c.format.dialect(); d != 0 {
		return d.SkipAt(b, 0, thriftwire.Struct, maxDepth)
	}
	return thriftwire.SkipAt(b, 0, thriftwire.Struct, maxDepth)
}

// structure returns the next struct. A struct that is not whole is looked at
// again when a quarter more has come, so that time stays linear.
func (c *cutter) structure() ([]byte, error) {
	for {
		n, code := c.skip(c.buf[c.at:])
		switch {
		case code == 0:
			return c.take(n)
		case code != thriftwire.ErrEOF || c.ended:
			return nil, placed(wireFault(code, n), c.start)
		}
		have := len(c.buf) - c.at
		if _, err := c.ensure(have + have/4 + 1); err != nil {
			return nil, err
		}
	}
}

// nextJSON returns the next JSON value of a sequence or array.
func (c *cutter) nextJSON() ([]byte, error) {
	for {
		b, ok, err := c.peek()
		if err != nil {
			return nil, err
		}
		c.start = c.base + int64(c.at)
		switch {
		case !ok && c.array:
			return nil, placed(c.cutShort(), c.start)
		case !ok:
			return nil, io.EOF
		case !c.array && b == '[':
			c.array, c.comma = true, false
			c.at++
			continue
		case c.array && b == ']':
			c.array = false
			c.at++
			continue
		case c.array && c.comma && b != ',':
			return nil, placed(c.fault(diag.Syntax, "',' or ']' expected"), c.start)
		case c.array && c.comma:
			c.comma = false
			c.at++
			if b, ok, err = c.peek(); err != nil || !ok || b == ']' {
				c.start = c.base + int64(c.at)
				return nil, errOr(err, placed(c.fault(diag.Syntax, "a value expected"), c.start))
			}
			continue
		}
		c.comma = true
		return c.jsonValue()
	}
}

// peek returns the next byte that is no white space.
func (c *cutter) peek() (b byte, ok bool, err error) {
	for {
		if c.at += jsonwire.SkipSpace(c.buf[c.at:]); c.at < len(c.buf) {
			return c.buf[c.at], true, nil
		}
		if ok, err := c.more(); !ok {
			return 0, false, err
		}
	}
}

// jsonValue returns the value that begins here: up to the bracket that closes
// it, whatever stands in between, or to the end of a text, number or literal.
// Its converter says what is wrong with it.
func (c *cutter) jsonValue() ([]byte, error) {
	depth, text := 0, false
	for i := 0; ; {
		b := c.buf[c.at:]
		for ; i < len(b); i++ {
			switch ch := b[i]; {
			case text && ch == '\\':
				i++
			case ch == '"':
				if text = !text; !text && depth == 0 {
					return c.take(i + 1)
				}
			case text:
			case ch == '{' || ch == '[':
				depth++
			case ch == '}' || ch == ']':
				if depth--; depth <= 0 {
					return c.take(i + 1)
				}
			case depth == 0 && (ch <= ' ' || ch == ','):
				return c.take(max(i, 1))
			}
		}
		ok, err := c.more()
		if err != nil {
			return nil, err
		}
		if !ok {
			return c.take(len(b))
		}
	}
}
