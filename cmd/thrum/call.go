package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file is "thrum call".

func callCommand() *command {
	return &command{
		name: "call", args: "ADDRESS Service.method [JSON] --idl FILE",
		summary: "call a method of any Thrift server with JSON",
		help: "ADDRESS is host:port or unix:PATH. JSON is an object of the arguments, {} if it\n" +
			"is left out, read from standard input if it is -. The result is printed as JSON.\n" +
			"A declared exception is printed to standard error, as JSON, with exit code 1.\n" +
			"A dialect is framed, unframed, theader (fbthrift's header transport) or ttheader\n" +
			"(CloudWeGo's); a protocol binary, compact or compact-fbthrift; a compression,\n" +
			"of theader alone, none, zlib or zstd.",
		examples: []string{
			`thrum call 127.0.0.1:9090 Shop.search '{"search": {"text": "invisibili"}}' --idl shop.thrift`,
			"thrum call unix:/run/shop.sock Shop.ping --dialect unframed --idl shop.thrift",
		},
		setup: func(fs *flag.FlagSet) func(*environment, []string) error {
			o := callOptions{dirs: includeFlag(fs)}
			fs.StringVar(&o.idl, "idl", "", "the .thrift `file` that declares the service, or a directory of such files")
			fs.StringVar(&o.dialect, "dialect", "framed", "how messages travel: a `dialect`")
			fs.StringVar(&o.protocol, "protocol", "binary", "the `protocol` of the messages")
			fs.StringVar(&o.compress, "compress", "none", "the `compression` of the messages")
			fs.BoolVar(&o.multiplexed, "multiplexed", false, "name the service in each call, as TMultiplexedProtocol does")
			fs.DurationVar(&o.timeout, "timeout", 10*time.Second, "give up after this `time`")
			return func(env *environment, args []string) error { return call(env, args, &o) }
		},
	}
}

type callOptions struct {
	idl         string
	dirs        *listFlag
	dialect     string
	protocol    string
	compress    string
	multiplexed bool
	timeout     time.Duration
}

func call(env *environment, args []string, o *callOptions) error {
	if len(args) < 2 || len(args) > 3 {
		return usageError("an address and a Service.method are needed, then at most one JSON object")
	}
	service, def, err := o.find(env.stderr, args[1])
	if err != nil {
		return err
	}
	method, err := generic.NewMethod(def)
	if err != nil {
		return err
	}
	input, err := callInput(env, args[2:])
	if err != nil {
		return err
	}
	options, err := o.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(env.ctx, o.timeout)
	defer cancel()
	client, err := dial(ctx, args[0], options)
	if err != nil {
		return err
	}
	defer client.Close()
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
		return err
	}
	_, err = fmt.Fprintf(env.stdout, "%s\n", result)
	return err
}

// find finds the method to call.
func (o *callOptions) find(stderr io.Writer, name string) (*schema.Service, *schema.Method, error) {
	if info, err := os.Stat(o.idl); err == nil && info.IsDir() {
		return findBelow(stderr, o.idl, *o.dirs, name)
	}
	file, err := load(stderr, o.idl, *o.dirs)
	if err != nil {
		return nil, nil, err
	}
	return findMethod(file, name)
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

// client returns how the client is to speak.
func (o *callOptions) client() (opts []rpc.ClientOption, err error) {
	transform, ok := map[string]header.Transform{"none": header.None, "zlib": header.Zlib, "zstd": header.Zstd}[o.compress]
	if !ok {
		return nil, usageError(fmt.Sprintf("there is no compression %q%s", o.compress, suggest(o.compress, []string{"none", "zlib", "zstd"})))
	}
	switch o.dialect {
	case "framed":
	case "unframed":
		opts = append(opts, rpc.Unframed())
	case "theader":
		opts = append(opts, rpc.THeader(transform))
	case "ttheader":
		opts = append(opts, rpc.TTHeader())
	default:
		return nil, usageError(fmt.Sprintf("there is no dialect %q%s", o.dialect, suggest(o.dialect, []string{"framed", "unframed", "theader", "ttheader"})))
	}
	if transform != header.None && o.dialect != "theader" {
		return nil, usageError("only the dialect theader compresses")
	}
	switch o.protocol {
	case "binary":
	case "compact":
		opts = append(opts, rpc.Compact(compact.Apache))
	case "compact-fbthrift":
		opts = append(opts, rpc.Compact(compact.FBThrift))
	default:
		return nil, usageError(fmt.Sprintf("there is no protocol %q%s", o.protocol, suggest(o.protocol, []string{"binary", "compact", "compact-fbthrift"})))
	}
	return opts, nil
}

func dial(ctx context.Context, address string, opts []rpc.ClientOption) (*rpc.Client, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", path
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
