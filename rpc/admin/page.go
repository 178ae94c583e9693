package admin

import (
	"bytes"
	"net/http"
	"strconv"
)

// This file holds the status page.

// pageText is the page, which html/template escapes what it shows in.
const pageText = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{{if .Refresh}}<meta http-equiv="refresh" content="{{.Refresh}}">
{{end}}<title>{{.Title}}: {{.Status}}</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.status { border-radius: 1rem; padding: .1rem .7rem; font-size: .9rem; background: #b3261e; color: #fff; }
.status.ready { background: #146c2e; }
table { border-collapse: collapse; } th { text-align: left; font-weight: normal; padding: .15rem 2rem .15rem 0; }
td { font-variant-numeric: tabular-nums; padding: .15rem 0; } td.number { text-align: right; }
tr + tr { border-top: 1px solid #8884; } .zero { opacity: .55; }
.groups { display: flex; flex-wrap: wrap; gap: 0 4rem; }
</style>
</head>
<body>
<header><h1>{{.Title}} <span class="status{{if .Ready}} ready{{end}}">{{.Status}}</span></h1></header>
<main>
{{if .Reasons}}<ul>{{range .Reasons}}<li>{{.}}</li>{{end}}</ul>
{{end}}<div class="groups">
<section><h2>Process</h2>
<table>
<tr><th scope="row">Version</th><td>{{.Process.Version}}</td></tr>
<tr><th scope="row">Go</th><td>{{.Process.Go}}, {{.Process.Processors}} processors</td></tr>
<tr><th scope="row">Started</th><td><time datetime="{{.Process.Started.Format "2006-01-02T15:04:05Z07:00"}}">{{.Process.Started.Format "2006-01-02 15:04:05 MST"}}</time></td></tr>
<tr><th scope="row">Up for</th><td>{{.Process.Uptime}}</td></tr>
<tr><th scope="row">Goroutines</th><td>{{.Process.Goroutines}}</td></tr>
<tr><th scope="row">Heap</th><td>{{.Process.Heap}} bytes</td></tr>
</table></section>
{{if .Checks}}<section><h2>Checks</h2>
<table>
{{range .Checks}}<tr><th scope="row">{{.Name}}</th><td>{{if .Error}}{{.Error}}{{else}}ok{{end}}</td></tr>
{{end}}</table></section>
{{end}}{{range .Servers}}<section><h2>Server {{.Name}}{{if .Stopping}}, which is stopping{{end}}</h2>
{{template "numbers" .Numbers}}</section>
{{end}}{{range .Clients}}<section><h2>Client {{.Name}}</h2>
{{template "numbers" .Numbers}}</section>
{{end}}</div>
<nav><h2>More</h2>
<ul>
<li><a href="/status.json">status.json</a></li>
<li><a href="/readyz">readyz</a></li>
{{if .Profiles}}<li><a href="/debug/pprof/">Profiles</a></li>
{{end}}{{range .Links}}<li><a href="{{.Path}}">{{.Title}}</a></li>
{{end}}<li>{{if .Refresh}}<a href="/">Stop refreshing</a>{{else}}<a href="/?refresh=5">Refresh every 5 s</a>{{end}}</li>
</ul></nav>
</main>
</body>
</html>
{{define "profiles"}}<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Profiles</title>
<style>:root { color-scheme: light dark; } body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 40rem; padding: 0 1rem; }</style>
</head>
<body>
<h1>Profiles</h1>
<ul>
{{range .}}<li><a href="{{.Name}}?debug=1">{{.Name}}</a> ({{.Count}})</li>
{{end}}<li><a href="profile?seconds=30">profile</a> of the CPU, as a file after 30 s</li>
<li><a href="trace?seconds=1">trace</a> of what goroutines do, as a file after 1 s</li>
</ul>
<p>Without debug=1 each is a file for go tool pprof; debug=2 shows goroutines with their waits, heap?gc=1 collects garbage first.</p>
<p><a href="/">Back to the status</a></p>
</body>
</html>
{{end}}{{define "numbers"}}<table>
{{range .}}<tr{{if not .Value}} class="zero"{{end}}><th scope="row">{{.Name}}</th><td class="number">{{.Value}}</td></tr>
{{end}}</table>{{end}}`

// maxRefresh is the longest interval at which the page loads itself again, in seconds.
const maxRefresh = 3600

func (h *Handler) servePage(w http.ResponseWriter, r *http.Request) {
	now := h.report(r)
	if n, err := strconv.Atoi(r.URL.Query().Get("refresh")); err == nil && n > 0 && n <= maxRefresh {
		now.Refresh = n
	}
	var page bytes.Buffer
	if err := h.page.Execute(&page, now); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writePage(w, page.Bytes())
}

// writePage writes a page that loads nothing.
func writePage(w http.ResponseWriter, page []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	w.Write(page)
}
