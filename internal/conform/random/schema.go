package random

import (
	"math/rand/v2"
	"strconv"

	"github.com/thrum-rpc/thrum/schema"
)

// Types says what Struct may make. The zero value allows everything.
type Types struct {
	// Allow, if not nil, says whether a type may be used where it is wanted:
	// as a field or element, or as the key of a map or the element of a set.
	Allow func(t *schema.Type, key bool) bool
	// MaxFields bounds the fields of a struct; 0 means 8.
	MaxFields int
	// MaxDepth bounds the nesting of declared types; 0 means 4. Structs may
	// also refer to the structs around them.
	MaxDepth int
}

// Struct makes a struct type with the types of its fields. Recursion always
// passes through a field that is not required, so values of it end.
func Struct(r *rand.Rand, o Types) *schema.StructDef {
	if o.MaxFields == 0 {
		o.MaxFields = 8
	}
	if o.MaxDepth == 0 {
		o.MaxDepth = 4
	}
	m := maker{r: r, o: o}
	return m.strct(schema.PlainStruct, o.MaxDepth)
}

type maker struct {
	r    *rand.Rand
	o    Types
	made int                 // counts names
	open []*schema.StructDef // the structs around the current field
}

func (m *maker) name(prefix string) string {
	m.made++
	return prefix + strconv.Itoa(m.made)
}

func (m *maker) strct(flavor schema.Flavor, depth int) *schema.StructDef {
	d := schema.NewStruct(schema.DeclSpec{Name: m.name("S")}, flavor)
	m.open = append(m.open, d)
	n := m.r.IntN(m.o.MaxFields + 1)
	if flavor == schema.Union {
		n++
	}
	if m.r.IntN(20) == 0 && flavor == schema.PlainStruct && depth == m.o.MaxDepth {
		n += 70 // more than a word of bits counts
	}
	ids := m.r.Perm(n)
	fields := make([]*schema.Field, n)
	for i := range fields {
		spec := schema.FieldSpec{ID: int32(ids[i] + 1), Name: m.name("f"), Requiredness: schema.Requiredness(m.r.IntN(3))}
		if m.r.IntN(10) == 0 {
			spec.ID += int32(m.r.IntN(300)) * 100
		}
		if m.r.IntN(30) == 0 {
			spec.ID = -spec.ID
		}
		if m.r.IntN(15) == 0 {
			spec.Name += "_é"
		}
		spec.Type = m.allowed(depth, false, false)
		if flavor == schema.Union {
			spec.Requiredness = schema.Optional
			if i == 0 {
				spec.Type = schema.Basic(schema.I32) // a variant that always ends
			}
		}
		if m.recursive(spec.Type) {
			spec.Requiredness = schema.Optional
		}
		fields[i] = schema.NewField(spec)
	}
	m.open = m.open[:len(m.open)-1]
	d.Complete(unique(fields))
	return d
}

// unique drops fields whose id another one has.
func unique(fields []*schema.Field) []*schema.Field {
	seen := map[int32]bool{}
	kept := fields[:0]
	for _, f := range fields {
		if !seen[f.ID()] {
			seen[f.ID()] = true
			kept = append(kept, f)
		}
	}
	return kept
}

// recursive reports whether a value of t always holds one of an open struct.
func (m *maker) recursive(t *schema.Type) bool {
	for _, d := range m.open {
		if t.Struct() == d {
			return true
		}
	}
	return false
}

// allowed makes a type; inside says that it is part of a container.
func (m *maker) allowed(depth int, key, inside bool) *schema.Type {
	for range 100 {
		t := m.typ(depth, key, inside)
		if m.o.Allow == nil || m.o.Allow(t, key) {
			return t
		}
	}
	return schema.Basic(schema.I32)
}

func (m *maker) typ(depth int, key, inside bool) *schema.Type {
	if depth <= 0 || m.r.IntN(5) < 2 {
		return schema.Basic(schema.Bool + schema.Kind(m.r.IntN(int(schema.UUID-schema.Bool)+1)))
	}
	switch m.r.IntN(8) {
	case 0:
		return m.enum()
	case 1, 2:
		return schema.ListOf(m.allowed(depth-1, key, true))
	case 3:
		return schema.SetOf(m.allowed(depth-1, true, true))
	case 4, 5:
		return schema.MapOf(m.allowed(depth-1, true, true), m.allowed(depth-1, key, true))
	case 6:
		// A reference to a struct around, unless that would be a key, which
		// values of it might be compared by.
		if !key && len(m.open) > 0 && m.open[len(m.open)-1].Flavor() == schema.PlainStruct && m.r.IntN(3) == 0 {
			return m.open[m.r.IntN(len(m.open))].Type()
		}
		fallthrough
	default:
		flavor := schema.PlainStruct
		if m.r.IntN(4) == 0 {
			flavor = schema.Union
		}
		return m.strct(flavor, depth-1).Type()
	}
}

func (m *maker) enum() *schema.Type {
	n := 1 + m.r.IntN(6)
	step := int64(1)
	if m.r.IntN(4) == 0 {
		step = 100_000_000
	}
	next := int64(m.r.IntN(5)) - 2
	values := make([]*schema.EnumValue, n)
	for i := range values {
		values[i] = &schema.EnumValue{Name: m.name("E"), Value: next}
		next += step * int64(1+m.r.IntN(2))
	}
	return schema.NewEnum(schema.DeclSpec{Name: m.name("Enum")}, values).Type()
}
