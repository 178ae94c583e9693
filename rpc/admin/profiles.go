package admin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"time"
)

// This file holds profiles, on runtime/pprof and not on net/http/pprof, which
// registers handlers of its own with net/http's global one as soon as it is imported.

// Limits of profiles that take time.
const (
	profileTime    = 30 * time.Second // of a CPU profile unless the request says
	traceTime      = time.Second
	maxProfileTime = 5 * time.Minute
)

// serveProfiles lists the profiles.
func (h *Handler) serveProfiles(w http.ResponseWriter, _ *http.Request) {
	var page bytes.Buffer
	if err := h.page.ExecuteTemplate(&page, "profiles", pprof.Profiles()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writePage(w, page.Bytes())
}

// serveProfile serves one profile.
func (h *Handler) serveProfile(w http.ResponseWriter, r *http.Request) {
	switch name := r.PathValue("name"); name {
	case "profile":
		timed(w, r, profileTime, pprof.StartCPUProfile, pprof.StopCPUProfile)
	case "trace":
		timed(w, r, traceTime, trace.Start, trace.Stop)
	default:
		p := pprof.Lookup(name)
		if p == nil {
			http.Error(w, "there is no such profile", http.StatusNotFound)
			return
		}
		if name == "heap" && r.URL.Query().Get("gc") == "1" {
			runtime.GC()
		}
		form, err := strconv.Atoi(r.URL.Query().Get("debug"))
		if err != nil || form < 0 || form > 2 {
			form = 0
		}
		if form > 0 {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		} else {
			attach(w, name)
		}
		_ = p.WriteTo(w, form) // an error is the client's leaving
	}
}

// attach makes the answer a file.
func attach(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// timed serves what is recorded between start and stop. There can be one of a kind at a time in a process.
func timed(w http.ResponseWriter, r *http.Request, d time.Duration, start func(io.Writer) error, stop func()) {
	if text := r.URL.Query().Get("seconds"); text != "" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds > 0 && seconds <= maxProfileTime.Seconds()) {
			http.Error(w, fmt.Sprintf("seconds is a number up to %d", int(maxProfileTime.Seconds())), http.StatusBadRequest)
			return
		}
		d = time.Duration(seconds * float64(time.Second))
	}
	if r.Method == http.MethodHead {
		return
	}
	// The server may allow less time for its pages than a profile takes.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d + time.Minute))
	attach(w, r.PathValue("name"))
	if err := start(w); err != nil {
		w.Header().Del("Content-Disposition")
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	defer stop()
	ctx, cancel := context.WithTimeout(r.Context(), d)
	defer cancel()
	<-ctx.Done()
}
