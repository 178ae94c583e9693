// Package report gathers the diagnostics of a front end, bounded in number and
// in how much of the source they repeat. It knows no language.
package report

import (
	"fmt"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
)

// maxDiagnostics bounds the errors of one Load, and the warnings.
const maxDiagnostics = 100

// TooMany is the code of the diagnostic that says that others are left out.
const TooMany = "too-many-diagnostics"

// Reporter gathers the diagnostics of one Load.
type Reporter struct {
	List     diag.List
	Errors   int // how many errors there were, those left out counted
	warnings int
}

// Errorf adds an error and returns it, for notes and hints to be added.
func (r *Reporter) Errorf(span diag.Span, code, format string, args ...any) *diag.Diagnostic {
	r.Errors++
	d := &diag.Diagnostic{Severity: diag.Error, Code: code, Span: span}
	switch {
	case r.Errors < maxDiagnostics:
		d.Message = fmt.Sprintf(format, args...)
		r.List = append(r.List, d)
	case r.Errors == maxDiagnostics:
		r.List = append(r.List, &diag.Diagnostic{
			Severity: diag.Error, Code: TooMany, Span: span,
			Message: "too many errors, the rest is left out",
		})
	}
	return d
}

// Warnf adds a warning and returns it.
func (r *Reporter) Warnf(span diag.Span, code, format string, args ...any) *diag.Diagnostic {
	r.warnings++
	d := &diag.Diagnostic{Severity: diag.Warning, Code: code, Span: span}
	switch {
	case r.warnings < maxDiagnostics:
		d.Message = fmt.Sprintf(format, args...)
		r.List = append(r.List, d)
	case r.warnings == maxDiagnostics:
		r.List = append(r.List, &diag.Diagnostic{
			Severity: diag.Warning, Code: TooMany, Span: span,
			Message: "too many warnings, the rest is left out",
		})
	}
	return d
}

// Full reports whether further errors are only counted, so that nobody need
// look for good words.
func (r *Reporter) Full() bool { return r.Errors >= maxDiagnostics }

// Absorb adds what another reporter gathered, which is bounded likewise: its
// last one, that says that there are too many, comes when r is full too.
func (r *Reporter) Absorb(o *Reporter) {
	for _, d := range o.List {
		var to *diag.Diagnostic
		if d.Severity == diag.Error {
			to = r.Errorf(d.Span, d.Code, "%s", d.Message)
		} else {
			to = r.Warnf(d.Span, d.Code, "%s", d.Message)
		}
		to.Hint, to.Notes = d.Hint, d.Notes
	}
}

// Note makes a note for a diagnostic.
func Note(span diag.Span, format string, args ...any) diag.Note {
	return diag.Note{Span: span, Message: fmt.Sprintf(format, args...)}
}

// Clip shortens s for a message.
func Clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// DidYouMean returns a hint that names the candidate nearest to name, with what
// has to stand before it, or "".
func DidYouMean(before, name string, candidates []string) string {
	if near := diag.Nearest(name, candidates); near != "" {
		return "did you mean " + before + near + "?"
	}
	return ""
}
