package fbsidl

import (
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/idl/internal/syntax"
)

// lexed is a file cut into tokens; the last one is tokEOF.
type lexed struct {
	tokens []token
	bad    map[int32]bool // the starts of numbers that are none, which has been reported
	docs   []pos          // lines of documentation without their slashes
}

// lexer cuts text into tokens. It reports what it cannot read and goes on.
type lexer struct {
	syntax.Scanner
	lexed
	nl      bool  // nothing but blanks and comments stands before on this line
	fresh   bool  // an end of line stands between the last token and here
	docFrom int32 // of the documentation since the last token
}

func lex(src *diag.Source, rep *report.Reporter) *lexer {
	l := &lexer{
		Scanner: syntax.NewScanner(src, rep), lexed: lexed{tokens: make([]token, 0, len(src.Text)/4+8)},
		nl: true, fresh: true,
	}
	for {
		l.skipBlank()
		if l.At >= len(l.Text) {
			break
		}
		l.word()
	}
	l.emit(tokEOF, l.At)
	return l
}

// emit adds the token from start to the present place.
func (l *lexer) emit(kind tokenKind, start int) {
	l.tokens = append(l.tokens, token{
		Kind: kind, NL: l.nl, Pos: syntax.Between(start, l.At), Own: notes{l.docFrom, int32(len(l.docs))},
	})
	l.nl, l.fresh, l.docFrom = false, false, int32(len(l.docs))
}

// skipBlank skips white space and comments, keeping documentation.
func (l *lexer) skipBlank() {
	for l.At < len(l.Text) {
		switch c := l.Text[l.At]; {
		case c == '\n':
			l.nl, l.fresh = true, true
			l.At++
		case c == ' ' || c == '\t' || c == '\r':
			l.At++
		case strings.HasPrefix(l.Text[l.At:], "//"):
			l.lineComment()
		case strings.HasPrefix(l.Text[l.At:], "/*"):
			l.blockComment()
		default:
			return
		}
	}
}

// lineComment skips a comment to the end of its line. One of three slashes is
// documentation, which must have its line for itself.
func (l *lexer) lineComment() {
	start := l.At
	l.SkipLine()
	if !strings.HasPrefix(l.Text[start:l.At], "///") {
		return
	}
	if !l.fresh {
		l.Errorf(start, start+3, codeMisplacedDoc, "documentation stands behind something on its line").
			Hint = "write it on the lines before what it documents, or write // for a comment"
		return
	}
	l.docs = append(l.docs, syntax.Between(start+3, l.At))
}

func (l *lexer) blockComment() {
	if strings.Contains(l.BlockComment(codeUnterminatedComment), "\n") {
		l.nl = true
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
		l.signed()
	case c == '"' || c == '\'':
		l.str(c)
	case strings.IndexByte("{}()[]<>,:;=.", c) >= 0:
		l.At++
		l.emit(tokenKind(c), start)
	default:
		l.strange()
	}
}

func (l *lexer) ident() {
	start := l.At
	l.Skip(syntax.IsAlnum)
	if l.AtLetter() {
		l.At = start
		l.strange()
		return
	}
	if n := l.At - start; n > maxNameLength {
		l.Errorf(start, l.At, codeNameTooLong, "the name has %d letters, at most %d are allowed", n, maxNameLength)
	}
	l.emit(tokIdent, start)
}

// strange reads what no token starts with.
func (l *lexer) strange() {
	start := l.At
	if l.Strange("FlatBuffers", false, codeBadCharacter, codeBadCharacter) {
		l.emit(tokIdent, start)
	}
}

// signed reads what a sign begins: a number, or the sign alone before a name
// such as nan. The infinite -inf is a number.
func (l *lexer) signed() {
	start := l.At
	rest := l.Text[start+1:]
	switch {
	case strings.HasPrefix(rest, "inf") && !syntax.IsAlnum(l.ByteAt(start+4)):
		l.At += 4
		l.emit(tokFloat, start)
	case len(rest) > 0 && syntax.IsLetter(rest[0]):
		l.At++
		l.emit(tokenKind(l.Text[start]), start)
	default:
		l.number()
	}
}

// number reads an integer or a floating-point number with its sign: decimal, or
// hexadecimal after 0x, of which a fraction needs an exponent after p.
func (l *lexer) number() {
	start := l.At
	if c := l.Text[l.At]; c == '+' || c == '-' {
		l.At++
	}
	digit, exponent := syntax.IsDigit, byte('e')
	if l.ByteAt(l.At) == '0' && l.ByteAt(l.At+1)|0x20 == 'x' {
		digit, exponent = isHex, 'p'
		l.At += 2
	}
	kind, from, dots := tokInt, l.At, 0
	l.Skip(digit)
	for l.ByteAt(l.At) == '.' {
		dots++
		l.At++
		if dots > 1 {
			break
		}
		kind = tokFloat
		l.Skip(digit)
	}
	good := l.At > from && dots < 2
	hexFraction := exponent == 'p' && dots > 0
	switch {
	case good && l.ByteAt(l.At)|0x20 == exponent:
		kind = tokFloat
		l.At++
		if c := l.ByteAt(l.At); c == '+' || c == '-' {
			l.At++
		}
		from = l.At
		l.Skip(syntax.IsDigit)
		if good = l.At > from; l.ByteAt(l.At) == '.' {
			good = false
			l.At++
		}
	case hexFraction:
		good = false
	}
	if !good {
		l.Skip(func(c byte) bool { return syntax.IsAlnum(c) || c == '.' })
		if l.bad == nil {
			l.bad = make(map[int32]bool)
		}
		l.bad[int32(start)] = true
		l.Errorf(start, l.At, codeBadNumber, "%q is no number", report.Clip(l.Text[start:l.At]))
	}
	l.emit(kind, start)
}

// str reads a string, which ends on its line; escapes are left to the parser.
func (l *lexer) str(quote byte) {
	start := l.At
	l.At++
	for l.At < len(l.Text) {
		switch c := l.Text[l.At]; {
		case c == quote:
			l.At++
			l.emit(tokString, start)
			return
		case c == '\n' || c == '\r':
			l.unterminated(start)
			return
		case c < ' ':
			l.Errorf(l.At, l.At+1, codeBadCharacter, "a string must not have the character %U", rune(c)).
				Hint = "write it as an escape such as \\t or \\x07"
			l.At++
		case c == '\\' && l.At+1 < len(l.Text) && l.Text[l.At+1] >= ' ':
			l.At += 2
		default:
			l.At++
		}
	}
	l.unterminated(start)
}

func (l *lexer) unterminated(start int) {
	l.Errorf(start, l.At, codeUnterminatedString, "the string has no end").
		Hint = "close it with " + l.Text[start:start+1]
	l.emit(tokString, start)
}

func isHex(c byte) bool { return syntax.IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
