package rpc_test

import (
	"context"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file tests methods on tagged structs.

type pageArgs struct {
	Name  string `frugal:"1,default,string,nocopy"`
	Lines int32  `frugal:"2,default,i32"`
}

// InitDefault sets what the IDL says.
func (a *pageArgs) InitDefault() { a.Lines = 40 }

type pageResult struct {
	Success *string `frugal:"0,optional,string,nocopy"`
}

func TestArgumentsThatTheClientLeavesOutHaveTheirDefaults(t *testing.T) {
	type nameOnly struct {
		Name string `thrift:"name,1"`
	}
	lines := make(chan int32, 1)
	page := rpc.Unary("page", func(_ context.Context, args *pageArgs, _ *pageResult) error {
		lines <- args.Lines
		return nil
	})
	_, address := listen(t, []rpc.Method{page})
	if err := rpc.Call(t.Context(), dial(t, "tcp", address), "page", &nameOnly{"Emma"}, new(pageResult)); err != nil {
		t.Fatal(err)
	}
	if n := <-lines; n != 40 {
		t.Errorf("%d lines", n)
	}
}

func TestFieldsWithoutCopyOutliveTheNetworksBuffers(t *testing.T) {
	var kept []*pageArgs
	page := rpc.Unary("page", func(_ context.Context, args *pageArgs, result *pageResult) error {
		kept = append(kept, args)
		result.Success = &args.Name
		return nil
	})
	_, address := listen(t, []rpc.Method{page}, rpc.MaxConcurrentPerConn(1))
	client := dial(t, "tcp", address)
	var want []string
	var got []*pageResult
	for i := range 50 {
		want = append(want, strings.Repeat(string(rune('A'+i)), 500))
		got = append(got, new(pageResult))
		if err := rpc.Call(t.Context(), client, "page", &pageArgs{Name: want[i]}, got[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range want {
		if kept[i].Name != want[i] || *got[i].Success != want[i] {
			t.Fatalf("call %d: the server has %.10s…, the client %.10s…", i, kept[i].Name, *got[i].Success)
		}
	}
}
