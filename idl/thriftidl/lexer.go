package thriftidl

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/report"
)

// lexed is a file cut into tokens; the last one is tokEOF.
type lexed struct {
	src       *diag.Source
	text      string
	tokens    []token
	docs      []pos // documentation comments, with their delimiters
	firstDoc  int32 // index into docs, plus one, of the first comment before the first token
	multiline int   // strings that run over an end of line
}

// lexer cuts text into tokens. It reports what it cannot read and goes on.
type lexer struct {
	lexed
	rep *report.Reporter
	at  int
	nl  bool
	// Of the comments since the last token.
	doc, inline int32
	// endStringsAtLines makes the end of a line end a string, with an error. It
	// is set once a quote had no partner, so that no text is searched twice.
	endStringsAtLines bool
}

// lex cuts src into tokens. A string may run over several lines, as thriftgo
// and fbthrift allow, unless endStringsAtLines is set.
func lex(src *diag.Source, rep *report.Reporter, endStringsAtLines bool) *lexed {
	l := &lexer{
		lexed: lexed{src: src, text: string(src.Text), tokens: make([]token, 0, len(src.Text)/5+8)},
		rep:   rep, nl: true, endStringsAtLines: endStringsAtLines,
	}
	if strings.HasPrefix(l.text, "\uFEFF") {
		l.at = len("\uFEFF")
	}
	for {
		l.skipBlank()
		if l.at >= len(l.text) {
			break
		}
		l.word()
	}
	l.emit(tokEOF, l.at, kwNone)
	return &l.lexed
}

func (l *lexer) span(start, end int) diag.Span {
	return diag.Span{Source: l.src, Start: start, End: end}
}

// emit adds the token from start to the present place.
func (l *lexer) emit(kind tokenKind, start int, kw keyword) {
	l.tokens = append(l.tokens, token{
		kind: kind, kw: kw, nl: l.nl, span: pos{int32(start), int32(l.at)}, doc: l.doc, inline: l.inline,
	})
	l.nl, l.doc, l.inline = false, 0, 0
}

// skipBlank skips white space and comments, keeping documentation.
func (l *lexer) skipBlank() {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == '\n' || c == '\r':
			l.nl = true
			l.at++
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			l.at++
		case c == '#':
			l.skipLine()
		case c == '/' && strings.HasPrefix(l.text[l.at:], "//"):
			l.lineComment()
		case c == '/' && strings.HasPrefix(l.text[l.at:], "/*"):
			l.blockComment()
		default:
			return
		}
	}
}

func (l *lexer) skipLine() {
	n := strings.IndexAny(l.text[l.at:], "\r\n")
	if n < 0 {
		n = len(l.text) - l.at
	}
	l.at += n
}

// lineComment skips a comment to the end of its line. Lines that start with
// exactly three slashes are documentation; neighbours make one comment.
func (l *lexer) lineComment() {
	start := l.at
	isDoc := func(at int) bool {
		return strings.HasPrefix(l.text[at:], "///") && !strings.HasPrefix(l.text[at:], "////")
	}
	inline := strings.HasPrefix(l.text[start:], "///<")
	l.skipLine()
	if !isDoc(start) {
		return
	}
	for {
		next := l.at
		for next < len(l.text) && strings.IndexByte(" \t\r\n", l.text[next]) >= 0 {
			next++
		}
		if !isDoc(next) || strings.HasPrefix(l.text[next:], "///<") != inline {
			break
		}
		l.nl = true
		l.at = next
		l.skipLine()
	}
	l.keepDoc(start, inline)
}

func (l *lexer) blockComment() {
	start := l.at
	n := strings.Index(l.text[start+2:], "*/")
	if n < 0 {
		l.at = len(l.text)
		l.rep.Errorf(l.span(start, start+2), codeUnterminatedComment, "the comment has no end").
			Hint = "close it with */"
		return
	}
	l.at = start + 2 + n + 2
	comment := l.text[start:l.at]
	if strings.ContainsAny(comment, "\r\n") {
		l.nl = true
	}
	// Rows of stars, such as /****/, are decoration.
	if strings.HasPrefix(comment, "/**") && strings.Trim(comment, "/*") != "" {
		l.keepDoc(start, strings.HasPrefix(comment, "/**<"))
	}
}

func (l *lexer) keepDoc(start int, inline bool) {
	l.docs = append(l.docs, pos{int32(start), int32(l.at)})
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
	start := l.at
	switch c := l.text[start]; {
	case isLetter(c):
		l.ident()
	case isDigit(c), c == '.' && isDigit(l.byteAt(start+1)):
		l.number()
	case c == '+' || c == '-':
		if next := l.byteAt(start + 1); isDigit(next) || next == '.' && isDigit(l.byteAt(start+2)) {
			l.number()
			return
		}
		l.at++
		l.emit(tokenKind(c), start, kwNone)
	case c == '"' || c == '\'':
		l.str(c)
	case strings.IndexByte("{}()[]<>,;:=*&@", c) >= 0:
		l.at++
		l.emit(tokenKind(c), start, kwNone)
	default:
		l.strange()
	}
}

// byteAt returns the byte at i, 0 after the end.
func (l *lexer) byteAt(i int) byte {
	if i < len(l.text) {
		return l.text[i]
	}
	return 0
}

// ident reads a name, which may hold dots.
func (l *lexer) ident() {
	start := l.at
	for l.at < len(l.text) {
		c := l.text[l.at]
		if isLetter(c) || isDigit(c) {
			l.at++
			continue
		}
		if next := l.byteAt(l.at + 1); c == '.' && (isLetter(next) || isDigit(next)) {
			l.at += 2
			continue
		}
		break
	}
	if l.byteAt(l.at) >= utf8.RuneSelf {
		if r, _ := utf8.DecodeRuneInString(l.text[l.at:]); unicode.IsLetter(r) {
			l.at = start
			l.strange()
			return
		}
	}
	if n := l.at - start; n > maxNameLength {
		l.rep.Errorf(l.span(start, l.at), codeNameTooLong, "the name has %d letters, at most %d are allowed", n, maxNameLength)
	}
	l.emit(tokIdent, start, keywords[l.text[start:l.at]])
}

// strange reads what no token starts with: a name with letters other than
// ASCII's, which is refused but serves as a name, or a character that is skipped.
func (l *lexer) strange() {
	start := l.at
	for l.at < len(l.text) {
		r, n := utf8.DecodeRuneInString(l.text[l.at:])
		if !unicode.IsLetter(r) && r != '_' && (l.at == start || !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '.') {
			break
		}
		l.at += n
	}
	if l.at > start {
		l.rep.Errorf(l.span(start, l.at), codeNonASCIIName, "the name %q has letters that Thrift does not allow in names",
			report.Clip(l.text[start:l.at])).Hint = "names consist of a-z, A-Z, 0-9 and _; other letters may stand in strings and comments"
		l.emit(tokIdent, start, kwNone)
		return
	}
	r, n := utf8.DecodeRuneInString(l.text[start:])
	l.at += n
	switch {
	case r == utf8.RuneError && n == 1:
		l.rep.Errorf(l.span(start, l.at), codeBadCharacter, "the byte 0x%02x is no UTF-8 text", l.text[start])
	case unicode.IsPrint(r):
		l.rep.Errorf(l.span(start, l.at), codeBadCharacter, "unexpected character %q", r)
	default:
		l.rep.Errorf(l.span(start, l.at), codeBadCharacter, "unexpected character %U", r)
	}
}

// number reads an integer or a floating-point number with its sign.
func (l *lexer) number() {
	start := l.at
	if c := l.text[l.at]; c == '+' || c == '-' {
		l.at++
	}
	kind := tokInt
	if l.text[l.at] == '0' && strings.IndexByte("xXbBoO", l.byteAt(l.at+1)) >= 0 && l.byteAt(l.at+1) != 0 {
		l.at += 2
		l.digits(isAlnum)
	} else {
		l.digits(isDigit)
		if l.byteAt(l.at) == '.' && isDigit(l.byteAt(l.at+1)) {
			kind = tokFloat
			l.at++
			l.digits(isDigit)
		}
		if c := l.byteAt(l.at); c == 'e' || c == 'E' {
			exp := l.at + 1
			if s := l.byteAt(exp); s == '+' || s == '-' {
				exp++
			}
			if isDigit(l.byteAt(exp)) {
				kind = tokFloat
				l.at = exp
				l.digits(isDigit)
			}
		}
	}
	if isLetter(l.byteAt(l.at)) {
		l.digits(isAlnum)
		l.rep.Errorf(l.span(start, l.at), codeBadNumber, "%q is neither a number nor a name", report.Clip(l.text[start:l.at])).
			Hint = "a name must not start with a digit"
		kind = tokIdent
	}
	l.emit(kind, start, kwNone)
}

func (l *lexer) digits(ok func(byte) bool) {
	for l.at < len(l.text) && ok(l.text[l.at]) {
		l.at++
	}
}

// str reads a string; escapes are left to the parser.
func (l *lexer) str(quote byte) {
	start := l.at
	l.at++
	lineEnd := -1
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == quote:
			l.at++
			if lineEnd >= 0 {
				l.multiline++
				l.rep.Warnf(l.span(start, lineEnd), codeMultilineString, "the string runs over several lines").
					Hint = "the Apache compiler refuses this; write \\n instead"
			}
			l.emit(tokString, start, kwNone)
			return
		case c == '\\' && l.at+1 < len(l.text):
			if next := l.text[l.at+1]; next == '\n' || next == '\r' {
				l.at++ // the end of line is looked at next
				continue
			}
			l.at += 2
		case c == '\n' || c == '\r':
			if l.endStringsAtLines {
				l.unterminated(start, l.at)
				return
			}
			if lineEnd < 0 {
				lineEnd = l.at
			}
			l.at++
		default:
			l.at++
		}
	}
	// The quote has no partner: the string was meant to end on its own line.
	if lineEnd >= 0 {
		l.at = lineEnd
	}
	l.endStringsAtLines = true
	l.unterminated(start, l.at)
}

func (l *lexer) unterminated(start, end int) {
	l.rep.Errorf(l.span(start, end), codeUnterminatedString, "the string has no end").
		Hint = "close it with " + l.text[start:start+1]
	l.emit(tokString, start, kwNone)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isAlnum(c byte) bool  { return isLetter(c) || isDigit(c) }
