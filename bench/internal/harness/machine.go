package harness

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
)

// Machine says where figures were taken, and of which versions.
type Machine struct {
	CPU        string            `json:"cpu"`
	Cores      int               `json:"cores"`
	GOMAXPROCS int               `json:"gomaxprocs"`
	GOOS       string            `json:"goos"`
	GOARCH     string            `json:"goarch"`
	Go         string            `json:"go"`
	Modules    map[string]string `json:"modules"`
}

// ThisMachine describes the running program and its host.
func ThisMachine() Machine {
	m := Machine{
		CPU: cpuModel(), Cores: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, Go: runtime.Version(), Modules: map[string]string{},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			m.Modules[d.Path] = d.Version
		}
	}
	return m
}

// cpuModel is the processor's name as the system tells it, or "unknown".
func cpuModel() string {
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			key, value, found := strings.Cut(line, ":")
			if found && strings.TrimSpace(key) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	if runtime.GOOS == "darwin" {
		if out, err := exec.Command("sysctl", "-n", "machdep.cpu.brand_string").Output(); err == nil {
			return strings.TrimSpace(string(out))
		}
	}
	return "unknown"
}
