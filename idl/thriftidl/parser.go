package thriftidl

import (
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
	depth     int // bodies around the next token
	part      int // the token at which the part of a body or file being read starts
}

// parse reads a file. It always returns a tree, which holds what could be read.
func parse(src *diag.Source, rep *report.Reporter) *fileNode {
	trial := &report.Reporter{}
	file, multiline := parseOnce(src, trial, false)
	if multiline > 0 && trial.Errors > 0 {
		// A string over several lines and a mistake: perhaps a quote is missing and
		// the string swallowed what follows. A missing quote is one error if strings
		// end at lines; a string that is meant to run on is two, one at each end.
		strict := &report.Reporter{}
		strictFile, _ := parseOnce(src, strict, true)
		if strict.Errors <= trial.Errors+multiline {
			file, trial = strictFile, strict
		}
	}
	rep.Absorb(trial)
	return file
}

func parseOnce(src *diag.Source, rep *report.Reporter, endStringsAtLines bool) (file *fileNode, multiline int) {
	p := &parser{
		lexed: lex(src, rep, endStringsAtLines), file: &fileNode{src: src}, rep: rep, lastError: -1,
	}
	p.checkUTF8()
	p.parseFile()
	return p.file, p.multiline
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

// acceptWord moves on if the next token is that keyword.
func (p *parser) acceptWord(kw keyword) bool {
	if p.peek().kw != kw {
		return false
	}
	p.next()
	return true
}

// separator skips an optional comma or semicolon.
func (p *parser) separator() bool { return p.accept(',') || p.accept(';') }

// expect moves past a token of that kind; what describes it.
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

// prevEnd returns the end of the last token that was read.
func (p *parser) prevEnd() int32 {
	if p.at == 0 {
		return 0
	}
	return p.tokens[p.at-1].span.end
}

// name reads an identifier, whatever it means elsewhere.
func (p *parser) name(what string) (ident, bool) {
	t := p.peek()
	if t.kind != tokIdent {
		p.unexpected(what)
		return ident{}, false
	}
	p.next()
	return ident{name: p.textOf(t.span), pos: t.span, kw: t.kw}, true
}

// declName reads the name of something that is declared here. isField tells
// fields, which the Apache compiler lets have the name of a keyword.
func (p *parser) declName(what string, isField bool) (ident, bool) {
	id, ok := p.name(what)
	if !ok {
		return id, false
	}
	for i := range len(id.name) {
		if id.name[i] == '.' {
			p.rep.Errorf(p.file.span(id.pos), codeDottedName, "the name %q must not have a dot", report.Clip(id.name)).
				Hint = "dots join a file's name and a name that it declares"
			break
		}
	}
	if id.kw.reserved() && !isField {
		p.rep.Warnf(p.file.span(id.pos), codeReservedWord, "%q is a reserved word", id.name).
			Hint = "thriftgo accepts it as a name, the Apache compiler does not"
	}
	return id, true
}

// docBefore returns the documentation in front of the next token.
func (p *parser) docBefore() string { return p.docText(p.peek().doc) }

// docAfterAnnotations returns doc or, if there was none in front of the
// annotations that were just read, the one behind them.
func (p *parser) docAfterAnnotations(doc string) string {
	if doc != "" {
		return doc
	}
	return p.docBefore()
}

// inlineDoc returns doc, or the ///< comment after what was just read.
func (p *parser) inlineDoc(doc string) string {
	if doc != "" {
		return doc
	}
	return p.docText(p.peek().inline)
}

func (p *parser) docText(n int32) string {
	if n == 0 {
		return ""
	}
	return cleanDoc(p.textOf(p.docs[n-1]))
}

// startsDeclaration reports whether the next token starts a declaration on a
// line of its own, beyond doubt: a body that reaches one lacks its brace.
func (p *parser) startsDeclaration() bool {
	t := p.peek()
	if !t.nl || t.kind != tokIdent {
		return false
	}
	switch t.kw {
	case kwStruct, kwUnion, kwException, kwEnum, kwSenum, kwService, kwInteraction:
		after := p.peekAt(2)
		return p.peekAt(1).kind == tokIdent && (after.kind == '{' || after.kw == kwExtends)
	case kwConst:
		return p.peekAt(1).kind == tokIdent && (p.peekAt(2).kind == tokIdent && p.peekAt(3).kind == '=' || p.peekAt(2).kind == '<')
	case kwTypedef:
		return p.peekAt(1).kind == tokIdent && (p.peekAt(2).kind == tokIdent || p.peekAt(2).kind == '<')
	}
	return false
}

// startsMethod reports whether the next token starts a method on a line of its
// own, beyond doubt: arguments that reach one lack their parenthesis.
func (p *parser) startsMethod() bool {
	t := p.peek()
	return t.nl && (t.kw == kwVoid || t.kw == kwOneway || t.kw == kwAsync) && p.peekAt(1).kind == tokIdent
}

// body reads the parts of a declaration between open, which is the next token,
// and its partner. part reads one; after a mistake the loop finds the next.
func (p *parser) body(open, end tokenKind, where string, part func() bool) bool {
	opening := p.peek().span
	if !p.expect(open, where) {
		return false
	}
	if p.depth++; p.depth > maxBodyDepth {
		p.errorAt(codeNestingDepth, "brackets are nested more than %d levels deep", maxBodyDepth)
	}
	defer func() { p.depth-- }()
	if p.depth > maxBodyDepth {
		return false
	}
	for {
		switch t := p.peek(); {
		case t.kind == end:
			p.next()
			return true
		case t.kind == tokEOF || t.kind == '}' || p.startsDeclaration() || end == ')' && p.startsMethod():
			d := p.errorAt(codeMissingBrace, "expected '%c' before %s", end, p.describe(t))
			d.Notes = append(d.Notes, report.Note(p.file.span(opening), "to close this '%c'", open))
			return true
		}
		start := p.at
		p.part = start
		if !part() {
			p.skipPart(start, end)
		}
	}
}

// skipPart moves on from a part that could not be read, which began at token
// start, to where the next one may begin, or to what ends the body.
func (p *parser) skipPart(start int, end tokenKind) {
	depth := 0
	for {
		t := p.peek()
		switch t.kind {
		case tokEOF:
			return
		case '{', '(', '[':
			depth++
		case '}', ')', ']':
			if depth == 0 && (t.kind == end || t.kind == '}') {
				return
			}
			depth = max(0, depth-1)
		case ',', ';':
			if depth == 0 {
				p.next()
				return
			}
		default:
			if p.at > start && t.nl && (depth == 0 && p.mayStartPart(t) || p.startsDeclaration()) {
				return
			}
		}
		p.next()
	}
}

// mayStartPart reports whether t, the first token of its line, looks like the
// start of a field, an enumerator or a method.
func (p *parser) mayStartPart(t *token) bool {
	return t.kind == tokIdent || t.kind == '@' || t.kind == tokInt && p.peekAt(1).kind == ':'
}
