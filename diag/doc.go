// Package diag holds what every floor of Thrum uses to say that something is
// wrong: positions in source text, diagnostics with a rendered source line for
// people who write IDL, and [Fault], the error of every decoder and encoder,
// which carries a code, a byte offset and a path.
//
// The package knows nothing of IDL languages, types or wire formats.
package diag
