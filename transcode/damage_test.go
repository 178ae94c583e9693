package transcode_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/conform/random"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file converts bytes that need not be valid.

// subject is a type with its converter.
type subject struct {
	def *schema.StructDef
	c   *transcode.Converter
}

// subjects returns the type of the cases and n random ones.
func subjects(t testing.TB, n int) []subject {
	list := []subject{{all(), converter(t, all())}}
	for seed := range uint64(n) {
		d := random.Struct(rand.New(rand.NewPCG(seed, 4)), random.Types{})
		list = append(list, subject{d, converter(t, d)})
	}
	return list
}

// samples returns Thrift messages of s.
func (s subject) samples(r *rand.Rand, n int) [][]byte {
	list := make([][]byte, n)
	for i := range list {
		list[i] = random.AppendBinary(nil, s.def.Type(), random.Value(r, s.def, 4))
	}
	return list
}

// fromThrift checks what becomes of any bytes: an error, or JSON that converts
// back to Thrift of the same meaning.
func (s subject) fromThrift(t *testing.T, thrift []byte) {
	text, n, err := s.c.AppendJSON(nil, thrift)
	if err != nil {
		checkOffset(t, err, thrift)
		return
	}
	if n > len(thrift) || !json.Valid(text) {
		t.Fatalf("%x (n %d) became %s", thrift, n, text)
	}
	back, err := s.c.AppendThrift(nil, text)
	if err != nil {
		// A union whose field is unknown has no way back, nor have sets with
		// an element that stands twice.
		if code := diag.CodeOf(err); code != diag.InvalidUnion && code != diag.DuplicateKey {
			t.Fatalf("%x became %s, which is refused: %v", thrift, text, err)
		}
		return
	}
	again, _, err := s.c.AppendJSON(nil, back)
	if err != nil || !bytes.Equal(again, text) {
		t.Fatalf("%s became %s, %v", text, again, err)
	}
}

// fromJSON checks what becomes of any text: an error, or Thrift that converts
// back.
func (s subject) fromJSON(t *testing.T, text []byte) {
	thrift, err := s.c.AppendThrift(nil, text)
	if err != nil {
		checkOffset(t, err, text)
		return
	}
	if !json.Valid(text) {
		t.Fatalf("accepted %q", text)
	}
	out, n, err := s.c.AppendJSON(nil, thrift)
	if err != nil || n != len(thrift) {
		t.Fatalf("%s became %x, which is refused: n %d, %v", text, thrift, n, err)
	}
	back, err := s.c.AppendThrift(nil, out)
	if err != nil || !bytes.Equal(back, thrift) {
		t.Fatalf("%s became %x, then %s, then %x, %v", text, thrift, out, back, err)
	}
}

func checkOffset(t *testing.T, err error, in []byte) {
	t.Helper()
	f, ok := err.(*diag.Fault)
	if !ok || f.Code == 0 || f.Offset < 0 || f.Offset > len(in) {
		t.Fatalf("%q: the error has no code or its offset is outside: %v", in, err)
	}
}

// mutate changes a few bytes of b, repeats or drops a part, or cuts it short.
func mutate(r *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + r.IntN(3) {
		if len(b) == 0 {
			return b
		}
		i := r.IntN(len(b))
		j := i + r.IntN(min(len(b)-i, 20)+1)
		switch r.IntN(6) {
		case 0:
			b[i] = byte(r.Uint32())
		case 1:
			b[i] ^= 1 << r.IntN(8)
		case 2:
			b = b[:i]
		case 3:
			b = append(b[:i], b[j:]...)
		case 4:
			b = append(bytes.Clone(b[:j]), b[i:]...)
		case 5:
			b[i] = "{}[],:\"0x"[r.IntN(9)]
		}
	}
	return b
}

func TestDamagedMessagesGiveErrorsOrConvertBack(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, s := range subjects(t, 100) {
		for _, thrift := range s.samples(r, 3) {
			if len(thrift) > 4000 {
				continue
			}
			text, _, err := s.c.AppendJSON(nil, thrift)
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				s.fromThrift(t, mutate(r, thrift))
				s.fromJSON(t, mutate(r, text))
			}
		}
	}
}

func TestTruncatedMessagesAreRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, s := range subjects(t, 30) {
		for _, thrift := range s.samples(r, 2) {
			if len(thrift) > 2000 {
				continue
			}
			text, _, err := s.c.AppendJSON(nil, thrift)
			if err != nil {
				t.Fatal(err)
			}
			for i := range thrift {
				if out, n, err := s.c.AppendJSON(nil, thrift[:i]); err == nil {
					t.Fatalf("%x became %s, n %d", thrift[:i], out, n)
				}
			}
			for i := range text {
				if out, err := s.c.AppendThrift(nil, text[:i]); err == nil {
					t.Fatalf("%s became %x", text[:i], out)
				}
			}
		}
	}
}

func FuzzThriftToJSON(f *testing.F) {
	list := subjects(f, 7)
	for i, s := range list {
		for _, b := range s.samples(rand.New(rand.NewPCG(7, 7)), 3) {
			f.Add(uint8(i), b)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) { list[int(which)%len(list)].fromThrift(t, b) })
}

func FuzzJSONToThrift(f *testing.F) {
	list := subjects(f, 7)
	for i, s := range list {
		for _, b := range s.samples(rand.New(rand.NewPCG(7, 7)), 3) {
			text, _, err := s.c.AppendJSON(nil, b)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) { list[int(which)%len(list)].fromJSON(t, b) })
}
