package generic

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file holds clients of services.

// Client calls the methods of a service by its schema. It is safe for
// concurrent use.
type Client struct {
	caller  rpc.Caller
	options *options
	table   atomic.Pointer[table]
}

// table is a service with its methods. A call takes it once, so that it sees
// one schema throughout.
type table struct {
	service *schema.Service
	methods map[string]*Method
}

func newTable(s *schema.Service, o *options) *table {
	all := s.AllMethods()
	t := &table{service: s, methods: make(map[string]*Method, len(all))}
	for _, def := range all {
		if m, err := newMethod(def, o); err == nil {
			t.methods[def.Name()] = m
		}
	}
	return t
}

// New makes a client that calls methods of s on caller. A service of several
// on one server is chosen by [rpc.Multiplexed].
func New(caller rpc.Caller, s *schema.Service, opts ...Option) *Client {
	c := &Client{caller: caller, options: newOptions(opts)}
	c.Replace(s)
	return c
}

// Replace gives the client a new schema. Calls that have begun end with the
// old one; none fails because of it.
func (c *Client) Replace(s *schema.Service) { c.table.Store(newTable(s, c.options)) }

// Service returns the schema in use.
func (c *Client) Service() *schema.Service { return c.table.Load().service }

// Method returns a method of the schema in use, for calls that all go by the same
// schema. A method that the service does not have is an [*rpc.ApplicationException] of
// type UnknownMethod, one that streams a *diag.Fault.
func (c *Client) Method(name string) (*Method, error) {
	t := c.table.Load()
	if m := t.methods[name]; m != nil {
		return m, nil
	}
	if def := t.service.Method(name); def != nil {
		return newMethod(def, c.options) // streams, or it would be among the methods
	}
	return nil, &rpc.ApplicationException{Type: rpc.UnknownMethod, Message: t.service.Name() + " has no method " + strconv.Quote(name)}
}

// Call calls a method with maps: see [Method.Call].
func (c *Client) Call(ctx context.Context, method string, args map[string]any) (any, error) {
	m, err := c.Method(method)
	if err != nil {
		return nil, err
	}
	return m.Call(ctx, c.caller, args)
}

// CallJSON calls a method with JSON: see [Method.CallJSON].
func (c *Client) CallJSON(ctx context.Context, method string, args []byte) ([]byte, error) {
	m, err := c.Method(method)
	if err != nil {
		return nil, err
	}
	return m.CallJSON(ctx, c.caller, args)
}

// CallEncoded calls a method with encoded arguments: see [Method.CallEncoded].
func (c *Client) CallEncoded(ctx context.Context, method string, args []byte) (dynamic.Value, error) {
	m, err := c.Method(method)
	if err != nil {
		return dynamic.Value{}, err
	}
	return m.CallEncoded(ctx, c.caller, args)
}

// CallHTTP calls a method with an HTTP request: see [Method.CallHTTP].
func (c *Client) CallHTTP(ctx context.Context, method string, req transcode.HTTPRequest, resp transcode.HTTPResponse) ([]byte, transcode.Body, error) {
	m, err := c.Method(method)
	if err != nil {
		return nil, transcode.NoBody, err
	}
	return m.CallHTTP(ctx, c.caller, req, resp)
}
