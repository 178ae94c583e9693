package fbs

// Services.

import (
	"slices"

	"github.com/thrum-rpc/thrum/gen/internal/gofile"
	"github.com/thrum-rpc/thrum/schema"
)

// service is an rpc_service.
type service struct {
	*unit
	*schema.Service
	names   serviceNames
	mocks   map[string]string // names of its mocks, by their suffix
	Methods []*method
}

// serviceNames are the package-level names that belong to a service.
type serviceNames struct {
	Handler, New, Unimplemented    string // on messages
	Objects, NewObjects            string // on objects
	Client, NewClient, ClientType  string
	ObjectsClient, NewObjectClient string
}

// method is a method of a service.
type method struct {
	*schema.Method
	service    *service
	Name, Path string
	Req, Rep   *message

	Callback, CallbackMethod string // the interface of handlers that answer by a callback, and its method; "" without
}

// base is what the names that belong to the service are made of. Other packages need them.
func (s *service) base() string { return capital(escape(s.Service.Name())) }

// derive names the service and its methods.
func (s *service) derive() {
	base := s.base()
	add := s.pkg.names.Add
	s.names = serviceNames{
		Handler: add(base + "Handler"), New: add("New" + base + "Service"), Unimplemented: add("Unimplemented" + base),
		Objects: add(base + "Objects"), NewObjects: add("New" + base + "ObjectsService"),
		Client: add(base + "Client"), NewClient: add("New" + base + "Client"),
		ObjectsClient: add(base + "ObjectsClient"), NewObjectClient: add("New" + base + "ObjectsClient"),
	}
	s.names.ClientType = add(string(toLower(base[0])) + base[1:] + "Client")
	s.mocks = map[string]string{}
	for _, suffix := range mockSuffixes {
		s.mocks[suffix] = s.pkg.mocks.Add("Mock" + base + suffix)
	}
	methods := gofile.Scope{}
	for _, m := range s.Service.Methods() {
		req, rep := s.tables(m)
		s.Methods = append(s.Methods, &method{
			Method: m, service: s, Name: methods.Add(capital(m.Name())), Path: "/" + s.FullName() + "/" + m.Name(), Req: req, Rep: rep,
		})
	}
	for _, m := range s.Methods { // when all have their names
		if s.opts.Forms && m.Stream() == nil {
			m.CallbackMethod = methods.Add(m.Name + "Callback")
			m.Callback = add(base + m.CallbackMethod)
		}
	}
}

// HasForms reports whether handlers may serve a method of the service by a callback.
func (s *service) HasForms() bool {
	return slices.ContainsFunc(s.Methods, func(m *method) bool { return m.Callback != "" })
}

// tables returns what a method takes and returns.
func (s *service) tables(m *schema.Method) (req, rep *message) {
	all := s.generator.messages
	return all[m.Args().Fields()[0].Type().Struct()], all[m.Returns().Struct()]
}

// messages returns the tables that methods take and return.
func (s *service) messages() (list []*message) {
	for _, m := range s.Service.Methods() {
		req, rep := s.tables(m)
		list = append(list, req, rep)
	}
	return list
}

func (s *service) Names() serviceNames { return s.names }

// Context, RPC and FlatRPC import these packages and return their names.
func (s *service) Context() string { return s.Use("context") + ".Context" }
func (s *service) RPC() string     { return s.Use("github.com/thrum-rpc/thrum/rpc") }
func (s *service) FlatRPC() string { return s.Use("github.com/thrum-rpc/thrum/rpc/flatrpc") }

// Kind returns how the method streams: unary if it does not, client, server or bidi.
func (m *method) Kind() string {
	if m.Stream() == nil {
		return "unary"
	}
	return map[schema.StreamKind]string{schema.ClientStream: "client", schema.ServerStream: "server", schema.BidirectionalStream: "bidi"}[m.Stream().Kind]
}

// Constructor returns the function of package flatrpc that makes the method.
func (m *method) Constructor() string {
	return map[string]string{"unary": "Unary", "client": "ClientStream", "server": "ServerStream", "bidi": "Bidi"}[m.Kind()]
}

// Handler returns the parameters and results of a handler on messages, and HandlerOfObjects on objects.
func (m *method) Handler() string {
	ctx := "(ctx " + m.service.Context()
	switch m.Kind() {
	case "client":
		return ctx + ", in *" + m.service.FlatRPC() + ".Receiver[*" + m.In() + "]) (*flatbuf.Builder, error)"
	case "server":
		return ctx + ", req *" + m.In() + ", out *" + m.service.FlatRPC() + ".Sender) error"
	case "bidi":
		return ctx + ", in *" + m.service.FlatRPC() + ".Receiver[*" + m.In() + "], out *" + m.service.FlatRPC() + ".Sender) error"
	}
	return ctx + ", req *" + m.In() + ") (*flatbuf.Builder, error)"
}

func (m *method) HandlerOfObjects() string {
	ctx := "(ctx " + m.service.Context()
	recv, send := ", recv func() (*"+m.InObject()+", error)", ", send func(*"+m.OutObject()+") error"
	switch m.Kind() {
	case "client":
		return ctx + recv + ") (*" + m.OutObject() + ", error)"
	case "server":
		return ctx + ", req *" + m.InObject() + send + ") error"
	case "bidi":
		return ctx + recv + send + ") error"
	}
	return ctx + ", req *" + m.InObject() + ") (*" + m.OutObject() + ", error)"
}

// Caller returns the parameters and results of a client's method on messages, and CallerOfObjects on objects.
func (m *method) Caller() string {
	ctx := "(ctx " + m.service.Context()
	switch m.Kind() {
	case "client":
		return ctx + ") (*" + m.service.FlatRPC() + ".Upload[*" + m.Out() + "], error)"
	case "server":
		return ctx + ", req *flatbuf.Builder) (*" + m.service.FlatRPC() + ".Download[*" + m.Out() + "], error)"
	case "bidi":
		return ctx + ") (*" + m.service.FlatRPC() + ".Duplex[*" + m.Out() + "], error)"
	}
	return ctx + ", req *flatbuf.Builder) (*" + m.Out() + ", error)"
}

func (m *method) CallerOfObjects() string {
	ctx := "(ctx " + m.service.Context()
	switch m.Kind() {
	case "client":
		return ctx + ", next func() (*" + m.InObject() + ", error)) (out *" + m.OutObject() + ", err error)"
	case "server":
		return ctx + ", req *" + m.InObject() + ", each func(*" + m.OutObject() + ") error) error"
	case "bidi":
		return m.Caller()
	}
	return ctx + ", req *" + m.InObject() + ") (out *" + m.OutObject() + ", err error)"
}

// IDL returns the name by which the method is called.
func (m *method) IDL() string { return m.Method.Name() }

// What a method takes and returns, as types of Go, and functions for these.
func (m *method) In() string        { return m.service.qualified(m.Req.unit, m.Req.Name) }
func (m *method) Out() string       { return m.service.qualified(m.Rep.unit, m.Rep.Name) }
func (m *method) InObject() string  { return m.service.qualified(m.Req.unit, m.Req.Object) }
func (m *method) OutObject() string { return m.service.qualified(m.Rep.unit, m.Rep.Object) }
func (m *method) VerifyIn() string  { return m.service.qualified(m.Req.unit, m.Req.names.Verifier) }
func (m *method) VerifyOut() string { return m.service.qualified(m.Rep.unit, m.Rep.names.Verifier) }
func (m *method) FinishIn() string  { return m.service.qualified(m.Req.unit, m.Req.names.Finish) }
func (m *method) FinishOut() string { return m.service.qualified(m.Rep.unit, m.Rep.names.Finish) }
