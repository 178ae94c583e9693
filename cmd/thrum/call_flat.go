package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatgeneric"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
	"github.com/thrum-rpc/thrum/schema"
)

// This file is "thrum call" of services of FlatBuffers, whose methods may stream.

// messageOptions returns how a client of messages is to speak.
func (s *speech) messageOptions(address string) ([]rpc.ClientOption, error) {
	if s.dialect == "" {
		s.dialect = "trpc"
	}
	overGRPC, err := choose("dialect", s.dialect, map[string]bool{"trpc": false, "grpc": true})
	if err != nil {
		return nil, err
	}
	compression, err := s.compression(overGRPC)
	if err != nil {
		return nil, err
	}
	opts := []rpc.ClientOption{rpc.CompressMessages(compression)}
	protocol := "thrift" // which servers of ours take for any framing
	if overGRPC {
		opts = append(opts, rpc.GRPC())
		protocol = "h2"
	}
	config, err := s.tls.config(address, protocol)
	if config != nil {
		opts = append(opts, rpc.TLS(config))
	}
	return opts, err
}

// compression returns how messages are compressed, and refuses what only Thrift has.
func (s *speech) compression(overGRPC bool) (trpc.Compression, error) {
	if s.protocol != "binary" || s.multiplexed || s.path != "/" {
		return 0, usageError("--protocol, --multiplexed and --path are for services of Thrift")
	}
	if overGRPC {
		return choose("compress", s.compress, map[string]trpc.Compression{"none": trpc.None, "gzip": trpc.Gzip})
	}
	return choose("compress", s.compress, map[string]trpc.Compression{
		"none": trpc.None, "gzip": trpc.Gzip, "zlib": trpc.Zlib, "snappy": trpc.SnappyBlock,
	})
}

// callFlat is call with a .fbs or .bfbs file.
func callFlat(env *environment, args []string, o *callOptions) error {
	options, err := o.messageOptions(args[0])
	if err != nil {
		return err
	}
	_, def, err := o.find(env.stderr, args[1])
	if err != nil {
		return err
	}
	method, err := flatgeneric.NewMethod(def)
	if err != nil {
		return err
	}
	network, address, err := networkOf(args[0])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(env.ctx, o.timeout)
	defer cancel()
	client := &lateMessageCaller{dial: func() (*rpc.MessageClient, error) {
		client, err := rpc.DialMessages(ctx, network, address, options...)
		return client, unanswered(err, args[0])
	}}
	defer client.close()
	err = exchange(ctx, env, client, method, args[2:])
	var biz *rpc.BizStatus
	if errors.As(err, &biz) {
		return printStatus(env.stderr, biz)
	}
	return err
}

// lateMessageCaller is a lateCaller for calls on messages.
type lateMessageCaller struct {
	dial   func() (*rpc.MessageClient, error)
	client *rpc.MessageClient // nil before it is asked for
}

func (c *lateMessageCaller) connected() (_ *rpc.MessageClient, err error) {
	if c.client == nil {
		c.client, err = c.dial()
	}
	return c.client, err
}

func (c *lateMessageCaller) InvokeMessage(ctx context.Context, call *rpc.MessageCall) error {
	client, err := c.connected()
	if err != nil {
		return err
	}
	return client.InvokeMessage(ctx, call)
}

func (c *lateMessageCaller) close() {
	if c.client != nil {
		c.client.Close()
	}
}

// exchange sends the input, prints what comes back and returns the outcome.
func exchange(ctx context.Context, env *environment, late *lateMessageCaller, method *flatgeneric.Method, args []string) error {
	mode := method.Def().Stream()
	if mode == nil || mode.Kind == schema.ServerStream {
		input, err := callInput(env, args)
		if err != nil {
			return err
		}
		if mode == nil {
			reply, err := method.CallJSON(ctx, late, input)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.stdout, "%s\n", reply)
			return err
		}
		args = []string{string(input)}
	}
	client, err := late.connected()
	if err != nil {
		return err
	}
	stream, err := method.Open(ctx, client)
	if err != nil {
		return err
	}
	return converse(env, stream, requests(env, args))
}

// outcome returns how a stream ended: err is what receiving ended with, and wrong holds what was wrong
// with the input, if anything.
func outcome(err error, wrong <-chan error) error {
	select {
	case cause := <-wrong:
		return cause
	default:
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// requests returns the messages of a stream: of the argument, or as they come on standard input.
func requests(env *environment, args []string) io.Reader {
	switch {
	case len(args) == 0:
		return bytes.NewReader(nil)
	case args[0] == "-":
		return env.stdin
	default:
		return bytes.NewReader([]byte(args[0]))
	}
}

// sendAll sends the JSON values of r one after another. Its error is what is wrong with them; why a stream
// takes no more is for who receives.
func sendAll(stream jsonStream, r io.Reader) error {
	c := &cutter{r: r, limit: maxValue, format: jsonFormat}
	for i := int64(0); ; i++ {
		v, err := c.next()
		if err == io.EOF {
			_ = stream.CloseSend()
			return nil
		}
		if err != nil {
			return indexed(err, i)
		}
		err = stream.SendJSON(v)
		if f := (*diag.Fault)(nil); errors.As(err, &f) {
			return indexed(placed(err, c.start), i)
		}
		if err != nil {
			return nil
		}
	}
}

// printStatus prints the error of an application.
func printStatus(w io.Writer, s *rpc.BizStatus) error {
	b, err := json.Marshal(struct {
		Code    int32             `json:"code"`
		Message string            `json:"message"`
		Extra   map[string]string `json:"extra,omitempty"`
	}{s.Code, s.Message, s.Extra})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n", b)
	return errReported
}
