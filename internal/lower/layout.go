package lower

import (
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/schema"
)

// Layout says how values of a struct lie in memory. Layouts may refer to each
// other in cycles, as their structs do.
type Layout struct {
	Def     *schema.StructDef
	Memory  uint32
	Fields  []FieldLayout // those of Def.Fields that the Go type has, in the same order
	Unknown int32         // offset of the slice that keeps unknown fields, -1 if there is none
	Init    int32         // slot of the function that sets defaults, -1 if there is none
}

// FieldLayout is the place of one field.
type FieldLayout struct {
	Field  *schema.Field
	Offset uint32
	Value  ValueLayout
	// Deref: the field is a pointer to the value, which is no struct.
	Deref bool
	// DerefSlot allocates what Deref points to, -1 where it has no pointers.
	DerefSlot int32
	// Alias: a string or binary may point into the input.
	Alias bool
	// Default is what an optional field that is not a pointer is compared to: the value's bytes as they
	// lie in memory, or the text of a string or binary; nil if it is always written.
	Default *string
}

// ValueLayout is how one value lies in memory.
type ValueLayout struct {
	Code   plan.Code
	Memory uint32 // in bytes
	Type   *schema.Type
	Struct *Layout      // Struct, Pointer
	Key    *ValueLayout // Map
	Elem   *ValueLayout // List, Map
	Slot   int32        // of the binding; -1 for none
	// PointerFree: the elements of a List hold no pointers.
	PointerFree bool
}
