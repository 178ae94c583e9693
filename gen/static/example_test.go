package static_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/gen/static"
)

// What a generated method does for a struct with one field, 1: string name.
func Example() {
	b := []byte{11, 0, 1}
	b, _ = static.AppendString(b, "thrum")
	b = append(b, 0)

	head, _ := static.Head(b, 0)
	name, i, f := static.Bytes(b, 3)
	end, _ := static.Head(b, i)
	fmt.Printf("%#x %s %v %v\n", head, name, f == nil, end < 1<<16)

	_, _, f = static.Bytes(b[:8], 3)
	fmt.Println(f.Field("name"))
	// Output:
	// 0xb0001 thrum true true
	// unexpected EOF: 4 bytes short at name (offset 3) [unexpected-eof]
}
