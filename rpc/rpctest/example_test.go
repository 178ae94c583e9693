package rpctest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
)

type addArgs struct {
	A int64 `thrift:"a,1"`
	B int64 `thrift:"b,2"`
}

type addResult struct {
	Success *int64 `thrift:"success,0,optional"`
}

func add(_ context.Context, args *addArgs, result *addResult) error {
	sum := args.A + args.B
	result.Success = &sum
	return nil
}

// A test calls its service as over a network, within one process.
func ExampleStart() {
	test := func(t *testing.T) {
		calculator := &rpc.Service{Name: "Calculator", Methods: []rpc.Method{rpc.Unary("add", add)}}
		client := rpctest.Start(t, calculator)
		var result addResult
		if err := rpc.Call(t.Context(), client, "add", &addArgs{A: 2, B: 3}, &result); err != nil {
			t.Fatal(err)
		}
		if *result.Success != 5 {
			t.Errorf("2 + 3 = %d", *result.Success)
		}
	}
	ok := testing.RunTests(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "TestAdd", F: test}})
	fmt.Println(ok)
	// Output:
	// true
}
