package thrifthttp_test

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
)

func TestMetadataTravelsInHeaderFields(t *testing.T) {
	want := thrifthttp.Metadata{
		Plain:      []transport.Pair{{Key: "client_timeout", Value: "250"}, {Key: "traceparent", Value: "00-01"}},
		Transient:  []transport.Pair{{Key: "A", Value: "1"}, {Key: "USER_ID", Value: "7"}},
		Persistent: []transport.Pair{{Key: "LOG_ID", Value: "x y"}},
		Backward:   []transport.Pair{{Key: "COST", Value: "3"}},
	}
	h := http.Header{}
	if err := want.AppendTo(h); err != nil {
		t.Fatal(err)
	}
	if h.Get("rpc-transit-user-id") != "7" || h.Get("rpc-persist-log-id") != "x y" || h.Get("client_timeout") != "250" {
		t.Errorf("the header is %v", h)
	}
	h.Set("Content-Type", thrifthttp.ContentType)
	h.Set("Connection", "close")
	h.Set("Empty", "")
	got, err := thrifthttp.ParseMetadata(h, thrifthttp.DefaultLimits())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestMetadataBeyondTheLimitsIsRefused(t *testing.T) {
	h := http.Header{"A": {"1"}, "B": {strings.Repeat("2", 100)}}
	for _, l := range []thrifthttp.Limits{{Pairs: 1, Bytes: 1000}, {Pairs: 10, Bytes: 102}} {
		var status *thrifthttp.StatusError
		if _, err := thrifthttp.ParseMetadata(h, l); !errors.As(err, &status) || status.Status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%v: %v", l, err)
		}
	}
	if _, err := thrifthttp.ParseMetadata(h, thrifthttp.Limits{Pairs: 2, Bytes: 103}); err != nil {
		t.Error(err)
	}
}

func TestPairsThatNoHeaderCanHoldAreRefused(t *testing.T) {
	for _, p := range []transport.Pair{{Key: "", Value: "v"}, {Key: "a b", Value: "v"}, {Key: "a\r\nb", Value: "v"}, {Key: "ä", Value: "v"}, {Key: "k", Value: ""}, {Key: "k", Value: "a\nb"}, {Key: "k", Value: " a"}, {Key: "Content-Length", Value: "5"}, {Key: "host", Value: "x"}} {
		h := http.Header{}
		m := thrifthttp.Metadata{Plain: []transport.Pair{{Key: "fine", Value: "v"}, p}}
		var fault *diag.Fault
		if err := m.AppendTo(h); !errors.As(err, &fault) || fault.Code != diag.InvalidValue || len(h) > 0 {
			t.Errorf("%q: %v, %v", p, err, h)
		}
	}
}

// What is read from any header can be written again, and reads the same.
func FuzzMetadata(f *testing.F) {
	f.Add("Rpc-Transit-A", "1", "Rpc-Persist-B-C", "2")
	f.Add("rpc-backward-x_y", "z", "Rpc-Transit-", "0")
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string) {
		h := http.Header{}
		h.Set(k1, v1)
		h.Set(k2, v2)
		m, err := thrifthttp.ParseMetadata(h, thrifthttp.DefaultLimits())
		if err != nil {
			return
		}
		again := http.Header{}
		if m.AppendTo(again) != nil {
			return // net/http reads no such header
		}
		got, err := thrifthttp.ParseMetadata(again, thrifthttp.DefaultLimits())
		if unique(m) && (err != nil || !reflect.DeepEqual(got, m)) {
			t.Errorf("%v came back as %v, %v", m, got, err)
		}
	})
}

// unique tells whether no group has a key twice, as rpc-transit-a-b and rpc-transit-a_b give.
func unique(m thrifthttp.Metadata) bool {
	for _, group := range [][]transport.Pair{m.Plain, m.Transient, m.Persistent, m.Backward} {
		keys := slices.Clone(group)
		if len(slices.CompactFunc(keys, func(a, b transport.Pair) bool { return a.Key == b.Key })) < len(group) {
			return false
		}
	}
	return true
}
