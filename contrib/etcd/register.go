package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file holds registrations: an address under a lease that is kept alive
// and, once lost, replaced.

// Registration keeps one address of a service in etcd. Its methods are safe
// for concurrent use.
type Registration struct {
	client *clientv3.Client
	opt    options
	key    string
	of     resolve.Key
	ended  chan struct{} // closed when the goroutine has
	cancel context.CancelFunc
	again  chan struct{} // receives when the value has changed

	release context.CancelFunc // stops keeping the lease; of whoever puts

	mu    sync.Mutex
	value string
	lease clientv3.LeaseID
}

// Register puts an address of a service into etcd and keeps it there until
// Close. It returns when the address stands there, or fails if that is not so before ctx ends. It does not
// close the client, which must stay open. An address that another process has registered is
// taken over; that the other one closes its registration later does no harm.
func Register(ctx context.Context, client *clientv3.Client, service string, a resolve.Address, opts ...Option) (*Registration, error) {
	value, err := render(a)
	if err != nil {
		return nil, err
	}
	r := &Registration{client: client, opt: optionsOf(opts), of: a.Key(), value: value,
		ended: make(chan struct{}), again: make(chan struct{}, 1), release: func() {}}
	r.key = r.opt.addressKey(service, a)
	running, cancel := context.WithCancel(client.Ctx())
	alive, err := r.put(running, ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	r.cancel = cancel
	go r.keep(running, alive)
	return r, nil
}

// errOther is the error of Update for another address.
var errOther = errors.New("etcd: a registration is of one address")

// Update changes the weight, zone and metadata of the address. Network, Addr,
// Dialect and TLSName must be those of the registration. It returns at once; etcd is told as soon as it can be.
func (r *Registration) Update(a resolve.Address) error {
	value, err := render(a)
	if err != nil {
		return err
	}
	if a.Key() != r.of {
		return errOther
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.value = value
	select {
	case r.again <- struct{}{}:
	default:
	}
	return nil
}

// Close withdraws the address, before the server is shut down, so that
// clients go elsewhere while it still serves. If etcd cannot be told before ctx ends, the address stays
// until its lease runs out.
func (r *Registration) Close(ctx context.Context) error {
	r.cancel()
	select {
	case <-r.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	r.mu.Lock()
	lease := r.lease
	r.lease = 0
	r.mu.Unlock()
	if lease == 0 {
		return nil
	}
	if _, err := r.client.Revoke(ctx, lease); err != nil {
		return fmt.Errorf("etcd: withdrawing %s: %w", r.key, err)
	}
	return nil
}

// put puts the address under a new lease, while asking goes on, and returns
// what tells that the lease is alive until it is lost, or ctx ends.
func (r *Registration) put(ctx, asking context.Context) (<-chan *clientv3.LeaseKeepAliveResponse, error) {
	r.release() // the one before, if there is one
	asking, cancel := context.WithTimeout(asking, readTime)
	defer cancel()
	seconds := int64((r.opt.ttl + time.Second - 1) / time.Second)
	lease, err := r.client.Grant(asking, seconds)
	if err != nil {
		return nil, fmt.Errorf("etcd: a lease for %s: %w", r.key, err)
	}
	r.mu.Lock()
	value := r.value
	r.lease = lease.ID
	r.mu.Unlock()
	if _, err := r.client.Put(asking, r.key, value, clientv3.WithLease(lease.ID)); err != nil {
		return nil, fmt.Errorf("etcd: registering %s: %w", r.key, err)
	}
	keeping, release := context.WithCancel(ctx)
	r.release = release
	alive, err := r.client.KeepAlive(keeping, lease.ID)
	if err != nil {
		release()
		return nil, fmt.Errorf("etcd: keeping %s: %w", r.key, err)
	}
	return alive, nil
}

// errLost is reported when etcd has lost a lease.
var errLost = errors.New("etcd: the lease is lost")

// keep sees to it that the address stands in etcd until ctx ends.
func (r *Registration) keep(ctx context.Context, alive <-chan *clientv3.LeaseKeepAliveResponse) {
	defer close(r.ended)
	defer func() { r.release() }()
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-alive:
			if ok || ctx.Err() != nil {
				continue
			}
			r.opt.report(errLost)
			if alive = r.putAgain(ctx); alive == nil {
				return
			}
		case <-r.again:
			if err := r.change(ctx); err == nil || ctx.Err() != nil {
				continue
			}
			if alive = r.putAgain(ctx); alive == nil {
				return
			}
		}
	}
}

// change puts the value under the lease that there is.
func (r *Registration) change(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	r.mu.Lock()
	value, lease := r.value, r.lease
	r.mu.Unlock()
	_, err := r.client.Put(ctx, r.key, value, clientv3.WithLease(lease))
	return err
}

// putAgain is put until it succeeds, with growing pauses; nil means that ctx has ended.
func (r *Registration) putAgain(ctx context.Context) <-chan *clientv3.LeaseKeepAliveResponse {
	for failures := 1; ; failures++ {
		alive, err := r.put(ctx, ctx)
		if ctx.Err() != nil {
			return nil
		}
		r.opt.report(err)
		if err == nil {
			return alive
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pauses.Delay(failures)):
		}
	}
}
