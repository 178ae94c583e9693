package transcode

import (
	"strings"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file reads requests and writes Thrift: which value each field of a
// request struct gets. Fields with sources before the body come first, then the
// members of the body's object in one pass, then what is still absent.

// httpRun is what one conversion knows beside its input and output.
type httpRun struct {
	req    HTTPRequest
	resp   HTTPResponse
	opts   *httpOptions
	form   bool
	text   bool    // whether the input is the JSON of another part than the body, which holds no request structs
	given  []byte  // the base that the caller gives
	base   []byte  // the base that the reply had
	failed *source // where a fault outside the body's JSON lies
	// repeats says that structs in containers may ask the same sources many times,
	// so what these give is kept.
	repeats bool
}

// given is what a list of sources gave.
type given struct {
	known, ok bool
	depth     int // levels of nesting that were left
	from, end int // the field with its header, in scratch.givenBytes
}

// PartError is a fault in another part of a request than the JSON of its body.
// The fault has no offset.
type PartError struct {
	Place Place
	Name  string
	Fault *diag.Fault
}

func (e *PartError) Error() string {
	if e.Name == "" {
		return "the request's " + e.Place.String() + ": " + e.Fault.Error()
	}
	return "the request's " + e.Place.String() + " " + e.Name + ": " + e.Fault.Error()
}

func (e *PartError) Unwrap() error { return e.Fault }

// request reads a bound struct from the object at p, which is negative if the
// body has none, and from other parts. found says whether any field has a value;
// if not, the struct is only whole if must is set.
func (r *fromJSON) request(dst []byte, p int, b *bound, must bool) (out []byte, end int, found bool) {
	start, t := p, b.table
	if r.depth == 0 {
		return dst, r.tooDeep(p), false
	}
	r.depth--
	set, seen := r.open(len(t.fields)), r.open(len(t.fields))
	count := 0
	for _, i := range b.early {
		ok, list := false, b.fields[i].sources
		plain := len(list) == 1 && list[0].plain && !(r.http != nil && r.http.repeats)
		if plain {
			dst, ok = r.plainSource(dst, &t.fields[i], &list[0])
		}
		if !plain || r.fault != nil {
			r.fault = nil // which is found again, with its place
			if dst, ok = r.fromSources(dst, &t.fields[i], list, b.fields[i].given); r.fault != nil {
				return dst, failed, false
			}
		}
		if ok {
			r.mark(&set, int(i))
			count++
		}
	}
	n := 0
	switch {
	case p >= 0:
		dst, p, n = r.members(dst, p, b, &set, &seen)
	case b.root && b.direct && r.http != nil && r.http.form:
		dst, n = r.formFields(dst, b, &set)
	}
	if r.fault != nil {
		return dst, failed, false
	}
	count += n
	if dst, n = r.lateFields(dst, b, &set, b.root || start >= 0); r.fault != nil {
		return dst, failed, false
	}
	if count += n; count > 0 || must {
		if t.needs {
			if dst, n = r.absent(dst, max(p, 0), start, t, &set); n < 0 {
				return dst, n, false
			}
		}
	}
	r.drop(&seen, len(t.fields))
	r.drop(&set, len(t.fields))
	r.depth++
	if dst = append(dst, byte(thriftwire.Stop)); len(dst) > r.limit {
		return dst, r.tooLarge(start), false
	}
	return dst, max(p, 0), count > 0
}

// members reads the object at p and returns how many fields it had.
func (r *fromJSON) members(dst []byte, p int, b *bound, set, seen *fields) (out []byte, end, count int) {
	t := b.table
	if p >= len(r.in) || r.in[p] != '{' {
		return dst, r.unexpected(p, t.name), 0
	}
	next := b.first
	if p = r.space(p + 1); p < len(r.in) && r.in[p] == '}' {
		return dst, p + 1, 0
	}
	for {
		var i int
		at := p
		if i, p = r.name(p, t, next); p < 0 {
			return dst, p, count
		}
		if uint(i) < uint(len(b.fields)) {
			next = b.fields[i].next
		}
		had := false
		if dst, p, had = r.boundMember(dst, p, at, i, b, set, seen); p < 0 {
			return dst, p, count
		}
		if had {
			count++
		}
		var more bool
		if p, more = r.next(p, '}'); !more {
			return dst, p, count
		}
	}
}

// boundMember reads the member with index i among the names of b, whose value
// stands at p and whose name at at.
func (r *fromJSON) boundMember(dst []byte, p, at, i int, b *bound, set, seen *fields) (out []byte, end int, had bool) {
	t := b.table
	if i < 0 {
		return dst, r.unknown(p, at, t), false
	}
	null := p < len(r.in) && r.in[p] == 'n' && r.null(p)
	kind, record := memberIgnored, int32(0)
	if i >= len(t.fields) {
		record = b.extra[i-len(t.fields)]
	} else {
		kind, record = b.fields[i].member, b.fields[i].record
	}
	if record >= 0 {
		slot := &r.mem.slots[record]
		if *slot != 0 {
			return dst, r.fail(diag.DuplicateKey, at, "the name stands twice"), false
		}
		if *slot = -1; !null {
			*slot = int32(p)
		}
	}
	if i < len(t.fields) && r.mark(seen, i) {
		return dst, r.twice(at, t, &t.fields[i]), false
	}
	if kind == memberValue && !null && !r.has(set, len(t.fields), i) {
		f := &t.fields[i]
		r.mark(set, i)
		dst = append(dst, f.head[0], f.head[1], f.head[2])
		from := len(dst)
		if dst, p = r.value(dst, p, &f.typ); p >= 0 && i == b.base {
			dst, p = r.mergeBase(dst, from, p)
		}
		if p < 0 {
			r.fault.Field(f.name)
		}
		return dst, p, true
	}
	// Its field has its value from elsewhere, or there is none.
	n := jsonwire.Skip(r.in[p:], r.depth)
	if n < 0 {
		return dst, r.jsonError(n, p), false
	}
	return dst, p + n, false
}

// formFields reads the members that a form has instead of the body's object.
func (r *fromJSON) formFields(dst []byte, b *bound, set *fields) (out []byte, count int) {
	t := b.table
	for i := range b.fields {
		bf := &b.fields[i]
		if bf.member == memberIgnored || bf.member == memberLater && bf.nested != nil || r.has(set, len(t.fields), i) {
			continue
		}
		var ok bool
		if dst, ok = r.fromSource(dst, &t.fields[i], &source{place: InForm, name: t.names.names[i]}); r.fault != nil {
			return dst, count
		}
		if ok {
			r.mark(set, i)
			count++
		}
	}
	return dst, count
}

// lateFields reads what the body did not have; here says whether it has the
// struct at all.
func (r *fromJSON) lateFields(dst []byte, b *bound, set *fields, here bool) (out []byte, count int) {
	t := b.table
	for _, at := range b.late {
		i := int(at)
		bf, f := &b.fields[i], &t.fields[i]
		if r.has(set, len(t.fields), i) || bf.traced && !here {
			continue
		}
		var ok bool
		switch {
		case bf.nested != nil:
			dst, ok = r.lateStruct(dst, bf, f)
		case bf.member == memberLater:
			dst, ok = r.lateMember(dst, bf, f)
		default:
			dst, ok = r.fromSources(dst, f, bf.after, bf.given+1)
		}
		if r.fault != nil {
			return dst, count
		}
		if ok {
			r.mark(set, i)
			count++
		}
	}
	if i := b.base; i >= 0 && r.http != nil && len(r.http.given) > 0 && !r.has(set, len(t.fields), i) {
		dst = append(dst, t.fields[i].head[:]...)
		dst = append(dst, r.http.given...)
		r.mark(set, i)
		count++
	}
	return dst, count
}

// lateStruct reads a request struct from its object, which was met before, or
// from other parts alone. ok is false if it has no value.
func (r *fromJSON) lateStruct(dst []byte, bf *boundField, f *field) (out []byte, ok bool) {
	p, mark := failed, len(dst)
	if bf.record >= 0 && r.mem != nil && len(r.mem.slots) > 0 && r.mem.slots[bf.record] > 0 {
		p = int(r.mem.slots[bf.record])
	}
	must := bf.always || p >= 0
	dst = append(dst, f.head[:]...)
	dst, _, ok = r.request(dst, p, bf.nested, must)
	switch {
	case r.fault != nil:
		r.fault.Field(f.name)
	case !ok && !must:
		return dst[:mark], false
	}
	return dst, true
}

// lateMember reads the value of a member that was met before, a container of
// request structs.
func (r *fromJSON) lateMember(dst []byte, bf *boundField, f *field) (out []byte, ok bool) {
	p := int(r.mem.slots[bf.record])
	if p <= 0 {
		return dst, false
	}
	if dst, p = r.value(append(dst, f.head[:]...), p, &f.typ); p < 0 {
		r.fault.Field(f.name)
	}
	return dst, true
}

// fromSources reads f from the first of list that has it. What list gave is
// kept at at.
func (r *fromJSON) fromSources(dst []byte, f *field, list []source, at int32) (out []byte, ok bool) {
	if r.http == nil || !r.http.repeats {
		return r.firstSource(dst, f, list)
	}
	m, mark := r.mem, len(dst)
	if g := m.given[at]; g.known && g.depth <= r.depth {
		if dst = append(dst, m.givenBytes[g.from:g.end]...); len(dst) > r.limit {
			r.tooLarge(failed)
		}
		return dst, g.ok
	}
	if dst, ok = r.firstSource(dst, f, list); r.fault == nil {
		m.given[at] = given{true, ok, r.depth, len(m.givenBytes), len(m.givenBytes) + len(dst) - mark}
		m.givenBytes = append(m.givenBytes, dst[mark:]...)
	}
	return dst, ok
}

func (r *fromJSON) firstSource(dst []byte, f *field, list []source) (out []byte, ok bool) {
	for i := range list {
		if dst, ok = r.fromSource(dst, f, &list[i]); ok || r.fault != nil {
			break
		}
	}
	return dst, ok
}

// fromSource reads f from s; ok is false if s has no value.
func (r *fromJSON) fromSource(dst []byte, f *field, s *source) (out []byte, ok bool) {
	if s.plain {
		if dst, ok = r.plainSource(dst, f, s); r.fault == nil {
			return dst, ok
		}
		r.fault = nil // which is found again, with its place
	}
	mark, depth := len(dst), r.depth
	dst = append(dst, f.head[0], f.head[1], f.head[2])
	if s.place == InBody && s.read == nil {
		if dst, ok = r.fromBody(dst, &f.typ, s); r.fault != nil {
			r.fault.Field(f.name)
		}
	} else if dst, ok = r.fromPart(dst, &f.typ, s); r.fault != nil {
		if r.http.opts.omitErrors {
			r.fault, r.depth, ok = nil, depth, false
		} else {
			r.fault.Offset, r.http.failed = -1, s
			r.fault.Field(f.name)
		}
	}
	if !ok && r.fault == nil {
		return dst[:mark], false
	}
	return dst, ok
}

// plainSource is fromSource for the most usual fields, with less ado. A fault that it
// leaves is not described.
func (r *fromJSON) plainSource(dst []byte, f *field, s *source) (out []byte, ok bool) {
	var text string
	switch req := r.http.req; s.place {
	case InPath:
		text, ok = req.Param(s.name)
	case InCookie:
		text, ok = req.Cookie(s.name)
	default:
		var list []string
		if s.place == InQuery {
			list = req.Query(s.name)
		} else if list = req.Header(s.name); len(list) > 1 {
			list = []string{strings.Join(list, ",")}
		}
		if ok = len(list) > 0; ok {
			text = list[0]
		}
	}
	if !ok {
		return dst, false
	}
	mark := len(dst)
	if n := len(text); f.typ.kind == schema.String && n < r.limit-mark && utf8.ValidString(text) {
		dst = append(dst, f.head[0], f.head[1], f.head[2], byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
		return append(dst, text...), true
	}
	dst = append(dst, f.head[0], f.head[1], f.head[2])
	if dst, ok = r.plainValue(dst, f.typ.kind, text); !ok {
		dst = dst[:mark]
	}
	return dst, ok
}

// fromBody reads a value of type t from the body: the whole, or the member
// of its object whose place the slot tells.
func (r *fromJSON) fromBody(dst []byte, t *typ, s *source) (out []byte, ok bool) {
	if r.http.form {
		if s.name == "" {
			return dst, false
		}
		return r.fromValues(dst, t, InForm, r.http.req.Form(s.name))
	}
	p := 0
	if s.slot >= 0 {
		if p = int(r.mem.slots[s.slot]); p <= 0 {
			return dst, false
		}
		dst, p = r.value(dst, p, t)
		return dst, p >= 0
	}
	if p = r.space(0); p == len(r.in) {
		return dst, false
	}
	if dst, p = r.value(dst, p, t); p >= 0 {
		p = r.atEnd(p)
	}
	return dst, p >= 0
}

// fromPart reads a value of type t from another part of the request.
func (r *fromJSON) fromPart(dst []byte, t *typ, s *source) (out []byte, ok bool) {
	req := r.http.req
	var one string
	switch {
	case s.read != nil:
		return r.fromValues(dst, t, s.place, s.read(req))
	case s.place == InPath:
		one, ok = req.Param(s.name)
	case s.place == InCookie:
		one, ok = req.Cookie(s.name)
	case s.place == InQuery:
		return r.fromValues(dst, t, InQuery, req.Query(s.name))
	case s.place == InHeader:
		return r.fromValues(dst, t, InHeader, req.Header(s.name))
	case s.place == InForm:
		return r.fromValues(dst, t, InForm, req.Form(s.name))
	case s.place == InRawBody:
		return r.rawBody(dst, t)
	default: // InRawURI
		one, ok = req.URI(), true
	}
	if !ok {
		return dst, false
	}
	return r.fromText(dst, t, one, true)
}

// rawBody writes the body as it is.
func (r *fromJSON) rawBody(dst []byte, t *typ) ([]byte, bool) {
	body := r.http.req.Body()
	if len(body) == 0 && r.http.opts.emptyAbsent {
		return dst, false
	}
	if t.plainKind() == schema.Binary {
		if dst = thriftwire.AppendBytes(dst, body); len(dst) > r.limit {
			r.tooLarge(failed)
		}
		return dst, r.fault == nil
	}
	return r.plainText(dst, string(body))
}
