package codec

import (
	"bytes"
	"context"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
)

// This file compares the codec with the Apache Thrift library on random types
// and values: the same bytes both ways.

// oracle writes values with Apache's library by walking their tags.
type oracle struct {
	t testing.TB
	p thrift.TProtocol
}

func (o oracle) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func ttype(t reflect.Type, text *typeText) thrift.TType {
	switch {
	case text != nil && text.name == "set":
		return thrift.SET
	case text != nil && text.name == "list":
		return thrift.LIST
	case t == reflect.TypeFor[enumeration]():
		return thrift.I32
	}
	switch t.Kind() {
	case reflect.Bool:
		return thrift.BOOL
	case reflect.Int8:
		return thrift.I08
	case reflect.Int16:
		return thrift.I16
	case reflect.Int32:
		return thrift.I32
	case reflect.Int64:
		return thrift.I64
	case reflect.Float64:
		return thrift.DOUBLE
	case reflect.Array:
		return thrift.UUID
	case reflect.Map:
		return thrift.MAP
	case reflect.Struct, reflect.Pointer:
		return thrift.STRUCT
	default:
		return thrift.STRING
	}
}

func (o oracle) structure(v reflect.Value) {
	ctx := context.Background()
	o.must(o.p.WriteStructBegin(ctx, v.Type().Name()))
	for i := range v.NumField() {
		f := v.Type().Field(i)
		tag, ok, err := parseTag(f)
		o.must(err)
		if !ok {
			continue
		}
		fv := v.Field(i)
		if strings.Contains(string(f.Tag), "optional") && nilable(fv.Type()) && fv.IsNil() {
			continue
		}
		if fv.Kind() == reflect.Pointer && fv.Type().Elem().Kind() != reflect.Struct {
			fv = fv.Elem()
		}
		o.must(o.p.WriteFieldBegin(ctx, f.Name, ttype(fv.Type(), tag.typ), tag.id))
		o.value(fv, tag.typ)
	}
	o.must(o.p.WriteFieldStop(ctx))
	o.must(o.p.WriteStructEnd(ctx))
}

func (o oracle) value(v reflect.Value, text *typeText) {
	ctx := context.Background()
	switch v.Kind() {
	case reflect.Bool:
		o.must(o.p.WriteBool(ctx, v.Bool()))
	case reflect.Int8:
		o.must(o.p.WriteByte(ctx, int8(v.Int())))
	case reflect.Int16:
		o.must(o.p.WriteI16(ctx, int16(v.Int())))
	case reflect.Int32:
		o.must(o.p.WriteI32(ctx, int32(v.Int())))
	case reflect.Int64:
		if v.Type() == reflect.TypeFor[enumeration]() {
			o.must(o.p.WriteI32(ctx, int32(v.Int())))
			return
		}
		o.must(o.p.WriteI64(ctx, v.Int()))
	case reflect.Float64:
		o.must(o.p.WriteDouble(ctx, v.Float()))
	case reflect.String:
		o.must(o.p.WriteString(ctx, v.String()))
	case reflect.Array:
		o.must(o.p.WriteUUID(ctx, thrift.Tuuid(v.Interface().([16]byte))))
	case reflect.Slice:
		o.slice(v, text)
	case reflect.Map:
		o.mapping(v, text)
	case reflect.Pointer:
		o.structure(v.Elem())
	case reflect.Struct:
		o.structure(v)
	}
}

func (o oracle) slice(v reflect.Value, text *typeText) {
	ctx := context.Background()
	if v.Type().Elem().Kind() == reflect.Uint8 {
		o.must(o.p.WriteBinary(ctx, v.Bytes()))
		return
	}
	elem := ttype(v.Type().Elem(), text.args[0])
	if text.name == "set" {
		o.must(o.p.WriteSetBegin(ctx, elem, v.Len()))
	} else {
		o.must(o.p.WriteListBegin(ctx, elem, v.Len()))
	}
	for i := range v.Len() {
		o.value(v.Index(i), text.args[0])
	}
}

// mapping writes entries ordered by their encoded keys, as Deterministic does.
func (o oracle) mapping(v reflect.Value, text *typeText) {
	kt, et := ttype(v.Type().Key(), text.args[0]), ttype(v.Type().Elem(), text.args[1])
	o.must(o.p.WriteMapBegin(context.Background(), kt, et, v.Len()))
	encoded := func(k reflect.Value) string {
		buf := thrift.NewTMemoryBuffer()
		var out thrift.TProtocol = thrift.NewTBinaryProtocolConf(buf, nil)
		if _, compact := o.p.(*thrift.TCompactProtocol); compact {
			out = thrift.NewTCompactProtocolConf(buf, nil)
		}
		oracle{o.t, out}.value(k, text.args[0])
		return buf.String()
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(encoded(a), encoded(b)) })
	for _, k := range keys {
		o.value(k, text.args[0])
		o.value(v.MapIndex(k), text.args[1])
	}
}

func apacheBytes(t testing.TB, p Protocol, v reflect.Value) []byte {
	buf := thrift.NewTMemoryBuffer()
	var out thrift.TProtocol = thrift.NewTBinaryProtocolConf(buf, nil)
	if p == Compact {
		out = thrift.NewTCompactProtocolConf(buf, nil)
	}
	oracle{t, out}.structure(v)
	return buf.Bytes()
}

func TestSameBytesAsApacheOnRandomTypes(t *testing.T) {
	types := 300
	if testing.Short() {
		types = 40
	}
	for seed := range types {
		r := rand.New(rand.NewSource(int64(seed)))
		typ := randomStruct(r)
		protocol := []Protocol{Binary, Compact}[seed%2]
		c, err := compile(typ, newConfig([]Option{Deterministic(), Use(protocol)}), shared.pool)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, typ, err)
		}
		for range 5 {
			v := reflect.New(typ)
			fill(r, v.Elem(), 4)
			want := apacheBytes(t, protocol, v.Elem())
			got, err := c.marshal(v.UnsafePointer())
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("seed %d: %s\ngot  %x\nwant %x", seed, typ, got, want)
			}
			back := reflect.New(typ)
			input := bytes.Clone(want)
			n, err := c.decoder.Decode(input, back.UnsafePointer(), nil)
			if err != nil || n != len(want) {
				t.Fatalf("seed %d: took %d of %d: %v", seed, n, len(want), err)
			}
			for i := range input { // the result must not alias the input
				input[i] = 0xAA
			}
			if !reflect.DeepEqual(v.Interface(), back.Interface()) {
				t.Fatalf("seed %d: %s\ngot  %+v\nwant %+v", seed, typ, back, v)
			}
			for n := range min(len(want), 2000) {
				if _, err := c.decoder.Decode(want[:n:n], reflect.New(typ).UnsafePointer(), nil); err == nil {
					t.Fatalf("seed %d: the first %d of %d bytes decode without an error", seed, n, len(want))
				}
			}
		}
	}
}
