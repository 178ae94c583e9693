package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeShowsWhatCommandsPrint runs the commands of README.md's console
// blocks, in their order, and compares what it shows. With -rewrite the output
// in README.md is written anew.
func TestReadmeShowsWhatCommandsPrint(t *testing.T) {
	atRoot(t)
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	r := readme{t: t, demo: startDemo(t, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"), out: t.TempDir()}
	defer r.demo.stop()
	var fresh []string
	inBlock, shown := false, false // shown: in the output of a command
	for _, line := range strings.SplitAfter(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			inBlock = line == "```console\n"
			shown = false
		case inBlock && strings.HasPrefix(line, "$ "):
			fresh = append(fresh, line, r.output(strings.TrimSpace(line[2:])))
			shown = true
			continue
		}
		if !shown {
			fresh = append(fresh, line)
		}
	}
	if got := strings.Join(fresh, ""); got != string(text) {
		if *rewrite {
			if err := os.WriteFile("README.md", []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("README.md shows other output than its commands have, -rewrite accepts it; it should be:\n%s", got)
	}
}

// readme runs the commands of README.md.
type readme struct {
	t    *testing.T
	demo *demoRun
	out  string // stands for the directory "out"
}

// output returns what a command prints where the demo has its usual addresses.
func (r *readme) output(command string) string {
	r.t.Helper()
	actual := strings.NewReplacer(demoThrift, r.demo.thrift, demoHTTP, r.demo.http, "-o out ", "-o "+r.out+" ")
	usual := strings.NewReplacer(r.demo.thrift, demoThrift, r.demo.http, demoHTTP, r.out+string(filepath.Separator), "out/")
	words := shellWords(actual.Replace(command))
	switch {
	case words[0] == "curl":
		return usual.Replace(curl(r.t, words))
	case words[len(words)-1] == "demo":
		return usual.Replace(r.demo.text)
	default: // go run ./cmd/thrum …
		_, stdout, stderr := thrum("", words[3:]...)
		return usual.Replace(stdout + stderr)
	}
}
