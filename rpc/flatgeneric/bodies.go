package flatgeneric

import (
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode/flatjson"
)

// This file holds bodies of other formats, for services of any origin.

// Bodies returns an option that makes a service take JSON and Protobuf too, as packages flatjson and flatproto have
// them: a generated service, say, when its function that makes it is given the option. s is its
// declaration, from the .fbs or .bfbs file; methods that are not in it stay as they are, and so do, for Protobuf, those
// whose messages Protobuf cannot say. opts say how the JSON is.
func Bodies(s *schema.Service, opts ...flatjson.Option) (flatrpc.Option, error) {
	bodies := map[string][]flatrpc.Option{}
	for _, def := range s.AllMethods() {
		m, err := NewMethod(def, opts...)
		if err != nil {
			return nil, err
		}
		bodies[def.Name()] = m.bodies()
	}
	return flatrpc.ForEach(func(method string) []flatrpc.Option { return bodies[method] }), nil
}

// bodies returns the options that make a method take other formats.
func (m *Method) bodies() []flatrpc.Option {
	opts := []flatrpc.Option{flatrpc.AcceptJSON(m.send.json, m.recv.json)}
	if m.send.proto != nil && m.recv.proto != nil {
		opts = append(opts, flatrpc.AcceptProtobuf(m.send.proto, m.recv.proto))
	}
	return opts
}
