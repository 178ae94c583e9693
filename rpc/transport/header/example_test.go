package header_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/rpc/transport/header"
)

func Example() {
	var x header.Transformer
	out := header.Outgoing{
		SequenceID: 7, Protocol: header.Binary, Transform: header.Zstd,
		Headers: []header.Pair{{Key: "client_timeout", Value: "250"}},
	}
	b, _ := out.Append(nil)
	payload := len(b)
	b = append(b, "the message, with its envelope"...)
	b, _ = x.Seal(b, 0, payload, out.Transform)

	var f header.Frame
	if err := f.Parse(b[4:]); err != nil { // behind the length
		fmt.Println(err)
	}
	timeout, _ := f.Headers.Get("client_timeout")
	message, err := x.Undo(nil, &f, 1<<20)
	fmt.Printf("%d %s %q %v\n", f.SequenceID, timeout, message, err)
	// Output: 7 250 "the message, with its envelope" <nil>
}
