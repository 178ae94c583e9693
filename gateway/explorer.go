package gateway

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strings"
)

// This file holds the page on which people try calls.

//go:embed page/explorer.html
var explorerPage string

//go:embed page/explorer.js
var explorerScript string

// Explorer answers browsers, which ask GET / for text/html, with a page that lists the
// services and calls their methods. Whoever can reach the gateway can call them anyway; the
// page makes it easy, so it is for trials and for networks of one's own.
func Explorer() Option {
	page := []byte(strings.Replace(explorerPage, "EXPLORER", explorerScript, 1))
	hash := sha256.Sum256([]byte(explorerScript))
	policy := "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; form-action 'none'; frame-ancestors 'none'; " +
		"base-uri 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
	return func(o *options) { o.page, o.pagePolicy = page, policy }
}

// serveIndex answers GET / with the services as JSON or, if that is asked for and allowed, with
// the page.
func (g *Gateway) serveIndex(w http.ResponseWriter, r *http.Request, t *table) {
	if g.options.page != nil {
		w.Header().Add("Vary", "Accept")
	}
	if g.options.page == nil || !wantsPage(r) {
		write(w, http.StatusOK, "application/json", t.index)
		return
	}
	w.Header().Set("Content-Security-Policy", g.options.pagePolicy)
	write(w, http.StatusOK, "text/html; charset=utf-8", g.options.page)
}

// wantsPage reports whether a request names text/html as a browser does. Programs, which
// name JSON, anything or nothing, get JSON.
func wantsPage(r *http.Request) bool {
	for _, accept := range r.Header.Values("Accept") {
		for _, part := range strings.Split(accept, ",") {
			kind, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(kind), "text/html") {
				return true
			}
		}
	}
	return false
}
