package compact_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// A struct {1: i64, 2: bool, 40: string}, written and read by hand. The header
// of a field depends on the id of the field before it.
func Example() {
	d := compact.Apache
	b := compact.AppendI64(d.AppendField(nil, thriftwire.I64, 1, 0), -3)
	b = compact.AppendBoolField(b, true, 2, 1)
	b = compact.AppendString(d.AppendField(b, thriftwire.String, 40, 2), "hi")
	b = compact.AppendStop(b)
	fmt.Printf("% x\n", b)

	var last int16
	for {
		f, n := d.ConsumeField(b, last)
		if n < 0 || f.Type == thriftwire.Stop {
			break
		}
		b, last = b[n:], f.ID
		if f.Type == thriftwire.Bool {
			fmt.Println(f.ID, f.Type, f.True)
			continue
		}
		fmt.Println(f.ID, f.Type)
		n = d.Skip(b, f.Type, thriftwire.MaxDepth)
		if n < 0 {
			fmt.Println(thriftwire.Error(n))
			break
		}
		b = b[n:]
	}
	// Output:
	// 16 05 11 08 50 02 68 69 00
	// 1 i64
	// 2 bool true
	// 40 string
}

// A server learns the dialect from the request and answers in it.
func ExampleConsumeMessage() {
	request := []byte{0x82, 0x22, 0x07, 0x03, 'g', 'e', 't'}
	m, dialect, n := compact.ConsumeMessage(request)
	fmt.Println(m.Type, string(m.Name), m.SequenceID, dialect, n)
	fmt.Printf("% x\n", dialect.AppendMessage(nil, thriftwire.Reply, string(m.Name), m.SequenceID))
	// Output:
	// call get 7 fbthrift 7
	// 82 42 07 03 67 65 74
}
