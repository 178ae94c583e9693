package conform

import (
	"encoding/hex"
	"math"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds the model's encoder: a walk over the value that says, as
// plainly as can be, which bytes it has. Fields, elements and entries are
// written in the order in which the value has them.

// Append appends the encoding of a value of type t, which p must be able to
// express: Apache's compact protocol has no float, fbthrift's no uuid.
func Append(b []byte, p Protocol, t *schema.Type, v *schema.Value) []byte {
	if p == Binary {
		return appendBinary(b, t, v)
	}
	return appendCompact(b, p.dialect(), t, v)
}

func appendBinary(b []byte, t *schema.Type, v *schema.Value) []byte {
	switch t.Kind() {
	case schema.Bool:
		return thriftwire.AppendBool(b, v.Bool)
	case schema.I8:
		return thriftwire.AppendI8(b, int8(v.Int))
	case schema.I16:
		return thriftwire.AppendI16(b, int16(v.Int))
	case schema.I32, schema.Enum:
		return thriftwire.AppendI32(b, int32(v.Int))
	case schema.I64:
		return thriftwire.AppendI64(b, v.Int)
	case schema.Float:
		return thriftwire.AppendFloat(b, float32(v.Float))
	case schema.Double:
		return thriftwire.AppendDouble(b, v.Float)
	case schema.UUID:
		return thriftwire.AppendUUID(b, uuid(v.String))
	case schema.String, schema.Binary:
		return thriftwire.AppendString(b, v.String)
	case schema.List, schema.Set:
		b = thriftwire.AppendList(b, Wire(t.Elem()), len(v.List))
		for _, e := range v.List {
			b = appendBinary(b, t.Elem(), e)
		}
		return b
	case schema.Map:
		b = thriftwire.AppendMap(b, Wire(t.Key()), Wire(t.Elem()), len(v.Map))
		for _, e := range v.Map {
			b = appendBinary(appendBinary(b, t.Key(), e.Key), t.Elem(), e.Value)
		}
		return b
	default:
		for _, f := range v.Fields {
			b = thriftwire.AppendField(b, Wire(f.Field.Type()), int16(f.Field.ID()))
			b = appendBinary(b, f.Field.Type(), f.Value)
		}
		return thriftwire.AppendStop(b)
	}
}

func appendCompact(b []byte, d compact.Dialect, t *schema.Type, v *schema.Value) []byte {
	switch t.Kind() {
	case schema.Bool:
		return compact.AppendBool(b, v.Bool)
	case schema.I8:
		return compact.AppendI8(b, int8(v.Int))
	case schema.I16:
		return compact.AppendI16(b, int16(v.Int))
	case schema.I32, schema.Enum:
		return compact.AppendI32(b, int32(v.Int))
	case schema.I64:
		return compact.AppendI64(b, v.Int)
	case schema.Float:
		return compact.AppendFloat(b, float32(v.Float))
	case schema.Double:
		return d.AppendDouble(b, v.Float)
	case schema.UUID:
		return compact.AppendUUID(b, uuid(v.String))
	case schema.String, schema.Binary:
		return compact.AppendString(b, v.String)
	case schema.List, schema.Set:
		b = d.AppendList(b, Wire(t.Elem()), len(v.List))
		for _, e := range v.List {
			b = appendCompact(b, d, t.Elem(), e)
		}
		return b
	case schema.Map:
		b = d.AppendMap(b, Wire(t.Key()), Wire(t.Elem()), len(v.Map))
		for _, e := range v.Map {
			b = appendCompact(appendCompact(b, d, t.Key(), e.Key), d, t.Elem(), e.Value)
		}
		return b
	default:
		var last int16
		for _, f := range v.Fields {
			id := int16(f.Field.ID())
			if f.Field.Type().Kind() == schema.Bool {
				b = compact.AppendBoolField(b, f.Value.Bool, id, last)
			} else {
				b = appendCompact(d.AppendField(b, Wire(f.Field.Type()), id, last), d, f.Field.Type(), f.Value)
			}
			last = id
		}
		return compact.AppendStop(b)
	}
}

// uuid reads the text form of a uuid, which the caller has made or checked.
func uuid(s string) (u [16]byte) {
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(b) != 16 {
		panic("conform: not a uuid: " + s)
	}
	return [16]byte(b)
}

// uuidText is the text form of u.
func uuidText(u [16]byte) string {
	h := hex.EncodeToString(u[:])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// float32Value widens a float without changing a NaN's bits beyond what
// Format shows.
func float32Value(f float32) float64 {
	if f != f {
		return math.NaN()
	}
	return float64(f)
}
