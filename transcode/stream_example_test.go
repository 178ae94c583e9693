package transcode_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

func ExampleConverter_CopyJSON() {
	event := schema.NewStruct(schema.DeclSpec{Name: "Event"}, schema.PlainStruct)
	event.Complete([]*schema.Field{schema.NewField(schema.FieldSpec{ID: 1, Name: "id", Type: schema.Basic(schema.I64)})})
	c, err := transcode.New(event)
	if err != nil {
		fmt.Println(err)
		return
	}
	var frames bytes.Buffer
	stats, err := c.CopyThrift(context.Background(), &frames, strings.NewReader(`{"id":1} {"id":2} {"id":3}`), transcode.StreamFramed())
	fmt.Println(stats.Values, stats.Written, err)

	_, err = c.CopyJSON(context.Background(), os.Stdout, &frames, transcode.StreamFramed())
	fmt.Println(err)

	_, err = c.CopyThrift(context.Background(), &frames, strings.NewReader(`{"id":1} {"id":"two"}`))
	fmt.Println(err)
	// Output:
	// 3 48 <nil>
	// {"id":1}
	// {"id":2}
	// {"id":3}
	// <nil>
	// type mismatch: i64 expected, got a string at [1].id (offset 15) [type-mismatch]
}
