package gen

// Methods that stream over TTHeader, which Kitex's annotation says:
// (streaming.mode = "bidirectional"), "client" or "server". Their messages are the
// struct of the only argument and the struct that they return.

import (
	"strings"

	"github.com/thrum-rpc/thrum/schema"
)

// streamAnnotation is the annotation that makes a method stream.
const streamAnnotation = "streaming.mode"

// streamModes are its values, and what their functions in package rpc are called by.
var streamModes = map[string]string{"": "", "unary": "", "server": "Server", "client": "Client", "bidirectional": "Bidi"}

// streamMode returns how a method streams, "" if it does not.
func (g *generator) streamMode(d *schema.Method) string {
	a, ok := d.Annotations().Get(streamAnnotation)
	if !ok {
		return ""
	}
	mode, known := streamModes[a.Value]
	if !known {
		g.report(d.Span(), "streaming-mode", "there is no "+streamAnnotation+" "+a.Value, `write "bidirectional", "client", "server" or "unary"`)
	}
	return mode
}

// addStream adds what the stubs of a method that streams need.
func (g *generator) addStream(m *goMethod) {
	params := g.params()
	m.ReqName = params.add("req")
	args, result := m.Method.Args().Fields(), m.Method.Result()
	if len(args) == 1 {
		m.Request = args[0].Type()
	}
	if result != nil && len(result.Fields()) > 0 && result.Fields()[0].ID() == 0 {
		m.Response = result.Fields()[0].Type()
	}
	if !isStruct(m.Request) || !isStruct(m.Response) || len(result.Fields()) > 1 {
		g.report(m.Span(), "streaming-type", "a method that streams takes one struct and returns one, without exceptions",
			"the error of a handler that is no declared exception reaches the client, too")
		m.Mode = ""
		m.Args = &goStruct{goFile: m.goFile, StructDef: m.Method.Args(), Synthetic: true}
	}
}

func isStruct(t *schema.Type) bool { return t != nil && t.Kind() == schema.Struct }

// HasStreams tells whether s or a service that it extends has methods that stream.
func (s *goService) HasStreams() bool {
	for _, c := range s.All() {
		if c.Mode != "" {
			return true
		}
	}
	return false
}

// ServiceIDL returns the name of the service in which the method is called.
func (c goCall) ServiceIDL() string { return c.of.Service.Name() }

// stream imports package stream and returns its name.
func (c goCall) stream() string { return c.in.Use("github.com/thrum-rpc/thrum/rpc/stream") }

// RequestType and ResponseType return the types of the messages.
func (c goCall) RequestType() string  { return strings.TrimPrefix(c.in.goType(c.Request), "*") }
func (c goCall) ResponseType() string { return strings.TrimPrefix(c.in.goType(c.Response), "*") }

// streamSignature is Signature for a handler of a method that streams.
func (c goCall) streamSignature() string {
	request := ""
	if c.Mode == "Server" {
		request = ", " + c.ReqName + " *" + c.RequestType()
	}
	return c.Name + "(ctx " + c.in.Use("context") + ".Context" + request + ", stream " +
		c.stream() + "." + c.Mode + "StreamingServer" + c.messageTypes() + ") (err error)"
}

// ClientSignature is Signature for the client of a method that streams.
func (c goCall) ClientSignature() string {
	request := ""
	if c.Mode == "Server" {
		request = ", " + c.ReqName + " *" + c.RequestType()
	}
	return c.Name + "(ctx " + c.in.Use("context") + ".Context" + request + ") (" +
		c.stream() + "." + c.Mode + "StreamingClient" + c.messageTypes() + ", error)"
}

// messageTypes returns the type arguments of a stream.
func (c goCall) messageTypes() string {
	if c.Mode == "Server" {
		return "[" + c.ResponseType() + "]"
	}
	return "[" + c.RequestType() + ", " + c.ResponseType() + "]"
}
