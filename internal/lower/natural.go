package lower

import (
	"encoding/binary"
	"math"

	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/schema"
)

// This file lays structs out that no Go type stands behind.

// Natural returns the layout of the Go struct that package gen writes for def
// without options, and the number of slots that it names: what codec would
// make of that struct, down to the numbers of the slots. It is for showing
// programs; nothing runs with it.
func Natural(def *schema.StructDef) (l *Layout, slots int) {
	n := natural{structs: make(map[*schema.StructDef]*Layout)}
	return n.structure(def), n.slots
}

type natural struct {
	structs map[*schema.StructDef]*Layout
	slots   int
}

func (n *natural) slot() int32 {
	n.slots++
	return int32(n.slots - 1)
}

func (n *natural) structure(def *schema.StructDef) *Layout {
	if l := n.structs[def]; l != nil {
		return l
	}
	l := &Layout{Def: def, Unknown: -1, Init: -1}
	n.structs[def] = l
	union := def.Flavor() == schema.Union
	for _, f := range def.Fields() {
		if v := f.Default(); !union && v != nil && !zero(v) {
			l.Init = n.slot()
			break
		}
	}
	widest := uint32(1)
	for _, f := range def.Fields() {
		fl, align := n.field(f, union)
		size := fl.Value.Memory
		if fl.Deref {
			size = uint32(plan.Pointer.Memory())
		}
		fl.Offset = (l.Memory + align - 1) &^ (align - 1)
		l.Memory = fl.Offset + size
		widest = max(widest, align)
		l.Fields = append(l.Fields, fl)
	}
	l.Memory = (l.Memory + widest - 1) &^ (widest - 1)
	return l
}

// field lays a field out, all but its offset, and returns its alignment.
func (n *natural) field(f *schema.Field, union bool) (FieldLayout, uint32) {
	l := FieldLayout{Field: f, DerefSlot: -1}
	def := f.Default()
	if union {
		def = nil
	}
	kind := f.Type().Kind()
	scalar := kind != schema.Binary && kind != schema.Struct && !kind.IsContainer()
	optional := union || f.Requiredness() == schema.Optional
	if l.Deref = optional && scalar && def == nil; l.Deref && kind == schema.String {
		l.DerefSlot = n.slot()
	}
	l.Value = n.value(f.Type())
	if optional && def != nil && (scalar || kind == schema.Binary) {
		text := inMemory(def, l.Value.Code)
		l.Default = &text
	}
	if l.Deref {
		return l, uint32(plan.Pointer.Memory())
	}
	return l, alignment(l.Value.Code)
}

var naturalCodes = [...]plan.Code{
	schema.Bool: plan.Bool, schema.I8: plan.I8, schema.I16: plan.I16, schema.I32: plan.I32, schema.I64: plan.I64,
	schema.Float: plan.Float, schema.Double: plan.Double, schema.String: plan.String, schema.Binary: plan.Binary,
	schema.UUID: plan.UUID, schema.Enum: plan.Enum64, schema.List: plan.List, schema.Set: plan.List,
	schema.Map: plan.Map, schema.Struct: plan.Pointer,
}

func (n *natural) value(t *schema.Type) ValueLayout {
	v := ValueLayout{Code: naturalCodes[t.Kind()], Type: t, Slot: -1}
	v.Memory = uint32(v.Code.Memory())
	switch v.Code {
	case plan.Pointer:
		v.Struct = n.structure(t.Struct())
		v.Slot = n.slot()
	case plan.List:
		elem := n.value(t.Elem())
		v.Elem = &elem
		v.PointerFree = elem.Code.Width() > 0
		if !v.PointerFree && elem.Code != plan.String && elem.Code != plan.Pointer {
			v.Slot = n.slot()
		}
	case plan.Map:
		key := n.value(t.Key())
		if key.Code == plan.Binary { // slices are no keys
			key.Code, key.Memory = plan.String, uint32(plan.String.Memory())
		}
		elem := n.value(t.Elem())
		v.Key, v.Elem = &key, &elem
		v.Slot = n.slot()
	}
	return v
}

// alignment returns how Go aligns a value of c.
func alignment(c plan.Code) uint32 {
	switch c {
	case plan.UUID: // an array of bytes
		return 1
	case plan.Bool, plan.I8, plan.I16, plan.I32, plan.Float:
		return uint32(c.Memory())
	case plan.I64, plan.Enum64, plan.Double:
		return uint32(min(c.Memory(), plan.Pointer.Memory())) // 4 where words have 32 bits
	default:
		return uint32(plan.Pointer.Memory())
	}
}

// zero reports whether v is the zero value of its Go type.
func zero(v *schema.Value) bool {
	switch v.Kind {
	case schema.BoolValue:
		return !v.Bool
	case schema.IntValue, schema.EnumeratorValue:
		return v.Int == 0
	case schema.FloatValue:
		return v.Float == 0
	case schema.StringValue:
		return v.String == ""
	default: // made, and so not nil
		return false
	}
}

// inMemory returns v as plan.Program.Defaults holds it.
func inMemory(v *schema.Value, c plan.Code) string {
	var b []byte
	switch c {
	case plan.Bool:
		if b = []byte{0}; v.Bool {
			b[0] = 1
		}
	case plan.I8:
		b = []byte{byte(v.Int)}
	case plan.I16:
		b = binary.NativeEndian.AppendUint16(nil, uint16(v.Int))
	case plan.I32:
		b = binary.NativeEndian.AppendUint32(nil, uint32(v.Int))
	case plan.I64, plan.Enum64:
		b = binary.NativeEndian.AppendUint64(nil, uint64(v.Int))
	case plan.Float:
		b = binary.NativeEndian.AppendUint32(nil, math.Float32bits(float32(v.Float)))
	case plan.Double:
		b = binary.NativeEndian.AppendUint64(nil, math.Float64bits(v.Float))
	default:
		return v.String
	}
	return string(b)
}
