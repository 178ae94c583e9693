package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// names answers questions as a test says.
type names struct {
	mu    sync.Mutex
	hosts map[string][]string
	srv   []*net.SRV
	err   error
	asked int
}

func (n *names) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	if n.err != nil {
		return nil, n.err
	}
	list, ok := n.hosts[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var ips []netip.Addr
	for _, ip := range list {
		ips = append(ips, netip.MustParseAddr(ip))
	}
	return ips, nil
}

func (n *names) LookupSRV(_ context.Context, service, proto, name string) (string, []*net.SRV, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if service != "thrift" || proto != "tcp" || name != "shop.test" {
		return "", nil, fmt.Errorf("asked for %s %s %s", service, proto, name)
	}
	return "", n.srv, n.err
}

func (n *names) set(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

func (n *names) questions() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// listener notes what it is told.
type listener struct {
	mu     sync.Mutex
	told   []string
	doubts chan struct{}
}

func (l *listener) Doubts() <-chan struct{} { return l.doubts }

func (l *listener) note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, text)
}

func (l *listener) Failed(err error) { l.note(err.Error()) }

func (l *listener) Addresses(set []resolve.Address) {
	var texts []string
	for _, a := range set {
		texts = append(texts, fmt.Sprintf("%s*%d(%s)", a.Addr, a.Weight, a.Host()))
	}
	l.note(strings.Join(texts, " "))
}

// take returns what was told since the last time.
func (l *listener) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.Join(l.told, "\n")
	l.told = nil
	return text
}

// watch runs a test with a resolver that runs beside it.
func watch(t *testing.T, d resolve.DNS, n *names, test func(t *testing.T, l *listener)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := &listener{doubts: make(chan struct{}, 1)}
		d.Lookup = n
		ended := make(chan error, 1)
		go func() { ended <- d.Resolve(ctx, l) }()
		synctest.Wait()
		test(t, l)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Resolve: %v", err)
		}
	})
}

func TestTheAddressesOfAHostAreFollowed(t *testing.T) {
	n := &names{hosts: map[string][]string{"shop.test": {"10.0.0.2", "::1", "10.0.0.1", "::ffff:10.0.0.1"}}}
	watch(t, resolve.DNS{Name: "shop.test", Port: 9090}, n, func(t *testing.T, l *listener) {
		if got, want := l.take(), "10.0.0.1:9090*0(shop.test) 10.0.0.2:9090*0(shop.test) [::1]:9090*0(shop.test)"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
		time.Sleep(time.Hour)
		if got, q := l.take(), n.questions(); got != "" || q < 100 || q > 140 {
			t.Errorf("told %q after %d questions in an hour without a change", got, q)
		}
		n.set(func() { n.hosts["shop.test"] = []string{"10.0.0.3"} })
		time.Sleep(time.Minute)
		if got, want := l.take(), "10.0.0.3:9090*0(shop.test)"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

func TestFailuresAndDoubtsAskAgainButNotTooOften(t *testing.T) {
	n := &names{hosts: map[string][]string{"shop.test": {"10.0.0.1"}}}
	watch(t, resolve.DNS{Name: "shop.test", Port: 9090}, n, func(t *testing.T, l *listener) {
		l.take()
		for range 1000 { // addresses fail all the time
			select {
			case l.doubts <- struct{}{}:
			default:
			}
			time.Sleep(10 * time.Millisecond)
		}
		if q := n.questions(); q < 5 || q > 7 {
			t.Errorf("%d questions in ten seconds full of doubts", q)
		}
		before := n.questions()
		n.set(func() { n.err = errors.New("servfail") })
		time.Sleep(5 * time.Minute)
		if q := n.questions() - before; q < 10 || q > 120 || !strings.Contains(l.take(), "servfail") {
			t.Errorf("%d questions in five minutes of failures", q)
		}
		n.set(func() { n.err, n.hosts["shop.test"] = nil, nil })
		time.Sleep(time.Minute)
		if got := l.take(); !strings.Contains(got, "no addresses for shop.test") {
			t.Errorf("of an answer without addresses: %q", got)
		}
	})
}

func TestServicesHaveWeightsAndPriorities(t *testing.T) {
	n := &names{
		hosts: map[string][]string{"a.test.": {"10.0.0.1"}, "b.test.": {"10.0.0.2", "10.0.0.3"}, "backup.test.": {"10.0.0.9"}},
		srv: []*net.SRV{
			{Target: "a.test.", Port: 1, Priority: 5, Weight: 60},
			{Target: "backup.test.", Port: 4, Priority: 10, Weight: 60},
			{Target: "b.test.", Port: 2, Priority: 5},
			{Target: "unknown.test.", Port: 3, Priority: 5, Weight: 1},
		},
	}
	watch(t, resolve.DNS{Name: "shop.test", Service: "thrift"}, n, func(t *testing.T, l *listener) {
		if got, want := l.take(), "10.0.0.1:1*60(a.test) 10.0.0.2:2*1(b.test) 10.0.0.3:2*1(b.test)"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
		n.set(func() {
			n.srv = []*net.SRV{{Target: "a.test.", Port: 1, Weight: 65535}, {Target: "b.test.", Port: 2, Weight: 6553}}
		})
		time.Sleep(time.Minute)
		if got, want := l.take(), "10.0.0.1:1*10000(a.test) 10.0.0.2:2*999(b.test) 10.0.0.3:2*999(b.test)"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
		n.set(func() { n.srv = []*net.SRV{{Target: "unknown.test.", Port: 1}} })
		time.Sleep(time.Minute)
		if got := l.take(); !strings.Contains(got, "no such host") {
			t.Errorf("of hosts that nobody knows: %q", got)
		}
	})
}

func TestADNSResolverNeedsANameAndAPort(t *testing.T) {
	for _, d := range []resolve.DNS{{}, {Name: "shop.test"}, {Port: 1}} {
		if _, err := resolve.Once(t.Context(), d); err == nil {
			t.Errorf("%+v is taken", d)
		}
	}
}

func TestTheSystemsResolverKnowsLocalhost(t *testing.T) {
	set, err := resolve.Once(t.Context(), resolve.DNS{Name: "localhost", Port: 9090, Network: "ip4"})
	if err != nil || len(set) != 1 || set[0].Addr != "127.0.0.1:9090" {
		t.Errorf("%v, %v", set, err)
	}
}
