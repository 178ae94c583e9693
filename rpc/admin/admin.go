package admin

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds the handler and its options.

// Handler serves the pages. It is safe for concurrent use.
type Handler struct {
	opt     options
	mux     *http.ServeMux
	page    *template.Template
	started time.Time
	status  atomic.Int32 // as it was set

	recent   sync.Mutex // guards what the checks have said last to those who watch, and when
	checked  []checkResult
	recentAt time.Time
}

type options struct {
	title    string
	servers  []server
	clients  []client
	checks   []check
	links    []link
	profiles bool
}

type server struct {
	name string
	*rpc.Server
}

type client struct {
	name string
	*rpc.Client
}

type check struct {
	name string
	run  func(context.Context) error
}

// link is a page of somebody else.
type link struct {
	Path, Title string
	handler     http.Handler
}

// Option configures [New].
type Option func(*options)

// Title names the process on its pages; the default is the path of its program's main package.
func Title(text string) Option { return func(o *options) { o.title = text } }

// WithServer shows a server. A server that shuts down makes the process not ready.
func WithServer(name string, s *rpc.Server) Option {
	return func(o *options) { o.servers = append(o.servers, server{name, s}) }
}

// WithClient shows a client.
func WithClient(name string, c *rpc.Client) Option {
	return func(o *options) { o.clients = append(o.clients, client{name, c}) }
}

// Check is asked, at most once at a time, whenever somebody asks whether the process is ready, and says by
// an error why not. It has a second; after that, and as long as it does not return, it counts as failed.
func Check(name string, run func(ctx context.Context) error) Option {
	return func(o *options) {
		turn := make(chan struct{}, 1)
		o.checks = append(o.checks, check{name, func(ctx context.Context) error { return runOnce(ctx, turn, run) }})
	}
}

// Page adds a page of another handler, such as Prometheus's at "/metrics", and a
// link to it. A path that ends in a slash stands for all below it.
func Page(path, title string, h http.Handler) Option {
	return func(o *options) { o.links = append(o.links, link{path, title, h}) }
}

// WithoutProfiles leaves /debug/pprof/ out.
func WithoutProfiles() Option { return func(o *options) { o.profiles = false } }

// New returns a handler. The process is [Alive] unless SetStatus says otherwise. An error
// is about the path of a Page.
func New(opts ...Option) (*Handler, error) {
	h := &Handler{opt: options{profiles: true}, mux: http.NewServeMux(), started: time.Now()}
	for _, o := range opts {
		o(&h.opt)
	}
	if h.opt.title == "" {
		h.opt.title = programName()
	}
	h.status.Store(int32(Alive))
	h.page = template.Must(template.New("status").Parse(pageText))
	h.mux.HandleFunc("GET /{$}", h.servePage)
	h.mux.HandleFunc("GET /status.json", h.serveJSON)
	h.mux.HandleFunc("GET /livez", h.serveLive)
	h.mux.HandleFunc("GET /readyz", h.serveReady)
	if h.opt.profiles {
		h.mux.HandleFunc("GET /debug/pprof/{$}", h.serveProfiles)
		h.mux.HandleFunc("GET /debug/pprof/{name}", h.serveProfile)
	}
	own := []string{"/", "/status.json", "/livez", "/readyz", "/debug", "/debug/"}
	for _, l := range h.opt.links {
		if !strings.HasPrefix(l.Path, "/") || strings.ContainsAny(l.Path, "{} \t\r\n") || l.handler == nil ||
			slices.Contains(own, l.Path) || strings.HasPrefix(l.Path, "/debug/pprof") || strings.Contains(l.Path, "//") {
			return nil, fmt.Errorf("admin: there can be no page at %q", l.Path)
		}
		own = append(own, l.Path)
		h.mux.Handle("GET "+l.Path, l.handler)
	}
	return h, nil
}

// ServeHTTP serves a page.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("X-Frame-Options", "DENY")
	h.mux.ServeHTTP(w, r)
}

// checkTime is how long a check may take.
const checkTime = time.Second

// runOnce runs a check, unless it runs already. turn has room for one token.
func runOnce(ctx context.Context, turn chan struct{}, run func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("an earlier check has not returned")
	}
	result := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				result <- fmt.Errorf("panic: %v", p)
			}
			<-turn
		}()
		result <- run(ctx)
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return fmt.Errorf("no answer: %w", ctx.Err())
	}
}

// runChecks returns the reasons why the process is not ready, by name.
func (h *Handler) runChecks(ctx context.Context) []checkResult {
	results := make([]checkResult, len(h.opt.checks))
	var all sync.WaitGroup
	for i, c := range h.opt.checks {
		all.Go(func() {
			results[i].Name = c.name
			if err := c.run(ctx); err != nil {
				results[i].Error = errorText(err)
			}
		})
	}
	all.Wait()
	return results
}

// checkResult is what a check has said.
type checkResult struct {
	Name  string `json:"name"`
	Error string `json:"error,omitempty"`
}

// errorText returns the text of an error, which is never empty.
func errorText(err error) string {
	if text := err.Error(); text != "" {
		return text
	}
	return "an error without a text"
}
