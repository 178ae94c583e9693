package transcode

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file pairs a Thrift struct with a Protobuf message.

// Bridge converts between Thrift's binary protocol and Protobuf by a pair of
// types, from bytes to bytes without anything in between. It is safe for
// concurrent use.
//
// Fields are paired by id and number, or by name if PairByName is given. A
// field without a partner is unknown to the other side: it is skipped unless
// RejectUnknown is given. Paired types must agree:
//
//	bool                         bool
//	i8 … i64, enum               any integer, enum
//	float, double                float, double
//	string, binary               string, bytes
//	uuid                         bytes (16 of them), string such as "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
//	list, set                    repeated
//	map                          map
//	struct, union, exception     message, group, whatever its name
//
// Anything else is Unsupported at once: lists of lists, keys that are lists, maps or structs, a
// scalar beside a wrapper message.
//
// # Values
//
// Nothing is changed on the way. A number that the other side cannot hold is
// OutOfRange, a double that a float cannot hold exactly too. A binary or string that is not UTF-8 is
// InvalidData where the other side is a Protobuf string, unless LossyText is given. An element that
// stands twice is an error where it becomes a set's, unless AllowDuplicates is given. An enum passes by its number; one
// that a closed enum of Protobuf lacks is UnknownEnum, and unknown on the way back.
//
// # Presence
//
// Absent is absent on both sides, but for a field of Protobuf without presence: zero,
// or an empty list or map, is absent there. On the way back its zero is
// written where Thrift requires the field or declares another default, and
// everywhere with WriteZeros but to optional fields.
// A union has exactly one field; in Protobuf it is a message whose paired fields have presence,
// of a oneof or not, and one of which stands. Two members of a oneof are an error on the way to Protobuf.
//
// # Protobuf in pieces
//
// Fields that stand again or in pieces are merged as ProtobufConverter
// describes. Faults in such messages have no offset.
//
// # Options
//
// Beside those named above, StrictTypes, AllowMissing, MaxDepth and MaxSize mean what they do for a Converter.
type Bridge struct {
	conv *Converter // its options and memory
	root *bridgeTable
}

// PairByName pairs the fields of a Bridge by the names in both IDLs, where ids
// and numbers pair them otherwise. A field of Protobuf is also found by its name in JSON.
func PairByName() Option { return func(o *options) { o.pairByName = true } }

// bridgeTable is a pair of types.
type bridgeTable struct {
	thrift *structTable
	proto  *protoTable
	links  []bridgeLink // by index of the Thrift field
	back   []int32      // by index of the Protobuf field: that of the Thrift field, or -1
	needs  bool         // whether a struct must be looked at when it ends
}

// bridgeLink is what a Thrift field is paired with.
type bridgeLink struct {
	proto *protoField  // nil for nothing
	index int          // of proto
	table *bridgeTable // of structs: of the value, an element or a map's values
	zero  []byte       // the Thrift field that is written if Protobuf's is absent
}

// bridgePair is a key for pairs of types.
type bridgePair struct {
	thrift *schema.StructDef
	proto  *schema.StructDef
}

// bridgeCompiler holds what NewBridge has seen so far.
type bridgeCompiler struct {
	thrift compiler
	proto  *protoCompiler
	pairs  map[bridgePair]*bridgeTable
}

// NewBridge pairs a struct of Thrift with a message of Protobuf. It fails with
// code Unsupported where paired fields have no types in common.
func NewBridge(thrift, proto *schema.StructDef, opts ...Option) (*Bridge, error) {
	o := newOptions()
	for _, opt := range opts {
		opt(&o)
	}
	// Names are those of the IDLs, and values are what their types say.
	o.declaredNames, o.fieldName, o.unsigned8 = true, nil, false
	b := &Bridge{conv: newConverter(o)}
	k := bridgeCompiler{
		thrift: compiler{conv: b.conv, structs: map[*schema.StructDef]*structTable{}, enums: map[*schema.EnumDef]*enumTable{}},
		proto:  newProtoCompiler(b.conv),
		pairs:  map[bridgePair]*bridgeTable{},
	}
	if _, err := k.thrift.strct(thrift); err != nil {
		return nil, err
	}
	if _, err := k.proto.message(proto); err != nil {
		return nil, err
	}
	var err error
	b.root, err = k.pair(thrift, proto)
	return b, err
}

// pair links the fields of two types, which are compiled.
func (k *bridgeCompiler) pair(thrift, proto *schema.StructDef) (*bridgeTable, error) {
	key := bridgePair{thrift, proto}
	if t := k.pairs[key]; t != nil {
		return t, nil
	}
	t := &bridgeTable{thrift: k.thrift.structs[thrift], proto: k.proto.messages[proto]}
	t.links = make([]bridgeLink, len(thrift.Fields()))
	t.back = make([]int32, len(proto.Fields()))
	k.pairs[key] = t
	for i := range t.back {
		t.back[i] = -1
	}
	for i, f := range thrift.Fields() {
		g := k.partner(f, proto)
		if g == nil {
			continue
		}
		if err := k.link(t, f, g); err != nil {
			return nil, err.Field(f.Name())
		}
		t.back[g.Index()] = int32(i)
	}
	for i := range t.links {
		t.needs = t.needs || t.links[i].zero != nil
	}
	for i := range t.thrift.required {
		t.needs = t.needs || t.thrift.required[i] != 0
	}
	for i := range t.proto.needed {
		t.needs = t.needs || t.proto.needed[i] != 0
	}
	return t, nil
}

// partner returns the field that f is paired with, or nil.
func (k *bridgeCompiler) partner(f *schema.Field, proto *schema.StructDef) *schema.Field {
	if !k.thrift.conv.opts.pairByName {
		return proto.FieldByID(f.ID())
	}
	if g := proto.FieldByName(f.Name()); g != nil {
		return g
	}
	for _, g := range proto.Fields() {
		if g.JSONName() == f.Name() {
			return g
		}
	}
	return nil
}

// link pairs f with g.
func (k *bridgeCompiler) link(t *bridgeTable, f, g *schema.Field) *diag.Fault {
	l := &t.links[f.Index()]
	if t.back[g.Index()] >= 0 {
		return unsupported("Protobuf's field %s is the partner of two", g.Name())
	}
	l.proto, l.index = &t.proto.fields[g.Index()], g.Index()
	ft, gt := f.Type(), g.Type()
	typ := &t.thrift.fields[f.Index()].typ
	mismatch := unsupported("%s and Protobuf's %s have no values in common", ft, gt)
	switch ft.Kind() {
	case schema.List, schema.Set:
		if l.proto.shape != repeated || !pairs(typ.elem, &l.proto.typ) {
			return mismatch
		}
		ft, gt = ft.Elem(), gt.Elem()
	case schema.Map:
		if l.proto.shape != mapped || !pairs(typ.key, &l.proto.key) || !pairs(typ.elem, &l.proto.typ) {
			return mismatch
		}
		ft, gt = ft.Elem(), gt.Elem()
	default:
		if l.proto.shape != single || !pairs(typ, &l.proto.typ) {
			return mismatch
		}
	}
	if ft.Kind() == schema.Struct {
		table, err := k.pair(ft.Struct(), gt.Struct())
		if err != nil {
			if fault, ok := err.(*diag.Fault); ok {
				return fault
			}
			return diag.NewFault(diag.Unsupported, -1, err.Error())
		}
		l.table = table
	}
	absence := l.proto.implicit || l.proto.shape != single
	if t.thrift.union && absence {
		return unsupported("the zero of a union's field would be absent in Protobuf")
	}
	wanted := f.Requiredness() == schema.Required || f.Default() != nil ||
		k.thrift.conv.opts.writeZeros && f.Requiredness() != schema.Optional
	if wanted && absence {
		head := t.thrift.fields[f.Index()].head
		l.zero = appendThriftZero(head[:len(head):len(head)], typ)
	}
	return nil
}

// pairs reports whether values of both types can be the same.
func pairs(t *typ, p *protoTyp) bool {
	switch t.kind {
	case schema.Bool:
		return p.kind == protoBool
	case schema.I8, schema.I16, schema.I32, schema.I64, schema.Enum:
		return p.kind >= protoInt32 && p.kind <= protoFixed64 || p.kind == protoEnum
	case schema.Float, schema.Double:
		return p.kind == protoFloat || p.kind == protoDouble
	case schema.String, schema.Binary, schema.UUID:
		return p.kind == protoString || p.kind == protoBytes
	case schema.Struct:
		return p.message != nil
	}
	return false
}

// appendThriftZero appends the zero value of t, which is no struct.
func appendThriftZero(dst []byte, t *typ) []byte {
	switch t.kind {
	case schema.List, schema.Set:
		return thriftwire.AppendList(dst, t.elem.wire, 0)
	case schema.Map:
		return thriftwire.AppendMap(dst, t.key.wire, t.elem.wire, 0)
	}
	for range t.size {
		dst = append(dst, 0) // a number, or the length of a text
	}
	return dst
}
