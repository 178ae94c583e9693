package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/bench/internal/flatsuite"
	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/bench/internal/rpcsuite"
)

// TestMain lets the suite rpc start this program as its servers and its generator.
func TestMain(m *testing.M) {
	if child, err := rpcsuite.Child(os.Args[1:], os.Stdin, os.Stdout, flatsuite.Contest()); !child {
		os.Exit(m.Run())
	} else if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// quick gives every contestant one operation or a few: enough to run all
// checks and print all lines, not enough to tell a time.
var quick = harness.Timing{Rounds: 1, Slice: time.Microsecond}

func TestEverySuitePassesItsChecksAndPrintsReadableRatios(t *testing.T) {
	for _, s := range suites() {
		t.Run(s.Name, func(t *testing.T) {
			var out bytes.Buffer
			report, err := s.Run(&out, harness.Options{Timing: quick, Memory: true})
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			for _, g := range report.Groups {
				want += len(g.Ratios)
			}
			if got := readRatios(t, s.Name, out.String()); got != want || got == 0 {
				t.Errorf("%d ratio lines printed, %d ratios in the report", got, want)
			}
			checkChart(t, harness.Chart(report))
		})
	}
}

func TestTheCommandLineIsReadBeforeASuiteRuns(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept.json")
	if err := os.WriteFile(kept, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-suite", "none", "-json", kept, "-chart", filepath.Join(dir, "new.svg")},
		{"-suite", "codec", "-json", filepath.Join(dir, "none", "x.json")},
		{"-suite", "codec", "-json", kept, "-chart", dir},
		{"-suite", "codec", "dynamic"},
	} {
		var out bytes.Buffer
		if err := run(args, &out, io.Discard); err == nil || out.Len() > 0 {
			t.Errorf("%q: %v, %s", args, err, out.String())
		}
	}
	if text, err := os.ReadFile(kept); string(text) != "old" || err != nil {
		t.Errorf("the file there holds %q, %v", text, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// readRatios fails on a RATIO line that does not parse, is of another suite or
// stands twice, and counts the others.
func readRatios(t *testing.T, suite, out string) int {
	t.Helper()
	seen := map[string]bool{}
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "RATIO") {
			continue
		}
		r, ok := harness.ParseRatio(strings.TrimSpace(line))
		// One disturbed operation may take so long that the ratio is 0.00.
		if !ok || r.Ours <= 0 || r.Other <= 0 || r.Ratio < 0 {
			t.Errorf("not a ratio: %q", line)
		}
		if !strings.HasPrefix(r.Case, suite+"/") {
			t.Errorf("not of the suite: %q", line)
		}
		if key := r.Case + " " + r.Peer; seen[key] {
			t.Errorf("twice: %q", line)
		} else {
			seen[key] = true
		}
	}
	return len(seen)
}

func checkChart(t *testing.T, svg []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the chart is not XML: %v", err)
		}
	}
}

func TestFilesAreWrittenForOneCase(t *testing.T) {
	dir := t.TempDir()
	report := filepath.Join(dir, "r.json")
	chart := filepath.Join(dir, "r.svg")
	var out bytes.Buffer
	args := []string{"-suite", "codec", "-short", "-case", `^codec/marshal/small/interp/binary frugal$`, "-json", report, "-chart", chart}
	if err := run(args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if n := readRatios(t, "codec", out.String()); n != 1 {
		t.Errorf("%d ratios for one case:\n%s", n, out.String())
	}
	for file, pattern := range map[string]string{report: `"github.com/cloudwego/frugal": "v`, chart: `marshal small`} {
		text, err := os.ReadFile(file)
		if err != nil || !regexp.MustCompile(pattern).Match(text) {
			t.Errorf("%s: no %s (%v)", filepath.Base(file), pattern, err)
		}
	}
}

func TestUnknownSuitesAndCasesAreErrors(t *testing.T) {
	for _, args := range [][]string{
		{"-suite", "nope"},
		{},
		{"-suite", "codec", "-case", "("},
		{"-suite", "codec", "-case", "no such case"},
		{"-unknown"},
	} {
		if err := run(args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
