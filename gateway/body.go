package gateway

import (
	"encoding/json"
	"errors"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
)

// This file takes a JSON body apart as far as a route needs it.

// part is a member of the body's object.
type part struct {
	key    string
	value  []byte // aliases the body
	offset int    // of the value in the body
}

// oneValue returns b without the white space around the value, of which there
// must be exactly one: what is spliced into other JSON may not close it.
func oneValue(b []byte) ([]byte, error) {
	i := jsonwire.SkipSpace(b)
	n := jsonwire.Skip(b[i:], maxJSONDepth)
	if n < 0 {
		return nil, syntaxFault(b, 0, n)
	}
	if end := i + n; end+jsonwire.SkipSpace(b[end:]) != len(b) {
		return nil, diag.NewFault(diag.TrailingData, end, "the JSON value is followed by something else")
	}
	return b[i : i+n], nil
}

// splitObject returns the members of the object that b holds. A name that
// stands twice is an error.
func splitObject(b []byte) ([]part, error) {
	value, err := oneValue(b)
	if err != nil {
		return nil, err
	}
	i := jsonwire.SkipSpace(b)
	if value[0] != '{' {
		return nil, diag.NewFault(diag.TypeMismatch, i, "a JSON object was expected")
	}
	// The syntax has been checked, so nothing below can fail.
	var parts []part
	seen := make(map[string]bool)
	for i++; ; i++ {
		i += jsonwire.SkipSpace(b[i:])
		if b[i] == '}' {
			return parts, nil
		}
		name, _ := jsonwire.AppendUnquoted(nil, b[i:])
		key := string(name)
		if seen[key] {
			return nil, diag.NewFault(diag.DuplicateKey, i, "the name stands twice").Field(key)
		}
		seen[key] = true
		i += jsonwire.SkipName(b[i:])
		n := jsonwire.Skip(b[i:], maxJSONDepth)
		parts = append(parts, part{key, b[i : i+n], i})
		i += n
		if i += jsonwire.SkipSpace(b[i:]); b[i] == '}' {
			return parts, nil
		}
	}
}

// syntaxFault describes the negative result n of jsonwire on b, which starts at
// offset. The wire functions do not say where; encoding/json does, unless it
// is less strict.
func syntaxFault(b []byte, offset, n int) *diag.Fault {
	code, at := diag.Syntax, -1
	switch n {
	case jsonwire.ErrEOF:
		code, at = diag.UnexpectedEOF, offset+len(b)
	case jsonwire.ErrDepth:
		code = diag.DepthLimit
	default:
		var syntax *json.SyntaxError
		var raw json.RawMessage
		if errors.As(json.Unmarshal(b, &raw), &syntax) {
			at = offset + int(syntax.Offset) - 1
		}
	}
	return diag.NewFault(code, at, jsonwire.Describe(n))
}
