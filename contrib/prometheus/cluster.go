package promthrum

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/thrum-rpc/thrum/rpc/cluster"
)

// This file holds the metrics of a client with many addresses.

// Cluster is the metrics of a cluster's addresses, of which there are as many as cluster.MaxAddresses allows. For the
// latency of calls put [Client.Intercept] around the cluster. It is safe for concurrent use.
type Cluster struct {
	client Watched
	totals []metric[cluster.Stats]
	each   []metric[cluster.AddressStats]
}

var _ prometheus.Collector = (*Cluster)(nil)

// Watched is a [cluster.Client] or [cluster.MessageClient].
type Watched interface{ Stats() cluster.Stats }

// NewCluster returns metrics of a cluster's client, which the caller registers.
func NewCluster(client Watched, opts ...Option) *Cluster {
	labels := newOptions(opts).labels
	total := func(name, help string, value func(cluster.Stats) float64) metric[cluster.Stats] {
		return metric[cluster.Stats]{prometheus.NewDesc("thrum_cluster_"+name, help, nil, labels), prometheus.CounterValue, value}
	}
	each := func(kind prometheus.ValueType, name, help string, value func(cluster.AddressStats) float64) metric[cluster.AddressStats] {
		return metric[cluster.AddressStats]{prometheus.NewDesc("thrum_cluster_address_"+name, help, []string{"address"}, labels), kind, value}
	}
	return &Cluster{client: client,
		totals: []metric[cluster.Stats]{
			total("retries_total", "Attempts that followed one which failed.", func(s cluster.Stats) float64 { return float64(s.Retries) }),
			total("hedges_total", "Attempts beside another.", func(s cluster.Stats) float64 { return float64(s.Hedges) }),
			total("budget_denied_total", "Calls that were not repeated for want of budget.", func(s cluster.Stats) float64 { return float64(s.BudgetDenied) }),
		},
		each: []metric[cluster.AddressStats]{
			each(prometheus.GaugeValue, "connections", "Open connections.", func(s cluster.AddressStats) float64 { return float64(s.Connections) }),
			each(prometheus.GaugeValue, "calls_pending", "Calls that run, and streams that are open.", func(s cluster.AddressStats) float64 { return float64(s.Pending) }),
			each(prometheus.GaugeValue, "streams", "Streams that are open.", func(s cluster.AddressStats) float64 { return float64(s.Streams) }),
			each(prometheus.GaugeValue, "reachable", "1 if the address is connected, or not yet wanted.", func(s cluster.AddressStats) float64 { return truth(s.Reachable) }),
			each(prometheus.GaugeValue, "ejected", "1 while the address gets no calls for its failures.", func(s cluster.AddressStats) float64 { return truth(s.Ejected) }),
			each(prometheus.CounterValue, "attempts_total", "Attempts that have ended.", func(s cluster.AddressStats) float64 { return float64(s.Attempts) }),
			each(prometheus.CounterValue, "failed_total", "Attempts without a reply in time.", func(s cluster.AddressStats) float64 { return float64(s.Failed) }),
			each(prometheus.CounterValue, "refused_total", "Attempts that the server refused.", func(s cluster.AddressStats) float64 { return float64(s.Refused) }),
			each(prometheus.CounterValue, "canceled_total", "Attempts whose caller left, or that another one overtook.", func(s cluster.AddressStats) float64 { return float64(s.Canceled) }),
			each(prometheus.CounterValue, "seconds_total", "Time of all attempts together.", func(s cluster.AddressStats) float64 { return s.Latency.Seconds() }),
		},
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Describe tells a registry what there will be.
func (c *Cluster) Describe(to chan<- *prometheus.Desc) {
	for i := range c.totals {
		to <- c.totals[i].desc
	}
	for i := range c.each {
		to <- c.each[i].desc
	}
}

// Collect sends the metrics to a scrape.
func (c *Cluster) Collect(to chan<- prometheus.Metric) {
	stats := c.client.Stats()
	for i := range c.totals {
		c.totals[i].send(stats, to)
	}
	told := map[string]bool{} // two addresses may differ in their dialect alone
	for _, a := range stats.Addresses {
		name := a.Address.String()
		if a.Address.Dialect != "" {
			name += " " + string(a.Address.Dialect)
		}
		if told[name] {
			continue
		}
		told[name] = true
		for i := range c.each {
			c.each[i].send(a, to, name)
		}
	}
}
