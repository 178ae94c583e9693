package gateway

import "net/http"

// This file takes what conversions put into a reply beside its body.

// response is the head of a reply.
type response struct {
	header http.Header
	status int
}

func (r *response) SetStatus(code int)           { r.status = code }
func (r *response) SetHeader(name, value string) { r.header.Set(name, value) }

// SetCookie sets a cookie for all paths. What cookies cannot hold stands in quotes, as net/http
// has it, or is left out.
func (r *response) SetCookie(name, value string) {
	c := http.Cookie{Name: name, Value: value, Path: "/"}
	r.header.Add("Set-Cookie", c.String())
}
