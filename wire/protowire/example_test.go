package protowire_test

import (
	"errors"
	"fmt"

	"github.com/thrum-rpc/thrum/wire/protowire"
)

// A message with a text in field 2 and a number in field 1, written and read by hand.
func Example() {
	b := protowire.AppendTag(nil, 2, protowire.Bytes)
	b = protowire.AppendString(b, "testing")
	b = protowire.AppendTag(b, 1, protowire.Varint)
	b = protowire.AppendVarint(b, 150)
	fmt.Printf("% x\n", b)

	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			fmt.Println(protowire.Error(n))
			return
		}
		b = b[n:]
		if number == 1 && typ == protowire.Varint {
			v, _ := protowire.ConsumeVarint(b)
			fmt.Println("number:", v)
		}
		if n = protowire.Skip(b, number, typ, protowire.MaxDepth); n < 0 {
			fmt.Println(protowire.Error(n))
			return
		}
		b = b[n:]
	}
	// Output:
	// 12 07 74 65 73 74 69 6e 67 08 96 01
	// number: 150
}

func ExampleError() {
	_, n := protowire.ConsumeVarint([]byte{0x80})
	err := protowire.Error(n)
	fmt.Println(err, errors.Is(err, protowire.Error(protowire.ErrEOF)))
	// Output: protowire: unexpected EOF true
}
