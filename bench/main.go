// Command bench measures Thrum against its peers, side by side on the same
// machine, and prints lines that scripts can hold to targets. README.md tells
// how to read them.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/thrum-rpc/thrum/bench/internal/codecsuite"
	"github.com/thrum-rpc/thrum/bench/internal/dynamicsuite"
	"github.com/thrum-rpc/thrum/bench/internal/flatsuite"
	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/bench/internal/jitsuite"
	"github.com/thrum-rpc/thrum/bench/internal/rpcsuite"
	"github.com/thrum-rpc/thrum/bench/internal/transcodesuite"
)

// suites is the table of all suites; a new one is a package and a row here.
func suites() []harness.Suite {
	return []harness.Suite{
		codecsuite.Suite(),
		jitsuite.Suite(),
		dynamicsuite.Suite(),
		transcodesuite.Suite(),
		rpcsuite.Suite(),
		flatsuite.Suite(),
	}
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if err != flag.ErrHelp {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	if child, err := rpcsuite.Child(args, os.Stdin, stdout, flatsuite.Contest()); child {
		return err
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	name := flags.String("suite", "", "the suite to run: "+names())
	short := flags.Bool("short", false, "end within 50 seconds")
	jsonFile := flags.String("json", "", "write everything measured to `file`")
	chartFile := flags.String("chart", "", "write a bar chart to `file.svg`")
	memory := flags.Bool("mem", false, "print allocations and bytes per operation too")
	profiles := flags.String("profiles", "", "write a CPU profile of every server in Go (suite rpc) to `dir`")
	match := flags.String("case", "", "run only the ratios whose case and peer match `regexp`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o := harness.Options{
		Short: *short, Memory: *memory, Profiles: *profiles,
		Command: strings.TrimSpace("go run . " + strings.Join(args, " ")),
	}
	if *match != "" {
		var err error
		if o.Match, err = regexp.Compile(*match); err != nil {
			return err
		}
	}
	if rest := flags.Args(); len(rest) > 0 {
		return fmt.Errorf("%q is no flag, and nothing else is taken", rest[0])
	}
	for _, path := range []string{*jsonFile, *chartFile} { // before the minutes that a suite takes
		if err := canWrite(path); err != nil {
			return err
		}
	}
	for _, s := range suites() {
		if s.Name != *name {
			continue
		}
		if s.Missing != nil {
			tag, err := s.Missing(stderr)
			if err != nil {
				return err
			}
			if tag != "" {
				return again(tag, args, stdout, stderr)
			}
		}
		report, err := s.Run(stdout, o)
		if err != nil {
			return err
		}
		return save(report, *jsonFile, *chartFile)
	}
	return fmt.Errorf("no suite %q; there are: %s", *name, names())
}

// again runs this program, built with a tag, in place of this process.
func again(tag string, args []string, stdout, stderr io.Writer) error {
	cmd := exec.Command("go", append([]string{"run", "-tags", tag, "."}, args...)...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd.Run()
}

// canWrite returns an error if no file of that path can be written. What is there stays as it is.
func canWrite(path string) error {
	if path == "" {
		return nil
	}
	_, missing := os.Lstat(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if missing != nil {
		defer os.Remove(path)
	}
	return f.Close()
}

func save(r *harness.Report, jsonFile, chartFile string) error {
	if jsonFile != "" {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(jsonFile, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	if chartFile != "" {
		return os.WriteFile(chartFile, harness.Chart(r), 0o644)
	}
	return nil
}

func names() string {
	var all []string
	for _, s := range suites() {
		all = append(all, s.Name)
	}
	return strings.Join(all, ", ")
}
