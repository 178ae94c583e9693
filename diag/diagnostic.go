package diag

import (
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Severity tells an error, which stops the job, from a warning, which does not.
type Severity uint8

const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Diagnostic is one finding about source text.
type Diagnostic struct {
	Severity Severity
	Code     string // short and stable, such as "duplicate-field-id"
	Span     Span
	Message  string // one sentence without a final stop
	Hint     string // what to do about it; may be empty
	Notes    []Note // related places, such as the first declaration
}

// Note is a place related to a Diagnostic.
type Note struct {
	Span    Span
	Message string
}

// String renders d on one line: file:line:column: severity: message [code].
func (d *Diagnostic) String() string {
	return printable(fmt.Appendf(nil, "%s: %s: %s [%s]", d.Span.Position(), d.Severity, d.Message, d.Code))
}

// List is a list of diagnostics. As an error it prints one line each; Render
// adds the source lines.
type List []*Diagnostic

// Error returns the diagnostics, one line each.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns l if it holds at least one diagnostic of severity Error, else nil.
func (l List) Err() error {
	for _, d := range l {
		if d.Severity == Error {
			return l
		}
	}
	return nil
}

// Sort orders l by file name, then offset, keeping the order of equal places.
func (l List) Sort() {
	name := func(d *Diagnostic) string {
		if d.Span.Source == nil {
			return ""
		}
		return d.Span.Source.Name
	}
	sort.SliceStable(l, func(i, j int) bool {
		if a, b := name(l[i]), name(l[j]); a != b {
			return a < b
		}
		return l[i].Span.Start < l[j].Span.Start
	})
}

// Render writes each diagnostic with its source line, a caret under the place,
// its hint and its notes:
//
//	shop.thrift:7:3: error: field id 2 is used twice [duplicate-field-id]
//	  7 |   2: string name
//	    |   ^
//	    = hint: the next free id is 3
//	shop.thrift:6:3: note: first used here
//	  6 |   2: i64 price
//	    |   ^
//
// The first error of w is returned.
func (l List) Render(w io.Writer) error {
	var b strings.Builder
	for _, d := range l {
		b.WriteString(d.String())
		b.WriteByte('\n')
		renderLine(&b, d.Span)
		if d.Hint != "" {
			fmt.Fprintf(&b, "%s = hint: %s\n", gutter(d.Span), printable([]byte(d.Hint)))
		}
		for _, n := range d.Notes {
			b.WriteString(printable(fmt.Appendf(nil, "%s: note: %s", n.Span.Position(), n.Message)))
			b.WriteByte('\n')
			renderLine(&b, n.Span)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// gutter returns the white space below the line number of s.
func gutter(s Span) string {
	if !s.hasText() {
		return "   "
	}
	return strings.Repeat(" ", len(itoa(s.Position().Line))+2)
}

// maxShown bounds how much of a source line is shown, in bytes.
const maxShown = 160

func renderLine(b *strings.Builder, s Span) {
	if !s.hasText() {
		return
	}
	pos := s.Position()
	text, start := s.Source.line(pos.Line)
	at := min(s.Start-start, len(text)) // a span may start at the end of line
	end := min(max(s.End-start, at+1), max(len(text), at+1))
	from, to := 0, len(text)
	if to > maxShown {
		// Show a window around the place, cut at code points.
		from = max(0, at-maxShown/2)
		to = min(len(text), from+maxShown)
		for from > 0 && !utf8.RuneStart(text[from]) {
			from--
		}
		for to < len(text) && !utf8.RuneStart(text[to]) {
			to++
		}
	}
	fmt.Fprintf(b, "  %d | %s\n", pos.Line, printable(text[from:to]))
	fmt.Fprintf(b, "%s | ", gutter(s))
	// Tabs are kept so that the caret lines up however wide they are shown.
	for _, r := range printable(text[from:at]) {
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	n := 1 // at the end of the line there is nothing to underline
	if shown := min(end, to); shown > at {
		n = utf8.RuneCount(text[at:shown])
	}
	b.WriteString(strings.Repeat("^", n))
	b.WriteByte('\n')
}

// printable replaces what could upset a terminal or deceive a reader, one code
// point for one: control characters, marks that turn the direction of text, and
// invalid UTF-8. All that is shown may come from the source text.
func printable(b []byte) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			return utf8.RuneError
		}
		return r
	}, string(b))
}
