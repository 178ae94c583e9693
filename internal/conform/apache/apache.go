// Package apache lets the Apache Thrift library for Go write and read the
// values of package conform, as an oracle for tests. It has no float, which
// only fbthrift knows.
package apache

import (
	"context"
	"fmt"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/schema"
)

// Protocol returns the library's protocol of that name on a buffer that holds
// b. Binary is strict. FBThrift is not the library's and panics.
func Protocol(p conform.Protocol, b []byte) (*thrift.TMemoryBuffer, thrift.TProtocol) {
	buf := thrift.NewTMemoryBuffer()
	buf.Write(b)
	strict := true
	conf := &thrift.TConfiguration{TBinaryStrictRead: &strict, TBinaryStrictWrite: &strict}
	switch p {
	case conform.Binary:
		return buf, thrift.NewTBinaryProtocolConf(buf, conf)
	case conform.Apache:
		return buf, thrift.NewTCompactProtocolConf(buf, conf)
	default:
		panic("apache: no protocol " + p.String())
	}
}

// Encode returns the library's encoding of v.
func Encode(p conform.Protocol, t *schema.Type, v *schema.Value) ([]byte, error) {
	buf, proto := Protocol(p, nil)
	if err := write(context.Background(), proto, t, v); err != nil {
		return nil, err
	}
	if err := proto.Flush(context.Background()); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// Decode returns what the library reads from b and the number of bytes that it took.
func Decode(p conform.Protocol, t *schema.Type, b []byte) (*schema.Value, int, error) {
	buf, proto := Protocol(p, b)
	v, err := read(context.Background(), proto, t)
	return v, len(b) - buf.Len(), err
}

// Skip returns the number of bytes that the library skips for a value of type t.
func Skip(p conform.Protocol, t *schema.Type, b []byte) (int, error) {
	buf, proto := Protocol(p, b)
	err := proto.Skip(context.Background(), ttype(t))
	return len(b) - buf.Len(), err
}

func ttype(t *schema.Type) thrift.TType { return thrift.TType(conform.Wire(t)) }

func write(ctx context.Context, p thrift.TProtocol, t *schema.Type, v *schema.Value) error {
	switch t.Kind() {
	case schema.Bool:
		return p.WriteBool(ctx, v.Bool)
	case schema.I8:
		return p.WriteByte(ctx, int8(v.Int))
	case schema.I16:
		return p.WriteI16(ctx, int16(v.Int))
	case schema.I32, schema.Enum:
		return p.WriteI32(ctx, int32(v.Int))
	case schema.I64:
		return p.WriteI64(ctx, v.Int)
	case schema.Double:
		return p.WriteDouble(ctx, v.Float)
	case schema.String:
		return p.WriteString(ctx, v.String)
	case schema.Binary:
		return p.WriteBinary(ctx, []byte(v.String))
	case schema.UUID:
		u, err := thrift.ParseTuuid(v.String)
		if err != nil {
			return err
		}
		return p.WriteUUID(ctx, u)
	case schema.List, schema.Set:
		return writeList(ctx, p, t, v)
	case schema.Map:
		return writeMap(ctx, p, t, v)
	case schema.Struct:
		return writeStruct(ctx, p, v)
	default:
		return fmt.Errorf("apache: no type %s", t)
	}
}

func writeList(ctx context.Context, p thrift.TProtocol, t *schema.Type, v *schema.Value) error {
	begin, end := p.WriteListBegin, p.WriteListEnd
	if t.Kind() == schema.Set {
		begin, end = p.WriteSetBegin, p.WriteSetEnd
	}
	if err := begin(ctx, ttype(t.Elem()), len(v.List)); err != nil {
		return err
	}
	for _, e := range v.List {
		if err := write(ctx, p, t.Elem(), e); err != nil {
			return err
		}
	}
	return end(ctx)
}

func writeMap(ctx context.Context, p thrift.TProtocol, t *schema.Type, v *schema.Value) error {
	if err := p.WriteMapBegin(ctx, ttype(t.Key()), ttype(t.Elem()), len(v.Map)); err != nil {
		return err
	}
	for _, e := range v.Map {
		if err := write(ctx, p, t.Key(), e.Key); err != nil {
			return err
		}
		if err := write(ctx, p, t.Elem(), e.Value); err != nil {
			return err
		}
	}
	return p.WriteMapEnd(ctx)
}

func writeStruct(ctx context.Context, p thrift.TProtocol, v *schema.Value) error {
	if err := p.WriteStructBegin(ctx, ""); err != nil {
		return err
	}
	for _, f := range v.Fields {
		if err := p.WriteFieldBegin(ctx, f.Field.Name(), ttype(f.Field.Type()), int16(f.Field.ID())); err != nil {
			return err
		}
		if err := write(ctx, p, f.Field.Type(), f.Value); err != nil {
			return err
		}
		if err := p.WriteFieldEnd(ctx); err != nil {
			return err
		}
	}
	if err := p.WriteFieldStop(ctx); err != nil {
		return err
	}
	return p.WriteStructEnd(ctx)
}
