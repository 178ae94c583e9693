package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file is "thrum call".

func callCommand() *command {
	return &command{
		name: "call", args: "ADDRESS Service.method [JSON] --idl FILE",
		summary: "call a method of any server of Thrift or FlatBuffers with JSON",
		help: "ADDRESS is host:port or unix:PATH. JSON is an object of the arguments, {} if it\n" +
			"is left out, read from standard input if it is -. The result is printed as JSON.\n" +
			"A declared exception is printed to standard error, as JSON, with exit code 1.\n" +
			dialectHelp + "\n" +
			"\n" +
			"Where a method streams, JSON is any number of messages, and each that comes back is\n" +
			"printed on a line of its own, when it comes; of Thrift, that goes over ttheader, which\n" +
			"is the default for it.\n" +
			"\n" +
			"Services of a .fbs or .bfbs file are called over trpc, whose compressions are none,\n" +
			"gzip, zlib and snappy, or over grpc, with none and gzip. An error of the application is\n" +
			"printed as JSON, like an exception.",
		examples: []string{
			`thrum call 127.0.0.1:9090 Shop.search '{"search": {"text": "invisibili"}}' --idl shop.thrift`,
			"thrum call unix:/run/shop.sock Shop.ping --dialect unframed --idl shop.thrift",
			`thrum call 127.0.0.1:8000 shop.v1.Orders.Watch '{"id": 7}' --idl orders.fbs`,
			`thrum call 127.0.0.1:8000 shop.v1.Orders.Watch '{"id": 7}' --idl orders.fbs --dialect grpc`,
		},
		setup: func(fs *flag.FlagSet) func(*environment, []string) error {
			var o callOptions
			o.speech.declare(fs)
			o.methodFlags.declare(fs)
			fs.DurationVar(&o.timeout, "timeout", 10*time.Second, "give up after this `time`")
			return func(env *environment, args []string) error { return call(env, args, &o) }
		},
	}
}

type callOptions struct {
	speech
	methodFlags
	timeout time.Duration
}

func call(env *environment, args []string, o *callOptions) error {
	if len(args) < 2 || len(args) > 3 {
		return usageError("an address and a Service.method are needed, then at most one JSON object")
	}
	if err := checkTimeout(o.timeout); err != nil {
		return err
	}
	if isFBS(o.idl) {
		return callFlat(env, args, o)
	}
	service, def, err := o.find(env.stderr, args[1])
	if err != nil {
		return err
	}
	if s := def.Stream(); s != nil && !s.InitialReply {
		return callStream(env, args, o, service, def)
	}
	method, err := generic.NewMethod(def)
	if err != nil {
		return err
	}
	input, err := callInput(env, args[2:])
	if err != nil {
		return err
	}
	if err := checkArguments(def, input); err != nil {
		return err
	}
	options, err := o.client(args[0])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(env.ctx, o.timeout)
	defer cancel()
	if _, _, err := networkOf(args[0]); err != nil {
		return err
	}
	client := &lateCaller{address: args[0], options: options}
	defer client.close()
	caller := rpc.Caller(client)
	if o.multiplexed {
		caller = rpc.Multiplexed(client, service.Name())
	}
	result, err := method.CallJSON(ctx, caller, input)
	var exception *generic.Exception
	if errors.As(err, &exception) {
		return printException(env.stderr, exception)
	}
	var failed *rpc.Error
	if errors.As(err, &failed) && failed.Stage == rpc.StageRead {
		return fmt.Errorf("%w\nhint: the server may speak another dialect, such as --dialect=unframed", err)
	}
	if err != nil || result == nil {
		return unanswered(err, args[0])
	}
	_, err = fmt.Fprintf(env.stdout, "%s\n", result)
	return err
}

// checkArguments refuses arguments that the method does not have, which a call would leave out: they are misspelt.
// What a server's reply has beyond the schema is no mistake.
func checkArguments(def *schema.Method, input []byte) error {
	strict, err := transcode.NewMethod(def, transcode.RejectUnknown())
	if err != nil {
		return err
	}
	if _, err := strict.AppendArgsThrift(nil, input); err != nil {
		return &generic.ArgumentError{Err: err}
	}
	return nil
}

// lateCaller connects for its first call, so that what is wrong with the arguments is said
// whether there is a server or not.
type lateCaller struct {
	address string
	options []rpc.ClientOption
	client  *rpc.Client
}

func (c *lateCaller) Invoke(ctx context.Context, call *rpc.Invocation) (err error) {
	if c.client == nil {
		if c.client, err = dial(ctx, c.address, c.options); err != nil {
			return err
		}
	}
	return c.client.Invoke(ctx, call)
}

func (c *lateCaller) close() {
	if c.client != nil {
		c.client.Close()
	}
}

// callInput returns the arguments as JSON.
func callInput(env *environment, args []string) ([]byte, error) {
	switch {
	case len(args) == 0:
		return []byte("{}"), nil
	case args[0] == "-":
		return io.ReadAll(env.stdin)
	default:
		return []byte(args[0]), nil
	}
}

func dial(ctx context.Context, address string, opts []rpc.ClientOption) (*rpc.Client, error) {
	network, address, err := networkOf(address)
	if err != nil {
		return nil, err
	}
	return rpc.Dial(ctx, network, address, opts...)
}

func printException(w io.Writer, e *generic.Exception) error {
	b, err := json.Marshal(struct {
		Exception string          `json:"exception"`
		Fields    json.RawMessage `json:"fields"`
	}{e.Name(), e.JSON})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n", b)
	return errReported
}
