package diag

import (
	"sort"
	"unicode/utf8"
)

// Source is one piece of source text with an index of its lines. It is
// immutable and safe for concurrent use; Text must not be changed. A Source
// whose Text is nil names a file that could not be read: positions in it have
// no line.
type Source struct {
	Name string // as shown in diagnostics, usually a path
	Text []byte

	lines []int // byte offset at which each line starts
}

// NewSource indexes text, which it keeps without copying. Lines end with LF,
// CR LF or a lone CR.
func NewSource(name string, text []byte) *Source {
	lines := []int{0}
	for i, c := range text {
		switch {
		case c == '\n':
			lines = append(lines, i+1)
		case c == '\r' && (i+1 == len(text) || text[i+1] != '\n'):
			lines = append(lines, i+1)
		}
	}
	return &Source{Name: name, Text: text, lines: lines}
}

// Span is a half-open range of bytes of a Source. The zero Span means "no
// position"; nodes that no text declared carry it.
type Span struct {
	Source     *Source
	Start, End int // byte offsets, Start <= End
}

// IsZero reports whether s has no position.
func (s Span) IsZero() bool { return s.Source == nil }

// hasText reports whether there is a line to show.
func (s Span) hasText() bool { return s.Source != nil && s.Source.Text != nil }

// Text returns the bytes of s. The result aliases the source.
func (s Span) Text() []byte {
	if s.Source == nil {
		return nil
	}
	return s.Source.Text[s.Start:s.End]
}

// Position returns where s starts.
func (s Span) Position() Position {
	if s.Source == nil {
		return Position{}
	}
	return s.Source.Position(s.Start)
}

// Position is a place as people name it.
type Position struct {
	File   string
	Line   int // from 1; 0 means unknown
	Column int // from 1, counted in Unicode code points
}

// String renders p as file:line:column.
func (p Position) String() string {
	if p.Line == 0 {
		if p.File == "" {
			return "-"
		}
		return p.File
	}
	return p.File + ":" + itoa(p.Line) + ":" + itoa(p.Column)
}

// Position converts a byte offset to a line and column. Offsets outside the
// text are moved to its nearest end.
func (s *Source) Position(offset int) Position {
	if s.Text == nil {
		return Position{File: s.Name}
	}
	offset = min(max(offset, 0), len(s.Text))
	line := sort.SearchInts(s.lines, offset+1) - 1
	col := utf8.RuneCount(s.Text[s.lines[line]:offset]) + 1
	return Position{File: s.Name, Line: line + 1, Column: col}
}

// line returns the text of line n (from 1) without its end of line, and the
// offset at which it starts.
func (s *Source) line(n int) (text []byte, start int) {
	start = s.lines[n-1]
	end := len(s.Text)
	if n < len(s.lines) {
		end = s.lines[n]
	}
	for end > start && (s.Text[end-1] == '\n' || s.Text[end-1] == '\r') {
		end--
	}
	return s.Text[start:end], start
}
