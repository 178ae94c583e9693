package codec_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/codec"
)

type Item struct {
	ID    int64    `thrift:"id,1,required"`
	Title string   `thrift:"title,2"`
	Price *int64   `thrift:"price,3,optional"`
	Tags  []string `thrift:"tags,4" frugal:"4,default,list<string>"`
}

func Example() {
	b, err := codec.Marshal(&Item{ID: 7, Title: "A Pattern Language", Tags: []string{"book"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var item Item
	n, err := codec.Unmarshal(b, &item)
	fmt.Println(n == len(b), item.ID, item.Title, item.Price == nil, item.Tags, err)
	// Output: true 7 A Pattern Language true [book] <nil>
}

func ExampleFor() {
	items, err := codec.For[Item](codec.Deterministic())
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := items.Append(nil, &Item{ID: 7})
	fmt.Printf("%x %v\n", b, err)
	_, err = items.Unmarshal(b[:5], new(Item))
	fmt.Println(err)
	// Output:
	// 0a000100000000000000070b0002000000000f00040b0000000000 <nil>
	// unexpected EOF: 6 bytes short at id (offset 3) [unexpected-eof]
}

func ExampleNewSet() {
	// A set keeps its options for whatever types come.
	set := codec.NewSet(codec.MaxContainer(2))
	type Note struct {
		Tags []string `thrift:"tags,1,default,list<string>"`
	}
	b, _ := set.Marshal(&Note{Tags: []string{"a", "b", "c"}})
	_, err := set.Unmarshal(b, new(Note))
	fmt.Println(err)
	// Output: a list of 3 elements exceeds the limit at tags (offset 3) [size-limit]
}
