package structs

import (
	"math"
	"strconv"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the conversion of structs to others.

// Converter makes structs of type B from those of type A. It is safe for
// concurrent use.
type Converter[A, B any] struct {
	from *codec.Codec[A]
	to   *codec.Codec[B]
	root *conversion // nil if B's decoder takes A's messages as they are

	byName bool
}

// Between compiles the way from A to B: fields with one id or, by the option
// ByName, with one name, on every level. Fields that only A has are dropped, or by id kept in
// _unknownFields if B has that; what A kept there is passed on by id. Fields that only B
// has keep the values that they have in the struct that is filled. Between two fields
//
//   - an integer or enum becomes any integer or enum, within its range;
//   - an integer, float or double becomes a float or double: an integer if it
//     is exact, a double as the nearest float within the range;
//   - string and binary, list and set become each other;
//   - elements, keys and values of containers follow the same rules.
//
// Anything else is a TypeMismatch with the path to it. Enums go by number, for tags do
// not tell the names.
func Between[A, B any](opts ...Option) (*Converter[A, B], error) {
	out := &Converter[A, B]{}
	var err error
	if out.from, err = codec.For[A](); err != nil {
		return nil, err
	}
	if out.to, err = codec.For[B](codec.CheckUnions()); err != nil {
		return nil, err
	}
	c := compiler{done: map[[2]*schema.StructDef]*conversion{}}
	for _, o := range opts {
		o(&c)
	}
	root, f := c.pair(out.from.Type(), out.to.Type())
	if f != nil {
		return nil, f
	}
	if out.byName = c.byName; c.rewrites {
		out.root = root
	}
	return out, nil
}

// Convert fills to from from. A union that has none of its fields then is an
// InvalidUnion, a required field that is absent MissingRequired, a number out of range
// OutOfRange with the path in A. After an error to is partly filled.
func (c *Converter[A, B]) Convert(from *A, to *B) error {
	b, err := c.from.Marshal(from)
	if err != nil {
		return err
	}
	if c.root != nil {
		r := rewriter{b: b, dst: make([]byte, 0, len(b)), keep: !c.byName}
		if _, f := r.value(0, c.root); f != nil {
			return f
		}
		b = r.dst
	}
	_, err = c.to.Unmarshal(b, to)
	return err
}

// maxDepth is more than a codec encodes.
const maxDepth = codec.DefaultMaxDepth + 1

// rewriter writes a message of one type as one of another. The message is of
// our own making, so its nesting is bounded and its types are those of the schema.
type rewriter struct {
	b, dst []byte
	// keep passes fields on that have no conversion: the decoder of the other type
	// skips them or, if its struct has _unknownFields, keeps them.
	keep bool
}

// value converts the value at pos and returns the place after it.
func (r *rewriter) value(pos int, c *conversion) (int, *diag.Fault) {
	switch c.how {
	case asInteger:
		return r.integer(pos, c)
	case asFloating:
		return r.floating(pos, c)
	case asStruct:
		return r.structure(pos, c)
	case asList:
		return r.list(pos, c)
	case asMap:
		return r.entries(pos, c)
	default:
		end, code := thriftwire.SkipAt(r.b, pos, c.from, maxDepth)
		if code < 0 {
			return end, damaged(end, code)
		}
		r.dst = append(r.dst, r.b[pos:end]...)
		return end, nil
	}
}

// damaged is the fault for a message that cannot be read, which another
// goroutine's change of the struct could make.
func damaged(at, code int) *diag.Fault {
	f := diag.NewFault(diag.InvalidValue, at, "the struct changed while it was converted")
	f.Cause = thriftwire.Error(code)
	return f
}

// number reads an integer of wire type t.
func (r *rewriter) number(pos int, t thriftwire.Type) (int64, int) {
	switch b := r.b[pos:]; t {
	case thriftwire.I8:
		v, n := thriftwire.ConsumeI8(b)
		return int64(v), n
	case thriftwire.I16:
		v, n := thriftwire.ConsumeI16(b)
		return int64(v), n
	case thriftwire.I32:
		v, n := thriftwire.ConsumeI32(b)
		return int64(v), n
	default:
		return thriftwire.ConsumeI64(b)
	}
}

func (r *rewriter) integer(pos int, c *conversion) (int, *diag.Fault) {
	v, n := r.number(pos, c.from)
	if n < 0 {
		return pos, damaged(pos, n)
	}
	ok := true
	switch c.to {
	case thriftwire.I8:
		ok = v == int64(int8(v))
		r.dst = thriftwire.AppendI8(r.dst, int8(v))
	case thriftwire.I16:
		ok = v == int64(int16(v))
		r.dst = thriftwire.AppendI16(r.dst, int16(v))
	case thriftwire.I32:
		ok = v == int64(int32(v))
		r.dst = thriftwire.AppendI32(r.dst, int32(v))
	default:
		r.dst = thriftwire.AppendI64(r.dst, v)
	}
	if !ok {
		return pos, outOfRange(strconv.FormatInt(v, 10), c)
	}
	return pos + n, nil
}

func outOfRange(number string, c *conversion) *diag.Fault {
	return diag.NewFault(diag.OutOfRange, -1, "the number "+number+" is not in the range of "+c.name)
}

// floating writes a number as a float or double: an integer only if nothing of
// it is lost, a double rounded to a float within the range.
func (r *rewriter) floating(pos int, c *conversion) (int, *diag.Fault) {
	var v float64
	var n int
	ok := true
	switch c.from {
	case thriftwire.Double:
		v, n = thriftwire.ConsumeDouble(r.b[pos:])
		ok = !math.IsInf(float64(float32(v)), 0) || math.IsInf(v, 0)
	case thriftwire.Float:
		var f float32
		f, n = thriftwire.ConsumeFloat(r.b[pos:])
		v = float64(f)
	default:
		var i int64
		i, n = r.number(pos, c.from)
		v = float64(i)
		if c.to == thriftwire.Float {
			v = float64(float32(i))
		}
		ok = v < 1<<63 && int64(v) == i
	}
	switch {
	case n < 0:
		return pos, damaged(pos, n)
	case !ok:
		return pos, outOfRange(strconv.FormatFloat(v, 'g', -1, 64), c)
	case c.to == thriftwire.Float:
		r.dst = thriftwire.AppendFloat(r.dst, float32(v))
	default:
		r.dst = thriftwire.AppendDouble(r.dst, v)
	}
	return pos + n, nil
}

func (r *rewriter) structure(pos int, c *conversion) (int, *diag.Fault) {
	for {
		t, id, n := thriftwire.ConsumeField(r.b[pos:])
		if n < 0 {
			return pos, damaged(pos, n)
		}
		pos += n
		if t == thriftwire.Stop {
			r.dst = thriftwire.AppendStop(r.dst)
			return pos, nil
		}
		field := c.fields[id]
		if field == nil || field.from != t { // what the struct carried as unknown has any id and type
			end, code := thriftwire.SkipAt(r.b, pos, t, maxDepth)
			if code < 0 {
				return end, damaged(end, code)
			}
			if field == nil && r.keep {
				r.dst = append(r.dst, r.b[pos-n:end]...)
			}
			pos = end
			continue
		}
		r.dst = thriftwire.AppendField(r.dst, field.to, field.id)
		var f *diag.Fault
		if pos, f = r.value(pos, field.conversion); f != nil {
			return pos, f.Field(field.name)
		}
	}
}

func (r *rewriter) list(pos int, c *conversion) (int, *diag.Fault) {
	_, size, n := thriftwire.ConsumeList(r.b[pos:])
	if n < 0 {
		return pos, damaged(pos, n)
	}
	pos += n
	r.dst = thriftwire.AppendList(r.dst, c.elem.to, size)
	for i := range size {
		var f *diag.Fault
		if pos, f = r.value(pos, c.elem); f != nil {
			return pos, f.Index(i)
		}
	}
	return pos, nil
}

func (r *rewriter) entries(pos int, c *conversion) (int, *diag.Fault) {
	_, _, size, n := thriftwire.ConsumeMap(r.b[pos:])
	if n < 0 {
		return pos, damaged(pos, n)
	}
	pos += n
	r.dst = thriftwire.AppendMap(r.dst, c.key.to, c.elem.to, size)
	for range size {
		var f *diag.Fault
		if pos, f = r.value(pos, c.key); f != nil {
			return pos, f.Key("key")
		}
		if pos, f = r.value(pos, c.elem); f != nil {
			return pos, f.Key("value")
		}
	}
	return pos, nil
}
