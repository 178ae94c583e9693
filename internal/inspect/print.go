package inspect

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
)

// This file writes the lines of the tree and renders text and bytes.

// printer gathers the output. Nothing in its lines comes from a message but
// through quote and hexText.
type printer struct {
	options *Options
	text    []byte
	width   int // of the column of offsets
	silent  int // lines are dropped while it is positive
	full    bool
}

// visible reports whether lines are shown, so that callers need not make them
// in vain.
func (p *printer) visible() bool { return p.silent == 0 && !p.full }

// The colours, by number of SGR: what a line consists of.
const (
	faint  = "2"
	cyan   = "36"
	yellow = "33"
	red    = "31"
	bold   = "1"
)

func (p *printer) paint(b []byte, color, s string) []byte {
	if !p.options.Color {
		return append(b, s...)
	}
	b = append(append(append(b, "\x1b["...), color...), 'm')
	return append(append(b, s...), "\x1b[0m"...)
}

func (p *printer) add(line []byte) {
	if limit := p.options.MaxBytes; limit > 0 && len(p.text)+len(line) > limit {
		p.full = true
		return
	}
	p.text = append(p.text, line...)
}

func (p *printer) title(s string) {
	if p.visible() {
		p.add(append(p.paint(nil, bold, s), '\n'))
	}
}

// line shows a part: its offset, its label, "= value" unless that is empty,
// and what is remarkable about it.
func (p *printer) line(at, level int, label, value, note string) {
	if p.visible() {
		p.add(p.render(at, level, label, value, note, yellow))
	}
}

func (p *printer) render(at, level int, label, value, note, color string) []byte {
	b := p.paint(nil, faint, fmt.Sprintf("%*d", p.width, at))
	b = append(b, strings.Repeat("  ", level+1)...)
	b = append(b, label...)
	if value != "" {
		b = append(b, " = "...)
		b = p.paint(b, cyan, value)
	}
	if note != "" {
		if label != "" {
			b = append(b, "  "...)
		}
		b = p.paint(b, color, "! "+note)
	}
	return append(b, '\n')
}

// What is shown of a fault: bytes at its place, and bytes of its path, whose end
// says more than its beginning.
const (
	aroundFault = 16
	maxPath     = 400
)

// fault shows where in data the tree ends and what stands there, whatever the
// limits are.
func (p *printer) fault(data []byte, f *diag.Fault) {
	p.finish()
	p.full = false
	note := f.Detail
	if path := f.Path(); len(path) > maxPath {
		note += " at …" + strings.ToValidUTF8(path[len(path)-maxPath:], "")
	} else if path != "" {
		note += " at " + path
	}
	note += " [" + f.Code.String() + "]"
	if rest := data[min(f.Offset, len(data)):]; len(rest) > 0 {
		note += ": " + spaced(rest[:min(len(rest), aroundFault)])
		if len(rest) > aroundFault {
			note += " …"
		}
	}
	p.text = append(p.text, p.render(f.Offset, 0, "", "", note, red)...)
}

// finish says that lines are missing, if they are.
func (p *printer) finish() {
	if p.full {
		p.text = append(p.text, fmt.Sprintf("… cut at the limit of %s\n", count(p.options.MaxBytes, "byte"))...)
	}
}

// spaced renders b as hexadecimal numbers.
func spaced(b []byte) string {
	return fmt.Sprintf("% x", b)
}

// plain reports whether b is text that people write.
func plain(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, r := range string(b) {
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
	}
	return true
}

// quote renders text in quotes, with escapes for what is no printable character.
func quote(b []byte, limit int) string {
	if limit <= 0 || len(b) <= limit {
		return strconv.Quote(string(b))
	}
	cut := limit
	for cut > 0 && cut > limit-utf8.UTFMax && !utf8.RuneStart(b[cut]) {
		cut--
	}
	return strconv.Quote(string(b[:cut])) + "… (" + count(len(b), "byte") + ")"
}

// hexText renders bytes.
func hexText(b []byte, limit int) string {
	if len(b) == 0 {
		return "no bytes"
	}
	shown, dots := b, ""
	if limit > 0 && len(b) > limit/2 {
		shown, dots = b[:(limit+1)/2], "…"
	}
	return "0x" + hex.EncodeToString(shown) + dots + " (" + count(len(b), "byte") + ")"
}
