package transcode_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/idl/protoidl"
	"github.com/thrum-rpc/thrum/transcode"
)

func ExampleNewProtobuf() {
	file, problems := protoidl.Load("shop.proto", protoidl.MemoryOnly(), protoidl.Sources(map[string][]byte{"shop.proto": []byte(`
		syntax = "proto3";
		import "google/protobuf/timestamp.proto";
		message Item {
			uint64 item_id = 1;
			repeated int32 sizes = 2;
			google.protobuf.Timestamp added = 3;
		}`)}))
	if err := problems.Err(); err != nil {
		fmt.Println(err)
		return
	}
	c, err := transcode.NewProtobuf(file.Struct("Item"))
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := c.AppendProtobuf(nil, []byte(`{"itemId": 18446744073709551615, "sizes": [38, 40], "added": "2024-02-29T12:00:00.5Z"}`))
	fmt.Printf("% x %v\n", message, err)
	json, err := c.AppendJSON(nil, message)
	fmt.Printf("%s %v\n", json, err)
	// Output:
	// 08 ff ff ff ff ff ff ff ff ff 01 12 02 26 28 1a 0c 08 c0 e3 81 af 06 10 80 ca b5 ee 01 <nil>
	// {"itemId":"18446744073709551615","sizes":[38,40],"added":"2024-02-29T12:00:00.500Z"} <nil>
}
