package apache

import (
	"context"
	"fmt"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/thrum-rpc/thrum/schema"
)

// This file reads values through the library.

func read(ctx context.Context, p thrift.TProtocol, t *schema.Type) (*schema.Value, error) {
	switch t.Kind() {
	case schema.Bool:
		v, err := p.ReadBool(ctx)
		return &schema.Value{Kind: schema.BoolValue, Bool: v}, err
	case schema.I8:
		v, err := p.ReadByte(ctx)
		return integer(int64(v)), err
	case schema.I16:
		v, err := p.ReadI16(ctx)
		return integer(int64(v)), err
	case schema.I32:
		v, err := p.ReadI32(ctx)
		return integer(int64(v)), err
	case schema.I64:
		v, err := p.ReadI64(ctx)
		return integer(v), err
	case schema.Enum:
		v, err := p.ReadI32(ctx)
		return &schema.Value{Kind: schema.EnumeratorValue, Int: int64(v), Enumerator: t.Enum().ByValue(int64(v))}, err
	case schema.Double:
		v, err := p.ReadDouble(ctx)
		return &schema.Value{Kind: schema.FloatValue, Float: v}, err
	case schema.String:
		v, err := p.ReadString(ctx)
		return text(v), err
	case schema.Binary:
		v, err := p.ReadBinary(ctx)
		return text(string(v)), err
	case schema.UUID:
		v, err := p.ReadUUID(ctx)
		return text(v.String()), err
	case schema.List, schema.Set:
		return readList(ctx, p, t)
	case schema.Map:
		return readMap(ctx, p, t)
	case schema.Struct:
		return readStruct(ctx, p, t.Struct())
	default:
		return nil, fmt.Errorf("apache: no type %s", t)
	}
}

func integer(n int64) *schema.Value { return &schema.Value{Kind: schema.IntValue, Int: n} }
func text(s string) *schema.Value   { return &schema.Value{Kind: schema.StringValue, String: s} }

func readList(ctx context.Context, p thrift.TProtocol, t *schema.Type) (*schema.Value, error) {
	begin, end := p.ReadListBegin, p.ReadListEnd
	if t.Kind() == schema.Set {
		begin, end = p.ReadSetBegin, p.ReadSetEnd
	}
	_, size, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	v := &schema.Value{Kind: schema.ListValue}
	for range size {
		e, err := read(ctx, p, t.Elem())
		if err != nil {
			return nil, err
		}
		v.List = append(v.List, e)
	}
	return v, end(ctx)
}

func readMap(ctx context.Context, p thrift.TProtocol, t *schema.Type) (*schema.Value, error) {
	_, _, size, err := p.ReadMapBegin(ctx)
	if err != nil {
		return nil, err
	}
	v := &schema.Value{Kind: schema.MapValue}
	for range size {
		key, err := read(ctx, p, t.Key())
		if err != nil {
			return nil, err
		}
		elem, err := read(ctx, p, t.Elem())
		if err != nil {
			return nil, err
		}
		v.Map = append(v.Map, schema.MapEntry{Key: key, Value: elem})
	}
	return v, p.ReadMapEnd(ctx)
}

func readStruct(ctx context.Context, p thrift.TProtocol, s *schema.StructDef) (*schema.Value, error) {
	if _, err := p.ReadStructBegin(ctx); err != nil {
		return nil, err
	}
	v := &schema.Value{Kind: schema.StructValue}
	for {
		_, t, id, err := p.ReadFieldBegin(ctx)
		if err != nil {
			return nil, err
		}
		if t == thrift.STOP {
			return v, p.ReadStructEnd(ctx)
		}
		f := s.FieldByID(int32(id))
		if f == nil || ttype(f.Type()) != t {
			if err := p.Skip(ctx, t); err != nil {
				return nil, err
			}
		} else {
			e, err := read(ctx, p, f.Type())
			if err != nil {
				return nil, err
			}
			v.Fields = append(v.Fields, schema.FieldValue{Field: f, Value: e})
		}
		if err := p.ReadFieldEnd(ctx); err != nil {
			return nil, err
		}
	}
}
