package diag_test

import (
	"fmt"
	"os"

	"github.com/thrum-rpc/thrum/diag"
)

func ExampleList_Render() {
	src := diag.NewSource("shop.thrift", []byte("struct Item {\n  1: strng name\n}\n"))
	list := diag.List{{
		Code: "unknown-type", Span: diag.Span{Source: src, Start: 19, End: 24},
		Message: "the type strng is not declared", Hint: "did you mean string?",
	}}
	if err := list.Render(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// shop.thrift:2:6: error: the type strng is not declared [unknown-type]
	//   2 |   1: strng name
	//     |      ^^^^^
	//     = hint: did you mean string?
}

func ExampleFault() {
	readPrice := func() error { return diag.NewFault(diag.UnexpectedEOF, 12, "the input ends inside a value") }
	readItem := func() error {
		err := readPrice()
		if f, ok := err.(*diag.Fault); ok {
			return f.Field("price")
		}
		return err
	}
	err := readItem()
	fmt.Println(err)
	fmt.Println(diag.CodeOf(err) == diag.UnexpectedEOF)
	// Output:
	// the input ends inside a value at price (offset 12) [unexpected-eof]
	// true
}
