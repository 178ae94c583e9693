package thriftidl

import (
	"encoding/binary"
	"math"

	"github.com/thrum-rpc/thrum/schema"
)

// key returns text that is equal for equal values of one type. It reports, and
// returns false, if the values of this Load take too much of it: a value that
// is referred to many times would be spelt out as often.
func (e *evaluator) key(v *schema.Value, p pos) (string, bool) {
	b := keyBuilder{left: e.r.keys}
	b.value(v)
	e.r.keys = b.left
	if b.left >= 0 {
		return string(b.buf), true
	}
	if !e.over {
		e.over = true
		e.r.errorf(e.unit, p, codeConstantTooLarge, "%s is too large to look for elements and keys that stand twice", e.what)
	}
	return "", false
}

// keyBuilder spells out a value until left, the number of bytes that it may
// still append, is used up.
type keyBuilder struct {
	buf  []byte
	left int
}

func (b *keyBuilder) value(v *schema.Value) {
	switch v.Kind {
	case schema.BoolValue:
		b.number(uint64(map[bool]int{true: 1}[v.Bool]))
	case schema.IntValue, schema.EnumeratorValue:
		b.number(uint64(v.Int))
	case schema.FloatValue:
		b.number(math.Float64bits(v.Float + 0)) // +0 makes -0 and 0 one key
	case schema.StringValue:
		b.number(uint64(len(v.String)))
		if b.left -= len(v.String); b.left >= 0 {
			b.buf = append(b.buf, v.String...)
		}
	case schema.ListValue:
		b.number(uint64(len(v.List)))
		for _, x := range v.List {
			if b.left < 0 {
				return
			}
			b.value(x)
		}
	case schema.MapValue:
		b.number(uint64(len(v.Map)))
		for _, x := range v.Map {
			if b.left < 0 {
				return
			}
			b.value(x.Key)
			b.value(x.Value)
		}
	case schema.StructValue:
		b.number(uint64(len(v.Fields)))
		for _, x := range v.Fields {
			if b.left < 0 {
				return
			}
			b.number(uint64(x.Field.ID()))
			b.value(x.Value)
		}
	}
}

func (b *keyBuilder) number(n uint64) {
	before := len(b.buf)
	b.buf = binary.AppendUvarint(b.buf, n)
	b.left -= len(b.buf) - before
}
