package cluster

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds the balancers that look at what is called: by the key of a
// call, and by zone.

// hashKey finds the key of calls in contexts.
type hashKey struct{}

// WithKey returns a context whose calls have a key: [ConsistentHash] makes those with the same key on
// the same address.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, hashKey{}, key)
}

// ConsistentHash calls the same address for the same key, and when the set of addresses
// changes as few keys as possible change theirs. keyOf finds the key of a call; if it is nil, that is
// what [WithKey] has set. Calls without a key go to any address.
//
// Loads are bounded: an address that has a quarter more calls than its share hands the next ones on to the
// address behind it, so that one key that everybody asks for does not overload a server.
func ConsistentHash(keyOf func(ctx context.Context, call *rpc.Invocation) (key string, ok bool)) Balancer {
	if keyOf == nil {
		keyOf = func(ctx context.Context, _ *rpc.Invocation) (string, bool) {
			key, ok := ctx.Value(hashKey{}).(string)
			return key, ok
		}
	}
	return consistentHash{keyOf}
}

type consistentHash struct {
	keyOf func(context.Context, *rpc.Invocation) (string, bool)
}

const (
	pointsPerAddress = 160     // of mean weight: shares are then within some eight per cent
	maxPoints        = 1 << 18 // of all addresses
	loadFactor       = 1.25    // of its share, which an address may have in calls that run
	golden           = 0x9e3779b97f4a7c15
)

// point is a place on the ring that belongs to an address.
type point struct {
	at       uint64
	endpoint *Endpoint
}

type hashPicker struct {
	consistentHash
	ring   []point
	set    []*Endpoint
	shares float64 // of all
}

func (c consistentHash) Build(set []*Endpoint) Picker {
	h := &hashPicker{consistentHash: c, set: set}
	for _, e := range set {
		h.shares += float64(e.Address().Share())
	}
	perAddress := float64(min(pointsPerAddress*len(set), maxPoints))
	for _, e := range set {
		n := int(math.Round(perAddress * float64(e.Address().Share()) / h.shares))
		for i := range max(n, 1) {
			h.ring = append(h.ring, point{mix(e.hash + uint64(i)*golden), e})
		}
	}
	slices.SortFunc(h.ring, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.endpoint.hash, b.endpoint.hash))
	})
	return h
}

func (h *hashPicker) Pick(p Pick) *Endpoint {
	key, ok := h.keyOf(p.Context, p.Call)
	if !ok {
		return p.first(h.set, rand.IntN(len(h.set)))
	}
	at := mix(hashString(key))
	start := sort.Search(len(h.ring), func(i int) bool { return h.ring[i].at >= at })
	var full *Endpoint // the first that is usable, though it has its share
	var last *Endpoint
	limit := -1.0
	for i := range h.ring {
		e := h.ring[(start+i)%len(h.ring)].endpoint
		if e == last {
			continue
		}
		last = e
		if !p.Usable(e) {
			continue
		}
		if e.Pending() == 0 {
			return e
		}
		if limit < 0 {
			limit = h.limit()
		}
		if float64(e.Pending()) < math.Ceil(limit*float64(e.Address().Share())) {
			return e
		}
		if full == nil {
			full = e
		}
		if i >= 4*pointsPerAddress { // nearly everybody has been asked
			break
		}
	}
	return full
}

// limit returns how many calls may run on an address for a unit of weight.
func (h *hashPicker) limit() float64 {
	total := 1
	for _, e := range h.set {
		total += e.Pending()
	}
	return loadFactor * float64(total) / h.shares
}

// hashString returns the FNV-1a hash of s, which is the same in every process.
func hashString(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix spreads a hash over all bits.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// PreferZone balances within a zone as long as it has an address that is
// usable, and over all others when it has none.
func PreferZone(zone string, within Balancer) Balancer { return preferZone{zone, within} }

type preferZone struct {
	zone   string
	within Balancer
}

type zonePicker struct{ near, far Picker } // nil for none

func (z preferZone) Build(set []*Endpoint) Picker {
	var near, far []*Endpoint
	for _, e := range set {
		if e.Address().Zone == z.zone {
			near = append(near, e)
		} else {
			far = append(far, e)
		}
	}
	var p zonePicker
	if len(near) > 0 {
		p.near = z.within.Build(near)
	}
	if len(far) > 0 {
		p.far = z.within.Build(far)
	}
	return p
}

func (z zonePicker) Pick(p Pick) *Endpoint {
	if z.near != nil {
		if e := z.near.Pick(p); e != nil {
			return e
		}
	}
	if z.far != nil {
		return z.far.Pick(p)
	}
	return nil
}
