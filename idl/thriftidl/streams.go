package thriftidl

import (
	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/schema"
)

// Methods that stream: by their type in fbthrift, by an annotation in Kitex.

// stream resolves fbthrift's stream<T> and sink<T, F>.
func (r *resolver) stream(u *unit, m *methodNode) *schema.Stream {
	n := m.stream
	part := func(t *typeNode) *schema.Type {
		if t == nil {
			return nil
		}
		return r.typeOf(u, t)
	}
	throws := func(nodes []*fieldDecl) []*schema.Field {
		if len(nodes) == 0 {
			return nil
		}
		return r.fields(u, nodes, fieldPlace{what: "a throws clause of " + report.Clip(m.name.name), throws: true})
	}
	s := &schema.Stream{
		InitialReply: true,
		Server:       part(n.server), Client: part(n.client), Final: part(n.final),
		Throws: throws(n.serverThrows), ClientThrows: throws(n.clientThrows),
	}
	s.Throws = append(s.Throws, throws(n.finalThrows)...)
	switch {
	case n.server == nil:
		s.Kind = schema.ClientStream
	case n.client == nil:
		s.Kind = schema.ServerStream
	default:
		s.Kind = schema.BidirectionalStream
	}
	return s
}

// streamingMode is Kitex's annotation of methods that stream.
const streamingMode = "streaming.mode"

// streamingModes are its values. What is unary goes over another transport with
// Kitex, but has one request and one reply.
var streamingModes = map[string]schema.StreamKind{
	"unary": 0, "client": schema.ClientStream, "server": schema.ServerStream, "bidirectional": schema.BidirectionalStream,
}

// messageStream gives a method its stream if Kitex's annotation says that it has one.
// Kitex refuses other modes, and other than one argument, too.
func (r *resolver) messageStream(u *unit, m *methodNode, spec *schema.MethodSpec) {
	var first *annotNode
	for _, a := range m.annots {
		switch {
		case a.name.name != streamingMode:
			continue
		case first != nil:
			d := r.errorf(u, a.pos, codeStreamingMode, "the method %s has two annotations %s", report.Clip(m.name.name), streamingMode)
			d.Notes = append(d.Notes, report.Note(u.span(first.pos), "the first stands here"))
			return
		}
		first = a
	}
	if first == nil {
		return
	}
	kind, known := streamingModes[first.value]
	switch {
	case !known:
		r.errorf(u, first.pos, codeStreamingMode, "there is no %s %q", streamingMode, report.Clip(first.value)).
			Hint = `write "bidirectional", "client", "server" or "unary"`
	case kind == 0:
	case m.stream != nil:
		r.errorf(u, first.pos, codeStreamingMode, "the method %s returns a stream and has the annotation %s", report.Clip(m.name.name), streamingMode).
			Hint = "streams of fbthrift and of Kitex differ on the wire: take one of them"
	case m.oneway, m.result == nil, len(m.args) != 1, !areStructs(spec.Args), !areStructs(spec.Result):
		r.errorf(u, m.name.pos, codeStreamingMode, "the method %s streams and has to take one struct and return one", report.Clip(m.name.name)).
			Hint = "they are the messages, whoever sends several"
	case len(spec.Args.Fields()) == 1 && spec.Result.FieldByID(0) != nil:
		spec.Stream = schema.MessageStream(kind, spec.Args.Fields()[0].Type(), spec.Result.FieldByID(0).Type())
	}
}

// areStructs reports whether the fields of d that could be resolved are structs.
func areStructs(d *schema.StructDef) bool {
	for _, f := range d.Fields() {
		if f.Type().Kind() != schema.Struct {
			return false
		}
	}
	return true
}
