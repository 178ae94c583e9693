package transcode

import (
	"strings"

	"github.com/thrum-rpc/thrum/schema"
)

// This file says in which parts of HTTP messages fields stand.

// Place is a kind of part of an HTTP message.
type Place uint8

const (
	InPath    Place = iota + 1 // a parameter of the route
	InQuery                    // a parameter of the query
	InHeader                   // a header field
	InCookie                   // a cookie
	InForm                     // a field of a form in the body
	InBody                     // the member of the body's JSON object that Name names; the whole body if Name is empty
	InRawBody                  // the body as it is
	InRawURI                   // the request's URI as it is
	InStatus                   // the status code of a reply
	InNoBody                   // only of a struct: its fields stand in other parts than the body
	Nowhere                    // left out
)

var placeNames = [...]string{
	InPath: "path", InQuery: "query", InHeader: "header", InCookie: "cookie", InForm: "form", InBody: "body",
	InRawBody: "raw_body", InRawURI: "raw_uri", InStatus: "http_code", InNoBody: "no_body_struct", Nowhere: "none",
}

// String returns the name that p has in annotations, without "api.".
func (p Place) String() string {
	if int(p) < len(placeNames) {
		return placeNames[p]
	}
	return ""
}

// Part is a place of an HTTP message and the name that a field has there.
type Part struct {
	Place Place
	Name  string // without meaning in InRawBody, InRawURI, InStatus, InNoBody and Nowhere
	// Read, if not nil, gets the field's values from a request instead, none if
	// there are none; Write puts the value into a reply. Place and Name then serve
	// errors only.
	Read  func(HTTPRequest) []string
	Write func(r HTTPResponse, value string)
}

// HTTPRequest is what is read of a request. Names of header fields are given
// in canonical form, such as X-Request-Id. What the methods return must stay as it is
// until the conversion returns, and is not kept.
type HTTPRequest interface {
	Param(name string) (value string, ok bool) // of the route's path, unescaped
	Query(name string) []string                // in the order in which they stand
	Header(name string) []string
	Cookie(name string) (value string, ok bool)
	IsForm() bool // whether the body is a form, so that it is not JSON
	Form(name string) []string
	Body() []byte
	URI() string // path and query as they were sent
}

// HTTPResponse takes what a reply has beside its body.
type HTTPResponse interface {
	SetStatus(code int)
	SetHeader(name, value string) // canonical, and without control characters
	SetCookie(name, value string) // without control characters; it may need quoting
}

// AnnotatedParts returns the parts of a request in which annotations look for f,
// nil if there are none: api.path, api.query, api.header, api.cookie, api.form,
// api.body, api.raw_body, api.raw_uri, in this order, whatever the order of
// the annotations; or api.no_body_struct or api.none. An annotation without value stands for the
// field's name, but api.body for the whole body. agw.source = "query" and its like name the
// place, and [AnnotatedName] or the field's name the name.
func AnnotatedParts(f *schema.Field) []Part {
	a := f.Annotations()
	switch {
	case a.Has("api.none"):
		return []Part{{Place: Nowhere}}
	case a.Has("api.no_body_struct"):
		return []Part{{Place: InNoBody}}
	}
	var parts []Part
	source := strings.ToLower(a.Value("agw.source"))
	for p := InPath; p <= InRawURI; p++ {
		if v, ok := a.Get("api." + p.String()); ok {
			name := v.Value
			if name == "" && p != InBody {
				name = f.Name()
			}
			parts = append(parts, Part{Place: p, Name: name})
		} else if source != "" && source == agwSources[p] {
			parts = append(parts, Part{Place: p, Name: usualName(f)})
		}
	}
	if parts == nil && source == "not_body_struct" {
		parts = []Part{{Place: InNoBody}}
	}
	return parts
}

// agwSources are the values of agw.source.
var agwSources = [...]string{
	InPath: "path", InQuery: "query", InHeader: "header", InCookie: "cookie", InForm: "post", InBody: "body",
	InRawBody: "raw_body", InRawURI: "raw_uri",
}

// AnnotatedReplyParts returns the parts of a reply in which annotations put f, nil if
// it is JSON under its name: api.http_code, api.header, api.cookie, api.raw_body, api.body, of
// which the first counts, or api.none. agw.target = "header" and its like name the place
// alone. Annotations that only requests have, such as api.query, mean nothing here.
func AnnotatedReplyParts(f *schema.Field) []Part {
	a := f.Annotations()
	if a.Has("api.none") {
		return []Part{{Place: Nowhere}}
	}
	target := strings.ToLower(a.Value("agw.target"))
	if target == "ignore" {
		return []Part{{Place: Nowhere}}
	}
	for _, p := range [...]Place{InStatus, InHeader, InCookie, InRawBody, InBody} {
		if v, ok := a.Get("api." + p.String()); ok && (p != InBody || v.Value != "") {
			name := v.Value
			if name == "" {
				name = f.Name()
			}
			return []Part{{Place: p, Name: name}}
		}
		if target != "" && target == p.String() {
			return []Part{{Place: p, Name: usualName(f)}}
		}
	}
	return nil
}

// usualName returns the name of f where only annotations of its name count.
func usualName(f *schema.Field) string {
	if name := AnnotatedName(f); name != "" {
		return name
	}
	return f.Name()
}

// canonical returns the name of a header field as net/http spells it.
func canonical(name string) string {
	b := []byte(name)
	up := true
	for i, c := range b {
		switch {
		case up && 'a' <= c && c <= 'z':
			b[i] = c - 'a' + 'A'
		case !up && 'A' <= c && c <= 'Z':
			b[i] = c - 'A' + 'a'
		}
		up = c == '-'
	}
	return string(b)
}
