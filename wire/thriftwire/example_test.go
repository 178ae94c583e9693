package thriftwire_test

import (
	"errors"
	"fmt"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// A call of get(1: i64 id), written and read by hand.
func Example() {
	b := thriftwire.AppendMessage(nil, thriftwire.Call, "get", 1)
	b = thriftwire.AppendField(b, thriftwire.I64, 1)
	b = thriftwire.AppendI64(b, 42)
	b = thriftwire.AppendStop(b)
	fmt.Printf("% x\n", b)

	m, n := thriftwire.ConsumeMessage(b)
	fmt.Println(m.Type, string(m.Name), m.SequenceID)
	for args := b[n:]; ; {
		t, id, n := thriftwire.ConsumeField(args)
		if n < 0 || t == thriftwire.Stop {
			break
		}
		args = args[n:]
		if t == thriftwire.I64 && id == 1 {
			v, _ := thriftwire.ConsumeI64(args)
			fmt.Println("id:", v)
		}
		n = thriftwire.Skip(args, t, thriftwire.MaxDepth)
		if n < 0 {
			fmt.Println(thriftwire.Error(n))
			break
		}
		args = args[n:]
	}
	// Output:
	// 80 01 00 01 00 00 00 03 67 65 74 00 00 00 01 0a 00 01 00 00 00 00 00 00 00 2a 00
	// call get 1
	// id: 42
}

// A reader of a stream skips the struct that has arrived so far to learn
// whether it is complete.
func ExampleSkipAt() {
	whole := []byte{0x0b, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, 'h', 'i', 0x00}
	for _, arrived := range [][]byte{whole[:8], whole, {0x01}} {
		end, code := thriftwire.SkipAt(arrived, 0, thriftwire.Struct, thriftwire.MaxDepth)
		switch {
		case code == 0:
			fmt.Println("complete:", end, "bytes")
		case code == thriftwire.ErrEOF:
			fmt.Println("wait for more")
		default:
			fmt.Println("broken at", end, "-", thriftwire.Error(code))
		}
	}
	// Output:
	// wait for more
	// complete: 10 bytes
	// broken at 0 - thriftwire: unknown wire type
}

func ExampleError() {
	_, n := thriftwire.ConsumeI32([]byte{0, 0})
	err := thriftwire.Error(n)
	fmt.Println(err, errors.Is(err, thriftwire.Error(thriftwire.ErrEOF)))
	// Output: thriftwire: unexpected EOF true
}
