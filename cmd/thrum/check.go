package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema/evolution"
)

// This file is "thrum check".

func checkCommand() *command {
	return &command{
		name: "check", args: "FILE|DIR... [--against OLD] [-I dir]",
		summary: "validate Thrift, FlatBuffers and Protobuf IDL and show what is wrong with it",
		help: "Reads the files and what they include; those named .proto are Protobuf, those\n" +
			"named .fbs or .bfbs FlatBuffers. Of a directory it reads all .thrift, .fbs and .proto\n" +
			"files below, with includes searched in the directory, too. What is wrong is shown with\n" +
			"its source line; the exit code is 1 if there is an error, warnings alone leave it at 0.\n" +
			"--against compares FILE to an older form of it: what breaks messages or callers of the\n" +
			"old one is an error, what only changes names and generated code a warning.",
		examples: []string{
			"thrum check shop.thrift parcels.thrift -I include",
			"thrum check idl",
			"thrum check --against v1/shop.fbs v2/shop.fbs",
		},
		setup: func(flags *flag.FlagSet) func(*environment, []string) error {
			dirs := includeFlag(flags)
			against := flags.String("against", "", "compare to this older `file`")
			return func(env *environment, args []string) error {
				if *against != "" {
					return checkAgainst(env, args, *against, *dirs)
				}
				return check(env, args, *dirs)
			}
		},
	}
}

func check(env *environment, files, dirs []string) error {
	if len(files) == 0 {
		return usageError("a file or directory is missing")
	}
	files, dirs, err := expanded(files, dirs)
	if err != nil {
		return err
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
	if err := summary(env, all, count(len(files), "file")+" checked"); err != nil {
		return withHint(err, env.stderr, files[0])
	}
	return nil
}

// expanded returns the files, those below directories in their place, and where includes are
// searched.
func expanded(paths, dirs []string) (files, include []string, err error) {
	include = dirs
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			files = append(files, path)
			continue
		}
		include = append(slices.Clip(include), path)
		n := len(files)
		err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && name != path && strings.HasPrefix(d.Name(), "."):
				return filepath.SkipDir
			case !d.IsDir() && (strings.HasSuffix(name, ".thrift") || strings.HasSuffix(name, ".fbs") || isProto(name)):
				files = append(files, name)
			}
			return nil
		})
		if err == nil && len(files) == n {
			err = fmt.Errorf("no .thrift, .fbs or .proto file below %s", path)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return files, include, nil
}

// checkAgainst compares a file to an older one.
func checkAgainst(env *environment, files []string, old string, dirs []string) error {
	if len(files) != 1 {
		return usageError("--against goes with one file")
	}
	if wireFormat(files[0]) != wireFormat(old) {
		return usageError(files[0] + " and " + old + " are of different languages")
	}
	was, list := loadAny(old, dirs)
	if list.Err() != nil {
		return summary(env, list, old+" checked")
	}
	is, list := loadAny(files[0], dirs)
	if list.Err() == nil {
		list = append(list, evolution.Check(wireFormat(old), was, is)...)
	}
	return summary(env, list, files[0]+" checked against "+old)
}

// wireFormat returns what messages of a file's schema are written in.
func wireFormat(path string) evolution.Format {
	switch {
	case isProto(path):
		return evolution.Protobuf
	case isFBS(path):
		return evolution.FlatBuffers
	}
	return evolution.Thrift
}

// summary shows what was found and how much of it.
func summary(env *environment, all diag.List, what string) error {
	if err := all.Render(env.stdout); err != nil {
		return err
	}
	errors := 0
	for _, d := range all {
		if d.Severity == diag.Error {
			errors++
		}
	}
	fmt.Fprintf(env.stdout, "%s: %s, %s\n", what, count(errors, "error"), count(len(all)-errors, "warning"))
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
