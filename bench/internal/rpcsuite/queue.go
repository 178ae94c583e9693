package rpcsuite

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

// This file holds the work queue: the worker queue of our server alone. Its
// benchmark stands beside it in the library's module and runs there.

const queuePackage = "rpc/internal/workers"

var tasksPerSecond = regexp.MustCompile(`(?m)^BenchmarkPoolThroughput/(\S+?)(?:-\d+)?\s.*?([0-9.e+]+) tasks/s`)

func (l *lab) queueWork(o harness.Options, report *harness.Report) error {
	const work = "rpc/queue"
	if o.Match != nil && !o.Match.MatchString(work+" ours") || l.quick {
		return nil
	}
	root, err := libraryRoot()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, queuePackage)); err != nil {
		fmt.Fprintf(l.out, "MISSING queue: there is no %s\n", queuePackage)
		return nil
	}
	args := []string{"test", "-run", "^$", "-bench", "^BenchmarkPoolThroughput$", "-count", "5", "-benchtime", "500ms", "./" + queuePackage}
	if l.short {
		args[6], args[8] = "1", "100ms"
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK=off")
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, text)
	}
	for _, f := range queueFigures(text) {
		l.figure(report, work, f.name, map[string]float64{"tasks/s": f.rate})
	}
	return nil
}

// libraryRoot is where the library's module is.
func libraryRoot() (string, error) {
	text, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/thrum-rpc/thrum").Output()
	if err != nil {
		return "", fmt.Errorf("where the library is: %w", err)
	}
	return string(bytes.TrimSpace(text)), nil
}

type queueFigure struct {
	name string
	rate float64
}

// queueFigures reads what go test printed: the median for each benchmark.
func queueFigures(text []byte) []queueFigure {
	var names []string
	samples := map[string][]float64{}
	for _, m := range tasksPerSecond.FindAllSubmatch(text, -1) {
		name := string(m[1])
		rate, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			continue
		}
		if samples[name] == nil {
			names = append(names, name)
		}
		samples[name] = append(samples[name], rate)
	}
	var list []queueFigure
	for _, name := range names {
		list = append(list, queueFigure{name, harness.Median(samples[name])})
	}
	return list
}
