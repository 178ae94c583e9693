package jsonwire_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/wire/jsonwire"
)

func Example() {
	b := []byte(`"caf\u00e9", 1e3, 1.5`)
	text, n := jsonwire.AppendUnquoted(nil, b)
	fmt.Printf("%s (%d bytes)\n", text, n)

	b = b[n+2:]
	v, n := jsonwire.ConsumeInt(b, 16)
	fmt.Println(v, n)

	_, n = jsonwire.ConsumeInt(b[n+2:], 16)
	fmt.Println(jsonwire.Error(n))
	// Output:
	// café (11 bytes)
	// 1000 3
	// jsonwire: the number is not an integer
}
