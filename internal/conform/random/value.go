package random

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/thrum-rpc/thrum/schema"
)

// A value is, by the kind of its type: bool; int64 for the integers and enums;
// float32 or float64; string; []byte; [16]byte for a uuid; []any for a list
// or set; []Entry for a map; *Message for a struct.

// Entry is an entry of a map.
type Entry struct{ Key, Value any }

// Message is a struct with the fields that are set, in any order.
type Message struct {
	Def    *schema.StructDef
	Fields []FieldValue
}

// FieldValue is a field that is set.
type FieldValue struct {
	Field *schema.Field
	Value any
}

// Value makes a value of d: required fields are set, others may be; unions
// have one field; sets and maps hold no two parts with the same bytes; floats
// are finite; text is UTF-8. Nesting is bounded by depth but where required
// fields go deeper.
func Value(r *rand.Rand, d *schema.StructDef, depth int) *Message {
	g := generator{r}
	return g.message(d, depth)
}

type generator struct{ r *rand.Rand }

func (g generator) message(d *schema.StructDef, depth int) *Message {
	m := &Message{Def: d}
	fields := d.Fields()
	if d.Flavor() == schema.Union {
		f := fields[0]
		if depth > 0 {
			f = fields[g.r.IntN(len(fields))]
		}
		m.Fields = []FieldValue{{f, g.value(f.Type(), depth-1)}}
		return m
	}
	for _, f := range fields {
		if f.Requiredness() == schema.Required || depth > 0 && g.r.IntN(3) > 0 {
			m.Fields = append(m.Fields, FieldValue{f, g.value(f.Type(), depth-1)})
		}
	}
	if g.r.IntN(4) == 0 {
		g.r.Shuffle(len(m.Fields), func(i, j int) { m.Fields[i], m.Fields[j] = m.Fields[j], m.Fields[i] })
	}
	return m
}

func (g generator) value(t *schema.Type, depth int) any {
	switch t.Kind() {
	case schema.Bool:
		return g.r.IntN(2) == 0
	case schema.I8:
		return int64(int8(g.integer()))
	case schema.I16:
		return int64(int16(g.integer()))
	case schema.I32:
		return int64(int32(g.integer()))
	case schema.I64:
		return g.integer()
	case schema.Float:
		return float32(g.float(true))
	case schema.Double:
		return g.float(false)
	case schema.String:
		return g.text()
	case schema.Binary:
		b := make([]byte, g.r.IntN(12))
		for i := range b {
			b[i] = byte(g.r.Uint32())
		}
		return b
	case schema.UUID:
		var v [16]byte
		binary.BigEndian.PutUint64(v[:], g.r.Uint64())
		binary.BigEndian.PutUint64(v[8:], g.r.Uint64())
		return v
	case schema.Enum:
		if g.r.IntN(8) == 0 {
			return int64(int32(g.integer()))
		}
		all := t.Enum().Values()
		return all[g.r.IntN(len(all))].Value
	case schema.Struct:
		return g.message(t.Struct(), depth)
	default:
		return g.container(t, depth)
	}
}

func (g generator) container(t *schema.Type, depth int) any {
	n := 0
	if depth > 0 {
		if n = g.r.IntN(5); g.r.IntN(20) == 0 {
			n = 40
		}
	}
	seen := map[string]bool{}
	fresh := func(part *schema.Type, v any) bool {
		b := string(AppendBinary(nil, part, v))
		was := seen[b]
		seen[b] = true
		return !was
	}
	if t.Kind() == schema.Map {
		var m []Entry
		for range n {
			if k := g.value(t.Key(), depth-1); fresh(t.Key(), k) {
				m = append(m, Entry{k, g.value(t.Elem(), depth-1)})
			}
		}
		return m
	}
	var l []any
	for range n {
		if v := g.value(t.Elem(), depth-1); t.Kind() == schema.List || fresh(t.Elem(), v) {
			l = append(l, v)
		}
	}
	return l
}

// integer favours the edges of the types.
func (g generator) integer() int64 {
	switch g.r.IntN(4) {
	case 0:
		return int64(g.r.IntN(21) - 10)
	case 1:
		edge := int64(1) << []int{7, 15, 31, 63}[g.r.IntN(4)]
		return edge + int64(g.r.IntN(3)-1)
	default:
		return int64(g.r.Uint64() >> g.r.IntN(64))
	}
}

// float is finite, also as a float32 if single is set.
func (g generator) float(single bool) float64 {
	for {
		var v float64
		switch g.r.IntN(4) {
		case 0:
			v = float64(g.integer())
		case 1:
			v = float64(g.r.IntN(2_000_001)-1_000_000) / 100
		case 2:
			v = []float64{0, math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxFloat32, math.SmallestNonzeroFloat32, 1e21, 1e-7}[g.r.IntN(8)]
		default:
			if v = math.Float64frombits(g.r.Uint64()); single {
				v = float64(math.Float32frombits(g.r.Uint32()))
			}
		}
		if single {
			v = float64(float32(v))
		}
		if v-v == 0 {
			return v
		}
	}
}

// letters are what text is made of: plain and special in JSON, of every length in UTF-8.
var letters = []rune("abcdefgh xyz0123456789\"\\/\x00\n\t\x1f\x7fé漢😀\u2028\ufffd")

func (g generator) text() string {
	n := g.r.IntN(10)
	if g.r.IntN(6) == 0 {
		n = g.r.IntN(200)
	}
	text := make([]rune, n)
	plain := g.r.IntN(2) == 0
	for i := range text {
		if text[i] = letters[g.r.IntN(len(letters))]; plain {
			text[i] = letters[g.r.IntN(20)]
		}
	}
	return string(text)
}
