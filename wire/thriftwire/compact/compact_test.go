package compact_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/internal/conform/apache"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
	"pgregory.net/rapid"
)

// Whole values of every type are held to Apache's library in package
// internal/conform/apache; here are the parts.

var ctx = context.Background()

// agrees checks that we write v as Apache does and in the size announced, that
// each side reads what the other wrote, and that every shorter input is an
// unexpected EOF.
func agrees[T any](t *rapid.T, v T, equal func(a, b T) bool, size int,
	appendTo func([]byte, T) []byte, consume func([]byte) (T, int),
	write func(thrift.TProtocol, T) error, read func(thrift.TProtocol) (T, error),
) {
	t.Helper()
	buf, p := apache.Protocol(conform.Apache, nil)
	if err := write(p, v); err != nil {
		t.Fatalf("Apache cannot write %v: %v", v, err)
	}
	p.Flush(ctx)
	want := buf.Bytes()
	got := appendTo([]byte("kept"), v)
	if !bytes.Equal(got, append([]byte("kept"), want...)) || size != len(want) {
		t.Fatalf("%v: wrote %x and announced %d bytes, Apache %x", v, got[4:], size, want)
	}
	if back, n := consume(append(bytes.Clone(want), 0xff)); n != len(want) || !equal(back, v) {
		t.Fatalf("%v: read %v of %d bytes", v, back, n)
	}
	_, p = apache.Protocol(conform.Apache, got[4:])
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
		agrees(t, rapid.Bool().Draw(t, "bool"), same, 1, compact.AppendBool, compact.ConsumeBool,
			func(p thrift.TProtocol, v bool) error { return p.WriteBool(ctx, v) },
			func(p thrift.TProtocol) (bool, error) { return p.ReadBool(ctx) })
		agrees(t, rapid.Int8().Draw(t, "i8"), same, 1, compact.AppendI8, compact.ConsumeI8,
			func(p thrift.TProtocol, v int8) error { return p.WriteByte(ctx, v) },
			func(p thrift.TProtocol) (int8, error) { return p.ReadByte(ctx) })
		short := rapid.Int16().Draw(t, "i16")
		agrees(t, short, same, compact.SizeI16(short), compact.AppendI16, compact.ConsumeI16,
			func(p thrift.TProtocol, v int16) error { return p.WriteI16(ctx, v) },
			func(p thrift.TProtocol) (int16, error) { return p.ReadI16(ctx) })
		number := anyI32.Draw(t, "i32")
		agrees(t, number, same, compact.SizeI32(number), compact.AppendI32, compact.ConsumeI32,
			func(p thrift.TProtocol, v int32) error { return p.WriteI32(ctx, v) },
			func(p thrift.TProtocol) (int32, error) { return p.ReadI32(ctx) })
		long := anyI64.Draw(t, "i64")
		agrees(t, long, same, compact.SizeI64(long), compact.AppendI64, compact.ConsumeI64,
			func(p thrift.TProtocol, v int64) error { return p.WriteI64(ctx, v) },
			func(p thrift.TProtocol) (int64, error) { return p.ReadI64(ctx) })
		agrees(t, math.Float64frombits(rapid.Uint64().Draw(t, "double")),
			func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }, 8,
			compact.Apache.AppendDouble, compact.Apache.ConsumeDouble,
			func(p thrift.TProtocol, v float64) error { return p.WriteDouble(ctx, v) },
			func(p thrift.TProtocol) (float64, error) { return p.ReadDouble(ctx) })
		agrees(t, [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid")), same, 16, compact.AppendUUID, compact.ConsumeUUID,
			func(p thrift.TProtocol, v [16]byte) error { return p.WriteUUID(ctx, v) },
			func(p thrift.TProtocol) ([16]byte, error) { return p.ReadUUID(ctx) })
		binary := rapid.SliceOfN(rapid.Byte(), -1, 300).Draw(t, "binary")
		agrees(t, binary, bytes.Equal, compact.SizeBytes(len(binary)), compact.AppendBytes, compact.ConsumeBytes,
			func(p thrift.TProtocol, v []byte) error { return p.WriteBinary(ctx, v) },
			func(p thrift.TProtocol) ([]byte, error) { return p.ReadBinary(ctx) })
		text := rapid.String().Draw(t, "string")
		agrees(t, text, same, compact.SizeBytes(len(text)), compact.AppendString,
			func(b []byte) (string, int) { s, n := compact.ConsumeBytes(b); return string(s), n },
			func(p thrift.TProtocol, v string) error { return p.WriteString(ctx, v) },
			func(p thrift.TProtocol) (string, error) { return p.ReadString(ctx) })
	})
}

// Numbers of every length, not only the long ones that most random bits make.
var (
	anyI32 = rapid.Custom(func(t *rapid.T) int32 { return rapid.Int32().Draw(t, "bits") >> rapid.IntRange(0, 31).Draw(t, "shift") })
	anyI64 = rapid.Custom(func(t *rapid.T) int64 { return rapid.Int64().Draw(t, "bits") >> rapid.IntRange(0, 63).Draw(t, "shift") })
)

func TestMessagesAgreeWithApache(t *testing.T) {
	type envelope struct {
		t    thriftwire.MessageType
		name string
		seq  int32
	}
	rapid.Check(t, func(t *rapid.T) {
		v := envelope{thriftwire.MessageType(rapid.IntRange(1, 4).Draw(t, "type")), rapid.String().Draw(t, "name"), rapid.Int32().Draw(t, "seq")}
		agrees(t, v, same, len(compact.Apache.AppendMessage(nil, v.t, v.name, v.seq)),
			func(b []byte, v envelope) []byte { return compact.Apache.AppendMessage(b, v.t, v.name, v.seq) },
			func(b []byte) (envelope, int) {
				m, d, n := compact.ConsumeMessage(b)
				if n > 0 && d != compact.Apache {
					t.Fatalf("dialect %v", d)
				}
				return envelope{m.Type, string(m.Name), m.SequenceID}, n
			},
			func(p thrift.TProtocol, v envelope) error {
				return p.WriteMessageBegin(ctx, v.name, thrift.TMessageType(v.t), v.seq)
			},
			func(p thrift.TProtocol) (envelope, error) {
				name, typ, seq, err := p.ReadMessageBegin(ctx)
				return envelope{thriftwire.MessageType(typ), name, seq}, err
			})
	})
}

var allTypes = []thriftwire.Type{
	thriftwire.I8, thriftwire.Double, thriftwire.I16, thriftwire.I32, thriftwire.I64, thriftwire.String,
	thriftwire.Struct, thriftwire.Map, thriftwire.Set, thriftwire.List, thriftwire.UUID, thriftwire.Float,
}

func TestFieldHeadersComeBackWhateverTheFieldBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom([]compact.Dialect{compact.Apache, compact.FBThrift}).Draw(t, "dialect")
		last := rapid.Int16().Draw(t, "last")
		id := rapid.OneOf(rapid.Int16(), rapid.Map(rapid.Int16Range(-20, 20), func(d int16) int16 { return last + d })).Draw(t, "id")
		want := compact.Field{Type: rapid.SampledFrom(append(allTypes, thriftwire.Bool)).Draw(t, "type"), ID: id}
		if !d.Has(want.Type) {
			t.Skip("not of this dialect")
		}
		var b []byte
		if want.Type == thriftwire.Bool {
			want.True = rapid.Bool().Draw(t, "value")
			b = compact.AppendBoolField(nil, want.True, id, last)
		} else {
			b = d.AppendField(nil, want.Type, id, last)
		}
		if got := compact.SizeField(id, last); got != len(b) {
			t.Fatalf("announced %d bytes, wrote %x", got, b)
		}
		got, n := d.ConsumeField(append(b, 0xff), last)
		got.True = got.True && got.Type == thriftwire.Bool
		if got != want || n != len(b) {
			t.Fatalf("%v after %d: read %v of %d bytes %x", want, last, got, n, b)
		}
		for i := range b {
			if _, n := d.ConsumeField(b[:i], last); n != thriftwire.ErrEOF {
				t.Fatalf("cut to %d bytes: %d", i, n)
			}
		}
	})
}

func TestContainerHeadersComeBackAtEverySize(t *testing.T) {
	for _, d := range []compact.Dialect{compact.Apache, compact.FBThrift} {
		for _, size := range []int{0, 1, 14, 15, 16, 127, 128, 20000} {
			elements := make([]byte, size*17)
			for _, typ := range append(allTypes, thriftwire.Bool) {
				if !d.Has(typ) {
					continue
				}
				b := d.AppendList(nil, typ, size)
				if n := compact.SizeList(size); n != len(b) {
					t.Errorf("list of %d: announced %d bytes, wrote %x", size, n, b)
				}
				if elem, got, n := d.ConsumeList(append(b, elements...)); elem != typ || got != size || n != len(b) {
					t.Errorf("%x is a list of %d %v in %d bytes", b, got, elem, n)
				}
				b = d.AppendMap(nil, thriftwire.I8, typ, size)
				if n := compact.SizeMap(size); n != len(b) {
					t.Errorf("map of %d: announced %d bytes, wrote %x", size, n, b)
				}
				key, elem, got, n := d.ConsumeMap(append(b, elements...))
				if got != size || n != len(b) || size > 0 && (key != thriftwire.I8 || elem != typ) {
					t.Errorf("%x is a map of %d %v to %v in %d bytes", b, got, key, elem, n)
				}
			}
		}
	}
}

func TestSizesOfTypesMatchWhatIsWritten(t *testing.T) {
	least := map[thriftwire.Type][]byte{
		thriftwire.Bool: compact.AppendBool(nil, true), thriftwire.I8: compact.AppendI8(nil, 1), thriftwire.I16: compact.AppendI16(nil, 1),
		thriftwire.I32: compact.AppendI32(nil, 1), thriftwire.I64: compact.AppendI64(nil, 1),
		thriftwire.Double: compact.Apache.AppendDouble(nil, 1), thriftwire.Float: compact.AppendFloat(nil, 1),
		thriftwire.UUID: compact.AppendUUID(nil, [16]byte{}), thriftwire.String: compact.AppendString(nil, ""),
		thriftwire.Struct: compact.AppendStop(nil), thriftwire.List: compact.Apache.AppendList(nil, thriftwire.I8, 0),
		thriftwire.Set: compact.Apache.AppendList(nil, thriftwire.I8, 0), thriftwire.Map: compact.Apache.AppendMap(nil, thriftwire.I8, thriftwire.I8, 0),
	}
	for i := range 256 {
		typ := thriftwire.Type(i)
		b, exists := least[typ]
		if exists != (compact.Apache.Has(typ) || compact.FBThrift.Has(typ)) {
			t.Errorf("%v: exists is %v", typ, exists)
		}
		if exists && compact.MinSize(typ) != len(b) || compact.MinSize(typ) < 1 {
			t.Errorf("%v: at least %d bytes, but %x", typ, compact.MinSize(typ), b)
		}
		if n := compact.FixedSize(typ); n != 0 && n != len(b) {
			t.Errorf("%v: always %d bytes, but %x", typ, n, b)
		}
	}
}

// No package of fbthrift can be had, so its dialect is proved by bytes that
// follow from its description: version 2, doubles big-endian, code 13 is float.
func TestFBThriftDialect(t *testing.T) {
	d := compact.FBThrift
	for _, c := range []struct {
		what      string
		got, want []byte
	}{
		{"double 1.5", d.AppendDouble(nil, 1.5), []byte{0x3f, 0xf8, 0, 0, 0, 0, 0, 0}},
		{"float 1.5", compact.AppendFloat(nil, 1.5), []byte{0x3f, 0xc0, 0, 0}},
		{"a float field", d.AppendField(nil, thriftwire.Float, 3, 1), []byte{0x2d}},
		{"a list of floats", d.AppendList(nil, thriftwire.Float, 2), []byte{0x2d}},
		{"a call", d.AppendMessage(nil, thriftwire.Call, "m", 300), []byte{0x82, 0x22, 0xac, 0x02, 0x01, 'm'}},
	} {
		if !bytes.Equal(c.got, c.want) {
			t.Errorf("%s: %x, want %x", c.what, c.got, c.want)
		}
	}
	if v, n := d.ConsumeDouble([]byte{0x3f, 0xf8, 0, 0, 0, 0, 0, 0}); v != 1.5 || n != 8 {
		t.Errorf("double: %v, %d", v, n)
	}
	if v, n := compact.ConsumeFloat([]byte{0x3f, 0xc0, 0, 0}); v != 1.5 || n != 4 {
		t.Errorf("float: %v, %d", v, n)
	}
	if f, n := d.ConsumeField([]byte{0x2d}, 1); f != (compact.Field{Type: thriftwire.Float, ID: 3}) || n != 1 {
		t.Errorf("float field: %v, %d", f, n)
	}
	if m, got, n := compact.ConsumeMessage([]byte{0x82, 0x42, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x00}); got != d || m.Type != thriftwire.Reply || m.SequenceID != -1 || n != 8 {
		t.Errorf("reply: %v, %v, %d", m, got, n)
	}
	if d.Has(thriftwire.UUID) || !d.Has(thriftwire.Float) || compact.Apache.Has(thriftwire.Float) || !compact.Apache.Has(thriftwire.UUID) {
		t.Error("float is fbthrift's and uuid Apache's")
	}
}

func TestATypeThatTheDialectLacksIsWrittenSoThatNobodyReadsIt(t *testing.T) {
	for _, b := range [][]byte{
		compact.FBThrift.AppendField(nil, thriftwire.UUID, 1, 0),
		compact.Apache.AppendField(nil, thriftwire.Float, 1, 0),
		compact.Apache.AppendField(nil, thriftwire.Stop, 1, 0),
	} {
		if _, n := compact.Apache.ConsumeField(b, 0); n != thriftwire.ErrType {
			t.Errorf("%x: %d", b, n)
		}
	}
}
