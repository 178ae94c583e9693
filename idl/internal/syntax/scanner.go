package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/report"
)

// This file holds what lexers share.

// Pos is a range of bytes of a file.
type Pos struct{ Start, End int32 }

// Between returns the range from start to end.
func Between[I int | int32](start, end I) Pos { return Pos{int32(start), int32(end)} }

// In returns the range in a file.
func (p Pos) In(src *diag.Source) diag.Span {
	return diag.Span{Source: src, Start: int(p.Start), End: int(p.End)}
}

// Scanner is a place in a text. It is for one goroutine.
type Scanner struct {
	Src  *diag.Source
	Rep  *report.Reporter
	Text string // of Src
	At   int
}

// NewScanner returns a Scanner at the start of a text, behind its byte order mark.
func NewScanner(src *diag.Source, rep *report.Reporter) Scanner {
	s := Scanner{Src: src, Rep: rep, Text: string(src.Text)}
	if strings.HasPrefix(s.Text, "\uFEFF") {
		s.At = len("\uFEFF")
	}
	return s
}

// Errorf adds an error about the text from start to end.
func (s *Scanner) Errorf(start, end int, code, format string, args ...any) *diag.Diagnostic {
	return s.Rep.Errorf(Between(start, end).In(s.Src), code, format, args...)
}

// ByteAt returns the byte at i, 0 after the end.
func (s *Scanner) ByteAt(i int) byte {
	if i < len(s.Text) {
		return s.Text[i]
	}
	return 0
}

// Skip moves on over bytes.
func (s *Scanner) Skip(ok func(byte) bool) {
	for s.At < len(s.Text) && ok(s.Text[s.At]) {
		s.At++
	}
}

// SkipLine moves on to the end of the line.
func (s *Scanner) SkipLine() {
	n := strings.IndexAny(s.Text[s.At:], "\r\n")
	if n < 0 {
		n = len(s.Text) - s.At
	}
	s.At += n
}

// BlockComment reads a comment between /* and */ and returns it, "" and an error with
// that code if it has no end.
func (s *Scanner) BlockComment(code string) string {
	start := s.At
	n := strings.Index(s.Text[start+2:], "*/")
	if n < 0 {
		s.At = len(s.Text)
		s.Errorf(start, start+2, code, "the comment has no end").Hint = "close it with */"
		return ""
	}
	s.At = start + 2 + n + 2
	return s.Text[start:s.At]
}

// AtLetter reports whether a letter stands here that is not ASCII's.
func (s *Scanner) AtLetter() bool {
	if s.ByteAt(s.At) < utf8.RuneSelf {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s.Text[s.At:])
	return unicode.IsLetter(r)
}

// Strange reads what no token starts with. A name with letters other than ASCII's is refused with the code of
// names, and true returned, as it serves as a name; another character is skipped with the other code.
// Names may have dots.
func (s *Scanner) Strange(language string, dots bool, nameCode, otherCode string) bool {
	start := s.At
	for s.At < len(s.Text) {
		r, n := utf8.DecodeRuneInString(s.Text[s.At:])
		inside := unicode.IsDigit(r) || unicode.IsMark(r) || dots && r == '.'
		if !unicode.IsLetter(r) && r != '_' && (s.At == start || !inside) {
			break
		}
		s.At += n
	}
	if s.At > start {
		s.Errorf(start, s.At, nameCode, "the name %q has letters that %s does not allow in names", report.Clip(s.Text[start:s.At]), language).
			Hint = "names consist of a-z, A-Z, 0-9 and _; other letters may stand in strings and comments"
		return true
	}
	r, n := utf8.DecodeRuneInString(s.Text[start:])
	s.At += n
	switch {
	case r == utf8.RuneError && n == 1:
		s.Errorf(start, s.At, otherCode, "the byte 0x%02x is no UTF-8 text", s.Text[start])
	case unicode.IsPrint(r):
		s.Errorf(start, s.At, otherCode, "unexpected character %q", r)
	default:
		s.Errorf(start, s.At, otherCode, "unexpected character %U", r)
	}
	return false
}

// IsLetter, IsDigit and IsAlnum tell what names and numbers consist of.
func IsLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func IsDigit(c byte) bool  { return c >= '0' && c <= '9' }
func IsAlnum(c byte) bool  { return IsLetter(c) || IsDigit(c) }
