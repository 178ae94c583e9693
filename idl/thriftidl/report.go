package thriftidl

import (
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
)

// reporter gathers the diagnostics of one Load, bounded in number.
type reporter struct {
	list     diag.List
	errors   int
	warnings int
}

// errorf adds an error and returns it, for notes and hints to be added.
func (r *reporter) errorf(span diag.Span, code, format string, args ...any) *diag.Diagnostic {
	r.errors++
	d := &diag.Diagnostic{Severity: diag.Error, Code: code, Span: span}
	switch {
	case r.errors < maxDiagnostics:
		d.Message = fmt.Sprintf(format, args...)
		r.list = append(r.list, d)
	case r.errors == maxDiagnostics:
		r.list = append(r.list, &diag.Diagnostic{
			Severity: diag.Error, Code: codeTooMany, Span: span,
			Message: "too many errors, the rest is left out",
		})
	}
	return d
}

// warnf adds a warning and returns it.
func (r *reporter) warnf(span diag.Span, code, format string, args ...any) *diag.Diagnostic {
	r.warnings++
	d := &diag.Diagnostic{Severity: diag.Warning, Code: code, Span: span}
	switch {
	case r.warnings < maxDiagnostics:
		d.Message = fmt.Sprintf(format, args...)
		r.list = append(r.list, d)
	case r.warnings == maxDiagnostics:
		r.list = append(r.list, &diag.Diagnostic{
			Severity: diag.Warning, Code: codeTooMany, Span: span,
			Message: "too many warnings, the rest is left out",
		})
	}
	return d
}

// full reports whether further errors are only counted, so that nobody need
// look for good words.
func (r *reporter) full() bool { return r.errors >= maxDiagnostics }

// absorb adds what another reporter gathered, which is bounded likewise: its
// last one, that says that there are too many, comes when r is full too.
func (r *reporter) absorb(o *reporter) {
	for _, d := range o.list {
		var to *diag.Diagnostic
		if d.Severity == diag.Error {
			to = r.errorf(d.Span, d.Code, "%s", d.Message)
		} else {
			to = r.warnf(d.Span, d.Code, "%s", d.Message)
		}
		to.Hint, to.Notes = d.Hint, d.Notes
	}
}

func note(span diag.Span, format string, args ...any) diag.Note {
	return diag.Note{Span: span, Message: fmt.Sprintf(format, args...)}
}
