package fbsidl

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
)

// Schema → binary schema.

// AppendBinary appends the binary schema of f and all that it includes to dst, as
// flatc --schema --binary --bfbs-comments --bfbs-builtins writes it: the format of
// reflection.fbs. Positions in the result count from the end of dst.
//
// f must come from this package. Not part of the format are the defaults of
// strings, Go packages, native includes and positions in the source.
func AppendBinary(dst []byte, f *schema.File) ([]byte, error) {
	w := &binaryWriter{root: f, index: make(map[any]int), objectAt: make(map[*schema.StructDef]int)}
	w.vtables = make(map[string]int)
	w.gather(f, make(map[*schema.File]bool))
	if err := w.sort(); err != nil {
		return nil, err
	}
	w.b = append(make([]byte, 4, 4096), binaryIdentifier...)
	w.link(0, w.schema())
	for _, l := range w.links {
		w.link(l.pos, w.objectAt[l.to])
	}
	return append(dst, w.b...), nil
}

type binaryWriter struct {
	tableWriter
	root     *schema.File
	files    []*schema.File
	objects  []*schema.StructDef // tables and structs
	enums    []enumOrUnion
	services []*schema.Service
	index    map[any]int // of objects and enums
	features int64
	objectAt map[*schema.StructDef]int
	links    []objectLink // that lead to objects
}

type enumOrUnion struct {
	enum  *schema.EnumDef
	union *schema.StructDef
}

func (e enumOrUnion) fullName() string {
	if e.enum != nil {
		return e.enum.FullName()
	}
	return e.union.FullName()
}

type objectLink struct {
	pos int
	to  *schema.StructDef
}

func (w *binaryWriter) gather(f *schema.File, seen map[*schema.File]bool) {
	if seen[f] {
		return
	}
	seen[f] = true
	w.files = append(w.files, f)
	for _, s := range f.Structs() {
		if s.Tag() != nil {
			w.enums = append(w.enums, enumOrUnion{union: s})
		} else {
			w.objects = append(w.objects, s)
		}
	}
	for _, e := range f.Enums() {
		w.enums = append(w.enums, enumOrUnion{enum: e})
	}
	w.services = append(w.services, f.Services()...)
	for _, i := range f.Includes() {
		w.gather(i.File, seen)
	}
}

// sort orders everything by name, and checks that all that is used is there.
func (w *binaryWriter) sort() error {
	slices.SortFunc(w.objects, func(a, b *schema.StructDef) int { return strings.Compare(a.FullName(), b.FullName()) })
	slices.SortFunc(w.enums, func(a, b enumOrUnion) int { return strings.Compare(a.fullName(), b.fullName()) })
	slices.SortFunc(w.services, func(a, b *schema.Service) int { return strings.Compare(a.FullName(), b.FullName()) })
	for i, s := range w.objects {
		w.index[s] = i
	}
	for i, e := range w.enums {
		if e.enum != nil {
			w.index[e.enum] = i
		} else {
			w.index[e.union] = i
		}
	}
	check := func(owner string, t *schema.Type) error {
		for t.Kind() == schema.List || t.Kind() == schema.Array {
			t = t.Elem()
		}
		_, ok := w.index[t.Struct()]
		if t.Kind() == schema.Enum {
			_, ok = w.index[t.Enum()]
		}
		if simple := t.Kind() == schema.String || t.InlineSize() > 0 && t.Struct() == nil && t.Enum() == nil; !ok && !simple {
			return fmt.Errorf("fbsidl: %s uses %s, which no file of the schema declares or FlatBuffers does not have", owner, t)
		}
		return nil
	}
	var defs []*schema.StructDef
	for _, f := range w.files {
		defs = append(defs, f.Structs()...)
	}
	for _, s := range defs {
		for _, f := range s.Fields() {
			if err := check(s.FullName()+"."+f.Name(), f.Type()); err != nil {
				return err
			}
		}
	}
	for _, s := range w.services {
		for _, m := range s.Methods() {
			for _, t := range []*schema.Type{m.Args().Fields()[0].Type(), m.Returns()} {
				if err := check(s.FullName()+"."+m.Name(), t); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// schema writes the root. Objects come last, as services lead to them too and
// offsets only lead forward.
func (w *binaryWriter) schema() int {
	w.countFeatures()
	var f fields
	f.ref(schemaFiles, w.fileList)
	f.ref(schemaServices, func() int {
		return w.vector(len(w.services), func(i int) int { return w.service(w.services[i]) })
	})
	f.ref(schemaEnums, func() int {
		return w.vector(len(w.enums), func(i int) int { return w.enum(w.enums[i]) })
	})
	f.ref(schemaIdent, func() int { return w.str(w.root.Identifier()) })
	f.ref(schemaExt, func() int { return w.str(w.root.Extension()) })
	f.num(schemaFeatures, 8, w.features, 0)
	if w.root.Root() != nil {
		f.ref(schemaRoot, func() int { return 0 })
	}
	f.ref(schemaObjects, func() int {
		return w.vector(len(w.objects), func(i int) int { return w.object(w.objects[i]) })
	})
	pos := w.table(f)
	if root := w.root.Root(); root != nil {
		w.links = append(w.links, objectLink{w.fieldAt(pos, schemaRoot), root})
	}
	return pos
}

// fieldAt returns where the field of that slot of the table at pos stands.
func (w *binaryWriter) fieldAt(pos, slot int) int {
	vtable := pos - int(binary.LittleEndian.Uint32(w.b[pos:]))
	return pos + int(binary.LittleEndian.Uint16(w.b[vtable+4+2*slot:]))
}

// countFeatures finds out which advanced features the schema has.
func (w *binaryWriter) countFeatures() {
	for _, s := range w.objects {
		for _, f := range s.Fields() {
			t := f.Type()
			switch {
			case t.Kind() == schema.Array:
				w.features |= featureArrays
			case t.Kind() == schema.List && isUnion(t.Elem()):
				w.features |= featureUnions
			}
			if t.Kind() != schema.Struct && t.InlineSize() > 0 && f.Requiredness() == schema.Optional {
				w.features |= featureOptionalScalars
			}
			if f.Default() != nil && (t.Kind() == schema.String || t.Kind() == schema.List) {
				w.features |= featureDefaults
			}
		}
	}
}

func isUnion(t *schema.Type) bool { return t.Kind() == schema.Struct && t.Struct().Tag() != nil }

// place returns the name of a file: its path from the root's directory.
func (w *binaryWriter) place(f *schema.File) string {
	if f == nil {
		f = w.root
	}
	path, err := filepath.Rel(filepath.Dir(w.root.Path()), f.Path())
	if err != nil {
		path = filepath.Base(f.Path())
	}
	return "//" + filepath.ToSlash(path)
}

func (w *binaryWriter) fileList() int {
	files := slices.Clone(w.files)
	slices.SortFunc(files, func(a, b *schema.File) int { return strings.Compare(w.place(a), w.place(b)) })
	return w.vector(len(files), func(i int) int {
		var includes []string
		for _, inc := range files[i].Includes() {
			includes = append(includes, w.place(inc.File))
		}
		slices.Sort(includes)
		var f fields
		f.ref(fileName, func() int { return w.str(w.place(files[i])) })
		f.ref(fileIncludes, func() int { return w.strs(includes) })
		return w.table(f)
	})
}

// described adds what every declaration has.
func (w *binaryWriter) described(f *fields, attributes, doc int, list schema.Annotations, text string) {
	if pairs := pairsOf(list); len(pairs) > 0 {
		f.ref(attributes, func() int {
			return w.vector(len(pairs), func(i int) int {
				var f fields
				f.ref(pairKey, func() int { return w.str(pairs[i][0]) })
				f.ref(pairValue, func() int { return w.str(pairs[i][1]) })
				return w.table(f)
			})
		})
	}
	if text != "" {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if line != "" {
				lines[i] = " " + line
			}
		}
		f.ref(doc, func() int { return w.strs(lines) })
	}
}

// pairsOf returns attributes by name, with "0" for those without a value.
func pairsOf(list schema.Annotations) (pairs [][2]string) {
	seen := make(map[string]bool, len(list))
	for _, a := range list {
		if seen[a.Name] {
			continue
		}
		seen[a.Name] = true
		value := a.Value
		if !a.HasValue {
			value = "0"
		}
		pairs = append(pairs, [2]string{a.Name, value})
	}
	if seen["cpp_type"] && !seen["cpp_ptr_type"] {
		pairs = append(pairs, [2]string{"cpp_ptr_type", "naked"}) // as flatc has it
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return pairs
}

func (w *binaryWriter) service(s *schema.Service) int {
	var f fields
	f.ref(serviceName, func() int { return w.str(s.FullName()) })
	methods := s.Methods()
	f.ref(serviceCalls, func() int {
		return w.vector(len(methods), func(i int) int {
			m := methods[i]
			var f fields
			f.ref(callName, func() int { return w.str(m.Name()) })
			f.ref(callRequest, func() int { return 0 })
			f.ref(callResponse, func() int { return 0 })
			w.described(&f, callAttributes, callDoc, m.Annotations(), m.Doc())
			pos := w.table(f)
			w.links = append(w.links,
				objectLink{w.fieldAt(pos, callRequest), m.Args().Fields()[0].Type().Struct()},
				objectLink{w.fieldAt(pos, callResponse), m.Returns().Struct()})
			return pos
		})
	})
	w.described(&f, serviceAttributes, serviceDoc, s.Annotations(), s.Doc())
	f.ref(serviceFile, func() int { return w.str(w.place(s.File())) })
	return w.table(f)
}

func (w *binaryWriter) enum(e enumOrUnion) int {
	var f fields
	f.ref(enumName, func() int { return w.str(e.fullName()) })
	if u := e.union; u != nil {
		f.ref(enumValues, func() int { return w.members(u) })
		f.flag(enumIsUnion, true)
		base := btUType
		if u.Tag().Kind() != schema.U8 {
			base = baseOf(u.Tag().Kind())
		}
		f.ref(enumUnderlying, func() int { return w.typ(binaryType{base: base, index: w.index[u]}) })
		w.described(&f, enumAttributes, enumDoc, u.Annotations(), u.Doc())
		f.ref(enumFile, func() int { return w.str(w.place(u.File())) })
		return w.table(f)
	}
	d := e.enum
	values := d.Values()
	f.ref(enumValues, func() int {
		return w.vector(len(values), func(i int) int {
			v := values[i]
			return w.value(v.Name, v.Value, binaryType{index: -1}, v.Annotations, v.Doc)
		})
	})
	f.ref(enumUnderlying, func() int { return w.typ(binaryType{base: baseOf(d.Base()), index: w.index[d]}) })
	w.described(&f, enumAttributes, enumDoc, d.Annotations(), d.Doc())
	f.ref(enumFile, func() int { return w.str(w.place(d.File())) })
	return w.table(f)
}

// members writes the values of a union, NONE among them, in their order.
func (w *binaryWriter) members(u *schema.StructDef) int {
	members := u.Fields()
	none := 0
	for none < len(members) && members[none].ID() < 0 {
		none++
	}
	return w.vector(len(members)+1, func(i int) int {
		if i == none {
			return w.value("NONE", 0, binaryType{index: -1}, nil, "")
		}
		if i > none {
			i--
		}
		m := members[i]
		t := binaryType{base: btString, index: -1}
		if s := m.Type().Struct(); s != nil {
			t = binaryType{base: btObj, index: w.index[s]}
		}
		return w.value(m.Name(), int64(m.ID()), t, m.Annotations(), m.Doc())
	})
}

func (w *binaryWriter) value(name string, number int64, t binaryType, list schema.Annotations, doc string) int {
	var f fields
	f.ref(valName, func() int { return w.str(name) })
	f.num(valValue, 8, number, 0)
	f.ref(valType, func() int { return w.typ(t) })
	w.described(&f, valAttributes, valDoc, list, doc)
	return w.table(f)
}

// binaryType is a Type of reflection.fbs.
type binaryType struct {
	base, elem   baseType
	index        int
	length       int
	elemIsStruct int // the size of the structs that a vector holds
}

func (w *binaryWriter) typ(t binaryType) int {
	elemSize := t.elem.binarySize()
	if t.base == btVector && t.elemIsStruct > 0 {
		elemSize = t.elemIsStruct
	}
	var f fields
	f.num(typeBase, 1, int64(t.base), 0)
	f.num(typeElement, 1, int64(t.elem), 0)
	f.num(typeIndex, 4, int64(t.index), -1)
	f.num(typeLength, 2, int64(t.length), 0)
	f.num(typeBaseSize, 4, int64(t.base.binarySize()), 4)
	f.num(typeElementSize, 4, int64(elemSize), 0)
	return w.table(f)
}

// binarySize returns what a binary schema says a value takes: an offset for
// what is not inline.
func (b baseType) binarySize() int {
	switch {
	case b == btNone:
		return 1
	case b.isScalar():
		return b.size()
	case b == btVector64:
		return 8
	}
	return 4
}

// baseOf returns the type of FlatBuffers for a kind of scalars.
func baseOf(k schema.Kind) baseType {
	for b := btBool; b <= btString; b++ {
		if kinds[b] == k {
			return b
		}
	}
	return btNone
}

// typeOf returns the type of a field.
func (w *binaryWriter) typeOf(t *schema.Type) binaryType {
	switch t.Kind() {
	case schema.List, schema.Array:
		elem := w.typeOf(t.Elem())
		series := binaryType{base: btVector, elem: elem.base, index: elem.index, length: t.Len()}
		if s := t.Elem().Struct(); s != nil {
			series.elemIsStruct = s.Size()
		}
		switch {
		case t.Kind() == schema.Array:
			series.base = btArray
		case t.Encoding() == schema.Vector64:
			series.base = btVector64
		}
		return series
	case schema.Enum:
		return binaryType{base: baseOf(t.Enum().Base()), index: w.index[t.Enum()]}
	case schema.Struct:
		base := btObj
		if isUnion(t) {
			base = btUnion
		}
		return binaryType{base: base, index: w.index[t.Struct()]}
	}
	return binaryType{base: baseOf(t.Kind()), index: -1}
}

func (w *binaryWriter) object(s *schema.StructDef) int {
	list := w.objectFields(s)
	var f fields
	f.ref(objectName, func() int { return w.str(s.FullName()) })
	f.ref(objectFields, func() int {
		return w.vector(len(list), func(i int) int { return w.field(list[i]) })
	})
	f.flag(objectIsStruct, s.Fixed())
	f.num(objectMinAlign, 4, int64(max(s.Align(), 1)), 0)
	f.num(objectByteSize, 4, int64(s.Size()), 0)
	w.described(&f, objectAttributes, objectDoc, s.Annotations(), s.Doc())
	f.ref(objectFile, func() int { return w.str(w.place(s.File())) })
	pos := w.table(f)
	w.objectAt[s] = pos
	return pos
}

// binaryField is a field, or the type in front of a union.
type binaryField struct {
	*schema.Field
	name string
	id   int32
	kind bool // it is the type
}

// objectFields returns the fields by name.
func (w *binaryWriter) objectFields(s *schema.StructDef) []binaryField {
	var list []binaryField
	for _, f := range s.Fields() {
		t := f.Type()
		if isUnion(t) || t.Kind() == schema.List && isUnion(t.Elem()) {
			list = append(list, binaryField{f, f.Name() + "_type", f.ID() - 1, true})
		}
		list = append(list, binaryField{f, f.Name(), f.ID(), false})
	}
	slices.SortFunc(list, func(a, b binaryField) int { return strings.Compare(a.name, b.name) })
	return list
}

func (w *binaryWriter) field(b binaryField) int {
	t := w.typeOf(b.Type())
	attributes, doc := b.Annotations(), b.Doc()
	vector := t.base == btVector
	if b.kind {
		if vector {
			t.elem = btUType
		} else {
			t.base = btUType
		}
		doc = ""
		if id, ok := attributes.Get("id"); ok {
			id.Value = formatInt(int64(b.id))
			attributes = schema.Annotations{id}
		} else {
			attributes = nil
		}
	}
	presence := !b.kind || vector
	offset := int64(4 + 2*b.id)
	if b.Struct().Fixed() {
		offset = int64(b.Offset())
	}
	var f fields
	f.ref(fieldName, func() int { return w.str(b.name) })
	f.ref(fieldType, func() int { return w.typ(t) })
	f.num(fieldID, 2, int64(b.id), 0)
	f.num(fieldOffset, 2, offset, 0)
	if v := b.Default(); v != nil {
		integer := integerOf(v)
		said := schema.Annotation{Name: saidDefault, HasValue: true}
		switch {
		case integer < 0 && t.base == btULong && t.index >= 0:
			said.Value, integer = strconv.FormatUint(uint64(integer), 10), 0
		case t.base == btString && b.Requiredness() != schema.Optional && b.Requiredness() != schema.Required:
			said.Value = v.String
		}
		if said.Value != "" {
			attributes = append(schema.Annotations{said}, attributes...)
		}
		f.num(fieldDefaultInteger, 8, integer, 0)
		f.real(fieldDefaultReal, v.Float)
	}
	f.flag(fieldDeprecated, b.Deprecated())
	f.flag(fieldRequired, presence && b.Requiredness() == schema.Required)
	f.flag(fieldKey, !b.kind && b.Key())
	w.described(&f, fieldAttributes, fieldDoc, attributes, doc)
	f.flag(fieldOptional, presence && b.Requiredness() == schema.Optional)
	f.num(fieldPadding, 2, int64(b.Padding()), 0)
	f.flag(fieldOffset64, b.Type().Encoding() == schema.Offset64 || b.Type().Encoding() == schema.Vector64)
	return w.table(f)
}

// saidDefault is the attribute of a field that says its default where nothing else can: that of a ulong enum
// from 2^63 on, for which flatc ends itself when it writes C++ for such a number in default_integer, where it has
// 0 itself; and that of a string, of which flatc keeps only that there is one.
const saidDefault = "thrum_default"

// integerOf returns a default as default_integer has it, 0 for floats.
func integerOf(v *schema.Value) int64 {
	if v.Kind == schema.BoolValue && v.Bool {
		return 1
	}
	return v.Int
}

// bitOf returns the position of the only bit of v.
func bitOf(v int64) (int, bool) {
	return bits.TrailingZeros64(uint64(v)), bits.OnesCount64(uint64(v)) == 1
}
