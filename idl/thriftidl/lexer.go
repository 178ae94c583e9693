package thriftidl

import (
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/idl/internal/syntax"
)

// lexed is a file cut into tokens; the last one is tokEOF.
type lexed struct {
	tokens    []token
	docs      []pos // documentation comments, with their delimiters
	firstDoc  int32 // index into docs, plus one, of the first comment before the first token
	multiline int   // strings that run over an end of line
}

// lexer cuts text into tokens. It reports what it cannot read and goes on.
type lexer struct {
	syntax.Scanner
	lexed
	nl bool
	// Of the comments since the last token.
	doc, inline int32
	// endStringsAtLines makes the end of a line end a string, with an error. It
	// is set once a quote had no partner, so that no text is searched twice.
	endStringsAtLines bool
}

// lex cuts src into tokens. A string may run over several lines, as thriftgo
// and fbthrift allow, unless endStringsAtLines is set.
func lex(src *diag.Source, rep *report.Reporter, endStringsAtLines bool) *lexer {
	l := &lexer{
		Scanner: syntax.NewScanner(src, rep), lexed: lexed{tokens: make([]token, 0, len(src.Text)/5+8)},
		nl: true, endStringsAtLines: endStringsAtLines,
	}
	for {
		l.skipBlank()
		if l.At >= len(l.Text) {
			break
		}
		l.word()
	}
	l.emit(tokEOF, l.At, kwNone)
	return l
}

// emit adds the token from start to the present place.
func (l *lexer) emit(kind tokenKind, start int, kw keyword) {
	l.tokens = append(l.tokens, token{
		Kind: kind, NL: l.nl, Pos: syntax.Between(start, l.At), Own: notes{kw, l.doc, l.inline},
	})
	l.nl, l.doc, l.inline = false, 0, 0
}

// skipBlank skips white space and comments, keeping documentation.
func (l *lexer) skipBlank() {
	for l.At < len(l.Text) {
		switch c := l.Text[l.At]; {
		case c == '\n' || c == '\r':
			l.nl = true
			l.At++
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			l.At++
		case c == '#':
			l.SkipLine()
		case c == '/' && strings.HasPrefix(l.Text[l.At:], "//"):
			l.lineComment()
		case c == '/' && strings.HasPrefix(l.Text[l.At:], "/*"):
			l.blockComment()
		default:
			return
		}
	}
}

// lineComment skips a comment to the end of its line. Lines that start with
// exactly three slashes are documentation; neighbours make one comment.
func (l *lexer) lineComment() {
	start := l.At
	isDoc := func(at int) bool {
		return strings.HasPrefix(l.Text[at:], "///") && !strings.HasPrefix(l.Text[at:], "////")
	}
	inline := strings.HasPrefix(l.Text[start:], "///<")
	l.SkipLine()
	if !isDoc(start) {
		return
	}
	for {
		next := l.At
		for next < len(l.Text) && strings.IndexByte(" \t\r\n", l.Text[next]) >= 0 {
			next++
		}
		if !isDoc(next) || strings.HasPrefix(l.Text[next:], "///<") != inline {
			break
		}
		l.nl = true
		l.At = next
		l.SkipLine()
	}
	l.keepDoc(start, inline)
}

func (l *lexer) blockComment() {
	start := l.At
	comment := l.BlockComment(codeUnterminatedComment)
	if strings.ContainsAny(comment, "\r\n") {
		l.nl = true
	}
	// Rows of stars, such as /****/, are decoration.
	if strings.HasPrefix(comment, "/**") && strings.Trim(comment, "/*") != "" {
		l.keepDoc(start, strings.HasPrefix(comment, "/**<"))
	}
}

func (l *lexer) keepDoc(start int, inline bool) {
	l.docs = append(l.docs, syntax.Between(start, l.At))
	switch n := int32(len(l.docs)); {
	case inline:
		l.inline = n
	default:
		l.doc = n
		if len(l.tokens) == 0 && l.firstDoc == 0 {
			l.firstDoc = n
		}
	}
}

// word reads the next token.
func (l *lexer) word() {
	start := l.At
	switch c := l.Text[start]; {
	case syntax.IsLetter(c):
		l.ident()
	case syntax.IsDigit(c), c == '.' && syntax.IsDigit(l.ByteAt(start+1)):
		l.number()
	case c == '+' || c == '-':
		if next := l.ByteAt(start + 1); syntax.IsDigit(next) || next == '.' && syntax.IsDigit(l.ByteAt(start+2)) {
			l.number()
			return
		}
		l.At++
		l.emit(tokenKind(c), start, kwNone)
	case c == '"' || c == '\'':
		l.str(c)
	case strings.IndexByte("{}()[]<>,;:=*&@", c) >= 0:
		l.At++
		l.emit(tokenKind(c), start, kwNone)
	default:
		l.strange()
	}
}

// ident reads a name, which may hold dots.
func (l *lexer) ident() {
	start := l.At
	for l.At < len(l.Text) {
		c := l.Text[l.At]
		if syntax.IsLetter(c) || syntax.IsDigit(c) {
			l.At++
			continue
		}
		if next := l.ByteAt(l.At + 1); c == '.' && (syntax.IsLetter(next) || syntax.IsDigit(next)) {
			l.At += 2
			continue
		}
		break
	}
	if l.AtLetter() {
		l.At = start
		l.strange()
		return
	}
	if n := l.At - start; n > maxNameLength {
		l.Errorf(start, l.At, codeNameTooLong, "the name has %d letters, at most %d are allowed", n, maxNameLength)
	}
	l.emit(tokIdent, start, keywords[l.Text[start:l.At]])
}

// strange reads what no token starts with.
func (l *lexer) strange() {
	start := l.At
	if l.Strange("Thrift", true, codeNonASCIIName, codeBadCharacter) {
		l.emit(tokIdent, start, kwNone)
	}
}

// number reads an integer or a floating-point number with its sign.
func (l *lexer) number() {
	start := l.At
	if c := l.Text[l.At]; c == '+' || c == '-' {
		l.At++
	}
	kind := tokInt
	if l.Text[l.At] == '0' && strings.IndexByte("xXbBoO", l.ByteAt(l.At+1)) >= 0 && l.ByteAt(l.At+1) != 0 {
		l.At += 2
		l.Skip(syntax.IsAlnum)
	} else {
		l.Skip(syntax.IsDigit)
		if l.ByteAt(l.At) == '.' && syntax.IsDigit(l.ByteAt(l.At+1)) {
			kind = tokFloat
			l.At++
			l.Skip(syntax.IsDigit)
		}
		if c := l.ByteAt(l.At); c == 'e' || c == 'E' {
			exp := l.At + 1
			if s := l.ByteAt(exp); s == '+' || s == '-' {
				exp++
			}
			if syntax.IsDigit(l.ByteAt(exp)) {
				kind = tokFloat
				l.At = exp
				l.Skip(syntax.IsDigit)
			}
		}
	}
	if syntax.IsLetter(l.ByteAt(l.At)) {
		l.Skip(syntax.IsAlnum)
		l.Errorf(start, l.At, codeBadNumber, "%q is neither a number nor a name", report.Clip(l.Text[start:l.At])).
			Hint = "a name must not start with a digit"
		kind = tokIdent
	}
	l.emit(kind, start, kwNone)
}

// str reads a string; escapes are left to the parser.
func (l *lexer) str(quote byte) {
	start := l.At
	l.At++
	lineEnd := -1
	for l.At < len(l.Text) {
		switch c := l.Text[l.At]; {
		case c == quote:
			l.At++
			if lineEnd >= 0 {
				l.multiline++
				l.Rep.Warnf(syntax.Between(start, lineEnd).In(l.Src), codeMultilineString, "the string runs over several lines").
					Hint = "the Apache compiler refuses this; write \\n instead"
			}
			l.emit(tokString, start, kwNone)
			return
		case c == '\\' && l.At+1 < len(l.Text):
			if next := l.Text[l.At+1]; next == '\n' || next == '\r' {
				l.At++ // the end of line is looked at next
				continue
			}
			l.At += 2
		case c == '\n' || c == '\r':
			if l.endStringsAtLines {
				l.unterminated(start, l.At)
				return
			}
			if lineEnd < 0 {
				lineEnd = l.At
			}
			l.At++
		default:
			l.At++
		}
	}
	// The quote has no partner: the string was meant to end on its own line.
	if lineEnd >= 0 {
		l.At = lineEnd
	}
	l.endStringsAtLines = true
	l.unterminated(start, l.At)
}

func (l *lexer) unterminated(start, end int) {
	l.Errorf(start, end, codeUnterminatedString, "the string has no end").
		Hint = "close it with " + l.Text[start:start+1]
	l.emit(tokString, start, kwNone)
}
