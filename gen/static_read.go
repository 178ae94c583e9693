package gen

// The statements of ReadThriftAt.

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/thrum-rpc/thrum/schema"
)

// ReadCases returns the cases of the switch over field headers.
func (s *goStruct) ReadCases() string {
	w := &staticCode{goFile: s.goFile}
	required := s.required()
	for _, f := range s.Fields {
		w.printf("case %#x: // %d: %s", f.head(), f.ID(), f.Field.Name())
		w.printf("i += 3")
		path := fmt.Sprintf(".Field(%q)", f.Field.Name())
		if f.pointer() {
			n := w.fresh()
			w.printf("v%d := new(%s)", n, f.ValueType())
			w.read(fmt.Sprintf("*v%d", n), f.valueType(), 1, path, f.noCopy())
			w.printf("p.%s = v%d", f.Name, n)
		} else {
			w.read("p."+f.Name, f.valueType(), 1, path, f.noCopy())
		}
		if k := slices.Index(required, f); k >= 0 {
			w.printf("seen[%d] |= 1 << %d", k/64, k%64)
		}
	}
	return w.b.String()
}

func (f *goField) noCopy() bool { return f.Annotations().Has("go.nocopy") }

// required returns the required fields by id, which is the order in which a
// missing one is reported.
func (s *goStruct) required() []*goField {
	var list []*goField
	for _, f := range s.Fields {
		if f.Requiredness() == schema.Required && !f.optional() {
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b *goField) int { return cmp.Compare(int16(a.ID()), int16(b.ID())) })
	return list
}

// RequiredWords returns how many words of bits the required fields take.
func (s *goStruct) RequiredWords() int { return (len(s.required()) + 63) / 64 }

// ReadEnd returns the statements that report required fields that are missing.
func (s *goStruct) ReadEnd() string {
	w := &staticCode{goFile: s.goFile}
	for k, f := range s.required() {
		w.printf("if seen[%d]&(1<<%d) == 0 {\nreturn i, %s.Missing(i-1, %d, %q)\n}", k/64, k%64, w.StaticRT(), int16(f.ID()), s.Name)
	}
	return w.b.String()
}

// read assigns the value at i to x, of type t.
func (w *staticCode) read(x string, t *schema.Type, k int, path string, alias bool) {
	failing := func(format string, args ...any) {
		w.printf("if "+format+"; f != nil {\nreturn i, f%s\n}", append(args, path)...)
	}
	switch t.Kind() {
	case schema.String, schema.Binary:
		n := w.fresh()
		w.printf("var s%d []byte", n)
		failing("s%d, i, f = %s.Bytes(b, i)", n, w.StaticRT())
		switch {
		case t.Kind() == schema.String:
			w.printf("%s = %s(s%d)", x, w.goType(t), n)
		case alias:
			w.printf("%s = s%d", x, n)
		default:
			w.printf("%s = append([]byte{}, s%d...)", x, n)
		}
	case schema.Enum:
		n := w.fresh()
		w.printf("var e%d int32", n)
		failing("e%d, i, f = %s.I32(b, i)", n, w.StaticRT())
		w.printf("%s = %s(e%d)", x, w.goType(t), n)
	case schema.Struct:
		n := w.fresh()
		w.printf("v%d := new(%s)", n, w.structType(t))
		w.readStruct(fmt.Sprintf("v%d", n), t, k, path)
		w.printf("%s = v%d", x, n)
	case schema.List, schema.Set:
		w.readList(x, t, k, path)
	case schema.Map:
		w.readMap(x, t, k, path)
	default:
		if kind := goKinds[t.Kind()]; w.goType(t) != kind {
			n := w.fresh()
			w.printf("var n%d %s", n, kind)
			failing("n%d, i, f = %s.%s(b, i)", n, w.StaticRT(), wireNames[t.Kind()])
			w.printf("%s = %s(n%d)", x, w.goType(t), n)
			return
		}
		failing("%s, i, f = %s.%s(b, i)", x, w.StaticRT(), wireNames[t.Kind()])
	}
}

// readStruct fills the struct that the expression v points to or names.
func (w *staticCode) readStruct(v string, t *schema.Type, k int, path string) {
	if w.generator.structs[t.Struct()].HasDefaults() {
		w.printf("%s.InitDefault()", v)
	}
	w.printf("if i, f = %s.ReadThriftAt(b, i, depth-%d); f != nil {\nreturn i, f%s\n}", v, k, path)
}

func (w *staticCode) readList(x string, t *schema.Type, k int, path string) {
	n := w.fresh()
	elem := t.Elem()
	w.printf("var n%d int", n)
	w.printf("if n%d, i, f = %s.List(b, i, depth-%d, %s); f != nil {\nreturn i, f%s\n}", n, w.StaticRT(), k, w.wireName(elem), path)
	list, at, inner := fmt.Sprintf("l%d", n), fmt.Sprintf("l%[1]d[i%[1]d]", n), fmt.Sprintf(".Index(i%d)%s", n, path)
	switch {
	case elem.Kind() == schema.Struct:
		w.readStructs(n, t, k, inner)
	case fixedSize(elem) > 0:
		w.printf("%s := make(%s, n%d)", list, w.goType(t), n)
		w.printf("for i%[1]d := range l%[1]d {", n)
		w.read(at, elem, k+1, inner, false)
		w.printf("}")
	default:
		w.printf("%s := make(%s, 0, %s.Capacity(b, i, depth-%d, n%d, %d))", list, w.goType(t), w.StaticRT(), k, n, w.memory(elem, false))
		w.printf("for i%[1]d := 0; i%[1]d < n%[1]d; i%[1]d++ {\nvar v%[1]d %[2]s", n, w.elemType(t))
		w.read(fmt.Sprintf("v%d", n), elem, k+1, inner, false)
		w.printf("l%[1]d = append(l%[1]d, v%[1]d)\n}", n)
	}
	w.printf("%s = %s", x, list)
}

// readStructs reads a list of structs, which are allocated in blocks.
func (w *staticCode) readStructs(n int, t *schema.Type, k int, path string) {
	size := w.structMemory(t.Elem())
	if w.inline(t) {
		w.printf("l%d := make(%s, 0, %s.Capacity(b, i, depth-%d, n%d, %d))", n, w.goType(t), w.StaticRT(), k, n, size)
		w.printf("for i%[1]d := 0; i%[1]d < n%[1]d; i%[1]d++ {\nl%[1]d = append(l%[1]d, %[2]s{})", n, w.structType(t.Elem()))
		w.printf("v%[1]d := &l%[1]d[i%[1]d]", n)
		w.readStruct(fmt.Sprintf("v%d", n), t.Elem(), k+1, path)
		w.printf("}")
		return
	}
	w.printf("l%d := make(%s, 0, %s.Capacity(b, i, depth-%d, n%d, 8))", n, w.goType(t), w.StaticRT(), k, n)
	w.printf("var block%d []%s", n, w.structType(t.Elem()))
	w.printf("for i%[1]d := 0; i%[1]d < n%[1]d; i%[1]d++ {\nif len(block%[1]d) == 0 {", n)
	w.printf("block%[1]d = make([]%[2]s, %[3]s.Capacity(b, i, depth-%[5]d, n%[1]d-i%[1]d, %[4]d))\n}", n, w.structType(t.Elem()), w.StaticRT(), size, k)
	w.printf("v%[1]d := &block%[1]d[0]\nblock%[1]d = block%[1]d[1:]", n)
	w.readStruct(fmt.Sprintf("v%d", n), t.Elem(), k+1, path)
	w.printf("l%[1]d = append(l%[1]d, v%[1]d)\n}", n)
}

func (w *staticCode) readMap(x string, t *schema.Type, k int, path string) {
	n := w.fresh()
	w.printf("var n%d int", n)
	w.printf("if n%d, i, f = %s.Map(b, i, depth-%d, %s, %s); f != nil {\nreturn i, f%s\n}",
		n, w.StaticRT(), k, w.wireName(t.Key()), w.wireName(t.Elem()), path)
	size := w.memory(t.Key(), false) + w.memory(t.Elem(), w.inline(t))
	w.printf("m%[1]d := make(%[2]s, %[3]s.Capacity(b, i, depth-%[5]d, n%[1]d, %[4]d))", n, w.goType(t), w.StaticRT(), size, k)
	w.printf("for range n%d {\nvar k%d %s", n, n, w.keyType(t))
	key := fmt.Sprintf("k%d", n)
	kt := t.Key()
	if kt.Kind() == schema.Binary {
		kt = schema.Basic(schema.String)
	}
	w.read(key, kt, k+1, `.Key("key")`+path, false)
	inner := ".Key(" + w.keyText(key, t.Key()) + ")" + path
	w.printf("var v%d %s", n, w.elemType(t))
	if w.inline(t) {
		w.readStruct(fmt.Sprintf("v%d", n), t.Elem(), k+1, inner)
	} else {
		w.read(fmt.Sprintf("v%d", n), t.Elem(), k+1, inner, false)
	}
	w.printf("m%[1]d[k%[1]d] = v%[1]d\n}\n%[2]s = m%[1]d", n, x)
}
