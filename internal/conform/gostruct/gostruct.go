// Package gostruct turns schemas into tagged Go struct types and values into
// structs of them, so that codecs for Go structs can run the corpus and meet
// random schemas. It is for tests only and knows the tags of package codec,
// not the codec.
package gostruct

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
)

// Enum and WideEnum are the Go types of enums.
type (
	Enum     int32
	WideEnum int64
)

// Style chooses among the Go types that a schema may have.
type Style struct {
	// Named has the types of structs by name. Structs that refer to themselves
	// or have defaults, and unions, can only be these: such types cannot be
	// made at run time.
	Named map[string]reflect.Type
	// ByValue holds structs by value where it can, not by pointer.
	ByValue bool
	// WideEnums makes enums of 64 bits.
	WideEnums bool
}

// ErrNoType is what Struct returns for schemas that Go has no type for.
var ErrNoType = errors.New("gostruct: no Go type")

// Struct returns the Go type of a struct, union or exception.
func (s *Style) Struct(d *schema.StructDef) (reflect.Type, error) {
	return s.structure(d, nil)
}

func (s *Style) structure(d *schema.StructDef, outer []*schema.StructDef) (reflect.Type, error) {
	if t := s.Named[d.Name()]; t != nil {
		return t, nil
	}
	if d.Flavor() == schema.Union {
		return nil, fmt.Errorf("%w: union %s", ErrNoType, d.Name())
	}
	for _, o := range outer {
		if o == d {
			return nil, fmt.Errorf("%w: %s refers to itself", ErrNoType, d.Name())
		}
	}
	var fields []reflect.StructField
	for _, f := range d.Fields() {
		if f.Default() != nil {
			return nil, fmt.Errorf("%w: %s has defaults", ErrNoType, d.Name())
		}
		t, err := s.field(f, append(outer, d))
		if err != nil {
			return nil, err
		}
		tag := fmt.Sprintf(`thrift:"%s" frugal:"%d,%s,%s"`, f.Name(), uint16(f.ID()), f.Requiredness(), text(f.Type()))
		fields = append(fields, reflect.StructField{Name: goName(f), Type: t, Tag: reflect.StructTag(tag)})
	}
	return reflect.StructOf(fields), nil
}

// goName is the name of a field in Go; types by hand follow it too.
func goName(f *schema.Field) string { return strings.ToUpper(f.Name()[:1]) + f.Name()[1:] }

// text is a type as tags have it.
func text(t *schema.Type) string {
	switch t.Kind() {
	case schema.Map:
		return "map<" + text(t.Key()) + ":" + text(t.Elem()) + ">"
	case schema.List, schema.Set:
		return t.Kind().String() + "<" + text(t.Elem()) + ">"
	default:
		return t.String()
	}
}

func (s *Style) field(f *schema.Field, outer []*schema.StructDef) (reflect.Type, error) {
	t, err := s.value(f.Type(), outer)
	if err != nil || f.Requiredness() != schema.Optional {
		return t, err
	}
	switch f.Type().Kind() {
	case schema.List, schema.Set, schema.Map, schema.Binary:
		return t, nil // nil is absent
	}
	if t.Kind() == reflect.Pointer {
		return t, nil
	}
	return reflect.PointerTo(t), nil
}

var scalars = map[schema.Kind]reflect.Type{
	schema.Bool: reflect.TypeFor[bool](), schema.I8: reflect.TypeFor[int8](), schema.I16: reflect.TypeFor[int16](),
	schema.I32: reflect.TypeFor[int32](), schema.I64: reflect.TypeFor[int64](), schema.Float: reflect.TypeFor[float32](),
	schema.Double: reflect.TypeFor[float64](), schema.String: reflect.TypeFor[string](),
	schema.Binary: reflect.TypeFor[[]byte](), schema.UUID: reflect.TypeFor[[16]byte](),
}

func (s *Style) value(t *schema.Type, outer []*schema.StructDef) (reflect.Type, error) {
	switch t.Kind() {
	case schema.Enum:
		if s.WideEnums {
			return reflect.TypeFor[WideEnum](), nil
		}
		return reflect.TypeFor[Enum](), nil
	case schema.List, schema.Set:
		elem, err := s.value(t.Elem(), outer)
		if err != nil {
			return nil, err
		}
		return reflect.SliceOf(elem), nil
	case schema.Map:
		key, err := s.key(t.Key(), outer)
		if err != nil {
			return nil, err
		}
		elem, err := s.value(t.Elem(), outer)
		if err != nil {
			return nil, err
		}
		return reflect.MapOf(key, elem), nil
	case schema.Struct:
		g, err := s.structure(t.Struct(), outer)
		if err != nil || s.ByValue && s.Named[t.Struct().Name()] == nil {
			return g, err
		}
		return reflect.PointerTo(g), nil
	default:
		return scalars[t.Kind()], nil
	}
}

// key returns the Go type of a map's key.
func (s *Style) key(t *schema.Type, outer []*schema.StructDef) (reflect.Type, error) {
	switch t.Kind() {
	case schema.Binary:
		return scalars[schema.String], nil
	case schema.Struct:
		g, err := s.structure(t.Struct(), outer)
		if err != nil {
			return nil, err
		}
		return reflect.PointerTo(g), nil
	case schema.List, schema.Set, schema.Map:
		return nil, fmt.Errorf("%w: a key of type %s", ErrNoType, t)
	default:
		return s.value(t, outer)
	}
}
