package interop

// A Kitex service that encodes and decodes with Thrum, by one option, and the
// clients of others, who need not know.

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// startKitex builds and starts contrib/kitex's server of the bookshop, which
// is a module of its own, and returns its port.
func startKitex(t *testing.T, program string) string {
	t.Helper()
	cmd := exec.Command(program)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close() // the server ends with its input
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// TestApacheClientsCallAKitexService lets clients in other languages make the
// calls of the list. Multiplexed names are not Kitex's.
func TestApacheClientsCallAKitexService(t *testing.T) {
	if testing.Short() {
		t.Skip("builds Kitex, which takes long")
	}
	service := loadShop(t)
	var all []call
	for _, c := range loadCalls(t) {
		if service.Method(c.Method) != nil {
			all = append(all, c)
		}
	}
	// Kitex looks for a service that has the method, says that there is none,
	// and closes the connection.
	all = append(all, call{Name: "a method that does not exist", Method: "fly", Args: json.RawMessage(`{}`), Want: json.RawMessage(`{"applicationException": 20}`)})
	program := filepath.Join(t.TempDir(), "shopserver")
	// Only where there is a client to call it: the module is heavy.
	build := sync.OnceValue(func() error {
		cmd := exec.Command("go", "build", "-o", program, "./internal/shopserver")
		cmd.Dir = filepath.Join("..", "..", "contrib", "kitex")
		cmd.Env = append(cmd.Environ(), "GOWORK=off")
		return run(cmd)
	})
	peers(t, func(t *testing.T, client peer) {
		if err := build(); err != nil {
			t.Fatal(err)
		}
		for _, w := range client.wirings(asClient) {
			if w.service != "" || !strings.HasPrefix(w.protocol, "binary") || strings.HasPrefix(w.transport, "h") {
				continue // Kitex knows none of these: no header transport but its own, no HTTP
			}
			t.Run(w.String(), func(t *testing.T) {
				calls := client.able(asClient, w, all)
				port := startKitex(t, program)
				for i, got := range client.call(t, calls, port, w) {
					compare(t, service, calls[i], got)
				}
			})
		}
	})
}
