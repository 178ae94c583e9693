package trpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zlib"

	"github.com/thrum-rpc/thrum/diag"
)

// This file holds the compression of bodies.

// Compression is how a body is compressed. An empty body stays empty.
type Compression uint32

const (
	None         Compression = 0
	Gzip         Compression = 1
	Snappy       Compression = 2 // as SnappyStream, under its old number
	Zlib         Compression = 3
	SnappyStream Compression = 4
	SnappyBlock  Compression = 5
	LZ4Frame     Compression = 6
	LZ4Block     Compression = 7
)

var compressionNames = [...]string{"none", "gzip", "snappy", "zlib", "snappy stream", "snappy block", "lz4 frame", "lz4 block"}

// String returns the name of c.
func (c Compression) String() string {
	if int64(c) < int64(len(compressionNames)) {
		return compressionNames[c]
	}
	return fmt.Sprintf("compression %d", uint32(c))
}

// Supported reports whether a Compressor has c. LZ4 it has not.
func (c Compression) Supported() bool { return c <= SnappyBlock }

// Compressor compresses bodies and undoes that. The zero value is ready; it
// keeps what is needed between uses and is safe for concurrent use.
type Compressor struct {
	writers [SnappyBlock + 1]sync.Pool // of writer
	readers [SnappyBlock + 1]sync.Pool // of *source
}

// writer is a compressor that can be used again.
type writer interface {
	io.WriteCloser
	Reset(io.Writer)
}

// source is a decompressor with what it reads from.
type source struct {
	src bytes.Reader
	r   io.Reader // nil before its first use
}

// reset makes s decompress b.
func (s *source) reset(c Compression, b []byte) (err error) {
	s.src.Reset(b)
	switch r := s.r.(type) {
	case *gzip.Reader:
		return r.Reset(&s.src)
	case zlib.Resetter:
		return r.Reset(&s.src, nil)
	case *s2.Reader:
		r.Reset(&s.src)
		return nil
	}
	switch c {
	case Gzip:
		var z *gzip.Reader
		if z, err = gzip.NewReader(&s.src); err == nil {
			s.r = z
		}
	case Zlib:
		var z io.ReadCloser
		if z, err = zlib.NewReader(&s.src); err == nil {
			s.r = z
		}
	default:
		s.r = s2.NewReader(&s.src, s2.ReaderMaxBlockSize(snappyBlock))
	}
	return err
}

// snappyBlock is the size in bytes of the largest block in a stream of Snappy.
const snappyBlock = 64 << 10

func newWriter(c Compression) writer {
	switch c {
	case Gzip:
		return gzip.NewWriter(io.Discard)
	case Zlib:
		return zlib.NewWriter(io.Discard)
	default:
		return s2.NewWriter(io.Discard, s2.WriterSnappyCompat(), s2.WriterBlockSize(snappyBlock), s2.WriterConcurrency(1))
	}
}

// Compress appends src, which must not overlap dst, compressed to dst. The
// error of a compression that is not Supported is a [*diag.Fault] with the code Unsupported.
func (x *Compressor) Compress(dst, src []byte, c Compression) ([]byte, error) {
	switch {
	case c == None || len(src) == 0:
		return append(dst, src...), nil
	case !c.Supported():
		return dst, unsupported(c)
	case c == SnappyBlock:
		room := s2.MaxEncodedLen(len(src))
		if room < 0 {
			return dst, tooLarge(len(src))
		}
		if cap(dst)-len(dst) < room {
			dst = append(make([]byte, 0, len(dst)+room), dst...)
		}
		return dst[:len(dst)+len(s2.EncodeSnappy(dst[len(dst):len(dst)+room], src))], nil
	}
	w, _ := x.writers[c].Get().(writer)
	if w == nil {
		w = newWriter(c)
	}
	defer func() {
		w.Reset(io.Discard)
		x.writers[c].Put(w)
	}()
	out := bytes.NewBuffer(dst)
	w.Reset(out)
	_, err := w.Write(src)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return dst, err
	}
	return out.Bytes(), nil
}

// Decompress appends what src was before its compression to dst, which must
// not overlap it: limit bytes at most. Memory is taken as the result grows, whatever src
// claims. An error is a [*diag.Fault]: Unsupported for a compression that is not Supported,
// SizeLimit beyond the limit, else InvalidData.
func (x *Compressor) Decompress(dst, src []byte, c Compression, limit int) ([]byte, error) {
	switch {
	case (c == None || len(src) == 0) && len(src) > limit:
		return dst, tooLarge(limit)
	case c == None || len(src) == 0:
		return append(dst, src...), nil
	case !c.Supported():
		return dst, unsupported(c)
	case c == SnappyBlock:
		return unsnap(dst, src, limit)
	}
	s, _ := x.readers[c].Get().(*source)
	if s == nil {
		s = new(source)
	}
	defer func() {
		s.src.Reset(nil)
		x.readers[c].Put(s)
	}()
	if err := s.reset(c, src); err != nil {
		return dst, damaged(c, err)
	}
	return s.readAll(dst, c, limit)
}

// readAll appends what s decompresses to dst.
func (s *source) readAll(dst []byte, c Compression, limit int) ([]byte, error) {
	out := dst
	for {
		if len(out)-len(dst) > limit {
			return dst, tooLarge(limit)
		}
		if len(out) == cap(out) {
			out = append(out, 0)[:len(out)]
		}
		n, err := s.r.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case err == io.EOF && len(out)-len(dst) > limit:
			return dst, tooLarge(limit)
		case err == io.EOF && s.src.Len() > 0:
			return dst, damaged(c, errors.New("more bytes follow its end"))
		case err == io.EOF:
			return out, nil
		case err != nil:
			return dst, damaged(c, err)
		}
	}
}

// maxSnappy is how many times larger than itself what a block of Snappy holds
// can be: an element of three bytes stands for 64.
const maxSnappy = 22

// unsnap decompresses a block, whose claim on its size is checked first.
func unsnap(dst, src []byte, limit int) ([]byte, error) {
	n, err := s2.DecodedLen(src)
	switch {
	case err != nil:
		return dst, damaged(SnappyBlock, err)
	case n > limit:
		return dst, tooLarge(limit)
	case n > maxSnappy*len(src):
		return dst, damaged(SnappyBlock, fmt.Errorf("%d bytes cannot stand for %d", len(src), n))
	}
	if cap(dst)-len(dst) < n {
		dst = append(make([]byte, 0, len(dst)+n), dst...)
	}
	out, err := s2.Decode(dst[len(dst):len(dst)+n], src)
	if err != nil {
		return dst, damaged(SnappyBlock, err)
	}
	return dst[:len(dst)+len(out)], nil
}

func unsupported(c Compression) error {
	return diag.NewFault(diag.Unsupported, -1, "the body is compressed by "+c.String()+"; gzip, zlib and snappy are known here")
}

func tooLarge(limit int) error {
	return diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("the body exceeds the limit of %d bytes when it is decompressed", limit))
}

func damaged(c Compression, cause error) error {
	f := diag.NewFault(diag.InvalidData, -1, "the body is no "+c.String()+" data: "+cause.Error())
	f.Cause = cause
	return f
}
