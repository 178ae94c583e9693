package promthrum

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds the metrics of a server.

// Server is the metrics of a server. It is safe for concurrent use.
type Server struct {
	*histogram
	watched  atomic.Pointer[rpc.Server]
	numbers  []metric[rpc.Stats]
	refused  *prometheus.Desc
	stopping *prometheus.Desc
}

var _ prometheus.Collector = (*Server)(nil)

// NewServer returns metrics of one server, which the caller registers.
func NewServer(opts ...Option) *Server {
	h := newHistogram("server", "Time of the calls that were admitted, from the admission to the reply, and of streams to their end.", opts)
	return &Server{
		histogram: h,
		numbers: []metric[rpc.Stats]{
			gauge(h, "connections", "Open connections.", func(s rpc.Stats) float64 { return float64(s.Connections) }),
			gauge(h, "calls_in_flight", "Calls that are accepted and not answered.", func(s rpc.Stats) float64 { return float64(s.InFlight) }),
			gauge(h, "calls_waiting", "Calls that wait for a worker.", func(s rpc.Stats) float64 { return float64(s.Waiting) }),
			gauge(h, "memory_bytes", "Bytes of requests in flight and of replies that wait to be sent.", func(s rpc.Stats) float64 { return float64(s.Memory) }),
			counter(h, "connections_accepted_total", "Connections that were accepted.", func(s rpc.Stats) float64 { return float64(s.Accepted) }),
			counter(h, "calls_total", "Calls that arrived, refused ones too.", func(s rpc.Stats) float64 { return float64(s.Calls) }),
			counter(h, "panics_total", "Panics of handlers.", func(s rpc.Stats) float64 { return float64(s.Panics) }),
			counter(h, "second_replies_total", "Calls that a handler answered again.", func(s rpc.Stats) float64 { return float64(s.SecondReplies) }),
			counter(h, "unknown_dialects_total", "Connections whose first bytes are none that is served.", func(s rpc.Stats) float64 { return float64(s.UnknownDialect) }),
			counter(h, "tls_failures_total", "TLS handshakes that failed.", func(s rpc.Stats) float64 { return float64(s.Handshakes) }),
			counter(h, "http_refused_total", "Requests over HTTP that hold no message that can be answered.", func(s rpc.Stats) float64 { return float64(s.HTTPRefused) }),
			counter(h, "connections_broken_total", "Connections that were closed for what the client sent.", func(s rpc.Stats) float64 { return float64(s.Broken) }),
			counter(h, "slow_clients_total", "Connections that were closed because the client did not read.", func(s rpc.Stats) float64 { return float64(s.SlowClients) }),
			counter(h, "calls_unanswered_total", "Calls that a callback or future had not answered when their time was over.", func(s rpc.Stats) float64 { return float64(s.Unanswered) }),
			counter(h, "connections_late_total", "Connections that were closed because a message did not arrive whole in time.", func(s rpc.Stats) float64 { return float64(s.Late) }),
			counter(h, "connections_idle_total", "Connections that were closed because they were idle.", func(s rpc.Stats) float64 { return float64(s.Idle) }),
			counter(h, "connections_aged_total", "Connections that were closed for their age.", func(s rpc.Stats) float64 { return float64(s.Aged) }),
			counter(h, "reading_paused_total", "Times that reading a connection waited for room.", func(s rpc.Stats) float64 { return float64(s.Paused) }),
			gauge(h, "concurrency_limit", "The limit that latency has set to calls in flight, 0 without one.", func(s rpc.Stats) float64 { return float64(s.Concurrency) }),
		},
		refused:  prometheus.NewDesc(h.prefix+"refused_total", "Calls that were refused or given up, by the reason.", []string{"reason"}, h.labels),
		stopping: prometheus.NewDesc(h.prefix+"stopping", "1 once the server is shutting down.", nil, h.labels),
	}
}

// Option makes a server measure its calls.
func (s *Server) Option() rpc.ServerOption {
	return rpc.Intercept(func(_ context.Context, call rpc.CallInfo) (context.Context, func(error), error) {
		began := time.Now()
		closed := func() {}
		if stream := call.Stream(); stream != nil {
			closed = s.follow(call.Service(), call.Method(), call.Known(), stream)
		}
		return nil, func(err error) {
			closed()
			_, exception := call.Declared()
			s.observe(call.Service(), call.Method(), outcomeOf(exception, answer(err)), call.Known(), began)
		}, nil
	})
}

// answer returns what the client is told of a handler's error.
func answer(err error) error {
	var exception *rpc.ApplicationException
	switch kind := rpc.ErrorType(err); {
	case kind == "" || kind == "biz_status" || kind == "timeout" || kind == "canceled":
	case !errors.As(err, &exception):
		return &rpc.ApplicationException{Type: rpc.InternalError}
	}
	return err
}

// Watch makes a scrape tell the statistics of a server; without it there are the
// histograms alone.
func (s *Server) Watch(server *rpc.Server) { s.watched.Store(server) }

// Describe tells a registry what there will be.
func (s *Server) Describe(to chan<- *prometheus.Desc) {
	s.describe(to)
	for i := range s.numbers {
		to <- s.numbers[i].desc
	}
	to <- s.refused
	to <- s.stopping
}

// Collect sends the metrics to a scrape.
func (s *Server) Collect(to chan<- prometheus.Metric) {
	s.collect(to)
	server := s.watched.Load()
	if server == nil {
		return
	}
	stats := server.Stats()
	for i := range s.numbers {
		s.numbers[i].send(stats, to)
	}
	for r := rpc.RefusedConnection; r <= rpc.RefusedExpired; r++ { // those that never were are 0, so that rates are right from the first on
		to <- prometheus.MustNewConstMetric(s.refused, prometheus.CounterValue, float64(stats.Refused[r]), r.String())
	}
	stopping := 0.0
	if server.Stopping() {
		stopping = 1
	}
	to <- prometheus.MustNewConstMetric(s.stopping, prometheus.GaugeValue, stopping)
}
