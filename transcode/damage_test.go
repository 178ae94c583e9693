package transcode_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
	"pgregory.net/rapid"
)

// This file converts bytes that need not be valid.

// subject is a type with its converter and a message of it.
type subject struct {
	c      *transcode.Converter
	thrift []byte
	json   []byte
}

// subjects returns the type of the cases and n random ones.
func subjects(t testing.TB, n int) []subject {
	sample := rapid.Custom(func(rt *rapid.T) []any {
		typ := conform.Struct(rt, conform.DefaultShape)
		return []any{typ, conform.Append(nil, conform.Binary, typ, conform.Value(rt, typ, 5))}
	})
	rich := `{"byStruct":[[{"x":1},"a"],[{"x":2,"y":3},"b"]],"byString":{"a\n":1,"b":2},"either":{"left":1},"set":["a","b"],"list":[1,-2,3e2],` +
		`"node":{"value":1,"next":{"value":2}},"double":1.5e-7,"binary":"AAEC/v8=","byDouble":{"1.5":1},"byEnum":{"RED":1,"99":2}}`
	list := []subject{{c: converter(t, all()), json: []byte(rich)}}
	for i := 0; len(list) <= n; i++ {
		x := sample.Example(i)
		s := subject{c: converter(t, x[0].(*schema.Type).Struct()), thrift: x[1].([]byte)}
		var err error
		if s.json, _, err = s.c.AppendJSON(nil, s.thrift); err != nil {
			if diag.CodeOf(err) != diag.InvalidUnion { // the model has empty unions
				t.Fatal(err)
			}
			continue
		}
		list = append(list, s)
	}
	var err error
	if list[0].thrift, err = list[0].c.AppendThrift(nil, list[0].json); err != nil {
		t.Fatal(err)
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
	for i, s := range subjects(t, 200) {
		n := 100
		if i == 0 {
			n = 5000
		}
		for range n {
			s.fromThrift(t, mutate(r, s.thrift))
			s.fromJSON(t, mutate(r, s.json))
		}
	}
}

func TestTruncatedMessagesAreRefused(t *testing.T) {
	for _, s := range subjects(t, 50) {
		for i := range s.thrift {
			if out, n, err := s.c.AppendJSON(nil, s.thrift[:i]); err == nil {
				t.Fatalf("%x became %s, n %d", s.thrift[:i], out, n)
			}
		}
		for i := range s.json {
			if out, err := s.c.AppendThrift(nil, s.json[:i]); err == nil {
				t.Fatalf("%s became %x", s.json[:i], out)
			}
		}
	}
}

func FuzzThriftToJSON(f *testing.F) {
	list := subjects(f, 7)
	for i, s := range list {
		f.Add(uint8(i), s.thrift)
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) { list[int(which)%len(list)].fromThrift(t, b) })
}

func FuzzJSONToThrift(f *testing.F) {
	list := subjects(f, 7)
	for i, s := range list {
		f.Add(uint8(i), s.json)
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) { list[int(which)%len(list)].fromJSON(t, b) })
}
