// Package bookshop serves the demo's bookshop with Kitex, whatever template
// its structs were generated with. Tests and shopserver use it.
package bookshop

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"

	"github.com/cloudwego/kitex/pkg/serviceinfo"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/rpc"
)

// Bind returns info with the methods of service: arguments and results pass
// between Kitex's structs and those of the service encoded, through a server
// of Thrum's that runs until the program ends.
func Bind(info *serviceinfo.ServiceInfo, service *rpc.Service) (*serviceinfo.ServiceInfo, error) {
	behind, err := serve(service)
	if err != nil {
		return nil, err
	}
	bound := *info
	bound.Methods = maps.Clone(info.Methods)
	for _, m := range service.Methods {
		old, ok := bound.Methods[m.Name]
		if !ok {
			return nil, fmt.Errorf("service %s of Kitex has no method %s", info.ServiceName, m.Name)
		}
		newResult := old.NewResult
		if m.Oneway {
			newResult = nil
		}
		bound.Methods[m.Name] = serviceinfo.NewMethodInfo(handler(behind, m), old.NewArgs, newResult, m.Oneway)
	}
	return &bound, nil
}

// serve returns a client of a server that has the service.
func serve(service *rpc.Service) (rpc.Caller, error) {
	s := rpc.NewServer(rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0)) // some calls fail as they should
	if err := s.Register(service); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go s.Serve(l) // an error shows in the calls
	return rpc.Dial(context.Background(), "tcp", l.Addr().String())
}

func handler(behind rpc.Caller, m rpc.Method) serviceinfo.MethodHandler {
	return func(ctx context.Context, _, arg, result any) error {
		args, err := codec.Marshal(arg)
		if err != nil {
			return err
		}
		return behind.Invoke(ctx, &rpc.Invocation{
			Method:     m.Name,
			Oneway:     m.Oneway,
			AppendArgs: func(dst []byte) ([]byte, error) { return append(dst, args...), nil },
			ReadResult: func(b []byte) error {
				_, err := codec.Unmarshal(b, result)
				return err
			},
		})
	}
}
