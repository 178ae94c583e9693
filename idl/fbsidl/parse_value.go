package fbsidl

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Attributes, values and strings.

// meta reads an optional (name: value, …) into list.
func (p *parser) meta(list *[]*attribute) bool {
	if !p.accept('(') {
		return true
	}
	for {
		a := &attribute{}
		switch t := p.peek(); t.kind {
		case tokIdent:
			a.name, _ = p.name("")
		case tokString:
			s, _ := p.stringNode("")
			a.name = ident{s.text, s.pos}
		default:
			p.unexpected("the name of an attribute")
			return false
		}
		if p.accept(':') {
			if a.value = p.value(0); a.value == nil {
				return false
			}
		}
		a.pos = pos{a.name.pos.start, p.prevEnd()}
		*list = append(*list, a)
		if p.accept(')') {
			return true
		}
		if p.peek().kind != ',' {
			p.unexpected("',' or ')' after the attribute")
			return false
		}
		p.next()
	}
}

// value reads a default or the value of an attribute. What it means depends on
// the type that it is for.
func (p *parser) value(depth int) *valueNode {
	if depth > maxValueDepth {
		p.errorAt(codeNestingDepth, "the value is nested more than %d levels deep", maxValueDepth)
		return nil
	}
	t := p.peek()
	n := &valueNode{}
	switch t.kind {
	case tokInt, tokFloat:
		p.next()
		n.form, n.text = intForm, p.textOf(t.span)
		if t.kind == tokFloat {
			n.form = floatForm
		}
		n.bad = p.bad[t.span.start]
	case tokString:
		s, _ := p.stringNode("")
		n.form, n.text = stringForm, s.text
		n.plain = isPlain(p.textOf(t.span))
	case '+', '-', tokIdent:
		if !p.named(n, depth) {
			return nil
		}
	case '[':
		p.next()
		if p.peek().kind != ']' {
			p.errorAt(codeVectorDefault, "a vector's default can only be []")
			return nil
		}
		p.next()
		n.form = emptyForm
	default:
		p.unexpected("a value")
		return nil
	}
	n.pos = pos{t.span.start, p.prevEnd()}
	return n
}

// named reads a name with its sign, and the value in parentheses if they follow
// at once.
func (p *parser) named(n *valueNode, depth int) bool {
	if t := p.peek(); t.kind != tokIdent {
		n.text = string(rune(t.kind))
		p.next()
	}
	id, ok := p.name("a name after the sign")
	if !ok {
		return false
	}
	n.form, n.text = identForm, n.text+id.name
	if p.peek().kind != '(' {
		return true
	}
	if p.peek().span.start != id.pos.end {
		if functions[id.name] == nil {
			return true // attributes
		}
		p.errorAt(codeBadNumber, "the parenthesis must follow %s at once", id.name)
		return false
	}
	p.next()
	n.form = callForm
	n.arg = p.value(depth + 1)
	return n.arg != nil && p.expect(')', "after the value")
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
	t := p.peek()
	if t.kind != tokString {
		p.unexpected(what)
		return stringNode{}, false
	}
	p.next()
	raw := p.textOf(t.span)
	body := raw[1:]
	if len(body) > 0 && body[len(body)-1] == raw[0] {
		body = body[:len(body)-1]
	}
	if strings.IndexByte(body, '\\') >= 0 {
		body = p.unescape(body, int(t.span.start)+1)
	}
	if !utf8.ValidString(body) {
		p.rep.Errorf(p.file.span(t.span), codeInvalidUTF8, "the string is no UTF-8 text")
		body = strings.ToValidUTF8(body, "\uFFFD")
	}
	return stringNode{body, t.span}, true
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '"': '"', '\'': '\'', '\\': '\\', '/': '/'}

// unescape resolves the escapes of a string's body, which begins at offset at.
func (p *parser) unescape(body string, at int) string {
	var b strings.Builder
	b.Grow(len(body))
	high := rune(-1) // the first half of a surrogate pair that waits for the second
	bad := func(i, n int, message string) {
		p.rep.Errorf(p.file.span(pos{int32(at + i), int32(at + min(i+n, len(body)))}), codeBadEscape, "%s", message)
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
