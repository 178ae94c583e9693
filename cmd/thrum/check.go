package main

import (
	"flag"
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
)

// This file is "thrum check".

func checkCommand() *command {
	return &command{
		name: "check", args: "FILE… [-I dir]…",
		summary: "validate Thrift, FlatBuffers and Protobuf IDL and show what is wrong with it",
		help: "Reads the files and what they include; those named .proto are Protobuf, those\n" +
			"named .fbs or .bfbs FlatBuffers. What is wrong is shown with its source line;\n" +
			"the exit code is 1 if there is an error, warnings alone leave it at 0.",
		examples: []string{"thrum check shop.thrift parcels.thrift -I include"},
		setup: func(fs *flag.FlagSet) func(*environment, []string) error {
			dirs := includeFlag(fs)
			return func(env *environment, args []string) error { return check(env, args, *dirs) }
		},
	}
}

func check(env *environment, files, dirs []string) error {
	if len(files) == 0 {
		return usageError("a file is missing")
	}
	// Several files may include the same one, whose findings are shown once.
	seen := make(map[string]bool)
	var all diag.List
	for _, path := range files {
		_, list := loadAny(path, dirs)
		for _, d := range list {
			if key := d.String(); !seen[key] {
				seen[key] = true
				all = append(all, d)
			}
		}
	}
	if err := all.Render(env.stdout); err != nil {
		return err
	}
	errors := 0
	for _, d := range all {
		if d.Severity == diag.Error {
			errors++
		}
	}
	fmt.Fprintf(env.stdout, "%s checked: %s, %s\n", count(len(files), "file"), count(errors, "error"), count(len(all)-errors, "warning"))
	if errors > 0 {
		return errReported
	}
	return nil
}

// count renders n things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
