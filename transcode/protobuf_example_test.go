package transcode_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/idl/protoidl"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
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

func ExampleNewBridge() {
	thrift, problems := thriftidl.Load("user.thrift", thriftidl.MemoryOnly(), thriftidl.Sources(map[string][]byte{"user.thrift": []byte(`
		struct User { 1: required i64 id, 2: optional string name, 3: set<i16> groups }`)}))
	if err := problems.Err(); err != nil {
		fmt.Println(err)
		return
	}
	proto, problems := protoidl.Load("user.proto", protoidl.MemoryOnly(), protoidl.Sources(map[string][]byte{"user.proto": []byte(`
		syntax = "proto3";
		message Account { uint64 id = 1; optional string name = 2; repeated int32 groups = 3; }`)}))
	if err := problems.Err(); err != nil {
		fmt.Println(err)
		return
	}
	b, err := transcode.NewBridge(thrift.Struct("User"), proto.Struct("Account"))
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := b.AppendThrift(nil, []byte{0x08, 0x2a, 0x12, 0x02, 'h', 'i', 0x1a, 0x02, 7, 9})
	fmt.Printf("% x %v\n", message, err)
	_, _, err = b.AppendProtobuf(nil, []byte{10, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0})
	fmt.Println(err)
	// Output:
	// 0a 00 01 00 00 00 00 00 00 00 2a 0b 00 02 00 00 00 02 68 69 0e 00 03 06 00 00 00 02 00 07 00 09 00 <nil>
	// -1 is not in the range of Protobuf's uint64 at id (offset 3) [out-of-range]
}
