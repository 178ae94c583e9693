package flexbuf_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/flatbuf/flexbuf"
)

func Example() {
	var b flexbuf.Builder
	start := b.StartMap()
	b.Key("name")
	b.String("Ada")
	b.Key("scores")
	scores := b.StartVector()
	b.Int(3)
	b.Int(400)
	b.EndVector(scores, true)
	b.EndMap(start)
	buf := b.Finish()

	fmt.Println(flexbuf.Verify(buf), len(buf), "bytes")
	r := flexbuf.Root(buf)
	fmt.Println(r.Field("name").Text(), r.Field("scores").Index(1).Int(), r.Field("age").IsNull())
	fmt.Println(r.Any())
	// Output:
	// <nil> 37 bytes
	// Ada 400 true
	// map[name:Ada scores:[3 400]]
}
