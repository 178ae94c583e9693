package jsonwire

// This file steps over what a reader has no use for, as strictly as if it had.

// SkipSpace returns the number of white space bytes at the front of b.
func SkipSpace(b []byte) int {
	for i, c := range b {
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return i
		}
	}
	return len(b)
}

// SkipLiteral returns the length of word, which is null, true or false, if it
// stands at the front of b.
func SkipLiteral(b []byte, word string) int {
	n := min(len(b), len(word))
	if string(b[:n]) != word[:n] {
		return ErrSyntax
	}
	if n < len(word) {
		return ErrEOF
	}
	return n
}

// Skip returns the length of the value at the front of b, or a negative error.
// It checks the whole value but for names that stand twice in an object, and
// follows at most depth levels of arrays and objects.
func Skip(b []byte, depth int) int {
	if len(b) == 0 {
		return ErrEOF
	}
	switch b[0] {
	case '"':
		n, _ := SkipString(b)
		return n
	case '{', '[':
		if depth <= 0 {
			return ErrDepth
		}
		return skipNested(b, depth-1)
	case 'n':
		return SkipLiteral(b, "null")
	case 't':
		return SkipLiteral(b, "true")
	case 'f':
		return SkipLiteral(b, "false")
	default:
		return SkipNumber(b)
	}
}

// skipNested steps over an array or object.
func skipNested(b []byte, depth int) int {
	object := b[0] == '{'
	end := b[0] + 2 // ']' and '}' stand two after '[' and '{'
	i := 1 + SkipSpace(b[1:])
	if i < len(b) && b[i] == end {
		return i + 1
	}
	for {
		if object {
			n := SkipName(b[i:])
			if n < 0 {
				return n
			}
			i += n
		}
		n := Skip(b[i:], depth)
		if n < 0 {
			return n
		}
		i += n
		i += SkipSpace(b[i:])
		if i == len(b) {
			return ErrEOF
		}
		switch b[i] {
		case ',':
			i++
			i += SkipSpace(b[i:])
		case end:
			return i + 1
		default:
			return ErrSyntax
		}
	}
}

// SkipName returns the length of a member's name, the colon and the white
// space around it.
func SkipName(b []byte) int {
	n, _ := SkipString(b)
	if n < 0 {
		return n
	}
	n += SkipSpace(b[n:])
	if n == len(b) {
		return ErrEOF
	}
	if b[n] != ':' {
		return ErrSyntax
	}
	n++
	return n + SkipSpace(b[n:])
}
