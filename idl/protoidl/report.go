package protoidl

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/ast"
	"github.com/bufbuild/protocompile/linker"
	"github.com/bufbuild/protocompile/parser"
	"github.com/bufbuild/protocompile/reporter"

	"github.com/thrum-rpc/thrum/diag"
)

// The codes of all diagnostics. They are stable: tools may compare them.
const (
	codeFileUnreadable = "file-unreadable"
	codeNestingDepth   = "nesting-depth"
	codeTooMany        = "too-many-diagnostics"
	codeProtobuf       = "protobuf"      // what the compiler found, as an error or a warning
	codeUnusedImport   = "unused-import" // warning
	codeNoSyntax       = "no-syntax"     // warning
)

// findings gathers the diagnostics of one Load, bounded in number.
type findings struct {
	list     diag.List
	errors   int
	warnings int
}

// errorf adds an error.
func (r *findings) errorf(span diag.Span, code, format string, args ...any) {
	switch r.errors++; {
	case r.errors < maxDiagnostics:
		r.list = append(r.list, &diag.Diagnostic{Code: code, Span: span, Message: fmt.Sprintf(format, args...)})
	case r.errors == maxDiagnostics:
		r.list = append(r.list, &diag.Diagnostic{Code: codeTooMany, Span: span, Message: "too many errors, the rest is left out"})
	}
}

// warn adds a warning.
func (r *findings) warn(span diag.Span, code, message string) {
	if r.warnings++; r.warnings > maxDiagnostics {
		return
	}
	r.list = append(r.list, &diag.Diagnostic{Severity: diag.Warning, Code: code, Span: span, Message: message})
}

// compilerReporter is what the compiler reports to. The compiler calls it from
// one goroutine at a time.
type compilerReporter struct{ *loader }

var errTooMany = errors.New("too many errors")

func (c compilerReporter) Error(err reporter.ErrorWithPos) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rep.errorf(c.span(err), codeProtobuf, "%s", message(err.Unwrap()))
	if c.rep.errors >= maxDiagnostics {
		return errTooMany
	}
	return nil
}

func (c compilerReporter) Warning(err reporter.ErrorWithPos) {
	c.mu.Lock()
	defer c.mu.Unlock()
	code := codeProtobuf
	var unused linker.ErrorUnusedImport
	switch {
	case errors.As(err, &unused):
		code = codeUnusedImport
	case errors.Is(err, parser.ErrNoSyntax):
		code = codeNoSyntax
	}
	c.rep.warn(c.span(err), code, message(err.Unwrap()))
}

// span turns the compiler's place into one of the text. The caller holds l.mu.
func (l *loader) span(s ast.SourceSpan) diag.Span {
	start, end := s.Start(), s.End()
	src := l.sources[start.Filename]
	if src == nil {
		return diag.Span{}
	}
	from := min(max(start.Offset, 0), len(src.Text))
	to := min(max(end.Offset+1, from), len(src.Text)) // the compiler's end is the last character
	for to < len(src.Text) && !utf8.RuneStart(src.Text[to]) {
		to++
	}
	return diag.Span{Source: src, Start: from, End: to}
}

// message is the compiler's text in the manner of the other diagnostics.
func message(err error) string {
	var crash protocompile.PanicError
	if errors.As(err, &crash) {
		return fmt.Sprintf("the compiler of Protobuf IDL failed: %v", crash.Value)
	}
	text := strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "\uFFFD")), " ")
	const shown = 500
	if len(text) > shown {
		text = strings.ToValidUTF8(text[:shown], "") + "…"
	}
	return strings.TrimSuffix(text, ".")
}
