package random

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/thrum-rpc/thrum/schema"
)

// wireTypes has the numbers of the Thrift specification.
var wireTypes = map[schema.Kind]byte{
	schema.Bool: 2, schema.I8: 3, schema.Double: 4, schema.I16: 6, schema.I32: 8, schema.Enum: 8, schema.I64: 10,
	schema.String: 11, schema.Binary: 11, schema.Struct: 12, schema.Map: 13, schema.Set: 14, schema.List: 15,
	schema.UUID: 16, schema.Float: 19,
}

// AppendBinary appends v, which is of type t, in Thrift's binary protocol, its
// parts in their order.
func AppendBinary(b []byte, t *schema.Type, v any) []byte {
	switch v := v.(type) {
	case bool:
		if v {
			return append(b, 1)
		}
		return append(b, 0)
	case int64:
		switch t.Kind() {
		case schema.I8:
			return append(b, byte(v))
		case schema.I16:
			return binary.BigEndian.AppendUint16(b, uint16(v))
		case schema.I64:
			return binary.BigEndian.AppendUint64(b, uint64(v))
		}
		return binary.BigEndian.AppendUint32(b, uint32(v))
	case float32:
		return binary.BigEndian.AppendUint32(b, math.Float32bits(v))
	case float64:
		return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	case string:
		return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
	case []byte:
		return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
	case [16]byte:
		return append(b, v[:]...)
	case []any:
		b = append(b, wireTypes[t.Elem().Kind()])
		b = binary.BigEndian.AppendUint32(b, uint32(len(v)))
		for _, e := range v {
			b = AppendBinary(b, t.Elem(), e)
		}
		return b
	case []Entry:
		b = append(b, wireTypes[t.Key().Kind()], wireTypes[t.Elem().Kind()])
		b = binary.BigEndian.AppendUint32(b, uint32(len(v)))
		for _, e := range v {
			b = AppendBinary(AppendBinary(b, t.Key(), e.Key), t.Elem(), e.Value)
		}
		return b
	case *Message:
		for _, f := range v.Fields {
			b = append(b, wireTypes[f.Field.Type().Kind()])
			b = binary.BigEndian.AppendUint16(b, uint16(f.Field.ID()))
			b = AppendBinary(b, f.Field.Type(), f.Value)
		}
		return append(b, 0)
	}
	panic(fmt.Sprintf("random: %T is no value", v))
}
