package flatbuf_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/flatbuf"
)

// A table with a number in slot 0 and a string in slot 1, which generated code
// would have methods for.
func Example() {
	var b flatbuf.Builder
	name := b.CreateString("Ada")
	b.StartObject(2)
	b.PrependUOffsetTSlot(1, name, 0)
	b.PrependInt32Slot(0, 36, 0)
	b.Finish(b.EndObject())
	msg := b.FinishedBytes()

	person := flatbuf.Layout{Tables: []flatbuf.TableLayout{{Name: "Person", Fields: []flatbuf.FieldLayout{
		{Name: "age", Slot: 0, Kind: flatbuf.ScalarField, Size: 4, Align: 4},
		{Name: "name", Slot: 1, Kind: flatbuf.StringField, Required: true},
	}}}}
	verifier, err := flatbuf.NewVerifier(&person, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := verifier.Verify(msg); err != nil {
		fmt.Println(err)
		return
	}
	t := flatbuf.Table{Bytes: msg, Pos: flatbuf.GetIndirectOffset(msg, 0)}
	fmt.Println(t.GetInt32Slot(4, 0), t.String(t.Pos+flatbuf.UOffsetT(t.Offset(6))))
	fmt.Println(verifier.Verify(msg[:len(msg)-2]))
	// Output:
	// 36 Ada
	// a part lies outside the message at name (offset 24) [unexpected-eof]
}

// A pool belongs to the messages of one kind. The builder goes back when the
// message has been sent.
func ExamplePool() {
	var pool flatbuf.Pool
	for _, name := range []string{"Ada", "Grace"} {
		b := pool.Get()
		s := b.CreateString(name)
		b.StartObject(1)
		b.PrependUOffsetTSlot(0, s, 0)
		b.Finish(b.EndObject())
		fmt.Println(len(b.FinishedBytes()), "bytes")
		pool.Put(b)
	}
	// Output:
	// 28 bytes
	// 32 bytes
}
