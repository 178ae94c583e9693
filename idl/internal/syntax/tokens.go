package syntax

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/report"
)

// This file holds what parsers share.

// Kind is the kind of a token. Punctuation is its own kind.
type Kind uint8

const (
	EOF Kind = iota
	Ident
	Int
	Float
	String
)

// Token is one word of the text. Comments are no tokens; documentation hangs on the
// token that follows it, in what the language notes.
type Token[X any] struct {
	Kind Kind
	NL   bool // first on its line
	Pos  Pos
	Own  X // what the language notes
}

// Code is the code of what stands where something else was expected.
const Code = "syntax"

// Tokens is a way through the tokens of a file, the last of which is EOF. It is for one goroutine.
type Tokens[X any] struct {
	Text string
	Rep  *report.Reporter
	At   int // index of the next token
	Part int // the token at which the part of a body or file being read starts

	src  *diag.Source
	list []Token[X]
	// lastError is the token at which the last error was reported; a second
	// error at the same token would be an echo.
	lastError int
}

// NewTokens returns the way from the first token of what s has read.
func NewTokens[X any](s *Scanner, list []Token[X]) Tokens[X] {
	return Tokens[X]{Text: s.Text, Rep: s.Rep, src: s.Src, list: list, lastError: -1}
}

// Peek returns the next token.
func (t *Tokens[X]) Peek() *Token[X] { return &t.list[t.At] }

// PeekAt returns the token n places ahead, the end of the file after the last.
func (t *Tokens[X]) PeekAt(n int) *Token[X] { return &t.list[min(t.At+n, len(t.list)-1)] }

// Next returns the next token and moves on; it never moves past the end.
func (t *Tokens[X]) Next() *Token[X] {
	next := &t.list[t.At]
	if next.Kind != EOF {
		t.At++
	}
	return next
}

// Last returns the token that was read last, of which there must be one.
func (t *Tokens[X]) Last() *Token[X] { return &t.list[t.At-1] }

// LastEnd returns the end of the token that was read last, 0 if there is none.
func (t *Tokens[X]) LastEnd() int32 {
	if t.At == 0 {
		return 0
	}
	return t.Last().Pos.End
}

// Accept moves on if the next token is of that kind.
func (t *Tokens[X]) Accept(kind Kind) bool {
	if t.Peek().Kind != kind {
		return false
	}
	t.Next()
	return true
}

// Expect moves past a token of that kind; where tells its place.
func (t *Tokens[X]) Expect(kind Kind, where string) bool {
	if t.Accept(kind) {
		return true
	}
	t.Unexpected("'" + string(rune(kind)) + "' " + where)
	return false
}

// Unexpected reports that something else was wanted at the next token. Where
// that token starts a new line, what is missing belongs to the end of the line
// before, unless the token is the first of what is being read.
func (t *Tokens[X]) Unexpected(wanted string) *diag.Diagnostic {
	next := t.Peek()
	found := t.Describe(next)
	if next.NL && next.Kind != EOF && t.At > t.Part {
		found = "the end of the line"
	}
	return t.ErrorAt(Code, "expected %s, found %s", wanted, found)
}

// ErrorAt reports an error at the next token, unless one was just reported there.
func (t *Tokens[X]) ErrorAt(code, format string, args ...any) *diag.Diagnostic {
	if t.At == t.lastError {
		return &diag.Diagnostic{}
	}
	t.lastError = t.At
	next := t.Peek()
	place := next.Pos
	if t.At > 0 && (next.Kind == EOF || code == Code && next.NL && t.At > t.Part) {
		place = Pos{t.LastEnd(), t.LastEnd()}
	}
	return t.Rep.Errorf(place.In(t.src), code, format, args...)
}

// Describe names a token for people.
func (t *Tokens[X]) Describe(token *Token[X]) string {
	switch token.Kind {
	case EOF:
		return "the end of the file"
	case Ident:
		return "'" + report.Clip(t.TextOf(token.Pos)) + "'"
	case Int, Float:
		return "the number " + report.Clip(t.TextOf(token.Pos))
	case String:
		return "a string"
	default:
		return "'" + string(rune(token.Kind)) + "'"
	}
}

// TextOf returns the text of a range.
func (t *Tokens[X]) TextOf(p Pos) string { return t.Text[p.Start:p.End] }
