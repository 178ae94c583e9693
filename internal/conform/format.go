package conform

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
)

// This file holds the text of values that have no order of their own, so that
// two values are equal if their texts are.

// Format renders a value of type t in the notation of the corpus: fields in
// the order of their ids, sets and maps in the order of their texts.
//
//	bool                  true, false
//	i8 … i64              12
//	float, double         1.5, inf, -inf, nan, nan(7ff0000000000001)
//	string, uuid          "text", quoted as in Go
//	binary                x'00ff'
//	enum                  its name, or its number if it has none
//	list, set             [a, b]
//	map                   {key: value}
//	struct                {name: value}
func Format(t *schema.Type, v *schema.Value) string {
	var b strings.Builder
	format(&b, t, v)
	return b.String()
}

func format(b *strings.Builder, t *schema.Type, v *schema.Value) {
	switch t.Kind() {
	case schema.Bool:
		b.WriteString(strconv.FormatBool(v.Bool))
	case schema.Enum:
		if e := t.Enum().ByValue(v.Int); e != nil {
			b.WriteString(e.Name)
			return
		}
		b.WriteString(strconv.FormatInt(v.Int, 10))
	case schema.Float:
		b.WriteString(formatFloat(v.Float, 32))
	case schema.Double:
		b.WriteString(formatFloat(v.Float, 64))
	case schema.Binary:
		b.WriteString("x'" + hex.EncodeToString([]byte(v.String)) + "'")
	case schema.String, schema.UUID:
		b.WriteString(strconv.Quote(v.String))
	case schema.List, schema.Set:
		texts := make([]string, len(v.List))
		for i, e := range v.List {
			texts[i] = Format(t.Elem(), e)
		}
		if t.Kind() == schema.Set {
			slices.Sort(texts)
		}
		b.WriteString("[" + strings.Join(texts, ", ") + "]")
	case schema.Map:
		texts := make([]string, len(v.Map))
		for i, e := range v.Map {
			texts[i] = Format(t.Key(), e.Key) + ": " + Format(t.Elem(), e.Value)
		}
		slices.Sort(texts)
		b.WriteString("{" + strings.Join(texts, ", ") + "}")
	case schema.Struct:
		fields := slices.SortedFunc(slices.Values(v.Fields), func(a, b schema.FieldValue) int { return int(a.Field.ID() - b.Field.ID()) })
		texts := make([]string, len(fields))
		for i, f := range fields {
			texts[i] = f.Field.Name() + ": " + Format(f.Field.Type(), f.Value)
		}
		b.WriteString("{" + strings.Join(texts, ", ") + "}")
	default: // integers
		b.WriteString(strconv.FormatInt(v.Int, 10))
	}
}

func formatFloat(f float64, bits int) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f == f:
		return strconv.FormatFloat(f, 'g', -1, bits)
	case math.Float64bits(f) == math.Float64bits(math.NaN()):
		return "nan"
	default:
		return fmt.Sprintf("nan(%016x)", math.Float64bits(f))
	}
}
