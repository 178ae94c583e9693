package same

import (
	"fmt"
	"slices"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// maxDepth is deeper than any value of the benchmarks.
const maxDepth = 64

// Message is the canonical form of a struct in the binary protocol: all its
// bytes, with the entries of every map sorted and the fields of every struct in
// the order of their ids, each behind its id. Bytes after the struct are an
// error.
func Message(b []byte) ([]byte, error) {
	out, n, err := canonical(nil, b, thriftwire.Struct, maxDepth)
	if err != nil {
		return nil, err
	}
	if n != len(b) {
		return nil, fmt.Errorf("%d bytes follow the message", len(b)-n)
	}
	return out, nil
}

// canonical appends the canonical form of the value of type t at the front of
// b, and returns how many bytes the value took.
func canonical(out, b []byte, t thriftwire.Type, depth int) ([]byte, int, error) {
	switch t {
	case thriftwire.Struct, thriftwire.Map, thriftwire.List, thriftwire.Set:
	default:
		n := thriftwire.Skip(b, t, 0)
		if n < 0 {
			return nil, 0, thriftwire.Error(n)
		}
		return append(out, b[:n]...), n, nil
	}
	if depth == 0 {
		return nil, 0, thriftwire.Error(thriftwire.ErrDepth)
	}
	switch t {
	case thriftwire.Struct:
		return canonicalStruct(out, b, depth-1)
	case thriftwire.Map:
		return canonicalMap(out, b, depth-1)
	}
	elem, size, n := thriftwire.ConsumeList(b)
	if n < 0 {
		return nil, 0, thriftwire.Error(n)
	}
	out = append(out, b[:n]...)
	for range size {
		var m int
		var err error
		if out, m, err = canonical(out, b[n:], elem, depth-1); err != nil {
			return nil, 0, err
		}
		n += m
	}
	return out, n, nil
}

func canonicalStruct(out, b []byte, depth int) ([]byte, int, error) {
	var fields []string
	for n := 0; ; {
		t, id, m := thriftwire.ConsumeField(b[n:])
		if m < 0 {
			return nil, 0, thriftwire.Error(m)
		}
		n += m
		if t == thriftwire.Stop {
			return append(appendSorted(out, fields), byte(thriftwire.Stop)), n, nil
		}
		// The id goes first, so that it decides the order.
		f := thriftwire.AppendField(thriftwire.AppendI16(nil, id), t, id)
		f, m, err := canonical(f, b[n:], t, depth)
		if err != nil {
			return nil, 0, err
		}
		fields = append(fields, string(f))
		n += m
	}
}

func canonicalMap(out, b []byte, depth int) ([]byte, int, error) {
	key, elem, size, n := thriftwire.ConsumeMap(b)
	if n < 0 {
		return nil, 0, thriftwire.Error(n)
	}
	out = append(out, b[:n]...)
	entries := make([]string, size)
	for i := range entries {
		e, m, err := canonical(nil, b[n:], key, depth)
		if err != nil {
			return nil, 0, err
		}
		n += m
		if e, m, err = canonical(e, b[n:], elem, depth); err != nil {
			return nil, 0, err
		}
		n += m
		entries[i] = string(e)
	}
	return appendSorted(out, entries), n, nil
}

func appendSorted(out []byte, parts []string) []byte {
	slices.Sort(parts)
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}
