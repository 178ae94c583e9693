package admin

import (
	"encoding/json"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds what the status page says, as data.

// report is a status at one moment.
type report struct {
	Title   string        `json:"title"`
	Status  string        `json:"status"`
	Ready   bool          `json:"ready"`
	Reasons []string      `json:"reasons,omitempty"`
	Checks  []checkResult `json:"checks,omitempty"`
	Process process       `json:"process"`
	Servers []peer        `json:"servers,omitempty"`
	Clients []peer        `json:"clients,omitempty"`

	Refresh  int    `json:"-"` // seconds, 0 for never
	Links    []link `json:"-"`
	Profiles bool   `json:"-"`
}

// process is what the status says of the program.
type process struct {
	Version    string    `json:"version"`
	Go         string    `json:"go"`
	Processors int       `json:"gomaxprocs"`
	Started    time.Time `json:"started"`
	Uptime     string    `json:"uptime"`
	Goroutines int       `json:"goroutines"`
	Heap       uint64    `json:"heap_bytes"`
}

// peer is a server or a client.
type peer struct {
	Name     string           `json:"name"`
	Stopping bool             `json:"stopping,omitempty"`
	Numbers  []number         `json:"-"`
	Values   map[string]int64 `json:"stats"`
}

// number is a statistic.
type number struct {
	Name  string
	Value int64
}

// numbersOf returns the statistics of a server in the order of the page.
func numbersOf(s rpc.Stats) []number {
	out := []number{
		{"connections", int64(s.Connections)}, {"calls_in_flight", int64(s.InFlight)}, {"calls_waiting", int64(s.Waiting)},
		{"memory_bytes", s.Memory}, {"connections_accepted", s.Accepted}, {"calls", s.Calls}, {"panics", s.Panics},
		{"second_replies", s.SecondReplies}, {"unknown_dialects", s.UnknownDialect}, {"tls_failures", s.Handshakes},
		{"http_refused", s.HTTPRefused}, {"connections_broken", s.Broken}, {"slow_clients", s.SlowClients},
		{"calls_unanswered", s.Unanswered}, {"connections_late", s.Late}, {"connections_idle", s.Idle}, {"connections_aged", s.Aged},
		{"reading_paused", s.Paused},
	}
	if s.Concurrency > 0 {
		out = append(out, number{"concurrency_limit", int64(s.Concurrency)})
	}
	for r := rpc.RefusedConnection; r <= rpc.RefusedExpired; r++ {
		if n := s.Refused[r]; n > 0 {
			out = append(out, number{"refused_" + r.String(), n})
		}
	}
	return out
}

// clientNumbers returns the statistics of a client.
func clientNumbers(s rpc.ClientStats) []number {
	return []number{{"connections", int64(s.Connections)}, {"calls_pending", int64(s.Pending)}}
}

// newPeer returns a server or a client with its statistics.
func newPeer(name string, numbers []number) peer {
	p := peer{Name: name, Numbers: numbers, Values: map[string]int64{}}
	for _, n := range numbers {
		p.Values[n.Name] = n.Value
	}
	return p
}

// report returns the status of now.
func (h *Handler) report(r *http.Request) report {
	now := h.health(r.Context())
	out := report{
		Title: h.opt.title, Status: now.Status.String(), Ready: now.Status == Alive, Reasons: now.Reasons, Checks: now.Checks,
		Process: h.process(), Links: h.opt.links, Profiles: h.opt.profiles,
	}
	for _, s := range h.opt.servers {
		p := newPeer(s.name, numbersOf(s.Stats()))
		p.Stopping = s.Stopping()
		out.Servers = append(out.Servers, p)
	}
	for _, c := range h.opt.clients {
		out.Clients = append(out.Clients, newPeer(c.name, clientNumbers(c.Stats())))
	}
	return out
}

func (h *Handler) process() process {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}} // unlike runtime.ReadMemStats this stops nobody
	metrics.Read(heap)
	p := process{
		Version: programVersion(), Go: runtime.Version(), Processors: runtime.GOMAXPROCS(0),
		Started: h.started.UTC().Truncate(time.Second), Uptime: time.Since(h.started).Truncate(time.Second).String(),
		Goroutines: runtime.NumGoroutine(),
	}
	if heap[0].Value.Kind() == metrics.KindUint64 {
		p.Heap = heap[0].Value.Uint64()
	}
	return p
}

// programName returns the path of the main package.
func programName() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" {
		return info.Path
	}
	return "a Thrum process"
}

// programVersion returns the version of the main module, and the revision that it was built of.
func programVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	if version == "" {
		version = "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			version += " " + s.Value
		}
	}
	return version
}

func (h *Handler) serveJSON(w http.ResponseWriter, r *http.Request) {
	b, err := json.MarshalIndent(h.report(r), "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(b, '\n'))
}
