package flatwire_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// A table with a number in slot 0 and a string in slot 1.
var message = []byte{
	0x0c, 0, 0, 0, // offset of the root table
	0x08, 0, 0x0c, 0, 0x04, 0, 0x08, 0, // vtable: its size, the table's size, where the fields are
	0x08, 0, 0, 0, // the table: its vtable is 8 bytes before,
	0x2a, 0, 0, 0, // slot 0,
	0x04, 0, 0, 0, // slot 1: an offset to
	0x02, 0, 0, 0, 'h', 'i', 0, 0, // a string
}

// Reading knows where things are, and finds nothing where they cannot be.
func Example() {
	table := flatwire.Root(message)
	fmt.Println(flatwire.I32(message, flatwire.Field(message, table, 0)))
	text := flatwire.Follow(message, flatwire.Field(message, table, 1))
	fmt.Printf("%s\n", flatwire.Bytes(message, text))
	fmt.Println(flatwire.Field(message, table, 2))

	cut := message[:len(message)-6]
	fmt.Printf("%q\n", flatwire.Bytes(cut, text))
	fmt.Println(flatwire.Error(flatwire.CheckString(cut, text, true)))
	// Output:
	// 42
	// hi
	// 0
	// ""
	// flatwire: outside the buffer
}
