package framed_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/rpc/transport/framed"
)

func ExampleScanner() {
	stream := []byte("\x00\x00\x00\x05hello\x00\x00\x00\x05wor")
	scan := framed.NewScanner(true, 1<<20)
	for {
		message, n, err := scan.Next(stream)
		if err != nil || n == 0 {
			fmt.Println(n, err, "needs", scan.Want())
			return
		}
		fmt.Printf("%s\n", message)
		stream = stream[n:]
	}
	// Output:
	// hello
	// 0 <nil> needs 9
}
