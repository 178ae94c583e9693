package frugal_test

import (
	"fmt"
	"reflect"

	"github.com/thrum-rpc/thrum/frugal"
)

type Note struct {
	Title string   `frugal:"1,required,string"`
	Tags  []string `frugal:"2,default,set<string>"`
	Stars *int32   `frugal:"3,optional,i32"`
}

func Example() {
	note := &Note{Title: "tea", Tags: []string{"green"}}
	buf := make([]byte, frugal.EncodedSize(note))
	n, err := frugal.EncodeObject(buf, nil, note)
	fmt.Println(n, err)

	var again Note
	n, err = frugal.DecodeObject(buf, &again)
	fmt.Println(n, err, again.Title, again.Tags)
	// Output:
	// 28 <nil>
	// 28 <nil> tea [green]
}

func ExamplePretouch() {
	// Both kinds of call are Frugal's, of different releases.
	fmt.Println(frugal.Pretouch(&Note{}), frugal.Pretouch(reflect.TypeOf(Note{}), frugal.WithMaxPretouchDepth(2)))
	// Output: <nil> <nil>
}

// pieces is what a buffer of a network library does: it puts what is handed
// over between the parts of the buffer.
type pieces struct{ direct [][]byte }

func (p *pieces) WriteDirect(b []byte, remainCap int) error {
	p.direct = append(p.direct, b)
	return nil
}

func (p *pieces) MallocAck(n int) error { return nil }

func ExampleEncodeObject() {
	note := &Note{Title: string(make([]byte, 10000))}
	buf := make([]byte, frugal.EncodedSize(note))
	var w pieces
	n, err := frugal.EncodeObject(buf, &w, note)
	fmt.Println(n, err, len(w.direct[0]))
	// Output: 16 <nil> 10000
}
