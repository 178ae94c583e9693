package kitex_test

import (
	"slices"
	"testing"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/remote/trans/gonet"
	"github.com/cloudwego/kitex/pkg/serviceinfo"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	"github.com/thrum-rpc/thrum/contrib/kitex"
	full "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/full/shop/shop"
	slim "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/slim/shop/shop"
	untagged "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/untagged/shop/shop"
)

var templates = map[string]func() *serviceinfo.ServiceInfo{
	"slim": slim.NewServiceInfo,
	"full": full.NewServiceInfo,
	// Kitex's own codec has no way to handle these.
	"slim with thrift tags only": untagged.NewServiceInfo,
}

var transports = map[string]transport.Protocol{
	"plain":           transport.PurePayload,
	"framed":          transport.Framed,
	"ttheader":        transport.TTHeader,
	"framed ttheader": transport.TTHeaderFramed,
}

// side is the codec of a client or server; none is Kitex's own.
type side struct {
	name  string
	codec remote.PayloadCodec
}

func sides() []side {
	return []side{
		{"own", nil},
		{"thrum", kitex.New()},
		{"thrum reads", kitex.New(kitex.ReadOnly())},
		{"thrum writes", kitex.New(kitex.WriteOnly())},
	}
}

func (s side) server() (opts []server.Option) {
	if s.codec != nil {
		opts = append(opts, server.WithPayloadCodec(s.codec))
	}
	return opts
}

func (s side) client() (opts []client.Option) {
	if s.codec != nil {
		opts = append(opts, client.WithPayloadCodec(s.codec))
	}
	return opts
}

// TestThrumAndKitexUnderstandEachOther makes the calls of the list for each
// template, pair of codecs and transport.
func TestThrumAndKitexUnderstandEachOther(t *testing.T) {
	for template, newInfo := range templates {
		for _, s := range sides() {
			for _, c := range sides() {
				if s.codec == nil && c.codec == nil || template == "slim with thrift tags only" && (s.codec == nil || c.codec == nil) {
					continue
				}
				for name, protocol := range transports {
					t.Run(template+"/"+s.name+" serves/"+c.name+" calls/"+name, func(t *testing.T) {
						t.Parallel()
						testCalls(t, newInfo, s.server(), append(c.client(), client.WithTransportProtocol(protocol)))
					})
				}
			}
		}
	}
}

// TestGoNet does so over Go's net instead of netpoll.
func TestGoNet(t *testing.T) {
	for template, newInfo := range templates {
		for name, protocol := range transports {
			t.Run(template+"/"+name, func(t *testing.T) {
				t.Parallel()
				testCalls(t, newInfo,
					[]server.Option{server.WithPayloadCodec(kitex.New()),
						server.WithTransServerFactory(gonet.NewTransServerFactory()), server.WithTransHandlerFactory(gonet.NewSvrTransHandlerFactory())},
					[]client.Option{client.WithPayloadCodec(kitex.New()), client.WithTransportProtocol(protocol),
						client.WithDialer(gonet.NewDialer()), client.WithTransHandlerFactory(gonet.NewCliTransHandlerFactory())})
			})
		}
	}
}

func testCalls(t *testing.T, newInfo func() *serviceinfo.ServiceInfo, s []server.Option, c []client.Option) {
	address, books := serve(t, newInfo(), s...)
	info := newInfo()
	makeCalls(t, info, dial(t, info, address, c...))
	eventually(t, "the oneway calls did not take effect", func() bool {
		return slices.Equal(books.Notes(), []string{"from a peer ✉"}) && books.Views(2) == 1
	})
}
