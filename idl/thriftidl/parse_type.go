package thriftidl

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/idl/internal/syntax"
)

// Types, annotations and constant values.

// fieldType reads a type. Void is read too, and refused when it is resolved.
func (p *parser) fieldType(depth int) (*typeNode, bool) {
	if depth > maxTypeDepth {
		p.ErrorAt(codeNestingDepth, "the type is nested more than %d levels deep", maxTypeDepth)
		return nil, false
	}
	start := p.Peek().Pos.Start
	name, ok := p.name("a type")
	if !ok {
		return nil, false
	}
	n := &typeNode{name: name}
	if k := p.Peek(); (name.kw == kwList || name.kw == kwSet || name.kw == kwMap) && (k.Kind == '<' || k.Own.kw == kwCppType) {
		n.kw = name.kw
		if !p.containerParts(n, depth) {
			return nil, false
		}
	}
	if n.annots, ok = p.annotations(n.annots); !ok {
		return nil, false
	}
	n.pos = syntax.Between(start, p.LastEnd())
	return n, true
}

// containerParts reads what follows list, set or map.
func (p *parser) containerParts(n *typeNode, depth int) bool {
	if !p.cppType(n) || !p.Expect('<', "after "+n.name.name) {
		return false
	}
	var ok bool
	if n.kw == kwMap {
		if n.key, ok = p.fieldType(depth + 1); !ok {
			return false
		}
		if !p.Expect(',', "between the map's types") {
			return false
		}
	}
	if n.elem, ok = p.fieldType(depth + 1); !ok {
		return false
	}
	return p.Expect('>', "after the type") && p.cppType(n)
}

// cppType reads an optional cpp_type "…", kept as the annotation cpp.type.
func (p *parser) cppType(n *typeNode) bool {
	t := p.Peek()
	if t.Own.kw != kwCppType {
		return true
	}
	p.Next()
	text, place, ok := p.stringLiteral("a C++ type in quotes")
	if ok {
		n.annots = append(n.annots, &annotNode{
			name: ident{name: "cpp.type", pos: t.Pos}, value: text, hasValue: true, pos: syntax.Between(t.Pos.Start, place.End),
		})
	}
	return ok
}

// annotations reads an optional (name = "value", …) and appends it to list.
func (p *parser) annotations(list []*annotNode) ([]*annotNode, bool) {
	if p.Peek().Kind != '(' {
		return list, true
	}
	ok := p.body('(', ')', "", func() bool {
		a, ok := p.annotation()
		if ok {
			list = append(list, a)
		}
		return ok
	})
	return list, ok
}

func (p *parser) annotation() (*annotNode, bool) {
	name, ok := p.name("the name of an annotation")
	if !ok {
		return nil, false
	}
	a := &annotNode{name: name}
	if p.Accept('=') {
		a.hasValue = true
		switch t := p.Peek(); {
		case t.Kind == tokString:
			a.value, _, _ = p.stringLiteral("")
		case t.Kind == tokInt || t.Kind == tokFloat || t.Own.kw == kwTrue || t.Own.kw == kwFalse:
			a.value = p.TextOf(p.Next().Pos)
		default:
			p.Unexpected("a string")
			return nil, false
		}
	}
	a.pos = syntax.Between(name.pos.Start, p.LastEnd())
	p.separator()
	return a, true
}

// structuredAnnotations reads any number of @Name and @Name{field = value}.
func (p *parser) structuredAnnotations() (list []*annotNode, ok bool) {
	for p.Peek().Kind == '@' {
		start := p.Next().Pos.Start
		if p.Peek().NL {
			p.Unexpected("the name of an annotation")
			return nil, false
		}
		name, ok := p.name("the name of an annotation")
		if !ok {
			return nil, false
		}
		literal := &valueNode{form: structForm, name: name}
		if p.Peek().Kind == '{' {
			if literal, ok = p.structLiteral(name, 0); !ok {
				return nil, false
			}
		}
		literal.pos = syntax.Between(start, p.LastEnd())
		list = append(list, &annotNode{name: name, literal: literal, pos: literal.pos})
	}
	return list, true
}

// value reads a constant value.
func (p *parser) value(depth int) (*valueNode, bool) {
	if depth > maxValueDepth {
		p.ErrorAt(codeNestingDepth, "the value is nested more than %d levels deep", maxValueDepth)
		return nil, false
	}
	t := p.Peek()
	n := &valueNode{}
	ok := true
	switch {
	case t.Kind == tokInt || (t.Kind == '-' || t.Kind == '+') && p.PeekAt(1).Kind == tokInt:
		var i *intNode
		if i, ok = p.intLiteral(); ok {
			n.form, n.num = intForm, i.value
		}
	case t.Kind == tokFloat || (t.Kind == '-' || t.Kind == '+') && p.PeekAt(1).Kind == tokFloat:
		n.form = floatForm
		n.float, ok = p.floatLiteral()
	case t.Kind == tokString:
		n.form = stringForm
		n.str, _, ok = p.stringLiteral("")
	case t.Own.kw == kwTrue || t.Own.kw == kwFalse:
		p.Next()
		n.form = boolForm
		if t.Own.kw == kwTrue {
			n.num = 1
		}
	case t.Kind == tokIdent:
		name, _ := p.name("")
		if p.Peek().Kind == '{' && !p.Peek().NL {
			return p.structLiteral(name, depth)
		}
		n.form, n.name = nameForm, name
	case t.Kind == '[':
		n.form = listForm
		ok = p.body('[', ']', "", func() bool {
			elem, ok := p.value(depth + 1)
			if ok {
				n.list = append(n.list, elem)
				p.separator()
			}
			return ok
		})
	case t.Kind == '{':
		n.form = mapForm
		ok = p.body('{', '}', "", func() bool { return p.pair(n, depth) })
	default:
		p.Unexpected("a value")
		return nil, false
	}
	n.pos = syntax.Between(t.Pos.Start, p.LastEnd())
	return n, ok
}

// pair reads an entry of a map literal.
func (p *parser) pair(n *valueNode, depth int) bool {
	key, ok := p.value(depth + 1)
	if !ok {
		return false
	}
	if p.Peek().Kind != ':' {
		if n.broken {
			return false
		}
		n.broken = true
		d := p.Unexpected("':' after the key")
		if k := p.Peek().Kind; k == ',' || k == '}' {
			d.Hint = "braces are for maps and structs; lists and sets are written [a, b]"
		}
		return false
	}
	p.Next()
	val, ok := p.value(depth + 1)
	if !ok {
		return false
	}
	n.pairs = append(n.pairs, pairNode{key, val})
	p.separator()
	return true
}

// structLiteral reads {field = value} after name.
func (p *parser) structLiteral(name ident, depth int) (*valueNode, bool) {
	n := &valueNode{form: structForm, name: name}
	ok := p.body('{', '}', "", func() bool {
		field, ok := p.name("the name of a field")
		if !ok || !p.Expect('=', "after the field's name") {
			return false
		}
		val, ok := p.value(depth + 1)
		if ok {
			n.fields = append(n.fields, fieldInit{field, val})
			p.separator()
		}
		return ok
	})
	n.pos = syntax.Between(name.pos.Start, p.LastEnd())
	return n, ok
}

// intLiteral reads an integer: decimal, 0x, 0b or 0o, with a sign.
func (p *parser) intLiteral() (*intNode, bool) {
	t := p.Next()
	span, sign := t.Pos, ""
	if t.Kind == '-' || t.Kind == '+' {
		sign = string(rune(t.Kind))
		t = p.Peek()
		if t.Kind != tokInt {
			p.Unexpected("a number")
			return nil, false
		}
		p.Next()
		span.End = t.Pos.End
	}
	if t.Kind != tokInt {
		p.At--
		p.Unexpected("an integer")
		return nil, false
	}
	text := sign + p.TextOf(t.Pos)
	digits := strings.TrimLeft(text, "+-")
	base, where := 10, digits
	if len(digits) > 2 && digits[0] == '0' {
		switch digits[1] | 0x20 {
		case 'x':
			base, where = 16, digits[2:]
		case 'b':
			base, where = 2, digits[2:]
		case 'o':
			base, where = 8, digits[2:]
		}
	}
	if strings.HasPrefix(text, "-") {
		where = "-" + where
	}
	v, err := strconv.ParseInt(where, base, 64)
	n := &intNode{value: v, pos: span}
	switch {
	case err == nil:
		if base == 10 && len(digits) > 1 && digits[0] == '0' {
			p.Rep.Warnf(p.file.span(span), codeLeadingZero, "%s is read as the decimal number %d", report.Clip(text), v).
				Hint = "leave out the leading zeros: other compilers read the number as octal"
		}
	case strings.Contains(err.Error(), strconv.ErrRange.Error()):
		p.Rep.Errorf(p.file.span(span), codeOutOfRange, "the number %s does not fit in 64 bits", report.Clip(text))
	default:
		p.Rep.Errorf(p.file.span(span), codeBadNumber, "%q is no number", report.Clip(text))
	}
	return n, true
}

func (p *parser) floatLiteral() (float64, bool) {
	t := p.Next()
	start, sign := t.Pos.Start, 1.0
	if t.Kind != tokFloat {
		if t.Kind == '-' {
			sign = -1
		}
		t = p.Next()
	}
	f, err := strconv.ParseFloat(p.TextOf(t.Pos), 64)
	if err != nil && math.IsInf(f, 0) {
		p.Rep.Errorf(p.file.span(syntax.Between(start, t.Pos.End)), codeOutOfRange, "the number %s does not fit in a double",
			report.Clip(p.TextOf(t.Pos)))
	}
	return sign * f, true
}

// stringLiteral reads a string and its escapes.
func (p *parser) stringLiteral(what string) (text string, place pos, ok bool) {
	t := p.Peek()
	if t.Kind != tokString {
		p.Unexpected(what)
		return "", pos{}, false
	}
	p.Next()
	raw := p.TextOf(t.Pos)
	quote := raw[:1]
	body := raw[1:]
	if len(body) > 0 && strings.HasSuffix(body, quote) {
		body = body[:len(body)-1]
	}
	if strings.IndexByte(body, '\\') < 0 {
		return body, t.Pos, true
	}
	return p.unescape(body, t.Pos), t.Pos, true
}

// unescape resolves the escapes of a string's body. Unknown ones stay as they
// are: regular expressions in annotations are full of them.
func (p *parser) unescape(body string, place pos) string {
	var b strings.Builder
	b.Grow(len(body))
	for i := 0; i < len(body); {
		if body[i] != '\\' || i+1 == len(body) {
			b.WriteByte(body[i])
			i++
			continue
		}
		at := int(place.Start) + 1 + i
		c := body[i+1]
		i += 2
		switch c {
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case '\\', '"', '\'':
			b.WriteByte(c)
		case '\n':
			// A backslash at the end of a line joins it with the next.
		case 'x', 'u':
			n := 2
			if c == 'u' {
				n = 4
			}
			v, err := strconv.ParseUint(body[i:min(i+n, len(body))], 16, 32)
			if err != nil || i+n > len(body) || c == 'u' && !utf8.ValidRune(rune(v)) {
				p.badEscape(at, c)
				b.WriteByte('\\')
				b.WriteByte(c)
				continue
			}
			i += n
			if c == 'x' {
				b.WriteByte(byte(v))
			} else {
				b.WriteRune(rune(v))
			}
		default:
			p.badEscape(at, c)
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (p *parser) badEscape(at int, c byte) {
	shown := "\\"
	if c > ' ' && c < utf8.RuneSelf {
		shown += string(rune(c))
	}
	p.Rep.Warnf(p.file.span(syntax.Between(at, at+1)), codeBadEscape, "%s is no escape, the backslash is kept", shown).
		Hint = "the Apache compiler refuses it; write \\\\ for a backslash"
}

// checkUTF8 warns about text that is no UTF-8, which can only stand in comments
// and strings.
func (p *parser) checkUTF8() {
	if utf8.ValidString(p.Text) {
		return
	}
	for i, r := range p.Text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(p.Text[i:]); n == 1 {
				p.Rep.Warnf(p.file.span(syntax.Between(i, i+1)), codeInvalidUTF8, "the file is not UTF-8 text")
				return
			}
		}
	}
}
