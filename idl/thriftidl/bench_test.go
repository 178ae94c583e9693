package thriftidl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/idl/thriftidl"
)

// BenchmarkLoad reads about 1 MB of ordinary IDL.
func BenchmarkLoad(b *testing.B) {
	var text strings.Builder
	text.WriteString("namespace go bench\n")
	for i := 0; text.Len() < 1<<20; i++ {
		fmt.Fprintf(&text, `
/** Item %[1]d is one of many. */
struct Item%[1]d {
  1: required i64 id (api.path = "id")
  2: optional string name = "item %[1]d", // its name
  3: list<map<string, Color%[1]d>> colors
  4: double price = 1.5
  5: optional Item%[1]d parent
}
enum Color%[1]d { RED = 1, GREEN, BLUE }
const i32 LIMIT%[1]d = %[1]d
service Shop%[1]d {
  Item%[1]d get(1: i64 id, 2: list<string> tags) throws (1: Lost%[1]d lost)
}
exception Lost%[1]d { 1: string message }
`, i)
	}
	src := thriftidl.Sources(map[string][]byte{"big.thrift": []byte(text.String())})
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, list := thriftidl.Load("big.thrift", src); list.Err() != nil {
			b.Fatal(list)
		}
	}
}
