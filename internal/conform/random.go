package conform

import (
	"math"
	"slices"
	"strconv"

	"github.com/thrum-rpc/thrum/schema"
	"pgregory.net/rapid"
)

// This file makes random schemas and values of them.

// Shape bounds the schemas that Struct makes.
type Shape struct {
	MaxDepth  int  // of nested structs and containers
	MaxFields int  // of a struct
	Float     bool // allow fbthrift's float
	UUID      bool // allow Apache's uuid
	// Plain leaves out unions and structs within themselves, for targets that
	// need declared types for these.
	Plain bool
	// KeyKinds are the kinds of map keys and set elements, all if it is nil.
	KeyKinds []schema.Kind
}

// DefaultShape has every type of Thrift.
var DefaultShape = Shape{MaxDepth: 3, MaxFields: 8, Float: true, UUID: true}

// ScalarKinds are the kinds without parts.
func ScalarKinds() []schema.Kind { return slices.Clone(scalarKinds) }

// Of returns s without the types that p lacks.
func (s Shape) Of(p Protocol) Shape {
	s.Float = s.Float && p != Apache
	s.UUID = s.UUID && p != FBThrift
	return s
}

// Struct draws a struct, which may refer to itself through optional fields,
// lists and maps. Its name and those below it are unique in it.
func Struct(t *rapid.T, s Shape) *schema.Type {
	m := &maker{t: t, Shape: s}
	return m.structure(s.MaxDepth)
}

type maker struct {
	t *rapid.T
	Shape
	structs []*schema.StructDef // those that are being made, outermost first
	count   int
}

var scalarKinds = []schema.Kind{
	schema.Bool, schema.I8, schema.I16, schema.I32, schema.I64, schema.Double, schema.String, schema.Binary,
	schema.Enum, schema.Float, schema.UUID,
}

func (m *maker) allowed(kinds []schema.Kind) []schema.Kind {
	var out []schema.Kind
	for _, k := range kinds {
		if (k != schema.Float || m.Float) && (k != schema.UUID || m.UUID) {
			out = append(out, k)
		}
	}
	return out
}

func (m *maker) name(prefix string) string {
	m.count++
	return prefix + strconv.Itoa(m.count)
}

func (m *maker) structure(depth int) *schema.Type {
	flavors := []schema.Flavor{schema.PlainStruct, schema.Exception, schema.PlainStruct, schema.Union}
	if m.Plain {
		flavors = flavors[:2]
	}
	flavor := rapid.SampledFrom(flavors).Draw(m.t, "flavor")
	def := schema.NewStruct(schema.DeclSpec{Name: m.name("S")}, flavor)
	m.structs = append(m.structs, def)
	var fields []*schema.Field
	least := rapid.SampledFrom([]int{m.MaxFields / 2, min(1, m.MaxFields), m.MaxFields, 0}).Draw(m.t, "least")
	ids := rapid.SliceOfNDistinct(anyID, least, m.MaxFields, rapid.ID[int16]).Draw(m.t, "ids")
	for _, id := range ids {
		spec := schema.FieldSpec{ID: int32(id), Name: m.name("f")}
		spec.Requiredness = rapid.SampledFrom([]schema.Requiredness{schema.Default, schema.Required, schema.Optional}).Draw(m.t, "requiredness")
		if flavor == schema.Union {
			spec.Requiredness = schema.Optional
		}
		spec.Type = m.typ(depth-1, spec.Requiredness == schema.Optional)
		fields = append(fields, schema.NewField(spec))
	}
	def.Complete(fields)
	m.structs = m.structs[:len(m.structs)-1]
	return def.Type()
}

// anyID has small ids, for which compact headers are short, and all others.
var anyID = rapid.OneOf(rapid.Int16Range(1, 20), rapid.Int16())

// typ draws a type. Where recursive is set it may be one of the structs that
// are being made, since a value can end there.
func (m *maker) typ(depth int, recursive bool) *schema.Type {
	choice := rapid.IntRange(0, 9).Draw(m.t, "type")
	switch {
	case depth <= 0 || choice < 5:
		return m.scalar(scalarKinds)
	case choice == 5:
		return schema.ListOf(m.typ(depth-1, true))
	case choice == 6:
		return schema.SetOf(m.key(depth - 1))
	case choice == 7:
		return schema.MapOf(m.key(depth-1), m.typ(depth-1, true))
	case choice == 8 && recursive && !m.Plain:
		return rapid.SampledFrom(m.structs).Draw(m.t, "recursive").Type()
	default:
		return m.structure(depth)
	}
}

// key draws the type of a map's key or of a set's element.
func (m *maker) key(depth int) *schema.Type {
	if m.KeyKinds != nil {
		return m.scalar(m.KeyKinds)
	}
	return m.typ(depth, false)
}

func (m *maker) scalar(kinds []schema.Kind) *schema.Type {
	k := rapid.SampledFrom(m.allowed(kinds)).Draw(m.t, "kind")
	if k != schema.Enum {
		return schema.Basic(k)
	}
	return schema.NewEnum(schema.DeclSpec{Name: m.name("E")}, []*schema.EnumValue{
		{Name: m.name("V"), Value: 0}, {Name: m.name("V"), Value: 1}, {Name: m.name("V"), Value: -7}, {Name: m.name("V"), Value: math.MaxInt32},
	}).Type()
}

// Value draws a value of type typ with at most depth levels. Fields that are
// not optional are there; a union has one field if it can; keys and elements
// of sets are distinct.
func Value(t *rapid.T, typ *schema.Type, depth int) *schema.Value {
	switch typ.Kind() {
	case schema.Bool:
		return &schema.Value{Kind: schema.BoolValue, Bool: rapid.Bool().Draw(t, "bool")}
	case schema.I8:
		return &schema.Value{Kind: schema.IntValue, Int: int64(rapid.Int8().Draw(t, "i8"))}
	case schema.I16:
		return &schema.Value{Kind: schema.IntValue, Int: int64(rapid.Int16().Draw(t, "i16"))}
	case schema.I32:
		return &schema.Value{Kind: schema.IntValue, Int: int64(rapid.Int32().Draw(t, "i32"))}
	case schema.I64:
		return &schema.Value{Kind: schema.IntValue, Int: rapid.Int64().Draw(t, "i64")}
	case schema.Enum:
		n := int64(rapid.OneOf(rapid.SampledFrom([]int32{0, 1, -7, math.MaxInt32}), rapid.Int32()).Draw(t, "enum"))
		return &schema.Value{Kind: schema.EnumeratorValue, Int: n, Enumerator: typ.Enum().ByValue(n)}
	case schema.Float:
		return &schema.Value{Kind: schema.FloatValue, Float: float64(rapid.Float32().Draw(t, "float"))}
	case schema.Double:
		return &schema.Value{Kind: schema.FloatValue, Float: rapid.Float64().Draw(t, "double")}
	case schema.String:
		return &schema.Value{Kind: schema.StringValue, String: rapid.String().Draw(t, "string")}
	case schema.Binary:
		return &schema.Value{Kind: schema.StringValue, String: string(rapid.SliceOf(rapid.Byte()).Draw(t, "binary"))}
	case schema.UUID:
		return &schema.Value{Kind: schema.StringValue, String: uuidText([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid")))}
	case schema.Struct:
		return structValue(t, typ.Struct(), depth-1)
	default:
		return containerValue(t, typ, depth-1)
	}
}

func containerValue(t *rapid.T, typ *schema.Type, depth int) *schema.Value {
	size := 0
	if depth > 0 {
		size = rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 20)).Draw(t, "size")
	}
	v := &schema.Value{Kind: schema.ListValue}
	if typ.Kind() == schema.Map {
		v.Kind = schema.MapValue
	}
	seen := map[string]bool{}
	for range size {
		if typ.Kind() == schema.List {
			v.List = append(v.List, Value(t, typ.Elem(), depth))
			continue
		}
		unique := typ.Elem()
		if typ.Kind() == schema.Map {
			unique = typ.Key()
		}
		key := Value(t, unique, depth)
		if text := Format(unique, key); seen[text] || text == "-0" {
			continue // 0 and -0 are one key to some languages
		} else {
			seen[text] = true
		}
		if typ.Kind() == schema.Set {
			v.List = append(v.List, key)
		} else {
			v.Map = append(v.Map, schema.MapEntry{Key: key, Value: Value(t, typ.Elem(), depth)})
		}
	}
	return v
}

func structValue(t *rapid.T, s *schema.StructDef, depth int) *schema.Value {
	v := &schema.Value{Kind: schema.StructValue}
	add := func(f *schema.Field) {
		v.Fields = append(v.Fields, schema.FieldValue{Field: f, Value: Value(t, f.Type(), depth)})
	}
	if s.Flavor() == schema.Union {
		if len(s.Fields()) > 0 && depth > 0 {
			add(rapid.SampledFrom(s.Fields()).Draw(t, "member"))
		}
		return v
	}
	for _, f := range s.Fields() {
		if f.Requiredness() != schema.Optional || depth > 0 && rapid.Bool().Draw(t, "set") {
			add(f)
		}
	}
	return v
}

// Damaged draws bytes that are almost b: some are changed, a few are missing
// or too many, or the end is cut. Bytes that mean something to the formats are
// likelier than others.
func Damaged(t *rapid.T, b []byte) []byte {
	telling := rapid.OneOf(rapid.SampledFrom([]byte{0, 1, 2, 8, 10, 11, 12, 13, 14, 15, 0x7f, 0x80, 0xff}), rapid.Byte())
	out := slices.Clone(b)
	for range rapid.IntRange(1, 3).Draw(t, "faults") {
		if len(out) == 0 {
			return out
		}
		at := rapid.IntRange(0, len(out)-1).Draw(t, "at")
		switch rapid.IntRange(0, 4).Draw(t, "damage") {
		case 0:
			out[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		case 1:
			out[at] = telling.Draw(t, "byte")
		case 2:
			out = slices.Delete(out, at, min(len(out), at+rapid.IntRange(1, 4).Draw(t, "missing")))
		case 3:
			out = slices.Insert(out, at, rapid.SliceOfN(telling, 1, 4).Draw(t, "more")...)
		default:
			out = out[:at]
		}
	}
	return out
}
