package gateway

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// This file assembles the arguments of one request as JSON.

// span says where a stretch of the assembled JSON came from.
type span struct {
	start, end int
	source     source
	offset     int // in the body, for source.place inBody
}

// input is a request with its parts as far as a binding uses them.
type input struct {
	request *http.Request
	params  []string
	query   url.Values
	form    url.Values
	body    []byte
	parts   []part // of the body's object
	object  bool   // whether parts holds the body

	out   []byte // the assembled JSON
	spans []span // in the order of out
}

// bindError is a fault in a part of the request.
type bindError struct {
	fault  *diag.Fault
	source source
	offset int // in the body, or -1
}

func (e *bindError) Error() string { return e.fault.Error() }
func (e *bindError) Unwrap() error { return e.fault }

// assemble appends the arguments to in.out as b says.
func (b *binding) assemble(in *input) error {
	if b.uses[inQuery] {
		query, err := url.ParseQuery(in.request.URL.RawQuery)
		if err != nil {
			return &bindError{diag.NewFault(diag.Syntax, -1, "the query cannot be read"), source{place: inQuery}, -1}
		}
		in.query = query
	}
	if in.form == nil && len(in.body) > 0 && len(b.keys) > 0 {
		parts, err := splitObject(in.body)
		if err != nil {
			return newBindError(err, source{place: inBody}, 0)
		}
		in.parts, in.object = parts, true
	}
	in.out = append(in.out, '{')
	if err := b.appendMembers(in, b.members, b.rest == nil); err != nil {
		return err
	}
	in.out = append(in.out, '}')
	return nil
}

func newBindError(err error, s source, offset int) error {
	f, ok := err.(*diag.Fault)
	if !ok {
		return err
	}
	if f.Offset < 0 || s.place != inBody {
		return &bindError{f, s, -1}
	}
	return &bindError{f, s, offset + f.Offset}
}

// appendMembers appends the members of an object that stands open at the end
// of in.out; root says whether the body's object stands for it.
func (b *binding) appendMembers(in *input, members []member, root bool) error {
	start := len(in.out)
	for i := range members {
		m := &members[i]
		mark := len(in.out)
		b.appendKey(in, start, m.key)
		written, err := b.appendMember(in, m)
		if err != nil {
			return err
		}
		if !written {
			in.out = in.out[:mark]
		}
	}
	if !root || !in.object {
		return nil
	}
	for _, p := range in.parts {
		if b.keys[p.key] || b.fields[p.key] {
			continue
		}
		key, _ := appendString(nil, p.key)
		b.appendKey(in, start, append(key, ':'))
		in.splice(p.value, source{place: inBody, name: p.key}, p.offset)
	}
	return nil
}

// appendKey appends the key of the next member of the object that starts at start.
func (b *binding) appendKey(in *input, start int, key []byte) {
	if len(in.out) > start {
		in.out = append(in.out, ',')
	}
	in.out = append(in.out, key...)
}

// appendMember appends the value of m; written is false if the request has none.
func (b *binding) appendMember(in *input, m *member) (written bool, err error) {
	if len(m.sources) == 0 {
		start := len(in.out)
		in.out = append(in.out, '{')
		if err := b.appendMembers(in, m.fields, m.field == b.rest); err != nil {
			return false, err
		}
		empty := len(in.out) == start+1
		in.out = append(in.out, '}')
		return !empty || m.field.Requiredness() != schema.Optional, nil
	}
	for _, s := range m.sources {
		if written, err := in.appendSource(m.field.Type(), s); written || err != nil {
			return written, err
		}
	}
	return false, nil
}

// appendSource appends the value that stands at s, if there is one.
func (in *input) appendSource(t *schema.Type, s source) (written bool, err error) {
	if s.place == inBody {
		return in.appendBody(s)
	}
	values := in.values(s)
	if len(values) == 0 {
		return false, nil
	}
	if s.place == inHeader && len(values) > 1 {
		values = []string{strings.Join(values, ",")} // RFC 9110: lines of a name are one list
	}
	start := len(in.out)
	if s.place == inRawBody && t.Kind() == schema.Binary {
		in.out = append(base64.StdEncoding.AppendEncode(append(in.out, '"'), in.body), '"')
	} else if in.out, err = appendText(in.out, t, values); err != nil {
		return false, newBindError(err, s, -1)
	}
	in.spans = append(in.spans, span{start, len(in.out), s, -1})
	return true, nil
}

// appendBody appends the body or one of its keys.
func (in *input) appendBody(s source) (bool, error) {
	if s.name == "" {
		if len(in.body) == 0 || in.form != nil {
			return false, nil
		}
		if _, err := oneValue(in.body); err != nil {
			return false, newBindError(err, s, 0)
		}
		in.splice(in.body, s, 0)
		return true, nil
	}
	i := slices.IndexFunc(in.parts, func(p part) bool { return p.key == s.name })
	if i < 0 {
		return false, nil
	}
	in.splice(in.parts[i].value, s, in.parts[i].offset)
	return true, nil
}

// splice appends a JSON value of the body that starts at offset there.
func (in *input) splice(value []byte, s source, offset int) {
	start := len(in.out)
	in.out = append(in.out, value...)
	in.spans = append(in.spans, span{start, len(in.out), s, offset})
}

// values returns the texts that stand at s, none if there are none.
func (in *input) values(s source) []string {
	switch s.place {
	case inPath:
		return in.params[s.param : s.param+1]
	case inQuery:
		return in.query[s.name]
	case inHeader:
		if s.name == "Host" { // net/http moves it
			return []string{in.request.Host}
		}
		return in.request.Header[s.name]
	case inCookie:
		if c, err := in.request.Cookie(s.name); err == nil {
			return []string{c.Value}
		}
		return nil
	case inForm:
		return in.form[s.name]
	case inRawBody:
		return []string{string(in.body)}
	default: // inRawURI
		return []string{in.request.URL.RequestURI()}
	}
}

// locate says which part of the request the byte at offset of in.out came
// from; ok is false for bytes that the gateway wrote itself.
func (in *input) locate(offset int) (s source, at int, ok bool) {
	for _, p := range in.spans {
		if p.start <= offset && offset < p.end {
			if p.offset < 0 {
				return p.source, -1, true
			}
			return p.source, p.offset + offset - p.start, true
		}
	}
	return source{}, -1, false
}
