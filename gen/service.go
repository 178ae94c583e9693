package gen

// What the templates ask of services.

import (
	"strings"

	"github.com/thrum-rpc/thrum/schema"
)

// Parent returns the interface of the service that s extends, or "".
func (s *goService) Parent() string { return s.ofParent(func(p *goService) string { return p.Name }) }

// ParentNew returns the function that makes the parent's method table, or "".
func (s *goService) ParentNew() string {
	return s.ofParent(func(p *goService) string { return p.NewService })
}

// ParentPretouch returns the function that compiles the parent's codecs, or "".
func (s *goService) ParentPretouch() string {
	return s.ofParent(func(p *goService) string { return p.Pretouch })
}

// ParentUnimplemented returns the struct of the parent's unknown methods, or "".
func (s *goService) ParentUnimplemented() string {
	return s.ofParent(func(p *goService) string { return p.Unimplemented })
}

func (s *goService) ofParent(name func(*goService) string) string {
	if s.Extends() == nil {
		return ""
	}
	p := s.generator.services[s.Extends()]
	return s.qualified(p.pkg, name(p))
}

// Streams returns the names of the methods that are left out.
func (s *goService) Streams() []string {
	var names []string
	for _, m := range s.Service.Methods() {
		if streamsAfterCall(m) {
			names = append(names, m.Name())
		}
	}
	return names
}

// goCall is a method as file in sees it, which may be in another package than
// the method's own.
type goCall struct {
	*goMethod
	in     *goFile
	Client string     // the type whose method it is
	of     *goService // that it is called in
}

// Own returns the methods that s declares.
func (s *goService) Own() []goCall {
	var calls []goCall
	for _, m := range s.Methods {
		calls = append(calls, goCall{m, s.goFile, s.Client, s})
	}
	return calls
}

// All returns the inherited methods and then the own ones.
func (s *goService) All() []goCall {
	var calls []goCall
	if s.Extends() != nil {
		for _, c := range s.generator.services[s.Extends()].All() {
			calls = append(calls, goCall{c.goMethod, s.goFile, s.Client, s})
		}
	}
	return append(calls, s.Own()...)
}

// IDL returns the name by which the method is called.
func (c goCall) IDL() string { return c.Method.Name() }

// RPC imports package rpc where the call is seen and returns its name.
func (c goCall) RPC() string { return c.in.RPC() }

// Signature returns the method's name, parameters and results.
func (c goCall) Signature() string {
	if c.Mode != "" {
		return c.streamSignature()
	}
	var b strings.Builder
	b.WriteString(c.Name + "(ctx " + c.in.Use("context") + ".Context")
	for _, p := range c.Params {
		b.WriteString(", " + p.Name + " " + c.in.goType(p.Field.valueType()))
	}
	if s := c.Success(); s != nil {
		return b.String() + ") (r " + c.in.goType(s.valueType()) + ", err error)"
	}
	return b.String() + ") (err error)"
}

// ParamDecls returns the parameters with their types.
func (c goCall) ParamDecls() []string {
	var decls []string
	for _, p := range c.Params {
		decls = append(decls, p.Name+" "+c.in.goType(p.Field.valueType()))
	}
	return decls
}

// ParamList returns the parameters with their types, each with a comma behind it.
func (c goCall) ParamList() string {
	var b strings.Builder
	for _, d := range c.ParamDecls() {
		b.WriteString(d + ", ")
	}
	return b.String()
}

// ValueType returns the type of what the method returns, struct{} for nothing.
func (c goCall) ValueType() string {
	if s := c.Success(); s != nil {
		return c.in.goType(s.valueType())
	}
	return "struct{}"
}

// ReplyType returns the type by which a callback answers.
func (c goCall) ReplyType() string {
	if c.Result == nil {
		return c.RPC() + ".Reply[struct{}]"
	}
	return c.Reply
}

// ArgsType and ResultType return the names of the structs that travel.
func (c goCall) ArgsType() string   { return c.in.qualified(c.Args.pkg, c.Args.Name) }
func (c goCall) ResultType() string { return c.in.qualified(c.Result.pkg, c.Result.Name) }

// ArgsValue returns the struct of the arguments, filled from the parameters.
func (c goCall) ArgsValue() string {
	var set []string
	for _, p := range c.Params {
		set = append(set, p.Field.Name+": "+p.Name)
	}
	return c.ArgsType() + "{" + strings.Join(set, ", ") + "}"
}

// Success returns the field of the result for what the method returns, or nil.
func (c goCall) Success() *goField {
	if c.Result != nil && len(c.Result.Fields) > 0 && c.Result.Fields[0].ID() == 0 {
		return c.Result.Fields[0]
	}
	return nil
}

// Exceptions returns the fields of the result for the declared exceptions.
func (c goCall) Exceptions() []*goField {
	switch {
	case c.Result == nil:
		return nil
	case c.Success() != nil:
		return c.Result.Fields[1:]
	}
	return c.Result.Fields
}

// EmptySuccess returns the expression of an empty success, or "" unless nil
// would be taken for the lack of one.
func (c goCall) EmptySuccess() string {
	if t := c.Success().valueType(); t.Kind().IsContainer() || t.Kind() == schema.Binary {
		return c.in.goType(t) + "{}"
	}
	return ""
}
