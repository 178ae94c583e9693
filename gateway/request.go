package gateway

import (
	"net/http"
	"net/url"
	"strings"
)

// This file shows requests to the conversion.

// Request is an http.Request as package transcode reads it: query, cookies and
// form are taken apart when they are asked for. It is for one goroutine at a
// time, and valid as long as what it was made of; Reset makes it another one with the same memory.
// The zero value is a request without anything, and must be reset.
type Request struct {
	http          *http.Request
	names, params []string
	body          []byte
	isForm        bool
	query, form   values
}

// Reset makes r show req, whose body has been read, as body. isForm says that
// this is an urlencoded form; names and params are the parameters of the
// route's path, unescaped.
func (r *Request) Reset(req *http.Request, body []byte, isForm bool, names, params []string) {
	r.http, r.body, r.isForm, r.names, r.params = req, body, isForm, names, params
	r.query.reset()
	r.form.reset()
}

// Param implements [transcode.HTTPRequest], as do the other methods.
func (r *Request) Param(name string) (string, bool) {
	for i, n := range r.names {
		if n == name {
			return r.params[i], true
		}
	}
	return "", false
}

// Query returns the values of a parameter of the query. What of the query cannot be read is left out;
// see [Request.CheckQuery].
func (r *Request) Query(name string) []string { return r.query.get(r.http.URL.RawQuery, name) }

// Header returns the lines of a header field, given by its canonical name.
func (r *Request) Header(name string) []string {
	if name == "Host" { // net/http moves it
		return []string{r.http.Host}
	}
	return r.http.Header[name]
}

// Cookie returns the first valid cookie of a name.
func (r *Request) Cookie(name string) (string, bool) {
	for _, line := range r.http.Header["Cookie"] {
		for more := true; more; {
			var pair string
			pair, line, more = strings.Cut(line, ";")
			key, value, _ := strings.Cut(strings.Trim(pair, " \t"), "=")
			if strings.Trim(key, " \t") != name {
				continue
			}
			if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
				value = value[1 : len(value)-1]
			}
			if validCookie(value) {
				return value, true
			}
		}
	}
	return "", false
}

// validCookie reports whether net/http takes value as a cookie's.
func validCookie(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// IsForm reports whether the body is a form.
func (r *Request) IsForm() bool { return r.isForm }

// Form returns the values of a field of the form in the body.
func (r *Request) Form(name string) []string {
	if !r.isForm {
		return nil
	}
	if !r.form.parsed {
		return r.form.get(string(r.body), name)
	}
	return r.form.get("", name)
}

// Body returns the whole body.
func (r *Request) Body() []byte { return r.body }

// URI returns path and query of the request.
func (r *Request) URI() string { return r.http.URL.RequestURI() }

// CheckQuery reports whether all of the query can be read.
func (r *Request) CheckQuery() bool {
	r.query.parse(r.http.URL.RawQuery)
	return !r.query.broken
}

// CheckForm is CheckQuery for the form.
func (r *Request) CheckForm() bool {
	if !r.form.parsed {
		r.form.parse(string(r.body))
	}
	return !r.form.broken
}

// values are the pairs of a query or form, as net/url takes them apart.
type values struct {
	parsed, broken bool
	pairs          []pair
	found          []string            // what get has returned so far
	index          map[string][]string // instead of looking through many pairs
}

// keptPairs bounds what values keep for the next request.
const keptPairs = 256

func (v *values) reset() {
	if cap(v.pairs) > keptPairs || cap(v.found) > keptPairs {
		*v = values{}
	}
	clear(v.pairs)
	clear(v.found)
	*v = values{pairs: v.pairs[:0], found: v.found[:0]}
}

type pair struct{ name, value string }

// get returns the values of name in text, which must always be the same one.
func (v *values) get(text, name string) []string {
	v.parse(text)
	if v.index != nil {
		return v.index[name]
	}
	start := len(v.found)
	for i := range v.pairs {
		if v.pairs[i].name == name {
			v.found = append(v.found, v.pairs[i].value)
		}
	}
	return v.found[start:len(v.found):len(v.found)]
}

func (v *values) parse(text string) {
	if v.parsed {
		return
	}
	v.parsed = true
	for text != "" {
		var part string
		part, text, _ = strings.Cut(text, "&")
		if part == "" {
			continue
		}
		if strings.IndexByte(part, ';') >= 0 {
			v.broken = true
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		name, err1 := unescape(name)
		value, err2 := unescape(value)
		if err1 != nil || err2 != nil {
			v.broken = true
			continue
		}
		v.pairs = append(v.pairs, pair{name, value})
	}
	if len(v.pairs) > manyPairs {
		v.index = make(map[string][]string)
		for _, p := range v.pairs {
			v.index[p.name] = append(v.index[p.name], p.value)
		}
	}
}

// manyPairs is the number of pairs from which on an index is worth its making.
const manyPairs = 64

// unescape is url.QueryUnescape, which text without escapes does not pay for.
func unescape(s string) (string, error) {
	for i := range len(s) {
		if s[i] == '%' || s[i] == '+' {
			return url.QueryUnescape(s)
		}
	}
	return s, nil
}
