package resolve

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file holds the resolver that asks name servers.

// Lookup is what DNS asks; *net.Resolver is one.
type Lookup interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	LookupSRV(ctx context.Context, service, proto, name string) (cname string, records []*net.SRV, err error)
}

// DNS is a resolver that asks name servers, at intervals, and earlier when an address could not
// be reached. The server name of an address, for TLS, is the name that was asked for.
type DNS struct {
	// Name is the name to ask for: without Service a host, whose A and AAAA
	// records are the addresses; with Service the domain of SRV records.
	Name string
	// Port is that of all addresses of a host. SRV records have their own.
	Port uint16
	// Service makes DNS ask for the SRV records _Service._Proto.Name. Of these the ones
	// with the best priority are used, with their weights.
	Service string
	// Proto is the protocol in the name of SRV records; default "tcp".
	Proto string

	// Network is "ip4" or "ip6" for addresses of one kind; default "ip" for both.
	Network string
	// Interval is the time between questions, give or take a tenth; default 30 s, since Go's resolver does not tell how long an answer holds.
	Interval time.Duration
	// Least is the time between questions at least, whatever fails; default 2 s.
	Least time.Duration
	// Timeout limits a question; default 5 s.
	Timeout time.Duration
	// Lookup answers; default net.DefaultResolver.
	Lookup Lookup
}

// maxTargets bounds the hosts that SRV records name.
const maxTargets = 256

// Resolve asks until ctx ends.
func (d DNS) Resolve(ctx context.Context, l Listener) error {
	if d.Name == "" || d.Service == "" && d.Port == 0 {
		return errors.New("resolve: DNS needs a name, and a port or a service")
	}
	d.setDefaults()
	var last []Address
	for failures := 0; ; {
		asked := time.Now()
		set, err := d.ask(ctx)
		if ctx.Err() != nil {
			return nil
		}
		pause := time.Duration((0.9 + 0.2*rand.Float64()) * float64(d.Interval))
		if err != nil {
			failures++
			pause = Backoff{Base: d.Least, Max: d.Interval}.Delay(failures)
			l.Failed(err)
		} else {
			failures = 0
			if last == nil || !slices.EqualFunc(last, set, sameAddress) {
				last = set
				l.Addresses(slices.Clone(set))
			}
		}
		if !d.wait(ctx, l, asked, pause) {
			return nil
		}
	}
}

func (d *DNS) setDefaults() {
	if d.Proto == "" {
		d.Proto = "tcp"
	}
	if d.Network == "" {
		d.Network = "ip"
	}
	if d.Interval <= 0 {
		d.Interval = 30 * time.Second
	}
	if d.Least <= 0 {
		d.Least = 2 * time.Second
	}
	d.Least = min(d.Least, d.Interval)
	if d.Timeout <= 0 {
		d.Timeout = 5 * time.Second
	}
	if d.Lookup == nil {
		d.Lookup = net.DefaultResolver
	}
}

// wait waits for the next question, which comes earlier if there are doubts. It reports false if ctx ended.
func (d *DNS) wait(ctx context.Context, l Listener, asked time.Time, pause time.Duration) bool {
	least := time.NewTimer(time.Until(asked.Add(d.Least)))
	defer least.Stop()
	select {
	case <-least.C:
	case <-ctx.Done():
		return false
	}
	t := time.NewTimer(time.Until(asked.Add(pause)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.Doubts():
	case <-ctx.Done():
		return false
	}
	return true
}

func sameAddress(a, b Address) bool { return a.Key() == b.Key() && a.Weight == b.Weight }

// ask asks once, and returns addresses in an order of their own.
func (d *DNS) ask(ctx context.Context) ([]Address, error) {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	var set []Address
	var err error
	if d.Service == "" {
		set, err = d.host(ctx, d.Name, d.Port, 0)
	} else {
		set, err = d.services(ctx)
	}
	if err != nil {
		return nil, err
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("%w for %s", ErrNone, d.Name)
	}
	slices.SortFunc(set, func(a, b Address) int { return strings.Compare(a.Addr+a.TLSName, b.Addr+b.TLSName) })
	return slices.CompactFunc(set, func(a, b Address) bool { return a.Key() == b.Key() }), nil
}

// host returns the addresses of a host.
func (d *DNS) host(ctx context.Context, name string, port uint16, weight int) ([]Address, error) {
	ips, err := d.Lookup.LookupNetIP(ctx, d.Network, name)
	if err != nil {
		return nil, fmt.Errorf("resolve: %w", err)
	}
	set := make([]Address, len(ips))
	for i, ip := range ips {
		set[i] = Address{
			Addr:   net.JoinHostPort(ip.Unmap().String(), strconv.Itoa(int(port))),
			Weight: weight, TLSName: strings.TrimSuffix(name, "."),
		}
	}
	return set, nil
}

// services returns the addresses that SRV records of the best priority name. Hosts that cannot be found are
// left out as long as others are found.
func (d *DNS) services(ctx context.Context) ([]Address, error) {
	_, records, err := d.Lookup.LookupSRV(ctx, d.Service, d.Proto, d.Name)
	if err != nil && len(records) == 0 {
		return nil, fmt.Errorf("resolve: %w", err)
	}
	priority, heaviest := uint16(0xFFFF), 0
	for _, r := range records {
		priority = min(priority, r.Priority)
	}
	records = slices.DeleteFunc(slices.Clone(records), func(r *net.SRV) bool { return r.Priority != priority })
	if len(records) > maxTargets {
		return nil, fmt.Errorf("resolve: %d SRV records for %s, the limit is %d", len(records), d.Name, maxTargets)
	}
	for _, r := range records {
		heaviest = max(heaviest, int(r.Weight))
	}
	var set []Address
	var failed error
	for _, r := range records {
		hosts, err := d.host(ctx, r.Target, r.Port, shareOf(int(r.Weight), heaviest))
		if err != nil {
			failed = err
			continue
		}
		set = append(set, hosts...)
	}
	if len(set) == 0 && failed != nil {
		return nil, failed
	}
	return set, nil
}

// shareOf returns the weight for that of an SRV record: 0 for all if none has one, and a
// small one for a 0 beside others.
func shareOf(weight, heaviest int) int {
	if heaviest > MaxWeight {
		weight = weight * MaxWeight / heaviest
	}
	if heaviest > 0 {
		weight = max(weight, 1)
	}
	return weight
}
