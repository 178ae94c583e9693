package transcode

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file turns a schema into the tables that conversions run on.

// structTable is a struct, union or exception. Tables refer to each other in
// cycles where types do; they never change once New has returned.
type structTable struct {
	name     string
	union    bool
	fields   []field
	names    nameTable  // by JSON name
	own      *nameTable // by the fields' own names, which are looked for after names; nil unless AnyName
	dense    []int32    // by id: index + 1; 0 where there is no field
	sparse   []int32    // indices of the fields outside dense, by ascending id
	required []uint64   // bit set of the fields that must be present
	fill     []uint64   // bit set of the fields that are written when absent
	needs    bool       // whether required or fill holds any
}

// field is a field of a structTable.
type field struct {
	typ           typ
	head          [3]byte // the field's header on the wire
	id            int16
	name          string
	quoted        []byte    // "name": as JSON
	expect        expected  // quoted again, to compare it quickly
	words, masks  [3]uint64 // the beginning of quoted, and which bits of it count
	headWord      uint32    // head as the first bytes of a word
	bits          int       // of an integer
	nameSize      uint8     // of quoted, if it is short
	shift         uint8     // of an integer in eight bytes
	wide          uint8     // the size of a number with its header
	reads, writes form
	// What stands for the absent field, header or name included; nil if nothing does.
	absentThrift, absentJSON []byte
}

// typ is a type. kind, wire and what hangs on it say all; there are no
// typedefs or annotations left.
type typ struct {
	kind    schema.Kind
	wire    thriftwire.Type
	size    int  // the least on the wire
	textKey bool // a map whose JSON is an object
	key     *typ
	elem    *typ
	strct   *structTable
	enum    *enumTable
	special *special // of kindSpecial
}

// denseLimit bounds the ids that are looked up in a table.
const denseLimit = 1024

// Converter converts one struct type between JSON and Thrift. It is safe for
// concurrent use.
type Converter struct {
	root    typ
	opts    options
	secret  secret
	scratch sync.Pool // of *scratch
}

// New compiles t. It fails with code Unsupported for what has no conversion,
// such as void fields or ids outside 16 bits.
func New(t *schema.StructDef, opts ...Option) (*Converter, error) {
	o := newOptions()
	for _, opt := range opts {
		opt(&o)
	}
	c := newConverter(o)
	k, err := c.compile(false, t)
	if err != nil || !o.base {
		return c, err
	}
	return c, k.bindBase(t)
}

func newOptions() options { return options{maxDepth: DefaultMaxDepth, maxSize: DefaultMaxSize} }

func newConverter(o options) *Converter {
	c := &Converter{secret: newSecret(), opts: o}
	c.scratch.New = func() any { return new(scratch) }
	return c
}

// compile makes t the root and returns the compiler, which knows its structs
// and those of more.
func (c *Converter) compile(lenient bool, t *schema.StructDef, more ...*schema.StructDef) (*compiler, error) {
	k := &compiler{conv: c, lenient: lenient, structs: map[*schema.StructDef]*structTable{}, enums: map[*schema.EnumDef]*enumTable{}}
	root, err := k.typ(t.Type())
	if err != nil {
		return nil, err
	}
	c.root = root
	for _, d := range more {
		if _, err := k.strct(d); err != nil {
			return nil, err
		}
	}
	if err := k.defaults(); err != nil {
		return nil, err
	}
	return k, nil
}

// compiler holds what New has seen so far.
type compiler struct {
	conv    *Converter
	structs map[*schema.StructDef]*structTable
	enums   map[*schema.EnumDef]*enumTable
	order   []*schema.StructDef // keys of structs in the order they were met
	lenient bool                // whether a name that is taken leaves a field its own
}

var wireTypes = [...]thriftwire.Type{
	schema.Bool: thriftwire.Bool, schema.I8: thriftwire.I8, schema.I16: thriftwire.I16,
	schema.I32: thriftwire.I32, schema.I64: thriftwire.I64, schema.Float: thriftwire.Float,
	schema.Double: thriftwire.Double, schema.String: thriftwire.String, schema.Binary: thriftwire.String,
	schema.UUID: thriftwire.UUID, schema.Enum: thriftwire.I32, schema.List: thriftwire.List,
	schema.Set: thriftwire.Set, schema.Map: thriftwire.Map, schema.Struct: thriftwire.Struct,
}

func (k *compiler) typ(t *schema.Type) (typ, error) {
	kind := t.Kind()
	if int(kind) >= len(wireTypes) || wireTypes[kind] == thriftwire.Stop {
		return typ{}, diag.NewFault(diag.Unsupported, -1, "a value of type "+t.String()+" has no JSON form")
	}
	out := typ{kind: kind, wire: wireTypes[kind], size: wireTypes[kind].MinSize()}
	var err error
	switch kind {
	case schema.I8:
		if k.conv.opts.unsigned8 {
			return k.special(special{what: unsigned8}, out), nil
		}
	case schema.Enum:
		out.enum, err = k.enum(t.Enum())
	case schema.List, schema.Set:
		out.elem, err = k.part(t.Elem())
	case schema.Map:
		if out.key, err = k.part(t.Key()); err == nil {
			out.elem, err = k.part(t.Elem())
			out.textKey = out.key.plainKind() < schema.List
		}
	case schema.Struct:
		out.strct, err = k.strct(t.Struct())
	}
	return out, err
}

func (k *compiler) part(t *schema.Type) (*typ, error) {
	p, err := k.typ(t)
	return &p, err
}

func (k *compiler) strct(d *schema.StructDef) (*structTable, error) {
	if s := k.structs[d]; s != nil {
		return s, nil
	}
	fields := d.Fields()
	words := (len(fields) + 63) / 64
	s := &structTable{
		name: d.Name(), union: d.Flavor() == schema.Union,
		fields:   make([]field, len(fields)),
		required: make([]uint64, words), fill: make([]uint64, words),
	}
	k.structs[d] = s
	k.order = append(k.order, d)
	names := make([]string, len(fields))
	for i, f := range fields {
		if f.ID() < math.MinInt16 || f.ID() > math.MaxInt16 {
			return nil, diag.NewFault(diag.Unsupported, -1, fmt.Sprintf("field id %d does not fit 16 bits", f.ID())).Field(f.Name())
		}
		t, err := k.fieldType(f)
		if err != nil {
			if fault, ok := err.(*diag.Fault); ok {
				fault.Field(f.Name())
			}
			return nil, err
		}
		if names[i], err = k.fieldName(f, names[:i]); err != nil {
			return nil, err
		}
		id := int16(f.ID())
		head := [3]byte(thriftwire.AppendField(nil, t.wire, id))
		quoted := append(jsonwire.AppendQuotedLossy(nil, []byte(names[i])), ':')
		s.fields[i] = field{
			typ: t, id: id, name: names[i], quoted: quoted, expect: expect(quoted),
			bits: 8 * t.size, reads: k.conv.opts.reading(t.kind), writes: k.conv.opts.writing(t.kind),
			head: head, headWord: uint32(head[0]) | uint32(head[1])<<8 | uint32(head[2])<<16,
		}
		if len(quoted) > shortName {
			s.fields[i].reads, s.fields[i].writes = notPlain, notPlain
		}
		s.fields[i].nameSize, s.fields[i].shift, s.fields[i].wide = uint8(len(quoted)), uint8(64-8*t.size), uint8(3+t.size)
		for j, c := range quoted[:min(len(quoted), shortName)] {
			s.fields[i].words[j/8] |= uint64(c) << (j % 8 * 8)
			s.fields[i].masks[j/8] |= 0xff << (j % 8 * 8)
		}
		if f.Requiredness() == schema.Required && !k.conv.opts.allowMissing && !s.union {
			s.required[i/64] |= 1 << (i % 64)
		}
	}
	s.names = newNameTable(names)
	if k.conv.opts.anyName && k.conv.opts.fieldName != nil {
		own := newNameTable(ownNames(fields))
		s.own = &own
	}
	s.indexIDs()
	return s, nil
}

// fieldName returns the name of f in JSON, which must not be among earlier ones.
func (k *compiler) fieldName(f *schema.Field, earlier []string) (string, error) {
	if k.conv.opts.fieldName == nil {
		return f.Name(), nil
	}
	name := k.conv.opts.fieldName(f)
	if name == "" {
		name = f.Name()
	}
	if k.lenient && name != f.Name() && slices.Contains(earlier, name) {
		name = f.Name()
	}
	if slices.Contains(earlier, name) {
		return "", diag.NewFault(diag.Unsupported, -1, fmt.Sprintf("two fields have the name %q in JSON", name)).Field(f.Name())
	}
	return name, nil
}

func ownNames(fields []*schema.Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name()
	}
	return names
}

// indexIDs fills the tables by id.
func (s *structTable) indexIDs() {
	top := -1
	for i := range s.fields {
		if id := int(s.fields[i].id); id < denseLimit {
			top = max(top, id)
		}
	}
	s.dense = make([]int32, top+1)
	for i := range s.fields {
		if id := int(s.fields[i].id); id >= 0 && id <= top {
			s.dense[id] = int32(i) + 1
		} else {
			s.sparse = append(s.sparse, int32(i))
		}
	}
	sort.Slice(s.sparse, func(a, b int) bool { return s.fields[s.sparse[a]].id < s.fields[s.sparse[b]].id })
}

// byID returns the index of the field with that id, or -1.
func (s *structTable) byID(id int16) int {
	if uint(id) < uint(len(s.dense)) {
		return int(s.dense[id]) - 1
	}
	i := sort.Search(len(s.sparse), func(i int) bool { return s.fields[s.sparse[i]].id >= id })
	if i < len(s.sparse) && s.fields[s.sparse[i]].id == id {
		return int(s.sparse[i])
	}
	return -1
}
