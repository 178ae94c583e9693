package transcode_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

func Example() {
	item := schema.NewStruct(schema.DeclSpec{Name: "Item"}, schema.PlainStruct)
	item.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 1, Name: "name", Type: schema.Basic(schema.String)}),
		schema.NewField(schema.FieldSpec{ID: 2, Name: "sizes", Type: schema.ListOf(schema.Basic(schema.I16))}),
	})
	c, err := transcode.New(item)
	if err != nil {
		fmt.Println(err)
		return
	}
	thrift, err := c.AppendThrift(nil, []byte(`{"name": "shirt", "sizes": [38, 40]}`))
	fmt.Printf("%q %v\n", thrift, err)

	json, n, err := c.AppendJSON(nil, thrift)
	fmt.Printf("%s %d %v\n", json, n, err)

	_, err = c.AppendThrift(nil, []byte(`{"name": "shirt", "sizes": [38, 40000]}`))
	fmt.Println(err)
	// Output:
	// "\v\x00\x01\x00\x00\x00\x05shirt\x0f\x00\x02\x06\x00\x00\x00\x02\x00&\x00(\x00" <nil>
	// {"name":"shirt","sizes":[38,40]} 25 <nil>
	// 40000 is not in the range of i16 at sizes[1] (offset 32) [out-of-range]
}
