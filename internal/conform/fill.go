package conform

import (
	"slices"

	"github.com/thrum-rpc/thrum/schema"
)

// This file makes values comparable across targets that remember which fields
// were absent and targets that do not.

// Filled returns v with the fields that are absent set to what a reader sees:
// the declared default, or zero, empty text, an empty container or an empty
// struct if the field is not optional. A struct within itself stays absent.
func Filled(t *schema.Type, v *schema.Value) *schema.Value { return filled(t, v, nil) }

// filled is Filled for a value that stands in for an absent one in structs of outer.
func filled(t *schema.Type, v *schema.Value, outer []*schema.StructDef) *schema.Value {
	out := *v
	switch t.Kind() {
	case schema.List, schema.Set:
		out.List = nil
		for _, e := range v.List {
			out.List = append(out.List, Filled(t.Elem(), e))
		}
	case schema.Map:
		out.Map = nil
		for _, e := range v.Map {
			out.Map = append(out.Map, schema.MapEntry{Key: Filled(t.Key(), e.Key), Value: Filled(t.Elem(), e.Value)})
		}
	case schema.Struct:
		out.Fields = nil
		have := map[*schema.Field]bool{}
		for _, f := range v.Fields {
			have[f.Field] = true
			out.Fields = append(out.Fields, schema.FieldValue{Field: f.Field, Value: Filled(f.Field.Type(), f.Value)})
		}
		for _, f := range t.Struct().Fields() {
			if have[f] {
				continue
			}
			if absent := absentValue(f, append(outer, t.Struct())); absent != nil {
				out.Fields = append(out.Fields, schema.FieldValue{Field: f, Value: absent})
			}
		}
	}
	return &out
}

func absentValue(f *schema.Field, outer []*schema.StructDef) *schema.Value {
	switch {
	case f.Default() != nil:
		return Filled(f.Type(), f.Default())
	case f.Requiredness() == schema.Optional || slices.Contains(outer, f.Type().Struct()):
		return nil
	case f.Type().Kind() == schema.Struct:
		return filled(f.Type(), &schema.Value{Kind: schema.StructValue}, outer)
	case f.Type().Kind() == schema.UUID:
		return &schema.Value{Kind: schema.StringValue, String: uuidText([16]byte{})}
	default:
		return &schema.Value{} // Format shows the part that the type has
	}
}
