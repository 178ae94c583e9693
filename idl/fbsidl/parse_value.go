package fbsidl

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/idl/internal/syntax"
)

// Attributes, values and strings.

// meta reads an optional (name: value, …) into list.
func (p *parser) meta(list *[]*attribute) bool {
	if !p.Accept('(') {
		return true
	}
	for {
		a := &attribute{}
		switch t := p.Peek(); t.Kind {
		case tokIdent:
			a.name, _ = p.name("")
		case tokString:
			s, _ := p.stringNode("")
			a.name = ident{s.text, s.pos}
		default:
			p.Unexpected("the name of an attribute")
			return false
		}
		if p.Accept(':') {
			if a.value = p.value(0); a.value == nil {
				return false
			}
		}
		a.pos = syntax.Between(a.name.pos.Start, p.LastEnd())
		*list = append(*list, a)
		if p.Accept(')') {
			return true
		}
		if p.Peek().Kind != ',' {
			p.Unexpected("',' or ')' after the attribute")
			return false
		}
		p.Next()
	}
}

// value reads a default or the value of an attribute. What it means depends on
// the type that it is for.
func (p *parser) value(depth int) *valueNode {
	if depth > maxValueDepth {
		p.ErrorAt(codeNestingDepth, "the value is nested more than %d levels deep", maxValueDepth)
		return nil
	}
	t := p.Peek()
	n := &valueNode{}
	switch t.Kind {
	case tokInt, tokFloat:
		p.Next()
		n.form, n.text = intForm, p.TextOf(t.Pos)
		if t.Kind == tokFloat {
			n.form = floatForm
		}
		n.bad = p.bad[t.Pos.Start]
	case tokString:
		s, _ := p.stringNode("")
		n.form, n.text = stringForm, s.text
		n.plain = isPlain(p.TextOf(t.Pos))
	case '+', '-', tokIdent:
		if !p.named(n, depth) {
			return nil
		}
	case '[':
		p.Next()
		if p.Peek().Kind != ']' {
			p.ErrorAt(codeVectorDefault, "a vector's default can only be []")
			return nil
		}
		p.Next()
		n.form = emptyForm
	default:
		p.Unexpected("a value")
		return nil
	}
	n.pos = syntax.Between(t.Pos.Start, p.LastEnd())
	return n
}

// named reads a name with its sign, and the value in parentheses if they follow
// at once.
func (p *parser) named(n *valueNode, depth int) bool {
	if t := p.Peek(); t.Kind != tokIdent {
		n.text = string(rune(t.Kind))
		p.Next()
	}
	id, ok := p.name("a name after the sign")
	if !ok {
		return false
	}
	n.form, n.text = identForm, n.text+id.name
	if p.Peek().Kind != '(' {
		return true
	}
	if p.Peek().Pos.Start != id.pos.End {
		if functions[id.name] == nil {
			return true // attributes
		}
		p.ErrorAt(codeBadNumber, "the parenthesis must follow %s at once", id.name)
		return false
	}
	p.Next()
	n.form = callForm
	n.arg = p.value(depth + 1)
	return n.arg != nil && p.Expect(')', "after the value")
}

// isPlain reports whether a string, with its quotes, is ASCII without escapes.
func isPlain(raw string) bool {
	for i := range len(raw) {
		if c := raw[i]; c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return true
}

// stringNode reads a string and its escapes.
func (p *parser) stringNode(what string) (stringNode, bool) {
	t := p.Peek()
	if t.Kind != tokString {
		p.Unexpected(what)
		return stringNode{}, false
	}
	p.Next()
	raw := p.TextOf(t.Pos)
	body := raw[1:]
	if len(body) > 0 && body[len(body)-1] == raw[0] {
		body = body[:len(body)-1]
	}
	if strings.IndexByte(body, '\\') >= 0 {
		body = p.unescape(body, int(t.Pos.Start)+1)
	}
	if !utf8.ValidString(body) {
		p.Rep.Errorf(p.file.span(t.Pos), codeInvalidUTF8, "the string is no UTF-8 text")
		body = strings.ToValidUTF8(body, "\uFFFD")
	}
	return stringNode{body, t.Pos}, true
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '"': '"', '\'': '\'', '\\': '\\', '/': '/'}

// unescape resolves the escapes of a string's body, which begins at offset at.
func (p *parser) unescape(body string, at int) string {
	var b strings.Builder
	b.Grow(len(body))
	high := rune(-1) // the first half of a surrogate pair that waits for the second
	bad := func(i, n int, message string) {
		p.Rep.Errorf(p.file.span(syntax.Between(at+i, at+min(i+n, len(body)))), codeBadEscape, "%s", message)
	}
	for i := 0; i < len(body); {
		if high >= 0 && !strings.HasPrefix(body[i:], `\u`) {
			bad(i-6, 6, "the first half of a surrogate pair lacks the second")
			high = -1
		}
		if body[i] != '\\' || i+1 == len(body) {
			b.WriteByte(body[i])
			i++
			continue
		}
		c := body[i+1]
		if plain, ok := escapes[c]; ok {
			b.WriteByte(plain)
			i += 2
			continue
		}
		digits := map[byte]int{'x': 2, 'u': 4}[c]
		if digits == 0 {
			_, n := utf8.DecodeRuneInString(body[i+1:])
			bad(i, 1+n, "FlatBuffers has no such escape")
			i += 1 + n
			continue
		}
		v, err := strconv.ParseUint(body[i+2:min(i+2+digits, len(body))], 16, 32)
		if err != nil || i+2+digits > len(body) {
			bad(i, 2, "the escape needs "+strconv.Itoa(digits)+" hexadecimal digits")
			i += 2
			continue
		}
		r := rune(v)
		switch {
		case c == 'x':
			b.WriteByte(byte(v))
		case high >= 0 && r >= 0xDC00 && r <= 0xDFFF:
			b.WriteRune(utf16.DecodeRune(high, r))
			high = -1
		case high >= 0:
			bad(i-6, 6, "the first half of a surrogate pair lacks the second")
			high = -1
		case r >= 0xD800 && r <= 0xDBFF:
			high = r
		case r >= 0xDC00 && r <= 0xDFFF:
			bad(i, 6, "the second half of a surrogate pair lacks the first")
		default:
			b.WriteRune(r)
		}
		i += 2 + digits
	}
	if high >= 0 {
		bad(len(body)-6, 6, "the first half of a surrogate pair lacks the second")
	}
	return b.String()
}
