package fbsidl

import (
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/report"
)

// parser turns tokens into a syntax tree by recursive descent. A method that
// cannot go on reports why and returns false (or nil); the loop around it then
// moves to where the next part starts and goes on, so that one run reports
// several mistakes.
type parser struct {
	*lexed
	file *fileNode
	rep  *report.Reporter
	at   int // index of the next token
	// lastError is the token at which the last error was reported; a second
	// error at the same token would be an echo.
	lastError int
	part      int // the token at which the part of a body or file being read starts
}

// parse reads a file. It always returns a tree, which holds what could be read.
func parse(src *diag.Source, rep *report.Reporter) *fileNode {
	p := &parser{lexed: lex(src, rep), file: &fileNode{src: src}, rep: rep, lastError: -1}
	if len(p.tokens) == 1 && rep.Errors == 0 {
		rep.Errorf(p.file.span(pos{0, 0}), codeEmptyFile, "the file is empty").Hint = "flatc refuses a file without a statement"
	}
	for p.peek().kind != tokEOF {
		start := p.at
		p.part = start
		if !p.statement() {
			p.skipStatement(start)
		}
	}
	return p.file
}

func (p *parser) peek() *token { return &p.tokens[p.at] }

// peekAt returns the token n places ahead, the end of the file after the last.
func (p *parser) peekAt(n int) *token { return &p.tokens[min(p.at+n, len(p.tokens)-1)] }

// next returns the next token and moves on; it never moves past the end.
func (p *parser) next() *token {
	t := &p.tokens[p.at]
	if t.kind != tokEOF {
		p.at++
	}
	return t
}

// accept moves on if the next token is of that kind.
func (p *parser) accept(kind tokenKind) bool {
	if p.peek().kind != kind {
		return false
	}
	p.next()
	return true
}

// expect moves past a token of that kind; where tells its place.
func (p *parser) expect(kind tokenKind, where string) bool {
	if p.accept(kind) {
		return true
	}
	p.unexpected("'" + string(rune(kind)) + "' " + where)
	return false
}

// unexpected reports that something else was wanted at the next token. Where
// that token starts a new line, what is missing belongs to the end of the line
// before, unless the token is the first of what is being read.
func (p *parser) unexpected(wanted string) *diag.Diagnostic {
	found := p.describe(p.peek())
	if t := p.peek(); t.nl && t.kind != tokEOF && p.at > p.part {
		found = "the end of the line"
	}
	return p.errorAt(codeSyntax, "expected %s, found %s", wanted, found)
}

// errorAt reports an error at the next token, unless one was just reported there.
func (p *parser) errorAt(code, format string, args ...any) *diag.Diagnostic {
	if p.at == p.lastError {
		return &diag.Diagnostic{}
	}
	p.lastError = p.at
	place := p.peek().span
	if t := p.peek(); p.at > 0 && (t.kind == tokEOF || code == codeSyntax && t.nl && p.at > p.part) {
		place = pos{p.prevEnd(), p.prevEnd()}
	}
	return p.rep.Errorf(p.file.span(place), code, format, args...)
}

func (p *parser) describe(t *token) string {
	switch t.kind {
	case tokEOF:
		return "the end of the file"
	case tokIdent:
		return "'" + report.Clip(p.textOf(t.span)) + "'"
	case tokInt, tokFloat:
		return "the number " + report.Clip(p.textOf(t.span))
	case tokString:
		return "a string"
	default:
		return "'" + string(rune(t.kind)) + "'"
	}
}

func (p *parser) textOf(s pos) string { return p.text[s.start:s.end] }

// word returns the text of the token n places ahead if it is a name, else "".
func (p *parser) word(n int) string {
	if t := p.peekAt(n); t.kind == tokIdent {
		return p.textOf(t.span)
	}
	return ""
}

// prevEnd returns the end of the last token that was read.
func (p *parser) prevEnd() int32 {
	if p.at == 0 {
		return 0
	}
	return p.tokens[p.at-1].span.end
}

// name reads an identifier.
func (p *parser) name(what string) (ident, bool) {
	t := p.peek()
	if t.kind != tokIdent {
		p.unexpected(what)
		return ident{}, false
	}
	p.next()
	return ident{p.textOf(t.span), t.span}, true
}

// dotted reads a name that may have dots.
func (p *parser) dotted(what string) (ident, bool) {
	id, ok := p.name(what)
	if !ok || p.peek().kind != '.' {
		return id, ok
	}
	parts := []string{id.name}
	for p.accept('.') {
		part, ok := p.name("a name after the dot")
		if !ok {
			return id, false
		}
		parts = append(parts, part.name)
		id.pos.end = part.pos.end
	}
	id.name = strings.Join(parts, ".")
	if len(id.name) > maxNameLength {
		p.rep.Errorf(p.file.span(id.pos), codeNameTooLong, "the name has %d letters, at most %d are allowed", len(id.name), maxNameLength)
		id.name = id.name[:maxNameLength]
	}
	return id, true
}

// doc returns the documentation in front of the next token, its lines without
// the blank that follows the slashes.
func (p *parser) doc() string {
	t := p.peek()
	if t.docFrom == t.docTo {
		return ""
	}
	lines := make([]string, 0, t.docTo-t.docFrom)
	for _, d := range p.docs[t.docFrom:t.docTo] {
		lines = append(lines, strings.TrimPrefix(p.textOf(d), " "))
	}
	return strings.Join(lines, "\n")
}

// startsDeclaration reports whether the next token starts a declaration on a
// line of its own, beyond doubt: a body that reaches one lacks its brace.
func (p *parser) startsDeclaration() bool {
	if !p.peek().nl || !isDeclaration(p.word(0)) || p.word(1) == "" {
		return false
	}
	k := p.peekAt(2).kind
	return k == '{' || k == '(' || k == ':' && p.word(0) != wordTable && p.word(0) != wordStruct
}

// body reads the parts of a declaration up to its brace. part reads one; after
// a mistake the loop finds the next.
func (p *parser) body(where string, part func() bool) bool {
	opening := p.peek().span
	if !p.expect('{', where) {
		return false
	}
	for {
		switch t := p.peek(); {
		case t.kind == '}':
			p.next()
			return true
		case t.kind == tokEOF || p.startsDeclaration():
			d := p.errorAt(codeMissingBrace, "expected '}' before %s", p.describe(t))
			d.Notes = append(d.Notes, report.Note(p.file.span(opening), "to close this '{'"))
			return true
		}
		start := p.at
		p.part = start
		if !part() {
			p.skipPart(start)
		}
	}
}

// skipPart moves on from a part that could not be read, which began at token
// start, to where the next one may begin, or to what ends the body.
func (p *parser) skipPart(start int) {
	depth := 0
	for {
		t := p.peek()
		switch t.kind {
		case tokEOF:
			return
		case '(', '[', '{':
			depth++
		case ')', ']':
			depth = max(0, depth-1)
		case '}':
			if depth == 0 {
				return
			}
			depth--
		case ',', ';':
			if depth == 0 {
				p.next()
				return
			}
		default:
			if p.at > start && t.nl && (depth == 0 && t.kind == tokIdent || p.startsDeclaration()) {
				return
			}
		}
		p.next()
	}
}
