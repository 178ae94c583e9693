package interop

// The table of what the peers do: peer by role by transport by protocol, each
// cell with the plain and the multiplexed protocol, but for the gaps.

import (
	"archive/zip"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/schema"
)

// wiring is how two sides talk.
type wiring struct {
	transport string // one of transports
	protocol  string // one of protocols; with -in-C the same, by the library's faster part
	service   string // the name in Apache's multiplexed protocol, or ""
}

func (w wiring) String() string {
	if w.service != "" {
		return w.transport + "/" + w.protocol + "/multiplexed"
	}
	return w.transport + "/" + w.protocol + "/plain"
}

var (
	transports = []string{"unframed", "framed", "header", "header-zlib", "http"}
	protocols  = []string{"binary", "compact"}
)

// The roles of a peer.
const (
	asClient = "client"
	asServer = "server"
)

// gap is a part of the table that a library cannot do, or some calls in such a
// part. An empty string stands for all.
type gap struct {
	peer, role, transport, protocol string

	multiplexed bool            // only with the multiplexed protocol
	calls       func(call) bool // nil: the part is left out
	why         string

	// still reports whether the reason is there in what is installed. Without
	// it the first of the calls is tried, if calls are left out.
	still func(t *testing.T) bool
}

var gaps = []gap{
	{
		peer: "Java", transport: "header",
		why:   "the library has no header transport",
		still: func(t *testing.T) bool { return !jarHolds(t, "org/apache/thrift/transport/", "THeaderTransport") },
	},
	{
		peer: "Java", transport: "header-zlib",
		why:   "the library has no header transport",
		still: func(t *testing.T) bool { return !jarHolds(t, "org/apache/thrift/transport/", "THeaderTransport") },
	},
	{
		peer: "Node", role: asClient, transport: "header",
		why: "generated clients flush the transport, and the protocol, which would write the header, does not notice",
		still: func(t *testing.T) bool {
			return holds(t, filepath.Join(shared.dir, "node", "Base.js"), "return this.output.flush();")
		},
	},
	{
		peer: "Node", transport: "header-zlib",
		why: "the library's header transport knows no transforms",
		still: func(t *testing.T) bool {
			return holds(t, filepath.Join(installed(t, "node"), "node_modules/thrift/lib/nodejs/lib/thrift/header_transport.js"), "Transforms are not yet supported")
		},
	},
	{
		peer: "Node", calls: named("a value of every type comes back", "a map with struct keys"),
		why: "generated code keeps maps as objects, so that keys become text: structs are lost, 64-bit numbers written as if they were hexadecimal, false is true",
	},
	{
		peer: "Node", calls: named("another method that does not exist"),
		why: "the library never writes the type of a TApplicationException",
	},
	{
		peer: "Node", role: asServer, transport: "header",
		calls: func(c call) bool { return c.Demo || !slices.Contains([]string{"echo", "version", "ping"}, c.Method) },
		why:   "the server looks for the next request's header before a handler that answers later has answered, and then writes none itself",
	},
	{
		peer: "Node", role: asServer, transport: "http", calls: oneway,
		why: "the web server does not answer the request of a oneway call, and keeps the connection waiting",
		still: func(t *testing.T) bool {
			return !holds(t, filepath.Join(installed(t, "node"), "node_modules/thrift/lib/nodejs/lib/thrift/web_server.js"), "ONEWAY")
		},
	},
	{
		peer: "C++", transport: "http", calls: oneway,
		why:   "the server does not answer the request of a oneway call, and the client takes the answer for that to its next",
		still: debianCPP,
	},
	{
		peer: "C++", role: asServer, transport: "header-zlib", calls: named("some megabytes"),
		why: "the library inflates at most as much as its write buffer and 512 bytes",
	},
	{
		peer: "C++", transport: "header-zlib",
		calls: func(c call) bool { return !slices.Contains([]string{"version", "ping", "note", "viewed"}, c.Method) },
		why:   "the library inflates into the frame that it read, and writes over other memory if that is longer; only what does not compress is safe",
		still: debianCPP,
	},
	{
		peer: "Rust", calls: named("fields that are left out come back with their defaults"),
		why: "generated code has empty lists and maps where the IDL has defaults",
	},
	{peer: "Volo", protocol: "compact", why: "pilota, which reads for the crate volo-thrift, panics on fields of bool in the compact protocol"},
	{peer: "Rust", transport: "header", why: "the crate thrift has no header transport"},
	{peer: "Rust", transport: "header-zlib", why: "the crate thrift has no header transport"},
	{peer: "Rust", transport: "http", why: "the crate thrift has no HTTP transport"},
	{peer: "Volo", transport: "header", why: "the crate volo-thrift has CloudWeGo's header transport only"},
	{peer: "Volo", transport: "header-zlib", why: "the crate volo-thrift has CloudWeGo's header transport only"},
	{peer: "Volo", transport: "http", why: "the crate volo-thrift has no HTTP transport"},
	{peer: "Volo", multiplexed: true, why: "the crate volo-thrift has no multiplexed protocol"},
}

// debianCPP reports whether the C++ library is the one whose gaps are listed.
func debianCPP(t *testing.T) bool {
	return holds(t, "/usr/include/thrift/config.h", `#define PACKAGE_VERSION "0.17.0"`)
}

func oneway(c call) bool { return string(c.Want) == "null" }

func named(names ...string) func(call) bool {
	return func(c call) bool { return slices.Contains(names, c.Name) }
}

func (g gap) covers(peer, role string, w wiring) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return (w.service != "" || !g.multiplexed) && is(g.peer, peer) && is(g.role, role) && is(g.transport, w.transport) && is(g.protocol, w.protocol)
}

// wirings lists the cells of a peer in a role; with -short one of each
// transport.
func (p peer) wirings(role string) []wiring {
	var out []wiring
	for _, transport := range slices.Concat(transports, p.transports) {
		var row []wiring
		for _, protocol := range p.protocols(transport) {
			for _, service := range []string{"", "Shop"} {
				if w := (wiring{transport, protocol, service}); !p.lacks(role, w) {
					row = append(row, w)
				}
			}
		}
		if testing.Short() && len(row) > 0 {
			row = row[len(row)-1:]
		}
		out = append(out, row...)
	}
	return out
}

func (p peer) lacks(role string, w wiring) bool {
	for _, g := range gaps {
		if g.calls == nil && g.covers(p.name, role, w) {
			return true
		}
	}
	return false
}

// protocols lists the protocols in a transport. Python has two
// implementations; in the header transport it takes the slower one.
func (p peer) protocols(transport string) []string {
	if p.name == "Python" && !strings.HasPrefix(transport, "header") {
		return []string{"binary", "binary-in-C", "compact", "compact-in-C"}
	}
	return protocols
}

// able returns the calls that a peer can make or answer in a cell.
func (p peer) able(role string, w wiring, calls []call) []call {
	var out []call
	for _, c := range calls {
		if p.reason(role, w, c) == "" && (role == asClient || p.forwards || !c.Demo) {
			out = append(out, c)
		}
	}
	return out
}

// reason returns why a peer cannot make or answer a call, or "".
func (p peer) reason(role string, w wiring, c call) string {
	for _, g := range gaps {
		if g.calls != nil && g.calls(c) && g.covers(p.name, role, w) {
			return g.why
		}
	}
	return ""
}

// TestGapsAreStillThere looks for the reasons in the libraries that are
// installed, and tries a call of those that are left out, so that the list
// does not outlive them.
func TestGapsAreStillThere(t *testing.T) {
	calls, service := loadCalls(t), loadShop(t)
	peers(t, func(t *testing.T, p peer) {
		for _, g := range gaps {
			if g.peer != p.name || g.still == nil && g.calls == nil {
				continue
			}
			if g.still != nil {
				if !g.still(t) {
					t.Errorf("%s %s %s: no longer true that %s", g.role, g.transport, g.protocol, g.why)
				}
				continue
			}
			at := slices.IndexFunc(calls, g.calls)
			if at < 0 {
				continue // the list is a short one
			}
			c := calls[at]
			if got, err := p.try(t, service, g, c); err == nil && len(mismatches(t, service, c, got)) == 0 {
				t.Errorf("%s %s: works, so it is no longer true that %s", c.Name, g.transport, g.why)
			}
		}
	})
}

// try makes one call of a gap, as the first role and in the plainest of the
// dialects that it covers.
func (p peer) try(t *testing.T, service *schema.Service, g gap, c call) (json.RawMessage, error) {
	t.Helper()
	w := wiring{cmp.Or(g.transport, plainest.transport), cmp.Or(g.protocol, plainest.protocol), ""}
	_, port := startShop(t)
	if g.role == asServer {
		port = p.forward(t, w, port, plainest)
		return tryInvoke(t, dial(t, port, w), service, c, 2*time.Second)
	}
	port = p.forward(t, plainest, port, w)
	return tryInvoke(t, dial(t, port, plainest), service, c, 2*time.Second)
}

// holds reports whether a file has a text.
func holds(t *testing.T, file, text string) bool {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(b), text)
}

// jarHolds reports whether libthrift's jar has a class in a package.
func jarHolds(t *testing.T, pkg, class string) bool {
	t.Helper()
	jars, err := filepath.Glob(filepath.Join(installed(t, javaLibrary), "libthrift-*.jar"))
	if err != nil || len(jars) != 1 {
		t.Fatalf("libthrift's jar: %v, %v", jars, err)
	}
	jar, err := zip.OpenReader(jars[0])
	if err != nil {
		t.Fatal(err)
	}
	defer jar.Close()
	seen := false
	for _, f := range jar.File {
		seen = seen || strings.HasPrefix(f.Name, pkg)
		if f.Name == pkg+class+".class" {
			return true
		}
	}
	if !seen {
		t.Fatalf("%s has no package %s", jars[0], pkg)
	}
	return false
}
