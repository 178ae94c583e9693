package compact_test

import (
	"bytes"
	"testing"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// binarySample has every type that d has, nested.
func binarySample(d compact.Dialect) []byte {
	b := thriftwire.AppendField(nil, thriftwire.Bool, 1)
	b = thriftwire.AppendBool(b, true)
	b = thriftwire.AppendI8(thriftwire.AppendField(b, thriftwire.I8, 2), -1)
	b = thriftwire.AppendI16(thriftwire.AppendField(b, thriftwire.I16, 30), 1000)
	b = thriftwire.AppendI32(thriftwire.AppendField(b, thriftwire.I32, 4), -70000)
	b = thriftwire.AppendI64(thriftwire.AppendField(b, thriftwire.I64, 5), 1<<40)
	b = thriftwire.AppendDouble(thriftwire.AppendField(b, thriftwire.Double, 6), 1.5)
	b = thriftwire.AppendString(thriftwire.AppendField(b, thriftwire.String, 7), "text")
	b = thriftwire.AppendList(thriftwire.AppendField(b, thriftwire.List, 8), thriftwire.Bool, 2)
	b = thriftwire.AppendBool(thriftwire.AppendBool(b, true), false)
	b = thriftwire.AppendMap(thriftwire.AppendField(b, thriftwire.Map, 9), thriftwire.I16, thriftwire.Struct, 1)
	b = thriftwire.AppendI16(b, 3)
	b = thriftwire.AppendStop(thriftwire.AppendBool(thriftwire.AppendField(b, thriftwire.Bool, 1), false))
	b = thriftwire.AppendMap(thriftwire.AppendField(b, thriftwire.Map, 10), thriftwire.Stop, thriftwire.Stop, 0)
	b = thriftwire.AppendList(thriftwire.AppendField(b, thriftwire.Set, 11), thriftwire.I64, 20)
	for i := range 20 {
		b = thriftwire.AppendI64(b, int64(i)-10)
	}
	if d == compact.Apache {
		b = thriftwire.AppendUUID(thriftwire.AppendField(b, thriftwire.UUID, 12), [16]byte{1, 2, 3})
	} else {
		b = thriftwire.AppendFloat(thriftwire.AppendField(b, thriftwire.Float, 12), 2.5)
	}
	return thriftwire.AppendStop(b)
}

func TestTranslationGoesBothWays(t *testing.T) {
	for _, d := range []compact.Dialect{compact.Apache, compact.FBThrift} {
		want := binarySample(d)
		c, n := d.AppendFromBinary(nil, want, thriftwire.Struct, 8)
		if n != len(want) {
			t.Fatalf("%s: took %d of %d bytes", d, n, len(want))
		}
		if end := d.Skip(c, thriftwire.Struct, 8); end != len(c) {
			t.Fatalf("%s: the result is not one struct: %d of %d", d, end, len(c))
		}
		back, m := d.AppendToBinary(nil, c, thriftwire.Struct, 8)
		if m != len(c) || !bytes.Equal(back, want) {
			t.Fatalf("%s: got\n%x\nwant\n%x", d, back, want)
		}
		for n := range want {
			if _, code := d.AppendFromBinary(nil, want[:n], thriftwire.Struct, 8); code != thriftwire.ErrEOF {
				t.Fatalf("%s: the first %d bytes give %d", d, n, code)
			}
		}
		for n := range c {
			if _, code := d.AppendToBinary(nil, c[:n], thriftwire.Struct, 8); code != thriftwire.ErrEOF {
				t.Fatalf("%s: the first %d compact bytes give %d", d, n, code)
			}
		}
		if _, code := d.AppendFromBinary(nil, want, thriftwire.Struct, 1); code != thriftwire.ErrDepth {
			t.Fatalf("%s: nesting beyond the limit gives %d", d, code)
		}
	}
	foreign := thriftwire.AppendStop(thriftwire.AppendFloat(thriftwire.AppendField(nil, thriftwire.Float, 1), 1))
	if _, code := compact.Apache.AppendFromBinary(nil, foreign, thriftwire.Struct, 8); code != thriftwire.ErrType {
		t.Fatalf("a float in Apache's dialect gives %d", code)
	}
}

func FuzzTranslate(f *testing.F) {
	f.Add(binarySample(compact.Apache))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, d := range []compact.Dialect{compact.Apache, compact.FBThrift} {
			if out, n := d.AppendFromBinary(nil, b, thriftwire.Struct, 16); n >= 0 {
				if end := d.Skip(out, thriftwire.Struct, 16); end != len(out) {
					t.Fatalf("%s: %x becomes %x, which is not one struct", d, b[:n], out)
				}
			}
			if out, n := d.AppendToBinary(nil, b, thriftwire.Struct, 16); n >= 0 {
				if end := thriftwire.Skip(out, thriftwire.Struct, 16); end != len(out) {
					t.Fatalf("%s: %x becomes %x, which is not one struct", d, b[:n], out)
				}
			}
		}
	})
}

func TestAnEmptyListOfNoTypeIsTranslatedToOneThatAllCanRead(t *testing.T) {
	b, n := compact.FBThrift.AppendFromBinary(nil, []byte{0, 0, 0, 0, 0}, thriftwire.List, 1)
	if elem, size, m := compact.FBThrift.ConsumeList(b); n != 5 || size != 0 || m != len(b) || !compact.FBThrift.Has(elem) {
		t.Errorf("took %d bytes and wrote %x", n, b)
	}
}
