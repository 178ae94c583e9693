package fbsidl

import (
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/idl/internal/syntax"
)

// parser turns tokens into a syntax tree by recursive descent. A method that
// cannot go on reports why and returns false (or nil); the loop around it then
// moves to where the next part starts and goes on, so that one run reports
// several mistakes.
type parser struct {
	*lexed
	syntax.Tokens[notes]
	file *fileNode
}

// parse reads a file. It always returns a tree, which holds what could be read.
func parse(src *diag.Source, rep *report.Reporter) *fileNode {
	l := lex(src, rep)
	p := &parser{lexed: &l.lexed, Tokens: syntax.NewTokens(&l.Scanner, l.tokens), file: &fileNode{src: src}}
	if len(p.tokens) == 1 && rep.Errors == 0 {
		rep.Errorf(p.file.span(syntax.Between(0, 0)), codeEmptyFile, "the file is empty").Hint = "flatc refuses a file without a statement"
	}
	for p.Peek().Kind != tokEOF {
		start := p.At
		p.Part = start
		if !p.statement() {
			p.skipStatement(start)
		}
	}
	return p.file
}

// word returns the text of the token n places ahead if it is a name, else "".
func (p *parser) word(n int) string {
	if t := p.PeekAt(n); t.Kind == tokIdent {
		return p.TextOf(t.Pos)
	}
	return ""
}

// name reads an identifier.
func (p *parser) name(what string) (ident, bool) {
	t := p.Peek()
	if t.Kind != tokIdent {
		p.Unexpected(what)
		return ident{}, false
	}
	p.Next()
	return ident{p.TextOf(t.Pos), t.Pos}, true
}

// dotted reads a name that may have dots.
func (p *parser) dotted(what string) (ident, bool) {
	id, ok := p.name(what)
	if !ok || p.Peek().Kind != '.' {
		return id, ok
	}
	parts := []string{id.name}
	for p.Accept('.') {
		part, ok := p.name("a name after the dot")
		if !ok {
			return id, false
		}
		parts = append(parts, part.name)
		id.pos.End = part.pos.End
	}
	id.name = strings.Join(parts, ".")
	if len(id.name) > maxNameLength {
		p.Rep.Errorf(p.file.span(id.pos), codeNameTooLong, "the name has %d letters, at most %d are allowed", len(id.name), maxNameLength)
		id.name = id.name[:maxNameLength]
	}
	return id, true
}

// doc returns the documentation in front of the next token, its lines without
// the blank that follows the slashes.
func (p *parser) doc() string {
	t := p.Peek()
	if t.Own.docFrom == t.Own.docTo {
		return ""
	}
	lines := make([]string, 0, t.Own.docTo-t.Own.docFrom)
	for _, d := range p.docs[t.Own.docFrom:t.Own.docTo] {
		lines = append(lines, strings.TrimPrefix(p.TextOf(d), " "))
	}
	return strings.Join(lines, "\n")
}

// startsDeclaration reports whether the next token starts a declaration on a
// line of its own, beyond doubt: a body that reaches one lacks its brace.
func (p *parser) startsDeclaration() bool {
	if !p.Peek().NL || !isDeclaration(p.word(0)) || p.word(1) == "" {
		return false
	}
	k := p.PeekAt(2).Kind
	return k == '{' || k == '(' || k == ':' && p.word(0) != wordTable && p.word(0) != wordStruct
}

// body reads the parts of a declaration up to its brace. part reads one; after
// a mistake the loop finds the next.
func (p *parser) body(where string, part func() bool) bool {
	opening := p.Peek().Pos
	if !p.Expect('{', where) {
		return false
	}
	for {
		switch t := p.Peek(); {
		case t.Kind == '}':
			p.Next()
			return true
		case t.Kind == tokEOF || p.startsDeclaration():
			d := p.ErrorAt(codeMissingBrace, "expected '}' before %s", p.Describe(t))
			d.Notes = append(d.Notes, report.Note(p.file.span(opening), "to close this '{'"))
			return true
		}
		start := p.At
		p.Part = start
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
		t := p.Peek()
		switch t.Kind {
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
				p.Next()
				return
			}
		default:
			if p.At > start && t.NL && (depth == 0 && t.Kind == tokIdent || p.startsDeclaration()) {
				return
			}
		}
		p.Next()
	}
}
