package resolve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// This file holds what resolvers say and to whom they say it.

// Dialect names how an address wants to be called, in words that fit into a
// registry. The empty one leaves it to the client.
type Dialect string

const (
	Framed   Dialect = "framed"
	Unframed Dialect = "unframed"
	THeader  Dialect = "theader"
	TTHeader Dialect = "ttheader"
	TRPC     Dialect = "trpc" // of methods on messages
)

// DefaultWeight is the weight of an address that names none.
const DefaultWeight = 100

// MaxWeight is the largest weight that counts.
const MaxWeight = 10_000

// Address is where one server of a service can be called. Two addresses are
// the same server if network, address, dialect and server name are.
type Address struct {
	Network string // that of net.Dial; empty for "tcp"
	Addr    string // host and port, or a path

	Weight   int               // share of the calls relative to the others, up to MaxWeight; 0 or less for DefaultWeight
	Zone     string            // where it is; empty for unknown
	Dialect  Dialect           // empty for the client's own
	TLSName  string            // that its certificate must have; empty for the host of Addr
	Metadata map[string]string // whatever else the source says; nobody may change it
}

// Key is the identity of an address, which can be the key of a map.
type Key struct {
	Network, Addr string
	Dialect       Dialect
	TLSName       string
}

// Key returns the identity of a.
func (a Address) Key() Key {
	k := Key{Network: a.Network, Addr: a.Addr, Dialect: a.Dialect, TLSName: a.TLSName}
	if k.Network == "" {
		k.Network = "tcp"
	}
	return k
}

// Share returns the weight of a, which is from 1 to MaxWeight.
func (a Address) Share() int {
	if a.Weight <= 0 {
		return DefaultWeight
	}
	return min(a.Weight, MaxWeight)
}

// Host returns the name that the certificate of a must have: TLSName, or the
// host of Addr, which is empty for a path.
func (a Address) Host() string {
	if a.TLSName != "" {
		return a.TLSName
	}
	host, _, err := net.SplitHostPort(a.Addr)
	if err != nil {
		return ""
	}
	return host
}

// String renders network and address, without the network if it is tcp.
func (a Address) String() string {
	if a.Network == "" || a.Network == "tcp" {
		return a.Addr
	}
	return a.Network + ":" + a.Addr
}

// Resolver finds the addresses of one service. Implementations can be used by
// several listeners at the same time.
type Resolver interface {
	// Resolve hands every set of addresses to l, the first one as soon as it
	// is known and later ones when something has changed, until ctx ends or
	// nothing can change any more. All calls of l come from it alone, one after
	// another, and none after it has returned.
	//
	// A failure that may pass is reported by l.Failed, and Resolve goes on. An
	// error that is returned is one, too: after a pause the caller calls Resolve
	// again, unless ctx has ended. It returns nil only when ctx has ended or
	// the last set holds for good.
	Resolve(ctx context.Context, l Listener) error
}

// Listener is whom a Resolver tells. Its methods do not block for long.
type Listener interface {
	// Addresses replaces the whole set. Addresses that are the same server count
	// once, the last of them. An empty set is a failure, [ErrNone]: the last good set stays in use,
	// because a registry that has lost its entries is likelier than a service without servers.
	Addresses(set []Address)

	// Failed says that the source could not be asked; the last good set stays
	// in use.
	Failed(err error)

	// Doubts returns a channel that receives when an address could not be
	// reached. A resolver that asks at intervals asks earlier then; one that is
	// told of changes ignores it. It receives at most once for many failures.
	Doubts() <-chan struct{}
}

// ErrNone is the failure of a source that has no addresses.
var ErrNone = errors.New("resolve: no addresses")

// Once returns the first set that r hands on, or the first failure.
func Once(ctx context.Context, r Resolver) ([]Address, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &first{cancel: cancel}
	err := r.Resolve(ctx, l)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.set != nil || l.err != nil:
		return l.set, l.err
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, fmt.Errorf("resolve: %w", ctx.Err())
	}
	return nil, ErrNone
}

// first is a listener for one answer.
type first struct {
	cancel context.CancelFunc
	mu     sync.Mutex
	set    []Address
	err    error
}

func (l *first) Addresses(set []Address) {
	if len(set) == 0 {
		l.Failed(ErrNone)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.set == nil && l.err == nil {
		l.set = append([]Address(nil), set...)
	}
	l.cancel()
}

func (l *first) Failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.set == nil && l.err == nil {
		l.err = err
	}
	l.cancel()
}

func (l *first) Doubts() <-chan struct{} { return nil }

// Static returns a resolver of a list that never changes.
func Static(addresses ...Address) Resolver { return static(append([]Address(nil), addresses...)) }

// Hosts is Static for plain TCP addresses of equal weight, such as "10.0.0.1:9090".
func Hosts(addrs ...string) Resolver {
	list := make(static, len(addrs))
	for i, a := range addrs {
		list[i].Addr = a
	}
	return list
}

type static []Address

func (s static) Resolve(_ context.Context, l Listener) error {
	l.Addresses(append([]Address(nil), s...))
	return nil
}
