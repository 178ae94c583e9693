package schema

import "github.com/thrum-rpc/thrum/diag"

// Service declares a service.
type Service struct {
	spec    DeclSpec
	extends *Service
	methods []*Method
	byName  map[string]*Method // own and inherited
	done    bool
}

// NewService declares a service; Complete gives it its methods.
func NewService(spec DeclSpec) *Service { return &Service{spec: spec} }

// Complete sets the parent, nil if there is none, and the own methods. It must
// be called once, after the parent's.
func (s *Service) Complete(extends *Service, methods []*Method) {
	if s.done {
		panic("schema: service " + s.spec.Name + " completed twice")
	}
	s.done, s.extends, s.methods = true, extends, methods
	s.byName = make(map[string]*Method, len(methods))
	if extends != nil {
		for n, m := range extends.byName {
			s.byName[n] = m
		}
	}
	for _, m := range methods {
		m.service = s
		s.byName[m.spec.Name] = m
	}
}

// Extends returns the parent, or nil.
func (s *Service) Extends() *Service { return s.extends }

// Methods returns the own methods in their declared order.
func (s *Service) Methods() []*Method { return s.methods }

// AllMethods returns the methods of the oldest ancestor first, down to the own.
func (s *Service) AllMethods() []*Method {
	if s.extends == nil {
		return s.methods
	}
	all := s.extends.AllMethods()
	return append(all[:len(all):len(all)], s.methods...)
}

// Method returns the own or inherited method with that name, or nil.
func (s *Service) Method(name string) *Method { return s.byName[name] }

// FullName returns the name with its package before it, such as shop.v1.Shop.
func (s *Service) FullName() string { return s.spec.fullName() }

func (s *Service) Name() string             { return s.spec.Name }
func (s *Service) Package() string          { return s.spec.pkg() }
func (s *Service) File() *File              { return s.spec.File }
func (s *Service) Doc() string              { return s.spec.Doc }
func (s *Service) Span() diag.Span          { return s.spec.Span }
func (s *Service) Annotations() Annotations { return s.spec.Annotations }

// MethodSpec is what a method is made of.
type MethodSpec struct {
	DeclSpec
	// Args is the struct of the arguments, as it travels. A Protobuf method has one
	// argument, with the id 1, and the argument itself travels; so does its result.
	// A FlatBuffers method is like that.
	Args *StructDef
	// Result is the struct of the reply: field 0, named "success", unless the
	// method returns nothing, and the declared exceptions under their ids. All
	// its fields are optional. It is nil for a oneway method.
	Result *StructDef
	Oneway bool
	Stream *Stream // nil for a method with one request and one reply
}

// Stream describes a method that streams. With InitialReply elements follow a
// call and its reply, as in fbthrift. Without it they are all that travels, as in
// Protobuf, FlatBuffers and Kitex: what the method takes and what it returns, each
// once or many times ([MessageStream]).
type Stream struct {
	Kind         StreamKind
	InitialReply bool
	Server       *Type    // the elements that the server sends, or nil
	Client       *Type    // the elements that the client sends, or nil
	Final        *Type    // a sink's final reply, or nil
	Throws       []*Field // exceptions that may end the server's stream
	// ClientThrows are the exceptions that may end the client's elements.
	ClientThrows []*Field
}

// MessageStream returns the stream, without a call before it, of a method that
// takes messages of type in and returns those of type out: whoever does not stream
// sends one. It is nil for kind 0.
func MessageStream(kind StreamKind, in, out *Type) *Stream {
	s := &Stream{Kind: kind}
	switch kind {
	case BidirectionalStream:
		s.Client, s.Server = in, out
	case ClientStream:
		s.Client, s.Final = in, out
	case ServerStream:
		s.Server = out
	default:
		return nil
	}
	return s
}

// StreamKind tells who sends elements.
type StreamKind uint8

const (
	ServerStream StreamKind = iota + 1 // stream<T>
	ClientStream                       // sink<T, F>
	BidirectionalStream
)

// Method is a method of a service.
type Method struct {
	spec    MethodSpec
	service *Service
}

// NewMethod makes a method, which becomes part of a service by Complete.
func NewMethod(spec MethodSpec) *Method { return &Method{spec: spec} }

// NewMessageMethod makes a method that takes one message and returns one, or
// streams of them, as Protobuf and FlatBuffers have. It completes spec by Args,
// Result and Stream; kind is 0 for a method that does not stream.
func NewMessageMethod(spec MethodSpec, kind StreamKind, in, out *Type) *Method {
	part := func(suffix string, field FieldSpec) *StructDef {
		field.Span = spec.Span
		d := NewStruct(DeclSpec{Name: spec.Name + suffix, File: spec.File, Package: spec.Package, Span: spec.Span}, PlainStruct)
		d.Complete([]*Field{NewField(field)})
		return d
	}
	spec.Args = part("_args", FieldSpec{ID: 1, Name: "request", Type: in})
	spec.Result = part("_result", FieldSpec{ID: 0, Name: "success", Type: out, Requiredness: Optional})
	spec.Stream = MessageStream(kind, in, out)
	return NewMethod(spec)
}

func (m *Method) Name() string             { return m.spec.Name }
func (m *Method) Doc() string              { return m.spec.Doc }
func (m *Method) Span() diag.Span          { return m.spec.Span }
func (m *Method) Annotations() Annotations { return m.spec.Annotations }
func (m *Method) Args() *StructDef         { return m.spec.Args }
func (m *Method) Result() *StructDef       { return m.spec.Result }
func (m *Method) Oneway() bool             { return m.spec.Oneway }
func (m *Method) Stream() *Stream          { return m.spec.Stream }

// Service returns the service that declares m.
func (m *Method) Service() *Service { return m.service }

// Returns returns the type of the result, Void if there is none.
func (m *Method) Returns() *Type {
	if m.spec.Result != nil {
		if f := m.spec.Result.FieldByID(0); f != nil {
			return f.Type()
		}
	}
	return Basic(Void)
}

// Throws returns the declared exceptions in their declared order.
func (m *Method) Throws() []*Field {
	if m.spec.Result == nil {
		return nil
	}
	f := m.spec.Result.Fields()
	if len(f) > 0 && f[0].ID() == 0 {
		return f[1:]
	}
	return f
}

// CombineServices makes a service of the methods of several, with inherited
// ones, in their order. Its methods are copies, whose service it is. Two methods of one
// name are an error, unless they are the same one, inherited by both.
func CombineServices(spec DeclSpec, services ...*Service) (*Service, error) {
	combined := NewService(spec)
	var methods []*Method
	from := make(map[string]*Method)
	for _, s := range services {
		for _, m := range s.AllMethods() {
			switch other := from[m.Name()]; {
			case other == nil:
				from[m.Name()] = m
				methods = append(methods, NewMethod(m.spec))
			case other != m:
				return nil, diag.NewFault(diag.DuplicateKey, -1, "services "+other.service.Name()+" and "+m.service.Name()+" both have a method "+m.Name())
			}
		}
	}
	combined.Complete(nil, methods)
	return combined, nil
}
