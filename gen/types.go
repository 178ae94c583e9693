package gen

// How types of the schema are written in Go and in struct tags.

import (
	"github.com/thrum-rpc/thrum/schema"
)

var goKinds = map[schema.Kind]string{
	schema.Bool: "bool", schema.I8: "int8", schema.I16: "int16", schema.I32: "int32", schema.I64: "int64",
	schema.Float: "float32", schema.Double: "float64", schema.String: "string", schema.Binary: "[]byte",
	schema.UUID: "[16]byte",
}

// goType returns the Go type of a value that is always there: an argument, an
// element, a field without a pointer of its own.
func (f *goFile) goType(t *schema.Type) string {
	if t.Kind() == schema.Struct {
		return "*" + f.structType(t)
	}
	if named := f.annotatedType(t); named != "" {
		return named
	}
	if d := t.Typedef(); d != nil {
		if td := f.generator.typedefs[d]; td != nil {
			return f.qualified(td.pkg, td.Name)
		}
	}
	return f.underlying(t)
}

// structType returns the name of a struct type, without a pointer.
func (f *goFile) structType(t *schema.Type) string {
	if d := t.Typedef(); d != nil {
		if td := f.generator.typedefs[d]; td != nil {
			return f.qualified(td.pkg, td.Name)
		}
	}
	s := f.generator.structs[t.Struct()]
	return f.qualified(s.pkg, s.Name)
}

// underlying returns the Go type that t's typedef, if it has one, stands for.
func (f *goFile) underlying(t *schema.Type) string {
	switch t.Kind() {
	case schema.Struct:
		s := f.generator.structs[t.Struct()]
		return f.qualified(s.pkg, s.Name)
	case schema.Enum:
		e := f.generator.enums[t.Enum()]
		return f.qualified(e.pkg, e.Name)
	case schema.List, schema.Set:
		return "[]" + f.elemType(t)
	case schema.Map:
		return "map[" + f.keyType(t) + "]" + f.elemType(t)
	default:
		return goKinds[t.Kind()]
	}
}

// elemType returns the Go type of the elements of container t.
func (f *goFile) elemType(t *schema.Type) string {
	if f.opts.structValues && t.Elem().Kind() == schema.Struct {
		return f.structType(t.Elem())
	}
	return f.goType(t.Elem())
}

// keyType returns the Go type of the keys of map t. Slices are no keys, so
// binary becomes string.
func (f *goFile) keyType(t *schema.Type) string {
	if t.Key().Kind() == schema.Binary {
		return "string"
	}
	return f.goType(t.Key())
}

// tagType returns the type in the notation of the frugal tag.
func (f *goFile) tagType(t *schema.Type) string {
	switch t.Kind() {
	case schema.Struct:
		s := f.generator.structs[t.Struct()]
		if s.pkg != f.pkg {
			return s.pkg.name + "." + s.Name
		}
		return s.Name
	case schema.Enum:
		return f.generator.enums[t.Enum()].Name
	case schema.List, schema.Set:
		return t.Kind().String() + "<" + f.tagType(t.Elem()) + ">"
	case schema.Map:
		key := f.tagType(t.Key())
		if t.Key().Kind() == schema.Binary {
			key = "string"
		}
		return "map<" + key + ":" + f.tagType(t.Elem()) + ">"
	default:
		return t.Kind().String()
	}
}

// optional reports whether an absent field can be told from a present one.
// Thrift gives the word no meaning for arguments.
func (f *goField) optional() bool {
	return !f.owner.argument && (f.Requiredness() == schema.Optional || f.owner.Flavor() == schema.Union)
}

// defaultValue returns the declared default. A union has none: the field that
// is set is its value.
func (f *goField) defaultValue() *schema.Value {
	if f.owner.Flavor() == schema.Union {
		return nil
	}
	return f.Field.Default()
}

// pointer reports whether the field's Go type is a pointer to a scalar. With a
// default the absent value is the default, as in Kitex.
func (f *goField) pointer() bool {
	return f.optional() && isScalar(f.Field.Type()) && f.defaultValue() == nil
}

func isScalar(t *schema.Type) bool {
	k := t.Kind()
	return k != schema.Binary && k != schema.Struct && !k.IsContainer()
}

// hasDefaultName reports whether the field's default is a constant of its own.
func (f *goField) hasDefaultName() bool {
	v := f.defaultValue()
	return !f.owner.Synthetic && f.optional() && v != nil && isConstant(v, f.Field.Type())
}

// Type returns the Go type of the field.
func (f *goField) Type() string {
	if f.pointer() {
		return "*" + f.ValueType()
	}
	return f.ValueType()
}

// ValueType returns the Go type of the field's value, which getters return.
func (f *goField) ValueType() string { return f.owner.goType(f.valueType()) }

// valueType returns the field's type, with the field's own go.type before that
// of the type.
func (f *goField) valueType() *schema.Type {
	if a, ok := f.Annotations().Get("go.type"); ok {
		return f.Field.Type().WithAnnotations(schema.Annotations{a})
	}
	return f.Field.Type()
}
