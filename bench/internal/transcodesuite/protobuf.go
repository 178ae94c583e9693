package transcodesuite

import (
	"context"
	"encoding/json"
	"fmt"

	"buf.build/go/hyperpb"
	"github.com/bufbuild/protocompile"
	"github.com/cloudwego/dynamicgo/conv"
	"github.com/cloudwego/dynamicgo/conv/j2p"
	"github.com/cloudwego/dynamicgo/conv/p2j"
	dynamicproto "github.com/cloudwego/dynamicgo/proto"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/thrum-rpc/thrum/bench/idl"
	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/idl/protoidl"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file holds the works json-to-protobuf and protobuf-to-json. 64-bit
// integers are numbers in JSON, as dynamicgo has them; protojson writes them as
// strings, which it cannot be told not to.

const protoFile = "transcode.proto"

// protoShape is a value in both forms, and what the contenders need of its type.
type protoShape struct {
	name    string
	json    []byte
	message []byte
	def     *schema.StructDef
	desc    protoreflect.MessageDescriptor
}

func protoShapes() (list []*protoShape, err error) {
	source := protoidl.Sources(map[string][]byte{protoFile: idl.TranscodeProto})
	file, problems := protoidl.Load(protoFile, source, protoidl.MemoryOnly())
	if err := problems.Err(); err != nil {
		return nil, err
	}
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{protoFile: string(idl.TranscodeProto)}),
	}}
	files, err := compiler.Compile(context.Background(), protoFile)
	if err != nil {
		return nil, err
	}
	for _, x := range []struct {
		name, message string
		value         any
	}{
		{"small", "Simple", simple()}, {"medium", "Nesting", nesting()}, {"large", "Nestings", nestings()},
	} {
		s := &protoShape{name: x.name, def: file.Struct(x.message), desc: files[0].Messages().ByName(protoreflect.Name(x.message))}
		if s.json, err = json.Marshal(x.value); err != nil {
			return nil, err
		}
		m := dynamicpb.NewMessage(s.desc)
		if err = protojson.Unmarshal(s.json, m); err != nil {
			return nil, err
		}
		if s.message, err = proto.Marshal(m); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// canonical is the message in b in Google's order.
func (s *protoShape) canonical(b []byte) ([]byte, error) {
	m := dynamicpb.NewMessage(s.desc)
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// canonicalJSON is the message that the JSON in b stands for.
func (s *protoShape) canonicalJSON(b []byte) ([]byte, error) {
	m := dynamicpb.NewMessage(s.desc)
	if err := protojson.Unmarshal(b, m); err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// jsonProtobuf are the works json-to-protobuf and protobuf-to-json.
func jsonProtobuf() ([]harness.Group, error) {
	all, err := protoShapes()
	if err != nil {
		return nil, err
	}
	var from, to []harness.Group
	for _, s := range all {
		size := len(s.message)
		from = append(from, group("json-to-protobuf", s.name, size, s.canonical, s.oursFromJSON(),
			s.dynamicgo(s.json, j2p.NewBinaryConv(conv.Options{})), s.protojsonFromJSON()))
		to = append(to, group("protobuf-to-json", s.name, size, s.canonicalJSON, s.oursToJSON(),
			s.dynamicgo(s.message, p2j.NewBinaryConv(conv.Options{})), s.protojsonToJSON(), s.hyperpbToJSON()))
	}
	return append(from, to...), nil
}

// ours makes our contender, which converts with do.
func (s *protoShape) ours(do func(c *transcode.ProtobufConverter, dst []byte) ([]byte, error)) contender {
	return contender{harness.Ours, func() (op, error) {
		c, err := transcode.NewProtobuf(s.def, transcode.Int64Numbers())
		buf := make([]byte, 0, 2*len(s.json))
		return func() (_ []byte, err error) {
			buf, err = do(c, buf[:0])
			return buf, err
		}, err
	}}
}

func (s *protoShape) oursFromJSON() contender {
	return s.ours(func(c *transcode.ProtobufConverter, dst []byte) ([]byte, error) { return c.AppendProtobuf(dst, s.json) })
}

func (s *protoShape) oursToJSON() contender {
	return s.ours(func(c *transcode.ProtobufConverter, dst []byte) ([]byte, error) { return c.AppendJSON(dst, s.message) })
}

// protoConv is either converter of dynamicgo.
type protoConv interface {
	DoInto(context.Context, *dynamicproto.TypeDescriptor, []byte, *[]byte) error
}

// dynamicgo makes the contender that converts in with c.
func (s *protoShape) dynamicgo(in []byte, c any) contender {
	return contender{"dynamicgo", func() (op, error) {
		var do protoConv
		switch c := c.(type) {
		case j2p.BinaryConv:
			do = &c
		case p2j.BinaryConv:
			do = &c
		}
		ctx := context.Background()
		service, err := dynamicproto.NewDescritorFromContent(ctx, protoFile, string(idl.TranscodeProto), map[string]string{})
		if err != nil {
			return nil, err
		}
		method := service.LookupMethodByName(s.name)
		if method == nil {
			return nil, fmt.Errorf("no method %s", s.name)
		}
		desc, buf := method.Input(), make([]byte, 0, 2*len(s.json))
		return func() ([]byte, error) {
			buf = buf[:0]
			err := do.DoInto(ctx, desc, in, &buf)
			return buf, err
		}, nil
	}}
}

func (s *protoShape) protojsonFromJSON() contender {
	return contender{"protojson", func() (op, error) {
		buf := make([]byte, 0, 2*len(s.json))
		return func() (_ []byte, err error) {
			m := dynamicpb.NewMessage(s.desc)
			if err := protojson.Unmarshal(s.json, m); err != nil {
				return nil, err
			}
			buf, err = proto.MarshalOptions{}.MarshalAppend(buf[:0], m)
			return buf, err
		}, nil
	}}
}

func (s *protoShape) protojsonToJSON() contender {
	return contender{"protojson", func() (op, error) {
		buf := make([]byte, 0, 2*len(s.json))
		return func() (_ []byte, err error) {
			m := dynamicpb.NewMessage(s.desc)
			if err := proto.Unmarshal(s.message, m); err != nil {
				return nil, err
			}
			buf, err = protojson.MarshalOptions{}.MarshalAppend(buf[:0], m)
			return buf, err
		}, nil
	}}
}

// hyperpbToJSON reads with hyperpb, whose messages can only be read, and writes
// with protojson.
func (s *protoShape) hyperpbToJSON() contender {
	return contender{"hyperpb", func() (op, error) {
		t := hyperpb.CompileMessageDescriptor(s.desc)
		shared := new(hyperpb.Shared)
		buf := make([]byte, 0, 2*len(s.json))
		return func() (_ []byte, err error) {
			m := shared.NewMessage(t)
			defer shared.Free()
			if err := m.Unmarshal(s.message); err != nil {
				return nil, err
			}
			buf, err = protojson.MarshalOptions{}.MarshalAppend(buf[:0], m)
			return buf, err
		}, nil
	}}
}
