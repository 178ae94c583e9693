package grpc

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // has clients watch
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/admin"
)

// This file lets grpc-go ask for the health of Thrum's servers.

// watched starts a server of Words with its health.
func watched(t *testing.T) (address string, s *rpc.Server, h *admin.Handler) {
	t.Helper()
	address, s = thrumServer(t, newWaits())
	h, err := admin.New(admin.WithServer("words", s))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Register(h.HealthService()); err != nil {
		t.Fatal(err)
	}
	return address, s, h
}

func plainClient(t *testing.T, target string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient(target, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestPeersCheckHealth(t *testing.T) {
	address, _, h := watched(t)
	c := health.NewHealthClient(plainClient(t, address))
	check := func(name string, want health.HealthCheckResponse_ServingStatus, code codes.Code) {
		t.Helper()
		reply, err := c.Check(within(t), &health.HealthCheckRequest{Service: name})
		if reply.GetStatus() != want || status.Code(err) != code {
			t.Errorf("%q: %v, %v", name, reply, err)
		}
	}
	check("", health.HealthCheckResponse_SERVING, codes.OK)
	check(service, health.HealthCheckResponse_SERVING, codes.OK)
	check("test.Others", health.HealthCheckResponse_UNKNOWN, codes.NotFound)
	check(strings.Repeat("long", 100), health.HealthCheckResponse_UNKNOWN, codes.NotFound)
	h.SetStatus(admin.Stopping)
	check(service, health.HealthCheckResponse_NOT_SERVING, codes.OK)
}

func TestPeersWatchHealth(t *testing.T) {
	address, s, h := watched(t)
	c := health.NewHealthClient(plainClient(t, address))
	watch := func(name string) (next func() health.HealthCheckResponse_ServingStatus, end func() error) {
		t.Helper()
		w, err := c.Watch(within(t), &health.HealthCheckRequest{Service: name})
		if err != nil {
			t.Fatal(err)
		}
		return func() health.HealthCheckResponse_ServingStatus {
				reply, err := w.Recv()
				if err != nil {
					t.Fatal(err)
				}
				return reply.Status
			}, func() error {
				_, err := w.Recv()
				return err
			}
	}
	words, end := watch(service)
	unknown, _ := watch("test.Others")
	if now := words(); now != health.HealthCheckResponse_SERVING {
		t.Errorf("at first %v", now)
	}
	if now := unknown(); now != health.HealthCheckResponse_SERVICE_UNKNOWN {
		t.Errorf("of a service that there is not: %v", now)
	}
	h.SetStatus(admin.Starting)
	if now := words(); now != health.HealthCheckResponse_NOT_SERVING {
		t.Errorf("while it starts %v", now)
	}
	h.SetStatus(admin.Alive)
	if now := words(); now != health.HealthCheckResponse_SERVING {
		t.Errorf("alive it is %v", now)
	}
	if err := s.Register(&rpc.Service{Name: "test.Others"}); err != nil {
		t.Fatal(err)
	}
	if now := unknown(); now != health.HealthCheckResponse_SERVING {
		t.Errorf("of a service that has come: %v", now)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(within(t)) }()
	if now := words(); now != health.HealthCheckResponse_NOT_SERVING {
		t.Errorf("while it stops %v", now)
	}
	if err := end(); status.Code(err) != codes.Unavailable {
		t.Errorf("the watch ends with %v", err)
	}
	if err := receive(t, "the server has stopped, and no watch holds it", stopped); err != nil {
		t.Error(err)
	}
}

// grpc-go's clients watch the health of each address, if they are told to, and call those that serve.
func TestPeersLeaveAServerThatIsNotHealthy(t *testing.T) {
	r := manual.NewBuilderWithScheme("fleet")
	var addresses []resolver.Address
	var handlers []*admin.Handler
	var servers []*rpc.Server
	for range 2 {
		address, s, h := watched(t)
		addresses, servers, handlers = append(addresses, resolver.Address{Addr: address}), append(servers, s), append(handlers, h)
	}
	r.InitialState(resolver.State{Addresses: addresses})
	c := plainClient(t, "fleet:///words", grpc.WithResolvers(r),
		grpc.WithDefaultServiceConfig(fmt.Sprintf(`{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":%q}}`, service)))
	check := func() error {
		_, err := health.NewHealthClient(c).Check(within(t), &health.HealthCheckRequest{}, grpc.WaitForReady(true))
		return err
	}
	calls := func(i int) int64 { return servers[i].Stats().Calls }
	both := func() bool { // in a dozen calls
		a, b := calls(0), calls(1)
		for range 12 {
			if err := check(); err != nil {
				t.Fatal(err)
			}
		}
		return calls(0) > a && calls(1) > b
	}
	eventually(t, "both are called", both)
	handlers[0].SetStatus(admin.Stopping)
	eventually(t, "one is not called", func() bool { return !both() })
	handlers[0].SetStatus(admin.Alive)
	eventually(t, "both are called again", both)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := health.NewHealthClient(c).Check(cancelled, &health.HealthCheckRequest{}); status.Code(err) != codes.Canceled {
		t.Errorf("%v", err)
	}
}
