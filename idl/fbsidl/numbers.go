package fbsidl

import (
	"math"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/idl/internal/report"
)

// Numbers, as C reads them: a sign, then decimal digits, of which leading zeros
// mean nothing, or hexadecimal ones after 0x.

func formatInt(i int64) string { return strconv.FormatInt(i, 10) }

// parseInt reads the integer that is all of text. The result of an unsigned
// number is the int64 with the same bits. fits is false for a number that has more than
// 64 bits, or is negative where unsigned is set.
func parseInt(text string, unsigned bool) (v int64, ok, fits bool) {
	digits := strings.TrimLeft(text, " \t\n\v\f\r")
	negative := strings.HasPrefix(digits, "-")
	if negative || strings.HasPrefix(digits, "+") {
		digits = digits[1:]
	}
	base := 10
	if len(digits) > 1 && digits[0] == '0' && digits[1]|0x20 == 'x' {
		base, digits = 16, digits[2:]
	}
	u, err := strconv.ParseUint(digits, base, 64)
	switch {
	case err != nil:
		return 0, strings.Contains(err.Error(), strconv.ErrRange.Error()), false
	case negative && unsigned:
		return 0, true, u == 0
	case unsigned:
		return int64(u), true, true
	case negative:
		return -int64(u), true, u <= 1<<63
	}
	return int64(u), true, u <= math.MaxInt64
}

// limits returns the least and the greatest value of an integer type.
func (b baseType) limits() (low int64, high uint64) {
	bits := uint(8 * b.size())
	if b.isUnsigned() {
		return 0, 1<<(bits-1)<<1 - 1
	}
	return -1 << (bits - 1), 1<<(bits-1) - 1
}

// inRange reports whether v, as parseInt returned it for b, is a value of b.
func (b baseType) inRange(v int64) bool {
	low, high := b.limits()
	if b.isUnsigned() {
		return uint64(v) <= high
	}
	return v >= low && (v < 0 || uint64(v) <= high)
}

// number returns the integer that a literal or a string stands for.
func (r *resolver) number(v *valueNode, b baseType) (int64, bool) {
	// A string is read with as many bits as there are: "-1" is no ulong.
	n, ok, fits := parseInt(v.text, b == btULong)
	if !ok {
		r.errorf(v.pos, codeBadNumber, "%q is no integer", report.Clip(v.text))
		return 0, false
	}
	if !fits || !b.inRange(n) {
		low, high := b.limits()
		r.errorf(v.pos, codeOutOfRange, "the number %s does not fit in %s", report.Clip(v.text), typeName(b)).
			Hint = "it holds " + formatInt(low) + " to " + strconv.FormatUint(high, 10)
		return 0, false
	}
	return n, true
}

// parseFloat reads the number that is all of text.
func parseFloat(text string) (float64, bool) {
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	if strings.EqualFold(strings.TrimLeft(text, "+-"), "nan") && len(text) <= 4 {
		return math.NaN(), true
	}
	if strings.Contains(text, "_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !strings.Contains(err.Error(), strconv.ErrRange.Error()) {
		return 0, false
	}
	return f, true // a number that is too large is infinite
}

// functions are what can be applied to a default.
var functions = map[string]func(float64) float64{
	"deg": func(x float64) float64 { return x / math.Pi * 180 },
	"rad": func(x float64) float64 { return x * math.Pi / 180 },
	"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
}

// call returns the value of a function, with the twelve digits after the point
// that flatc keeps.
func (r *resolver) call(v *valueNode) (float64, bool) {
	f := functions[v.text]
	if f == nil {
		var names []string
		for name := range functions {
			names = append(names, name)
		}
		r.errorf(v.pos, codeBadNumber, "there is no function %s", report.Clip(v.text)).Hint = report.DidYouMean("", v.text, names)
		return 0, false
	}
	x, ok := r.float(v.arg)
	if !ok {
		return 0, false
	}
	y, _ := parseFloat(strconv.FormatFloat(f(x), 'f', 12, 64))
	return y, true
}

// float returns the number that a value stands for.
func (r *resolver) float(v *valueNode) (float64, bool) {
	if v.bad {
		return 0, false
	}
	switch v.form {
	case callForm:
		return r.call(v)
	case emptyForm:
		r.errorf(v.pos, codeTypeMismatch, "expected a number, found a vector")
		return 0, false
	case stringForm:
		if !v.plain || strings.Contains(v.text, ")") {
			r.errorf(v.pos, codeBadNumber, "the string is no number")
			return 0, false
		}
	}
	text := v.text
	if v.form == stringForm {
		text = strings.TrimRight(text, " ")
	}
	if v.form != floatForm && isHexInteger(text) {
		r.errorf(v.pos, codeBadNumber, "%q lacks an exponent", report.Clip(v.text)).
			Hint = "a hexadecimal number with a fraction has one after p, such as 0x1.8p0"
		return 0, false
	}
	f, ok := parseFloat(text)
	if !ok {
		d := r.errorf(v.pos, codeBadNumber, "%q is no number", report.Clip(v.text))
		if v.form == identForm {
			d.Hint = "the names of numbers are inf, infinity and nan"
		}
	}
	return f, ok
}

// isHexInteger reports whether a number has 0x and no exponent.
func isHexInteger(text string) bool {
	i := strings.IndexAny(text, "0123456789.")
	return i >= 0 && i+1 < len(text) && text[i] == '0' && text[i+1]|0x20 == 'x' && !strings.ContainsAny(text[i+2:], "pP")
}
