package dynamic

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the text of paths.

// ParsePath reads a path such as items[3].price or tags["a"].7 (field 7):
//
//	name, .name        a field by name
//	3, .3, .-1         a field by id
//	[3]                an element, or the entry with that integer for a key (up to 2^64-1)
//	["a"], [true]      an entry by key; a string is quoted as in Go
//	[1.5], [NaN]       an entry by a double
//	[#12:08000100…00]  an entry by an encoded key: wire type and hexadecimal bytes
//	[^3], [$]          the gap before an element, after the last
//
// Empty text is the path to the value itself. The offset of a fault is in text.
func ParsePath(text string) ([]Step, error) {
	var steps []Step
	pos := 0
	for pos < len(text) {
		if text[pos] == '[' {
			s, n, detail := parseKey(text[pos+1:])
			if detail != "" {
				return nil, diag.NewFault(diag.Syntax, pos+1, detail)
			}
			steps = append(steps, s)
			pos += 1 + n
			continue
		}
		if text[pos] == '.' {
			if pos == 0 {
				return nil, diag.NewFault(diag.Syntax, 0, "a path starts without a dot")
			}
			pos++
		} else if pos > 0 {
			return nil, diag.NewFault(diag.Syntax, pos, "a dot or bracket expected")
		}
		name := text[pos : pos+nameLength(text[pos:])]
		s, ok := parseField(name)
		if !ok {
			return nil, diag.NewFault(diag.Syntax, pos, "a field's name or id expected")
		}
		steps = append(steps, s)
		pos += len(name)
	}
	return steps, nil
}

// nameLength returns the length of the name or number at the front of text.
func nameLength(text string) int {
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c >= 0x80, c == '-' && i == 0:
		default:
			return i
		}
	}
	return len(text)
}

// parseField reads a name or an id.
func parseField(name string) (Step, bool) {
	if name == "" {
		return Step{}, false
	}
	if c := name[0]; c != '-' && (c < '0' || c > '9') {
		return Name(name), true
	}
	id, err := strconv.ParseInt(name, 10, 32)
	return FieldNumber(int32(id)), err == nil
}

// parseKey reads what stands in brackets, with the closing one.
func parseKey(text string) (s Step, n int, detail string) {
	if quoted, err := strconv.QuotedPrefix(text); err == nil && quoted[0] == '"' {
		key, _ := strconv.Unquote(quoted)
		if !strings.HasPrefix(text[len(quoted):], "]") {
			return s, 0, "a closing bracket expected after the key"
		}
		return Key(key), len(quoted) + 1, ""
	}
	end := strings.IndexByte(text, ']')
	if end < 0 {
		return s, 0, "no closing bracket"
	}
	word := text[:end]
	n = end + 1
	switch {
	case word == "true", word == "false":
		return BoolKey(word == "true"), n, ""
	case word == "$":
		return End(), n, ""
	case strings.HasPrefix(word, "^"):
		i, err := strconv.ParseUint(word[1:], 10, 31)
		if err != nil {
			return s, 0, "an index expected"
		}
		return Before(int(i)), n, ""
	case strings.HasPrefix(word, "#"):
		t, data, _ := strings.Cut(word[1:], ":")
		num, err := strconv.ParseUint(t, 10, 8)
		key, err2 := hex.DecodeString(data)
		if err != nil || err2 != nil {
			return s, 0, "a wire type and hexadecimal bytes expected"
		}
		return NodeKey(NewNode(thriftwire.Type(num), key)), n, ""
	}
	if i, err := strconv.ParseInt(word, 10, 64); err == nil {
		return Step{kind: stepNumber, num: i}, n, ""
	}
	if i, err := strconv.ParseUint(word, 10, 64); err == nil {
		return UintKey(i), n, ""
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return s, 0, "an index or key expected"
	}
	return DoubleKey(f), n, ""
}

func formatSteps(steps []Step) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString(s.String())
	}
	return strings.TrimPrefix(b.String(), ".")
}
