package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/gen"
	"github.com/thrum-rpc/thrum/transcode/flatproto"
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
		{"mocks", false, "write mocks of services for tests, in a package xmock below each package x", gen.Mocks},
		{"services", true, "write the services of .fbs files", gen.Services},
		{"static", false, "write methods that encode and decode in plain Go", gen.Static},
	}
}

func genCommand() *command {
	return &command{
		name: "gen", args: "FILE... -o DIR [--prefix PATH]",
		summary: "write Go for IDL of Thrift or FlatBuffers",
		help: "Writes a package for the file and one for each file that it includes, below DIR,\n" +
			"in the directories that \"namespace go\" names. PATH is the import path of DIR.\n" +
			"What is on by default is turned off by --NAME=false.\n\n" +
			"For .fbs and .bfbs the directories are those that go_package or the namespaces\n" +
			"name, flatc is not needed, and of the options --includes and --services count. With\n" +
			"--proto a .proto file is written for each instead, by which clients of Protobuf call\n" +
			"the services over gRPC and tRPC.",
		examples: []string{
			"thrum gen shop.thrift -o gen --prefix example.org/shop/gen",
			"thrum gen shop.thrift -o gen --static --getters=false",
			"thrum gen monster.fbs -o gen --prefix example.org/game/gen",
			"thrum gen shop.fbs -o proto --proto",
			"thrum gen a.fbs b.fbs -I schemas -o gen --go-package example.org/game/gen/all",
		},
		setup: func(fs *flag.FlagSet) func(*environment, []string) error {
			dirs := includeFlag(fs)
			out := fs.String("o", "", "write below `dir`")
			prefix := fs.String("prefix", "", "the import `path` of the directory that is written to")
			goPackage := fs.String("go-package", "", "the Go `package` of .fbs files that name none")
			proto := fs.Bool("proto", false, "write .proto files for .fbs files, instead of Go")
			switches := genSwitches()
			values := make([]*bool, len(switches))
			for i, s := range switches {
				values[i] = fs.Bool(s.name, s.on, s.usage)
			}
			return func(env *environment, args []string) error {
				if len(args) == 0 || *out == "" {
					return usageError("a file and -o are needed")
				}
				if *proto {
					files, err := protoFiles(env, args, *dirs)
					if err != nil {
						return err
					}
					return writeFiles(env, *out, files)
				}
				opts := []gen.Option{gen.ImportPrefix(*prefix), gen.GoPackage(*goPackage)}
				for i, s := range switches {
					opts = append(opts, s.option(*values[i]))
				}
				return generate(env, args, *dirs, *out, opts)
			}
		},
	}
}

func generate(env *environment, paths, dirs []string, out string, opts []gen.Option) error {
	files, err := generated(env, paths, dirs, opts)
	if list := (diag.List)(nil); errors.As(err, &list) { // what Go cannot express, with its places
		if err := list.Render(env.stderr); err != nil {
			return err
		}
		return errReported
	}
	if err != nil {
		return err
	}
	return writeFiles(env, out, files)
}

// writeFiles writes files below a directory and prints their paths.
func writeFiles(env *environment, out string, files []gen.File) error {
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

// protoFiles returns the .proto files for .fbs files.
func protoFiles(env *environment, paths, dirs []string) ([]gen.File, error) {
	if !isFBS(paths[0]) {
		return nil, usageError("--proto is for .fbs and .bfbs files")
	}
	loaded, err := loadFlat(env.stderr, paths, dirs)
	if err != nil {
		return nil, err
	}
	var files []gen.File
	for i, f := range loaded {
		text, err := flatproto.AppendSchema(nil, f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", paths[i], err)
		}
		name := strings.TrimSuffix(filepath.Base(paths[i]), filepath.Ext(paths[i])) + ".proto"
		if k := slices.IndexFunc(files, func(f gen.File) bool { return f.Path == name }); k >= 0 {
			return nil, usageError(fmt.Sprintf("%s and %s would both be written to %s; write them below different directories", paths[k], paths[i], name))
		}
		files = append(files, gen.File{Path: name, Content: text})
	}
	return files, nil
}

// generated returns the Go for files of one language: one of Thrift, or some of
// FlatBuffers.
func generated(env *environment, paths, dirs []string, opts []gen.Option) ([]gen.File, error) {
	if !isFBS(paths[0]) {
		if len(paths) > 1 {
			return nil, usageError("Thrift IDL is written one file at a time")
		}
		f, err := loadThrift(env.stderr, paths[0], dirs)
		if err != nil {
			return nil, err
		}
		return gen.Go(f, opts...)
	}
	files, err := loadFlat(env.stderr, paths, dirs)
	if err != nil {
		return nil, err
	}
	return gen.FlatBuffers(files, opts...)
}
