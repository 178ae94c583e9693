package protobuf

import (
	"math"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds the writing of nodes as a schema asks for.

// encode returns the bits that stand on the wire for a number, which must be in
// the range of t.
func (n Node) encode(t *schema.Type) (uint64, *diag.Fault) {
	switch n.kind {
	case varintNode, fixed32Node, fixed64Node:
		if w := wireOf(t); n.wire == w {
			return n.bits, nil
		}
		return 0, n.refused(t)
	}
	switch t.Kind() {
	case schema.Bool:
		if n.kind == boolNode {
			return n.bits, nil
		}
	case schema.Float:
		switch n.kind {
		case floatNode:
			return n.bits, nil
		case doubleNode:
			d := math.Float64frombits(n.bits)
			if f := float32(d); !math.IsInf(float64(f), 0) || math.IsInf(d, 0) {
				return uint64(math.Float32bits(f)), nil
			}
			return 0, outOfRange(t)
		}
	case schema.Double:
		switch n.kind {
		case doubleNode:
			return n.bits, nil
		case floatNode:
			return math.Float64bits(float64(math.Float32frombits(uint32(n.bits)))), nil
		}
	default:
		if n.kind == intNode || n.kind == uintNode {
			return n.encodeInt(t)
		}
	}
	return 0, n.refused(t)
}

// encodeInt is encode for integers and enums.
func (n Node) encodeInt(t *schema.Type) (uint64, *diag.Fault) {
	v, high := int64(n.bits), n.kind == uintNode && n.bits > math.MaxInt64
	ok := false
	switch t.Kind() {
	case schema.I32, schema.Enum:
		ok = !high && v == int64(int32(v))
	case schema.I64:
		ok = !high
	case schema.U32:
		ok = !high && v >= 0 && v <= math.MaxUint32
	case schema.U64:
		ok = high || v >= 0
	default:
		return 0, n.refused(t)
	}
	if !ok {
		return 0, outOfRange(t)
	}
	if t.Encoding() == schema.ZigZag {
		return protowire.ZigZag(v), nil
	}
	return n.bits, nil
}

func outOfRange(t *schema.Type) *diag.Fault {
	return diag.NewFault(diag.OutOfRange, -1, "the number is not in the range of "+t.String())
}

func (n Node) refused(t *schema.Type) *diag.Fault {
	switch n.kind {
	case noNode:
		return notFound()
	case badNode:
		return n.expect("")
	}
	return wrongType(-1, t.String(), n.kind.String())
}

// appendNumber appends a number without its tag.
func appendNumber(dst []byte, w protowire.Type, bits uint64) []byte {
	switch w {
	case protowire.Varint:
		return protowire.AppendVarint(dst, bits)
	case protowire.Fixed32:
		return protowire.AppendFixed32(dst, uint32(bits))
	default:
		return protowire.AppendFixed64(dst, bits)
	}
}

// appendSingle appends the record of a value of type t that is no list and no
// map. Without a schema t is nil.
func (n Node) appendSingle(dst []byte, number int32, t *schema.Type) ([]byte, *diag.Fault) {
	w := n.bareWire()
	if t != nil {
		w = wireOf(t)
	}
	switch {
	case w == noWire:
		return dst, n.refused(schema.Basic(schema.Binary))
	case packable(w):
		bits := n.bits
		if t != nil {
			var f *diag.Fault
			if bits, f = n.encode(t); f != nil {
				return dst, f
			}
		}
		return appendNumber(protowire.AppendTag(dst, number, w), w, bits), nil
	case n.kind != bytesNode && n.kind != groupNode:
		return dst, n.refused(t)
	case len(n.data) > protowire.MaxLength:
		return dst, diag.NewFault(diag.SizeLimit, -1, "longer than bytes can be")
	}
	if t != nil && t.Kind() == schema.Struct {
		if f := n.wellFormed(); f != nil {
			return dst, f
		}
	}
	if w == protowire.StartGroup {
		return protowire.AppendTag(append(protowire.AppendTag(dst, number, w), n.data...), number, protowire.EndGroup), nil
	}
	return protowire.AppendBytes(protowire.AppendTag(dst, number, w), n.data), nil
}

// wellFormed checks that the data is the records of a message, which is what
// keeps them from changing what stands around them: a group has no length.
func (n Node) wellFormed() *diag.Fault {
	p := place{Node: n, at: -1}
	if f := p.check(maxDepth); f != nil {
		return diag.NewFault(diag.InvalidValue, -1, "the value to set is not one whole message")
	}
	return nil
}

// bareWire returns the wire type of a node without a schema.
func (n Node) bareWire() protowire.Type {
	switch n.kind {
	case boolNode, intNode, uintNode, varintNode:
		return protowire.Varint
	case floatNode, fixed32Node:
		return protowire.Fixed32
	case doubleNode, fixed64Node:
		return protowire.Fixed64
	case bytesNode:
		return protowire.Bytes
	case groupNode:
		return protowire.StartGroup
	}
	return noWire
}

// appendNode appends the record or records of a value for a field of type t,
// whose lists are packed if packed says so.
func (n Node) appendNode(dst []byte, number int32, t *schema.Type, packed bool) ([]byte, *diag.Fault) {
	switch {
	case t == nil && (n.kind == listNode || n.kind == mapNode):
		return dst, diag.NewFault(diag.Unsupported, -1, n.kind.String()+" cannot be set without a schema")
	case t == nil:
		return n.appendSingle(dst, number, nil)
	case t.Kind() == schema.List && n.kind == listNode:
		return n.appendList(dst, number, t, packed)
	case t.Kind() == schema.Map && n.kind == mapNode:
		return n.appendMap(dst, number, t)
	case t.Kind().IsContainer():
		return dst, n.refused(t)
	}
	return n.appendSingle(dst, number, t)
}

// appendList appends the elements of a list, which were written for the same
// type of element.
func (n Node) appendList(dst []byte, number int32, t *schema.Type, packed bool) ([]byte, *diag.Fault) {
	w, it := wireOf(t), Value{n, t}.Iterate()
	if packed && packable(w) {
		var size int
		begin := len(dst)
		dst, size = room(protowire.AppendTag(dst, number, protowire.Bytes), len(n.data))
		start := len(dst)
		for it.Next() {
			dst = append(dst, it.current.data...)
		}
		if len(dst) == start {
			return dst[:begin], foreign(it.err)
		}
		return appendLength(dst, start, size), foreign(it.err)
	}
	for it.Next() {
		if packable(w) {
			dst = append(protowire.AppendTag(dst, number, w), it.current.data...)
			continue
		}
		var f *diag.Fault
		if dst, f = it.current.appendSingle(dst, number, t.Elem()); f != nil {
			return dst, f.Index(it.Index())
		}
	}
	return dst, foreign(it.err)
}

// foreign is the fault for a value to set that cannot be read.
func foreign(err error) *diag.Fault {
	if err == nil {
		return nil
	}
	return diag.NewFault(diag.InvalidValue, -1, "the value to set cannot be read: "+err.Error())
}

// appendMap appends the entries of a map, which were written for the same types.
func (n Node) appendMap(dst []byte, number int32, t *schema.Type) ([]byte, *diag.Fault) {
	var r record
	for pos := 0; pos < len(n.data); {
		code := r.read(n.data, pos, maxDepth)
		if code < 0 {
			return dst, foreign(fault(code, r.next))
		}
		if pos = r.next; r.number != n.number || !fits(t, r.wire) {
			continue
		}
		if at, code := checkEntry(n.data, &r, t); code < 0 {
			return dst, foreign(fault(code, at))
		}
		dst = protowire.AppendBytes(protowire.AppendTag(dst, number, protowire.Bytes), n.data[r.value:r.end])
	}
	return dst, nil
}

// checkEntry reads an entry for its faults.
func checkEntry(b []byte, r *record, t *schema.Type) (at, code int) {
	var e mapEntry
	return e.read(b, r, t, maxDepth-1)
}

// appendKey appends the record of a map's key.
func (s *step) appendKey(dst []byte, t *schema.Type) []byte {
	w := wireOf(t)
	dst = protowire.AppendTag(dst, 1, w)
	if w == protowire.Bytes {
		return protowire.AppendString(dst, s.text)
	}
	bits := uint64(s.num)
	if t.Encoding() == schema.ZigZag {
		bits = protowire.ZigZag(s.num)
	}
	return appendNumber(dst, w, bits)
}

// quoted renders the name of a field.
func quoted(f *schema.Field) string { return strconv.Quote(f.Name()) }
