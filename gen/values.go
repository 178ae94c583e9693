package gen

// How values of the schema are written as Go expressions. Every expression
// makes a new value: nothing refers to another constant's variable, so nobody
// can change a default through what they were given.

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
)

// maxImplied bounds the values that one file writes for the defaults of structs
// within defaults, which may double at each level.
const maxImplied = 1 << 15

// value returns v as an expression that can be assigned to t's Go type.
func (f *goFile) value(v *schema.Value, t *schema.Type) string { return f.expr(v, t, nil) }

// expr is value inside of the defaults, which the IDL leaves out, of the structs
// in within; those are not opened again.
func (f *goFile) expr(v *schema.Value, t *schema.Type, within []*schema.StructDef) string {
	if len(within) > 0 {
		f.implied++
	}
	if f.implied > maxImplied {
		if f.implied == maxImplied+1 {
			f.report(v.Span, "too-many-values", "the defaults of structs within defaults stand for too many values", "")
		}
		return "nil"
	}
	switch t.Kind() {
	case schema.Bool:
		return strconv.FormatBool(v.Bool)
	case schema.Float, schema.Double:
		return f.float(v.Float)
	case schema.String:
		return quote(v.String)
	case schema.Binary:
		return "[]byte(" + quote(v.String) + ")"
	case schema.UUID:
		return uuid(v.String)
	case schema.Enum:
		return f.enumerator(v, t)
	case schema.List, schema.Set:
		return f.elements(v, t, within)
	case schema.Map:
		return f.entries(v, t, within)
	case schema.Struct:
		return f.structValue(v, t, within)
	default:
		return strconv.FormatInt(v.Int, 10)
	}
}

func (f *goFile) float(v float64) string {
	switch {
	case math.IsNaN(v):
		return f.Use("math") + ".NaN()"
	case math.IsInf(v, 0):
		return fmt.Sprintf("%s.Inf(%d)", f.Use("math"), int(math.Copysign(1, v)))
	case v == 0 && math.Signbit(v):
		return f.Use("math") + ".Copysign(0, -1)" // the literal -0.0 is +0
	}
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// isConstant reports whether v can stand in a const declaration.
func isConstant(v *schema.Value, t *schema.Type) bool {
	switch t.Kind() {
	case schema.Float, schema.Double:
		return !math.IsNaN(v.Float) && !math.IsInf(v.Float, 0) && (v.Float != 0 || !math.Signbit(v.Float))
	case schema.UUID:
		return false
	}
	return isScalar(t)
}

// quote writes s as a Go string in which every byte survives.
func quote(s string) string {
	if strings.ContainsRune(s, '\uFEFF') {
		return strconv.QuoteToASCII(s) // Go source may not contain it
	}
	return strconv.Quote(s)
}

func uuid(s string) string {
	digits := strings.NewReplacer("-", "", "{", "", "}", "").Replace(s)
	var b strings.Builder
	b.WriteString("[16]byte{")
	for i := 0; i+1 < len(digits) && i < 32; i += 2 {
		b.WriteString("0x" + strings.ToLower(digits[i:i+2]) + ",")
	}
	return strings.TrimSuffix(b.String(), ",") + "}"
}

func (f *goFile) enumerator(v *schema.Value, t *schema.Type) string {
	e := f.generator.enums[t.Enum()]
	for _, ev := range e.Values {
		if ev.EnumValue == v.Enumerator {
			return f.qualified(e.pkg, ev.Name)
		}
	}
	return fmt.Sprintf("%s(%d)", f.qualified(e.pkg, e.Name), v.Int)
}

func (f *goFile) elements(v *schema.Value, t *schema.Type, within []*schema.StructDef) string {
	var list []string
	seen := make(map[string]bool)
	for _, e := range v.List {
		x := f.element(e, t, within)
		if t.Kind() == schema.Set && seen[x] {
			continue
		}
		seen[x] = true
		list = append(list, x)
	}
	return composite(f.goType(t), list)
}

// element writes v as an element of container t.
func (f *goFile) element(v *schema.Value, t *schema.Type, within []*schema.StructDef) string {
	x := f.expr(v, t.Elem(), within)
	if f.opts.structValues && t.Elem().Kind() == schema.Struct {
		return strings.TrimPrefix(x, "&")
	}
	return x
}

// entries writes a map. Where a key stands twice the last entry counts, as in
// other languages; Go would refuse the literal.
func (f *goFile) entries(v *schema.Value, t *schema.Type, within []*schema.StructDef) string {
	last := make(map[string]int, len(v.Map))
	key := func(e schema.MapEntry) string {
		if t.Key().Kind() == schema.Enum {
			return strconv.FormatInt(e.Key.Int, 10) // two names may have one number
		}
		return f.expr(e.Key, t.Key(), within)
	}
	for i, e := range v.Map {
		last[key(e)] = i
	}
	var list []string
	for i, e := range v.Map {
		if last[key(e)] != i {
			continue
		}
		k := f.expr(e.Key, t.Key(), within)
		if t.Key().Kind() == schema.Binary {
			k = quote(e.Key.String)
		}
		list = append(list, k+": "+f.element(e.Value, t, within))
	}
	return composite(f.goType(t), list)
}

// structValue writes a struct with the fields that were given and the defaults
// of the others, as a constructor of other languages would leave it.
func (f *goFile) structValue(v *schema.Value, t *schema.Type, within []*schema.StructDef) string {
	s := f.generator.structs[t.Struct()]
	given := make(map[*schema.Field]*schema.Value, len(v.Fields))
	for _, fv := range v.Fields {
		given[fv.Field] = fv.Value
	}
	open := true
	for _, d := range within {
		open = open && d != s.StructDef
	}
	inner := append(within[:len(within):len(within)], s.StructDef)
	var list []string
	for _, field := range s.Fields {
		val := given[field.Field]
		in := within
		if val == nil && open {
			val, in = field.defaultValue(), inner
		}
		if val == nil {
			continue
		}
		x := f.expr(val, field.valueType(), in)
		if field.pointer() {
			x = fmt.Sprintf("func() *%[1]s { var v %[1]s = %[2]s; return &v }()", f.goType(field.valueType()), x)
		}
		list = append(list, field.Name+": "+x)
	}
	return composite("&"+f.structType(t), list)
}

// composite writes a composite literal, on one line if it is short.
func composite(typ string, elems []string) string {
	one := typ + "{" + strings.Join(elems, ", ") + "}"
	if len(one) < 100 && !strings.ContainsAny(one, "\n") {
		return one
	}
	return typ + "{\n" + strings.Join(elems, ",\n") + ",\n}"
}
