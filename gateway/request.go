package gateway

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"slices"
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

// CheckQuery reports whether all of the query can be read. Nothing of one with
// more than 10,000 pairs can.
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
	crowded        bool                // broken because there are too many pairs
	names, texts   []string            // of the pairs
	text           []byte              // of the last value with escapes
	found          []string            // what get has returned so far of names that stand repeatedly
	index          map[string][]string // instead of looking through many pairs
}

// keptPairs bounds what values keep for the next request.
const keptPairs = 256

func (v *values) reset() {
	if cap(v.names) > keptPairs || cap(v.found) > keptPairs || cap(v.text) > 16*keptPairs {
		*v = values{}
		return
	}
	clear(v.names)
	clear(v.texts)
	clear(v.found)
	*v = values{names: v.names[:0], texts: v.texts[:0], found: v.found[:0], text: v.text[:0]}
}

// get returns the values of name in text, which must always be the same one.
func (v *values) get(text, name string) []string {
	v.parse(text)
	if v.index != nil {
		return v.index[name]
	}
	first := slices.Index(v.names, name)
	if first < 0 {
		return nil
	}
	next := first + 1 + slices.Index(v.names[first+1:], name)
	if next == first {
		return v.texts[first : first+1 : first+1]
	}
	start := len(v.found)
	v.found = append(v.found, v.texts[first])
	for i := next; i < len(v.names); i++ {
		if v.names[i] == name {
			v.found = append(v.found, v.texts[i])
		}
	}
	return v.found[start:len(v.found):len(v.found)]
}

func (v *values) parse(text string) {
	if v.parsed {
		return
	}
	v.parsed = true
	if strings.Count(text, "&") >= maxPairs {
		v.broken, v.crowded = true, true
		return
	}
	for i := 0; i < len(text); i++ {
		start, equals, escaped, broken := i, -1, false, false
		for ; i < len(text) && text[i] != '&'; i++ {
			switch text[i] {
			case '=':
				if equals < 0 {
					equals = i
				}
			case '%', '+':
				escaped = true
			case ';':
				broken = true
			}
		}
		if i == start {
			continue
		}
		name, value := text[start:i], ""
		if equals >= 0 {
			name, value = text[start:equals], text[equals+1:i]
		}
		if escaped && !broken {
			var ok1, ok2 bool
			name, ok1 = v.unescape(name)
			value, ok2 = v.unescape(value)
			broken = !ok1 || !ok2
		}
		if broken {
			v.broken = true
		} else {
			v.names, v.texts = append(v.names, name), append(v.texts, value)
		}
	}
	if len(v.names) > manyPairs {
		v.index = make(map[string][]string)
		for i, name := range v.names {
			v.index[name] = append(v.index[name], v.texts[i])
		}
	}
}

// parts takes a multipart/form-data form apart. Files are left out.
func (v *values) parts(body []byte, boundary string) {
	v.parsed = true
	form, err := multipart.NewReader(bytes.NewReader(body), boundary).ReadForm(int64(len(body)))
	if err != nil {
		v.broken = true
		return
	}
	v.index = form.Value
	if err := form.RemoveAll(); err != nil { // no file is larger than what may stay in memory
		v.broken = true
	}
}

// maxPairs is how many pairs a query or form may have, empty ones included, as
// net/url bounds them: each takes many times the memory of its text.
const maxPairs = 10000

// manyPairs is the number of pairs from which on an index is worth its making.
const manyPairs = 64

// unescape is url.QueryUnescape.
func (v *values) unescape(s string) (string, bool) {
	plain := 0
	for plain < len(s) && s[plain] != '%' && s[plain] != '+' {
		plain++
	}
	if plain == len(s) {
		return s, true
	}
	v.text = append(v.text[:0], s[:plain]...)
	for i := plain; i < len(s); i++ {
		c := s[i]
		switch c {
		case '+':
			c = ' '
		case '%':
			if len(s)-i < 3 {
				return "", false
			}
			high, low := hexDigit(s[i+1]), hexDigit(s[i+2])
			if high|low > 15 {
				return "", false
			}
			c = high<<4 | low
			i += 2
		}
		v.text = append(v.text, c)
	}
	return string(v.text), true
}

// hexDigit returns what c stands for, or more than 15.
func hexDigit(c byte) byte {
	switch {
	case c-'0' <= 9:
		return c - '0'
	case c|0x20-'a' < 6:
		return c | 0x20 - 'a' + 10
	}
	return 0xff
}
