package gostruct

import (
	"encoding/hex"
	"math"
	"reflect"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
)

// This file converts values to Go structs and back.

type initializer interface{ InitDefault() }

// Set stores v, a value of type t, at dst, which can be set and holds zero.
// Fields of a struct that v does not have keep their defaults, if the type
// sets any, or stay zero or nil.
func Set(dst reflect.Value, t *schema.Type, v *schema.Value) {
	if dst.Kind() == reflect.Pointer {
		dst.Set(reflect.New(dst.Type().Elem()))
		dst = dst.Elem()
	}
	switch t.Kind() {
	case schema.Bool:
		dst.SetBool(v.Bool)
	case schema.Float, schema.Double:
		dst.SetFloat(v.Float)
	case schema.UUID:
		raw, err := hex.DecodeString(strings.ReplaceAll(v.String, "-", ""))
		if err != nil {
			panic(err)
		}
		reflect.Copy(dst, reflect.ValueOf(raw))
	case schema.String, schema.Binary:
		if dst.Kind() == reflect.String {
			dst.SetString(v.String)
		} else {
			dst.SetBytes([]byte(v.String))
		}
	case schema.List, schema.Set:
		dst.Set(reflect.MakeSlice(dst.Type(), len(v.List), len(v.List)))
		for i, e := range v.List {
			Set(dst.Index(i), t.Elem(), e)
		}
	case schema.Map:
		dst.Set(reflect.MakeMapWithSize(dst.Type(), len(v.Map)))
		for _, e := range v.Map {
			key, elem := reflect.New(dst.Type().Key()).Elem(), reflect.New(dst.Type().Elem()).Elem()
			Set(key, t.Key(), e.Key)
			Set(elem, t.Elem(), e.Value)
			dst.SetMapIndex(key, elem)
		}
	case schema.Struct:
		if d, ok := dst.Addr().Interface().(initializer); ok {
			d.InitDefault()
		}
		for _, f := range v.Fields {
			Set(dst.FieldByName(goName(f.Field)), f.Field.Type(), f.Value)
		}
	default: // integers, enums
		dst.SetInt(v.Int)
	}
}

// Get returns what src holds as a value of type t. Fields that are nil are
// absent.
func Get(src reflect.Value, t *schema.Type) *schema.Value {
	if src.Kind() == reflect.Pointer {
		src = src.Elem()
	}
	switch t.Kind() {
	case schema.Bool:
		return &schema.Value{Kind: schema.BoolValue, Bool: src.Bool()}
	case schema.Float, schema.Double:
		f := src.Float()
		if t.Kind() == schema.Float && f != f {
			f = math.NaN() // widening changes the bits
		}
		return &schema.Value{Kind: schema.FloatValue, Float: f}
	case schema.UUID:
		u := src.Interface().([16]byte)
		h := hex.EncodeToString(u[:])
		text := strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
		return &schema.Value{Kind: schema.StringValue, String: text}
	case schema.String, schema.Binary:
		if src.Kind() == reflect.String {
			return &schema.Value{Kind: schema.StringValue, String: strings.Clone(src.String())}
		}
		return &schema.Value{Kind: schema.StringValue, String: string(src.Bytes())}
	case schema.List, schema.Set:
		v := &schema.Value{Kind: schema.ListValue}
		for i := range src.Len() {
			v.List = append(v.List, Get(src.Index(i), t.Elem()))
		}
		return v
	case schema.Map:
		v := &schema.Value{Kind: schema.MapValue}
		for it := src.MapRange(); it.Next(); {
			v.Map = append(v.Map, schema.MapEntry{Key: Get(it.Key(), t.Key()), Value: Get(it.Value(), t.Elem())})
		}
		return v
	case schema.Struct:
		return getStruct(src, t.Struct())
	case schema.Enum:
		return &schema.Value{Kind: schema.EnumeratorValue, Int: src.Int(), Enumerator: t.Enum().ByValue(src.Int())}
	default:
		return &schema.Value{Kind: schema.IntValue, Int: src.Int()}
	}
}

func getStruct(src reflect.Value, s *schema.StructDef) *schema.Value {
	v := &schema.Value{Kind: schema.StructValue}
	for _, f := range s.Fields() {
		field := src.FieldByName(goName(f))
		switch field.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			if field.IsNil() {
				continue
			}
		}
		v.Fields = append(v.Fields, schema.FieldValue{Field: f, Value: Get(field, f.Type())})
	}
	return v
}
