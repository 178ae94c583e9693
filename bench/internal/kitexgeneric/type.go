package kitexgeneric

import (
	"context"
	"fmt"

	"github.com/cloudwego/gopkg/bufiox"
	"github.com/cloudwego/kitex/pkg/generic"
	"github.com/cloudwego/kitex/pkg/generic/descriptor"
	"github.com/cloudwego/kitex/pkg/generic/thrift"
)

// This file holds types and what is done with their messages.

// Service has the types of a service's arguments.
type Service struct{ desc *descriptor.ServiceDescriptor }

// Load reads IDL without includes. The service is the last one in it.
func Load(idl string) (*Service, error) {
	provider, err := generic.NewThriftContentWithAbsIncludePathProvider("main.thrift", map[string]string{"main.thrift": idl})
	if err != nil {
		return nil, err
	}
	desc := <-provider.Provide()
	for _, f := range desc.Functions {
		arg := f.Request.Struct.FieldsByID[1]
		if len(f.Request.Struct.FieldsByID) != 1 || arg == nil || arg.Type.Type != descriptor.STRUCT {
			return nil, fmt.Errorf("%s does not take one struct with the id 1", f.Name)
		}
		f.Request, f.IsWithoutWrapping = arg.Type, true
	}
	return &Service{desc}, provider.Close()
}

// Type reads and writes the struct that a method takes. It is safe for
// concurrent use.
type Type struct {
	method string
	maps   *thrift.StructReaderWriter
	json   *thrift.JSONReaderWriter
}

// Type returns the type of the argument of a method. In maps binary is a
// string, Kitex's default; in JSON it is base64.
func (s *Service) Type(method string) (*Type, error) {
	if s.desc.Functions[method] == nil {
		return nil, fmt.Errorf("no method %s", method)
	}
	return &Type{method, thrift.NewStructReaderWriter(s.desc), thrift.NewJsonReaderWriter(s.desc)}, nil
}

// Map decodes a message: structs become map[string]any, lists []any and maps
// map[any]any.
func (t *Type) Map(message []byte) (map[string]any, error) {
	v, err := t.maps.Read(context.Background(), t.method, false, len(message), bufiox.NewBytesReader(message))
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a message became a %T", v)
	}
	return m, nil
}

// AppendMap encodes what Map returns.
func (t *Type) AppendMap(dst []byte, v map[string]any) ([]byte, error) {
	return appendBy(t.maps.WriteStruct, dst, t.method, v)
}

// JSON converts a message.
func (t *Type) JSON(message []byte) (string, error) {
	v, err := t.json.Read(context.Background(), t.method, false, len(message), bufiox.NewBytesReader(message))
	if err != nil {
		return "", err
	}
	text, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("a message became a %T", v)
	}
	return text, nil
}

// AppendJSON converts JSON to a message.
func (t *Type) AppendJSON(dst []byte, text string) ([]byte, error) {
	return appendBy(t.json.WriteJSON, dst, t.method, text)
}

func appendBy(w thrift.MessageWriter, dst []byte, method string, v any) ([]byte, error) {
	out := bufiox.NewBytesWriter(&dst)
	if err := w.Write(context.Background(), out, v, method, true, nil); err != nil {
		return nil, err
	}
	return dst, out.Flush()
}
