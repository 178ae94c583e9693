// Package bookshop serves the demo's bookshop with Kitex, whatever template
// its structs were generated with. Tests and shopserver use it.
package bookshop

import (
	"context"
	"fmt"
	"maps"

	"github.com/cloudwego/kitex/pkg/serviceinfo"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/rpc"
)

// Bind returns info with the methods of service, which work on bytes: arguments
// and results pass between Kitex's structs and those of the service encoded.
func Bind(info *serviceinfo.ServiceInfo, service *rpc.Service) (*serviceinfo.ServiceInfo, error) {
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
		bound.Methods[m.Name] = serviceinfo.NewMethodInfo(handler(m), old.NewArgs, newResult, m.Oneway)
	}
	return &bound, nil
}

func handler(m rpc.Method) serviceinfo.MethodHandler {
	return func(ctx context.Context, _, arg, result any) error {
		args, err := codec.Marshal(arg)
		if err != nil {
			return err
		}
		out, err := m.Serve(ctx, args, nil)
		if err != nil || m.Oneway {
			return err
		}
		_, err = codec.Unmarshal(out, result)
		return err
	}
}
