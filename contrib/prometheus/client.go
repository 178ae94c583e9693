package promthrum

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
)

// This file holds the metrics of a client.

// Client is the metrics of a client, or of any [rpc.Caller]. It is safe for concurrent use.
type Client struct {
	*histogram
	watched atomic.Pointer[rpc.Client]
	numbers []metric[rpc.ClientStats]
}

var _ prometheus.Collector = (*Client)(nil)

// NewClient returns metrics of a client, which the caller registers.
func NewClient(opts ...Option) *Client {
	h := newHistogram("client", "Time of calls as their caller sees it, and of streams to their end.", opts)
	return &Client{histogram: h, numbers: []metric[rpc.ClientStats]{
		gauge(h, "connections", "Open connections.", func(s rpc.ClientStats) float64 { return float64(s.Connections) }),
		gauge(h, "calls_pending", "Calls that wait for their end.", func(s rpc.ClientStats) float64 { return float64(s.Pending) }),
	}}
}

// Option makes a client measure its calls.
func (c *Client) Option() rpc.ClientOption {
	return rpc.ClientOptions(rpc.InterceptCalls(c.Intercept), rpc.InterceptMessages(c.InterceptMessage),
		rpc.InterceptStreams(c.InterceptStream), rpc.InterceptMessageStreams(c.InterceptMessageStream))
}

// Intercept measures a call; it is what [rpc.Intercepted] takes.
func (c *Client) Intercept(ctx context.Context, call *rpc.Invocation, to rpc.Target, next rpc.Caller) error {
	began := time.Now()
	own := watched{Invocation: *call, read: call.ReadResult}
	if !call.Oneway {
		own.ReadResult = own.watch
	}
	err := next.Invoke(ctx, &own.Invocation)
	service := call.Service
	if service == "" {
		service = to.Service
	}
	c.observe(service, call.Method, outcomeOf(own.exception, err), true, began)
	return err
}

// InterceptMessage measures a call on messages; it is what [rpc.InterceptedMessages] takes.
func (c *Client) InterceptMessage(ctx context.Context, call *rpc.MessageCall, _ rpc.Target, next rpc.MessageCaller) error {
	began := time.Now()
	err := next.InvokeMessage(ctx, call)
	service, method, _ := strings.Cut(strings.TrimPrefix(call.Method, "/"), "/")
	c.observe(service, method, outcomeOf(false, err), true, began)
	return err
}

// InterceptStream measures a stream; it is what [rpc.InterceptedStreams] takes.
func (c *Client) InterceptStream(ctx context.Context, call *rpc.StreamCall, to rpc.Target, next rpc.Streamer) (*stream.Stream, error) {
	service := call.Service
	if service == "" {
		service = to.Service
	}
	began := time.Now()
	s, err := next.OpenStream(ctx, call)
	c.stream(service, call.Method, s, err, began)
	return s, err
}

// InterceptMessageStream measures a stream of messages; it is what [rpc.InterceptedMessageStreams] takes.
func (c *Client) InterceptMessageStream(ctx context.Context, call *rpc.MessageStreamCall, _ rpc.Target, next rpc.MessageStreamer) (*rpc.MessageStream, error) {
	began := time.Now()
	ms, err := next.OpenMessageStream(ctx, call)
	service, method, _ := strings.Cut(strings.TrimPrefix(call.Method, "/"), "/")
	var s *stream.Stream
	if err == nil {
		s = ms.Stream
	}
	c.stream(service, method, s, err, began)
	return ms, err
}

// stream measures a stream that was opened, or could not be because of err.
func (c *Client) stream(service, method string, s *stream.Stream, err error, began time.Time) {
	if err != nil {
		c.observe(service, method, outcomeOf(false, err), true, began)
		return
	}
	closed := c.follow(service, method, true, s)
	context.AfterFunc(s.Context(), func() {
		closed()
		ended, err := s.End()
		if !ended { // it will, for what has ended its context
			err = context.Cause(s.Context())
		}
		c.observe(service, method, outcomeOf(false, err), true, began)
	})
}

// watched is a call whose result is looked at before it is read.
type watched struct {
	rpc.Invocation
	read      func(b []byte) error
	exception bool
}

func (w *watched) watch(b []byte) error {
	_, w.exception = rpc.ExceptionField(b)
	if w.read == nil {
		return nil
	}
	return w.read(b)
}

// Watch makes a scrape tell the statistics of a client; without it there are the
// histograms alone.
func (c *Client) Watch(client *rpc.Client) { c.watched.Store(client) }

// Describe tells a registry what there will be.
func (c *Client) Describe(to chan<- *prometheus.Desc) {
	c.describe(to)
	for i := range c.numbers {
		to <- c.numbers[i].desc
	}
}

// Collect sends the metrics to a scrape.
func (c *Client) Collect(to chan<- prometheus.Metric) {
	c.collect(to)
	if client := c.watched.Load(); client != nil {
		stats := client.Stats()
		for i := range c.numbers {
			c.numbers[i].send(stats, to)
		}
	}
}
