package inspect_test

import (
	"bytes"
	"encoding/binary"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/internal/inspect"
	"github.com/thrum-rpc/thrum/schema"
)

const flatIDL = `
namespace shop.v1;
enum Color:byte { Red, Green }
struct Size { w:float; h:float; sides:[short:2]; }
table Item { name:string; price:double = 1.5; tags:[string]; size:Size; color:Color; sold:bool; }
table Gift { to:string; }
union Thing { Item, Gift }
table Order {
	id:ulong; items:[Item]; raw:[ubyte]; thing:Thing; things:[Thing];
	inner:[ubyte] (nested_flatbuffer: "Gift"); balance:long; many:[ulong];
}
root_type Order;
file_identifier "ORDR";
`

func flatOrder(t testing.TB, idl string) *schema.StructDef {
	t.Helper()
	f, list := fbsidl.Load("order.fbs", fbsidl.Sources(map[string][]byte{"order.fbs": []byte(idl)}), fbsidl.MemoryOnly())
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return f.Root()
}

// flatMessage is an order with something of everything.
func flatMessage(t testing.TB) []byte {
	t.Helper()
	order := flatOrder(t, flatIDL)
	gift, err := flatbuffers.Make(order.File().Struct("Gift"), map[string]any{"to": "inside"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := flatbuffers.Make(order, map[string]any{
		"id": uint64(1<<64 - 1), "raw": []byte{1, 2, 255}, "balance": -5, "inner": gift, "many": []uint64{1, 2, 3, 4},
		"items": []map[string]any{{
			"name": "Ada \x1b[31m\u202e", "tags": []string{"x", "y"}, "color": "Green", "sold": true,
			"size": map[string]any{"w": 1.5, "h": 2, "sides": []int{3, 4}},
		}, {"price": 2.5, "color": 7}},
		"thing":  flatbuffers.Union{Member: "Gift", Value: map[string]any{"to": "Bob"}},
		"things": []any{flatbuffers.Union{Member: "Gift", Value: map[string]any{}}, flatbuffers.Union{Member: "Item", Value: map[string]any{"name": "i"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func prefixed(b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
}

func TestTreesOfFlatBuffers(t *testing.T) {
	order := flatOrder(t, flatIDL)
	message := flatMessage(t)
	gift, err := flatbuffers.Make(order.File().Struct("Gift"), map[string]any{"to": "Eve"})
	if err != nil {
		t.Fatal(err)
	}
	// An older schema does not know the last field, and calls the message otherwise.
	older := flatOrder(t, strings.NewReplacer(`many:[ulong];`, "", "ORDR", "OLDR").Replace(flatIDL))
	options := func(d *schema.StructDef) inspect.Options {
		return inspect.Options{Struct: d, Format: inspect.Format{Protocol: inspect.FlatBuffers}, MaxParts: 3, MaxText: 30}
	}
	for _, c := range []treeCase{
		{"flatbuffers", message, options(order)},
		{"flatbuffers by an older schema", message, options(older)},
		{"flatbuffers cut", message[:236], options(order)},
		{"flatbuffers prefixed", append(prefixed(gift), prefixed(gift)...), options(order.File().Struct("Gift"))},
		{"flatbuffers prefixed and not aligned", prefixed(message), options(order)},
		{"flatbuffers without schema", message, options(nil)},
	} {
		checkTree(t, c)
	}
}

func TestElementsOfUnionsMayBeNone(t *testing.T) {
	order := flatOrder(t, flatIDL)
	b, err := flatbuffers.Make(order, map[string]any{"things": []any{flatbuffers.Union{}, flatbuffers.Union{Member: "Gift", Value: map[string]any{}}}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = inspect.Write(&out, b, inspect.Options{Struct: order, Format: inspect.Format{Protocol: inspect.FlatBuffers}})
	if text := out.String(); err != nil || !strings.Contains(text, "[0] = NONE\n") || strings.Contains(text, "outside") {
		t.Errorf("%v\n%s", err, text)
	}
}

// As many sizes as an input holds need no stack: a goroutine that has no more is no panic but the end.
func TestManySizesNeedNoStack(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(16 << 20))
	o := inspect.Options{Struct: flatOrder(t, flatIDL), Format: inspect.Format{Protocol: inspect.FlatBuffers}, MaxBytes: 4000}
	if err := inspect.Write(new(bytes.Buffer), make([]byte, 2<<20), o); err == nil {
		t.Error("messages of no bytes are taken")
	}
}

func FuzzFlatBuffers(f *testing.F) {
	order := flatOrder(f, flatIDL)
	message := flatMessage(f)
	f.Add(message)
	f.Add(prefixed(message))
	f.Fuzz(func(t *testing.T, b []byte) {
		o := inspect.Options{Struct: order, Format: inspect.Format{Protocol: inspect.FlatBuffers}, MaxBytes: 4000, MaxParts: 10, MaxText: 20}
		var out bytes.Buffer
		err := inspect.Write(&out, b, o)
		checkHarmless(t, out.String())
		if out.Len() > 5000 {
			t.Fatalf("%d bytes of output", out.Len())
		}
		checkFault(t, b, err)
	})
}
