package dynamic

import (
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds the conversion of messages to Go values.

// Entry is an entry of a map whose keys Go cannot compare.
type Entry struct{ Key, Value any }

// Any returns the value as Go values, which alias nothing:
//
//	bool, i8 … i64, double   bool, int8 … int64, float64
//	float, uuid              float32, [16]byte
//	enum                     int32
//	string                   string
//	binary                   []byte; as a key string
//	list, set                []any
//	struct                   map[string]any by field name
//	map                      map[any]any, or []Entry if the key is a struct or container
//
// Without a schema a struct is a map[int16]any by id, and a string or binary
// is a string. Fields that the schema does not have are left out. Of a field
// or key that stands twice the last counts. Memory is in proportion to
// the message, at most some hundred bytes for each of its bytes.
func (v Value) Any() (any, error) { return v.asAny(false) }

// AnyByID is Any with every struct as a map[int16]any by field id.
func (v Value) AnyByID() (any, error) { return v.asAny(true) }

func (v Value) asAny(byID bool) (any, error) {
	if !v.Exists() {
		return nil, notFound()
	}
	r := anyReader{v.data, v.proto, byID}
	out, _, f := r.value(0, v.typ, v.schema, maxDepth)
	if f != nil {
		return nil, f
	}
	return out, nil
}

// Any is Value.Any without a schema.
func (n Node) Any() (any, error) { return Value{Node: n}.Any() }

type anyReader struct {
	b     []byte
	proto Protocol
	byID  bool // structs are maps by id
}

// value returns the value of type t at pos and the place after it.
func (r *anyReader) value(pos int, t thriftwire.Type, typ *schema.Type, depth int) (any, int, *diag.Fault) {
	if !agrees(typ, t) {
		return nil, pos, wrongType(pos, typ.String(), t.String())
	}
	switch t {
	case thriftwire.Struct, thriftwire.List, thriftwire.Set, thriftwire.Map:
		if depth <= 0 {
			return nil, pos, fault(thriftwire.ErrDepth, pos)
		}
		switch t {
		case thriftwire.Struct:
			return r.structure(pos, typ, depth-1)
		case thriftwire.Map:
			return r.entries(pos, typ, depth-1)
		}
		return r.elements(pos, typ, depth-1)
	}
	out, n := r.scalar(r.b[pos:], t, typ)
	if n < 0 {
		return nil, pos, fault(n, pos)
	}
	return out, pos + n, nil
}

func (r *anyReader) scalar(b []byte, t thriftwire.Type, typ *schema.Type) (any, int) {
	if t == thriftwire.String {
		v, n := r.proto.text(b)
		if n > 0 && typ != nil && typ.Kind() == schema.Binary {
			return append([]byte{}, v...), n
		}
		return string(v), n
	}
	if r.proto != Binary {
		return compactScalar(r.proto.dialect(), b, t)
	}
	switch t {
	case thriftwire.Bool:
		return pair(thriftwire.ConsumeBool(b))
	case thriftwire.I8:
		return pair(thriftwire.ConsumeI8(b))
	case thriftwire.I16:
		return pair(thriftwire.ConsumeI16(b))
	case thriftwire.I32:
		return pair(thriftwire.ConsumeI32(b))
	case thriftwire.I64:
		return pair(thriftwire.ConsumeI64(b))
	case thriftwire.Double:
		return pair(thriftwire.ConsumeDouble(b))
	case thriftwire.Float:
		return pair(thriftwire.ConsumeFloat(b))
	case thriftwire.UUID:
		return pair(thriftwire.ConsumeUUID(b))
	default:
		return nil, thriftwire.ErrType
	}
}

func pair[T any](v T, n int) (any, int) { return v, n }

func (r *anyReader) structure(pos int, typ *schema.Type, depth int) (any, int, *diag.Fault) {
	if typ == nil {
		return r.unknown(pos, depth)
	}
	byName, byID := map[string]any{}, map[int16]any(nil)
	if r.byID {
		byName, byID = nil, map[int16]any{}
	}
	var last int16
	for {
		h, n := r.proto.field(r.b[pos:], last)
		if n < 0 {
			return nil, pos, fault(n, pos)
		}
		if h.Type == thriftwire.Stop {
			if r.byID {
				return byID, pos + n, nil
			}
			return byName, pos + n, nil
		}
		last = h.ID
		field := typ.Struct().FieldByID(int32(h.ID))
		if field == nil {
			end, code := r.proto.skipField(r.b, pos+n, h, depth)
			if code < 0 {
				return nil, end, fault(code, end).Field(strconv.Itoa(int(h.ID)))
			}
			pos = end
			continue
		}
		if !agrees(field.Type(), h.Type) {
			return nil, pos, wrongType(pos, field.Type().String(), h.Type.String()).Field(field.Name())
		}
		v, end, f := r.fieldValue(pos+n, h, field.Type(), depth)
		if f != nil {
			return nil, end, f.Field(field.Name())
		}
		if pos = end; r.byID {
			byID[h.ID] = v
		} else {
			byName[field.Name()] = v
		}
	}
}

// unknown reads a struct without a schema.
func (r *anyReader) unknown(pos, depth int) (any, int, *diag.Fault) {
	out := map[int16]any{}
	var last int16
	for {
		h, n := r.proto.field(r.b[pos:], last)
		if n < 0 {
			return nil, pos, fault(n, pos)
		}
		if h.Type == thriftwire.Stop {
			return out, pos + n, nil
		}
		last = h.ID
		v, end, f := r.fieldValue(pos+n, h, nil, depth)
		if f != nil {
			return nil, end, f.Field(strconv.Itoa(int(h.ID)))
		}
		out[h.ID], pos = v, end
	}
}

// fieldValue is value for the field whose header h was read.
func (r *anyReader) fieldValue(pos int, h compact.Field, typ *schema.Type, depth int) (any, int, *diag.Fault) {
	if r.proto.inHeader(h.Type) {
		return h.True, pos, nil
	}
	return r.value(pos, h.Type, typ, depth)
}

func (r *anyReader) elements(pos int, typ *schema.Type, depth int) (any, int, *diag.Fault) {
	t, size, n := r.proto.list(r.b[pos:])
	if n < 0 {
		return nil, pos, fault(n, pos)
	}
	var elem *schema.Type
	if typ != nil {
		if elem = typ.Elem(); size > 0 && !agrees(elem, t) {
			return nil, pos, wrongType(pos, typ.String(), "elements of type "+t.String())
		}
	}
	pos += n
	out := make([]any, 0, size)
	for i := range size {
		v, end, f := r.value(pos, t, elem, depth)
		if f != nil {
			return nil, end, f.Index(i)
		}
		out = append(out, v)
		pos = end
	}
	return out, pos, nil
}

func (r *anyReader) entries(pos int, typ *schema.Type, depth int) (any, int, *diag.Fault) {
	kt, t, size, n := r.proto.mapping(r.b[pos:])
	if n < 0 {
		return nil, pos, fault(n, pos)
	}
	var key, elem *schema.Type
	if typ != nil {
		key, elem = typ.Key(), typ.Elem()
		if size > 0 && !(agrees(key, kt) && agrees(elem, t)) {
			return nil, pos, wrongType(pos, typ.String(), "entries of types "+kt.String()+" and "+t.String())
		}
		kt = wireOf(key) // of an empty map too
	}
	pos += n
	var list []Entry
	out := map[any]any{}
	listed := kt == thriftwire.Struct || kt == thriftwire.Map || kt == thriftwire.List || kt == thriftwire.Set
	for range size {
		k, end, f := r.value(pos, kt, key, depth)
		if f != nil {
			return nil, end, f.Key("key")
		}
		v, end, f := r.value(end, t, elem, depth)
		if f != nil {
			return nil, end, f.Key(keyText(k))
		}
		pos = end
		if b, ok := k.([]byte); ok {
			k = string(b)
		}
		if listed {
			list = append(list, Entry{k, v})
		} else {
			out[k] = v
		}
	}
	if listed {
		return list, pos, nil
	}
	return out, pos, nil
}

// keyText renders a key for the path of a fault.
func keyText(k any) string {
	switch k := k.(type) {
	case string:
		return strconv.Quote(k)
	case []byte:
		return strconv.Quote(string(k))
	case bool:
		return strconv.FormatBool(k)
	case int8:
		return strconv.Itoa(int(k))
	case int16:
		return strconv.Itoa(int(k))
	case int32:
		return strconv.Itoa(int(k))
	case int64:
		return strconv.FormatInt(k, 10)
	case float64:
		return strconv.FormatFloat(k, 'g', -1, 64)
	default:
		return "entry"
	}
}
