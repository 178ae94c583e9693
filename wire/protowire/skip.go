package protowire

// This file holds the skipping of values whose schema nobody needs.

// maxSkipDepth caps the depth that a caller may ask for, since each level of
// nesting takes stack.
const maxSkipDepth = 4096

// Skip returns the length of the value at the front of b that follows the tag
// of a field, or a negative error. It follows at most depth levels of nested
// groups, and never more than 4096; messages, which are bytes, count as one
// value. For StartGroup the value ends after the tag of the group's end. Time
// is linear in the length, or constant if no group stands.
func Skip(b []byte, number int32, t Type, depth int) int {
	end, code := SkipAt(b, 0, number, t, depth)
	if code < 0 {
		return code
	}
	return end
}

// SkipAt is Skip for the value at b[pos:], which must lie within b. It returns
// the position after the value and 0, or the position of the fault and its
// negative error. A fault stands where the part begins that cannot be read: a
// tag, a number, the length before bytes or, for ErrDepth, the value that is
// nested too deeply.
func SkipAt(b []byte, pos int, number int32, t Type, depth int) (end, code int) {
	return skip(b, pos, number, t, min(depth, maxSkipDepth))
}

func skip(b []byte, pos int, number int32, t Type, depth int) (end, code int) {
	n := 0
	switch t {
	case Varint:
		_, n = ConsumeVarint(b[pos:])
	case Fixed32:
		_, n = ConsumeFixed32(b[pos:])
	case Fixed64:
		_, n = ConsumeFixed64(b[pos:])
	case Bytes:
		_, n = ConsumeBytes(b[pos:])
	case StartGroup:
		if depth <= 0 {
			return pos, ErrDepth
		}
		return skipGroup(b, pos, number, depth-1)
	case EndGroup:
		return pos, ErrGroup
	default:
		return pos, ErrType
	}
	if n < 0 {
		return pos, n
	}
	return pos + n, 0
}

// skipGroup steps over the fields of a group and its end.
func skipGroup(b []byte, pos int, number int32, depth int) (end, code int) {
	for {
		inner, t, n := ConsumeTag(b[pos:])
		if n < 0 {
			return pos, n
		}
		if t == EndGroup {
			if inner != number {
				return pos, ErrGroup
			}
			return pos + n, 0
		}
		if pos, code = skip(b, pos+n, inner, t, depth); code < 0 {
			return pos, code
		}
	}
}
