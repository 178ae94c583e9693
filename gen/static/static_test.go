package static_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/gen/static"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

func TestFaultsStandWhereThePartBegins(t *testing.T) {
	for name, c := range map[string]struct {
		read   func(b []byte) *diag.Fault
		input  []byte
		code   diag.Code
		offset int
	}{
		"no header":      {head, []byte{1}, diag.UnexpectedEOF, 1},
		"half a header":  {head, []byte{1, 8, 0}, diag.UnexpectedEOF, 1},
		"no such type":   {head, []byte{1, 99, 0}, diag.InvalidType, 1},
		"i64":            {func(b []byte) *diag.Fault { _, _, f := static.I64(b, 1); return f }, make([]byte, 8), diag.UnexpectedEOF, 1},
		"negative":       {text, []byte{1, 0xff, 0xff, 0xff, 0xff}, diag.InvalidLength, 1},
		"short string":   {text, []byte{1, 0, 0, 0, 2, 'x'}, diag.UnexpectedEOF, 1},
		"list of others": {list, []byte{1, 8, 0, 0, 0, 1, 0, 0, 0, 0}, diag.TypeMismatch, 1},
		"list too long":  {list, []byte{1, 10, 0x7f, 0, 0, 0}, diag.UnexpectedEOF, 1},
		"unknown field":  {func(b []byte) *diag.Fault { _, f := static.Skip(b, 1, 9); return f }, []byte{1, 11, 0, 7, 0, 0, 0, 1}, diag.UnexpectedEOF, 4},
		"depth":          {func(b []byte) *diag.Fault { _, _, f := static.Map(b, 1, 0, 8, 8); return f }, make([]byte, 9), diag.DepthLimit, 1},
	} {
		f := c.read(c.input)
		if f == nil || f.Code != c.code || f.Offset != c.offset {
			t.Errorf("%s: %v, want %v at %d", name, f, c.code, c.offset)
		}
	}
}

func head(b []byte) *diag.Fault { _, f := static.Head(b, 1); return f }
func text(b []byte) *diag.Fault { _, _, f := static.Bytes(b, 1); return f }
func list(b []byte) *diag.Fault { _, _, f := static.List(b, 1, 9, thriftwire.I64); return f }

func TestClaimedLengthsAreNotBelieved(t *testing.T) {
	if got := static.Capacity(make([]byte, 100), 0, static.MaxDepth-1, math.MaxInt32, 8); got > 16*100/8 {
		t.Errorf("room for %d values of 8 bytes for 100 bytes of input", got)
	}
	if got := static.Capacity(make([]byte, 100), 0, static.MaxDepth-1, 3, 8); got != 3 {
		t.Errorf("Capacity = %d, want all 3", got)
	}
	total := 0
	for depth := range static.MaxDepth {
		total += 8 * static.Capacity(make([]byte, 1<<20), 0, depth, math.MaxInt32, 8)
	}
	if limit := 32<<20 + static.MaxDepth*256; total > limit {
		t.Errorf("containers at every depth may claim %d bytes for 1 MiB of input, more than %d", total, limit)
	}
}

func TestBytesCannotBeExtendedIntoTheInput(t *testing.T) {
	in := []byte{0, 0, 0, 1, 'a', 'b'}
	s, _, f := static.Bytes(in, 0)
	if f != nil || cap(s) != 1 {
		t.Fatalf("capacity %d, %v", cap(s), f)
	}
	_ = append(s, 'x')
	if !bytes.Equal(in, []byte{0, 0, 0, 1, 'a', 'b'}) {
		t.Errorf("the input is %q", in)
	}
}
