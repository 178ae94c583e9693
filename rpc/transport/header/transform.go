package header

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/thrum-rpc/thrum/diag"
)

// This file holds transforms: what is done to a payload before it is sent.

// Transform is what was done to a payload.
type Transform uint32

const (
	None   Transform = 0 // not one that a frame names
	Zlib   Transform = 1
	HMAC   Transform = 2 // no longer in use, as the next two
	Snappy Transform = 3
	QLZ    Transform = 4
	Zstd   Transform = 5
	LZ4    Transform = 6 // fbthrift's Go library alone has it
)

// String returns the transform's name.
func (t Transform) String() string {
	names := [...]string{"none", "zlib", "hmac", "snappy", "qlz", "zstd", "lz4"}
	if int64(t) < int64(len(names)) {
		return names[t]
	}
	return fmt.Sprintf("transform %d", uint32(t))
}

// Supported reports whether a Transformer can do and undo t.
func (t Transform) Supported() bool { return t == Zlib || t == Zstd }

// Transformer does and undoes transforms. The zero value is ready; it keeps
// what compressors need between uses and is safe for concurrent use.
type Transformer struct {
	zlibReaders sync.Pool // of *inflater
	zlibWriters sync.Pool // of *zlib.Writer
	zstd        struct {
		once sync.Once
		enc  *zstd.Encoder
		dec  *zstd.Decoder
		err  error
	}
}

// Undo appends a frame's payload as it was before its transforms to dst, which
// must not overlap it. The result behind dst has limit bytes at most; memory is
// taken as the result grows, whatever the payload claims. An error is a
// [*diag.Fault]: Unsupported for a transform that is not Supported, SizeLimit beyond the
// limit, else InvalidData; dst is then returned.
func (t *Transformer) Undo(dst []byte, f *Frame, limit int) ([]byte, error) {
	src := f.Payload
	for i := len(f.Transforms) - 1; i >= 0; i-- {
		var out []byte
		if i == 0 {
			out = dst
		}
		var err error
		if out, err = t.undo(out, src, f.Transforms[i], limit); err != nil {
			return dst, err
		}
		if i == 0 {
			return out, nil
		}
		src = out
	}
	if len(src) > limit {
		return dst, tooLarge(limit)
	}
	return append(dst, src...), nil
}

func (t *Transformer) undo(dst, src []byte, x Transform, limit int) ([]byte, error) {
	switch x {
	case Zlib:
		return t.inflate(dst, src, limit)
	case Zstd:
		return t.unzstd(dst, src, limit)
	default:
		return dst, diag.NewFault(diag.Unsupported, -1, "the payload is transformed by "+x.String()+"; zlib and zstd can be undone")
	}
}

func tooLarge(limit int) error {
	return diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("the payload exceeds the limit of %d bytes when it is decompressed", limit))
}

func damaged(x Transform, cause error) error {
	f := diag.NewFault(diag.InvalidData, -1, "the payload is no "+x.String()+" stream: "+cause.Error())
	f.Cause = cause
	return f
}

// inflater is a zlib reader with its source.
type inflater struct {
	src bytes.Reader
	z   io.ReadCloser // nil before its first use
}

func (f *inflater) reset(src []byte) (err error) {
	f.src.Reset(src)
	if f.z != nil {
		return f.z.(zlib.Resetter).Reset(&f.src, nil)
	}
	f.z, err = zlib.NewReader(&f.src)
	return err
}

func (t *Transformer) inflate(dst, src []byte, limit int) ([]byte, error) {
	f, _ := t.zlibReaders.Get().(*inflater)
	if f == nil {
		f = new(inflater)
	}
	defer func() {
		f.src.Reset(nil)
		t.zlibReaders.Put(f)
	}()
	if err := f.reset(src); err != nil {
		return dst, damaged(Zlib, err)
	}
	out := dst
	for {
		if len(out)-len(dst) > limit {
			return dst, tooLarge(limit)
		}
		if len(out) == cap(out) {
			out = append(out, 0)[:len(out)]
		}
		n, err := f.z.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case err == io.EOF && len(out)-len(dst) > limit:
			return dst, tooLarge(limit)
		case err == io.EOF && f.src.Len() > 0:
			return dst, damaged(Zlib, errors.New("more bytes follow its end"))
		case err == io.EOF:
			return out, nil
		case err != nil:
			return dst, damaged(Zlib, err)
		}
	}
}

// zstdReady makes the encoder and the decoder, which serve all goroutines.
func (t *Transformer) zstdReady() error {
	z := &t.zstd
	z.once.Do(func() {
		z.dec, z.err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true))
		if z.err == nil {
			z.enc, z.err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
		}
	})
	return z.err
}

// firstGuess is how much a stream of zstd may say at first for each of its bytes.
const firstGuess = 4

// unzstd decompresses into room that doubles while it does not suffice: what
// the stream claims to hold is not believed.
func (t *Transformer) unzstd(dst, src []byte, limit int) ([]byte, error) {
	if err := t.zstdReady(); err != nil {
		return dst, damaged(Zstd, err)
	}
	for room := max(1024, firstGuess*len(src)); ; room *= 2 {
		room = min(room, limit)
		into := dst
		if cap(dst)-len(dst) < room {
			into = append(make([]byte, 0, len(dst)+room), dst...)
		}
		out, err := t.zstd.dec.DecodeAll(src, into[:len(dst):len(dst)+room])
		switch {
		case err == nil:
			return out, nil
		case !errors.Is(err, zstd.ErrDecoderSizeExceeded):
			return dst, damaged(Zstd, err)
		case room == limit:
			return dst, tooLarge(limit)
		}
	}
}

// Seal finishes a frame that Append started at start, once its payload stands
// behind it: it transforms the payload as the header says, and sets the
// frame's length. Payload is where the payload starts. On an error b is useless.
func (t *Transformer) Seal(b []byte, start, payload int, x Transform) ([]byte, error) {
	if x != None {
		plain := bytes.Clone(b[payload:])
		var err error
		if b, err = t.do(b[:payload], plain, x); err != nil {
			return nil, err
		}
	}
	size := len(b) - start - lengthSize
	if size > MaxFrame {
		return nil, diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("a frame of %d bytes, more than %d", size, MaxFrame))
	}
	putLength(b[start:], size)
	return b, nil
}

func (t *Transformer) do(dst, src []byte, x Transform) ([]byte, error) {
	switch x {
	case Zlib:
		return t.deflate(dst, src)
	case Zstd:
		if err := t.zstdReady(); err != nil {
			return dst, err
		}
		return t.zstd.enc.EncodeAll(src, dst), nil
	default:
		return dst, diag.NewFault(diag.Unsupported, -1, "cannot transform by "+x.String())
	}
}

func (t *Transformer) deflate(dst, src []byte) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	z, _ := t.zlibWriters.Get().(*zlib.Writer)
	if z == nil {
		z = zlib.NewWriter(out)
	} else {
		z.Reset(out)
	}
	defer func() {
		z.Reset(io.Discard)
		t.zlibWriters.Put(z)
	}()
	if _, err := z.Write(src); err != nil {
		return dst, err
	}
	if err := z.Close(); err != nil {
		return dst, err
	}
	return out.Bytes(), nil
}
