package flatrpc_test

import (
	"fmt"
	"strings"

	"github.com/thrum-rpc/thrum/internal/conform/words"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
)

// A callback runs where the network is read and answers when it has an answer.
func ExampleUnaryCallback() {
	upper := flatrpc.UnaryCallback("Upper", words.Verifier(), func(req *words.Word, reply flatrpc.Reply) {
		reply.Result(words.New(reply.NewBuilder(), strings.ToUpper(req.Text()), req.Count()))
	})
	server := rpc.NewServer()
	fmt.Println(server.Register(&rpc.Service{Name: "test.Words", Methods: []rpc.Method{upper}}))
	// Output: <nil>
}
