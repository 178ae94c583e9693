package transcode

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"io"

	"github.com/thrum-rpc/thrum/diag"
)

// This file holds the two ends of a stream, and the keys that it remembers.

// streamInput is a window on the input.
//
// Invariant: buf holds the bytes of the stream from base on; those before the
// position that more is given are no longer needed.
type streamInput struct {
	ctx   context.Context
	r     io.Reader
	buf   []byte
	base  int64
	stop  int64  // where the input ends for now: at the end of a frame
	limit int    // of bytes that are held
	read  func() // called after each read
	ended bool   // r has no more
	full  bool   // more was refused because of the limit
	err   error  // of r or ctx
}

// visible returns the window up to stop.
func (s *streamInput) visible() []byte {
	if n := s.stop - s.base; n < int64(len(s.buf)) {
		return s.buf[:n]
	}
	return s.buf
}

// done reports whether visible holds the rest of the input.
func (s *streamInput) done() bool { return s.ended || s.base+int64(len(s.buf)) >= s.stop }

// more reads at least one byte and returns where the position p has moved to.
func (s *streamInput) more(p int) (int, bool) {
	if s.done() || s.full {
		return p, false
	}
	if len(s.buf) == cap(s.buf) {
		if p = s.room(p); s.full {
			return p, false
		}
	}
	const patience = 100 // as package bufio has it
	for range patience {
		if s.err = s.ctx.Err(); s.err != nil {
			s.ended = true
			return p, false
		}
		n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+max(n, 0)]
		if err != nil {
			if s.ended = true; err != io.EOF {
				s.err = err
			}
		}
		if n > 0 || s.ended {
			s.read()
			return p, n > 0
		}
	}
	s.ended, s.err = true, io.ErrNoProgress
	return p, false
}

// room makes room in a full buffer: at its front if much of it is no longer
// needed, else by growing.
func (s *streamInput) room(p int) int {
	rest := s.buf[p:]
	into := s.buf[:0]
	if len(rest) > cap(s.buf)/2 {
		if len(rest) >= s.limit {
			s.full = true
			return p
		}
		into = make([]byte, 0, 2*cap(s.buf))
	}
	s.buf = append(into, rest...)
	s.base += int64(p)
	return 0
}

// streamOutput gathers the output.
//
// Invariant: buf holds the bytes of the output from base on. While held is not
// 0, those from heldAt on are not written.
type streamOutput struct {
	w      io.Writer
	at     io.WriterAt // instead of w
	buf    []byte
	base   int64
	size   int // of the output that is worth writing
	held   int
	heldAt int
	err    error
}

// hold keeps what follows in memory until release is called with its result.
func (k *streamOutput) hold() (level int) {
	if k.held == 0 {
		k.heldAt = len(k.buf)
	}
	k.held++
	return k.held
}

// release ends the hold that returned level, and those inside it.
func (k *streamOutput) release(level int) { k.held = max(level-1, 0) }

// offset returns where the output goes on.
func (k *streamOutput) offset() int64 { return k.base + int64(len(k.buf)) }

// flush writes what may be written.
func (k *streamOutput) flush() bool {
	n := len(k.buf)
	if k.held > 0 {
		n = k.heldAt
	}
	if n == 0 {
		return true
	}
	if k.err = k.write(k.buf[:n], k.base); k.err != nil {
		return false
	}
	k.base += int64(n)
	k.heldAt = 0
	if rest := k.buf[n:]; cap(k.buf) > 8*k.size && len(rest) < k.size {
		k.buf = append([]byte(nil), rest...) // a value was large; the next may not be
	} else {
		k.buf = append(k.buf[:0], rest...)
	}
	return true
}

func (k *streamOutput) write(b []byte, at int64) (err error) {
	var n int
	if k.at != nil {
		n, err = k.at.WriteAt(b, at)
	} else {
		n, err = k.w.Write(b)
	}
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// patch stores v at an offset of the output where four bytes stand.
func (k *streamOutput) patch(offset int64, v uint32) bool {
	if i := offset - k.base; i >= 0 {
		binary.BigEndian.PutUint32(k.buf[i:], v)
		return true
	}
	k.err = k.write(binary.BigEndian.AppendUint32(nil, v), offset)
	return k.err == nil
}

// keySet finds keys or elements that stand twice by their hashes, which have
// 128 bits: that two keys have the same one does not happen.
type keySet struct {
	seeds [2]maphash.Seed
	seen  map[[2]uint64]struct{}
	limit int
	twice int64 // where the first one stands that an earlier one equals; -1 for none
}

// keyShare is how many bytes of MaxSize one key may take.
const keyShare = 64

func newKeySet(maxSize int) *keySet {
	return &keySet{
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		seen:  make(map[[2]uint64]struct{}), limit: maxSize / keyShare, twice: -1,
	}
}

// add adds the key that stands at offset and reports whether there was room.
func (k *keySet) add(key []byte, offset int64) bool {
	h := [2]uint64{maphash.Bytes(k.seeds[0], key), maphash.Bytes(k.seeds[1], key)}
	if _, ok := k.seen[h]; ok {
		if k.twice < 0 {
			k.twice = offset
		}
		return true
	}
	k.seen[h] = struct{}{}
	return len(k.seen) <= k.limit
}

// note adds a key to keys, which may be nil.
func (s *stream) note(keys *keySet, key []byte, offset int64) bool {
	if keys == nil || keys.add(key, offset) {
		return true
	}
	return s.fail(diag.SizeLimit, offset, "there are too many keys to tell whether one stands twice; AllowDuplicates does not ask")
}

// unique fails if one of keys stood twice.
func (s *stream) unique(keys *keySet, what string) bool {
	if keys == nil || keys.twice < 0 {
		return true
	}
	return s.fail(diag.DuplicateKey, keys.twice, "the "+what+" stands twice")
}

// shownPart is the front of a key, as much of it as a path shows.
type shownPart struct {
	b [shownKey + 1]byte
	n int
}

func (k *shownPart) set(key []byte) { k.n = copy(k.b[:], key) }
func (k *shownPart) String() string { return pathKey(k.b[:k.n]) }
