package gen

// Methods that stream over TTHeader. Their messages are the struct of the only argument
// and the struct that they return, as thriftidl sees to.

import (
	"strings"

	"github.com/thrum-rpc/thrum/schema"
)

// streamModes are what functions of package rpc are called by.
var streamModes = map[schema.StreamKind]string{
	schema.ServerStream: "Server", schema.ClientStream: "Client", schema.BidirectionalStream: "Bidi",
}

// streamsAfterCall reports whether m is one of fbthrift's methods that stream.
func streamsAfterCall(m *schema.Method) bool { return m.Stream() != nil && m.Stream().InitialReply }

// addStream adds what the stubs of a method that streams need.
func (g *generator) addStream(m *goMethod) {
	params := g.params()
	m.ReqName = params.Add("req")
	m.Request, m.Response = m.Method.Args().Fields()[0].Type(), m.Method.Returns()
}

// Doc returns the method's documentation, with what becomes of the exceptions of one that
// streams.
func (c goCall) Doc() string {
	doc := c.Method.Doc()
	if c.Mode == "" || len(c.Throws()) == 0 {
		return doc
	}
	var names []string
	for _, f := range c.Throws() {
		names = append(names, f.Type().Struct().Name())
	}
	if doc != "" {
		doc += "\n\n"
	}
	return doc + "Streams carry no exceptions: of " + strings.Join(names, ", ") + " clients get the text."
}

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
