package apache_test

import (
	"bytes"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/internal/conform/apache"
	"github.com/thrum-rpc/thrum/internal/conform/guard"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"pgregory.net/rapid"
)

// TestModelAgreesWithApache holds the model, and with it the wire packages, to
// the Apache library: same bytes, each reads what the other wrote, and both
// skip the same. Every prefix is an unexpected EOF.
func TestModelAgreesWithApache(t *testing.T) {
	for _, p := range []conform.Protocol{conform.Binary, conform.Apache} {
		shape := conform.DefaultShape.Of(p)
		shape.Float = false
		edge := guard.New(t, 1<<20)
		t.Run(p.String(), rapid.MakeCheck(func(t *rapid.T) {
			typ := conform.Struct(t, shape)
			v := conform.Value(t, typ, 4)
			b := conform.Append(nil, p, typ, v)
			if want, err := apache.Encode(p, typ, v); err != nil || !bytes.Equal(b, want) {
				t.Fatalf("wrote %x\nApache %x, %v", b, want, err)
			}
			text := conform.Format(typ, v)
			if back, n, err := apache.Decode(p, typ, b); err != nil || n != len(b) || conform.Format(typ, back) != text {
				t.Fatalf("wrote %s\nApache read %d of %d bytes: %v, %v", text, n, len(b), back, err)
			}
			if back, n, err := conform.Decode(p, typ, edge.Put(b), conform.Rules{}); err != nil || n != len(b) || conform.Format(typ, back) != text {
				t.Fatalf("wrote %s\nread %d of %d bytes: %v, %v", text, n, len(b), back, err)
			}
			end, code := p.Skip(edge.Put(b), 0, thriftwire.Struct, thriftwire.MaxDepth)
			if want, err := apache.Skip(p, typ, b); err != nil || code != 0 || end != want {
				t.Fatalf("skipped %d, %d; Apache %d, %v", end, code, want, err)
			}
			for i := range b {
				cut := edge.Put(b[:i])
				if at, code := p.Skip(cut, 0, thriftwire.Struct, thriftwire.MaxDepth); code != thriftwire.ErrEOF || at > i {
					t.Fatalf("skipping %d of %d bytes ended at %d with %d", i, len(b), at, code)
				}
				if _, _, err := conform.Decode(p, typ, cut, conform.Rules{}); diag.CodeOf(err) != diag.UnexpectedEOF {
					t.Fatalf("reading %d of %d bytes: %v", i, len(b), err)
				}
			}
		}))
	}
}
