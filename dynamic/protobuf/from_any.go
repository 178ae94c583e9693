package protobuf

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds the conversion of Go values to messages.

// AppendAny appends x as a value of type t: a message, a number or text as it
// stands behind its tag, a list or map as the field 1 of a message. It takes
// what [Value.Any] gives, and more:
//
//   - for an integer any Go integer that fits, for an enum also a name;
//   - for a double or float also any Go integer that it holds exactly, and for a
//     float a float64 within its range, rounded;
//   - for string and binary either string or []byte; a string must be UTF-8;
//   - for a list also []string, []int32, []int64 and []float64;
//   - for a message a map[string]any by name or a map[int32]any by number, whose
//     keys the message must have; a nil value is an absent field, a required field
//     must be present, and of a oneof only one member may be;
//   - for a map also map[string]any;
//   - for anything a Node or Value that can be set there.
//
// Fields are written in the order of the declaration, entries of a Go map in a
// random order. A zero is left out where that means the same: in fields with
// implicit presence. The error is a *diag.Fault with the path in x; dst is then
// returned as it was.
func AppendAny(dst []byte, t *schema.Type, x any) ([]byte, error) {
	if !supported(t) {
		return dst, noProtobuf(t)
	}
	w := anyWriter{dst}
	var f *diag.Fault
	switch t.Kind() {
	case schema.Struct:
		f = w.message(t, x, maxDepth)
	case schema.List, schema.Map:
		f = w.field(1, t, packable(wireOf(t)), false, x, maxDepth)
	default:
		var n Node
		if n, f = scalarOf(t, x); f == nil {
			f = w.bare(t, n)
		}
	}
	if f != nil {
		return dst, f
	}
	return w.dst, nil
}

// MakeAny returns x as a value of type t, in memory of its own; see [AppendAny].
func MakeAny(t *schema.Type, x any) (Value, error) {
	b, err := AppendAny([]byte{}, t, x)
	if err != nil {
		return Value{}, err
	}
	return NewValue(t, b), nil
}

type anyWriter struct{ dst []byte }

// refuse is the fault for a Go value that is none of type t.
func refuse(t *schema.Type, x any) *diag.Fault {
	what := "this Go type"
	switch x.(type) {
	case nil:
		what = "nil"
	case bool:
		what = "bool"
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		what = "an integer"
	case float32, float64:
		what = "a float"
	case string:
		what = "string"
	case []byte:
		what = "[]byte"
	case []any, []string, []int32, []int64, []float64:
		what = "a slice"
	case map[string]any, map[any]any, map[int32]any:
		what = "a map"
	case Node, Value:
		what = "a node of another type"
	}
	return diag.NewFault(diag.InvalidValue, -1, t.String()+" cannot be made of "+what)
}

// scalarOf returns x as a node that can be written as a number or text of type t.
func scalarOf(t *schema.Type, x any) (Node, *diag.Fault) {
	switch v := x.(type) {
	case Node:
		return v, nil
	case Value:
		return v.Node, nil
	}
	switch t.Kind() {
	case schema.Bool:
		if v, ok := x.(bool); ok {
			return NewBool(v), nil
		}
	case schema.Float, schema.Double:
		return floatOf(t, x)
	case schema.String, schema.Binary:
		switch v := x.(type) {
		case string:
			if t.Kind() == schema.String && !utf8.ValidString(v) {
				return Node{}, diag.NewFault(diag.InvalidValue, -1, "the text is not UTF-8")
			}
			return NewString(v), nil
		case []byte:
			if t.Kind() == schema.String && !utf8.Valid(v) {
				return Node{}, diag.NewFault(diag.InvalidValue, -1, "the text is not UTF-8")
			}
			return NewMessage(v), nil
		}
	default:
		if name, ok := x.(string); ok && t.Kind() == schema.Enum {
			v := t.Enum().ByName(name)
			if v == nil {
				return Node{}, diag.NewFault(diag.UnknownEnum, -1, t.String()+" has no "+strconv.Quote(name))
			}
			return NewInt(v.Value), nil
		}
		if n, ok := integerOf(x); ok {
			return n, nil
		}
	}
	return Node{}, refuse(t, x)
}

// integerOf returns a Go integer as a node.
func integerOf(x any) (Node, bool) {
	switch v := x.(type) {
	case int:
		return NewInt(int64(v)), true
	case int8:
		return NewInt(int64(v)), true
	case int16:
		return NewInt(int64(v)), true
	case int32:
		return NewInt(int64(v)), true
	case int64:
		return NewInt(v), true
	case uint:
		return NewUint(uint64(v)), true
	case uint8:
		return NewUint(uint64(v)), true
	case uint16:
		return NewUint(uint64(v)), true
	case uint32:
		return NewUint(uint64(v)), true
	case uint64:
		return NewUint(v), true
	}
	return Node{}, false
}

func floatOf(t *schema.Type, x any) (Node, *diag.Fault) {
	switch v := x.(type) {
	case float64:
		return NewDouble(v), nil
	case float32:
		return NewFloat(v), nil
	}
	n, ok := integerOf(x)
	if !ok {
		return Node{}, refuse(t, x)
	}
	limit := float64(1 << 53)
	if t.Kind() == schema.Float {
		limit = 1 << 24
	}
	d := float64(int64(n.bits))
	if n.kind == uintNode {
		d = float64(n.bits)
	}
	if math.Abs(d) > limit {
		return Node{}, diag.NewFault(diag.OutOfRange, -1, "the integer has no exact "+t.String())
	}
	return NewDouble(d), nil
}

// bare appends a number or text without a tag or length.
func (w *anyWriter) bare(t *schema.Type, n Node) *diag.Fault {
	wire := wireOf(t)
	if !packable(wire) {
		if n.kind != bytesNode {
			return n.refused(t)
		}
		w.dst = append(w.dst, n.data...)
		return nil
	}
	bits, f := n.encode(t)
	if f == nil {
		w.dst = appendNumber(w.dst, wire, bits)
	}
	return f
}

// message appends the fields of a message.
func (w *anyWriter) message(t *schema.Type, x any, depth int) *diag.Fault {
	switch v := x.(type) {
	case Value:
		x = v.Node
	}
	if n, ok := x.(Node); ok {
		if n.kind != bytesNode && n.kind != groupNode {
			return refuse(t, n)
		}
		w.dst = append(w.dst, n.data...)
		return n.wellFormed()
	}
	if depth <= 0 {
		return fault(protowire.ErrDepth, -1)
	}
	byName, named := x.(map[string]any)
	byNumber, numbered := x.(map[int32]any)
	if !named && !numbered {
		return refuse(t, x)
	}
	used := 0
	var set []*schema.Oneof // those of which a member is given
	for _, field := range t.Struct().Fields() {
		v, ok := byName[field.Name()]
		if numbered {
			v, ok = byNumber[field.ID()]
		}
		if ok {
			used++
		}
		if v == nil {
			if field.Requiredness() == schema.Required {
				return missing(t, field)
			}
			continue
		}
		if o := field.Oneof(); o != nil {
			for _, other := range set {
				if other == o {
					return diag.NewFault(diag.InvalidUnion, -1, "two members of the oneof "+strconv.Quote(o.Name())+" are given").Field(field.Name())
				}
			}
			set = append(set, o)
		}
		if !supported(field.Type()) {
			return noProtobuf(field.Type()).Field(field.Name())
		}
		if f := w.field(field.ID(), field.Type(), field.Packed(), field.Requiredness() == schema.Default, v, depth); f != nil {
			return f.Field(field.Name())
		}
	}
	if used == len(byName)+len(byNumber) {
		return nil
	}
	return unknownKey(t.Struct(), byName, byNumber)
}

func missing(t *schema.Type, f *schema.Field) *diag.Fault {
	return diag.NewFault(diag.MissingRequired, -1, "required field "+quoted(f)+" of "+t.String()+" is missing")
}

// unknownKey is the fault for a key of a Go map that is no field.
func unknownKey(d *schema.StructDef, byName map[string]any, byNumber map[int32]any) *diag.Fault {
	name := ""
	for k := range byName {
		if d.FieldByName(k) == nil && (name == "" || k < name) {
			name = k
		}
	}
	for k := range byNumber {
		if d.FieldByID(k) == nil {
			name = strconv.Itoa(int(k))
		}
	}
	return diag.NewFault(diag.UnknownField, -1, d.Name()+" has no field "+strconv.Quote(name))
}

// field appends the record or records of a field. If implicit is set, zero is
// left out.
func (w *anyWriter) field(number int32, t *schema.Type, packed, implicit bool, x any, depth int) *diag.Fault {
	if v, ok := x.(Value); ok {
		x = v.Node
	}
	if n, ok := x.(Node); ok && (n.kind == listNode || n.kind == mapNode) {
		var f *diag.Fault
		w.dst, f = n.appendNode(w.dst, number, t, packed)
		return f
	}
	switch t.Kind() {
	case schema.List:
		return w.elements(number, t, packed, x, depth)
	case schema.Map:
		return w.entries(number, t, x, depth)
	case schema.Struct:
		return w.nested(number, t, x, depth)
	}
	n, f := scalarOf(t, x)
	if f != nil || implicit && n.isZero() {
		return f
	}
	w.dst, f = n.appendSingle(w.dst, number, t)
	return f
}

// isZero reports whether a number or text is what an absent field means. -0 is
// not.
func (n Node) isZero() bool { return n.bits == 0 && len(n.data) == 0 }

// nested appends the record of a message.
func (w *anyWriter) nested(number int32, t *schema.Type, x any, depth int) *diag.Fault {
	wire := wireOf(t)
	w.dst = protowire.AppendTag(w.dst, number, wire)
	if wire == protowire.StartGroup {
		f := w.message(t, x, depth-1)
		w.dst = protowire.AppendTag(w.dst, number, protowire.EndGroup)
		return f
	}
	return w.lengthened(func() *diag.Fault { return w.message(t, x, depth-1) })
}

// lengthened puts the length of what write appends before it.
func (w *anyWriter) lengthened(write func() *diag.Fault) *diag.Fault {
	var size int
	w.dst, size = room(w.dst, 1)
	start := len(w.dst)
	f := write()
	if len(w.dst)-start > protowire.MaxLength {
		return diag.NewFault(diag.SizeLimit, -1, "longer than bytes can be")
	}
	w.dst = appendLength(w.dst, start, size)
	return f
}

func (w *anyWriter) elements(number int32, t *schema.Type, packed bool, x any, depth int) *diag.Fault {
	switch v := x.(type) {
	case []any:
		return appendElements(w, number, t, packed, v, depth)
	case []string:
		return appendElements(w, number, t, packed, v, depth)
	case []int32:
		return appendElements(w, number, t, packed, v, depth)
	case []int64:
		return appendElements(w, number, t, packed, v, depth)
	case []float64:
		return appendElements(w, number, t, packed, v, depth)
	}
	return refuse(t, x)
}

func appendElements[T any](w *anyWriter, number int32, t *schema.Type, packed bool, list []T, depth int) *diag.Fault {
	if packed && packable(wireOf(t)) && len(list) > 0 {
		w.dst = protowire.AppendTag(w.dst, number, protowire.Bytes)
		return w.lengthened(func() *diag.Fault {
			for i, e := range list {
				n, f := scalarOf(t.Elem(), e)
				if f == nil {
					f = w.bare(t.Elem(), n)
				}
				if f != nil {
					return f.Index(i)
				}
			}
			return nil
		})
	}
	for i, e := range list {
		if f := w.field(number, t.Elem(), false, false, e, depth); f != nil {
			return f.Index(i)
		}
	}
	return nil
}

func (w *anyWriter) entries(number int32, t *schema.Type, x any, depth int) *diag.Fault {
	switch m := x.(type) {
	case map[any]any:
		return appendEntries(w, number, t, m, depth)
	case map[string]any:
		return appendEntries(w, number, t, m, depth)
	}
	return refuse(t, x)
}

func appendEntries[K comparable](w *anyWriter, number int32, t *schema.Type, m map[K]any, depth int) *diag.Fault {
	if depth <= 0 {
		return fault(protowire.ErrDepth, -1)
	}
	for k, v := range m {
		w.dst = protowire.AppendTag(w.dst, number, protowire.Bytes)
		f := w.lengthened(func() *diag.Fault {
			key, f := scalarOf(t.Key(), k)
			if f == nil {
				w.dst, f = key.appendSingle(w.dst, 1, t.Key())
			}
			if f != nil {
				return f.Key("key")
			}
			if f = w.field(2, t.Elem(), false, false, v, depth-1); f != nil {
				f.Key(keyText(key))
			}
			return f
		})
		if f != nil {
			return f
		}
	}
	return nil
}
