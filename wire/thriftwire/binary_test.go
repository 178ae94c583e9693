package thriftwire_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"pgregory.net/rapid"
)

var ctx = context.Background()

// apache returns Apache's strict binary protocol on a buffer that holds b.
func apache(b []byte) (*thrift.TMemoryBuffer, *thrift.TBinaryProtocol) {
	buf := thrift.NewTMemoryBuffer()
	buf.Write(b)
	strict := true
	return buf, thrift.NewTBinaryProtocolConf(buf, &thrift.TConfiguration{TBinaryStrictRead: &strict, TBinaryStrictWrite: &strict})
}

// agrees checks that we write v as Apache does, that each side reads what the
// other wrote, and that every shorter input is an unexpected EOF.
func agrees[T any](t *rapid.T, v T, equal func(a, b T) bool,
	appendTo func([]byte, T) []byte, consume func([]byte) (T, int),
	write func(*thrift.TBinaryProtocol, T) error, read func(*thrift.TBinaryProtocol) (T, error),
) {
	t.Helper()
	buf, p := apache(nil)
	if err := write(p, v); err != nil {
		t.Fatalf("Apache cannot write %v: %v", v, err)
	}
	p.Flush(ctx)
	want := buf.Bytes()
	got := appendTo([]byte("kept"), v)
	if !bytes.Equal(got, append([]byte("kept"), want...)) {
		t.Fatalf("%v: wrote %x, Apache %x", v, got[4:], want)
	}
	if back, n := consume(append(bytes.Clone(want), 0xff)); n != len(want) || !equal(back, v) {
		t.Fatalf("%v: read %v of %d bytes", v, back, n)
	}
	_, p = apache(got[4:])
	if back, err := read(p); err != nil || !equal(back, v) {
		t.Fatalf("%v: Apache read %v, %v", v, back, err)
	}
	var zero T
	for i := range want {
		if back, n := consume(want[:i]); n != thriftwire.ErrEOF || !equal(back, zero) {
			t.Fatalf("%v cut to %d bytes: %v, %d", v, i, back, n)
		}
	}
}

func same[T comparable](a, b T) bool { return a == b }

func TestScalarsAgreeWithApache(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		agrees(t, rapid.Bool().Draw(t, "bool"), same, thriftwire.AppendBool, thriftwire.ConsumeBool,
			func(p *thrift.TBinaryProtocol, v bool) error { return p.WriteBool(ctx, v) },
			func(p *thrift.TBinaryProtocol) (bool, error) { return p.ReadBool(ctx) })
		agrees(t, rapid.Int8().Draw(t, "i8"), same, thriftwire.AppendI8, thriftwire.ConsumeI8,
			func(p *thrift.TBinaryProtocol, v int8) error { return p.WriteByte(ctx, v) },
			func(p *thrift.TBinaryProtocol) (int8, error) { return p.ReadByte(ctx) })
		agrees(t, rapid.Int16().Draw(t, "i16"), same, thriftwire.AppendI16, thriftwire.ConsumeI16,
			func(p *thrift.TBinaryProtocol, v int16) error { return p.WriteI16(ctx, v) },
			func(p *thrift.TBinaryProtocol) (int16, error) { return p.ReadI16(ctx) })
		agrees(t, rapid.Int32().Draw(t, "i32"), same, thriftwire.AppendI32, thriftwire.ConsumeI32,
			func(p *thrift.TBinaryProtocol, v int32) error { return p.WriteI32(ctx, v) },
			func(p *thrift.TBinaryProtocol) (int32, error) { return p.ReadI32(ctx) })
		agrees(t, rapid.Int64().Draw(t, "i64"), same, thriftwire.AppendI64, thriftwire.ConsumeI64,
			func(p *thrift.TBinaryProtocol, v int64) error { return p.WriteI64(ctx, v) },
			func(p *thrift.TBinaryProtocol) (int64, error) { return p.ReadI64(ctx) })
		agrees(t, anyDouble.Draw(t, "double"), sameBits, thriftwire.AppendDouble, thriftwire.ConsumeDouble,
			func(p *thrift.TBinaryProtocol, v float64) error { return p.WriteDouble(ctx, v) },
			func(p *thrift.TBinaryProtocol) (float64, error) { return p.ReadDouble(ctx) })
		agrees(t, [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid")), same, thriftwire.AppendUUID, thriftwire.ConsumeUUID,
			func(p *thrift.TBinaryProtocol, v [16]byte) error { return p.WriteUUID(ctx, v) },
			func(p *thrift.TBinaryProtocol) ([16]byte, error) { return p.ReadUUID(ctx) })
		agrees(t, rapid.SliceOf(rapid.Byte()).Draw(t, "binary"), bytes.Equal, thriftwire.AppendBytes, thriftwire.ConsumeBytes,
			func(p *thrift.TBinaryProtocol, v []byte) error { return p.WriteBinary(ctx, v) },
			func(p *thrift.TBinaryProtocol) ([]byte, error) { return p.ReadBinary(ctx) })
		agrees(t, rapid.String().Draw(t, "string"), same, thriftwire.AppendString,
			func(b []byte) (string, int) { s, n := thriftwire.ConsumeBytes(b); return string(s), n },
			func(p *thrift.TBinaryProtocol, v string) error { return p.WriteString(ctx, v) },
			func(p *thrift.TBinaryProtocol) (string, error) { return p.ReadString(ctx) })
	})
}

// anyDouble is any pattern of 64 bits, NaNs with a payload among them.
var anyDouble = rapid.Map(rapid.Uint64(), math.Float64frombits)

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// Apache's library has no float; the bytes are fbthrift's, from its description.
func TestFloatIsFourBytesBigEndian(t *testing.T) {
	if got, want := thriftwire.AppendFloat(nil, 1.5), []byte{0x3f, 0xc0, 0, 0}; !bytes.Equal(got, want) {
		t.Errorf("1.5 is %x, want %x", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.Uint32().Draw(t, "bits")
		b := thriftwire.AppendFloat(nil, math.Float32frombits(bits))
		if v, n := thriftwire.ConsumeFloat(b); n != 4 || math.Float32bits(v) != bits {
			t.Fatalf("%08x came back as %08x, %d", bits, math.Float32bits(v), n)
		}
		if _, n := thriftwire.ConsumeFloat(b[:3]); n != thriftwire.ErrEOF {
			t.Fatalf("three bytes are a float: %d", n)
		}
	})
}

var allTypes = []thriftwire.Type{
	thriftwire.Bool, thriftwire.I8, thriftwire.Double, thriftwire.I16, thriftwire.I32, thriftwire.I64, thriftwire.String,
	thriftwire.Struct, thriftwire.Map, thriftwire.Set, thriftwire.List, thriftwire.UUID, thriftwire.Float,
}

func TestHeadersAgreeWithApache(t *testing.T) {
	type field struct {
		t  thriftwire.Type
		id int16
	}
	type container struct {
		key, elem thriftwire.Type
		size      int
	}
	rapid.Check(t, func(t *rapid.T) {
		anyType := rapid.SampledFrom(allTypes)
		agrees(t, field{anyType.Draw(t, "type"), rapid.Int16().Draw(t, "id")}, same,
			func(b []byte, v field) []byte { return thriftwire.AppendField(b, v.t, v.id) },
			func(b []byte) (v field, n int) { v.t, v.id, n = thriftwire.ConsumeField(b); return },
			func(p *thrift.TBinaryProtocol, v field) error {
				return p.WriteFieldBegin(ctx, "", thrift.TType(v.t), v.id)
			},
			func(p *thrift.TBinaryProtocol) (field, error) {
				_, typ, id, err := p.ReadFieldBegin(ctx)
				return field{thriftwire.Type(typ), id}, err
			})
		// Readers refuse a size that the input cannot hold, so sizes other
		// than 0 are checked on whole values in other tests.
		agrees(t, container{elem: anyType.Draw(t, "elem")}, same,
			func(b []byte, v container) []byte { return thriftwire.AppendList(b, v.elem, v.size) },
			func(b []byte) (v container, n int) { v.elem, v.size, n = thriftwire.ConsumeList(b); return },
			func(p *thrift.TBinaryProtocol, v container) error {
				return p.WriteListBegin(ctx, thrift.TType(v.elem), v.size)
			},
			func(p *thrift.TBinaryProtocol) (container, error) {
				typ, size, err := p.ReadListBegin(ctx)
				return container{0, thriftwire.Type(typ), size}, err
			})
		agrees(t, container{anyType.Draw(t, "key"), anyType.Draw(t, "elem"), 0}, same,
			func(b []byte, v container) []byte { return thriftwire.AppendMap(b, v.key, v.elem, v.size) },
			func(b []byte) (v container, n int) { v.key, v.elem, v.size, n = thriftwire.ConsumeMap(b); return },
			func(p *thrift.TBinaryProtocol, v container) error {
				return p.WriteMapBegin(ctx, thrift.TType(v.key), thrift.TType(v.elem), v.size)
			},
			func(p *thrift.TBinaryProtocol) (container, error) {
				key, elem, size, err := p.ReadMapBegin(ctx)
				return container{thriftwire.Type(key), thriftwire.Type(elem), size}, err
			})
	})
	if got := thriftwire.AppendStop(nil); !bytes.Equal(got, []byte{0}) {
		t.Errorf("stop is %x", got)
	}
	if typ, id, n := thriftwire.ConsumeField([]byte{0, 9, 9}); typ != thriftwire.Stop || id != 0 || n != 1 {
		t.Errorf("stop reads as %v, %d, %d", typ, id, n)
	}
}

func TestHeadersRefuseWhatCannotBe(t *testing.T) {
	list := func(b string) int { _, _, n := thriftwire.ConsumeList([]byte(b)); return n }
	dict := func(b string) int { _, _, _, n := thriftwire.ConsumeMap([]byte(b)); return n }
	field := func(b string) int { _, _, n := thriftwire.ConsumeField([]byte(b)); return n }
	bin := func(b string) int { _, n := thriftwire.ConsumeBytes([]byte(b)); return n }
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"a string of negative length", bin("\xff\xff\xff\xff"), thriftwire.ErrLength},
		{"a string longer than the input", bin("\x7f\xff\xff\xffabc"), thriftwire.ErrEOF},
		{"a field of type 1", field("\x01\x00\x01"), thriftwire.ErrType},
		{"a field of type 255", field("\xff"), thriftwire.ErrType},
		{"a list of negative size", list("\x08\x80\x00\x00\x00"), thriftwire.ErrLength},
		{"a list of a type that does not exist", list("\x05\x00\x00\x00\x01\x00"), thriftwire.ErrType},
		{"an empty list of no type", list("\x00\x00\x00\x00\x00"), 5},
		{"two i32 in the space of two", list("\x08\x00\x00\x00\x02________"), 5},
		{"two i32 in the space of almost two", list("\x08\x00\x00\x00\x02_______"), thriftwire.ErrEOF},
		{"two lists in the space of two empty ones", list("\x0f\x00\x00\x00\x02__________"), 5},
		{"two lists in less", list("\x0f\x00\x00\x00\x02_________"), thriftwire.ErrEOF},
		{"two thousand million booleans in no space", list("\x02\x7f\xff\xff\xff"), thriftwire.ErrEOF},
		{"a map of negative size", dict("\x08\x08\xff\xff\xff\xff"), thriftwire.ErrLength},
		{"a map whose key does not exist", dict("\x00\x08\x00\x00\x00\x01_____"), thriftwire.ErrType},
		{"a map whose value does not exist", dict("\x08\x07\x00\x00\x00\x01_____"), thriftwire.ErrType},
		{"an empty map of no type", dict("\x00\x00\x00\x00\x00\x00"), 6},
		{"two i8 and strings in the space of two", dict("\x03\x0b\x00\x00\x00\x02__________"), 6},
		{"two i8 and strings in less", dict("\x03\x0b\x00\x00\x00\x02_________"), thriftwire.ErrEOF},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d (%v), want %d", c.what, c.got, thriftwire.Error(c.got), c.want)
		}
	}
}

func TestBoolTakesEveryByteButZeroAsTrue(t *testing.T) {
	for i := range 256 {
		if v, n := thriftwire.ConsumeBool([]byte{byte(i)}); n != 1 || v != (i != 0) {
			t.Errorf("%d is %v, %d", i, v, n)
		}
	}
}

func TestAppendingToWhatWasConsumedLeavesTheInputAlone(t *testing.T) {
	b := thriftwire.AppendString(nil, "abc")
	b = append(b, "rest"...)
	v, n := thriftwire.ConsumeBytes(b)
	_ = append(v, "XYZ"...)
	if string(b[n:]) != "rest" {
		t.Errorf("the input became %q", b)
	}
	b = thriftwire.AppendMessage(nil, thriftwire.Call, "m", 1)
	m, _ := thriftwire.ConsumeMessage(b)
	_ = append(m.Name, "XYZ"...)
	if !bytes.Equal(b, thriftwire.AppendMessage(nil, thriftwire.Call, "m", 1)) {
		t.Errorf("the input became %q", b)
	}
}
