package fbsidl

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/idl/internal/syntax"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// Binary schema → what it says, in the words of the language.
//
// A binary schema is read in two steps: this file writes its declarations as
// text, all in one and in an order that needs no names before their
// declaration, and the text is read like any other. So every rule holds for it, and what
// is wrong is shown in a form that people can read.

// errBinary is what all errors of this step are.
var errBinary = errors.New("the binary schema is broken")

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errBinary, fmt.Sprintf(format, args...))
}

// binaryText is what was read.
type binaryText struct {
	text  strings.Builder
	files map[string]string   // where each declaration stands, by its word and full name
	list  map[string][]string // the files with what they include
}

// binaryReader walks through the tables. A part that is not wholly in the buffer is
// an error; the amount of work is bounded, too: no more parts and bytes of
// strings are read than the buffer can hold if none of them overlap.
type binaryReader struct {
	b       []byte
	out     *binaryText
	parts   int
	bytes   int
	strings map[int]string
	err     error

	objects []*binaryObject
	enums   []*binaryEnum
}

type binaryObject struct {
	pos, align int
	name, file string
	fixed      bool
	state      loadState // whether it has been written, for structs that hold structs
}

type binaryEnum struct {
	pos        int
	name, file string
	union      bool
	flags      bool
	base       baseType
}

func (r *binaryReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = broken(format, args...)
	}
}

func (r *binaryReader) spend(parts, bytes int) bool {
	r.parts -= parts
	r.bytes -= bytes
	if r.parts < 0 || r.bytes < 0 {
		r.fail("its parts overlap")
	}
	return r.err == nil
}

// at returns where the field in the slot of the table at pos stands, 0 if there
// is none or no table.
func (r *binaryReader) at(pos, slot int) int {
	if pos == 0 {
		return 0
	}
	vtable, size, code := flatwire.CheckTable(r.b, pos, false)
	entry := 4 + 2*slot
	if !r.whole(code) || entry+2 > size {
		return 0
	}
	off := int(flatwire.U16(r.b, vtable+entry))
	if off == 0 || !r.whole(flatwire.CheckRange(r.b, uint64(pos+off), 1)) {
		return 0
	}
	return pos + off
}

// whole reports whether a check of a part succeeded.
func (r *binaryReader) whole(code int) bool {
	if code < 0 {
		r.fail("%v", flatwire.Error(code))
	}
	return code >= 0
}

// ref returns what the field in the slot leads to, 0 if there is none.
func (r *binaryReader) ref(pos, slot int) int {
	at := r.at(pos, slot)
	if at == 0 {
		return 0
	}
	target, code := flatwire.CheckOffset(r.b, at, false)
	r.whole(code)
	return target
}

// num returns the integer of so many bytes in the slot.
func (r *binaryReader) num(pos, slot, size, standard int) int {
	at := r.at(pos, slot)
	switch {
	case at == 0 || !r.whole(flatwire.CheckScalar(r.b, at, size, size, false)):
		return standard
	case size == 1:
		return int(flatwire.U8(r.b, at))
	case size == 2:
		return int(flatwire.U16(r.b, at))
	}
	return int(flatwire.I32(r.b, at))
}

func (r *binaryReader) int64(pos, slot int) int64 {
	if at := r.at(pos, slot); at != 0 && r.whole(flatwire.CheckScalar(r.b, at, 8, 8, false)) {
		return flatwire.I64(r.b, at)
	}
	return 0
}

func (r *binaryReader) float(pos, slot int) float64 {
	return math.Float64frombits(uint64(r.int64(pos, slot)))
}

func (r *binaryReader) flag(pos, slot int) bool { return r.num(pos, slot, 1, 0) != 0 }

// base returns the slot of a Type that holds a type.
func (r *binaryReader) base(pos, slot int) baseType { return baseType(r.num(pos, slot, 1, 0)) }

// str returns the string in the slot of the table at pos.
func (r *binaryReader) str(pos, slot int) string { return r.strAt(r.ref(pos, slot)) }

func (r *binaryReader) strAt(at int) string {
	if s, ok := r.strings[at]; ok || at == 0 {
		return s
	}
	content := flatwire.Bytes(r.b, at)
	if !r.whole(flatwire.CheckString(r.b, at, false)) || !r.spend(1, len(content)) {
		return ""
	}
	s := string(content)
	r.strings[at] = s
	return s
}

// each calls f with what each element of a vector leads to.
func (r *binaryReader) each(pos, slot int, f func(at int)) {
	at := r.ref(pos, slot)
	if at == 0 {
		return
	}
	n, code := flatwire.CheckVector(r.b, at, 4, false)
	if !r.whole(code) || !r.spend(n, 0) {
		return
	}
	for i := 0; i < n && r.err == nil; i++ {
		if target, code := flatwire.CheckOffset(r.b, at+4+4*i, false); r.whole(code) {
			f(target)
		}
	}
}

// readBinary returns what the binary schema says.
func readBinary(b []byte) (*binaryText, error) {
	r := &binaryReader{b: b, parts: len(b) / 4, bytes: len(b), strings: make(map[int]string)}
	r.out = &binaryText{files: make(map[string]string), list: make(map[string][]string)}
	if !flatwire.HasIdentifier(b, 0, binaryIdentifier) {
		if body, _, ok := flatwire.CutPrefix(b); ok && flatwire.HasIdentifier(body, flatwire.SizePrefix, binaryIdentifier) {
			return readBinary(body[flatwire.SizePrefix:])
		}
		return nil, broken("it does not begin with the identifier %s", binaryIdentifier)
	}
	root, code := flatwire.CheckRoot(b, 0, binaryIdentifier, false)
	if r.whole(code) {
		r.schema(root)
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.out, nil
}

func (r *binaryReader) schema(root int) {
	r.each(root, schemaObjects, func(at int) {
		o := &binaryObject{pos: at, name: r.name(at, objectName), file: r.str(at, objectFile), fixed: r.flag(at, objectIsStruct)}
		o.align = r.num(at, objectMinAlign, 4, 0)
		r.objects = append(r.objects, o)
	})
	r.each(root, schemaEnums, func(at int) {
		e := &binaryEnum{pos: at, name: r.name(at, enumName), file: r.str(at, enumFile), union: r.flag(at, enumIsUnion)}
		e.base = r.base(r.ref(at, enumUnderlying), typeBase)
		r.enums = append(r.enums, e)
	})
	r.each(root, schemaFiles, func(at int) {
		name := r.str(at, fileName)
		r.out.list[name] = append(r.out.list[name], "")
		r.each(at, fileIncludes, func(included int) { r.out.list[name] = append(r.out.list[name], r.strAt(included)) })
	})
	body := &strings.Builder{}
	attributes := make(map[string]bool)
	r.declarations(root, body, attributes)
	for _, a := range sortedKeys(attributes) {
		if !builtins[a] {
			fmt.Fprintf(&r.out.text, "attribute %s;\n", quote(a))
		}
	}
	r.out.text.WriteString(body.String())
	r.out.text.WriteString("namespace;\n")
	if at := r.ref(root, schemaRoot); at != 0 {
		fmt.Fprintf(&r.out.text, "root_type %s;\n", r.name(at, objectName))
	}
	if id := r.str(root, schemaIdent); id != "" {
		fmt.Fprintf(&r.out.text, "file_identifier %s;\n", quote(id))
	}
	if ext := r.str(root, schemaExt); ext != "" {
		fmt.Fprintf(&r.out.text, "file_extension %s;\n", quote(ext))
	}
	if r.out.text.Len() > maxBinaryText {
		r.fail("it says more than %d MiB of text", maxBinaryText>>20)
	}
}

// maxBinaryText bounds the text that is made of a binary schema.
const maxBinaryText = 16 << 20

// declarations writes enums before structs, and these before what may stand
// anywhere.
func (r *binaryReader) declarations(root int, out *strings.Builder, attributes map[string]bool) {
	w := &textWriter{binaryReader: r, Builder: out, attributes: attributes}
	for _, e := range r.enums {
		if !e.union {
			w.enum(e)
		}
	}
	for _, o := range r.objects {
		if o.fixed {
			w.strct(o, 0)
		}
	}
	for _, e := range r.enums {
		if e.union {
			w.enum(e)
		}
	}
	for _, o := range r.objects {
		if !o.fixed {
			w.table(o)
		}
	}
	r.each(root, schemaServices, w.service)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// name returns a name that may have dots.
func (r *binaryReader) name(pos, slot int) string {
	s := r.str(pos, slot)
	for _, part := range strings.Split(s, ".") {
		if !isName(part) {
			r.fail("%s is no name", strconv.Quote(s))
			return ""
		}
	}
	return s
}

func isName(s string) bool {
	if s == "" || len(s) > maxNameLength || !syntax.IsLetter(s[0]) {
		return false
	}
	for i := range len(s) {
		if !syntax.IsAlnum(s[i]) {
			return false
		}
	}
	return true
}

// quote writes s as a string of the language.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
