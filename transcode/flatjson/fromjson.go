package flatjson

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/flatbuf/flexbuf"
	"github.com/thrum-rpc/thrum/internal/flatpack"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds the way from JSON to messages: tables, vectors and unions.
// Scalars are in fromjson_scalar.go, tokens in tokens.go.

// reader reads one input.
type reader struct {
	b    []byte
	i    int // the place in b
	opt  *options
	text []byte // of the string that was read last, if it is not as in b
	p    flatpack.Packer

	offsets []flatbuf.UOffsetT // of vectors that are not written yet, on a stack
	tags    []tag              // of unions of tables that are not written yet, on a stack
}

// tag is where the type of a union stands.
type tag struct {
	slot int
	at   int
	used bool
}

func (r *reader) document(d *schema.StructDef) (flatbuf.UOffsetT, *diag.Fault) {
	r.offsets, r.tags = r.offsets[:0], r.tags[:0]
	if r.opt.lenient && bytes.HasPrefix(r.b, []byte("\ufeff")) {
		r.i = len("\ufeff")
	}
	if fault := r.space(); fault != nil {
		return 0, fault
	}
	root, fault := r.table(d, 0)
	if fault != nil {
		return 0, fault
	}
	if fault := r.space(); fault != nil {
		return 0, fault
	}
	if r.i < len(r.b) {
		return 0, diag.NewFault(diag.TrailingData, r.i, "something follows the value")
	}
	return root, nil
}

// fits refuses n bytes more than a message may have.
func (r *reader) fits(n int) *diag.Fault {
	if int(r.p.Builder.Offset())+n > r.opt.maxMessage {
		return diag.NewFault(diag.SizeLimit, r.i, fmt.Sprintf("a message of more than %d bytes", r.opt.maxMessage))
	}
	return nil
}

// table reads an object, or inside another table an array of all fields, and writes it as a table.
func (r *reader) table(d *schema.StructDef, depth int) (flatbuf.UOffsetT, *diag.Fault) {
	if depth > maxDepth {
		return 0, diag.NewFault(diag.DepthLimit, r.i, fmt.Sprintf("tables nest deeper than %d levels", maxDepth))
	}
	mark, tags := r.p.Start(), len(r.tags)
	start := r.i
	next := 0 // the field that most likely follows
	fields := d.Fields()
	member := func(name []byte, at int) *diag.Fault {
		var f *schema.Field
		if next < len(fields) && fields[next].Name() == string(name) {
			f = fields[next]
		} else if f = d.FieldByName(string(name)); f == nil {
			return r.other(d, name, at, tags)
		}
		next = indexOf(fields, f, next) + 1
		if r.p.Has(int(f.ID())) {
			return diag.NewFault(diag.DuplicateKey, at, "the field stands twice").Field(f.Name())
		}
		if r.null() {
			return nil
		}
		if fault := r.field(f, depth, tags); fault != nil {
			return fault.Field(f.Name())
		}
		return nil
	}
	var fault *diag.Fault
	if depth > 0 && r.at('[') {
		fault = r.row(fields, member)
	} else {
		fault = r.object(member)
	}
	if fault != nil {
		return 0, fault
	}
	for _, t := range r.tags[tags:] {
		if !t.used {
			if fault := r.unused(d, t); fault != nil {
				return 0, fault
			}
		}
	}
	r.tags = r.tags[:tags]
	if f := r.p.Missing(d); f != nil {
		return 0, diag.NewFault(diag.MissingRequired, start, "a required field is missing").Field(f.Name())
	}
	return r.p.EndTable(mark), r.fits(0)
}

// row reads an array of all fields in their order, the type of a union before its value, as if
// each had its name.
func (r *reader) row(fields []*schema.Field, member func(name []byte, at int) *diag.Fault) *diag.Fault {
	var names []string
	for _, f := range fields {
		if flatpack.HasTag(f.Type()) {
			names = append(names, f.Name()+"_type")
		}
		names = append(names, f.Name())
	}
	start := r.i
	n, fault := r.list(func(i int) *diag.Fault {
		if i >= len(names) {
			return diag.NewFault(diag.TypeMismatch, r.i, fmt.Sprintf("more than %d fields", len(names)))
		}
		return member([]byte(names[i]), r.i)
	})
	if fault == nil && n < len(names) {
		fault = diag.NewFault(diag.MissingRequired, start, "an array for a table has all its fields").Field(names[n])
	}
	return fault
}

// indexOf returns the place of f, which is often the one at guess.
func indexOf(fields []*schema.Field, f *schema.Field, guess int) int {
	if guess < len(fields) && fields[guess] == f {
		return guess
	}
	return f.Index()
}

// schemaOfJSON is the name under which editors write down what JSON is checked against. flatc steps over it.
const schemaOfJSON = "$schema"

// other handles a member whose name is no field's: the type of a union, which
// is read when its value is, or what nobody knows.
func (r *reader) other(d *schema.StructDef, name []byte, at, tags int) *diag.Fault {
	if f := unionOf(d, string(name)); f != nil {
		slot := int(f.ID()) - 1
		for _, t := range r.tags[tags:] {
			switch {
			case t.slot != slot:
			case t.used && t.at == r.i: // the value stood before, and found it
				return r.skip(0)
			default:
				return diag.NewFault(diag.DuplicateKey, at, "the field stands twice").Field(string(name))
			}
		}
		r.tags = append(r.tags, tag{slot: slot, at: r.i})
		return r.skip(0)
	}
	if string(name) == schemaOfJSON {
		_, fault := r.str()
		return fault
	}
	if r.opt.unknown {
		return r.skip(0)
	}
	return diag.NewFault(diag.UnknownField, at, d.Name()+" has no such field").Field(string(name))
}

// unionOf returns the union, or vector of unions, whose types have that name, or nil.
func unionOf(d *schema.StructDef, name string) *schema.Field {
	base, ok := strings.CutSuffix(name, "_type")
	if !ok {
		return nil
	}
	f := d.FieldByName(base)
	if f == nil || !flatpack.HasTag(f.Type()) {
		return nil
	}
	return f
}

// unused refuses the type of a union that has no value, unless it is NONE or null.
func (r *reader) unused(d *schema.StructDef, t tag) *diag.Fault {
	f := d.FieldByID(int32(t.slot) + 1)
	end := r.i
	defer func() { r.i = end }()
	r.i = t.at
	if r.null() {
		return nil
	}
	if flatpack.IsUnion(f.Type()) {
		m, fault := r.memberName(f.Type())
		if fault != nil {
			return fault.Field(f.Name() + "_type")
		}
		if m == nil {
			return nil
		}
	}
	return diag.NewFault(diag.InvalidUnion, t.at, "the union has a type and no value").Field(f.Name())
}

// findTag returns where the types of the union f stand: where they were found,
// or further on in the object, in which r stands before a value.
func (r *reader) findTag(f *schema.Field, tags int) (int, *diag.Fault) {
	slot := int(f.ID()) - 1
	for i := range r.tags[tags:] {
		if t := &r.tags[tags+i]; t.slot == slot {
			t.used = true
			return t.at, nil
		}
	}
	start := r.i
	defer func() { r.i = start }()
	name := f.Name() + "_type"
	for {
		if fault := r.skip(0); fault != nil {
			return 0, fault
		}
		more, fault := r.comma('}')
		if fault != nil {
			return 0, fault
		}
		if !more {
			return 0, diag.NewFault(diag.InvalidUnion, start, "the union has no "+name)
		}
		got, fault := r.name()
		if fault != nil {
			return 0, fault
		}
		if string(got) == name {
			at := r.i
			r.tags = append(r.tags, tag{slot: slot, at: at, used: true})
			return at, nil
		}
	}
}

func (r *reader) field(f *schema.Field, depth, tags int) *diag.Fault {
	t, slot := f.Type(), int(f.ID())
	switch {
	case t.InlineSize() > 0 && t.Kind() == schema.Struct:
		n := len(r.text)
		defer func() { r.text = r.text[:n] }()
		data, fault := r.inlined(t)
		if fault == nil {
			r.p.Struct(slot, data, t.InlineAlign())
		}
		return fault
	case t.InlineSize() > 0:
		bits, fault := r.number(t, f)
		if fault == nil {
			r.p.Number(f, bits)
		}
		return fault
	case flatpack.IsUnion(t):
		return r.union(f, depth, tags)
	case t.Kind() == schema.List && flatpack.IsUnion(t.Elem()):
		return r.unions(f, depth, tags)
	case f.Nested() != nil:
		return r.nested(f, depth)
	case f.Flex():
		return r.flex(f)
	}
	var off flatbuf.UOffsetT
	var fault *diag.Fault
	switch {
	case t.Kind() == schema.List:
		off, fault = r.vector(t, depth, flatpack.VectorAlign(f), f)
	case t.Kind() == schema.String && f.Annotations().Has("shared"):
		off, fault = r.shared()
	default:
		off, fault = r.part(t, depth)
	}
	if fault == nil {
		r.p.Offset(slot, off, t.Encoding() == schema.Offset64 || t.Encoding() == schema.Vector64)
	}
	return fault
}

// part reads a table, string or vector.
func (r *reader) part(t *schema.Type, depth int) (flatbuf.UOffsetT, *diag.Fault) {
	switch t.Kind() {
	case schema.String:
		s, fault := r.str()
		if fault == nil {
			fault = r.fits(len(s))
		}
		if fault != nil {
			return 0, fault
		}
		return r.p.Builder.CreateByteString(s), nil
	case schema.List:
		return r.vector(t, depth, 1, nil)
	}
	return r.table(t.Struct(), depth+1)
}

// shared reads a string that the message has once.
func (r *reader) shared() (flatbuf.UOffsetT, *diag.Fault) {
	s, fault := r.str()
	if fault == nil {
		fault = r.fits(len(s))
	}
	if fault != nil {
		return 0, fault
	}
	return r.p.Builder.CreateSharedString(string(s)), nil
}

// vector reads a vector, whose elements stand at multiples of align at least, of the field f or nil.
func (r *reader) vector(t *schema.Type, depth, align int, f *schema.Field) (flatbuf.UOffsetT, *diag.Fault) {
	elem := t.Elem()
	if size := elem.InlineSize(); size > 0 {
		start := len(r.text)
		data, n, fault := r.inlineList(elem, -1, f)
		if fault == nil {
			fault = r.fits(len(data))
		}
		if fault != nil {
			return 0, fault
		}
		flatpack.SortStructs(elem, data)
		off := flatpack.Vector(r.p.Builder, data, n, size, max(elem.InlineAlign(), align), t.Encoding() == schema.Vector64)
		r.text = r.text[:start]
		return off, nil
	}
	start := len(r.offsets)
	_, fault := r.list(func(i int) *diag.Fault {
		off, fault := r.part(elem, depth)
		if fault != nil {
			return fault.Index(i)
		}
		r.offsets = append(r.offsets, off)
		return nil
	})
	if fault == nil {
		fault = r.fits(flatbuf.SizeUOffsetT * (len(r.offsets) - start))
	}
	if fault != nil {
		return 0, fault
	}
	offsets := r.offsets[start:]
	r.p.SortTables(elem, offsets)
	off := r.p.Builder.CreateVectorOfTables(offsets)
	r.offsets = r.offsets[:start]
	return off, nil
}

// member reads the value of a member of a union.
func (r *reader) member(m *schema.Field, depth int) (flatbuf.UOffsetT, *diag.Fault) {
	if m.Type().InlineSize() == 0 {
		return r.part(m.Type(), depth)
	}
	n := len(r.text)
	data, fault := r.inlined(m.Type())
	if fault == nil {
		fault = r.fits(len(data))
	}
	if fault != nil {
		return 0, fault
	}
	off := flatpack.Inline(r.p.Builder, data, m.Type().InlineAlign())
	r.text = r.text[:n]
	return off, nil
}

func (r *reader) union(f *schema.Field, depth, tags int) *diag.Fault {
	at, fault := r.findTag(f, tags)
	if fault != nil {
		return fault
	}
	here := r.i
	r.i = at
	m, fault := r.memberName(f.Type())
	r.i = here
	switch {
	case fault != nil:
		return fault
	case m == nil:
		return diag.NewFault(diag.InvalidUnion, here, "the union is NONE, and has a value")
	}
	off, fault := r.member(m, depth)
	if fault != nil {
		return fault
	}
	size := f.Type().Struct().Tag().InlineSize()
	r.p.Scalar(int(f.ID())-1, flatpack.Low(uint64(m.ID()), size), size)
	r.p.Offset(int(f.ID()), off, false)
	return nil
}

func (r *reader) unions(f *schema.Field, depth, tags int) *diag.Fault {
	at, fault := r.findTag(f, tags)
	if fault != nil {
		return fault
	}
	elem := f.Type().Elem()
	here := r.i
	r.i = at
	var members []*schema.Field
	_, fault = r.list(func(i int) *diag.Fault {
		m, fault := r.memberName(elem)
		members = append(members, m)
		return fault
	})
	if fault != nil {
		return fault
	}
	r.i = here
	start := len(r.offsets)
	n, fault := r.list(func(i int) *diag.Fault {
		if i >= len(members) {
			return diag.NewFault(diag.InvalidUnion, r.i, "there are more values than types").Index(i)
		}
		var off flatbuf.UOffsetT
		var fault *diag.Fault
		if m := members[i]; m != nil {
			off, fault = r.member(m, depth)
		} else {
			fault = r.skip(0) // whatever stands for NONE
		}
		if fault != nil {
			return fault.Index(i)
		}
		r.offsets = append(r.offsets, off)
		return nil
	})
	if fault != nil {
		return fault
	}
	if n < len(members) {
		return diag.NewFault(diag.InvalidUnion, r.i, "there are more types than values")
	}
	size := elem.Struct().Tag().InlineSize()
	if fault := r.fits(n * (flatbuf.SizeUOffsetT + size)); fault != nil {
		return fault
	}
	types := make([]byte, n*size)
	for i, m := range members {
		if m != nil {
			flatpack.Put(types[i*size:], uint64(m.ID()), size)
		}
	}
	flatpack.Unions(&r.p, int(f.ID()), types, size, r.offsets[start:])
	r.offsets = r.offsets[:start]
	return nil
}

// memberName reads the name or number of a member of a union; NONE is nil.
func (r *reader) memberName(t *schema.Type) (*schema.Field, *diag.Fault) {
	at := r.i
	d := t.Struct()
	if c := r.peek(); c == '-' || c >= '0' && c <= '9' {
		n, fault := r.number(d.Tag(), nil)
		if fault != nil {
			return nil, fault
		}
		return memberOf(d, n, at)
	}
	name, fault := r.word()
	if fault != nil || string(name) == "NONE" {
		return nil, fault
	}
	if m := d.FieldByName(string(name)); m != nil {
		return m, nil
	}
	if n, fault := r.spelt(d.Tag(), string(name), at); fault == nil {
		return memberOf(d, n, at)
	}
	return nil, diag.NewFault(diag.InvalidUnion, at, fmt.Sprintf("%s has no member %q", d.Name(), clip(name)))
}

// memberOf returns the member of a union with that number, nil for 0.
func memberOf(d *schema.StructDef, n uint64, at int) (*schema.Field, *diag.Fault) {
	if n == 0 {
		return nil, nil
	}
	if m := flatpack.Member(d, n); m != nil {
		return m, nil
	}
	return nil, diag.NewFault(diag.InvalidUnion, at, fmt.Sprintf("%s has no member %d", d.Name(), n))
}

// clip cuts text from the input to what fits into a message.
func clip(b []byte) []byte { return b[:min(len(b), 64)] }

// nested reads the object that a message in a field means.
func (r *reader) nested(f *schema.Field, depth int) *diag.Fault {
	if !r.at('{') {
		return r.mismatch("an object")
	}
	inner := reader{b: r.b, i: r.i, opt: r.opt, p: flatpack.Packer{Builder: flatbuf.NewBuilder(0)}}
	root, fault := inner.table(f.Nested(), depth+1)
	if fault != nil {
		return fault
	}
	r.i = inner.i
	b := inner.p.Builder
	if file := f.Nested().File(); file.Root() == f.Nested() && file.Identifier() != "" {
		b.FinishWithFileIdentifier(root, []byte(file.Identifier()))
	} else {
		b.Finish(root)
	}
	return r.bytes(f, b.FinishedBytes(), b.Align())
}

// bytes adds a vector of bytes that hold a message of that alignment.
func (r *reader) bytes(f *schema.Field, b []byte, align int) *diag.Fault {
	if fault := r.fits(len(b)); fault != nil {
		return fault
	}
	wide := f.Type().Encoding() == schema.Vector64
	off := flatpack.Vector(r.p.Builder, b, len(b), 1, align, wide)
	r.p.Offset(int(f.ID()), off, wide || f.Type().Encoding() == schema.Offset64)
	return nil
}

// flex reads any JSON as a FlexBuffer.
func (r *reader) flex(f *schema.Field) *diag.Fault {
	at := r.i
	x, fault := r.any(0)
	if fault != nil {
		return fault
	}
	var b flexbuf.Builder
	if err := b.Append(x); err != nil {
		return diag.NewFault(diag.InvalidData, at, err.Error())
	}
	return r.bytes(f, b.Finish(), 8)
}
