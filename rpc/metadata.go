package rpc

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/thrum-rpc/thrum/rpc/internal/callctx"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file holds what travels beside a message: headers, and the metadata of
// contexts in them, under the names that Kitex gives it.

// The prefixes of metadata in headers: for the next server only, and for all
// servers along the chain.
const (
	transientPrefix  = "RPC_TRANSIT_"
	persistentPrefix = "RPC_PERSIST_"
)

// The headers of fbthrift that a server understands.
const (
	keyPriority      = "thrift_priority"
	keyClientTimeout = "client_timeout"
	keyQueueTimeout  = "queue_timeout"
)

// heads are the headers of a message as they stand in its frame.
type heads struct {
	pairs   header.Pairs
	ints    ttheader.IntPairs
	strings ttheader.StringPairs
	sticky  header.Pairs     // that hold for the calls behind, too
	trans   trpc.Pairs       // of tRPC
	given   []transport.Pair // those of HTTP, and the persistent ones of the connection
}

// maxSticky and maxStickySize bound the persistent headers of a connection,
// which live as long as it does: their number, and their bytes.
const (
	maxSticky     = 256
	maxStickySize = 64 << 10
)

// readHeads reads the headers that the server itself understands.
func (c *serverConn) readHeads(call *serverCall) {
	switch call.form.dialect {
	case transport.Header:
		if call.heads.sticky.Len() > 0 {
			c.keep(call.heads.sticky)
		}
		call.heads.given = c.sticky
		for _, p := range c.sticky {
			call.readHead(p.Key, []byte(p.Value))
		}
		if call.heads.pairs.Len() > 0 {
			for key, value := range call.heads.pairs.All() {
				call.readHead(string(key), value)
			}
		}
	case transport.TTHeader:
		if call.heads.strings.Len() > 0 {
			for key, value := range call.heads.strings.All() {
				if k := string(key); k == keyPriority || k == keyQueueTimeout {
					call.readHead(k, value)
				}
			}
		}
		if call.heads.ints.Len() > 0 {
			if text, ok := call.heads.ints.Get(ttheader.RPCTimeout); ok {
				call.timeout = milliseconds(text)
			}
		}
	case transport.TRPC:
		for key, value := range call.heads.trans.All() {
			if k := string(key); k == keyPriority || k == keyQueueTimeout {
				call.readHead(k, value)
			}
		}
	case transport.HTTP, transport.GRPC:
		for _, p := range call.heads.given {
			call.readHead(p.Key, []byte(p.Value))
		}
	}
}

func (call *serverCall) readHead(key string, value []byte) {
	switch key {
	case keyPriority:
		if p, ok := parsePriority(value); ok {
			call.priority = p
		}
	case keyClientTimeout:
		call.timeout = milliseconds(value)
	case keyQueueTimeout:
		call.patience = milliseconds(value)
	}
}

// parsePriority reads the header of a priority.
func parsePriority[T string | []byte](value T) (Priority, bool) {
	if len(value) != 1 || value[0] < '0' || value[0] > '4' {
		return 0, false
	}
	return Priority(value[0]-'0') + 1, true
}

// keep remembers the persistent headers of a frame for the calls that follow
// on the connection. What was handed out before does not change.
func (c *serverConn) keep(pairs header.Pairs) {
	next := append([]transport.Pair(nil), c.sticky...)
	size := 0
	for _, p := range next {
		size += len(p.Key) + len(p.Value)
	}
	for key, value := range pairs.All() {
		at := -1
		for i := range next {
			if next[i].Key == string(key) {
				at = i
			}
		}
		if at >= 0 { // what does not fit takes the place of the old value all the same
			size -= len(next[at].Key) + len(next[at].Value)
			next = slices.Delete(next, at, at+1)
		}
		if n := len(key) + len(value); len(next) < maxSticky && size+n <= maxStickySize {
			next = append(next, transport.Pair{Key: string(key), Value: string(value)})
			size += n
		}
	}
	c.sticky = next
}

// all yields the headers with names as strings, the given ones first.
func (h *heads) all() iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for _, p := range h.given {
			if !yield(p.Key, p.Value) {
				return
			}
		}
		for k, v := range h.pairs.All() {
			if !yield(string(k), string(v)) {
				return
			}
		}
		for k, v := range h.strings.All() {
			if !yield(string(k), string(v)) {
				return
			}
		}
		for k, v := range h.trans.All() {
			if !yield(string(k), string(v)) {
				return
			}
		}
	}
}

// metadata is what the headers of a call say, copied out of its frame.
type metadata struct {
	headers map[string]string
	ints    map[ttheader.IntKey]string
}

// metadata returns the headers of the call, which it reads at the first use;
// none if the call was answered before that.
func (x *callContext) metadata() *metadata {
	x.mu.Lock()
	in := x.extra().in
	x.mu.Unlock()
	if in != nil {
		return in
	}
	in = new(metadata)
	x.conn.mu.Lock()
	if x.call.generation() == x.generation {
		in = x.call.heads.copyOf()
	}
	x.conn.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.extras.in == nil {
		x.extras.in = in
	}
	return x.extras.in
}

// Header returns a header of the call: one of that name, or the transient
// metadata of that key. Where there is none of exactly that name, one counts whose name differs in case
// or has - for _, because HTTP does not keep these. Headers that are first
// asked for when the call has been answered are gone.
func (i CallInfo) Header(key string) (string, bool) {
	return i.x.metadata().find("", key)
}

// Headers yields all headers under their names on the wire, in no order.
func (i CallInfo) Headers() iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for k, v := range i.x.metadata().headers {
			if !yield(k, v) {
				return
			}
		}
	}
}

// IntHeader returns a header of TTHeader that has a number as its name.
func (i CallInfo) IntHeader(key ttheader.IntKey) (string, bool) {
	v, ok := i.x.metadata().ints[key]
	return v, ok
}

// Persistent returns the persistent metadata of that key, which Header's rule finds too.
func (i CallInfo) Persistent(key string) (string, bool) {
	return i.x.metadata().find(persistentPrefix, key)
}

// SetReplyHeader sets a header of the reply, in dialects whose replies have
// headers; failures have it, too. It reports false when the reply is on its way already.
func (i CallInfo) SetReplyHeader(key, value string) bool {
	i.x.mu.Lock()
	defer i.x.mu.Unlock()
	if i.x.closed || i.x.err != nil {
		return false
	}
	e := i.x.extra()
	for n := range e.out {
		if e.out[n].Key == key {
			e.out[n].Value = value
			return true
		}
	}
	e.out = append(e.out, transport.Pair{Key: key, Value: value})
	return true
}

// replyPairs returns the headers of a reply, after its handler. ctx may be nil.
func (c *serverConn) replyPairs(ctx *callContext) []transport.Pair {
	var pairs []transport.Pair
	if ctx != nil {
		pairs = ctx.closePairs()
	}
	return c.goodbye(pairs)
}

// closePairs returns the headers that were set for the reply. No more can be.
func (x *callContext) closePairs() []transport.Pair {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	if x.extras == nil {
		return nil
	}
	return x.extras.out
}

// maxFailurePairs is the size in bytes up to which the headers that were set for a reply go with a failure
// instead: those of the failure itself must fit beside them.
const maxFailurePairs = 32 << 10

// failurePairs returns the headers of a reply that tells of a failure: its own, and those that were set for the call.
func (c *serverConn) failurePairs(call *serverCall, own []transport.Pair) []transport.Pair {
	ctx := call.ctx.Load()
	if ctx == nil {
		return c.goodbye(own)
	}
	set, size := ctx.closePairs(), 0
	for _, p := range set {
		size += len(p.Key) + len(p.Value)
	}
	if size > maxFailurePairs {
		return c.goodbye(own)
	}
	pairs := own
	for _, p := range set {
		if !slices.ContainsFunc(own, func(o transport.Pair) bool { return o.Key == p.Key }) {
			pairs = append(pairs, p)
		}
	}
	return c.goodbye(pairs)
}

// goodbye adds to the headers of a reply that the server is stopping, or leaves
// the connection for its age, if it does.
func (c *serverConn) goodbye(pairs []transport.Pair) []transport.Pair {
	pairs = c.promise(pairs)
	if !c.srv.stopping.Load() && !c.aged.Load() {
		return pairs
	}
	switch c.form.dialect {
	case transport.Header:
		return append(pairs, transport.Pair{Key: "connection", Value: "goaway"})
	case transport.TTHeader:
		return append(pairs, transport.Pair{Key: ttheader.KeyClosing, Value: "1"})
	}
	return pairs
}

// maxPrintable is the size in bytes up to which a text goes into a header.
const maxPrintable = 1024

// printable returns a text as a header can hold it: short and in one line.
func printable(text string) string {
	if len(text) > maxPrintable {
		text = strings.ToValidUTF8(text[:maxPrintable], "")
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// outgoing is the metadata that a context carries to servers.
type outgoing struct {
	parent     *outgoing
	key, value string
	persistent bool
}

// outgoingKey finds the outgoing metadata of a context.
type outgoingKey struct{}

// WithHeader returns a context whose calls carry a header to the server, in
// the dialects that have headers. Servers do not pass it on. A call whose headers fit into no frame fails before it is
// sent: over THeader those of 64 KiB, over TTHeader one of 64 KiB, or all of 256 KiB.
func WithHeader(ctx context.Context, key, value string) context.Context {
	return with(ctx, key, value, false)
}

// WithPersistent returns a context whose calls carry metadata to the server,
// and to the servers that it calls in turn, as long as each passes its
// handler's context on to its client.
func WithPersistent(ctx context.Context, key, value string) context.Context {
	return with(ctx, key, value, true)
}

// WithCallPriority returns a context whose calls ask the server for a priority, in
// the dialects that have headers. What a call asks for goes on to the
// servers behind, as persistent metadata does; a priority out of range asks for none.
func WithCallPriority(ctx context.Context, p Priority) context.Context {
	if p < HighImportant || p > BestEffort {
		return ctx
	}
	return WithHeader(ctx, keyPriority, string('0'+byte(p-HighImportant)))
}

// Detach returns a context for work that outlives a call: one that does not end, and whose calls carry what
// those of the handler's context would, but for the deadline. It must be made before the call is answered.
func Detach(ctx context.Context) context.Context {
	if info, ok := Info(ctx); ok {
		info.x.metadata() // which reads the headers while they are there
	}
	return context.WithoutCancel(ctx)
}

func with(ctx context.Context, key, value string, persistent bool) context.Context {
	parent, _ := ctx.Value(outgoingKey{}).(*outgoing)
	return context.WithValue(ctx, outgoingKey{}, &outgoing{parent, key, value, persistent})
}

// requestHeads returns the headers of a request: the metadata of its context,
// what its server's own call brought and is persistent, and how long it waits.
// They stand in room, until it is used again.
func requestHeads(ctx context.Context, d transport.Dialect, room *callRoom) outHeads {
	h := outHeads{pairs: room.pairs[:0], ints: room.ints[:0]}
	switch d {
	case transport.Header, transport.HTTP:
		if ms := remaining(ctx); ms > 0 {
			h.pairs = append(h.pairs, transport.Pair{Key: keyClientTimeout, Value: room.text(ms)})
		}
	case transport.TTHeader:
		if ms := remaining(ctx); ms > 0 {
			h.ints = append(h.ints, ttheader.IntPair{Key: ttheader.RPCTimeout, Value: room.text(ms)})
		}
	case transport.TRPC, transport.GRPC: // which say in headers of their own how long they wait
	default:
		return h
	}
	h.addMetadata(ctx, d)
	room.keep(&h)
	return h
}

// callRoom is memory for the headers of a request, which the next one uses
// again. The timeout is mostly the same as that of the call before, and so is
// its text.
type callRoom struct {
	pairs   []transport.Pair
	ints    []ttheader.IntPair
	ms      int64
	timeout string
}

// text returns a number of milliseconds as text.
func (r *callRoom) text(ms int64) string {
	if ms != r.ms || r.timeout == "" {
		r.ms, r.timeout = ms, strconv.FormatInt(ms, 10)
	}
	return r.timeout
}

// keep keeps the memory of h, unless it is much.
func (r *callRoom) keep(h *outHeads) {
	if cap(h.pairs) <= 8 {
		r.pairs = h.pairs
	}
	r.ints = h.ints
}

// clear forgets what the headers were.
func (r *callRoom) clear() {
	clear(r.pairs[:cap(r.pairs)])
	clear(r.ints[:cap(r.ints)])
}

// addMetadata adds the metadata of a context. What was set last counts, and
// more than what the handler's own call brought.
func (h *outHeads) addMetadata(ctx context.Context, d transport.Dialect) {
	add := func(key, value string) {
		own, persistent := strings.CutPrefix(key, persistentPrefix)
		if !slices.ContainsFunc(h.pairs, func(p transport.Pair) bool {
			return p.Key == key || persistent && sameKey(p.Key, persistentPrefix, own)
		}) {
			h.pairs = append(h.pairs, transport.Pair{Key: key, Value: value})
		}
	}
	set, _ := ctx.Value(outgoingKey{}).(*outgoing)
	for ; set != nil; set = set.parent {
		switch {
		case set.persistent:
			add(persistentPrefix+set.key, set.value)
		case d == transport.TTHeader && set.key != keyPriority:
			add(transientPrefix+set.key, set.value)
		default:
			add(set.key, set.value)
		}
	}
	if info, ok := Info(ctx); ok {
		for key, value := range info.Headers() {
			if _, asked := parsePriority(value); strings.HasPrefix(key, persistentPrefix) || key == keyPriority && asked {
				add(key, value)
			}
		}
	}
}

// remaining returns the milliseconds until the deadline of ctx, rounded up, at least one,
// or 0 if it has none.
func remaining(ctx context.Context) int64 {
	var left time.Duration
	if deadline, known := limitOf(ctx); !deadline.IsZero() {
		left = known
	} else if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline)
	} else {
		return 0
	}
	return max(1, (left + time.Millisecond - 1).Milliseconds())
}

// limitOf returns the deadline that a client of ours has set in ctx, zero if none, and the time until then.
func limitOf(ctx context.Context) (time.Time, time.Duration) {
	if limited, ok := ctx.(*callctx.Context); ok {
		return limited.Limit()
	}
	return time.Time{}, 0
}
