package protobuf

import (
	"math"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds the conversion of messages to Go values.

// Any returns the value as Go values, which alias nothing:
//
//	bool                     bool
//	i32, i64, u32, u64       int32, int64, uint32, uint64
//	enum                     int32
//	float, double            float32, float64
//	string                   string
//	binary                   []byte
//	list                     []any
//	map                      map[any]any
//	message                  map[string]any by field name
//
// A message holds the fields that stand in it, lists and maps that are empty
// not; unknown fields are left out. Without a schema a message is a
// map[int32]any by number, of which a field that stands several times is a []any;
// a varint and a fixed64 are uint64, a fixed32 uint32, bytes []byte. Memory is
// in proportion to the message, at most some hundred bytes for each of its bytes;
// more merging than the package allows (see its doc) is a SizeLimit.
func (v Value) Any() (any, error) {
	switch v.kind {
	case noNode:
		return nil, notFound()
	case badNode:
		return nil, v.expect("")
	}
	p := place{Node: v.Node, typ: v.schema, merges: mergingFor(len(v.data))}
	var out any
	var f *diag.Fault
	switch {
	case v.kind == groupNode:
		out, f = p.anyUnknown(maxDepth)
	case v.kind == listNode || v.kind == mapNode:
		if v.schema == nil {
			return nil, v.expect("a value with a schema")
		}
		out, f = p.anyRecords(maxDepth)
	default:
		out, f = p.any(maxDepth)
	}
	if f != nil {
		return nil, f
	}
	return out, nil
}

// Any is Value.Any without a schema. Bytes are bytes: what is a message cannot
// be told; see [NewMessage] and Iterate.
func (n Node) Any() (any, error) { return Value{Node: n}.Any() }

// any returns a value that is no list and no map.
func (p place) any(depth int) (any, *diag.Fault) {
	switch p.kind {
	case bytesNode:
		switch {
		case p.typ == nil || p.typ.Kind() == schema.Binary:
			return append([]byte{}, p.data...), nil
		case p.typ.Kind() == schema.String:
			return string(p.data), nil
		}
		out := map[string]any{}
		return out, p.anyFields(out, depth)
	case boolNode:
		return p.bits != 0, nil
	case floatNode:
		return math.Float32frombits(uint32(p.bits)), nil
	case doubleNode:
		return math.Float64frombits(p.bits), nil
	case fixed32Node:
		return uint32(p.bits), nil
	case varintNode, fixed64Node:
		return p.bits, nil
	case uintNode:
		if p.typ != nil && p.typ.Kind() == schema.U32 {
			return uint32(p.bits), nil
		}
		return p.bits, nil
	}
	if p.typ != nil && p.typ.Kind() != schema.I64 {
		return int32(p.bits), nil
	}
	return int64(p.bits), nil
}

// anyRecords returns a list or map that stands alone.
func (p place) anyRecords(depth int) (any, *diag.Fault) {
	var out any
	var r record
	for pos := 0; pos < len(p.data); {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return nil, p.fault(code, r.next)
		}
		if pos = r.next; r.number != p.number || !fits(p.typ, r.wire) {
			continue
		}
		var f *diag.Fault
		if out, f = p.anyRecord(&r, p.typ, out, depth); f != nil {
			return nil, f
		}
	}
	switch {
	case out != nil:
		return out, nil
	case p.kind == mapNode:
		return map[any]any{}, nil
	}
	return []any{}, nil
}

// anyFields puts the fields of a message into out, which may hold what the same
// message had elsewhere.
func (p place) anyFields(out map[string]any, depth int) *diag.Fault {
	if depth <= 0 {
		return p.fault(protowire.ErrDepth, 0)
	}
	d := p.typ.Struct()
	var r record
	for pos := 0; pos < len(p.data); {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		pos = r.next
		field := known(d, &r)
		if field == nil {
			continue
		}
		if o := field.Oneof(); o != nil {
			for _, rival := range o.Fields() {
				if rival != field {
					delete(out, rival.Name())
				}
			}
		}
		v, f := p.anyRecord(&r, field.Type(), out[field.Name()], depth)
		if f != nil {
			return f.Field(field.Name())
		}
		if v != nil {
			out[field.Name()] = v
		}
	}
	return nil
}

// anyRecord returns what a field of type t is after a record, where it was old
// before.
func (p place) anyRecord(r *record, t *schema.Type, old any, depth int) (any, *diag.Fault) {
	switch t.Kind() {
	case schema.List:
		list, _ := old.([]any)
		return p.anyElements(r, t.Elem(), list, depth)
	case schema.Map:
		entries, _ := old.(map[any]any)
		if entries == nil {
			entries = map[any]any{}
		}
		var e mapEntry
		at, code := e.read(p.data, r, t, depth-1)
		if code < 0 {
			return nil, p.fault(code, at)
		}
		part := p
		part.typ = t
		if f := part.takeEntry(&e, depth-1); f != nil {
			return nil, f.Key(keyText(e.key))
		}
		v, f := part.any(depth - 2)
		if f != nil {
			return nil, f.Key(keyText(e.key))
		}
		key := place{Node: e.key, typ: t.Key()}
		k, _ := key.any(depth)
		entries[k] = v
		return entries, nil
	}
	part := p
	if f := part.take(&occurrence{record: *r, count: 1}, t, nil, depth); f != nil {
		return nil, f
	}
	if fields, ok := old.(map[string]any); ok && t.Kind() == schema.Struct {
		return fields, part.anyFields(fields, depth-1)
	}
	return part.any(depth - 1)
}

// anyElements appends the elements in a record.
func (p place) anyElements(r *record, elem *schema.Type, list []any, depth int) (any, *diag.Fault) {
	w := wireOf(elem)
	if r.wire == w {
		part := p
		f := part.take(&occurrence{record: *r, count: 1}, elem, nil, depth)
		if f != nil {
			return nil, f
		}
		v, f := part.any(depth - 1)
		if f != nil {
			return nil, f.Index(len(list))
		}
		return append(list, v), nil
	}
	part := place{typ: elem}
	for pos := r.value; pos < r.end; {
		var n int
		if part.kind, part.bits, n = number(p.data[pos:r.end], elem, w); n < 0 {
			return nil, p.fault(n, pos).Index(len(list))
		}
		v, _ := part.any(depth)
		list = append(list, v)
		pos += n
	}
	if list == nil {
		return nil, nil // packed, and none
	}
	return list, nil
}

// anyUnknown returns the fields of a group without a schema.
func (p place) anyUnknown(depth int) (map[int32]any, *diag.Fault) {
	if depth <= 0 {
		return nil, p.fault(protowire.ErrDepth, 0)
	}
	out := map[int32]any{}
	seen := map[int32]int{}
	var r record
	for pos := 0; pos < len(p.data); {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return nil, p.fault(code, r.next)
		}
		pos = r.next
		part := p
		f := part.take(&occurrence{record: r, count: 1}, nil, nil, depth)
		var v any
		switch {
		case f != nil:
		case part.kind == groupNode:
			v, f = part.anyUnknown(depth - 1)
		default:
			v, f = part.any(depth - 1)
		}
		if f != nil {
			return nil, f.Field(strconv.Itoa(int(r.number)))
		}
		switch seen[r.number]++; seen[r.number] {
		case 1:
			out[r.number] = v
		case 2:
			out[r.number] = []any{out[r.number], v}
		default:
			out[r.number] = append(out[r.number].([]any), v)
		}
	}
	return out, nil
}

// keyText renders a key for the path of a fault.
func keyText(k Node) string {
	switch k.kind {
	case bytesNode:
		return strconv.Quote(string(k.data))
	case boolNode:
		return strconv.FormatBool(k.bits != 0)
	case uintNode:
		return strconv.FormatUint(k.bits, 10)
	default:
		return strconv.FormatInt(int64(k.bits), 10)
	}
}
