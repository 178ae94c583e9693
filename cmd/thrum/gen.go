package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/gen"
)

// This file is "thrum gen".

// genSwitch is an option of package gen that is on or off.
type genSwitch struct {
	name   string
	on     bool // the default
	usage  string
	option func(bool) gen.Option
}

func genSwitches() []genSwitch {
	return []genSwitch{
		{"includes", true, "also write the included files' packages", gen.Includes},
		{"thrift-tags", true, "give fields thrift tags", gen.ThriftTags},
		{"frugal-tags", true, "give fields frugal tags", gen.FrugalTags},
		{"json-tags", true, "give fields json tags", gen.JSONTags},
		{"getters", true, "write methods GetX and IsSetX for each field X", gen.Getters},
		{"setters", false, "write a method SetX for each field X", gen.Setters},
		{"deep-equal", false, "write a method DeepEqual for each struct", gen.DeepEqual},
		{"enum-int32", false, "make enums int32 instead of int64", gen.EnumInt32},
		{"enum-text", false, "let enums marshal as their names", gen.EnumText},
		{"struct-values", false, "hold structs in containers by value", gen.StructValues},
		{"keep-unknown-fields", false, "let structs keep the fields that they do not know", gen.KeepUnknownFields},
		{"pretouch", false, "write a function PretouchX for each service X, which compiles its codecs ahead", gen.Pretouch},
		{"forms", false, "write what handlers need to serve by callbacks and futures", gen.Forms},
		{"static", false, "write methods that encode and decode in plain Go", gen.Static},
	}
}

func genCommand() *command {
	return &command{
		name: "gen", args: "FILE -o DIR [--prefix PATH]",
		summary: "write Go for Thrift IDL",
		help: "Writes a package for the file and one for each file that it includes, below DIR,\n" +
			"in the directories that \"namespace go\" names. PATH is the import path of DIR.\n" +
			"What is on by default is turned off by --NAME=false.",
		examples: []string{
			"thrum gen shop.thrift -o gen --prefix example.org/shop/gen",
			"thrum gen shop.thrift -o gen --static --getters=false",
		},
		setup: func(fs *flag.FlagSet) func(*environment, []string) error {
			dirs := includeFlag(fs)
			out := fs.String("o", "", "write below `dir`")
			prefix := fs.String("prefix", "", "the import `path` of the directory that is written to")
			switches := genSwitches()
			values := make([]*bool, len(switches))
			for i, s := range switches {
				values[i] = fs.Bool(s.name, s.on, s.usage)
			}
			return func(env *environment, args []string) error {
				if len(args) != 1 || *out == "" {
					return usageError("one file and -o are needed")
				}
				opts := []gen.Option{gen.ImportPrefix(*prefix)}
				for i, s := range switches {
					opts = append(opts, s.option(*values[i]))
				}
				return generate(env, args[0], *dirs, *out, opts)
			}
		},
	}
}

func generate(env *environment, path string, dirs []string, out string, opts []gen.Option) error {
	f, err := loadThrift(env.stderr, path, dirs)
	if err != nil {
		return err
	}
	files, err := gen.Go(f, opts...)
	if list := (diag.List)(nil); errors.As(err, &list) { // what Go cannot express, with its places
		if err := list.Render(env.stderr); err != nil {
			return err
		}
		return errReported
	}
	if err != nil {
		return err
	}
	if err := gen.Write(out, files); err != nil {
		return err
	}
	for _, g := range files {
		if _, err := fmt.Fprintln(env.stdout, filepath.Join(out, filepath.FromSlash(g.Path))); err != nil {
			return err
		}
	}
	return nil
}
