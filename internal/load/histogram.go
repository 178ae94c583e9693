package load

import (
	"math"
	"math/bits"
	"time"
)

// This file holds the histogram of latencies.

// The histogram is log-linear: values below 2^(subBits+1) ns have a counter of
// their own, every power of two above has 2^subBits of them. A bucket is
// narrower than 1/2^subBits of its values, 0.8 %.
const (
	subBits    = 7
	maxBits    = 40 // about 18 minutes; what is longer counts as that
	maxLatency = 1<<maxBits - 1
	buckets    = (maxBits - subBits + 1) << subBits
)

// histogram counts latencies. The zero value is empty. It is not safe for
// concurrent use.
type histogram struct {
	counts   [buckets]uint64
	n        uint64
	sum      uint64
	min, max int64 // if n > 0
}

// bucket returns the index of the counter of v ns.
func bucket(v int64) int {
	if v < 1<<(subBits+1) {
		return int(v)
	}
	shift := bits.Len64(uint64(v)) - (subBits + 1)
	return shift<<subBits + int(v>>shift)
}

// upper returns the largest value that bucket maps to i.
func upper(i int) int64 {
	if i < 1<<(subBits+1) {
		return int64(i)
	}
	shift := i>>subBits - 1
	return int64(i-shift<<subBits+1)<<shift - 1
}

// add counts one latency in ns.
func (h *histogram) add(v int64) {
	v = min(max(v, 0), maxLatency)
	h.counts[bucket(v)]++
	if h.n == 0 || v < h.min {
		h.min = v
	}
	h.max = max(h.max, v)
	h.n++
	h.sum += uint64(v)
}

// merge adds the counts of o.
func (h *histogram) merge(o *histogram) {
	if o.n == 0 {
		return
	}
	for i, c := range &o.counts {
		h.counts[i] += c
	}
	if h.n == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	h.n += o.n
	h.sum += o.sum
}

// since returns what h counts beyond before, an earlier state of it. Its
// extremes are those of the buckets.
func (h *histogram) since(before *histogram) *histogram {
	d := &histogram{n: h.n - before.n, sum: h.sum - before.sum}
	for i := range h.counts {
		c := h.counts[i] - before.counts[i]
		d.counts[i] = c
		if c == 0 {
			continue
		}
		d.max = min(upper(i), h.max)
		if d.min == 0 {
			d.min = d.max
		}
	}
	return d
}

// quantile returns the value that a share q of the latencies does not exceed.
// It is never too small, and too large by less than a bucket.
func (h *histogram) quantile(q float64) time.Duration {
	want := min(max(uint64(math.Ceil(q*float64(h.n))), 1), h.n)
	var seen uint64
	for i, c := range &h.counts {
		if seen += c; seen >= want && seen > 0 {
			return time.Duration(min(max(upper(i), h.min), h.max))
		}
	}
	return 0
}

// summary returns what a result says of the latencies.
func (h *histogram) summary() Latency {
	if h.n == 0 {
		return Latency{}
	}
	return Latency{
		Count: int64(h.n), Min: time.Duration(h.min), Mean: time.Duration(h.sum / h.n),
		P50: h.quantile(0.5), P75: h.quantile(0.75), P90: h.quantile(0.9), P99: h.quantile(0.99), P999: h.quantile(0.999),
		Max: time.Duration(h.max),
	}
}

// points returns the latencies below which growing shares lie: 0, and 1-1/10^k
// in steps of a twentieth of k, as far as there are latencies enough.
func (h *histogram) points() (list []Percentile) {
	for step := 0; h.n > 0; step++ {
		rest := math.Pow(10, -float64(step)/20)
		list = append(list, Percentile{Percent: 100 * (1 - rest), Latency: h.quantile(1 - rest)})
		if rest*float64(h.n) < 1 || step == 100 {
			break
		}
	}
	return list
}
