package main

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
)

// This file is "thrum version".

func versionCommand() *command {
	return &command{
		name: "version", summary: "print the version",
		setup: func(*flag.FlagSet) func(*environment, []string) error { return printVersion },
	}
}

func printVersion(env *environment, args []string) error {
	if len(args) > 0 {
		return usageError("version takes no arguments")
	}
	version := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	_, err := fmt.Fprintf(env.stdout, "thrum %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
