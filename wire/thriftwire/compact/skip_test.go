package compact_test

import (
	"slices"
	"testing"

	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
	"pgregory.net/rapid"
)

// This file holds skipping against a walk that reads every value.

// read is SkipAt by the Consume functions alone.
func read(d compact.Dialect, b []byte, pos int, t thriftwire.Type, depth int) (end, code int) {
	n, size := 0, 0
	var parts []thriftwire.Type
	var key, elem thriftwire.Type
	switch t {
	case thriftwire.Bool, thriftwire.I8:
		_, n = compact.ConsumeI8(b[pos:])
	case thriftwire.I16:
		_, n = compact.ConsumeI16(b[pos:])
	case thriftwire.I32:
		_, n = compact.ConsumeI32(b[pos:])
	case thriftwire.I64:
		_, n = compact.ConsumeI64(b[pos:])
	case thriftwire.Double:
		_, n = d.ConsumeDouble(b[pos:])
	case thriftwire.Float:
		_, n = compact.ConsumeFloat(b[pos:])
	case thriftwire.UUID:
		_, n = compact.ConsumeUUID(b[pos:])
	case thriftwire.String:
		_, n = compact.ConsumeBytes(b[pos:])
	case thriftwire.Struct:
		return readFields(d, b, pos, depth)
	case thriftwire.Map:
		key, elem, size, n = d.ConsumeMap(b[pos:])
		parts = []thriftwire.Type{key, elem}
	default:
		elem, size, n = d.ConsumeList(b[pos:])
		parts = []thriftwire.Type{elem}
	}
	if parts != nil && depth <= 0 {
		n = thriftwire.ErrDepth
	}
	if n < 0 {
		return pos, n
	}
	pos += n
	for range size {
		for _, part := range parts {
			if pos, code = read(d, b, pos, part, depth-1); code < 0 {
				return pos, code
			}
		}
	}
	return pos, 0
}

func readFields(d compact.Dialect, b []byte, pos, depth int) (end, code int) {
	if depth <= 0 {
		return pos, thriftwire.ErrDepth
	}
	for last := int16(0); ; {
		f, n := d.ConsumeField(b[pos:], last)
		if n < 0 {
			return pos, n
		}
		pos, last = pos+n, f.ID
		switch f.Type {
		case thriftwire.Stop:
			return pos, 0
		case thriftwire.Bool:
			continue
		}
		if pos, code = read(d, b, pos, f.Type, depth-1); code < 0 {
			return pos, code
		}
	}
}

func TestSkippingEndsWhereReadingDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.SampledFrom([]conform.Protocol{conform.Apache, conform.FBThrift}).Draw(rt, "protocol")
		d := compact.Apache
		if p == conform.FBThrift {
			d = compact.FBThrift
		}
		typ := conform.Struct(rt, conform.DefaultShape.Of(p))
		b := conform.Append(nil, p, typ, conform.Value(rt, typ, 5))
		depth := rapid.IntRange(2, 16).Draw(rt, "depth")
		for _, in := range [][]byte{b, append(b, "what follows"...), conform.Damaged(rt, b)} {
			end, code := d.SkipAt(in, 0, thriftwire.Struct, depth)
			if want, wantCode := read(d, in, 0, thriftwire.Struct, depth); end != want || code != wantCode {
				rt.Fatalf("%x: %d (%v), want %d (%v)", in, end, thriftwire.Error(code), want, thriftwire.Error(wantCode))
			}
		}
	})
}

// wanted lists the ids of a struct's fields that a filter lets through, found
// by reading every field, and where the walk ended.
func wanted(d compact.Dialect, b []byte, filter uint64, depth int) (ids []int16, end, code int) {
	for last := int16(0); ; {
		f, n := d.ConsumeField(b[end:], last)
		if n < 0 || f.Type == thriftwire.Stop {
			return ids, end, min(n, 0)
		}
		if filter>>(uint16(f.ID)%64)&1 != 0 {
			ids = append(ids, f.ID)
		}
		end, last = end+n, f.ID
		if f.Type != thriftwire.Bool {
			if end, code = read(d, b, end, f.Type, depth); code < 0 {
				return ids, end, code
			}
		}
	}
}

func TestSkippingStopsAtEveryFieldThatMayBeWanted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		typ := conform.Struct(rt, conform.DefaultShape.Of(conform.Apache))
		b := conform.Append(nil, conform.Apache, typ, conform.Value(rt, typ, 4))
		filter := rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64()).Draw(rt, "filter")
		d := compact.Apache
		for _, in := range [][]byte{b, append(b, "what follows"...), conform.Damaged(rt, b)} {
			want, wantEnd, wantCode := wanted(d, in, filter, 16)
			var ids []int16
			pos, last, code := d.SkipUntil(in, 0, 0, filter, 16)
			for code == 0 {
				f, n := d.ConsumeField(in[pos:], last)
				if n < 0 {
					code = n
				}
				if n < 0 || f.Type == thriftwire.Stop {
					break
				}
				ids = append(ids, f.ID)
				pos += n
				if f.Type != thriftwire.Bool {
					if pos, code = d.SkipAt(in, pos, f.Type, 16); code < 0 {
						break
					}
				}
				pos, last, code = d.SkipUntil(in, pos, f.ID, filter, 16)
			}
			if !slices.Equal(ids, want) || pos != wantEnd || code != wantCode {
				rt.Fatalf("%x with %x: %v to %d (%d), want %v to %d (%d)", in, filter, ids, pos, code, want, wantEnd, wantCode)
			}
		}
	})
}
