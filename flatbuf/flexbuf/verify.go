package flexbuf

import (
	"math"

	"github.com/thrum-rpc/thrum/diag"
)

// This file holds verification.

// Verify checks that b is a whole buffer: that everything in it lies where it is
// looked for, aligned, keys and strings end with a zero byte, and maps have as
// many keys as values. Nesting is limited to DefaultDepth, and work, where parts are shared,
// to 16 values for each byte. The error is a *diag.Fault.
func Verify(b []byte) error {
	r := Root(b)
	if r.b == nil {
		return diag.NewFault(diag.InvalidHeader, max(0, len(b)-2), "not the end of a FlexBuffer")
	}
	v := verifier{budget: max(min(len(b), math.MaxInt/16)*16, 1<<10)}
	if !v.value(r, DefaultDepth) {
		return v.fault
	}
	return nil
}

type verifier struct {
	budget int
	fault  *diag.Fault
}

func (v *verifier) fail(code diag.Code, pos int, detail string) bool {
	v.fault = diag.NewFault(code, pos, detail)
	return false
}

// value checks r, whose own bytes lie in the buffer.
func (v *verifier) value(r Ref, depth int) bool {
	if v.budget--; v.budget < 0 {
		return v.fail(diag.SizeLimit, r.pos, "parts are referred to too many times")
	}
	if r.kind == Float && r.parent < 4 {
		return v.fail(diag.InvalidData, r.pos, "a float of less than 32 bits")
	}
	if r.kind.inline() {
		return true
	}
	at := r.target()
	if at < 0 {
		return v.fail(diag.InvalidData, r.pos, "an offset leads nowhere")
	}
	if at&int(r.width-1) != 0 {
		return v.fail(diag.InvalidData, at, "a part is not aligned")
	}
	switch {
	case r.kind == Key:
		if key(r.b, at) == nil {
			return v.fail(diag.UnexpectedEOF, at, "a key has no zero byte after it")
		}
		return true
	case r.kind == String || r.kind == Blob:
		return v.text(r, at)
	case r.kind <= IndirectFloat:
		if r.kind == IndirectFloat && r.width < 4 {
			return v.fail(diag.InvalidData, at, "a float of less than 32 bits")
		}
		if int(r.width) > len(r.b)-at {
			return v.fail(diag.UnexpectedEOF, at, "a number lies outside the buffer")
		}
		return true
	default:
		return v.vector(r, at, depth-1)
	}
}

func (v *verifier) text(r Ref, at int) bool {
	n := r.length(at)
	if at < int(r.width) || n > uint64(len(r.b)-at) {
		return v.fail(diag.UnexpectedEOF, at, "a text lies outside the buffer")
	}
	if end := at + int(n); r.kind == String && (end >= len(r.b) || r.b[end] != 0) {
		return v.fail(diag.InvalidData, end, "a string has no zero byte after it")
	}
	return true
}

func (v *verifier) vector(r Ref, at, depth int) bool {
	if depth < 0 {
		return v.fail(diag.DepthLimit, at, "nested too deeply")
	}
	start, n := r.elements()
	if start < 0 || r.kind.fixedLen() == 0 && at < int(r.width) || n*int(r.width) >= len(r.b) {
		return v.fail(diag.UnexpectedEOF, at, "a vector lies outside the buffer")
	}
	if r.kind == Map {
		keys := r.keys()
		if keys.b == nil || keys.Len() != n || !v.value(keys, depth) {
			if v.fault == nil {
				v.fail(diag.InvalidData, at, "a map has not as many keys as values")
			}
			return false
		}
	}
	if elem := r.kind.elem(); r.kind.typed() && elem.inline() && elem != Float {
		return true
	}
	for i := range n {
		e := r.Index(i)
		if e.b == nil {
			v.fail(diag.InvalidType, start+n*int(r.width)+i, "a type that does not exist")
			v.fault.Index(i)
			return false
		}
		if !v.value(e, depth) {
			if r.kind == Map {
				v.fault.Field(r.Key(i))
			} else {
				v.fault.Index(i)
			}
			return false
		}
	}
	return true
}
