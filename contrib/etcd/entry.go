package etcd

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file holds what stands in etcd, and the options.

// Option configures registrations and resolvers.
type Option func(*options)

type options struct {
	prefix string
	ttl    time.Duration
	resync time.Duration
	report func(error)
}

func optionsOf(opts []Option) options {
	o := options{prefix: "/thrum/services/", ttl: 10 * time.Second, resync: time.Minute, report: func(error) {}}
	for _, set := range opts {
		set(&o)
	}
	return o
}

// Prefix sets what the keys of all services start with; default "/thrum/services/".
func Prefix(p string) Option { return func(o *options) { o.prefix = p } }

// TTL sets how long an address outlives a process that has not withdrawn it;
// default ten seconds, and one second at least. etcd counts whole seconds.
func TTL(d time.Duration) Option { return func(o *options) { o.ttl = max(d, time.Second) } }

// Resync sets at which intervals a resolver reads all addresses even if no
// change is told; default one minute, 0 or less means never. It is for what watches cannot
// tell, such as an etcd that was set up anew from an old copy.
func Resync(d time.Duration) Option { return func(o *options) { o.resync = d } }

// Report is told why a registration's address is not in etcd, at each
// attempt, and nil when it is there again. It is called on a goroutine of the registration.
func Report(f func(error)) Option { return func(o *options) { o.report = f } }

// serviceKey is what the keys of a service start with.
func (o *options) serviceKey(service string) string {
	return o.prefix + url.PathEscape(service) + "/"
}

// addressKey is the key of an address. Two processes that follow each other on it have the same.
func (o *options) addressKey(service string, a resolve.Address) string {
	k := a.Key()
	id := k.Network + ":" + k.Addr
	if k.Dialect != "" || k.TLSName != "" {
		id += "," + string(k.Dialect) + "," + k.TLSName
	}
	return o.serviceKey(service) + url.PathEscape(id)
}

// entry is the value of a key.
type entry struct {
	Network  string            `json:"network,omitempty"`
	Addr     string            `json:"addr"`
	Weight   int               `json:"weight,omitempty"`
	Zone     string            `json:"zone,omitempty"`
	Dialect  resolve.Dialect   `json:"dialect,omitempty"`
	TLSName  string            `json:"tls_name,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

var errNoAddr = errors.New("no addr")

// render returns the value of an address.
func render(a resolve.Address) (string, error) {
	if a.Addr == "" {
		return "", fmt.Errorf("etcd: %w", errNoAddr)
	}
	b, err := json.Marshal(entry(a))
	return string(b), err
}

// parse returns the address in a value.
func parse(key string, value []byte) (resolve.Address, error) {
	var e entry
	err := json.Unmarshal(value, &e)
	if err == nil && e.Addr == "" {
		err = errNoAddr
	}
	if err != nil {
		return resolve.Address{}, fmt.Errorf("etcd: the value of %s: %w", key, err)
	}
	return resolve.Address(e), nil
}
