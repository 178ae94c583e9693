package fbsidl

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The declarations of a binary schema as text. All names stand in full.

type textWriter struct {
	*binaryReader
	*strings.Builder
	attributes map[string]bool // that have been used
}

// full reports, once, that there is too much text.
func (w *textWriter) full() bool {
	if w.Len() > maxBinaryText {
		w.fail("it says more than %d MiB of text", maxBinaryText>>20)
	}
	return w.err != nil
}

// begin writes the namespace, the documentation and the word of a declaration.
func (w *textWriter) begin(word, full, file string, pos, doc int) {
	namespace, name := splitName(full)
	fmt.Fprintf(w, "namespace %s;\n", namespace)
	w.doc("", pos, doc)
	fmt.Fprintf(w, "%s %s", word, name)
	w.out.files[word+" "+full] = file
}

func (w *textWriter) doc(indent string, pos, slot int) {
	w.each(pos, slot, func(at int) {
		line := strings.Map(func(r rune) rune {
			if r == '\n' || r == '\r' {
				return ' '
			}
			return r
		}, w.strAt(at))
		fmt.Fprintf(w, "%s///%s\n", indent, line)
	})
}

// pairs returns the attributes of a declaration.
func (w *textWriter) pairs(pos, slot int) map[string]string {
	all := make(map[string]string)
	w.each(pos, slot, func(at int) { all[w.str(at, pairKey)] = w.str(at, pairValue) })
	return all
}

// meta writes attributes, and those that are only said in other ways.
func (w *textWriter) meta(pairs map[string]string, more ...string) {
	all := make(map[string]string)
	for key, value := range pairs {
		w.attributes[key] = true
		if value != "0" {
			all[key] = quote(key) + ": " + quote(value)
		} else {
			all[key] = quote(key)
		}
	}
	for _, text := range more {
		key, _, _ := strings.Cut(text, ":")
		if all[key] == "" {
			all[key] = text
		}
	}
	if len(all) == 0 {
		return
	}
	w.WriteString(" (")
	for i, key := range sortedKeys(all) {
		if i > 0 {
			w.WriteString(", ")
		}
		w.WriteString(all[key])
	}
	w.WriteString(")")
}

func (w *textWriter) enum(e *binaryEnum) {
	if w.full() {
		return
	}
	word := wordEnum
	if e.union {
		word = wordUnion
	}
	w.begin(word, e.name, e.file, e.pos, enumDoc)
	switch {
	case e.base > btUType && e.base != btBool && e.base.isInteger():
		fmt.Fprintf(w, " : %s", typeName(e.base))
	case e.base != btUType || !e.union:
		w.fail("the values of %s are no integers", e.name)
		return
	}
	w.each(e.pos, enumAttributes, func(at int) { e.flags = e.flags || w.str(at, pairKey) == "bit_flags" })
	w.meta(w.pairs(e.pos, enumAttributes))
	w.WriteString(" {\n")
	w.each(e.pos, enumValues, func(at int) { w.value(e, at) })
	w.WriteString("}\n")
}

func (w *textWriter) value(e *binaryEnum, at int) {
	name, number := w.name(at, valName), w.int64(at, valValue)
	if w.full() || e.union && name == "NONE" && number == 0 {
		return
	}
	w.doc("  ", at, valDoc)
	fmt.Fprintf(w, "  %s", name)
	if e.union {
		fmt.Fprintf(w, ":%s", w.typ(w.ref(at, valType)))
	}
	if e.flags {
		bit, ok := bitOf(number)
		if !ok {
			w.fail("%s of %s is no single bit", name, e.name)
		}
		number = int64(bit)
	}
	if e.base == btULong {
		fmt.Fprintf(w, " = %d", uint64(number))
	} else {
		fmt.Fprintf(w, " = %d", number)
	}
	w.meta(w.pairs(at, valAttributes))
	w.WriteString(",\n")
}

// typ returns a type as it is written.
func (w *textWriter) typ(at int) string {
	base := w.base(at, typeBase)
	elem := w.base(at, typeElement)
	index := w.num(at, typeIndex, 4, -1)
	switch base {
	case btVector, btVector64:
		return "[" + w.single(elem, index) + "]"
	case btArray:
		return "[" + w.single(elem, index) + ":" + strconv.Itoa(w.num(at, typeLength, 2, 0)) + "]"
	}
	return w.single(base, index)
}

// single returns a type that is no series.
func (w *textWriter) single(base baseType, index int) string {
	switch {
	case base == btObj && index >= 0 && index < len(w.objects):
		return w.objects[index].name
	case base == btUnion && index >= 0 && index < len(w.enums) && w.enums[index].union:
		return w.enums[index].name
	case base > btUType && base <= btULong && index >= 0 && index < len(w.enums) && !w.enums[index].union:
		return w.enums[index].name
	case base > btUType && base <= btString && index < 0:
		return typeName(base)
	}
	w.fail("a type has the kind %d with the index %d", base, index)
	return "?"
}

// fieldsOf returns the fields in the order of their ids, without the types of
// unions.
func (w *textWriter) fieldsOf(o *binaryObject) []int {
	type field struct{ pos, id int }
	var all []field
	w.each(o.pos, objectFields, func(at int) {
		all = append(all, field{at, w.num(at, fieldID, 2, 0)})
	})
	slices.SortStableFunc(all, func(a, b field) int { return cmp.Compare(a.id, b.id) })
	var list []int
	for i, f := range all {
		if f.id != i {
			w.fail("the ids of the fields of %s are not 0 to %d", o.name, len(all)-1)
			return nil
		}
		t := w.ref(f.pos, fieldType)
		if w.base(t, typeBase) != btUType && w.base(t, typeElement) != btUType {
			list = append(list, f.pos)
		}
	}
	return list
}

// strct writes a struct, after those that it holds.
func (w *textWriter) strct(o *binaryObject, depth int) {
	if w.full() || o.state == loaded {
		return
	}
	if o.state == reading || depth > maxNameLength {
		w.fail("the struct %s contains itself", o.name)
		return
	}
	o.state = reading
	fields := w.fieldsOf(o)
	natural := 1
	for _, f := range fields {
		t := w.ref(f, fieldType)
		base := w.base(t, typeBase)
		if base == btArray {
			base = w.base(t, typeElement)
		}
		index := w.num(t, typeIndex, 4, -1)
		switch {
		case base == btObj && index >= 0 && index < len(w.objects):
			inner := w.objects[index]
			if inner.fixed {
				w.strct(inner, depth+1)
			}
			natural = max(natural, inner.align)
		case base.isScalar():
			natural = max(natural, base.size())
		}
	}
	w.begin(wordStruct, o.name, o.file, o.pos, objectDoc)
	if o.align > natural {
		w.meta(w.pairs(o.pos, objectAttributes), "force_align: "+strconv.Itoa(o.align))
	} else {
		w.meta(w.pairs(o.pos, objectAttributes))
	}
	w.fields(fields, true)
	o.state = loaded
}

func (w *textWriter) table(o *binaryObject) {
	if w.full() {
		return
	}
	w.begin(wordTable, o.name, o.file, o.pos, objectDoc)
	w.meta(w.pairs(o.pos, objectAttributes))
	w.fields(w.fieldsOf(o), false)
}

func (w *textWriter) fields(list []int, fixed bool) {
	w.WriteString(" {\n")
	for _, f := range list {
		if w.full() {
			return
		}
		w.field(f, fixed)
	}
	w.WriteString("}\n")
}

func (w *textWriter) field(at int, fixed bool) {
	t := w.ref(at, fieldType)
	base := w.base(t, typeBase)
	w.doc("  ", at, fieldDoc)
	fmt.Fprintf(w, "  %s:%s", w.name(at, fieldName), w.typ(t))
	pairs := w.pairs(at, fieldAttributes)
	switch said := pairs[saidDefault]; {
	case fixed:
	case base == btULong && isLarge(said):
		w.WriteString(" = " + said)
		delete(pairs, saidDefault)
	case base == btString && said != "" && !w.flag(at, fieldOptional) && !w.flag(at, fieldRequired):
		w.WriteString(" = " + quote(said))
		delete(pairs, saidDefault)
	default:
		w.defaultOf(at, base)
	}
	var more []string
	say := func(yes bool, name string) {
		if yes {
			more = append(more, name)
		}
	}
	say(w.flag(at, fieldDeprecated), "deprecated")
	say(w.flag(at, fieldKey), "key")
	say(w.flag(at, fieldRequired) && !(base == btString && w.flag(at, fieldKey)), "required")
	say(base == btVector64, "vector64")
	say(base != btVector64 && w.flag(at, fieldOffset64), "offset64")
	w.meta(pairs, more...)
	w.WriteString(";\n")
}

// isLarge reports whether text is a number of 64 bits, the highest of which is set.
func isLarge(text string) bool {
	n, err := strconv.ParseUint(text, 10, 64)
	return err == nil && n>>63 == 1
}

// defaultOf writes a field's default. That of a string is not known if flatc wrote the schema, only that
// there is one; it is taken for empty.
func (w *textWriter) defaultOf(at int, base baseType) {
	integer := w.int64(at, fieldDefaultInteger)
	float := w.float(at, fieldDefaultReal)
	optional, required := w.flag(at, fieldOptional), w.flag(at, fieldRequired)
	switch {
	case base.isScalar() && optional:
		w.WriteString(" = null")
	case base.isFloat() && (float != 0 || math.Signbit(float)):
		fmt.Fprintf(w, " = %s", formatFloat(float))
	case base == btBool && integer == 1:
		w.WriteString(" = true")
	case base == btULong && integer != 0:
		fmt.Fprintf(w, " = %d", uint64(integer))
	case base.isInteger() && integer != 0:
		fmt.Fprintf(w, " = %d", integer)
	case base == btString && !optional && !required:
		w.WriteString(` = ""`)
	case base.isVector() && !optional && !required:
		w.WriteString(" = []")
	}
}

func formatFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func (w *textWriter) service(at int) {
	if w.full() {
		return
	}
	name := w.name(at, serviceName)
	w.begin(wordService, name, w.str(at, serviceFile), at, serviceDoc)
	w.meta(w.pairs(at, serviceAttributes))
	w.WriteString(" {\n")
	w.each(at, serviceCalls, func(call int) {
		if w.full() {
			return
		}
		w.doc("  ", call, callDoc)
		request := w.name(w.ref(call, callRequest), objectName)
		response := w.name(w.ref(call, callResponse), objectName)
		fmt.Fprintf(w, "  %s(%s):%s", w.name(call, callName), request, response)
		w.meta(w.pairs(call, callAttributes))
		w.WriteString(";\n")
	})
	w.WriteString("}\n")
}
