package generic_test

import (
	"fmt"
	"testing"

	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/rpc/generic"
)

func TestMethodsSayThatTheyMayRunTwice(t *testing.T) {
	file, list := thriftidl.Load("a.thrift", thriftidl.Sources(map[string][]byte{"a.thrift": []byte(`
		service Base { i32 old() (idempotent = "true") }
		service Shop extends Base {
			i32 stock() (idempotent)
			i32 sell()
			i32 no() (idempotent = "false")
			i32 neither() (idempotent = "0", other)
		}
	`)}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(generic.Idempotent(file.Service("Shop"))); got != "[old stock]" {
		t.Errorf("idempotent: %s", got)
	}
}
