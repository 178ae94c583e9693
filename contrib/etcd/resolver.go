package etcd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file holds the resolver: reading a service whole, then following the changes.

// readTime is how long etcd may take to answer one question.
const readTime = 3 * time.Second

// pauses are those after failures in a row.
var pauses = resolve.Backoff{Base: 100 * time.Millisecond, Max: 5 * time.Second}

// Resolver finds the addresses of a service in etcd. It is safe for
// concurrent use.
type Resolver struct {
	client  *clientv3.Client
	service string
	opt     options
}

var _ resolve.Resolver = (*Resolver)(nil)

// NewResolver returns a resolver of a service. It does not close the client.
func NewResolver(client *clientv3.Client, service string, opts ...Option) *Resolver {
	return &Resolver{client, service, optionsOf(opts)}
}

// Resolve hands on the addresses of the service and each change of them, as
// resolve.Resolver says, until ctx ends. Values that are no address are told by Failed and left out.
func (r *Resolver) Resolve(ctx context.Context, l resolve.Listener) error {
	for failures := 0; ctx.Err() == nil; {
		s, err := r.read(ctx)
		if err == nil {
			failures = 0
			s.tell(l)
			err = r.follow(ctx, l, s)
		}
		if err == nil || ctx.Err() != nil {
			continue // it is only time to read again
		}
		l.Failed(err)
		failures++
		select {
		case <-ctx.Done():
		case <-time.After(pauses.Delay(failures)):
		}
	}
	return nil
}

// set is what is known of a service.
type set struct {
	revision  int64 // of etcd, up to which it is complete
	addresses map[string]resolve.Address
	broken    map[string]error
}

// tell hands the set on.
func (s *set) tell(l resolve.Listener) {
	for _, key := range slices.Sorted(maps.Keys(s.broken)) {
		l.Failed(s.broken[key])
	}
	list := make([]resolve.Address, 0, len(s.addresses))
	for _, key := range slices.Sorted(maps.Keys(s.addresses)) {
		list = append(list, s.addresses[key])
	}
	l.Addresses(list)
}

// put notes the value of a key.
func (s *set) put(kv *mvccpb.KeyValue) {
	key := string(kv.Key)
	s.remove(key)
	if a, err := parse(key, kv.Value); err != nil {
		s.broken[key] = err
	} else {
		s.addresses[key] = a
	}
}

func (s *set) remove(key string) {
	delete(s.addresses, key)
	delete(s.broken, key)
}

// read reads the whole service.
func (r *Resolver) read(ctx context.Context) (*set, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	got, err := r.client.Get(ctx, r.opt.serviceKey(r.service), clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("etcd: reading %s: %w", r.service, err)
	}
	s := &set{got.Header.Revision, map[string]resolve.Address{}, map[string]error{}}
	for _, kv := range got.Kvs {
		s.put(kv)
	}
	return s, nil
}

// errStale means that changes are lost, and that all has to be read again.
var errStale = errors.New("etcd: changes were missed")

// follow keeps a set up to date, until it is time to read it again: because
// the interval has passed, for which the error is nil, or because of an error.
func (r *Resolver) follow(ctx context.Context, l resolve.Listener, s *set) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var again <-chan time.Time
	if r.opt.resync > 0 {
		t := time.NewTimer(r.opt.resync)
		defer t.Stop()
		again = t.C
	}
	// A member that has lost its cluster ends the watch, instead of being silent.
	changes := r.client.Watch(clientv3.WithRequireLeader(ctx), r.opt.serviceKey(r.service),
		clientv3.WithPrefix(), clientv3.WithRev(s.revision+1))
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			return nil
		case change, ok := <-changes:
			switch {
			case !ok:
				return fmt.Errorf("%w: the watch has ended", errStale)
			case change.CompactRevision > 0:
				return fmt.Errorf("%w: those before revision %d are compacted", errStale, change.CompactRevision)
			case change.Err() != nil:
				return fmt.Errorf("etcd: watching %s: %w", r.service, change.Err())
			}
			if s.apply(change.Events) {
				s.tell(l)
			}
		}
	}
}

// apply makes changes to the set and reports whether there were any.
func (s *set) apply(events []*clientv3.Event) bool {
	for _, e := range events {
		if e.Type == mvccpb.DELETE {
			s.remove(string(e.Kv.Key))
		} else {
			s.put(e.Kv)
		}
	}
	return len(events) > 0
}
