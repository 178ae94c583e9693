package diag

import (
	"errors"
	"strconv"
	"strings"
)

// Code classifies a Fault. Codes are stable: programs may compare them.
type Code uint8

const (
	// Malformed and hostile input.
	UnexpectedEOF   Code = iota + 1 // the input ends inside a value, or cannot hold the length that it claims
	InvalidLength                   // a length or count is negative
	InvalidType                     // a wire type that does not exist
	InvalidData                     // bytes that no value of the type has, such as bad UTF-8 in JSON
	InvalidHeader                   // a message envelope or frame header that cannot be read
	Syntax                          // text that its grammar refuses
	TrailingData                    // bytes after the end of the value
	TypeMismatch                    // the input holds another type than the schema
	MissingRequired                 // a required field is absent
	UnknownField                    // a field that the schema does not have, where that is refused
	DuplicateKey                    // a key, field or set element that stands twice, where that is refused
	OutOfRange                      // a number that the type cannot hold
	UnknownEnum                     // an enum name or value that the schema does not have
	InvalidUnion                    // a union with none or several fields set

	// Limits.
	DepthLimit // nesting deeper than the limit
	SizeLimit  // more bytes, or a longer container, than the limit

	// Values that cannot be encoded.
	InvalidValue // a Go value that has no encoding, or changed while it was encoded
	Unsupported  // a type or combination that this operation does not take

	// Paths into values.
	NotFound // a path that leads to nothing, where a value is needed
)

var codeNames = [...]string{
	UnexpectedEOF: "unexpected-eof", InvalidLength: "invalid-length", InvalidType: "invalid-type",
	InvalidData: "invalid-data", InvalidHeader: "invalid-header", Syntax: "syntax", TrailingData: "trailing-data",
	TypeMismatch: "type-mismatch", MissingRequired: "missing-required", UnknownField: "unknown-field",
	DuplicateKey: "duplicate-key", OutOfRange: "out-of-range", UnknownEnum: "unknown-enum",
	InvalidUnion: "invalid-union", DepthLimit: "depth-limit", SizeLimit: "size-limit",
	InvalidValue: "invalid-value", Unsupported: "unsupported",
	NotFound: "not-found",
}

// String returns the code's stable name, such as "unexpected-eof".
func (c Code) String() string {
	if int(c) < len(codeNames) && codeNames[c] != "" {
		return codeNames[c]
	}
	return "code-" + strconv.Itoa(int(c))
}

// Fault is the error of every codec, conversion and dynamic operation.
//
// The path is built while the error unwinds, innermost step first, so that the
// good case pays nothing for it.
type Fault struct {
	Code   Code
	Offset int    // byte offset in the input, or in the output while encoding; -1 if there is none
	Detail string // one sentence without a final stop
	Cause  error  // may be nil

	steps []string // innermost first
}

// NewFault returns a Fault with an empty path.
func NewFault(code Code, offset int, detail string) *Fault {
	return &Fault{Code: code, Offset: offset, Detail: detail}
}

// Field adds the field that holds the place described so far and returns f.
func (f *Fault) Field(name string) *Fault {
	f.steps = append(f.steps, "."+name)
	return f
}

// Index adds the list or set element that holds the place described so far.
func (f *Fault) Index(i int) *Fault {
	f.steps = append(f.steps, "["+strconv.Itoa(i)+"]")
	return f
}

// Key adds the map entry that holds the place described so far; key is
// rendered text, such as `"a"` or 7.
func (f *Fault) Key(key string) *Fault {
	f.steps = append(f.steps, "["+key+"]")
	return f
}

// Path returns the place in the value, outermost first, such as
// items[3].price; it is empty for the value itself.
func (f *Fault) Path() string {
	var b strings.Builder
	for i := len(f.steps) - 1; i >= 0; i-- {
		b.WriteString(f.steps[i])
	}
	return strings.TrimPrefix(b.String(), ".")
}

// Error renders detail, path, offset and code.
func (f *Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.Detail)
	if p := f.Path(); p != "" {
		b.WriteString(" at ")
		b.WriteString(p)
	}
	if f.Offset >= 0 {
		b.WriteString(" (offset ")
		b.WriteString(strconv.Itoa(f.Offset))
		b.WriteString(")")
	}
	b.WriteString(" [")
	b.WriteString(f.Code.String())
	b.WriteString("]")
	if f.Cause != nil {
		b.WriteString(": ")
		b.WriteString(f.Cause.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// CodeOf returns the code of the first Fault in err's chain, or 0.
func CodeOf(err error) Code {
	var f *Fault
	if errors.As(err, &f) {
		return f.Code
	}
	return 0
}
