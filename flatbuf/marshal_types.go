package flatbuf

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/thrum-rpc/thrum/internal/mem"
)

// This file compiles tagged Go types: programs for writing and reading, and the
// layout by which messages are verified.

// TypeError says why a Go type has no FlatBuffers form.
type TypeError struct {
	Type   reflect.Type // the struct that declares the field, or the type itself
	Field  string       // the Go name of the field, or ""
	Reason string
}

// Error names type, field and reason.
func (e *TypeError) Error() string {
	if e.Field == "" {
		return "flatbuf: " + e.Type.String() + ": " + e.Reason
	}
	return "flatbuf: " + e.Type.String() + "." + e.Field + ": " + e.Reason
}

// tableProgram is what a Go struct that stands for a table comes down to.
type tableProgram struct {
	typ    reflect.Type
	slice  reflect.Type // of typ
	index  int          // in the layout
	size   uintptr      // of the Go struct
	slots  int
	inline int // bytes that the fields take at most
	align  int
	// inlines are the fields as they stand in a table, in the order of falling
	// alignment; those from refsFrom to refsEnd are the references, which in a table
	// with all fields begin at refsAt.
	inlines           []inlineOp
	refsFrom, refsEnd int
	scalars           []scalarOp // of inlines the scalars by value
	others            []inlineOp // inlines but these and the references
	refsAt            int
	refs              []refOp // for reading, and writes for writing, with runs
	writes            []refOp
	vtable            []byte        // of a table with all fields
	bound             int           // bytes that the table takes at most with its vtable
	leaf              *leafProgram  // nil if there is none
	rich              *richProgram  // nil if there is none or leaf is better
	entry             *entryProgram // nil if it is no entry
	// results are offsets that refs leave for inlines: first those of the references in
	// their order, then types of unions.
	results int
}

// inlineOp is a field in the table itself, or a run of equal ones.
type inlineOp struct {
	kind   inlineKind
	width  uint8
	isBool bool
	slot   int
	n      int // scalars in a run
	run    scalarRun
	at     int     // in a table with all fields
	off    uintptr // in the Go struct
	def    uint64
	fixed  *fixedProgram
	result int // of which reference, for inlineRef and inlineType
	alloc  reflect.Type
}

type inlineKind uint8

const (
	inlineScalar   inlineKind = iota // present unless it equals def
	inlineRun                        // n of those with the default 0, one after another in both
	inlineOptional                   // behind a pointer, present unless nil
	inlineStruct                     // a struct, always present
	inlineStructP                    // behind a pointer
	inlineRef                        // an offset
	inlineType                       // the type of a union
)

// refOp is a field that refers to something.
type refOp struct {
	kind     refKind
	required bool
	off      uintptr
	slot     int
	n        int // strings one after another
	result   int // where its offset goes
	types    int // where a union's type or vector of types goes
	name     string
	table    *tableProgram
	union    *unionProgram
	entries  *mapProgram
	elem     elemOp
}

type refKind uint8

const (
	refTexts   refKind = iota // n strings, "" is absent
	refText                   // one that is required
	refStringP                // a pointer to a string
	refScalars                // a slice of scalars
	refStructs                // a slice of structs
	refStrings
	refTable   // a pointer to a Go struct
	refTableV  // a Go struct by value
	refTables  // a slice of pointers
	refTablesV // a slice of Go structs
	refUnion   // a pointer to a Go struct, or that by value
	refUnionV
	refUnions // a slice of such structs by value
	refMap
)

// elemOp is an element of a vector that stands in it.
type elemOp struct {
	size, align int
	isBool      bool
	fixed       *fixedProgram
	slice       reflect.Type
}

// fixedProgram is what a Go struct that stands for a struct comes down to.
type fixedProgram struct {
	typ         reflect.Type
	size, align int
	copies      []fixedCopy
}

// fixedCopy is n scalars of width bytes each.
type fixedCopy struct {
	dst, src uintptr
	width, n int
	isBool   bool
}

// unionProgram is a Go struct with a pointer for each member.
type unionProgram struct {
	typ     reflect.Type
	slice   reflect.Type
	index   int
	members []unionOp
}

type unionOp struct {
	typ   uint8
	off   uintptr
	name  string
	table *tableProgram // or
	fixed *fixedProgram // or a string
	alloc reflect.Type
}

// compiler holds the types that were met.
type compiler struct {
	layout Layout
	tables map[reflect.Type]*tableProgram
	unions map[reflect.Type]*unionProgram
	fixed  map[reflect.Type]*fixedProgram
}

func newCompiler() *compiler {
	return &compiler{
		tables: map[reflect.Type]*tableProgram{}, unions: map[reflect.Type]*unionProgram{}, fixed: map[reflect.Type]*fixedProgram{},
	}
}

// tagged is a field with its tag.
type tagged struct {
	reflect.StructField
	tag fieldTag
}

// fields returns the tagged fields of t.
func fields(t reflect.Type) ([]tagged, error) {
	var out []tagged
	for i := range t.NumField() {
		f := t.Field(i)
		inner, embedded := f.Type, f.Anonymous && f.Type.Kind() == reflect.Struct
		tag, ok, err := parseTag(f)
		switch {
		case err != nil:
			return nil, &TypeError{Type: t, Field: f.Name, Reason: err.Error()}
		case embedded && !ok: // its fields are t's own, as in Go
			own, err := fields(inner)
			if err != nil {
				return nil, err
			}
			for _, o := range own {
				o.Offset += f.Offset
				out = append(out, o)
			}
		case ok && !f.IsExported():
			return nil, &TypeError{Type: t, Field: f.Name, Reason: "a tagged field must be exported"}
		case ok:
			out = append(out, tagged{f, tag})
		}
	}
	return out, nil
}

// number gives fields without ids their slots in order; a union takes two.
func number(t reflect.Type, all []tagged) error {
	next, given := 0, 0
	for i := range all {
		f := &all[i]
		if f.tag.id >= 0 {
			given++
			continue
		}
		if f.tag.union {
			next++
		}
		f.tag.id = next
		next++
	}
	if given != 0 && given != len(all) {
		return &TypeError{Type: t, Reason: "either all fields have ids, or none"}
	}
	used := map[int]string{}
	for i := range all {
		f := &all[i]
		ids := []int{f.tag.id}
		if f.tag.union {
			ids = append(ids, f.tag.id-1)
		}
		if ids[len(ids)-1] < 0 {
			return &TypeError{Type: t, Field: f.Name, Reason: "id 0: a union has the second of two"}
		}
		if f.tag.id > maxSlot {
			return &TypeError{Type: t, Field: f.Name, Reason: fmt.Sprintf("id %d: the last one is %d", f.tag.id, maxSlot)}
		}
		for _, id := range ids {
			if other, ok := used[id]; ok {
				return &TypeError{Type: t, Field: f.Name, Reason: fmt.Sprintf("duplicated id %d, which %s has", id, other)}
			}
			used[id] = f.Name
		}
	}
	return nil
}

func (c *compiler) table(t reflect.Type) (*tableProgram, error) {
	if p := c.tables[t]; p != nil {
		return p, nil
	}
	if t.Kind() != reflect.Struct {
		return nil, &TypeError{Type: t, Reason: "not a struct"}
	}
	p := &tableProgram{typ: t, slice: reflect.SliceOf(t), index: len(c.layout.Tables), size: t.Size(), align: SizeSOffsetT}
	c.tables[t] = p
	c.layout.Tables = append(c.layout.Tables, TableLayout{Name: t.Name()})
	all, err := fields(t)
	if err != nil {
		return nil, err
	}
	if err := number(t, all); err != nil {
		return nil, err
	}
	var layouts []FieldLayout
	for i := range all {
		f := &all[i]
		fl := FieldLayout{Name: f.tag.name, Slot: uint16(f.tag.id), Required: f.tag.required}
		if err := c.field(p, f, &fl); err != nil {
			if _, ok := err.(*TypeError); ok {
				return nil, err
			}
			return nil, &TypeError{Type: t, Field: f.Name, Reason: err.Error()}
		}
		layouts = append(layouts, fl)
		p.slots = max(p.slots, f.tag.id+1)
	}
	c.layout.Tables[p.index].Fields = layouts
	p.arrange()
	if SizeSOffsetT+p.inline > 1<<16-1 {
		return nil, &TypeError{Type: t, Reason: "a table has at most 64 KiB of fields"}
	}
	return p, nil
}

// alignment returns that of a field in its table.
func (op *inlineOp) alignment() int {
	switch op.kind {
	case inlineStruct, inlineStructP:
		return op.fixed.align
	default:
		return int(op.width)
	}
}

func (op *inlineOp) bytes() int {
	switch op.kind {
	case inlineStruct, inlineStructP:
		return op.fixed.size
	default:
		return int(op.width) * op.n
	}
}

// arrange orders the fields and makes runs of scalars that lie one after another in Go's
// memory and in the vtable.
func (p *tableProgram) arrange() {
	rank := func(op *inlineOp) int {
		if op.kind == inlineRef {
			return 5 // before the scalars of four bytes
		}
		return op.alignment()
	}
	slices.SortStableFunc(p.inlines, func(x, y inlineOp) int {
		return cmp.Or(cmp.Compare(rank(&y), rank(&x)), cmp.Compare(x.slot, y.slot))
	})
	var out []inlineOp
	for i := 0; i < len(p.inlines); {
		op := p.inlines[i]
		n := runOf(p.inlines[i:])
		if n >= leastRun {
			op.kind, op.n, op.run = inlineRun, n, newScalarRun(n, int(op.width))
		} else {
			n = 1
		}
		p.inline += op.bytes()
		p.align = max(p.align, op.alignment())
		out = append(out, op)
		i += n
	}
	p.inlines = out
	p.vtable = make([]byte, SizeVOffsetT*(VtableMetadataFields+p.slots))
	at := SizeSOffsetT
	for i := range out {
		op := &out[i]
		op.at = at
		for j := range op.n {
			WriteUint16(p.vtable[SizeVOffsetT*(VtableMetadataFields+op.slot+j):], uint16(at+j*int(op.width)))
		}
		at += op.bytes()
	}
	WriteUint16(p.vtable, uint16(len(p.vtable)))
	WriteUint16(p.vtable[SizeVOffsetT:], uint16(at))
	p.bound = at + maxAlign + len(p.vtable)
	p.arrangeRefs()
	for _, op := range slices.Concat(out[:p.refsFrom], out[p.refsEnd:]) {
		switch op.kind {
		case inlineScalar:
			p.scalars = append(p.scalars, scalarOp{off: op.off, at: op.at, width: op.width, def: op.def})
		case inlineRun:
			p.scalars = append(p.scalars, scalarOp{off: op.off, at: op.at, run: &op.run})
		default:
			p.others = append(p.others, op)
		}
	}
	if p.isPlain() {
		if p.leaf = leafOf(p); p.leaf == nil {
			p.rich = richOf(p)
		}
	}
	p.entry = entryOf(p)
}

// leastRun is how many scalars one after another are handled faster at once.
const leastRun = 4

// runOf returns how many scalars from the first on have the default 0 and lie one after
// another in Go's memory and in the vtable.
func runOf(ops []inlineOp) int {
	first := &ops[0]
	for i := range ops {
		op := &ops[i]
		if op.kind != inlineScalar || op.def != 0 || op.isBool || op.width != first.width ||
			op.slot != first.slot+i || op.off != first.off+uintptr(i)*uintptr(op.width) {
			return i
		}
	}
	return len(ops)
}

// arrangeRefs gives the offsets that refs leave the order in which the table has them,
// and makes runs of strings.
func (p *tableProgram) arrangeRefs() {
	isRef := func(op inlineOp) bool { return op.kind == inlineRef }
	p.refsFrom = max(slices.IndexFunc(p.inlines, isRef), 0)
	p.refsEnd = p.refsFrom
	place := make([]int, p.results)
	for ; p.refsEnd < len(p.inlines) && isRef(p.inlines[p.refsEnd]); p.refsEnd++ {
		place[p.inlines[p.refsEnd].result] = p.refsEnd - p.refsFrom
	}
	if p.refsEnd > p.refsFrom {
		p.refsAt = p.inlines[p.refsFrom].at
	}
	next := p.refsEnd - p.refsFrom
	for i := range p.inlines {
		if p.inlines[i].kind == inlineType {
			place[p.inlines[i].result] = next
			next++
		}
	}
	for i := range p.inlines {
		if op := &p.inlines[i]; op.kind == inlineRef || op.kind == inlineType {
			op.result = place[op.result]
		}
	}
	var out []refOp
	for _, r := range p.refs {
		r.result, r.types = place[r.result], place[r.types]
		if n := len(out); n > 0 && r.kind == refTexts && out[n-1].kind == refTexts &&
			r.off == out[n-1].off+uintptr(out[n-1].n*mem.Size[string]()) && r.result == out[n-1].result+out[n-1].n {
			out[n-1].n++
			continue
		}
		out = append(out, r)
	}
	p.writes = out
}

// field compiles f into p and completes its layout.
func (c *compiler) field(p *tableProgram, f *tagged, fl *FieldLayout) error {
	t := f.Type
	op := inlineOp{slot: f.tag.id, off: f.Offset, n: 1, width: width(t.Kind()), isBool: t.Kind() == reflect.Bool}
	elem := t
	if t.Kind() == reflect.Pointer {
		elem = t.Elem()
	}
	if f.tag.keyed && t.Kind() != reflect.Map {
		return fmt.Errorf("only maps have keys and values")
	}
	switch w := width(elem.Kind()); {
	case f.tag.hasDef && op.width == 0:
		return fmt.Errorf("only scalars have defaults")
	case w > 0:
		if f.tag.required || f.tag.fixed || f.tag.union {
			return fmt.Errorf("a scalar is neither required nor a struct or union")
		}
		if t.Kind() == reflect.Pointer {
			op.kind, op.width, op.isBool, op.alloc = inlineOptional, w, elem.Kind() == reflect.Bool, elem
		} else if f.tag.hasDef {
			def, err := defaultBits(f.tag.def, t.Kind())
			if err != nil {
				return err
			}
			op.def = def
		}
		fl.Kind, fl.Size, fl.Align = ScalarField, uint32(w), w
		p.inlines = append(p.inlines, op)
		return nil
	case f.tag.fixed && elem.Kind() == reflect.Struct:
		fixed, err := c.structure(elem)
		if err != nil {
			return err
		}
		op.kind, op.fixed = inlineStruct, fixed
		if t.Kind() == reflect.Pointer {
			op.kind, op.alloc = inlineStructP, elem
			if f.tag.required {
				return fmt.Errorf("a required struct stands by value")
			}
		}
		fl.Kind, fl.Size, fl.Align = ScalarField, uint32(fixed.size), uint8(fixed.align)
		p.inlines = append(p.inlines, op)
		return nil
	}
	return c.reference(p, f, fl)
}

// reference compiles a field that refers to something.
func (c *compiler) reference(p *tableProgram, f *tagged, fl *FieldLayout) error {
	t := f.Type
	op := refOp{off: f.Offset, slot: f.tag.id, required: f.tag.required, name: f.tag.name, n: 1, result: p.results, types: p.results}
	isUnion := f.tag.union
	p.results++
	var err error
	switch {
	case t.Kind() == reflect.String:
		op.kind, fl.Kind = refTexts, StringField
		if op.required {
			op.kind = refText
		}
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.String:
		op.kind, fl.Kind = refStringP, StringField
		op.elem.slice = t.Elem()
	case isUnion:
		if err := c.unionField(p, &op, t, fl); err != nil {
			return err
		}
	case t.Kind() == reflect.Slice:
		err = c.vector(&op, t, f.tag.fixed, fl)
	case t.Kind() == reflect.Map:
		err = c.mapField(&op, f, fl)
	case f.tag.fixed:
		err = fmt.Errorf("the Go type %s is no struct", t)
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		op.kind, fl.Kind = refTable, TableField
		op.table, err = c.table(t.Elem())
	case t.Kind() == reflect.Struct:
		op.kind, fl.Kind = refTableV, TableField
		op.table, err = c.table(t)
	default:
		err = fmt.Errorf("the Go type %s is not supported", t)
	}
	if err != nil {
		return err
	}
	if op.table != nil {
		fl.Ref = int32(op.table.index)
	}
	p.refs = append(p.refs, op)
	p.inlines = append(p.inlines, inlineOp{kind: inlineRef, width: SizeUOffsetT, slot: op.slot, n: 1, result: op.result})
	return nil
}

// vector compiles a slice.
func (c *compiler) vector(op *refOp, t reflect.Type, fixed bool, fl *FieldLayout) (err error) {
	e := t.Elem()
	op.elem.slice = t
	w := width(e.Kind())
	switch {
	case fixed && e.Kind() == reflect.Struct:
		op.kind, fl.Kind = refStructs, ScalarVector
		if op.elem.fixed, err = c.structure(e); err != nil {
			return err
		}
		op.elem.size, op.elem.align = op.elem.fixed.size, op.elem.fixed.align
	case fixed:
		return fmt.Errorf("the Go type %s holds no structs", t)
	case w > 0:
		op.kind, fl.Kind = refScalars, ScalarVector
		op.elem.size, op.elem.align, op.elem.isBool = int(w), int(w), e.Kind() == reflect.Bool
	case e.Kind() == reflect.String:
		op.kind, fl.Kind = refStrings, StringVector
	case e.Kind() == reflect.Struct:
		op.kind, fl.Kind = refTablesV, TableVector
		op.table, err = c.table(e)
	case e.Kind() == reflect.Pointer && e.Elem().Kind() == reflect.Struct:
		op.kind, fl.Kind = refTables, TableVector
		op.table, err = c.table(e.Elem())
	default:
		return fmt.Errorf("the Go type %s is not supported", t)
	}
	fl.Size, fl.Align = uint32(op.elem.size), uint8(op.elem.align)
	return err
}

// unionField compiles a union or a vector of them.
func (c *compiler) unionField(p *tableProgram, op *refOp, t reflect.Type, fl *FieldLayout) (err error) {
	op.types = p.results // of the type, or the vector of types
	p.results++
	fl.Size = 1
	typ := inlineOp{kind: inlineType, width: 1, slot: op.slot - 1, n: 1, result: op.types}
	switch {
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		op.kind, fl.Kind = refUnion, UnionField
		op.union, err = c.union(t.Elem())
	case t.Kind() == reflect.Struct:
		op.kind, fl.Kind = refUnionV, UnionField
		op.union, err = c.union(t)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		op.kind, fl.Kind = refUnions, UnionVector
		op.union, err = c.union(t.Elem())
		typ.kind, typ.width = inlineRef, SizeUOffsetT
	default:
		err = fmt.Errorf("the Go type %s is no union", t)
	}
	if err != nil {
		return err
	}
	fl.Ref = int32(op.union.index)
	p.inlines = append(p.inlines, typ)
	return nil
}

// union compiles a struct of pointers, one for each member; their ids are the
// types.
func (c *compiler) union(t reflect.Type) (*unionProgram, error) {
	if u := c.unions[t]; u != nil {
		return u, nil
	}
	u := &unionProgram{typ: t, slice: reflect.SliceOf(t), index: len(c.layout.Unions)}
	c.unions[t] = u
	c.layout.Unions = append(c.layout.Unions, UnionLayout{Name: t.Name()})
	all, err := fields(t)
	if err != nil {
		return nil, err
	}
	var members []UnionMember
	for i := range all {
		f := &all[i]
		m := unionOp{typ: uint8(f.tag.id), off: f.Offset, name: f.tag.name}
		l := UnionMember{Name: f.tag.name, Type: uint64(m.typ)}
		switch {
		case f.tag.id < 1 || f.tag.id > 255:
			err = fmt.Errorf("a member of a union has an id from 1 to 255")
		case f.Type.Kind() != reflect.Pointer:
			err = fmt.Errorf("a member of a union is a pointer")
		case f.Type.Elem().Kind() == reflect.String:
			l.Kind = StringField
		case f.Type.Elem().Kind() != reflect.Struct:
			err = fmt.Errorf("the Go type %s is no member of a union", f.Type)
		case f.tag.fixed:
			if m.fixed, err = c.structure(f.Type.Elem()); err == nil {
				l.Kind, l.Size, l.Align = ScalarField, uint32(m.fixed.size), uint8(m.fixed.align)
			}
		default:
			if m.table, err = c.table(f.Type.Elem()); err == nil {
				l.Kind, l.Ref = TableField, int32(m.table.index)
			}
		}
		if err == nil && slices.ContainsFunc(u.members, func(o unionOp) bool { return o.typ == m.typ }) {
			err = fmt.Errorf("duplicated id %d", m.typ)
		}
		if err != nil {
			if _, ok := err.(*TypeError); ok {
				return nil, err
			}
			return nil, &TypeError{Type: t, Field: f.Name, Reason: err.Error()}
		}
		m.alloc = f.Type.Elem()
		u.members = append(u.members, m)
		members = append(members, l)
	}
	c.layout.Unions[u.index].Members = members
	return u, nil
}

// structure compiles a struct of fixed layout: all fields of t, in their order.
func (c *compiler) structure(t reflect.Type) (*fixedProgram, error) {
	if p := c.fixed[t]; p != nil {
		return p, nil
	}
	p := &fixedProgram{typ: t, align: 1}
	for i := range t.NumField() {
		f := t.Field(i)
		elem, n := f.Type, 1
		if elem.Kind() == reflect.Array {
			elem, n = elem.Elem(), elem.Len()
		}
		var inner *fixedProgram
		size, align := int(width(elem.Kind())), int(width(elem.Kind()))
		if elem.Kind() == reflect.Struct {
			var err error
			if inner, err = c.structure(elem); err != nil {
				return nil, err
			}
			size, align = inner.size, inner.align
		}
		if size == 0 || n < 1 || n > 1<<16-1 || !f.IsExported() {
			return nil, &TypeError{Type: t, Field: f.Name, Reason: "a struct has exported scalars, structs and arrays of 1 to 65535 of these"}
		}
		at := (p.size + align - 1) &^ (align - 1)
		p.align = max(p.align, align)
		p.size = at + size*n
		if inner == nil {
			p.copies = append(p.copies, fixedCopy{dst: uintptr(at), src: f.Offset, width: size, n: n, isBool: elem.Kind() == reflect.Bool})
		} else if len(p.copies)+n*len(inner.copies) > 1<<16 {
			return nil, &TypeError{Type: t, Field: f.Name, Reason: "a struct of too many parts"}
		} else {
			for j := range n {
				for _, cp := range inner.copies {
					cp.dst += uintptr(at + j*size)
					cp.src += f.Offset + uintptr(j)*elem.Size()
					p.copies = append(p.copies, cp)
				}
			}
		}
		if p.size > 1<<15 {
			return nil, &TypeError{Type: t, Reason: "larger than 32 KiB"}
		}
	}
	if p.size == 0 {
		return nil, &TypeError{Type: t, Reason: "a struct without fields"}
	}
	p.size = (p.size + p.align - 1) &^ (p.align - 1)
	c.fixed[t] = p
	return p, nil
}
