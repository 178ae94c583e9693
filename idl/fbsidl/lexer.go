package fbsidl

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/report"
)

// lexed is a file cut into tokens; the last one is tokEOF.
type lexed struct {
	src    *diag.Source
	text   string
	tokens []token
	bad    map[int32]bool // the starts of numbers that are none, which has been reported
	docs   []pos          // lines of documentation without their slashes
}

// lexer cuts text into tokens. It reports what it cannot read and goes on.
type lexer struct {
	lexed
	rep     *report.Reporter
	at      int
	nl      bool  // nothing but blanks and comments stands before on this line
	fresh   bool  // an end of line stands between the last token and here
	docFrom int32 // of the documentation since the last token
}

func lex(src *diag.Source, rep *report.Reporter) *lexed {
	l := &lexer{
		lexed: lexed{src: src, text: string(src.Text), tokens: make([]token, 0, len(src.Text)/4+8)},
		rep:   rep, nl: true, fresh: true,
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
	l.emit(tokEOF, l.at)
	return &l.lexed
}

func (l *lexer) span(start, end int) diag.Span {
	return diag.Span{Source: l.src, Start: start, End: end}
}

// emit adds the token from start to the present place.
func (l *lexer) emit(kind tokenKind, start int) {
	l.tokens = append(l.tokens, token{
		kind: kind, nl: l.nl, span: pos{int32(start), int32(l.at)}, docFrom: l.docFrom, docTo: int32(len(l.docs)),
	})
	l.nl, l.fresh, l.docFrom = false, false, int32(len(l.docs))
}

// skipBlank skips white space and comments, keeping documentation.
func (l *lexer) skipBlank() {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == '\n':
			l.nl, l.fresh = true, true
			l.at++
		case c == ' ' || c == '\t' || c == '\r':
			l.at++
		case strings.HasPrefix(l.text[l.at:], "//"):
			l.lineComment()
		case strings.HasPrefix(l.text[l.at:], "/*"):
			l.blockComment()
		default:
			return
		}
	}
}

// lineComment skips a comment to the end of its line. One of three slashes is
// documentation, which must have its line for itself.
func (l *lexer) lineComment() {
	start := l.at
	n := strings.IndexAny(l.text[start:], "\r\n")
	if n < 0 {
		n = len(l.text) - start
	}
	l.at = start + n
	if !strings.HasPrefix(l.text[start:l.at], "///") {
		return
	}
	if !l.fresh {
		l.rep.Errorf(l.span(start, start+3), codeMisplacedDoc, "documentation stands behind something on its line").
			Hint = "write it on the lines before what it documents, or write // for a comment"
		return
	}
	l.docs = append(l.docs, pos{int32(start + 3), int32(l.at)})
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
	if strings.Contains(l.text[start:l.at], "\n") {
		l.nl = true
	}
}

// byteAt returns the byte at i, 0 after the end.
func (l *lexer) byteAt(i int) byte {
	if i < len(l.text) {
		return l.text[i]
	}
	return 0
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
		l.signed()
	case c == '"' || c == '\'':
		l.str(c)
	case strings.IndexByte("{}()[]<>,:;=.", c) >= 0:
		l.at++
		l.emit(tokenKind(c), start)
	default:
		l.strange()
	}
}

func (l *lexer) ident() {
	start := l.at
	for l.at < len(l.text) && (isLetter(l.text[l.at]) || isDigit(l.text[l.at])) {
		l.at++
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
	l.emit(tokIdent, start)
}

// strange reads what no token starts with: a name with letters other than
// ASCII's, which is refused but serves as a name, or a character that is skipped.
func (l *lexer) strange() {
	start := l.at
	for l.at < len(l.text) {
		r, n := utf8.DecodeRuneInString(l.text[l.at:])
		if !unicode.IsLetter(r) && r != '_' && (l.at == start || !unicode.IsDigit(r) && !unicode.IsMark(r)) {
			break
		}
		l.at += n
	}
	if l.at > start {
		l.rep.Errorf(l.span(start, l.at), codeBadCharacter, "the name %q has letters that FlatBuffers does not allow in names",
			report.Clip(l.text[start:l.at])).Hint = "names consist of a-z, A-Z, 0-9 and _; other letters may stand in strings and comments"
		l.emit(tokIdent, start)
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

// signed reads what a sign begins: a number, or the sign alone before a name
// such as nan. The infinite -inf is a number.
func (l *lexer) signed() {
	start := l.at
	rest := l.text[start+1:]
	switch {
	case strings.HasPrefix(rest, "inf") && !isAlnum(l.byteAt(start+4)):
		l.at += 4
		l.emit(tokFloat, start)
	case len(rest) > 0 && isLetter(rest[0]):
		l.at++
		l.emit(tokenKind(l.text[start]), start)
	default:
		l.number()
	}
}

// number reads an integer or a floating-point number with its sign: decimal, or
// hexadecimal after 0x, of which a fraction needs an exponent after p.
func (l *lexer) number() {
	start := l.at
	if c := l.text[l.at]; c == '+' || c == '-' {
		l.at++
	}
	digit, exponent := isDigit, byte('e')
	if l.byteAt(l.at) == '0' && l.byteAt(l.at+1)|0x20 == 'x' {
		digit, exponent = isHex, 'p'
		l.at += 2
	}
	kind, from, dots := tokInt, l.at, 0
	l.digits(digit)
	for l.byteAt(l.at) == '.' {
		dots++
		l.at++
		if dots > 1 {
			break
		}
		kind = tokFloat
		l.digits(digit)
	}
	good := l.at > from && dots < 2
	hexFraction := exponent == 'p' && dots > 0
	switch {
	case good && l.byteAt(l.at)|0x20 == exponent:
		kind = tokFloat
		l.at++
		if c := l.byteAt(l.at); c == '+' || c == '-' {
			l.at++
		}
		from = l.at
		l.digits(isDigit)
		if good = l.at > from; l.byteAt(l.at) == '.' {
			good = false
			l.at++
		}
	case hexFraction:
		good = false
	}
	if !good {
		l.digits(func(c byte) bool { return isAlnum(c) || c == '.' })
		if l.bad == nil {
			l.bad = make(map[int32]bool)
		}
		l.bad[int32(start)] = true
		l.rep.Errorf(l.span(start, l.at), codeBadNumber, "%q is no number", report.Clip(l.text[start:l.at]))
	}
	l.emit(kind, start)
}

func (l *lexer) digits(ok func(byte) bool) {
	for l.at < len(l.text) && ok(l.text[l.at]) {
		l.at++
	}
}

// str reads a string, which ends on its line; escapes are left to the parser.
func (l *lexer) str(quote byte) {
	start := l.at
	l.at++
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == quote:
			l.at++
			l.emit(tokString, start)
			return
		case c == '\n' || c == '\r':
			l.unterminated(start)
			return
		case c < ' ':
			l.rep.Errorf(l.span(l.at, l.at+1), codeBadCharacter, "a string must not have the character %U", rune(c)).
				Hint = "write it as an escape such as \\t or \\x07"
			l.at++
		case c == '\\' && l.at+1 < len(l.text) && l.text[l.at+1] >= ' ':
			l.at += 2
		default:
			l.at++
		}
	}
	l.unterminated(start)
}

func (l *lexer) unterminated(start int) {
	l.rep.Errorf(l.span(start, l.at), codeUnterminatedString, "the string has no end").
		Hint = "close it with " + l.text[start:start+1]
	l.emit(tokString, start)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isAlnum(c byte) bool  { return isLetter(c) || isDigit(c) }
func isHex(c byte) bool    { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
