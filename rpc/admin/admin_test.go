package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/admin"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"pgregory.net/rapid"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

func newHandler(t *testing.T, opts ...admin.Option) *admin.Handler {
	t.Helper()
	h, err := admin.New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// quietServer is a server without a log.
func quietServer(t *testing.T, services ...*rpc.Service) *rpc.Server {
	t.Helper()
	s := rpc.NewServer(rpc.Logger(slog.New(slog.DiscardHandler)))
	for _, service := range services {
		if err := s.Register(service); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// get returns a page.
func get(h http.Handler, path string) (status int, header http.Header, body string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Header(), w.Body.String()
}

func TestTheStatusPageShowsServersAndClients(t *testing.T) {
	echo := rpc.Method{Name: "echo", Serve: func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, 0), nil }}
	server := quietServer(t, &rpc.Service{Name: "S", Methods: []rpc.Method{echo}})
	client := rpctest.Serve(t, server)
	h := newHandler(t, admin.Title("shop"), admin.WithServer("front", server), admin.WithClient("stock", client),
		admin.Page("/metrics", "Metrics", http.NotFoundHandler()), admin.Check("disk", func(context.Context) error { return nil }))
	for range 3 {
		if err := client.Invoke(t.Context(), &rpc.Invocation{Method: "echo"}); err != nil {
			t.Fatal(err)
		}
	}
	_ = client.Invoke(t.Context(), &rpc.Invocation{Method: "missing"})
	status, header, page := get(h, "/")
	if status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), "text/html") || header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d, %v", status, header)
	}
	for _, want := range []string{
		"<title>shop: ALIVE</title>", "Server front", "Client stock", `<a href="/metrics">Metrics</a>`, `disk</th><td>ok`,
		`calls</th><td class="number">4<`, `refused_method</th><td class="number">1<`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "http-equiv") {
		t.Error("the page has a script, or loads itself again")
	}
	if _, _, page = get(h, "/?refresh=5"); !strings.Contains(page, `<meta http-equiv="refresh" content="5">`) {
		t.Error("the page does not load itself again")
	}
	for _, bad := range []string{"0", "-1", "x", "99999999", `5"><script>`} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.RawQuery = "refresh=" + bad
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); strings.Contains(w.Body.String(), "http-equiv") || strings.Contains(w.Body.String(), "<script") {
			t.Errorf("refresh=%s is taken", bad)
		}
	}
}

func TestTheStatusIsJSONToo(t *testing.T) {
	server := quietServer(t)
	defer server.Close()
	h := newHandler(t, admin.WithServer("front", server), admin.Check("disk", func(context.Context) error { return errors.New("full") }))
	status, header, body := get(h, "/status.json")
	var got struct {
		Title, Status string
		Ready         bool
		Reasons       []string
		Checks        []struct{ Name, Error string }
		Process       struct {
			Go         string
			Goroutines int
			Heap       int64 `json:"heap_bytes"`
			Started    time.Time
		}
		Servers []struct {
			Name  string
			Stats map[string]int64
		}
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK || header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d, %v, %v: %s", status, header, err, body)
	}
	if got.Status != "WARNING" || got.Ready || len(got.Reasons) != 1 || got.Checks[0].Error != "full" || got.Title == "" {
		t.Errorf("%+v", got)
	}
	if got.Process.Go == "" || got.Process.Goroutines == 0 || got.Process.Heap == 0 || got.Process.Started.IsZero() {
		t.Errorf("%+v", got.Process)
	}
	if _, ok := got.Servers[0].Stats["calls_in_flight"]; !ok || got.Servers[0].Name != "front" {
		t.Errorf("%+v", got.Servers)
	}
}

func TestWhatIsShownIsEscaped(t *testing.T) {
	const evil = `<script>alert(1)</script>"'&`
	server := quietServer(t)
	server.Close()
	h := newHandler(t, admin.Title(evil), admin.WithServer(evil, server), admin.Page("/x", evil, http.NotFoundHandler()),
		admin.Page(`/"onclick="`, "x", http.NotFoundHandler()),
		admin.Check(evil, func(context.Context) error { return errors.New(evil) }))
	for _, path := range []string{"/", "/debug/pprof/"} {
		if _, _, page := get(h, path); strings.Contains(page, "<script") || strings.Contains(page, `"onclick=`) {
			t.Errorf("%s: %s", path, page)
		}
	}
	if _, header, _ := get(h, "/readyz"); !strings.HasPrefix(header.Get("Content-Type"), "text/plain") || header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("a browser may take %v for a page", header)
	}
}

func TestReadinessEndsWithTheDrain(t *testing.T) {
	server := quietServer(t)
	var broken error
	h := newHandler(t, admin.WithServer("front", server), admin.Check("database", func(context.Context) error { return broken }))
	want := func(status int, text string) {
		t.Helper()
		if got, _, body := get(h, "/readyz"); got != status || strings.TrimSpace(body) != text {
			t.Errorf("%d %q, want %d %q", got, body, status, text)
		}
		if got, _, _ := get(h, "/livez"); got != http.StatusOK {
			t.Errorf("not alive: %d", got)
		}
	}
	want(200, "ok")
	h.SetStatus(admin.Starting)
	want(503, "the process is STARTING")
	h.SetStatus(admin.Alive)
	broken = errors.New("gone")
	want(503, "database: gone")
	broken = nil
	want(200, "ok")
	h.SetStatus(admin.Stopping)
	want(503, "the process is STOPPING")
	h.SetStatus(admin.Alive)
	if err := server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(503, "server front is stopping")
}

func TestAChecksSilenceIsAFailure(t *testing.T) {
	release := make(chan struct{})
	h := newHandler(t, admin.Check("slow", func(context.Context) error {
		<-release
		return nil
	}), admin.Check("mad", func(context.Context) error { panic("oh") }))
	for _, reason := range []string{"no answer", "an earlier check has not returned"} {
		if status, _, body := get(h, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, reason) || !strings.Contains(body, "mad: panic: oh") {
			t.Errorf("%d %s, want %s", status, body, reason)
		}
	}
	close(release)
	for end := time.Now().Add(patience); ; {
		if _, _, body := get(h, "/readyz"); !strings.Contains(body, "slow") {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the check is not asked again")
		}
	}
}

func TestOnlyReadingIsAllowed(t *testing.T) {
	h := newHandler(t)
	for _, path := range []string{"/", "/status.json", "/readyz", "/debug/pprof/heap"} {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, nil)); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", path, w.Code)
		}
	}
	if status, _, _ := get(h, "/other"); status != http.StatusNotFound {
		t.Errorf("/other: %d", status)
	}
}

func TestPagesThatCannotBeAreRefused(t *testing.T) {
	page := http.NotFoundHandler()
	for _, path := range []string{"", "metrics", "/", "/readyz", "/debug/pprof/heap", "/a b", "/{x}", "//x"} {
		if _, err := admin.New(admin.Page(path, "x", page)); err == nil {
			t.Errorf("%q is taken", path)
		}
	}
	if _, err := admin.New(admin.Page("/m", "x", page), admin.Page("/m", "y", page)); err == nil {
		t.Error("a page stands twice")
	}
	if _, err := admin.New(admin.Page("/m", "x", nil)); err == nil {
		t.Error("a page has no handler")
	}
	if _, err := admin.New(admin.Page("/m", "x", page), admin.Page("/m/", "y", page)); err != nil {
		t.Error(err)
	}
}

func TestTheThriftServiceSaysTheSame(t *testing.T) {
	source, err := os.ReadFile("fb303.thrift")
	if err != nil {
		t.Fatal(err)
	}
	file, list := thriftidl.Load("fb303.thrift", thriftidl.Sources(map[string][]byte{"fb303.thrift": source}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	other := quietServer(t)
	h := newHandler(t, admin.Title("shop"), admin.WithServer("other", other))
	client := rpctest.Start(t, h.Service())
	service := generic.New(client, file.Service("FacebookService"))
	ask := func(method string, args map[string]any) any {
		t.Helper()
		got, err := service.Call(t.Context(), method, args)
		if err != nil {
			t.Errorf("%s: %v", method, err)
		}
		return got
	}
	if got := ask("getStatus", nil); got != int32(admin.Alive) {
		t.Errorf("getStatus: %v (%T)", got, got)
	}
	if got := ask("getName", nil); got != "shop" {
		t.Errorf("getName: %v", got)
	}
	if got := ask("getVersion", nil); got == "" {
		t.Error("no version")
	}
	if got, ok := ask("aliveSince", nil).(int64); !ok || time.Since(time.Unix(got, 0)) > time.Hour {
		t.Errorf("aliveSince: %v", got)
	}
	if got := ask("getCounter", map[string]any{"key": "none"}); got != int64(0) {
		t.Errorf("getCounter: %v", got)
	}
	if got, ok := ask("getCounters", nil).(map[any]any); !ok || got["other.calls"] != int64(0) {
		t.Errorf("getCounters: %v (%T)", got, ask("getCounters", nil))
	}
	other.Close()
	if got := ask("getStatus", nil); got != int32(admin.Stopping) {
		t.Errorf("getStatus: %v", got)
	}
	if got := ask("getStatusDetails", nil); got != "server other is stopping" {
		t.Errorf("getStatusDetails: %v", got)
	}
	if names := []string{admin.Dead.String(), admin.Warning.String(), admin.Status(9).String()}; strings.Join(names, ",") != "DEAD,WARNING,status 9" {
		t.Error(names)
	}
}

// asked asks a handler's health service.
func asked(t *testing.T, h *admin.Handler, in rpc.Message) (rpc.Message, error) {
	t.Helper()
	for _, m := range h.HealthService().Methods {
		if m.Name == "Check" {
			return m.Message(t.Context(), in)
		}
	}
	t.Fatal("there is no Check")
	panic("unreachable")
}

func TestTheGRPCServiceSaysTheSame(t *testing.T) {
	server := quietServer(t, &rpc.Service{Name: "shop.Stock"})
	var broken error
	h := newHandler(t, admin.WithServer("front", server), admin.Check("database", func(context.Context) error { return broken }))
	check := func(service, want string, code grpc.Code) {
		t.Helper()
		var body []byte
		if service != "" {
			body = append([]byte{0x12, 1, 'x', 0x0a, byte(len(service))}, service...) // behind a field that nobody knows
		}
		out, err := asked(t, h, rpc.Message{Type: transport.Protobuf, Body: body})
		var status *grpc.Status
		if errors.As(err, &status); string(out.Body) != want || status == nil != (code == 0) || status != nil && status.Code != code {
			t.Errorf("%q: %q, %v", service, out.Body, err)
		}
	}
	const serving, notServing = "\x08\x01", "\x08\x02"
	check("", serving, 0)
	check("shop.Stock", serving, 0)
	check("shop.Others", "", grpc.NotFound)
	broken = errors.New("is gone")
	check("shop.Stock", notServing, 0)
	broken = nil
	h.SetStatus(admin.Starting)
	check("", notServing, 0)
	h.SetStatus(admin.Alive)
	check("", serving, 0)
	server.Close()
	check("", notServing, 0)
	if _, err := asked(t, h, rpc.Message{Type: transport.FlatBuffers}); err == nil {
		t.Error("FlatBuffers are answered")
	}
}

func TestDamagedHealthRequestsAreRefused(t *testing.T) {
	h := newHandler(t)
	rapid.Check(t, func(r *rapid.T) {
		body := rapid.SliceOf(rapid.Byte()).Draw(r, "body")
		out, err := asked(t, h, rpc.Message{Type: transport.Protobuf, Body: body})
		var status *grpc.Status
		if err == nil && len(out.Body) != 2 || err != nil && !errors.As(err, &status) {
			r.Fatalf("%x: %x, %v", body, out.Body, err)
		}
	})
	for _, body := range []string{"\x0a", "\x0a\x05abc", "\x0b", "\x00\x00"} {
		if _, err := asked(t, h, rpc.Message{Type: transport.Protobuf, Body: []byte(body)}); err == nil {
			t.Errorf("%q is a request", body)
		}
	}
}

func TestProfilesAreThere(t *testing.T) {
	h := newHandler(t)
	if _, _, page := get(h, "/debug/pprof/"); !strings.Contains(page, `<a href="goroutine?debug=1">goroutine</a>`) {
		t.Error(page)
	}
	for _, path := range []string{"heap", "heap?gc=1", "goroutine", "allocs", "profile?seconds=0.05"} {
		if status, _, body := get(h, "/debug/pprof/"+path); status != http.StatusOK || !strings.HasPrefix(body, "\x1f\x8b") {
			t.Errorf("%s: %d, %.20q is not compressed", path, status, body)
		}
	}
	if status, _, body := get(h, "/debug/pprof/trace?seconds=0.01"); status != http.StatusOK || !strings.HasPrefix(body, "go 1.") {
		t.Errorf("trace: %d, %.20q", status, body)
	}
	if _, _, body := get(h, "/debug/pprof/goroutine?debug=2"); !strings.Contains(body, "TestProfilesAreThere") {
		t.Errorf("%.100s", body)
	}
	for path, want := range map[string]int{"none": 404, "profile?seconds=x": 400, "profile?seconds=-1": 400, "trace?seconds=1e9": 400, "profile?seconds=NaN": 400} {
		if status, _, _ := get(h, "/debug/pprof/"+path); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	if status, _, _ := get(newHandler(t, admin.WithoutProfiles()), "/debug/pprof/heap"); status != http.StatusNotFound {
		t.Errorf("profiles that were left out: %d", status)
	}
	if _, pattern := http.DefaultServeMux.Handler(httptest.NewRequest(http.MethodGet, "/debug/pprof/", nil)); pattern != "" {
		t.Errorf("the global handler has %q", pattern)
	}
}

func TestAProfileEndsWhenItsReaderLeaves(t *testing.T) {
	site := httptest.NewServer(newHandler(t))
	defer site.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, site.URL+"/debug/pprof/trace?seconds=300", nil)
	if err != nil {
		t.Fatal(err)
	}
	first, err := site.Client().Do(r) // whose head has come, so that it runs
	if err != nil {
		t.Fatal(err)
	}
	defer first.Body.Close()
	read := func() int {
		second, err := site.Client().Get(site.URL + "/debug/pprof/trace?seconds=0.01")
		if err != nil {
			t.Fatal(err)
		}
		defer second.Body.Close()
		_, _ = io.Copy(io.Discard, second.Body)
		return second.StatusCode
	}
	if status := read(); status != http.StatusConflict {
		t.Errorf("two at a time: %d", status)
	}
	cancel()
	for end := time.Now().Add(patience); read() != http.StatusOK; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the first one does not end")
		}
	}
}
