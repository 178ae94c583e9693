package transcodesuite

import (
	"context"

	"github.com/bytedance/sonic"
	"github.com/bytedance/sonic/encoder"
	"github.com/cloudwego/dynamicgo/conv"
	"github.com/cloudwego/dynamicgo/conv/j2t"
	"github.com/cloudwego/dynamicgo/conv/t2j"
	dynamic "github.com/cloudwego/dynamicgo/thrift"
	"github.com/cloudwego/gopkg/bufiox"
	gopkg "github.com/cloudwego/gopkg/protocol/thrift"
	"github.com/cloudwego/kitex/pkg/generic"
	kitex "github.com/cloudwego/kitex/pkg/generic/thrift"

	"github.com/thrum-rpc/thrum/bench/idl"
)

// dynamicgoType is the type of a method's argument.
func dynamicgoType(method string) (*dynamic.TypeDescriptor, error) {
	service, err := dynamic.NewDescritorFromContent(context.Background(), "transcode.thrift", string(idl.Transcode), nil, false)
	if err != nil {
		return nil, err
	}
	m, err := service.LookupFunctionByMethod(method)
	if err != nil {
		return nil, err
	}
	return m.Request().Struct().FieldById(1).Type(), nil
}

// converter is what dynamicgo has for each direction.
type converter interface {
	Do(context.Context, *dynamic.TypeDescriptor, []byte) ([]byte, error)
	DoInto(context.Context, *dynamic.TypeDescriptor, []byte, *[]byte) error
}

// dynamicgo makes the contenders that convert in, into a buffer that is reused
// and into new memory.
func dynamicgo(s *shape, in []byte, c converter) []contender {
	into := func() (op, error) {
		desc, err := dynamicgoType(s.method)
		ctx, buf := context.Background(), make([]byte, 0, 2*len(s.json))
		return func() ([]byte, error) {
			buf = buf[:0]
			err := c.DoInto(ctx, desc, in, &buf)
			return buf, err
		}, err
	}
	do := func() (op, error) {
		desc, err := dynamicgoType(s.method)
		ctx := context.Background()
		return func() ([]byte, error) { return c.Do(ctx, desc, in) }, err
	}
	return []contender{{"dynamicgo", into}, {"dynamicgo-new", do}}
}

func dynamicgoFromJSON(s *shape) []contender {
	c := j2t.NewBinaryConv(conv.Options{})
	return dynamicgo(s, s.json, &c)
}

func dynamicgoToJSON(s *shape) []contender {
	c := t2j.NewBinaryConv(conv.Options{})
	return dynamicgo(s, s.message, &c)
}

// fast is what the kitex tool generates for *T.
type fast[T any] interface {
	*T
	BLength() int
	FastWriteNocopy(buf []byte, w gopkg.NocopyWriter) int
	FastRead(buf []byte) (int, error)
}

// fastMessage is v as FastCodec writes it.
func fastMessage[T any, P fast[T]](v P) []byte {
	b := make([]byte, v.BLength())
	return b[:v.FastWriteNocopy(b, nil)]
}

// sonicFastCodec converts by way of a Go struct.
type sonicFastCodec struct {
	toThrift func(dst, in []byte) ([]byte, error)
	toJSON   func(dst, in []byte) ([]byte, error)
}

func newSonicFastCodec[T any, P fast[T]]() sonicFastCodec {
	return sonicFastCodec{
		toThrift: func(dst, in []byte) ([]byte, error) {
			v := P(new(T))
			if err := sonic.ConfigFastest.Unmarshal(in, v); err != nil {
				return nil, err
			}
			if n := v.BLength(); cap(dst) < n {
				dst = make([]byte, n)
			}
			return dst[:v.FastWriteNocopy(dst[:cap(dst)], nil)], nil
		},
		toJSON: func(dst, in []byte) ([]byte, error) {
			v := P(new(T))
			if _, err := v.FastRead(in); err != nil {
				return nil, err
			}
			dst = dst[:0]
			err := encoder.EncodeInto(&dst, v, encoder.NoQuoteTextMarshaler|encoder.NoValidateJSONMarshaler)
			return dst, err
		},
	}
}

func (s *shape) sonicPeer(in []byte, do func(dst, in []byte) ([]byte, error)) contender {
	return contender{"sonic-fastcodec", func() (op, error) {
		buf := make([]byte, 0, 2*len(s.json))
		return func() (_ []byte, err error) {
			buf, err = do(buf, in)
			return buf, err
		}, nil
	}}
}

// argument is a message as the one argument of a method.
func argument(message []byte) []byte {
	return append(append([]byte{12, 0, 1}, message...), 0)
}

func kitexFromJSON(s *shape) contender {
	return contender{"kitex-generic", func() (op, error) {
		p, err := generic.NewThriftContentWithAbsIncludePathProvider("transcode.thrift", map[string]string{"transcode.thrift": string(idl.Transcode)})
		if err != nil {
			return nil, err
		}
		w := kitex.NewWriteJSON(<-p.Provide())
		ctx, in := context.Background(), string(s.json)
		buf := make([]byte, 0, 2*len(s.json))
		return func() ([]byte, error) {
			buf = buf[:0]
			out := bufiox.NewBytesWriter(&buf)
			if err := w.Write(ctx, out, in, s.method, true, nil); err != nil {
				return nil, err
			}
			err := out.Flush()
			return buf[3 : len(buf)-1], err
		}, p.Close()
	}}
}

func kitexToJSON(s *shape) contender {
	return contender{"kitex-generic", func() (op, error) {
		p, err := generic.NewThriftContentWithAbsIncludePathProvider("transcode.thrift", map[string]string{"transcode.thrift": string(idl.Transcode)})
		if err != nil {
			return nil, err
		}
		r := kitex.NewReadJSON(<-p.Provide())
		ctx, in := context.Background(), argument(s.message)
		return func() ([]byte, error) {
			out, err := r.Read(ctx, s.method, false, len(in), bufiox.NewBytesReader(in))
			text, _ := out.(string)
			return []byte(text), err
		}, p.Close()
	}}
}
