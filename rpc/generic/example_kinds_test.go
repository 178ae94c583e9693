package generic_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/idl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/schema"
)

// library is the schema of the examples.
func library() *schema.Service {
	source, err := idl.Open(idl.Memory(map[string][]byte{"library.thrift": []byte(`
		struct Book { 1: i64 id, 2: string title }
		exception NotFound { 1: string what }
		service Library { Book get(1: i64 id) throws (1: NotFound missing) }
	`)}))
	if err != nil {
		panic(err)
	}
	s, err := source.Set().Service("Library")
	if err != nil {
		panic(err)
	}
	return s
}

// serving lets a service serve in memory and returns a caller of it.
func serving(s *rpc.Service) (caller *rpc.Client, stop func()) {
	server := rpc.NewServer()
	if err := server.Register(s); err != nil {
		panic(err)
	}
	listener := rpctest.NewListener()
	go server.Serve(listener)
	caller, err := rpctest.Dial(listener)
	if err != nil {
		panic(err)
	}
	return caller, func() {
		caller.Close()
		server.Close()
	}
}

// books answers with maps.
func books(_ context.Context, m *schema.Method, args map[string]any) (any, error) {
	if args["id"] != int64(1) {
		return nil, generic.Throw(m, "NotFound", map[string]any{"what": fmt.Sprint("book ", args["id"])})
	}
	return map[string]any{"id": 1, "title": "Le città invisibili"}, nil
}

func ExampleClient_CallJSON() {
	caller, stop := serving(generic.ServeMaps(library(), books))
	defer stop()
	client := generic.New(caller, library())

	text, err := client.CallJSON(context.Background(), "get", []byte(`{"id": 1}`))
	fmt.Println(string(text), err)

	_, err = client.CallJSON(context.Background(), "get", []byte(`{"id": 2}`))
	var thrown *generic.Exception
	if errors.As(err, &thrown) {
		fmt.Println(thrown.Name(), string(thrown.JSON))
	}

	_, err = client.CallJSON(context.Background(), "get", []byte(`{"id": "two"}`))
	fmt.Println(err)
	// Output:
	// {"id":1,"title":"Le città invisibili"} <nil>
	// NotFound {"what":"book 2"}
	// arguments: type mismatch: i64 expected, got a string at id (offset 7) [type-mismatch]
}

// A relay knows no IDL: here it looks at the first argument, and at nothing else,
// to find the server that a call goes to.
func ExampleRelay() {
	first, stop := serving(generic.ServeMaps(library(), books))
	defer stop()
	others, stop := serving(generic.ServeMaps(library(), func(_ context.Context, _ *schema.Method, args map[string]any) (any, error) {
		return map[string]any{"id": args["id"], "title": "from another shelf"}, nil
	}))
	defer stop()

	relay, stop := serving(generic.Relay("", func(_ context.Context, _ string, args dynamic.Node) (rpc.Caller, error) {
		id, err := args.Get(dynamic.Field(1))
		if err != nil {
			return nil, err
		}
		if n, err := id.Int(); err == nil && n < 100 {
			return first, nil
		}
		return others, nil
	}))
	defer stop()

	client := generic.New(relay, library())
	for _, id := range []int{1, 2, 100} {
		book, err := client.Call(context.Background(), "get", map[string]any{"id": id})
		fmt.Println(book, err)
	}
	// Output:
	// map[id:1 title:Le città invisibili] <nil>
	// <nil> exception NotFound map[what:book 2]
	// map[id:100 title:from another shelf] <nil>
}
