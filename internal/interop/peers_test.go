package interop

// Starting the peers: programs that use the libraries of others.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// peer is a program in another language that can be a client and a server.
type peer struct {
	name      string
	protocols []string
	headers   bool // it knows the header transport
	command   []string
	env       []string
}

// wiring is how two sides talk.
type wiring struct {
	transport string // framed, unframed, header, header-zlib
	protocol  string // binary, compact; with -in-C the same, by the library's faster part
	service   string // the name in Apache's multiplexed protocol, or ""
}

func (w wiring) String() string {
	if w.service != "" {
		return w.transport + "/" + w.protocol + "/multiplexed"
	}
	return w.transport + "/" + w.protocol + "/plain"
}

func (p peer) wirings() []wiring {
	var out []wiring
	for _, transport := range []string{"framed", "unframed"} {
		for _, protocol := range p.protocols {
			out = append(out, wiring{transport, protocol, ""}, wiring{transport, protocol, "Shop"})
		}
	}
	if p.headers {
		for _, protocol := range []string{"binary", "compact"} {
			out = append(out, wiring{"header", protocol, ""}, wiring{"header-zlib", protocol, "Shop"})
		}
	}
	return out
}

// workshop holds what is built once for all tests of a run.
type workshop struct {
	dir    string
	python func() error
	java   func() error
}

var shared workshop

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "thrum-interop")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared = workshop{
		dir:    dir,
		python: sync.OnceValue(func() error { return generate("py", filepath.Join(dir, "py")) }),
		java:   sync.OnceValue(func() error { return buildJava(dir) }),
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// need skips the test if a tool is missing, or fails it where CI is set.
func need(t *testing.T, tool, hint string) string {
	t.Helper()
	found, err := exec.LookPath(tool)
	if err == nil {
		return found
	}
	missing := fmt.Sprintf("%s is missing: %s", tool, hint)
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// cache is where setup.sh installs.
func cache(t *testing.T) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "thrum-interop")
}

const setup = "run internal/interop/setup.sh, which says what it needs itself"

func pythonPeer(t *testing.T) peer {
	t.Helper()
	need(t, "thrift", "install Debian's thrift-compiler")
	interpreter := need(t, filepath.Join(cache(t), "python", "bin", "python"), setup)
	if err := shared.python(); err != nil {
		t.Fatal(err)
	}
	return peer{
		name:      "Python",
		protocols: []string{"binary", "binary-in-C", "compact", "compact-in-C"},
		headers:   true,
		command:   []string{interpreter, filepath.Join("python", "peer.py")},
		env:       []string{"PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=" + filepath.Join(shared.dir, "py")},
	}
}

func javaPeer(t *testing.T) peer {
	t.Helper()
	need(t, "thrift", "install Debian's thrift-compiler")
	need(t, "javac", "install a JDK, 11 or later")
	jars := filepath.Join(cache(t), "java")
	if _, err := os.Stat(filepath.Join(jars, "made-from")); err != nil {
		need(t, filepath.Join(jars, "made-from"), setup)
	}
	if err := shared.java(); err != nil {
		t.Fatal(err)
	}
	return peer{
		name:      "Java",
		protocols: []string{"binary", "compact"},
		command:   []string{"java", "-XX:TieredStopAtLevel=1", "-cp", classPath(shared.dir, jars), "Peer"},
	}
}

func classPath(dir, jars string) string {
	return filepath.Join(dir, "classes") + string(os.PathListSeparator) + filepath.Join(jars, "*")
}

func peers(t *testing.T, test func(t *testing.T, p peer)) {
	for name, make := range map[string]func(*testing.T) peer{"Python": pythonPeer, "Java": javaPeer} {
		t.Run(name, func(t *testing.T) { test(t, make(t)) })
	}
}

// generate runs the Thrift compiler on the bookshop.
func generate(language, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return run(exec.Command("thrift", "-r", "--gen", language, "-out", dir, shopIDL))
}

func buildJava(dir string) error {
	source := filepath.Join(dir, "java")
	if err := generate("java:generated_annotations=suppress", source); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join("java", "*.java"))
	if err != nil {
		return err
	}
	generated, err := filepath.Glob(filepath.Join(source, "bookshop", "*", "*.java"))
	if err != nil {
		return err
	}
	cacheDir, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	args := []string{"-nowarn", "-encoding", "UTF-8", "-d", filepath.Join(dir, "classes"), "-cp", filepath.Join(cacheDir, "thrum-interop", "java", "*")}
	return run(exec.Command("javac", append(append(args, files...), generated...)...))
}

func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd.Path, err, out)
	}
	return nil
}

// program prepares a run of the peer in one of its roles.
func (p peer) program(ctx context.Context, role string, args ...string) *exec.Cmd {
	all := append(append(p.command[1:len(p.command):len(p.command)], role), args...)
	cmd := exec.CommandContext(ctx, p.command[0], all...)
	cmd.Env = append(os.Environ(), p.env...)
	return cmd
}

// writeCalls writes the calls for a peer to read and returns the path.
func writeCalls(t *testing.T, calls []call) string {
	t.Helper()
	text, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "calls.json")
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// call lets the peer make the calls to a server on this machine and returns
// the results in the order of the calls.
func (p peer) call(t *testing.T, calls []call, port string, w wiring) []json.RawMessage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := []string{writeCalls(t, calls), port, w.transport, w.protocol}
	if w.service != "" {
		args = append(args, w.service)
	}
	cmd := p.program(ctx, "client", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("the %s client: %v\n%s", p.name, err, stderr.String())
	}
	var results []json.RawMessage
	if err := json.Unmarshal(stdout.Bytes(), &results); err != nil {
		t.Fatalf("the %s client printed %q: %v", p.name, stdout.String(), err)
	}
	if len(results) != len(calls) {
		t.Fatalf("the %s client printed %d results of %d calls", p.name, len(results), len(calls))
	}
	return results
}

// serve starts the peer's server and returns its port. What the server says on
// its standard error is a failure of the test: that a call came with other
// arguments than those of the list, for one.
func (p peer) serve(t *testing.T, calls []call, w wiring) (port string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := p.program(ctx, "server", writeCalls(t, calls), w.transport, w.protocol)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Error(err)
		}
		if stderr.Len() > 0 {
			t.Errorf("the %s server says:\n%s", p.name, stderr.String())
		}
	})
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(stdout).ReadString('\n')
		line <- strings.TrimSpace(text)
	}()
	select {
	case port = <-line:
	case <-time.After(time.Minute):
	}
	if port == "" {
		t.Fatalf("the %s server printed no port", p.name)
	}
	return port
}
