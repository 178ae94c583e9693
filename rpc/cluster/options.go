package cluster

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
)

// This file holds the options of clients and their defaults.

// Option configures [New].
type Option func(*options)

type options struct {
	dial        []rpc.ClientOption
	perAddress  func(resolve.Address) []rpc.ClientOption
	dialer      func(ctx context.Context, network, address string) (net.Conn, error)
	dialTimeout time.Duration
	reconnect   resolve.Backoff
	connections int // of an address; 0 for what the dialect needs
	tls         func(resolve.Address) *tls.Config
	pin         func(resolve.Address, tls.ConnectionState) error

	balancer     Balancer
	maxAddresses int
	seed         uint64
	warmUp       time.Duration
	wait         bool

	timeout        time.Duration
	retry          Retry
	hedge          *Hedge    // nil for none
	breaker        *Breaker  // nil for none
	ejection       *Ejection // nil for none
	idempotent     map[string]struct{}
	idempotentFunc func(*rpc.Invocation) bool

	outcome      func(error) (Outcome, bool)
	interceptors []AttemptInterceptor
	events       []func(Event)
}

const (
	// inOrderConnections is how many connections an address of a dialect has whose servers answer in order.
	inOrderConnections = 4
	// maxAttempts bounds the attempts of one call.
	maxAttempts = 5
	// warmStart is the share of its calls with which an address begins to warm up.
	warmStart = 0.1
)

// AttemptHeader is the header in which servers see the number of an attempt
// after the first, such as "2".
const AttemptHeader = "thrum_attempt"

// attemptTexts are the values of AttemptHeader.
var attemptTexts = [maxAttempts]string{"1", "2", "3", "4", "5"}

func defaultOptions() options {
	return options{
		dialer:       new(net.Dialer).DialContext,
		dialTimeout:  2 * time.Second,
		reconnect:    resolve.Backoff{Base: 100 * time.Millisecond, Max: 10 * time.Second},
		balancer:     PowerOfTwo(),
		maxAddresses: 256,
		seed:         rand.Uint64(),
		warmUp:       10 * time.Second,
		timeout:      10 * time.Second,
		retry:        Retry{}.withDefaults(),
		breaker:      Breaker{}.withDefaults(),
		ejection:     Ejection{}.withDefaults(),
		idempotent:   map[string]struct{}{},
	}
}

func (o *options) check() error {
	if o.balancer == nil {
		return errors.New("cluster: no balancer")
	}
	if h := o.hedge; h != nil && (h.After <= 0 && h.Quantile <= 0 || h.Quantile >= 1) {
		return fmt.Errorf("cluster: hedging needs a time or a quantile below 1, and has %v and %v", h.After, h.Quantile)
	}
	return nil
}

// Dial sets options of the connections to all addresses: dialect, protocol, frame
// size and the like. Dialer, TLS, DialTimeout and Disconnected of package rpc have no effect here; this package
// has options of its own for the first three.
func Dial(opts ...rpc.ClientOption) Option {
	return func(o *options) { o.dial = append(o.dial, opts...) }
}

// DialFor is asked for more options for each new connection to an address. Where they contradict those of [Dial], or the
// dialect that the address names, they win. A client over HTTP has its URL from here.
func DialFor(f func(resolve.Address) []rpc.ClientOption) Option {
	return func(o *options) { o.perAddress = f }
}

// Dialer replaces net.Dialer as the way to make a connection.
func Dialer(dial func(ctx context.Context, network, address string) (net.Conn, error)) Option {
	return func(o *options) { o.dialer = dial }
}

// DialTimeout limits the time to make a connection, a TLS handshake included;
// default 2 s, which bears one lost packet. Calls wait for it only while no other address is connected.
func DialTimeout(d time.Duration) Option { return func(o *options) { o.dialTimeout = d } }

// Reconnect sets the pauses between attempts to connect to an address; default
// 100 ms, which doubles up to 10 s. Each pause is drawn from zero to that, so that clients do not come
// all at once to a server that has restarted.
func Reconnect(b resolve.Backoff) Option { return func(o *options) { o.reconnect = b } }

// Connections limits the connections to an address, of which a further one is made when
// calls run on all. The default is 1 for dialects whose
// replies come in any order (THeader, TTHeader, and HTTP, which pools by itself), and 4 for the others, so that one slow call does
// not hold up all behind it.
func Connections(n int) Option { return func(o *options) { o.connections = max(n, 1) } }

// Balance sets how addresses are chosen; default [PowerOfTwo].
func Balance(b Balancer) Option { return func(o *options) { o.balancer = b } }

// MaxAddresses limits the addresses that this client calls; default 256. If there are more
// each client draws its own, evenly, and keeps them while the set changes.
func MaxAddresses(n int) Option { return func(o *options) { o.maxAddresses = max(n, 1) } }

// WarmUp sets the time in which calls grow to the full share on an address that was added, was
// unreachable or returns from ejection; default 10 s, 0 for none. Caches and pools of a fresh server are empty. Where
// no other address can take its calls, it has them all.
func WarmUp(d time.Duration) Option { return func(o *options) { o.warmUp = max(d, 0) } }

// WaitForAddress makes calls wait for an address until their time is over. By
// default they fail at once with [ErrUnavailable] when none is connected, and none is being connected to for the first time.
func WaitForAddress() Option { return func(o *options) { o.wait = true } }

// Timeout limits calls whose context has no deadline, all attempts together; default
// 10 s, because a caller who waits for ever holds on to memory for ever; 0 means no limit. A call may have a sixty-fourth
// more, so that calls can share a timer. Servers are told the time that is left, in
// dialects that can say so.
func Timeout(d time.Duration) Option { return func(o *options) { o.timeout = max(d, 0) } }

// Retry configures further attempts of calls that failed. An attempt that never
// reached a server, or that its server refused before it began, is repeated for every call; a call that may have
// run only if it is [Idempotent]. The zero value of a field is its default.
//
// Over dialects without headers the type LoadShedding alone says that a call was refused: a handler
// there must not pass on such an exception as its own.
type Retry struct {
	Attempts       int             // of a call, the first included, at most 5; default 3; 1 for no retries
	Budget         Budget          // default a fifth of the calls, and 10 a second; attempts that never reached a server are free
	Backoff        resolve.Backoff // pauses before attempts; default 25 ms, which doubles up to 1 s; none before one that is free
	AttemptTimeout time.Duration   // of one attempt; default none but the call's
}

func (r Retry) withDefaults() Retry {
	setDefault(&r.Attempts, 3)
	r.Attempts = min(r.Attempts, maxAttempts)
	if r.Budget == (Budget{}) {
		r.Budget = Budget{Share: 0.2, PerSecond: 10}
	}
	if r.Backoff == (resolve.Backoff{}) {
		r.Backoff = resolve.Backoff{Base: 25 * time.Millisecond, Max: time.Second}
	}
	return r
}

// Retries configures retries. They are on by default, where they are safe.
func Retries(r Retry) Option { return func(o *options) { o.retry = r.withDefaults() } }

// Hedging makes a second attempt for slow calls that are [Idempotent]; by
// default there is none, since only its user knows what slow is.
func Hedging(h Hedge) Option {
	if h.Budget == (Budget{}) {
		h.Budget = Budget{Share: 0.1, PerSecond: 1}
	}
	return func(o *options) { o.hedge = &h }
}

// Idempotent names methods that may run more than once for one call. generic.Idempotent finds them by annotations of a schema.
func Idempotent(methods ...string) Option {
	return func(o *options) {
		for _, m := range methods {
			o.idempotent[m] = struct{}{}
		}
	}
}

// IdempotentFunc is asked beside [Idempotent], and must not wait.
func IdempotentFunc(f func(call *rpc.Invocation) bool) Option {
	return func(o *options) { o.idempotentFunc = f }
}

// idempotentKey finds what WithIdempotent has set.
type idempotentKey struct{}

// WithIdempotent returns a context whose calls may run more than once.
func WithIdempotent(ctx context.Context) context.Context {
	return context.WithValue(ctx, idempotentKey{}, true)
}

// Breakers configures the circuit breakers, which are on by default.
func Breakers(b Breaker) Option { return func(o *options) { o.breaker = b.withDefaults() } }

// NoBreakers lets calls come to addresses however many fail.
func NoBreakers() Option { return func(o *options) { o.breaker = nil } }

// Ejections configures which addresses are ejected; it is on by default.
func Ejections(e Ejection) Option { return func(o *options) { o.ejection = e.withDefaults() } }

// NoEjections never ejects an address.
func NoEjections() Option { return func(o *options) { o.ejection = nil } }

// Judge is asked what an error says of its address, before the usual rules, which take undeclared
// exceptions of an application for successes, because one caller's bad request is no fault of the server.
func Judge(f func(err error) (o Outcome, known bool)) Option {
	return func(o *options) { o.outcome = f }
}

// InterceptAttempts adds an interceptor, which sees attempts after those added before.
func InterceptAttempts(f AttemptInterceptor) Option {
	return func(o *options) { o.interceptors = append(o.interceptors, f) }
}

// OnEvent is told what happens to addresses. f is called by many goroutines, and must not wait.
func OnEvent(f func(Event)) Option {
	return func(o *options) { o.events = append(o.events, f) }
}

// TLS makes all connections speak TLS. Where the configuration has no ServerName, and always for an address
// with a TLSName, the address gives it: [resolve.Address.Host].
func TLS(config *tls.Config) Option {
	return TLSFor(func(resolve.Address) *tls.Config { return config })
}

// TLSFor is asked for the configuration of each new connection to an address; nil means none. With package certs it is
//
//	func(a resolve.Address) *tls.Config { return store.ClientConfig(a.Host()) }
func TLSFor(f func(resolve.Address) *tls.Config) Option { return func(o *options) { o.tls = f } }

// PinTLS is asked after every handshake that is otherwise good, also when a session was resumed; an error ends it.
func PinTLS(verify func(resolve.Address, tls.ConnectionState) error) Option {
	return func(o *options) { o.pin = verify }
}

// PinKeys is a function for [PinTLS] that wants the server's certificate, or that of an authority by which
// crypto/tls has verified it, to have one of these keys: the SHA-256 of its SubjectPublicKeyInfo. Configurations of package
// certs verify by themselves, so that only the server's own key counts there.
func PinKeys(keys ...[sha256.Size]byte) func(resolve.Address, tls.ConnectionState) error {
	pinned := map[[sha256.Size]byte]struct{}{}
	for _, k := range keys {
		pinned[k] = struct{}{}
	}
	return func(a resolve.Address, state tls.ConnectionState) error {
		has := func(c *x509.Certificate) bool {
			_, ok := pinned[sha256.Sum256(c.RawSubjectPublicKeyInfo)]
			return ok
		}
		// What else a server sends beside its own certificate it need not have the key of.
		if len(state.PeerCertificates) > 0 && has(state.PeerCertificates[0]) {
			return nil
		}
		for _, chain := range state.VerifiedChains {
			if slices.ContainsFunc(chain, has) {
				return nil
			}
		}
		return errors.New("cluster: no certificate of " + a.String() + " has a pinned key")
	}
}

// dialectOption returns the option for a dialect that an address names, nil for none.
func dialectOption(d resolve.Dialect, messages bool) (rpc.ClientOption, error) {
	switch {
	case d == "", messages && d == resolve.TRPC:
		return nil, nil
	case messages != (d == resolve.TRPC):
		return nil, errors.New("cluster: the address names the dialect " + strconv.Quote(string(d)) + ", which this client's methods have not")
	}
	switch d {
	case resolve.Framed:
		return rpc.Framed(), nil
	case resolve.Unframed:
		return rpc.Unframed(), nil
	case resolve.THeader:
		return rpc.THeader(header.None), nil
	case resolve.TTHeader:
		return rpc.TTHeader(), nil
	}
	return nil, errors.New("cluster: the address names the dialect " + strconv.Quote(string(d)) + ", which is not known")
}
