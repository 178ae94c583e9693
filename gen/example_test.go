package gen_test

import (
	"bytes"
	"fmt"

	"github.com/thrum-rpc/thrum/gen"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
)

func ExampleGo() {
	idl := `
		namespace go acme.shop
		enum Format { PAPER = 1, EBOOK }
		struct Book {
			1: required i64 id
			2: optional string title
			3: Format format = Format.EBOOK
		}`
	f, list := thriftidl.Load("shop.thrift", thriftidl.Sources(map[string][]byte{"shop.thrift": []byte(idl)}))
	if err := list.Err(); err != nil {
		fmt.Println(err)
		return
	}
	files, err := gen.Go(f, gen.ImportPrefix("example.com/app/gen"), gen.JSONTags(false))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range files {
		fmt.Println(f.Path)
		_, decl, _ := bytes.Cut(f.Content, []byte("type Book"))
		decl, _, _ = bytes.Cut(decl, []byte("}"))
		fmt.Printf("type Book%s}\n", decl)
	}
	// Output:
	// acme/shop/shop.go
	// type Book struct {
	// 	Id     int64   `thrift:"id,1,required" frugal:"1,required,i64"`
	// 	Title  *string `thrift:"title,2,optional" frugal:"2,optional,string"`
	// 	Format Format  `thrift:"format,3" frugal:"3,default,Format"`
	// }
}
