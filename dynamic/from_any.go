package dynamic

import (
	"math"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds the conversion of Go values to messages.

// AppendAny appends x as a value of type t in the binary protocol. It takes what [Value.Any] gives,
// and more:
//
//   - for an integer any Go integer that fits, for an enum also a name;
//   - for a double or float also any Go integer, and float64 for float if its
//     value is within the range, rounded;
//   - for string and binary either string or []byte;
//   - for a list or set also []string, []int32, []int64 and []float64;
//   - for a struct a map[string]any by name or a map[int16]any by id, whose keys
//     the struct must have; a nil value is an absent field, and a required field
//     must be present;
//   - for a map also map[string]any, and []Entry for any key;
//   - for anything a Node or Value of its wire type.
//
// Fields are written in the order of the declaration, entries of a Go map in a random
// order. The error is a *diag.Fault with the path in x; dst is then returned as it was.
func AppendAny(dst []byte, t *schema.Type, x any) ([]byte, error) {
	return Binary.AppendAny(dst, t, x)
}

// AppendAny is [AppendAny] for the protocol p. A type that p does not have is
// an error, wherever a value of it is to be written.
func (p Protocol) AppendAny(dst []byte, t *schema.Type, x any) ([]byte, error) {
	if f := p.known(); f != nil {
		return dst, f
	}
	w := anyWriter{dst, p}
	if f := w.value(t, x, maxDepth); f != nil {
		return dst, f
	}
	return w.dst, nil
}

type anyWriter struct {
	dst   []byte
	proto Protocol
}

// refuse is the fault for a Go value that is none of type t.
func refuse(t *schema.Type, x any) *diag.Fault {
	return diag.NewFault(diag.InvalidValue, -1, t.String()+" cannot be made of "+goType(x))
}

// goType names the type of x as far as a conversion cares.
func goType(x any) string {
	switch x.(type) {
	case nil:
		return "nil"
	case bool:
		return "bool"
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return "an integer"
	case float32, float64:
		return "a float"
	case string:
		return "string"
	case []byte:
		return "[]byte"
	case []any, []string, []int32, []int64, []float64, []Entry:
		return "a slice"
	case map[string]any, map[any]any, map[int16]any:
		return "a map"
	case Node, Value:
		return "a node of another type"
	default:
		return "this Go type"
	}
}

func (w *anyWriter) value(t *schema.Type, x any, depth int) *diag.Fault {
	switch v := x.(type) {
	case Node:
		return w.node(t, v)
	case Value:
		return w.node(t, v.Node)
	}
	switch t.Kind() {
	case schema.List, schema.Set, schema.Map, schema.Struct:
		if depth <= 0 {
			return fault(thriftwire.ErrDepth, -1)
		}
		switch t.Kind() {
		case schema.Struct:
			return w.structure(t, x, depth-1)
		case schema.Map:
			return w.entries(t, x, depth-1)
		}
		return w.elements(t, x, depth-1)
	case schema.Bool:
		if v, ok := x.(bool); ok {
			n := int64(0)
			if v {
				n = 1
			}
			w.dst = w.proto.appendInt(w.dst, thriftwire.Bool, n)
			return nil
		}
	case schema.I8, schema.I16, schema.I32, schema.I64, schema.Enum:
		return w.integer(t, x)
	case schema.Double, schema.Float:
		return w.float(t, x)
	case schema.String, schema.Binary:
		return w.text(t, x)
	case schema.UUID:
		if v, ok := x.([16]byte); ok {
			w.dst = append(w.dst, v[:]...)
			return w.proto.expects(thriftwire.UUID)
		}
	}
	return refuse(t, x)
}

func (w *anyWriter) node(t *schema.Type, n Node) *diag.Fault {
	if n.typ != wireOf(t) {
		return refuse(t, n)
	}
	if f := n.whole(t); f != nil {
		return f
	}
	var f *diag.Fault
	w.dst, f = n.appendIn(w.dst, w.proto)
	return f
}

func (w *anyWriter) text(t *schema.Type, x any) *diag.Fault {
	switch v := x.(type) {
	case string:
		if len(v) <= thriftwire.MaxLength {
			w.dst = w.proto.appendString(w.dst, v)
			return nil
		}
	case []byte:
		if len(v) <= thriftwire.MaxLength {
			w.dst = w.proto.appendBytes(w.dst, v)
			return nil
		}
	default:
		return refuse(t, x)
	}
	return diag.NewFault(diag.SizeLimit, -1, "longer than a string can be")
}

func (w *anyWriter) integer(t *schema.Type, x any) *diag.Fault {
	wire := wireOf(t)
	if name, ok := x.(string); ok && t.Kind() == schema.Enum {
		v := t.Enum().ByName(name)
		if v == nil {
			return diag.NewFault(diag.UnknownEnum, -1, t.String()+" has no "+strconv.Quote(name))
		}
		x = v.Value
	}
	n, exact, ok := integerOf(x)
	if !ok {
		return refuse(t, x)
	}
	if s := IntKey(n); !exact || !s.fits(wire) {
		return diag.NewFault(diag.OutOfRange, -1, "the number is not in the range of "+wire.String())
	}
	w.dst = w.proto.appendInt(w.dst, wire, n)
	return nil
}

// integerOf returns a Go integer, and whether an int64 can hold it.
func integerOf(x any) (n int64, exact, ok bool) {
	switch v := x.(type) {
	case int:
		return int64(v), true, true
	case int8:
		return int64(v), true, true
	case int16:
		return int64(v), true, true
	case int32:
		return int64(v), true, true
	case int64:
		return v, true, true
	case uint:
		return int64(v), uint64(v) <= math.MaxInt64, true
	case uint8:
		return int64(v), true, true
	case uint16:
		return int64(v), true, true
	case uint32:
		return int64(v), true, true
	case uint64:
		return int64(v), v <= math.MaxInt64, true
	}
	return 0, false, false
}

func (w *anyWriter) float(t *schema.Type, x any) *diag.Fault {
	var d float64
	switch v := x.(type) {
	case float64:
		d = v
	case float32:
		d = float64(v)
	default:
		n, exact, ok := integerOf(x)
		if !ok {
			return refuse(t, x)
		}
		if d = float64(n); !exact || d >= 1<<63 || int64(d) != n {
			return diag.NewFault(diag.OutOfRange, -1, "the integer has no exact double")
		}
	}
	if t.Kind() == schema.Double {
		w.dst = w.proto.appendDouble(w.dst, d)
		return nil
	}
	if f := float32(d); math.IsInf(float64(f), 0) && !math.IsInf(d, 0) {
		return diag.NewFault(diag.OutOfRange, -1, "the number is not in the range of float")
	}
	w.dst = thriftwire.AppendFloat(w.dst, float32(d)) // the same in all protocols that have it
	return w.proto.expects(thriftwire.Float)
}

func (w *anyWriter) elements(t *schema.Type, x any, depth int) *diag.Fault {
	switch v := x.(type) {
	case []any:
		return appendElements(w, t, v, depth)
	case []string:
		return appendElements(w, t, v, depth)
	case []int32:
		return appendElements(w, t, v, depth)
	case []int64:
		return appendElements(w, t, v, depth)
	case []float64:
		return appendElements(w, t, v, depth)
	}
	return refuse(t, x)
}

func appendElements[T any](w *anyWriter, t *schema.Type, list []T, depth int) *diag.Fault {
	size, ok := narrow(len(list))
	if !ok {
		return diag.NewFault(diag.SizeLimit, -1, "more elements than a container can have")
	}
	w.dst = w.proto.appendList(w.dst, wireOf(t.Elem()), int(size))
	for i, e := range list {
		if f := w.value(t.Elem(), e, depth); f != nil {
			return f.Index(i)
		}
	}
	return nil
}

func (w *anyWriter) entries(t *schema.Type, x any, depth int) *diag.Fault {
	size := 0
	switch m := x.(type) {
	case map[any]any:
		size = len(m)
	case map[string]any:
		size = len(m)
	case []Entry:
		size = len(m)
	default:
		return refuse(t, x)
	}
	if _, ok := narrow(size); !ok {
		return diag.NewFault(diag.SizeLimit, -1, "more entries than a container can have")
	}
	w.dst = w.proto.appendMap(w.dst, wireOf(t.Key()), wireOf(t.Elem()), size)
	add := func(k, v any) *diag.Fault {
		if f := w.value(t.Key(), k, depth); f != nil {
			return f.Key("key")
		}
		if f := w.value(t.Elem(), v, depth); f != nil {
			return f.Key(keyText(k))
		}
		return nil
	}
	switch m := x.(type) {
	case map[any]any:
		for k, v := range m {
			if f := add(k, v); f != nil {
				return f
			}
		}
	case map[string]any:
		for k, v := range m {
			if f := add(k, v); f != nil {
				return f
			}
		}
	case []Entry:
		for _, e := range m {
			if f := add(e.Key, e.Value); f != nil {
				return f
			}
		}
	}
	return nil
}

func (w *anyWriter) structure(t *schema.Type, x any, depth int) *diag.Fault {
	byName, named := x.(map[string]any)
	byID, numbered := x.(map[int16]any)
	if !named && !numbered {
		return refuse(t, x)
	}
	used, last := 0, int16(0)
	for _, field := range t.Struct().Fields() {
		v, ok := byName[field.Name()]
		if numbered {
			v, ok = byID[int16(field.ID())]
		}
		if ok {
			used++
		}
		if v == nil {
			if field.Requiredness() == schema.Required {
				return diag.NewFault(diag.MissingRequired, -1, "required field "+strconv.Quote(field.Name())+" of "+t.String()+" is missing")
			}
			continue
		}
		if f := w.field(field, v, last, depth); f != nil {
			return f.Field(field.Name())
		}
		last = int16(field.ID())
	}
	w.dst = thriftwire.AppendStop(w.dst)
	if used == len(byName)+len(byID) {
		return nil
	}
	return unknownKey(t.Struct(), byName, byID)
}

// field appends a field of a struct; that before it has the id last.
func (w *anyWriter) field(field *schema.Field, v any, last int16, depth int) *diag.Fault {
	t, id := wireOf(field.Type()), int16(field.ID())
	if !w.proto.inHeader(t) {
		w.dst = w.proto.appendField(w.dst, t, id, last)
		return w.value(field.Type(), v, depth)
	}
	start := len(w.dst)
	if f := w.value(field.Type(), v, depth); f != nil {
		return f
	}
	b, _ := compact.ConsumeBool(w.dst[start:])
	w.dst = compact.AppendBoolField(w.dst[:start], b, id, last)
	return nil
}

// unknownKey is the fault for a key of a Go map that is no field.
func unknownKey(d *schema.StructDef, byName map[string]any, byID map[int16]any) *diag.Fault {
	name := ""
	for k := range byName {
		if d.FieldByName(k) == nil && (name == "" || k < name) {
			name = k
		}
	}
	for k := range byID {
		if d.FieldByID(int32(k)) == nil {
			name = strconv.Itoa(int(k))
		}
	}
	return diag.NewFault(diag.UnknownField, -1, d.Name()+" has no field "+strconv.Quote(name))
}
