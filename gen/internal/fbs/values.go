package fbs

// Values of the schema as Go expressions.

import (
	"math"
	"strconv"

	"github.com/thrum-rpc/thrum/schema"
)

// number returns an integer of that kind; those of U64 are the int64 with the same
// bits.
func number(n int64, k schema.Kind) string {
	if k == schema.U64 {
		return strconv.FormatUint(uint64(n), 10)
	}
	return strconv.FormatInt(n, 10)
}

// Default returns the value of an absent scalar, as an expression of the number
// that stands for it.
func (f *field) Default() string {
	v := f.Field.Default()
	switch k := f.number(); {
	case k == schema.Bool:
		return strconv.FormatBool(v != nil && v.Bool)
	case k == schema.Float:
		return f.float(v, 32)
	case k == schema.Double:
		return f.float(v, 64)
	case v == nil:
		return "0"
	default:
		return number(v.Int, k)
	}
}

func (f *field) float(v *schema.Value, bits int) string {
	if v == nil {
		return "0"
	}
	convert := func(expr string) string {
		f.owner.Use("math")
		return "float" + strconv.Itoa(bits) + "(" + expr + ")"
	}
	switch x := v.Float; {
	case math.IsNaN(x):
		return convert("math.NaN()")
	case math.IsInf(x, 1):
		return convert("math.Inf(1)")
	case math.IsInf(x, -1):
		return convert("math.Inf(-1)")
	case x == 0 && math.Signbit(x):
		return convert("math.Copysign(0, -1)")
	default:
		return strconv.FormatFloat(x, 'g', -1, bits)
	}
}

// IsNaN reports whether the default is no number, which equals nothing.
func (f *field) IsNaN() bool {
	v := f.Field.Default()
	k := f.number()
	return v != nil && (k == schema.Float || k == schema.Double) && math.IsNaN(v.Float)
}

// HasDefault reports whether the field is a scalar whose default is not zero.
func (f *field) HasDefault() bool {
	if f.Kind != kindScalar || f.Optional() {
		return false
	}
	d := f.Default()
	return d != "0" && d != "false"
}

// DefaultText returns the default of a string as a Go literal, or "".
func (f *field) DefaultText() string {
	if v := f.Field.Default(); f.Kind == kindString && v != nil {
		return strconv.Quote(v.String)
	}
	return ""
}
