package ttheader_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

func Example() {
	out := ttheader.Outgoing{
		SequenceID: 7,
		Ints:       []ttheader.IntPair{{Key: ttheader.ToMethod, Value: "GetBook"}},
		Strings:    []ttheader.StringPair{{Key: ttheader.KeyServiceName, Value: "Shop"}},
	}
	b, _ := out.Append(nil)
	b = append(b, "the message, with its envelope"...)
	ttheader.Seal(b, 0)

	var f ttheader.Frame
	if err := f.Parse(b[4:]); err != nil { // behind the length
		fmt.Println(err)
	}
	method, _ := f.Ints.Get(ttheader.ToMethod)
	fmt.Printf("%d %s %q\n", f.SequenceID, method, f.Payload)
	// Output: 7 GetBook "the message, with its envelope"
}
