package interop

// Starting the peers: programs that use the libraries of others.

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
)

// peer is a program in another language that can be a client and a server.
type peer struct {
	name    string
	command []string
	env     []string

	// forwards says that the program converts no JSON: it is a server that
	// forwards each call with a client, both of generated code. As a client it
	// stands between Thrum's plainest client and the server, as a server
	// between the client and the demo.
	forwards bool

	transports []string // that no other peer has
}

// workshop holds what is built once for all tests of a run.
type workshop struct {
	dir    string
	python func() error
	java   func() error
	node   func() error
	cpp    func() error
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
		python: sync.OnceValue(func() error { return generate("py", shopIDL, filepath.Join(dir, "py")) }),
		java:   sync.OnceValue(func() error { return buildJava(dir) }),
		node:   sync.OnceValue(func() error { return generate("js:node,es6", peerIDL, filepath.Join(dir, "node")) }),
		cpp:    sync.OnceValue(func() error { return buildCPP(filepath.Join(dir, "cpp")) }),
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
	missing(t, tool, hint)
	return ""
}

func missing(t *testing.T, what, hint string) {
	t.Helper()
	message := fmt.Sprintf("%s is missing: %s", what, hint)
	if os.Getenv("CI") != "" {
		t.Fatal(message)
	}
	t.Skip(message)
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
		name:    "Python",
		command: []string{interpreter, filepath.Join("python", "peer.py")},
		env:     []string{"PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=" + filepath.Join(shared.dir, "py")},
	}
}

// javaLibrary is where setup.sh puts libthrift. The name has the version, as
// checkouts that need different ones may share a machine.
const javaLibrary = "java-0.22"

func javaPeer(t *testing.T) peer {
	t.Helper()
	need(t, "thrift", "install Debian's thrift-compiler")
	need(t, "javac", "install a JDK, 11 or later")
	jars := installed(t, javaLibrary)
	if err := shared.java(); err != nil {
		t.Fatal(err)
	}
	return peer{
		name:    "Java",
		command: []string{"java", "-XX:TieredStopAtLevel=1", "-cp", classPath(shared.dir, jars), "Peer"},
	}
}

func classPath(dir, jars string) string {
	return filepath.Join(dir, "classes") + string(os.PathListSeparator) + filepath.Join(jars, "*")
}

func nodePeer(t *testing.T) peer {
	t.Helper()
	need(t, "thrift", "install Debian's thrift-compiler")
	need(t, "node", "install Node.js, 18 or later")
	installed(t, "node")
	if err := shared.node(); err != nil {
		t.Fatal(err)
	}
	modules := filepath.Join(cache(t), "node", "node_modules")
	return peer{
		name:     "Node",
		command:  []string{"node", filepath.Join("node", "peer.js")},
		env:      []string{"NODE_NO_WARNINGS=1", "NODE_PATH=" + modules + string(os.PathListSeparator) + filepath.Join(shared.dir, "node")},
		forwards: true,
	}
}

// installed looks for what setup.sh has made.
func installed(t *testing.T, name string) (dir string) {
	t.Helper()
	dir = filepath.Join(cache(t), name)
	if _, err := os.Stat(filepath.Join(dir, "made-from")); err != nil {
		missing(t, dir, setup)
	}
	return dir
}

// rustPeers is for rust.sh, which builds them first: they take minutes, and so
// no other run has them.
var rustPeers = flag.String("rust", "", "directory with the Rust peers")

func rustPeer(name, program string, transports ...string) func(*testing.T) peer {
	return func(*testing.T) peer {
		return peer{name: name, command: []string{filepath.Join(*rustPeers, program)}, forwards: true, transports: transports}
	}
}

func peers(t *testing.T, test func(t *testing.T, p peer)) {
	type named struct {
		name string
		make func(*testing.T) peer
	}
	all := []named{{"Python", pythonPeer}, {"Java", javaPeer}, {"Node", nodePeer}, {"C++", cppPeer}}
	if *rustPeers != "" {
		all = append(all, named{"Rust", rustPeer("Rust", "peer-apache")}, named{"Volo", rustPeer("Volo", "peer-volo", "ttheader")})
	}
	for _, each := range all {
		t.Run(each.name, func(t *testing.T) { test(t, each.make(t)) })
	}
}

// generate runs the Thrift compiler on an IDL and what that includes.
func generate(language, idl, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return run(exec.Command("thrift", "-r", "--gen", language, "-out", dir, idl))
}

func buildJava(dir string) error {
	source := filepath.Join(dir, "java")
	if err := generate("java:generated_annotations=suppress", shopIDL, source); err != nil {
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
	for _, name := range generated {
		if err := modernise(name); err != nil {
			return err
		}
	}
	cacheDir, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	args := []string{"-nowarn", "-encoding", "UTF-8", "-d", filepath.Join(dir, "classes"), "-cp", filepath.Join(cacheDir, "thrum-interop", javaLibrary, "*")}
	return run(exec.Command("javac", append(append(args, files...), generated...)...))
}

// What libthrift has changed in the class behind generated processors since the
// compiler's 0.17: a type parameter for the result, an abstract method that
// makes one, and a method that is public. Asynchronous processors, which need
// more, go.
var (
	asyncProcessor  = regexp.MustCompile(`(?s)  public static class AsyncProcessor<.*?\n  }\n`)
	processFunction = regexp.MustCompile(`ProcessFunction<I, \? extends +org\.apache\.thrift\.TBase>`)
	processorMethod = regexp.MustCompile(`extends org\.apache\.thrift\.ProcessFunction<I, (\w+)> \{\n`)
)

// modernise makes generated Java compile with the newest libthrift.
func modernise(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	const any = "org.apache.thrift.TBase"
	text = asyncProcessor.ReplaceAll(text, nil)
	text = processFunction.ReplaceAll(text, []byte("ProcessFunction<I, ? extends "+any+", ? extends "+any+">"))
	text = processorMethod.ReplaceAll(text, []byte("extends org.apache.thrift.ProcessFunction<I, $1, "+any+"> {\n"+
		"      public "+any+" getEmptyResultInstance() { return null; }\n"))
	text = bytes.ReplaceAll(text, []byte("protected boolean isOneway"), []byte("public boolean isOneway"))
	return os.WriteFile(name, text, 0o644)
}

func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd.Path, err, out)
	}
	return nil
}
