package thriftwire_test

import (
	"errors"
	"testing"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

func TestSizesOfTypesMatchWhatIsWritten(t *testing.T) {
	least := map[thriftwire.Type][]byte{
		thriftwire.Bool: thriftwire.AppendBool(nil, true), thriftwire.I8: thriftwire.AppendI8(nil, 1),
		thriftwire.I16: thriftwire.AppendI16(nil, 1), thriftwire.I32: thriftwire.AppendI32(nil, 1),
		thriftwire.I64: thriftwire.AppendI64(nil, 1), thriftwire.Double: thriftwire.AppendDouble(nil, 1),
		thriftwire.Float: thriftwire.AppendFloat(nil, 1), thriftwire.UUID: thriftwire.AppendUUID(nil, [16]byte{}),
		thriftwire.String: thriftwire.AppendString(nil, ""), thriftwire.Struct: thriftwire.AppendStop(nil),
		thriftwire.List: thriftwire.AppendList(nil, thriftwire.I8, 0), thriftwire.Set: thriftwire.AppendList(nil, thriftwire.I8, 0),
		thriftwire.Map: thriftwire.AppendMap(nil, thriftwire.I8, thriftwire.I8, 0),
	}
	for i := range 256 {
		typ := thriftwire.Type(i)
		b, exists := least[typ]
		if typ.Valid() != exists {
			t.Errorf("%v: valid is %v", typ, typ.Valid())
		}
		if exists && typ.MinSize() != len(b) || typ.MinSize() < 1 {
			t.Errorf("%v: at least %d bytes, but %x", typ, typ.MinSize(), b)
		}
		if n := typ.FixedSize(); n != 0 && n != len(b) {
			t.Errorf("%v: always %d bytes, but %x", typ, n, b)
		}
	}
}

func TestNamesOfTypes(t *testing.T) {
	for typ, want := range map[thriftwire.Type]string{
		thriftwire.Stop: "stop", thriftwire.I64: "i64", thriftwire.Float: "float", 1: "type 1", 200: "type 200",
	} {
		if typ.String() != want {
			t.Errorf("type %d is %q, want %q", typ, typ, want)
		}
	}
	for typ, want := range map[thriftwire.MessageType]string{thriftwire.Call: "call", thriftwire.Oneway: "oneway", 9: "message type 9"} {
		if typ.String() != want {
			t.Errorf("message type %d is %q, want %q", typ, typ, want)
		}
	}
}

func TestErrorsAreDistinctAndComparable(t *testing.T) {
	seen := map[string]int{}
	for n := thriftwire.ErrData; n <= thriftwire.ErrEOF; n++ {
		err := thriftwire.Error(n)
		if !errors.Is(err, thriftwire.Error(n)) || errors.Is(err, thriftwire.Error(n-1)) {
			t.Errorf("%v does not compare", err)
		}
		if other, ok := seen[err.Error()]; ok {
			t.Errorf("%d and %d are both %q", n, other, err)
		}
		seen[err.Error()] = n
	}
	if thriftwire.Error(0) != nil || thriftwire.Error(5) != nil {
		t.Error("success is an error")
	}
}
