package compact

import "github.com/thrum-rpc/thrum/wire/thriftwire"

// This file rewrites values of the binary protocol in the compact one and the
// reverse, without a schema: both say the types of what they hold.

// AppendFromBinary appends the value of type t that stands in the binary
// protocol at the front of b, rewritten, and returns how many bytes of b it took or
// a negative error. It follows at most depth levels of nesting. A type that d
// does not have is ErrType.
func (d Dialect) AppendFromBinary(dst, b []byte, t thriftwire.Type, depth int) ([]byte, int) {
	if !d.Has(t) {
		return dst, thriftwire.ErrType
	}
	if n := t.FixedSize(); n > 0 && len(b) < n {
		return dst, thriftwire.ErrEOF
	}
	switch t {
	case thriftwire.Bool:
		v, n := thriftwire.ConsumeBool(b)
		return AppendBool(dst, v), n
	case thriftwire.I8, thriftwire.UUID, thriftwire.Float: // the same bytes in both
		n := t.FixedSize()
		return append(dst, b[:n]...), n
	case thriftwire.I16:
		v, n := thriftwire.ConsumeI16(b)
		return AppendI16(dst, v), n
	case thriftwire.I32:
		v, n := thriftwire.ConsumeI32(b)
		return AppendI32(dst, v), n
	case thriftwire.I64:
		v, n := thriftwire.ConsumeI64(b)
		return AppendI64(dst, v), n
	case thriftwire.Double:
		v, n := thriftwire.ConsumeDouble(b)
		return d.AppendDouble(dst, v), n
	case thriftwire.String:
		v, n := thriftwire.ConsumeBytes(b)
		return AppendBytes(dst, v), n
	}
	if depth <= 0 {
		return dst, thriftwire.ErrDepth
	}
	var n, size int
	parts := [2]thriftwire.Type{}
	used := parts[:1]
	switch t {
	case thriftwire.Struct:
		dst, n = d.AppendFieldsFromBinary(dst, b, 0, depth-1)
		if n < 0 {
			return dst, n
		}
		if n == len(b) {
			return dst, thriftwire.ErrEOF
		}
		return AppendStop(dst), n + 1
	case thriftwire.Map:
		parts[0], parts[1], size, n = thriftwire.ConsumeMap(b)
		used = parts[:2]
		if n > 0 && size > 0 && !(d.Has(parts[0]) && d.Has(parts[1])) {
			return dst, thriftwire.ErrType
		}
		dst = d.AppendMap(dst, parts[0], parts[1], size)
	default:
		parts[0], size, n = thriftwire.ConsumeList(b)
		if n > 0 && !d.Has(parts[0]) {
			if size > 0 {
				return dst, thriftwire.ErrType
			}
			parts[0] = thriftwire.I8 // an empty list may have no type; this one every reader knows
		}
		dst = d.AppendList(dst, parts[0], size)
	}
	for i := 0; n > 0 && i < size; i++ {
		for _, part := range used {
			var m int
			if dst, m = d.AppendFromBinary(dst, b[n:], part, depth-1); m < 0 {
				return dst, m
			}
			n += m
		}
	}
	return dst, n
}

// AppendFieldsFromBinary rewrites the fields at the front of b up to a STOP,
// which it does not take, or the end of b. The field before them had the id last.
func (d Dialect) AppendFieldsFromBinary(dst, b []byte, last int16, depth int) ([]byte, int) {
	n := 0
	for n < len(b) && b[n] != byte(thriftwire.Stop) {
		t, id, m := thriftwire.ConsumeField(b[n:])
		if m < 0 {
			return dst, m
		}
		n += m
		if t == thriftwire.Bool {
			v, m := thriftwire.ConsumeBool(b[n:])
			if m < 0 {
				return dst, m
			}
			dst = AppendBoolField(dst, v, id, last)
			n += m
		} else {
			if !d.Has(t) {
				return dst, thriftwire.ErrType
			}
			if dst, m = d.AppendFromBinary(d.AppendField(dst, t, id, last), b[n:], t, depth); m < 0 {
				return dst, m
			}
			n += m
		}
		last = id
	}
	return dst, n
}

// AppendToBinary appends the value of type t at the front of b, rewritten in
// the binary protocol, and returns how many bytes of b it took or a negative error.
// It follows at most depth levels of nesting.
func (d Dialect) AppendToBinary(dst, b []byte, t thriftwire.Type, depth int) ([]byte, int) {
	switch t {
	case thriftwire.Bool:
		v, n := ConsumeBool(b)
		return thriftwire.AppendBool(dst, v), n
	case thriftwire.I8, thriftwire.UUID, thriftwire.Float:
		n := t.FixedSize()
		if len(b) < n {
			return dst, thriftwire.ErrEOF
		}
		return append(dst, b[:n]...), n
	case thriftwire.I16:
		v, n := ConsumeI16(b)
		return thriftwire.AppendI16(dst, v), n
	case thriftwire.I32:
		v, n := ConsumeI32(b)
		return thriftwire.AppendI32(dst, v), n
	case thriftwire.I64:
		v, n := ConsumeI64(b)
		return thriftwire.AppendI64(dst, v), n
	case thriftwire.Double:
		v, n := d.ConsumeDouble(b)
		return thriftwire.AppendDouble(dst, v), n
	case thriftwire.String:
		v, n := ConsumeBytes(b)
		return thriftwire.AppendBytes(dst, v), n
	}
	if depth <= 0 {
		return dst, thriftwire.ErrDepth
	}
	var n, size int
	parts := [2]thriftwire.Type{}
	used := parts[:1]
	switch t {
	case thriftwire.Struct:
		return d.appendStructToBinary(dst, b, depth-1)
	case thriftwire.Map:
		parts[0], parts[1], size, n = d.ConsumeMap(b)
		used = parts[:2]
		dst = thriftwire.AppendMap(dst, parts[0], parts[1], size)
	case thriftwire.List, thriftwire.Set:
		parts[0], size, n = d.ConsumeList(b)
		dst = thriftwire.AppendList(dst, parts[0], size)
	default:
		return dst, thriftwire.ErrType
	}
	for i := 0; n > 0 && i < size; i++ {
		for _, part := range used {
			var m int
			if dst, m = d.AppendToBinary(dst, b[n:], part, depth-1); m < 0 {
				return dst, m
			}
			n += m
		}
	}
	return dst, n
}

func (d Dialect) appendStructToBinary(dst, b []byte, depth int) ([]byte, int) {
	n, last := 0, int16(0)
	for {
		f, m := d.ConsumeField(b[n:], last)
		if m < 0 {
			return dst, m
		}
		n += m
		if f.Type == thriftwire.Stop {
			return thriftwire.AppendStop(dst), n
		}
		if dst, m = d.AppendFieldToBinary(dst, b[n:], f, depth); m < 0 {
			return dst, m
		}
		n += m
		last = f.ID
	}
}

// AppendFieldToBinary appends the field whose header f was read and whose value
// is at the front of b, and returns how many bytes of b the value took.
func (d Dialect) AppendFieldToBinary(dst, b []byte, f Field, depth int) ([]byte, int) {
	dst = thriftwire.AppendField(dst, f.Type, f.ID)
	if f.Type == thriftwire.Bool {
		return thriftwire.AppendBool(dst, f.True), 0
	}
	return d.AppendToBinary(dst, b, f.Type, depth)
}
