package thriftidl

import (
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
	file  *fileNode
	depth int // bodies around the next token
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
	l := lex(src, rep, endStringsAtLines)
	p := &parser{lexed: &l.lexed, Tokens: syntax.NewTokens(&l.Scanner, l.tokens), file: &fileNode{src: src}}
	p.checkUTF8()
	p.parseFile()
	return p.file, p.multiline
}

// acceptWord moves on if the next token is that keyword.
func (p *parser) acceptWord(kw keyword) bool {
	if p.Peek().Own.kw != kw {
		return false
	}
	p.Next()
	return true
}

// separator skips an optional comma or semicolon.
func (p *parser) separator() bool { return p.Accept(',') || p.Accept(';') }

// name reads an identifier, whatever it means elsewhere.
func (p *parser) name(what string) (ident, bool) {
	t := p.Peek()
	if t.Kind != tokIdent {
		p.Unexpected(what)
		return ident{}, false
	}
	p.Next()
	return ident{name: p.TextOf(t.Pos), pos: t.Pos, kw: t.Own.kw}, true
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
			p.Rep.Errorf(p.file.span(id.pos), codeDottedName, "the name %q must not have a dot", report.Clip(id.name)).
				Hint = "dots join a file's name and a name that it declares"
			break
		}
	}
	if id.kw.reserved() && !isField {
		p.Rep.Warnf(p.file.span(id.pos), codeReservedWord, "%q is a reserved word", id.name).
			Hint = "thriftgo accepts it as a name, the Apache compiler does not"
	}
	return id, true
}

// docBefore returns the documentation in front of the next token.
func (p *parser) docBefore() string { return p.docText(p.Peek().Own.doc) }

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
	return p.docText(p.Peek().Own.inline)
}

func (p *parser) docText(n int32) string {
	if n == 0 {
		return ""
	}
	return cleanDoc(p.TextOf(p.docs[n-1]))
}

// startsDeclaration reports whether the next token starts a declaration on a
// line of its own, beyond doubt: a body that reaches one lacks its brace.
func (p *parser) startsDeclaration() bool {
	t := p.Peek()
	if !t.NL || t.Kind != tokIdent {
		return false
	}
	switch t.Own.kw {
	case kwStruct, kwUnion, kwException, kwEnum, kwSenum, kwService, kwInteraction:
		after := p.PeekAt(2)
		return p.PeekAt(1).Kind == tokIdent && (after.Kind == '{' || after.Own.kw == kwExtends)
	case kwConst:
		return p.PeekAt(1).Kind == tokIdent && (p.PeekAt(2).Kind == tokIdent && p.PeekAt(3).Kind == '=' || p.PeekAt(2).Kind == '<')
	case kwTypedef:
		return p.PeekAt(1).Kind == tokIdent && (p.PeekAt(2).Kind == tokIdent || p.PeekAt(2).Kind == '<')
	}
	return false
}

// startsMethod reports whether the next token starts a method on a line of its
// own, beyond doubt: arguments that reach one lack their parenthesis.
func (p *parser) startsMethod() bool {
	t := p.Peek()
	return t.NL && (t.Own.kw == kwVoid || t.Own.kw == kwOneway || t.Own.kw == kwAsync) && p.PeekAt(1).Kind == tokIdent
}

// body reads the parts of a declaration between open, which is the next token,
// and its partner. part reads one; after a mistake the loop finds the next.
func (p *parser) body(open, end tokenKind, where string, part func() bool) bool {
	opening := p.Peek().Pos
	if !p.Expect(open, where) {
		return false
	}
	if p.depth++; p.depth > maxBodyDepth {
		p.ErrorAt(codeNestingDepth, "brackets are nested more than %d levels deep", maxBodyDepth)
	}
	defer func() { p.depth-- }()
	if p.depth > maxBodyDepth {
		return false
	}
	for {
		switch t := p.Peek(); {
		case t.Kind == end:
			p.Next()
			return true
		case t.Kind == tokEOF || t.Kind == '}' || p.startsDeclaration() || end == ')' && p.startsMethod():
			d := p.ErrorAt(codeMissingBrace, "expected '%c' before %s", end, p.Describe(t))
			d.Notes = append(d.Notes, report.Note(p.file.span(opening), "to close this '%c'", open))
			return true
		}
		start := p.At
		p.Part = start
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
		t := p.Peek()
		switch t.Kind {
		case tokEOF:
			return
		case '{', '(', '[':
			depth++
		case '}', ')', ']':
			if depth == 0 && (t.Kind == end || t.Kind == '}') {
				return
			}
			depth = max(0, depth-1)
		case ',', ';':
			if depth == 0 {
				p.Next()
				return
			}
		default:
			if p.At > start && t.NL && (depth == 0 && p.mayStartPart(t) || p.startsDeclaration()) {
				return
			}
		}
		p.Next()
	}
}

// mayStartPart reports whether t, the first token of its line, looks like the
// start of a field, an enumerator or a method.
func (p *parser) mayStartPart(t *token) bool {
	return t.Kind == tokIdent || t.Kind == '@' || t.Kind == tokInt && p.PeekAt(1).Kind == ':'
}
