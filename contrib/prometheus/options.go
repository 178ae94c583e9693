package promthrum

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
)

// This file holds the options, and the histogram that both sides have.

// Option configures [NewServer], [NewClient] and [NewCluster].
type Option func(*options)

type options struct {
	buckets []float64
	labels  prometheus.Labels
}

func newOptions(opts []Option) options {
	o := options{buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}
	for _, f := range opts {
		f(&o)
	}
	return o
}

// Buckets sets the upper bounds of the latency histogram, in seconds; the
// default is 14 bounds from half a millisecond to ten seconds.
func Buckets(bounds ...float64) Option {
	return func(o *options) { o.buckets = slices.Clone(bounds) }
}

// Labels adds labels with a fixed value to all metrics. Two collectors of one registry, such as those of two
// clients, need different ones.
func Labels(labels prometheus.Labels) Option { return func(o *options) { o.labels = labels } }

// The outcomes that are no type of an error.
const (
	outcomeOK        = "ok"
	outcomeException = "exception"
)

// maxMethods bounds the methods that are told apart.
const maxMethods = 1000

// histogram is the latency of calls, and what passes over streams.
type histogram struct {
	labels   prometheus.Labels
	prefix   string
	latency  *prometheus.HistogramVec
	open     *prometheus.GaugeVec   // streams
	messages *prometheus.CounterVec // of streams

	mu    sync.RWMutex
	known map[[2]string]struct{}
}

func newHistogram(side, help string, opts []Option) *histogram {
	o := newOptions(opts)
	h := &histogram{labels: o.labels, prefix: "thrum_" + side + "_", known: map[[2]string]struct{}{}}
	h.latency = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: h.prefix + "call_duration_seconds", Help: help, Buckets: o.buckets, ConstLabels: o.labels,
	}, []string{"service", "method", "outcome"})
	h.open = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: h.prefix + "streams", Help: "Streams that are open.", ConstLabels: o.labels,
	}, []string{"service", "method"})
	h.messages = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: h.prefix + "stream_messages_total", Help: "Messages on streams, as this side has sent or received them.", ConstLabels: o.labels,
	}, []string{"service", "method", "direction"})
	return h
}

// follow counts an open stream and its messages until ended is called.
func (h *histogram) follow(service, method string, known bool, s *stream.Stream) (ended func()) {
	if !known || !h.tells(service, method) {
		service, method = rpc.OtherType, rpc.OtherType
	}
	open := h.open.WithLabelValues(service, method)
	open.Inc()
	sent := h.messages.WithLabelValues(service, method, "sent")
	received := h.messages.WithLabelValues(service, method, "received")
	before, came := s.Watch(func(p stream.Passage) {
		if p.Sent {
			sent.Inc()
		} else {
			received.Inc()
		}
	})
	sent.Add(float64(before))
	received.Add(float64(came))
	return open.Dec
}

// describe and collect are those of the collectors that both sides have.
func (h *histogram) describe(to chan<- *prometheus.Desc) {
	h.latency.Describe(to)
	h.open.Describe(to)
	h.messages.Describe(to)
}

func (h *histogram) collect(to chan<- prometheus.Metric) {
	h.latency.Collect(to)
	h.open.Collect(to)
	h.messages.Collect(to)
}

// observe notes a call. One of a method that is not known, or is one too many, is another's.
func (h *histogram) observe(service, method, outcome string, known bool, began time.Time) {
	if !known || !h.tells(service, method) {
		service, method = rpc.OtherType, rpc.OtherType
	}
	h.latency.WithLabelValues(service, method, outcome).Observe(time.Since(began).Seconds())
}

// tells reports whether a method has series of its own.
func (h *histogram) tells(service, method string) bool {
	key := [2]string{service, method}
	h.mu.RLock()
	_, ok := h.known[key]
	full := len(h.known) >= maxMethods
	h.mu.RUnlock()
	if ok || full {
		return ok
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.known) >= maxMethods {
		return false
	}
	h.known[key] = struct{}{}
	return true
}

// outcomeOf names how a call has ended.
func outcomeOf(exception bool, err error) string {
	switch {
	case err != nil:
		return rpc.ErrorType(err)
	case exception:
		return outcomeException
	}
	return outcomeOK
}

// metric is a number of statistics S.
type metric[S any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(S) float64
}

// gauge and counter make metrics of a side.
func gauge[S any](h *histogram, name, help string, value func(S) float64) metric[S] {
	return metric[S]{prometheus.NewDesc(h.prefix+name, help, nil, h.labels), prometheus.GaugeValue, value}
}

func counter[S any](h *histogram, name, help string, value func(S) float64) metric[S] {
	return metric[S]{prometheus.NewDesc(h.prefix+name, help, nil, h.labels), prometheus.CounterValue, value}
}

// send sends the metric of what was counted, with the values of its labels.
func (m *metric[S]) send(stats S, to chan<- prometheus.Metric, labels ...string) {
	to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(stats), labels...)
}
