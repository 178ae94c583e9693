package structs_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/dynamic/structs"
)

type Book struct {
	Title string   `thrift:"title,1"`
	Pages int32    `thrift:"pages,2"`
	Tags  []string `thrift:"tags,3" frugal:"3,default,list<string>"`
}

type Leaflet struct {
	Pages int8   `thrift:"pages,1"`
	Title string `thrift:"title,2"`
}

func ExampleMapper() {
	books, err := structs.For[Book]()
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := books.ToMap(&Book{Title: "Long", Pages: 900, Tags: []string{"thick"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m)

	m["pages"] = uint64(1) << 40
	var b Book
	fmt.Println(books.FromMap(m, &b))
	m["pages"] = 901
	err = books.FromMap(m, &b)
	fmt.Println(b, err)
	// Output:
	// map[pages:900 tags:[thick] title:Long]
	// the number is not in the range of i32 at pages [out-of-range]
	// {Long 901 [thick]} <nil>
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
	fmt.Println(c.Convert(&Book{Title: "Long", Pages: 900}, &l))
	// Output:
	// {2 Short} <nil>
	// the number 900 is not in the range of i8 at pages [out-of-range]
}
