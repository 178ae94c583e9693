package flatjson

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/flatpack"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
)

// This file holds the tokens of JSON, and those that only flatc reads.

// peek returns the byte at hand, 0 at the end.
func (r *reader) peek() byte {
	if r.i < len(r.b) {
		return r.b[r.i]
	}
	return 0
}

func (r *reader) at(c byte) bool { return r.peek() == c && r.i < len(r.b) }

// unexpected is the fault of something else than what.
func (r *reader) unexpected(what string) *diag.Fault {
	if r.i >= len(r.b) {
		return diag.NewFault(diag.UnexpectedEOF, len(r.b), "the input ends before "+what)
	}
	c, _ := utf8.DecodeRune(r.b[r.i:])
	return diag.NewFault(diag.Syntax, r.i, fmt.Sprintf("%q stands where %s is expected", c, what))
}

// space steps over white space, and comments where they are read.
func (r *reader) space() *diag.Fault {
	for {
		r.i += jsonwire.SkipSpace(r.b[r.i:])
		if !r.opt.lenient || r.i+1 >= len(r.b) || r.b[r.i] != '/' {
			return nil
		}
		switch r.b[r.i+1] {
		case '/':
			for r.i < len(r.b) && r.b[r.i] != '\n' {
				r.i++
			}
		case '*':
			start := r.i
			r.i += 2
			for r.i+1 < len(r.b) && (r.b[r.i] != '*' || r.b[r.i+1] != '/') {
				r.i++
			}
			if r.i+1 >= len(r.b) {
				return diag.NewFault(diag.UnexpectedEOF, start, "a comment has no end")
			}
			r.i += 2
		default:
			return nil
		}
	}
}

// object reads an object: each gets a name, and reads the value at hand.
func (r *reader) object(each func(name []byte, at int) *diag.Fault) *diag.Fault {
	if !r.at('{') {
		return r.mismatch("an object")
	}
	r.i++
	if more, fault := r.first('}'); !more {
		return fault
	}
	for {
		at := r.i
		name, fault := r.name()
		if fault != nil {
			return fault
		}
		if fault := each(name, at); fault != nil {
			return fault
		}
		if more, fault := r.comma('}'); !more {
			return fault
		}
	}
}

// list reads an array: each reads the element at hand.
func (r *reader) list(each func(i int) *diag.Fault) (n int, fault *diag.Fault) {
	if !r.at('[') {
		return 0, r.mismatch("an array")
	}
	r.i++
	if more, fault := r.first(']'); !more {
		return 0, fault
	}
	for {
		if fault := each(n); fault != nil {
			return n, fault
		}
		n++
		if more, fault := r.comma(']'); !more {
			return n, fault
		}
	}
}

// mismatch is the fault of another value than what.
func (r *reader) mismatch(what string) *diag.Fault {
	fault := r.unexpected(what)
	if c := r.peek(); fault.Code == diag.Syntax && (c == '"' || c == '{' || c == '[' || c == '-' || c >= '0' && c <= '9' || c == 't' || c == 'f' || c == 'n') {
		fault.Code = diag.TypeMismatch
	}
	return fault
}

// first steps to the first element, or over the end.
func (r *reader) first(end byte) (more bool, fault *diag.Fault) {
	if fault := r.space(); fault != nil {
		return false, fault
	}
	if r.at(end) {
		r.i++
		return false, nil
	}
	return true, nil
}

// comma steps to the next element, or over the end.
func (r *reader) comma(end byte) (more bool, fault *diag.Fault) {
	if fault := r.space(); fault != nil {
		return false, fault
	}
	switch {
	case r.at(end):
		r.i++
		return false, nil
	case !r.at(','):
		return false, r.unexpected(fmt.Sprintf("%q or %q", ',', end))
	}
	r.i++
	if fault := r.space(); fault != nil {
		return false, fault
	}
	if r.at(end) && r.opt.lenient {
		r.i++
		return false, nil
	}
	return true, nil
}

// name reads a name, the colon and the space behind them.
func (r *reader) name() ([]byte, *diag.Fault) {
	name, fault := r.word()
	if fault == nil {
		fault = r.space()
	}
	if fault != nil {
		return nil, fault
	}
	if !r.at(':') {
		return nil, r.unexpected(`':'`)
	}
	r.i++
	return name, r.space()
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isWord(c byte) bool   { return isLetter(c) || c >= '0' && c <= '9' || c == '.' }

// word reads a string, or a word without quotes where they are read.
func (r *reader) word() ([]byte, *diag.Fault) {
	if !r.opt.lenient || !isLetter(r.peek()) {
		return r.str()
	}
	start := r.i
	for r.i < len(r.b) && isWord(r.b[r.i]) {
		r.i++
	}
	return r.b[start:r.i], nil
}

// null steps over null, and reports whether it was there.
func (r *reader) null() bool {
	n := jsonwire.SkipLiteral(r.b[r.i:], "null")
	if n <= 0 || r.i+n < len(r.b) && isWord(r.b[r.i+n]) {
		return false
	}
	r.i += n
	return true
}

// str reads a string. The result is valid until the next.
func (r *reader) str() ([]byte, *diag.Fault) {
	if r.opt.lenient && (r.at('"') || r.at('\'')) {
		return r.looseString()
	}
	if !r.at('"') {
		return nil, r.mismatch("a string")
	}
	n, escaped := jsonwire.SkipString(r.b[r.i:])
	if n < 0 {
		return nil, r.stringFault(n)
	}
	start := r.i
	if !escaped {
		r.i += n
		return r.b[start+1 : r.i-1], nil
	}
	held := len(r.text)
	out, n := jsonwire.AppendUnquoted(r.text, r.b[r.i:])
	if n < 0 {
		return nil, r.stringFault(n)
	}
	r.i += n
	s := out[held:]
	r.text = out[:held]
	return s, nil
}

func (r *reader) stringFault(n int) *diag.Fault {
	if n == jsonwire.ErrEOF {
		return diag.NewFault(diag.UnexpectedEOF, len(r.b), "a string has no end")
	}
	return diag.NewFault(diag.Syntax, r.i, jsonwire.Describe(n))
}

// looseString reads a string as flatc does: in quotes of either kind, with \x.
func (r *reader) looseString() ([]byte, *diag.Fault) {
	quote, start, held := r.b[r.i], r.i, len(r.text)
	out := r.text
	for r.i++; r.i < len(r.b); {
		c := r.b[r.i]
		switch {
		case c == quote:
			r.i++
			r.text = out[:held]
			if s := out[held:]; utf8.Valid(s) {
				return s, nil
			}
			return nil, diag.NewFault(diag.InvalidData, start, "the string is not UTF-8")
		case c == '\\':
			var fault *diag.Fault
			if out, fault = r.escape(out); fault != nil {
				return nil, fault
			}
		case c < ' ':
			return nil, diag.NewFault(diag.Syntax, r.i, "a control character stands in a string")
		default:
			out = append(out, c)
			r.i++
		}
	}
	return nil, diag.NewFault(diag.UnexpectedEOF, start, "a string has no end")
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '"': '"', '\'': '\'', '\\': '\\', '/': '/'}

// escape reads an escape sequence.
func (r *reader) escape(out []byte) ([]byte, *diag.Fault) {
	bad := func() ([]byte, *diag.Fault) {
		return nil, diag.NewFault(diag.Syntax, r.i, "there is no such escape sequence")
	}
	if r.i+1 >= len(r.b) {
		return bad()
	}
	c := r.b[r.i+1]
	if plain, ok := escapes[c]; ok {
		r.i += 2
		return append(out, plain), nil
	}
	switch c {
	case 'x':
		n, ok := r.hex(r.i+2, 2)
		if !ok {
			return bad()
		}
		r.i += 4
		return append(out, byte(n)), nil
	case 'u':
		n, ok := r.hex(r.i+2, 4)
		if !ok {
			return bad()
		}
		size := 6
		if utf16.IsSurrogate(n) {
			low, ok := r.hex(r.i+8, 4)
			if !ok || r.b[r.i+6] != '\\' || r.b[r.i+7] != 'u' {
				return bad()
			}
			if n = utf16.DecodeRune(n, low); n == utf8.RuneError {
				return bad()
			}
			size = 12
		}
		r.i += size
		return utf8.AppendRune(out, n), nil
	}
	return bad()
}

func (r *reader) hex(at, n int) (rune, bool) {
	if at+n > len(r.b) {
		return 0, false
	}
	x, err := strconv.ParseUint(string(r.b[at:at+n]), 16, 32)
	return rune(x), err == nil
}

// maxSkip is the deepest nesting of JSON that is stepped over: tables with a
// vector and a struct each.
const maxSkip = 4 * maxDepth

// skip steps over a value.
func (r *reader) skip(depth int) *diag.Fault {
	if !r.opt.lenient {
		n := jsonwire.Skip(r.b[r.i:], maxSkip)
		if n == jsonwire.ErrDepth {
			return diag.NewFault(diag.DepthLimit, r.i, fmt.Sprintf("values nest deeper than %d levels", maxSkip))
		}
		if n < 0 {
			return diag.NewFault(diag.Syntax, r.i, jsonwire.Describe(n))
		}
		r.i += n
		return nil
	}
	if depth > maxSkip {
		return diag.NewFault(diag.DepthLimit, r.i, fmt.Sprintf("values nest deeper than %d levels", maxSkip))
	}
	switch c := r.peek(); {
	case c == '{':
		return r.object(func([]byte, int) *diag.Fault { return r.skip(depth + 1) })
	case c == '[':
		_, fault := r.list(func(int) *diag.Fault { return r.skip(depth + 1) })
		return fault
	case c == '"' || c == '\'':
		_, fault := r.looseString()
		return fault
	}
	start := r.i
	for r.i < len(r.b) && (isWord(r.b[r.i]) || r.b[r.i] == '+' || r.b[r.i] == '-' || r.b[r.i] == '(' || r.b[r.i] == ')') {
		r.i++
	}
	if r.i == start {
		return r.unexpected("a value")
	}
	return nil
}

// functions are those of flatc's constants.
var functions = map[string]func(float64) float64{
	"deg": func(x float64) float64 { return x / math.Pi * 180 }, "rad": func(x float64) float64 { return x * math.Pi / 180 },
	"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
}

// loose reads a number, a name or a function of a number, as flatc does.
func (r *reader) loose(t *schema.Type, depth int) (uint64, *diag.Fault) {
	start := r.i
	for r.i < len(r.b) && (isWord(r.b[r.i]) || r.b[r.i] == '+' || r.b[r.i] == '-') {
		r.i++
	}
	word := string(r.b[start:r.i])
	f, ok := functions[word]
	if !ok || !r.at('(') {
		if word == "" {
			return 0, r.mismatch("a value of type " + t.String())
		}
		return r.spelt(t, word, start)
	}
	kind := flatpack.KindOf(t)
	if depth > maxDepth || kind != schema.Float && kind != schema.Double {
		return 0, diag.NewFault(diag.TypeMismatch, start, "functions are for floating-point numbers, and nest little")
	}
	r.i++
	bits, fault := r.loose(schema.Basic(schema.Double), depth+1)
	if fault != nil {
		return 0, fault
	}
	if !r.at(')') {
		return 0, r.unexpected(`')'`)
	}
	r.i++
	x := f(math.Float64frombits(bits))
	if kind == schema.Float {
		return uint64(math.Float32bits(float32(x))), nil
	}
	return math.Float64bits(x), nil
}
