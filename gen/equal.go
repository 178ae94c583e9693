package gen

// The comparisons of DeepEqual.

import (
	"fmt"

	"github.com/thrum-rpc/thrum/schema"
)

// Equal returns the condition under which the field is equal in p and o.
func (f *goField) Equal() string {
	a, b := "p."+f.Name, "o."+f.Name
	switch k := f.Field.Type().Kind(); {
	case f.pointer():
		return fmt.Sprintf("(%[1]s == nil) == (%[2]s == nil) && (%[1]s == nil || *%[1]s == *%[2]s)", a, b)
	case f.optional() && (k.IsContainer() || k == schema.Binary):
		return fmt.Sprintf("(%s == nil) == (%s == nil) && %s", a, b, f.owner.equal(a, b, f.valueType(), 0))
	}
	return f.owner.equal(a, b, f.valueType(), 0)
}

// equal returns the condition under which expressions a and b of type t are
// equal; depth numbers the variables of nested functions.
func (f *goFile) equal(a, b string, t *schema.Type, depth int) string {
	switch t.Kind() {
	case schema.Binary:
		return fmt.Sprintf("%s.Equal(%s, %s)", f.Use("bytes"), a, b)
	case schema.Struct:
		return fmt.Sprintf("%s.DeepEqual(%s)", a, b)
	case schema.List, schema.Set:
		if isScalar(t.Elem()) {
			return fmt.Sprintf("%s.Equal(%s, %s)", f.Use("slices"), a, b)
		}
		return fmt.Sprintf("%s.EqualFunc(%s, %s, %s)", f.Use("slices"), a, b, f.equalElems(t, depth))
	case schema.Map:
		if t.Key().Kind() == schema.Struct {
			return f.equalByStruct(a, b, t, depth)
		}
		if isScalar(t.Elem()) {
			return fmt.Sprintf("%s.Equal(%s, %s)", f.Use("maps"), a, b)
		}
		return fmt.Sprintf("%s.EqualFunc(%s, %s, %s)", f.Use("maps"), a, b, f.equalElems(t, depth))
	default:
		return a + " == " + b
	}
}

// equalElems returns a function that compares two elements of container t.
func (f *goFile) equalElems(t *schema.Type, depth int) string {
	x, y := fmt.Sprintf("x%d", depth), fmt.Sprintf("y%d", depth)
	return fmt.Sprintf("func(%s, %s %s) bool { return %s }", x, y, f.elemType(t), f.equalElem(x, y, t, depth+1))
}

func (f *goFile) equalElem(x, y string, t *schema.Type, depth int) string {
	if f.opts.structValues && t.Elem().Kind() == schema.Struct {
		y = "&" + y
	}
	return f.equal(x, y, t.Elem(), depth)
}

// equalByStruct compares maps whose keys are pointers to structs, each entry of
// one with all of the other.
func (f *goFile) equalByStruct(a, b string, t *schema.Type, depth int) string {
	k, x, l, y := fmt.Sprintf("k%d", depth), fmt.Sprintf("x%d", depth), fmt.Sprintf("l%d", depth), fmt.Sprintf("y%d", depth)
	return fmt.Sprintf(`func() bool {
	if len(%[1]s) != len(%[2]s) {
		return false
	}
next%[8]d:
	for %[3]s, %[4]s := range %[1]s {
		for %[5]s, %[6]s := range %[2]s {
			if %[3]s.DeepEqual(%[5]s) && %[7]s {
				continue next%[8]d
			}
		}
		return false
	}
	return true
}()`, a, b, k, x, l, y, f.equalElem(x, y, t, depth+1), depth)
}
