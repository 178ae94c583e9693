package flatgeneric

import (
	"context"
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode/flatjson"
	"github.com/thrum-rpc/thrum/transcode/flatproto"
)

// This file holds methods and the calls of clients.

// Method is a method of a FlatBuffers service.
type Method struct {
	def        *schema.Method
	path       string
	send, recv *part // what a client sends and gets; what a server gets and sends
}

// part is one of the two messages of a method.
type part struct {
	def      *schema.StructDef
	json     *flatjson.Converter
	proto    *flatproto.Converter // nil if Protobuf cannot say what the message says
	verifier *flatbuf.Verifier
}

// NewMethod returns a method of a .fbs file. opts say how its JSON is.
func NewMethod(def *schema.Method, opts ...flatjson.Option) (*Method, error) {
	m := &Method{def: def, path: "/" + def.Service().FullName() + "/" + def.Name()}
	args := def.Args().Fields()
	if len(args) != 1 {
		return nil, fmt.Errorf("flatgeneric: %s has %d arguments; methods of FlatBuffers have one", def.Name(), len(args))
	}
	var err error
	if m.send, err = newPart(args[0].Type(), opts); err != nil {
		return nil, fmt.Errorf("flatgeneric: request of %s: %w", def.Name(), err)
	}
	if m.recv, err = newPart(def.Returns(), opts); err != nil {
		return nil, fmt.Errorf("flatgeneric: reply of %s: %w", def.Name(), err)
	}
	return m, nil
}

func newPart(t *schema.Type, opts []flatjson.Option) (*part, error) {
	def := t.Struct()
	if def == nil {
		return nil, fmt.Errorf("%s is no table", t)
	}
	layout, err := flatbuf.LayoutOf(def)
	if err != nil {
		return nil, err
	}
	p := &part{def: def}
	if p.verifier, err = flatbuf.NewVerifier(layout, 0); err != nil {
		return nil, err
	}
	// What arrives is verified before it is converted.
	if p.proto, err = flatproto.New(def, flatproto.Trusted()); err != nil && diag.CodeOf(err) != diag.Unsupported {
		return nil, err
	}
	p.json, err = flatjson.New(def, append(opts[:len(opts):len(opts)], flatjson.Trusted())...)
	return p, err
}

// Def returns the method's declaration.
func (m *Method) Def() *schema.Method { return m.def }

// Path returns what the method is called as: "/shop.Orders/Place".
func (m *Method) Path() string { return m.path }

// Call calls a unary method. x is the request as flatbuffers.Make takes it. The reply owns its bytes.
func (m *Method) Call(ctx context.Context, c rpc.MessageCaller, x any) (flatbuffers.Value, error) {
	b := new(flatbuf.Builder)
	if err := flatbuffers.Build(b, m.send.def, x); err != nil {
		return flatbuffers.Value{}, err
	}
	reply, err := flatrpc.Call[root](ctx, c, m.path, b, m.recv.verifier)
	if err != nil {
		return flatbuffers.Value{}, err
	}
	return m.recv.value(reply), nil
}

// CallJSON is Call with JSON both ways.
func (m *Method) CallJSON(ctx context.Context, c rpc.MessageCaller, request []byte) (reply []byte, err error) {
	b := new(flatbuf.Builder)
	if err := m.send.json.BuildMessage(b, request); err != nil {
		return nil, err
	}
	err = flatrpc.View(ctx, c, m.path, b, m.recv.verifier, func(r *root) (err error) {
		reply, err = m.recv.json.AppendJSON(nil, r.t.Bytes)
		return err
	})
	return reply, err
}

// Open opens a stream of a method that streams in whichever direction: where one side sends a
// single message, that is the first and last one of its direction. Who stops to receive before the
// end must end ctx, or Close the stream.
func (m *Method) Open(ctx context.Context, c rpc.MessageCaller) (*Stream, error) {
	d, err := flatrpc.OpenBidi[root](ctx, c, m.path, m.recv.verifier)
	if err != nil {
		return nil, err
	}
	return &Stream{in: &d.Receiver, out: &d.Sender, recv: m.recv, send: m.send, closeSend: d.CloseSend, close: d.Close}, nil
}

// root is the root table of a verified message of any type.
type root struct{ t flatbuf.Table }

// Init is called by package flatbuf.
func (r *root) Init(b []byte, i flatbuf.UOffsetT) { r.t.Bytes, r.t.Pos = b, i }

// Table is called by package flatbuf.
func (r *root) Table() flatbuf.Table { return r.t }

func (p *part) value(r *root) flatbuffers.Value { return flatbuffers.Root(p.def, r.t.Bytes) }
