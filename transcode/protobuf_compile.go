package transcode

import (
	"fmt"
	"sort"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file turns a schema into the tables that conversions from and to
// Protobuf run on.

// protoKind is what a Protobuf value is and how it is written, under the names
// of Protobuf IDL.
type protoKind uint8

const (
	protoBool protoKind = iota
	protoInt32
	protoSint32
	protoSfixed32
	protoUint32
	protoFixed32
	protoInt64
	protoSint64
	protoSfixed64
	protoUint64
	protoFixed64
	protoFloat
	protoDouble
	protoString
	protoBytes
	protoEnum
	protoMessage
	protoGroup
)

var protoKindNames = [...]string{
	"bool", "int32", "sint32", "sfixed32", "uint32", "fixed32", "int64", "sint64", "sfixed64", "uint64", "fixed64",
	"float", "double", "string", "bytes", "enum", "message", "group",
}

func (k protoKind) String() string { return protoKindNames[k] }

// wire returns how values of kind k are delimited.
func (k protoKind) wire() protowire.Type {
	switch k {
	case protoSfixed32, protoFixed32, protoFloat:
		return protowire.Fixed32
	case protoSfixed64, protoFixed64, protoDouble:
		return protowire.Fixed64
	case protoString, protoBytes, protoMessage:
		return protowire.Bytes
	case protoGroup:
		return protowire.StartGroup
	default:
		return protowire.Varint
	}
}

// shape is how often a field's value stands.
type shape uint8

const (
	single shape = iota
	repeated
	mapped
)

// protoTable is a message. Tables refer to each other in cycles where types
// do; they never change once NewProtobuf has returned.
type protoTable struct {
	name    string
	form    protoForm
	fields  []protoField
	names   nameTable // by name in JSON, the declared name among them
	named   []int32   // the field, by index in names
	dense   []int32   // by number: index + 1; 0 where there is no field
	sparse  []int32   // indices of the fields outside dense, by ascending number
	oneofs  int
	needed  []uint64                // bit set of the fields that must be present
	fill    []uint64                // bit set of the fields that are written when absent
	needs   bool                    // whether needed or fill holds any
	plain   bool                    // whether plainFields writes any field
	quick   [plainNumber]quickField // by number: those that it writes
	wrapped bool                    // whether the JSON is that of the field that is set, not an object
}

// protoField is a field of a protoTable. What every value needs stands first.
type protoField struct {
	typ protoTyp // of the value, of an element, or of a map's values
	tag uint32   // the tag before a value or element
	// implicit says that zero is absent. peek says that a value must be looked
	// at before it is written to JSON: implicit, or of a closed enum.
	implicit, peek bool
	packed         bool // whether lists are written packed
	shape          shape
	words          [shortName / 8]uint64 // the beginning of quoted
	quoted         []byte                // "name": as JSON; nothing where the message is wrapped
	packedTag      uint32                // the tag before packed elements, 0 if they cannot be
	number         int32
	rivals         []uint64 // bit set of the others in the oneof, nil for none
	head           []byte   // tag as it is written
	packedHead     []byte
	key            protoTyp    // of a map's keys
	entry          *protoTable // a map's entry as a message, nil for everything else
	oneof          int32       // index + 1 of the oneof; 0 for none
	name           string
	expect         expected // quoted, to compare it quickly
	// What stands for the absent field, head or name included; nil if nothing does.
	absentProto, absentJSON []byte
}

// protoTyp is the type of a value, an element or a key.
type protoTyp struct {
	kind    protoKind
	wire    protowire.Type
	closed  bool  // an enum without other values than the named ones
	null    bool  // google.protobuf.NullValue, or a message of which it is a value
	group   int32 // the number with which a group ends; 0 for everything else
	message *protoTable
	enum    *enumTable
}

// protoCompiler holds what NewProtobuf has seen so far.
type protoCompiler struct {
	compiler
	messages map[*schema.StructDef]*protoTable
	order    []*schema.StructDef // keys of messages in the order they were met
}

func newProtoCompiler(c *Converter) *protoCompiler {
	return &protoCompiler{
		compiler: compiler{conv: c, enums: map[*schema.EnumDef]*enumTable{}},
		messages: map[*schema.StructDef]*protoTable{},
	}
}

func unsupported(format string, args ...any) *diag.Fault {
	return diag.NewFault(diag.Unsupported, -1, fmt.Sprintf(format, args...))
}

// protoKinds has the integers by schema kind and encoding.
var protoKinds = [...][3]protoKind{
	schema.I32: {protoInt32, protoSint32, protoSfixed32},
	schema.I64: {protoInt64, protoSint64, protoSfixed64},
	schema.U32: {protoUint32, protoUint32, protoFixed32},
	schema.U64: {protoUint64, protoUint64, protoFixed64},
}

// typ compiles a type without parts, a message or an enum.
func (k *protoCompiler) typ(t *schema.Type) (out protoTyp, err error) {
	switch t.Kind() {
	case schema.Bool:
		out.kind = protoBool
	case schema.I32, schema.I64, schema.U32, schema.U64:
		if t.Encoding() > schema.Fixed {
			return out, unsupported("Protobuf has no delimited integers")
		}
		out.kind = protoKinds[t.Kind()][t.Encoding()]
	case schema.Float:
		out.kind = protoFloat
	case schema.Double:
		out.kind = protoDouble
	case schema.String:
		out.kind = protoString
	case schema.Binary:
		out.kind = protoBytes
	case schema.Enum:
		out.kind = protoEnum
		out.closed = t.Enum().Closed()
		out.null = t.Enum().FullName() == "google.protobuf.NullValue"
		out.enum, err = k.enum(t.Enum())
	case schema.Struct:
		out.kind = protoMessage
		if t.Encoding() == schema.Delimited {
			out.kind = protoGroup
		}
		out.message, err = k.message(t.Struct())
		out.null = err == nil && out.message.form == formValue
	default:
		return out, unsupported("Protobuf has no type %s", t)
	}
	out.wire = out.kind.wire()
	return out, err
}

// message compiles the table of d.
func (k *protoCompiler) message(d *schema.StructDef) (*protoTable, error) {
	if m := k.messages[d]; m != nil {
		return m, nil
	}
	fields := d.Fields()
	words := (len(fields) + 63) / 64
	m := &protoTable{
		name: d.FullName(), fields: make([]protoField, len(fields)), oneofs: len(d.Oneofs()),
		needed: make([]uint64, words), fill: make([]uint64, words),
	}
	m.form = formOf(d)
	m.wrapped = m.form == formBare || m.form == formValue
	k.messages[d] = m
	k.order = append(k.order, d)
	names := make([]string, len(fields))
	for i, f := range fields {
		err := k.field(&m.fields[i], f)
		if err == nil {
			names[i], err = k.fieldName(f, names[:i])
		}
		if err != nil {
			if fault, ok := err.(*diag.Fault); ok {
				fault.Field(f.Name())
			}
			return nil, err
		}
		out := &m.fields[i]
		out.name = names[i]
		if !m.wrapped {
			out.quoted = append(jsonwire.AppendQuotedLossy(nil, []byte(names[i])), ':')
			out.expect = expect(out.quoted)
		}
		for j, c := range out.quoted[:min(len(out.quoted), shortName)] {
			out.words[j/8] |= uint64(c) << (j % 8 * 8)
		}
		if f.Requiredness() == schema.Required && !k.conv.opts.allowMissing {
			m.needed[i/64] |= 1 << (i % 64)
		}
	}
	m.indexNames(d, names)
	m.indexNumbers()
	m.indexOneofs(d)
	m.indexPlain(&k.conv.opts)
	return m, nil
}

// field compiles f.
func (k *protoCompiler) field(out *protoField, f *schema.Field) (err error) {
	out.number = f.ID()
	if out.number < 1 || out.number > protowire.MaxNumber {
		return unsupported("%d is no number of a Protobuf field", out.number)
	}
	elem := f.Type()
	switch elem.Kind() {
	case schema.List:
		out.shape, elem = repeated, elem.Elem()
	case schema.Map:
		out.shape = mapped
		if out.key, err = k.typ(elem.Key()); err != nil {
			return err
		}
		if kind := out.key.kind; kind == protoFloat || kind == protoDouble || kind >= protoBytes {
			return unsupported("Protobuf has no map keys of type %s", elem.Key())
		}
		elem = elem.Elem()
	}
	if out.typ, err = k.typ(elem); err != nil {
		return err
	}
	switch {
	case out.shape == mapped && out.typ.kind == protoGroup:
		return unsupported("Protobuf has no maps of groups")
	case out.shape == mapped:
		out.setTag(protowire.Bytes)
		out.entry = entryTable(out.key, out.typ)
	default:
		out.setTag(out.typ.wire)
	}
	out.implicit = out.shape == single && f.Requiredness() == schema.Default && f.Oneof() == nil && out.typ.message == nil
	out.peek = out.implicit || out.typ.closed && out.shape == single
	if out.shape == repeated && out.typ.wire != protowire.Bytes && out.typ.wire != protowire.StartGroup {
		out.packedTag = uint32(protowire.Tag(out.number, protowire.Bytes))
		out.packedHead = protowire.AppendTag(nil, out.number, protowire.Bytes)
		out.packed = f.Packed()
	}
	return nil
}

// entryTable returns an entry as the message that it is. Its enum is open, since
// an entry with an unknown number is to be seen.
func entryTable(key, value protoTyp) *protoTable {
	value.closed = false
	m := &protoTable{name: "map entry", fields: []protoField{{typ: key, number: 1}, {typ: value, number: 2}}}
	for i := range m.fields {
		m.fields[i].setTag(m.fields[i].typ.wire)
	}
	m.indexNumbers()
	return m
}

func (f *protoField) setTag(t protowire.Type) {
	f.tag = uint32(protowire.Tag(f.number, t))
	f.head = protowire.AppendTag(nil, f.number, t)
	if t == protowire.StartGroup {
		f.typ.group = f.number
	}
}

// fieldName returns the name that f is written with in JSON, which must not be
// among earlier ones.
func (k *protoCompiler) fieldName(f *schema.Field, earlier []string) (string, error) {
	name := ""
	if k.conv.opts.fieldName != nil {
		name = k.conv.opts.fieldName(f)
	}
	if name == "" {
		name = f.JSONName()
		if k.conv.opts.declaredNames {
			name = f.Name()
		}
	}
	for _, other := range earlier {
		if name == other {
			return "", unsupported("two fields have the name %q in JSON", name)
		}
	}
	return name, nil
}

// indexNames makes the fields known by the names that they are written with
// and, where those leave room, by their names in JSON and as declared.
func (m *protoTable) indexNames(d *schema.StructDef, names []string) {
	taken := map[string]bool{}
	var all []string
	add := func(i int, name string) {
		if !taken[name] {
			taken[name] = true
			all = append(all, name)
			m.named = append(m.named, int32(i))
		}
	}
	for i, name := range names {
		add(i, name)
	}
	for i, f := range d.Fields() {
		add(i, f.JSONName())
	}
	for i, f := range d.Fields() {
		add(i, f.Name())
	}
	m.names = newNameTable(all)
}

// indexNumbers fills the tables by number.
func (m *protoTable) indexNumbers() {
	top := -1
	for i := range m.fields {
		if n := int(m.fields[i].number); n < denseLimit {
			top = max(top, n)
		}
	}
	m.dense = make([]int32, top+1)
	for i := range m.fields {
		if n := int(m.fields[i].number); n <= top {
			m.dense[n] = int32(i) + 1
		} else {
			m.sparse = append(m.sparse, int32(i))
		}
	}
	sort.Slice(m.sparse, func(a, b int) bool { return m.fields[m.sparse[a]].number < m.fields[m.sparse[b]].number })
}

// byNumber returns the index of the field with that number, or -1.
func (m *protoTable) byNumber(number int32) int {
	if uint(number) < uint(len(m.dense)) {
		return int(m.dense[number]) - 1
	}
	i := sort.Search(len(m.sparse), func(i int) bool { return m.fields[m.sparse[i]].number >= number })
	if i < len(m.sparse) && m.fields[m.sparse[i]].number == number {
		return int(m.sparse[i])
	}
	return -1
}

// indexOneofs tells each member of a oneof who its rivals are. The members of a
// union are each other's.
func (m *protoTable) indexOneofs(d *schema.StructDef) {
	for i, o := range d.Oneofs() {
		m.rivals(o.Fields(), int32(i)+1)
	}
	if d.Flavor() == schema.Union {
		m.oneofs = 1
		m.rivals(d.Fields(), 1)
	}
}

func (m *protoTable) rivals(members []*schema.Field, oneof int32) {
	set := make([]uint64, len(m.fill))
	for _, f := range members {
		set[f.Index()/64] |= 1 << (f.Index() % 64)
	}
	for _, f := range members {
		i := f.Index()
		out := &m.fields[i]
		out.oneof, out.implicit, out.peek = oneof, false, out.typ.closed
		out.rivals = append([]uint64(nil), set...)
		out.rivals[i/64] &^= 1 << (i % 64)
	}
}
