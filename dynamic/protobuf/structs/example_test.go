package structs_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/dynamic/protobuf/structs"
)

type Book struct {
	Title string   `protobuf:"bytes,1,opt,name=title,proto3"`
	Pages int32    `protobuf:"varint,2,opt,name=pages,proto3"`
	Tags  []string `protobuf:"bytes,3,rep,name=tags,proto3"`
}

type Leaflet struct {
	Title string `protobuf:"bytes,2,opt,name=title,proto3"`
	Pages uint32 `protobuf:"fixed32,1,opt,name=pages,proto3"`
}

func ExampleMapper() {
	books, err := structs.For[Book]()
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := books.Value(&Book{Title: "Long", Pages: 900, Tags: []string{"thick"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", v.Raw())
	m, err := v.Any()
	fmt.Println(m, err)

	var b Book
	fmt.Println(books.FromMap(map[string]any{"pages": uint64(1) << 40}, &b))
	err = books.Read(v.Node, &b)
	fmt.Println(b, err)
	// Output:
	// "\n\x04Long\x10\x84\a\x1a\x05thick"
	// map[pages:900 tags:[thick] title:Long] <nil>
	// the number is not in the range of i32 at pages [out-of-range]
	// {Long 900 [thick]} <nil>
}

func ExampleConverter() {
	c, err := structs.Between[Book, Leaflet](structs.ByName())
	if err != nil {
		fmt.Println(err)
		return
	}
	var l Leaflet
	err = c.Convert(&Book{Title: "Short", Pages: 2}, &l)
	fmt.Println(l, err)
	fmt.Println(c.Convert(&Book{Pages: -1}, &l))
	// Output:
	// {Short 2} <nil>
	// the number -1 is not in the range of uint32 at pages [out-of-range]
}
