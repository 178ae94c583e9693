package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
)

// This file finds the command, parses its flags and turns its error into an
// exit code.

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the command did its work and the answer is no, or it could not
	exitUsage  = 2 // the command line makes no sense
)

// environment is what a command sees of the world.
type environment struct {
	ctx    context.Context // ends when the user stops the command
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// command is one subcommand.
type command struct {
	name    string
	args    string // the positional arguments, as shown
	summary string // one line
	help    string // what the flags do not say
	// examples are command lines that work, the most usual first.
	examples []string
	// setup declares the flags and returns what to run with the positional arguments.
	setup func(fs *flag.FlagSet) func(env *environment, args []string) error
}

// commands lists the subcommands in the order of the help.
func commands() []*command {
	return []*command{
		demoCommand(), newCommand(), genCommand(), checkCommand(), callCommand(), gatewayCommand(), benchCommand(),
		inspectCommand(), convertCommand(), completionCommand(), versionCommand(),
	}
}

// errReported ends a command with exitFailed after it has said why.
var errReported = errors.New("reported")

// usageError says that the command line makes no sense.
type usageError string

func (e usageError) Error() string { return string(e) }

// run runs one command line and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	env := &environment{ctx, stdin, stdout, stderr}
	if len(args) == 0 {
		printOverview(stderr)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		return runHelp(env, args[1:])
	case "-v", "-version", "--version":
		args[0] = "version"
	}
	c := find(args[0])
	if c == nil {
		return noCommand(env, args[0])
	}
	return c.run(env, args[1:])
}

func find(name string) *command {
	for _, c := range commands() {
		if c.name == name {
			return c
		}
	}
	return nil
}

// noCommand reports a command that does not exist.
func noCommand(env *environment, name string) int {
	names := []string{"help"}
	for _, c := range commands() {
		names = append(names, c.name)
	}
	fmt.Fprintf(env.stderr, "thrum: there is no command %q%s; \"thrum help\" lists the commands\n", name, suggest(name, names))
	return exitUsage
}

// suggest returns what stands after the name of something that does not exist.
func suggest(name string, candidates []string) string {
	if near := diag.Nearest(name, candidates); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

func (c *command) run(env *environment, args []string) int {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	body := c.setup(fs)
	positional, err := parseFlags(fs, args)
	if errors.Is(err, flag.ErrHelp) {
		c.printHelp(env.stdout)
		return exitOK
	}
	if err != nil {
		err = usageError(flagError(fs, err))
	} else {
		err = body(env, positional)
	}
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(env.stderr, "thrum %s: %s\nusage: %s\n\"thrum help %s\" says more\n", c.name, usage, c.usage(), c.name)
		return exitUsage
	case !errors.Is(err, errReported):
		fmt.Fprintf(env.stderr, "thrum %s: %v\n", c.name, err)
	}
	return exitFailed
}

// flagError says what package flag found wrong, and which flag was meant if
// there is none of that name.
func flagError(fs *flag.FlagSet, err error) string {
	text := err.Error()
	name, ok := strings.CutPrefix(text, "flag provided but not defined: -")
	if !ok {
		return text
	}
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	text = "there is no flag --" + name
	if near := diag.Nearest(name, names); near != "" {
		text += "; did you mean --" + near + "?"
	}
	return text
}

// parseFlags parses flags that stand before, between or after the positional
// arguments, which it returns. After "--" all arguments are positional.
func parseFlags(fs *flag.FlagSet, args []string) (positional []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		rest := fs.Args()
		if len(rest) == 0 {
			return positional, nil
		}
		if n := len(args) - len(rest); n > 0 && args[n-1] == "--" {
			return append(positional, rest...), nil
		}
		positional, args = append(positional, rest[0]), rest[1:]
	}
}

func runHelp(env *environment, args []string) int {
	if len(args) == 0 || args[0] == "help" {
		printOverview(env.stdout)
		return exitOK
	}
	c := find(args[0])
	if c == nil {
		return noCommand(env, args[0])
	}
	c.printHelp(env.stdout)
	return exitOK
}

func printOverview(w io.Writer) {
	fmt.Fprint(w, "thrum checks IDL of Thrift and FlatBuffers, generates Go from it, and serves and calls its services.\n\nusage: thrum COMMAND [arguments]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "  help       show this, or the help of a command\n\n"+
		"The exit code is 0 if all went well, 1 if not, 2 if the command line makes no sense.\n")
}

func (c *command) usage() string {
	return strings.TrimSpace("thrum " + c.name + " " + c.args)
}

func (c *command) printHelp(w io.Writer) {
	fmt.Fprintf(w, "%s\n\nusage: %s\n", c.summary, c.usage())
	if c.help != "" {
		fmt.Fprintf(w, "\n%s\n", c.help)
	}
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	c.setup(fs)
	any := false
	fs.VisitAll(func(f *flag.Flag) {
		if !any {
			fmt.Fprint(w, "\nflags:\n")
			any = true
		}
		kind, text := flag.UnquoteUsage(f)
		fmt.Fprintf(w, "  %s\n      %s", strings.TrimSpace(dashed(f.Name)+" "+kind), text)
		if f.DefValue != "" && f.DefValue != "false" && !strings.Contains(text, "(default ") {
			fmt.Fprintf(w, " (default %s)", f.DefValue)
		}
		fmt.Fprintln(w)
	})
	if len(c.examples) > 0 {
		fmt.Fprintf(w, "\nexamples:\n  %s\n", strings.Join(c.examples, "\n  "))
	}
}

// dashed returns a flag as it is written.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// listFlag is a flag that may be given several times.
type listFlag []string

func (l *listFlag) String() string     { return strings.Join(*l, ", ") }
func (l *listFlag) Set(v string) error { *l = append(*l, v); return nil }

// includeFlag declares -I.
func includeFlag(fs *flag.FlagSet) *listFlag {
	var dirs listFlag
	fs.Var(&dirs, "I", "also look for included files in `dir`; may be given several times")
	return &dirs
}
