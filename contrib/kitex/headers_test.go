package kitex_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bytedance/gopkg/cloud/metainfo"
	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/transmeta"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	gen "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/full/shop"
	full "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/full/shop/shop"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/handover"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file tests what travels beside messages in TTHeader: metadata,
// deadlines, business statuses, and the end of a connection.

// versionService has the method that these tests call; handle says what it returns.
func versionService(handle func(ctx context.Context) (string, error)) *rpc.Service {
	return &rpc.Service{Name: "Shop", Methods: []rpc.Method{{
		Name: "version",
		Serve: func(ctx context.Context, _, dst []byte) ([]byte, error) {
			text, err := handle(ctx)
			if err != nil {
				return nil, err
			}
			dst = thriftwire.AppendField(dst, thriftwire.String, 0)
			return thriftwire.AppendStop(thriftwire.AppendString(dst, text)), nil
		},
	}}}
}

// serveVersion serves a version of Thrum's and returns its address.
func serveVersion(t *testing.T, handle func(ctx context.Context) (string, error), opts ...rpc.ServerOption) (*rpc.Server, string) {
	t.Helper()
	return serveVersionAt(t, "127.0.0.1:0", handle, opts...)
}

// serveVersionAt is serveVersion at an address where another server may listen, too.
func serveVersionAt(t *testing.T, address string, handle func(ctx context.Context) (string, error), opts ...rpc.ServerOption) (*rpc.Server, string) {
	t.Helper()
	s := newServer(opts...)
	if err := s.Register(versionService(handle)); err != nil {
		t.Fatal(err)
	}
	l, err := handover.ListenShared(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l) // an error shows in the calls
	t.Cleanup(func() { s.Close() })
	return s, l.Addr().String()
}

// ways are the ways of a Kitex client to use connections.
var ways = map[string]client.Option{
	"a connection a call": client.WithShortConnection(),
	"one for all":         client.WithMuxConnection(1),
}

// kitexClient returns a client over TTHeader with all that Kitex sends in headers.
func kitexClient(t *testing.T, way client.Option, addresses ...string) full.Client {
	t.Helper()
	c, err := full.NewClient("shop", way,
		client.WithHostPorts(addresses...), client.WithTransportProtocol(transport.TTHeader), client.WithRPCTimeout(20*time.Second),
		client.WithMetaHandler(transmeta.ClientTTHeaderHandler), client.WithMetaHandler(transmeta.MetainfoClientHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestThrumServersSeeWhatKitexSends(t *testing.T) {
	_, address := serveVersion(t, func(ctx context.Context) (string, error) {
		info, _ := rpc.Info(ctx)
		transient, _ := info.Header("colour")
		persistent, _ := info.Persistent("user")
		method, _ := info.IntHeader(ttheader.ToMethod)
		deadline, limited := ctx.Deadline()
		if !limited || time.Until(deadline) > 20*time.Second {
			return "", fmt.Errorf("the deadline is %v, %v", deadline, limited)
		}
		return fmt.Sprint(transient, " ", persistent, " ", method), nil
	})
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			ctx := metainfo.WithPersistentValue(metainfo.WithValue(t.Context(), "colour", "blau"), "user", "Ada")
			if got, err := kitexClient(t, way, address).Version(ctx); err != nil || got != "blau Ada version" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// Services of one port often have a method of the same name.
func TestKitexClientsReachTheServiceThatTheyName(t *testing.T) {
	answer := func(text string) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return text, nil }
	}
	s, address := serveVersion(t, answer("the shop"))
	other := versionService(answer("another"))
	other.Name = "Other"
	if err := s.Register(other); err != nil {
		t.Fatal(err)
	}
	for name, way := range ways {
		if got, err := kitexClient(t, way, address).Version(t.Context()); err != nil || got != "the shop" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestKitexClientsGetBusinessStatuses(t *testing.T) {
	_, address := serveVersion(t, func(context.Context) (string, error) {
		return "", &rpc.BizStatus{Code: 4711, Message: "not today", Extra: map[string]string{"day": "Sunday"}}
	})
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			_, err := kitexClient(t, way, address).Version(t.Context())
			biz, ok := kerrors.FromBizStatusError(err)
			if !ok || biz.BizStatusCode() != 4711 || biz.BizMessage() != "not today" || biz.BizExtra()["day"] != "Sunday" {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestAStoppingServerAnswersItsKitexClient has a call in flight on a server that
// stops: it is answered, and calls go to the server that took the address. In
// between they are refused, and the connection lives; Kitex's client does not
// leave it of its own accord.
func TestAStoppingServerAnswersItsKitexClient(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	first, address := serveVersion(t, func(context.Context) (string, error) {
		if calls.Add(1) > 1 {
			return "early", nil // the server has not begun to refuse calls
		}
		close(running)
		<-release
		return "first", nil
	}, rpc.Grace(0, 0))
	c := kitexClient(t, client.WithMuxConnection(1), address)
	answer := make(chan string, 1)
	go func() {
		text, err := c.Version(t.Context())
		answer <- fmt.Sprint(text, err)
	}()
	<-running
	serveVersionAt(t, address, func(context.Context) (string, error) { return "second", nil })
	stopped := make(chan error, 1)
	go func() { stopped <- first.Shutdown(t.Context()) }()
	var refused *remote.TransError
	eventually(t, "no call is refused", func() bool {
		_, err := c.Version(t.Context())
		return errors.As(err, &refused)
	})
	if refused != nil && refused.TypeID() != remote.InternalError {
		t.Errorf("refused with %v", refused)
	}
	close(release)
	if got := <-answer; got != "first<nil>" {
		t.Errorf("the call in flight: %s", got)
	}
	eventually(t, "the client does not find the second server", func() bool {
		text, _ := c.Version(t.Context())
		return text == "second"
	})
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// shopkeeper is a Kitex service with one method.
type shopkeeper struct {
	gen.Shop
	version func(ctx context.Context) (string, error)
}

func (s *shopkeeper) Version(ctx context.Context) (string, error) { return s.version(ctx) }

// kitexVersion serves a version of Kitex's over TTHeader and returns a Thrum
// client of it.
func kitexVersion(t *testing.T, version func(ctx context.Context) (string, error), opts ...server.Option) rpc.Caller {
	t.Helper()
	address := run(t, full.NewServiceInfo(), &shopkeeper{version: version}, append(opts,
		server.WithMetaHandler(transmeta.ServerTTHeaderHandler), server.WithMetaHandler(transmeta.MetainfoServerHandler))...)
	c, err := rpc.Dial(t.Context(), "tcp", address, rpc.TTHeader())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// callVersion returns the string of a call of version.
func callVersion(ctx context.Context, c rpc.Caller) (text string, err error) {
	err = c.Invoke(ctx, &rpc.Invocation{
		Method:     "version",
		AppendArgs: func(dst []byte) ([]byte, error) { return thriftwire.AppendStop(dst), nil },
		ReadResult: func(b []byte) error {
			var n int
			if _, _, n = thriftwire.ConsumeField(b); n < 0 {
				return errors.New("no result")
			}
			var raw []byte
			raw, _ = thriftwire.ConsumeBytes(b[n:])
			text = string(raw)
			return nil
		},
	})
	return text, err
}

// kitexServers are the ways of a Kitex server to serve TTHeader.
var kitexServers = map[string][]server.Option{
	"one call after another": nil,
	"mux":                    {server.WithMuxTransport()},
}

func TestKitexServersSeeWhatThrumSends(t *testing.T) {
	for name, opts := range kitexServers {
		t.Run(name, func(t *testing.T) {
			c := kitexVersion(t, func(ctx context.Context) (string, error) {
				transient, _ := metainfo.GetValue(ctx, "colour")
				persistent, _ := metainfo.GetPersistentValue(ctx, "user")
				return transient + " " + persistent, nil
			}, opts...)
			ctx := rpc.WithPersistent(rpc.WithHeader(t.Context(), "colour", "blau"), "user", "Ada")
			if got, err := callVersion(ctx, c); err != nil || got != "blau Ada" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestThrumClientsGetBusinessStatuses(t *testing.T) {
	for name, opts := range kitexServers {
		t.Run(name, func(t *testing.T) {
			c := kitexVersion(t, func(context.Context) (string, error) {
				return "", kerrors.NewBizStatusErrorWithExtra(4711, "not today", map[string]string{"day": "Sunday"})
			}, opts...)
			_, err := callVersion(t.Context(), c)
			var biz *rpc.BizStatus
			if !errors.As(err, &biz) || biz.Code != 4711 || biz.Message != "not today" || biz.Extra["day"] != "Sunday" {
				t.Errorf("%v", err)
			}
		})
	}
}

// A chain of Thrum, Kitex and Thrum again. Kitex passes persistent metadata on,
// and stops what is transient, as Thrum does; it does not pass on deadlines, but sends its own client's.
func TestMetadataGoesThroughAKitexServer(t *testing.T) {
	for name, opts := range kitexServers {
		t.Run(name, func(t *testing.T) {
			_, last := serveVersion(t, func(ctx context.Context) (string, error) {
				info, _ := rpc.Info(ctx)
				once, _ := info.Header("once")
				tenant, _ := info.Persistent("tenant")
				deadline, limited := ctx.Deadline()
				if !limited || time.Until(deadline) > 20*time.Second {
					return "", fmt.Errorf("the deadline is %v, %v", deadline, limited)
				}
				return "once:" + once + " tenant:" + tenant, nil
			})
			onward := kitexClient(t, ways["one for all"], last)
			middle := kitexVersion(t, func(ctx context.Context) (string, error) { return onward.Version(ctx) }, opts...)
			_, first := serveVersion(t, func(ctx context.Context) (string, error) {
				return callVersion(rpc.WithHeader(ctx, "once", "2"), middle)
			})
			client, err := rpc.Dial(t.Context(), "tcp", first, rpc.HTTP("http://"+first+"/"))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			ctx := rpc.WithHeader(rpc.WithPersistent(t.Context(), "tenant", "acme"), "once", "1")
			if got, err := callVersion(ctx, client); err != nil || got != "once: tenant:acme" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
