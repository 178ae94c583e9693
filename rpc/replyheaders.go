package rpc

import (
	"context"
	"iter"
	"net/http"
	"sync/atomic"

	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file holds the headers of replies as callers see them.

// ReplyHeaders are the headers of a reply. They are empty until the reply of a
// call has come, and in dialects that have none. All methods are safe for concurrent use.
type ReplyHeaders struct {
	outer *ReplyHeaders // that wants them too
	heads atomic.Pointer[metadata]
}

type replyHeadersKey struct{}

// WithReplyHeaders returns a context whose calls leave the headers of their
// reply, be it a result or an exception, in what it returns beside it. Each reply takes the place of that before
// as a whole, so calls at the same time want contexts of their own.
func WithReplyHeaders(ctx context.Context) (context.Context, *ReplyHeaders) {
	outer, _ := ctx.Value(replyHeadersKey{}).(*ReplyHeaders)
	r := &ReplyHeaders{outer: outer}
	return context.WithValue(ctx, replyHeadersKey{}, r), r
}

// wantedHeaders returns where the headers of a reply are to go, nil for nowhere.
func wantedHeaders(ctx context.Context, f *form) *ReplyHeaders {
	if !f.carriesPairs() {
		return nil
	}
	r, _ := ctx.Value(replyHeadersKey{}).(*ReplyHeaders)
	return r
}

// set puts the headers of a reply in the place of those before.
func (r *ReplyHeaders) set(m *metadata) {
	for ; r != nil; r = r.outer {
		r.heads.Store(m)
	}
}

// Get returns a header. Where there is none of exactly that name, one counts whose
// name differs in case or has - for _, because HTTP does not keep these.
func (r *ReplyHeaders) Get(key string) (string, bool) {
	m := r.heads.Load()
	if m == nil {
		return "", false
	}
	return m.find("", key)
}

// All yields all headers under their names on the wire, in no order.
func (r *ReplyHeaders) All() iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		m := r.heads.Load()
		if m == nil {
			return
		}
		for k, v := range m.headers {
			if !yield(k, v) {
				return
			}
		}
	}
}

// Int returns a header of TTHeader that has a number as its name.
func (r *ReplyHeaders) Int(key ttheader.IntKey) (string, bool) {
	m := r.heads.Load()
	if m == nil {
		return "", false
	}
	v, ok := m.ints[key]
	return v, ok
}

// copyOf copies headers out of their frame.
func (h *heads) copyOf() *metadata {
	m := &metadata{headers: map[string]string{}, ints: map[ttheader.IntKey]string{}}
	for k, v := range h.all() {
		m.headers[k] = v
	}
	for k, v := range h.ints.All() {
		m.ints[k] = string(v)
	}
	return m
}

// copyOfReply is copyOf for a reply, whose persistent headers a client does not keep for the replies behind.
func (h *heads) copyOfReply() *metadata {
	m := h.copyOf()
	for k, v := range h.sticky.All() {
		if _, ok := m.headers[string(k)]; !ok {
			m.headers[string(k)] = string(v)
		}
	}
	return m
}

// headsOfReply returns the fields of an answer over HTTP; too many are none.
func headsOfReply(fields http.Header) *metadata {
	h := heads{}
	h.given, _ = pairsOf(fields)
	m := h.copyOf()
	if groups, err := thrifthttp.ParseMetadata(fields, thrifthttp.DefaultLimits()); err == nil {
		for _, p := range groups.Backward {
			m.headers[p.Key] = p.Value
		}
	}
	return m
}

// find returns the header of a name behind a prefix, or else one whose name differs
// in what HTTP does not keep, with or without the prefix of transient ones.
func (m *metadata) find(prefix, key string) (string, bool) {
	if v, ok := m.headers[prefix+key]; ok {
		return v, true
	}
	if prefix == "" {
		if v, ok := m.headers[transientPrefix+key]; ok {
			return v, true
		}
	}
	best := ""
	for k := range m.headers {
		if (best == "" || k < best) && (sameKey(k, prefix, key) || prefix == "" && sameKey(k, transientPrefix, key)) {
			best = k
		}
	}
	v, ok := m.headers[best]
	return v, ok && best != ""
}

// sameKey tells whether name is prefix and key, but for the case of letters and - for _.
func sameKey(name, prefix, key string) bool {
	if len(name) != len(prefix)+len(key) || name[:len(prefix)] != prefix {
		return false
	}
	for i := range len(key) {
		if folded(name[len(prefix)+i]) != folded(key[i]) {
			return false
		}
	}
	return true
}

// folded returns c as a key over HTTP has it.
func folded(c byte) byte {
	switch {
	case 'a' <= c && c <= 'z':
		return c - 'a' + 'A'
	case c == '-':
		return '_'
	}
	return c
}
