package transcode

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/thrum-rpc/thrum/diag"
)

// This file holds the streaming conversions as callers see them, and what both
// directions share. The rules, above all what is held in memory, stand at
// CopyJSON and CopyThrift.
//
// Both work alike: a value that lies whole in the window on the input is
// converted by the functions for values in memory; one that does not, or whose output is
// many times the window, is taken apart, and each of its parts is tried in turn.

// Stats says how far a streaming conversion has come.
type Stats struct {
	Read    int64 // bytes taken from the reader
	Written int64 // bytes given to the writer
	Values  int64 // outermost values that are converted
}

// StreamOption changes what a streaming conversion does.
type StreamOption func(*streamOptions)

type streamOptions struct {
	framed   bool
	array    bool
	window   int
	progress func(Stats)
}

// DefaultWindow is the size of the window on the input unless StreamWindow says otherwise.
const DefaultWindow = 256 << 10

const minWindow = 64

// StreamFramed is for Thrift structs with their length, four bytes big-endian,
// before each. Without it they follow each other bare.
func StreamFramed() StreamOption { return func(o *streamOptions) { o.framed = true } }

// StreamArray writes the JSON values as elements of one array, where each is a
// line of its own otherwise. Both forms are always read.
func StreamArray() StreamOption { return func(o *streamOptions) { o.array = true } }

// StreamWindow sets the size of the window on the input, in bytes. What is held
// in memory is a small multiple of it; a larger one is faster up to a point.
func StreamWindow(bytes int) StreamOption {
	return func(o *streamOptions) { o.window = max(bytes, minWindow) }
}

// StreamProgress calls report after each read, from the goroutine that converts.
func StreamProgress(report func(Stats)) StreamOption {
	return func(o *streamOptions) { o.progress = report }
}

// CopyJSON reads Thrift structs of c's type from r, one after another up to its
// end, and writes each as JSON to w, on a line of its own.
//
// Memory is bounded by a small multiple of the window, however long the input
// and its structs, lists and strings are, with these exceptions: a map key must fit in
// MaxSize bytes, and so must a value that a [ValueCodec] converts. To find keys
// that stand twice in a map that exceeds the window, a hash of each key is kept, for at most
// MaxSize/64 keys; AllowDuplicates needs none. MaxSize bounds nothing else here.
//
// Errors of the input are [*diag.Fault] with offsets counted from the start of
// the stream and paths that begin with the index of the value, such as
// [12].lines[3]. They are those of [Converter.AppendJSON], but that an input
// that ends early is found where it ends, not at the length that it cannot hold. Errors of r and w
// are returned as they are, that of ctx when it ends; it is looked at before each
// read. What has been converted until then is written: after an error the output
// ends somewhere inside a value.
func (c *Converter) CopyJSON(ctx context.Context, w io.Writer, r io.Reader, opts ...StreamOption) (Stats, error) {
	s := jsonStream{w: toJSON{c.start(nil, nil)}}
	s.init(ctx, c, r, &streamOutput{w: w}, opts)
	s.state = &s.w.state
	s.all()
	return s.end()
}

// CopyThrift reads JSON values of c's type from r, with or without white space
// between them, or in arrays, up to its end, and writes each as a Thrift struct to w.
//
// A Thrift list has its length before its elements, so a struct can be written
// only once it is whole: each must fit in MaxSize bytes, and that much is held. The input is
// held as in [Converter.CopyJSON], and errors are as there; names of members, known or not, and
// values of another JSON kind than their type has are held whole too, and must fit in MaxSize
// bytes each. [Converter.CopyThriftAt] does not hold structs.
func (c *Converter) CopyThrift(ctx context.Context, w io.Writer, r io.Reader, opts ...StreamOption) (Stats, error) {
	return c.copyThrift(ctx, r, &streamOutput{w: w}, opts)
}

// CopyThriftAt is CopyThrift for structs of any length: it writes to w from
// offset 0 on and goes back to fill in lengths, as w allows it. Memory is bounded
// as in [Converter.CopyJSON]: map keys and the elements of sets must fit in
// MaxSize bytes each, and hashes of them are kept to find those that stand twice.
// After an error what has been written makes no sense.
func (c *Converter) CopyThriftAt(ctx context.Context, w io.WriterAt, r io.Reader, opts ...StreamOption) (Stats, error) {
	return c.copyThrift(ctx, r, &streamOutput{at: w}, opts)
}

func (c *Converter) copyThrift(ctx context.Context, r io.Reader, out *streamOutput, opts []StreamOption) (Stats, error) {
	s := thriftStream{r: fromJSON{c.start(nil, nil)}}
	s.init(ctx, c, r, out, opts)
	s.state = &s.r.state
	s.all()
	return s.end()
}

// stream is what both directions share. Its methods report success; if they do
// not, fault says why, or the input or output has an error.
type stream struct {
	conv  *Converter
	opts  streamOptions
	src   streamInput
	out   *streamOutput
	state *state // of the conversion of pieces
	p     int    // where in the window the input goes on
	stats Stats
	fault *diag.Fault
}

func (s *stream) init(ctx context.Context, c *Converter, r io.Reader, out *streamOutput, opts []StreamOption) {
	s.opts.window = DefaultWindow
	for _, o := range opts {
		o(&s.opts)
	}
	s.conv, s.out = c, out
	out.size = s.opts.window
	s.src = streamInput{
		ctx: ctx, r: r, buf: make([]byte, 0, s.opts.window),
		stop: math.MaxInt64, limit: max(c.opts.maxSize, s.opts.window), read: func() {
			if s.opts.progress != nil {
				s.opts.progress(s.now())
			}
		},
	}
}

func (s *stream) now() Stats {
	s.stats.Read, s.stats.Written = s.src.base+int64(len(s.src.buf)), s.out.base
	return s.stats
}

// end writes what is left and returns how it went.
func (s *stream) end() (Stats, error) {
	s.conv.release(s.state.mem)
	if s.out.err == nil {
		s.out.flush() // but what is held: it is not whole
	}
	switch stats := s.now(); {
	case s.out.err != nil:
		return stats, s.out.err
	case s.src.err != nil: // its consequence is a fault
		return stats, s.src.err
	case s.fault != nil:
		return stats, s.fault
	default:
		return stats, nil
	}
}

// offset returns where in the stream the position p of the window lies.
func (s *stream) offset(p int) int64 { return s.src.base + int64(p) }

// fail sets the fault for what stands at offset.
func (s *stream) fail(code diag.Code, offset int64, detail string) bool {
	s.fault = diag.NewFault(code, int(offset), detail)
	return false
}

// failed takes the fault of the conversion of a piece over.
func (s *stream) failed() bool {
	f := s.state.fault
	if f.Code == diag.UnexpectedEOF && s.src.full {
		return s.fail(diag.SizeLimit, s.offset(f.Offset), fmt.Sprintf("a value that must be held whole exceeds the limit of %d bytes", s.src.limit))
	}
	f.Offset += int(s.src.base)
	s.fault = f
	return false
}

// failedAt is failed for what stands at an offset that may have left the window.
func (s *stream) failedAt(offset int64) bool {
	s.failed()
	s.fault.Offset = int(offset)
	return false
}

// more reads more input and reports whether there was any.
func (s *stream) more() bool {
	p, ok := s.src.more(s.p)
	s.p = p
	return ok
}

// ensure reports whether n bytes stand in the window from p on, reading them if
// they do not.
func (s *stream) ensure(n int) bool {
	for len(s.src.visible())-s.p < n {
		if !s.more() {
			return false
		}
	}
	return true
}

// outcome is what came of converting a piece.
type outcome uint8

const (
	done       outcome = iota
	broken             // the fault is set
	incomplete         // the piece must be taken apart: it goes on beyond the window, or its output is long; nothing has changed
)

// mark is what a conversion that is given up must restore.
type mark struct{ depth, entries, wide int }

func (s *stream) mark() mark {
	st := s.state
	if st.mem == nil {
		return mark{depth: st.depth}
	}
	return mark{st.depth, len(st.mem.entries), len(st.mem.wide)}
}

func (s *stream) restore(m mark) {
	st := s.state
	st.depth, st.fault = m.depth, nil
	if st.mem != nil {
		st.mem.entries, st.mem.wide = st.mem.entries[:m.entries], st.mem.wide[:m.wide]
	}
}

// step converts what stands at p and appends it to dst, as the functions for
// values in memory do.
type step func(dst []byte, p int) ([]byte, int)

// prepare lets steps read from in, which is the window or its front, and bounds
// the output only by what must be held.
func (s *stream) prepare(in []byte) {
	s.state.in, s.state.limit = in, math.MaxInt
	if s.out.held > 0 {
		s.state.limit = s.out.heldAt + s.conv.opts.maxSize
	}
}

// expansion is how many times the window the output of a piece may take before
// the piece is taken apart: few bytes of input can stand for many defaults.
const expansion = 16

// softLimit is the limit on the output of a piece that can be taken apart.
func (s *stream) softLimit() int { return len(s.out.buf) + expansion*s.opts.window }

// piece converts one piece of in, which is the window or its front. The piece
// cannot be taken apart.
func (s *stream) piece(in []byte, convert step) outcome { return s.attempt(in, false, convert) }

// attempt is piece; with divisible set, one whose output is long is incomplete too.
func (s *stream) attempt(in []byte, divisible bool, convert step) outcome {
	m := s.mark()
	s.prepare(in)
	soft := divisible && s.softLimit() < s.state.limit
	if soft {
		s.state.limit = s.softLimit()
	}
	dst, p := convert(s.out.buf, s.p)
	if p >= 0 {
		s.out.buf, s.p = dst, p
		return done
	}
	switch code := s.state.fault.Code; {
	case code == diag.SizeLimit && soft:
	case code != diag.UnexpectedEOF, s.src.done(), s.src.full:
		s.failed()
		return broken
	}
	s.restore(m)
	return incomplete
}

// run converts pieces of in as long as they are whole, up to limit of them, and
// returns their number. What stops it is left for piece to find again, which
// says why.
func (s *stream) run(in []byte, limit int, convert step) (n int) {
	if len(in)-s.p < min(enough, s.opts.window/2) {
		return 0
	}
	s.prepare(in)
	s.state.limit = min(s.state.limit, s.softLimit())
	for n < limit && len(s.out.buf) < s.out.size {
		m := s.mark()
		dst, p := convert(s.out.buf, s.p)
		if p < 0 {
			s.restore(m)
			break
		}
		s.out.buf, s.p = dst, p
		n++
	}
	return n
}

// enough is how much of the window makes it worth trying to convert several
// pieces at once.
const enough = 1024

// written writes what has gathered if it is enough, and checks what must be held.
func (s *stream) written() bool {
	k := s.out
	if k.held > 0 && len(k.buf)-k.heldAt > s.conv.opts.maxSize {
		return s.fail(diag.SizeLimit, s.offset(s.p), fmt.Sprintf("the output that must be held exceeds the limit of %d bytes", s.conv.opts.maxSize))
	}
	if len(k.buf) >= k.size {
		return k.flush()
	}
	return true
}

// enter goes a level deeper, into what stands at p.
func (s *stream) enter() bool {
	if s.state.depth == 0 {
		s.state.tooDeep(s.p)
		return s.failed()
	}
	s.state.depth--
	return true
}
