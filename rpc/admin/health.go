package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds health: over HTTP, and as the Thrift service of fb303.

// Status is how a process is, with the numbers of fb303's fb_status.
type Status int32

const (
	Dead     Status = 0
	Starting Status = 1 // not ready yet
	Alive    Status = 2 // ready
	Stopping Status = 3 // takes no more calls soon
	Stopped  Status = 4
	Warning  Status = 5 // alive, but a check fails
)

var statusNames = [...]string{"DEAD", "STARTING", "ALIVE", "STOPPING", "STOPPED", "WARNING"}

// String returns the name in fb303's IDL.
func (s Status) String() string {
	if s >= 0 && int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status %d", int32(s))
}

// SetStatus says how the process is. Before a restart, a program says Stopping first, waits until those who ask
// have heard of it, and then shuts its servers down.
func (h *Handler) SetStatus(s Status) { h.status.Store(int32(s)) }

// health is the status with its reasons.
type health struct {
	Status  Status
	Reasons []string // why it is not Alive
	Checks  []checkResult
}

// health asks the checks and looks at the servers.
func (h *Handler) health(ctx context.Context) health { return h.judge(h.runChecks(ctx)) }

// judge makes the status of what the checks have said, what was set and what the servers do.
func (h *Handler) judge(checks []checkResult) health {
	out := health{Status: Status(h.status.Load()), Checks: checks}
	if out.Status != Alive {
		out.Reasons = append(out.Reasons, "the process is "+out.Status.String())
	}
	for _, s := range h.opt.servers {
		if s.Stopping() {
			out.Reasons = append(out.Reasons, "server "+s.name+" is stopping")
			if out.Status == Alive {
				out.Status = Stopping
			}
		}
	}
	for _, c := range out.Checks {
		if c.Error != "" {
			out.Reasons = append(out.Reasons, c.Name+": "+c.Error)
			if out.Status == Alive {
				out.Status = Warning
			}
		}
	}
	return out
}

func (h *Handler) serveLive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}

func (h *Handler) serveReady(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	now := h.health(r.Context())
	if now.Status == Alive {
		fmt.Fprintln(w, "ok")
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	for _, reason := range now.Reasons {
		fmt.Fprintln(w, reason)
	}
}

type noArgs struct{}

type keyArgs struct {
	Key string `thrift:"key,1"`
}

type textResult struct {
	Success *string `thrift:"success,0,optional"`
}

type statusResult struct {
	Success *int32 `thrift:"success,0,optional"`
}

type numberResult struct {
	Success *int64 `thrift:"success,0,optional"`
}

type numbersResult struct {
	Success map[string]int64 `thrift:"success,0,optional"`
}

// text makes a method that answers with a string.
func text(name string, f func(context.Context) string) rpc.Method {
	return rpc.Unary(name, func(ctx context.Context, _ *noArgs, result *textResult) error {
		answer := f(ctx)
		result.Success = &answer
		return nil
	}, rpc.WithPriority(rpc.HighImportant))
}

// Service returns fb303's FacebookService, to be registered beside others. Its
// calls have the highest priority, so that a busy server is not taken for a dead one.
func (h *Handler) Service() *rpc.Service {
	first := rpc.WithPriority(rpc.HighImportant)
	return &rpc.Service{Name: "FacebookService", Methods: []rpc.Method{
		text("getName", func(context.Context) string { return h.opt.title }),
		text("getVersion", func(context.Context) string { return programVersion() }),
		text("getStatusDetails", func(ctx context.Context) string { return strings.Join(h.health(ctx).Reasons, "\n") }),
		rpc.Unary("getStatus", func(ctx context.Context, _ *noArgs, result *statusResult) error {
			status := int32(h.health(ctx).Status)
			result.Success = &status
			return nil
		}, first),
		rpc.Unary("getCounters", func(_ context.Context, _ *noArgs, result *numbersResult) error {
			result.Success = h.counters()
			return nil
		}, first),
		rpc.Unary("getCounter", func(_ context.Context, args *keyArgs, result *numberResult) error {
			n := h.counters()[args.Key]
			result.Success = &n
			return nil
		}, first),
		rpc.Unary("aliveSince", func(_ context.Context, _ *noArgs, result *numberResult) error {
			since := h.started.Unix()
			result.Success = &since
			return nil
		}, first),
	}}
}

// counters are what servers and clients have counted, by their names.
func (h *Handler) counters() map[string]int64 {
	out := map[string]int64{}
	for _, s := range h.opt.servers {
		for _, n := range numbersOf(s.Stats()) {
			out[s.name+"."+n.Name] = n.Value
		}
	}
	for _, c := range h.opt.clients {
		for _, n := range clientNumbers(c.Stats()) {
			out[c.name+"."+n.Name] = n.Value
		}
	}
	return out
}
