package thrifthttp

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds what header fields say beside the message.

// Metadata are key/value pairs that travel as header fields, in groups.
//
// Transient and Persistent follow Kitex's convention: the key FOO_BAR is the field
// rpc-transit-foo-bar or rpc-persist-foo-bar, so that keys come back in upper case and with underscores only. Pairs of the first
// group are for the next server alone, those of the second for all servers
// behind it too. Backward (rpc-backward-foo-bar) goes from server to client.
//
// Plain are other fields under their own name in lower case: traceparent,
// or the keys of fbthrift such as client_timeout.
type Metadata struct {
	Plain, Transient, Persistent, Backward []transport.Pair
}

// The prefixes of Kitex's groups, as net/http spells them.
const (
	transientPrefix  = "Rpc-Transit-"
	persistentPrefix = "Rpc-Persist-"
	backwardPrefix   = "Rpc-Backward-"
)

// Limits bound metadata.
type Limits struct {
	Pairs int // in all groups together
	Bytes int // of keys and values
}

// DefaultLimits are more than a server reads by default in a header, and a number of pairs that is soon sorted.
func DefaultLimits() Limits { return Limits{Pairs: 256, Bytes: 64 << 10} }

// ParseMetadata returns the pairs in a header, in the order of their keys.
// Fields that speak of the body or the connection are left out, and of each
// field all lines but the first. Exceeding l is a [*StatusError] with 431.
func ParseMetadata(h http.Header, l Limits) (Metadata, error) {
	var m Metadata
	pairs, bytes := 0, 0
	for name, lines := range h {
		if len(lines) == 0 || lines[0] == "" || IsMechanical(name) {
			continue
		}
		value := lines[0]
		pairs++
		bytes += len(name) + len(value)
		if pairs > l.Pairs || bytes > l.Bytes {
			return Metadata{}, &StatusError{http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("the metadata exceeds %d pairs or %d bytes", l.Pairs, l.Bytes)}
		}
		group, key := m.group(name)
		*group = append(*group, transport.Pair{Key: key, Value: value})
	}
	for _, group := range []*[]transport.Pair{&m.Plain, &m.Transient, &m.Persistent, &m.Backward} {
		slices.SortFunc(*group, func(a, b transport.Pair) int { return cmp.Compare(a.Key, b.Key) })
	}
	return m, nil
}

// group returns the group and the key that a canonical field name stands for.
func (m *Metadata) group(name string) (*[]transport.Pair, string) {
	for prefix, group := range m.groups() {
		if key, ok := strings.CutPrefix(name, prefix); ok && key != "" {
			return group, strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
		}
	}
	return &m.Plain, strings.ToLower(name)
}

// groups yields Kitex's groups with their prefixes.
func (m *Metadata) groups() func(yield func(string, *[]transport.Pair) bool) {
	return func(yield func(string, *[]transport.Pair) bool) {
		_ = yield(transientPrefix, &m.Transient) && yield(persistentPrefix, &m.Persistent) && yield(backwardPrefix, &m.Backward)
	}
}

// AppendTo sets the fields in h, or changes nothing and says which pair cannot travel in a
// header: keys need the characters of a token, values must not hold control characters.
func (m *Metadata) AppendTo(h http.Header) error {
	for _, p := range m.Plain {
		if IsMechanical(http.CanonicalHeaderKey(p.Key)) {
			return diag.NewFault(diag.InvalidValue, -1, fmt.Sprintf("the header field %q is not for metadata", p.Key))
		}
	}
	for _, group := range [][]transport.Pair{m.Plain, m.Transient, m.Persistent, m.Backward} {
		for _, p := range group {
			if !isToken(p.Key) || !isFieldValue(p.Value) {
				return diag.NewFault(diag.InvalidValue, -1, fmt.Sprintf("no header field can have the key %q and the value %q", p.Key, p.Value))
			}
		}
	}
	for _, p := range m.Plain {
		h.Set(p.Key, p.Value)
	}
	for prefix, group := range m.groups() {
		for _, p := range *group {
			h.Set(prefix+strings.ReplaceAll(p.Key, "_", "-"), p.Value)
		}
	}
	return nil
}

// IsMechanical tells whether a field, by its canonical name, speaks of the body or the connection, and so is no metadata.
func IsMechanical(name string) bool {
	switch name {
	case "Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Expect",
		"Host", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent":
		return true
	}
	return false
}

// isToken tells whether s can name a header field (RFC 9110, 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0 {
			continue
		}
		return false
	}
	return s != ""
}

// isFieldValue tells whether s can be the value of a header field as it is: not empty, which
// readers take for absent, and without what is cut or forbidden.
func isFieldValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' || s[i] == 0x7f {
			return false
		}
	}
	return s != "" && strings.Trim(s, " \t") == s
}
