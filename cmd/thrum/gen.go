package main

import (
	"flag"
	"fmt"
	"path/filepath"

	"github.com/thrum-rpc/thrum/gen"
)

// This file is "thrum gen".

func genCommand() *command {
	return &command{
		name: "gen", args: "FILE -o DIR [--prefix PATH]",
		summary: "write Go for Thrift IDL",
		help: "Writes a package for the file and one for each file that it includes, below DIR,\n" +
			"in the directories that \"namespace go\" names. PATH is the import path of DIR.",
		setup: func(fs *flag.FlagSet) func(*environment, []string) error {
			dirs := includeFlag(fs)
			out := fs.String("o", "", "write below `dir`")
			prefix := fs.String("prefix", "", "the import `path` of the directory that is written to")
			includes := fs.Bool("includes", true, "also write the included files' packages")
			json := fs.Bool("json", true, "give the fields json tags")
			return func(env *environment, args []string) error {
				if len(args) != 1 || *out == "" {
					return usageError("one file and -o are needed")
				}
				f, err := load(env.stderr, args[0], *dirs)
				if err != nil {
					return err
				}
				files, err := gen.Go(f, gen.ImportPrefix(*prefix), gen.Includes(*includes), gen.JSONTags(*json))
				if err != nil {
					return err
				}
				if err := gen.Write(*out, files); err != nil {
					return err
				}
				for _, g := range files {
					fmt.Fprintln(env.stdout, filepath.Join(*out, filepath.FromSlash(g.Path)))
				}
				return nil
			}
		},
	}
}
