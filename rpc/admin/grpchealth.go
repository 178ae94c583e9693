package admin

import (
	"context"
	"io"
	"strconv"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds health as gRPC's standard service, grpc.health.v1.Health.

// servingStatus is how a service is, with the numbers of grpc.health.v1.
type servingStatus uint64

const (
	serving        servingStatus = 1
	notServing     servingStatus = 2
	serviceUnknown servingStatus = 3 // in streams alone
)

// HealthService returns gRPC's grpc.health.v1.Health, to be registered beside others: Kubernetes' probes and
// load balancers ask it. Its messages are Protobuf.
//
// Check is answered with SERVING while the process is [Alive], and else with NOT_SERVING. The empty name stands for
// the process; a service is known if a server of [WithServer] serves it, and is as the process is. Watch tells of changes
// within a quarter of a second, and within some 2 s of those that a [Check] finds, which is asked once for all who watch; when a
// server shuts down it says NOT_SERVING, and ends.
func (h *Handler) HealthService() *rpc.Service {
	return &rpc.Service{Name: "grpc.health.v1.Health", Methods: []rpc.Method{
		{Name: "Check", Priority: rpc.HighImportant, Message: h.checkHealth},
		{Name: "Watch", Priority: rpc.HighImportant, MessageStream: h.watchHealth},
	}}
}

// checkHealth answers Check.
func (h *Handler) checkHealth(ctx context.Context, in rpc.Message) (rpc.Message, error) {
	service, err := healthRequest(in.Type, in.Body)
	if err != nil {
		return rpc.Message{}, err
	}
	if !h.knows(service) {
		return rpc.Message{}, &grpc.Status{Code: grpc.NotFound, Message: "no service is named " + strconv.Quote(service)}
	}
	return rpc.Message{Type: transport.Protobuf, Body: appendHealth(nil, servingOf(h.health(ctx).Status))}, nil
}

// healthRequest returns the service that a HealthCheckRequest names.
func healthRequest(t transport.ContentType, b []byte) (service string, err error) {
	if t != transport.Protobuf {
		return "", &grpc.Status{Code: grpc.InvalidArgument, Message: "the messages of grpc.health.v1 are Protobuf"}
	}
	for len(b) > 0 {
		number, wireType, n := protowire.ConsumeTag(b)
		if n < 0 {
			return "", errHealthRequest
		}
		b = b[n:]
		if number == 1 && wireType == protowire.Bytes {
			text, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return "", errHealthRequest
			}
			service, b = string(text), b[n:]
			continue
		}
		if n = protowire.Skip(b, number, wireType, maxGroups); n < 0 {
			return "", errHealthRequest
		}
		b = b[n:]
	}
	return service, nil
}

// maxGroups bounds the nesting of groups in fields that nobody knows.
const maxGroups = 100

var errHealthRequest = &grpc.Status{Code: grpc.InvalidArgument, Message: "the request is no HealthCheckRequest"}

// appendHealth appends a HealthCheckResponse.
func appendHealth(b []byte, s servingStatus) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.Varint), uint64(s))
}

func servingOf(s Status) servingStatus {
	if s == Alive {
		return serving
	}
	return notServing
}

// knows reports whether one of the servers serves a service.
func (h *Handler) knows(service string) bool {
	if service == "" {
		return true
	}
	for _, s := range h.opt.servers {
		if s.Serves(service) {
			return true
		}
	}
	return false
}

// stopping reports whether one of the servers shuts down.
func (h *Handler) stopping() bool {
	for _, s := range h.opt.servers {
		if s.Stopping() {
			return true
		}
	}
	return false
}

// watchEvery is how often a watch looks: more than once while a server that stops waits for its connections to be quiet.
const watchEvery = 250 * time.Millisecond

// watchHealth serves Watch.
func (h *Handler) watchHealth(ctx context.Context, s *rpc.MessageStream) error {
	var service string
	err := s.Recv(ctx, func(b []byte) (err error) {
		service, err = healthRequest(s.Type, b)
		return err
	})
	if err == io.EOF {
		err = errHealthRequest
	}
	if err != nil {
		return err
	}
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	for told := servingStatus(0); ; {
		leaving := h.stopping()
		now := serviceUnknown
		if h.knows(service) {
			now = servingOf(h.judge(h.recentChecks()).Status)
		}
		if now != told {
			if err := s.SendBytes(ctx, appendHealth(nil, now)); err != nil {
				return err
			}
			told = now
		}
		if leaving {
			return &grpc.Status{Code: grpc.Unavailable, Message: "the server is stopping"}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// recentChecks returns what the checks have said, a second ago at most, so that many who watch ask as much as one.
func (h *Handler) recentChecks() []checkResult {
	h.recent.Lock()
	defer h.recent.Unlock()
	if time.Since(h.recentAt) >= checkTime {
		h.checked, h.recentAt = h.runChecks(context.Background()), time.Now()
	}
	return h.checked
}
