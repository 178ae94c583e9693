package flatproto

import (
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/flatpack"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds how the types of a schema look in Protobuf.

// message is a table, a struct or a union.
type message struct {
	def      *schema.StructDef
	fields   []field
	byNumber map[int32]int // the index in fields
	required []int         // of those that may be absent all the same: strings and vectors
	strict   bool          // there are other required fields
}

// field is one field of a message, or one member of a union.
type field struct {
	f       *schema.Field
	t       *schema.Type // of the value; of the elements of a vector or array
	number  int32
	kind    kind
	listed  bool           // it is a vector or an array
	present bool           // it is written whatever it is, and "optional" in the .proto file
	wire    protowire.Type // of a value
	sub     *message       // of messages
}

// kind is what a value is.
type kind uint8

const (
	number kind = iota
	text
	blob    // a vector or array of ubyte
	table   // a message
	inlined // a struct
	union
)

// The numbers that Protobuf keeps for itself.
const (
	firstReserved = 19000
	lastReserved  = 19999
)

// compiler holds what has been compiled.
type compiler map[*schema.StructDef]*message

// message compiles a type.
func (c compiler) message(d *schema.StructDef) (*message, error) {
	if m, ok := c[d]; ok {
		return m, nil
	}
	m := &message{def: d, byNumber: map[int32]int{}}
	c[d] = m // it may refer to itself
	for i, f := range d.Fields() {
		if f.Deprecated() {
			continue
		}
		n := int64(f.ID()) + 1
		switch {
		case d.Tag() != nil:
			n = int64(f.ID())
		case d.Fixed():
			n = int64(i) + 1
		}
		if n < 1 || n > protowire.MaxNumber || n >= firstReserved && n <= lastReserved {
			return nil, diag.NewFault(diag.Unsupported, -1, fmt.Sprintf("%s.%s: no field of Protobuf has the number %d", d.Name(), f.Name(), n))
		}
		x, err := c.field(f, int32(n))
		if err != nil {
			return nil, err
		}
		m.byNumber[x.number] = len(m.fields)
		switch {
		case f.Requiredness() != schema.Required:
		case x.listed || x.kind == text || x.kind == blob:
			m.required = append(m.required, len(m.fields))
		default:
			m.strict = true
		}
		m.fields = append(m.fields, x)
	}
	return m, nil
}

// field compiles a field.
func (c compiler) field(f *schema.Field, n int32) (field, error) {
	x := field{f: f, t: f.Type(), number: n}
	if k := x.t.Kind(); k == schema.List || k == schema.Array {
		x.listed = true
		x.t = x.t.Elem()
	}
	var err error
	switch {
	case x.listed && x.t.Kind() == schema.U8:
		x.kind, x.listed, x.wire = blob, false, protowire.Bytes
	case x.t.Kind() == schema.String:
		x.kind, x.wire = text, protowire.Bytes
	case x.t.Kind() == schema.Struct:
		x.kind, x.wire = table, protowire.Bytes
		if x.t.Struct().Fixed() {
			x.kind = inlined
		} else if flatpack.IsUnion(x.t) {
			x.kind = union
		}
		x.sub, err = c.message(x.t.Struct())
	default:
		x.wire = wireOf(flatpack.KindOf(x.t))
	}
	x.present = x.hasPresence()
	return x, err
}

// wireOf returns the wire type of numbers.
func wireOf(k schema.Kind) protowire.Type {
	switch k {
	case schema.Float:
		return protowire.Fixed32
	case schema.Double:
		return protowire.Fixed64
	}
	return protowire.Varint
}

// hasPresence tells whether being absent means something else than zero.
func (x *field) hasPresence() bool {
	d := x.f.Struct()
	switch {
	case x.listed || d == nil || d.Fixed() || d.Tag() != nil:
		return false
	case x.kind == text || x.kind == blob:
		return x.f.Requiredness() != schema.Required
	case x.kind == number:
		return x.f.Requiredness() == schema.Optional || flatpack.DefaultBits(x.f) != 0
	}
	return false
}

// isEnum tells whether numbers of t are an enum of Protobuf, whose values have 32 bits with a sign.
func isEnum(t *schema.Type) bool {
	if t.Kind() != schema.Enum || t.Enum().Flags() {
		return false
	}
	switch t.Enum().Base() {
	case schema.U32, schema.I64, schema.U64:
		return false
	}
	return true
}
