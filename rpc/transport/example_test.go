package transport_test

import (
	"fmt"
	"strings"

	"github.com/thrum-rpc/thrum/rpc/transport"
)

func ExampleDetect() {
	for _, start := range []string{"\x00\x00\x00\x15\x80\x01\x00\x01", "\x80\x01\x00\x01", "GET / HTTP/1.1", "\x00\x00\x00\x15"} {
		fmt.Println(transport.Detect([]byte(start)))
	}
	// Output:
	// framed binary true
	// unframed binary true
	// HTTP true
	// unknown protocol false
}

func ExampleReader() {
	var pool transport.Pool
	in := transport.NewReader(strings.NewReader("one two"), &pool)
	defer in.Close()
	for len(in.Bytes()) < 7 {
		if err := in.Fill(7); err != nil {
			fmt.Println(err)
			return
		}
	}
	view, block := in.Take(3)
	fmt.Printf("%s, then%s\n", view, in.Bytes())
	block.Release() // view must not be read any more
	// Output: one, then two
}
