package transcode

import (
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// state is one running conversion. Its methods take the output and the input
// position as arguments and return them, so that both stay in registers; a
// negative position means that fault is set.
type state struct {
	conv  *Converter
	in    []byte
	base  int // the length of the output before the conversion
	limit int // the length that the output may reach
	depth int // levels of nesting that are left
	fault *diag.Fault
	mem   *scratch // nil until needed
	http  *httpRun // of a conversion from or to HTTP or with a base, else nil
}

// failed is the input position after an error.
const failed = -1

// start prepares s, which is new, for a conversion by c. (A whole state that is
// returned would be copied, in a way that has the copy wait for what was
// written last.)
func (s *state) start(c *Converter, dst, in []byte) {
	s.conv, s.in = c, in
	s.base, s.limit, s.depth = len(dst), len(dst)+c.opts.maxSize, c.opts.maxDepth
}

func (c *Converter) start(dst, in []byte) (s state) {
	s.start(c, dst, in)
	return s
}

// tooLong checks the size of the input.
func (s *state) tooLong() bool {
	if len(s.in) <= s.conv.opts.maxSize {
		return false
	}
	s.fail(diag.SizeLimit, 0, fmt.Sprintf("the input has %d bytes, the limit is %d", len(s.in), s.conv.opts.maxSize))
	return true
}

// memory returns the scratch memory.
func (s *state) memory() *scratch {
	if s.mem == nil {
		s.mem = s.conv.scratch.Get().(*scratch)
	}
	return s.mem
}

// fail sets the fault and returns failed.
func (s *state) fail(code diag.Code, offset int, detail string) int {
	s.fault = diag.NewFault(code, offset, detail)
	return failed
}

func (s *state) tooLarge(p int) int {
	return s.fail(diag.SizeLimit, p, fmt.Sprintf("the output exceeds the limit of %d bytes", s.conv.opts.maxSize))
}

func (s *state) tooDeep(p int) int {
	return s.fail(diag.DepthLimit, p, fmt.Sprintf("nested deeper than the limit of %d", s.conv.opts.maxDepth))
}

func (s *state) missing(p int, t *structTable, i int) int {
	f := &t.fields[i]
	s.fail(diag.MissingRequired, p, fmt.Sprintf("required field %q of %s is missing", f.name, t.name))
	return failed
}

func (s *state) twice(p int, t *structTable, f *field) int {
	s.fail(diag.DuplicateKey, p, fmt.Sprintf("field %q of %s stands twice", f.name, t.name))
	return failed
}

func (s *state) badUnion(p int, t *structTable, n int) int {
	return s.fail(diag.InvalidUnion, p, fmt.Sprintf("union %s needs exactly one field, it has %d", t.name, n))
}

// jsonError is the fault for the negative result n of package jsonwire at p.
func (s *state) jsonError(n, p int) int {
	code := diag.Syntax
	switch n {
	case jsonwire.ErrEOF:
		code = diag.UnexpectedEOF
	case jsonwire.ErrUTF8, jsonwire.ErrControl, jsonwire.ErrEscape:
		code = diag.InvalidData
	case jsonwire.ErrRange, jsonwire.ErrInteger:
		code = diag.OutOfRange
	case jsonwire.ErrDepth:
		return s.tooDeep(p)
	}
	return s.fail(code, p, jsonwire.Describe(n))
}

// wireError is the fault for the negative result n of package thriftwire at p.
func (s *state) wireError(n, p int) int {
	switch n {
	case thriftwire.ErrEOF:
		return s.fail(diag.UnexpectedEOF, p, "the message ends inside a value")
	case thriftwire.ErrLength:
		return s.fail(diag.InvalidLength, p, "a length is negative or exceeds what remains")
	case thriftwire.ErrDepth:
		return s.tooDeep(p)
	default:
		return s.fail(diag.InvalidType, p, "a wire type that does not exist")
	}
}

// mismatch is the fault for a value of another type than the schema has.
func (s *state) mismatch(p int, want, got string) int {
	return s.fail(diag.TypeMismatch, p, "type mismatch: "+want+" expected, got "+got)
}

// shownKey bounds how much of a map key a path shows, in bytes.
const shownKey = 40

// pathKey renders a map key, given as JSON, for a path.
func pathKey(key []byte) string {
	if len(key) > shownKey {
		return fmt.Sprintf("%q", key[:shownKey]) + "…"
	}
	for _, c := range key {
		if c < ' ' || c > '~' {
			return fmt.Sprintf("%q", key)
		}
	}
	return string(key)
}
