package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/gen"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/schema"
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
			"name, flatc is not needed, and of the options --includes, --services, --mocks and\n" +
			"--forms count. With --proto a .proto file is written for each instead, by which\n" +
			"clients of Protobuf call the services over gRPC and tRPC. Nothing is written if it\n" +
			"would replace a file that was read.",
		examples: []string{
			"thrum gen shop.thrift -o gen --prefix example.org/shop/gen",
			"thrum gen shop.thrift -o gen --static --getters=false",
			"thrum gen monster.fbs -o gen --prefix example.org/game/gen",
			"thrum gen shop.fbs -o proto --proto",
			"thrum gen shop.fbs -o schemas --bfbs",
			"thrum gen a.fbs b.fbs -I schemas -o gen --go-package example.org/game/gen/all",
		},
		setup: func(fs *flag.FlagSet) func(*environment, []string) error {
			dirs := includeFlag(fs)
			out := fs.String("o", "", "write below `dir`")
			prefix := fs.String("prefix", "", "the import `path` of the directory that is written to")
			goPackage := fs.String("go-package", "", "the Go `package` of .fbs files that name none")
			proto := fs.Bool("proto", false, "write .proto files for .fbs files, instead of Go")
			binary := fs.Bool("bfbs", false, "write binary schemas for .fbs files, as flatc -b --schema does, instead of Go")
			switches := genSwitches()
			values := make([]*bool, len(switches))
			for i, s := range switches {
				values[i] = fs.Bool(s.name, s.on, s.usage)
			}
			return func(env *environment, args []string) error {
				if len(args) == 0 || *out == "" {
					return usageError("a file and -o are needed")
				}
				switch {
				case *prefix != "" && !importPath.MatchString(*prefix):
					return usageError(fmt.Sprintf("--prefix is %q, which no Go package can be below", *prefix))
				case *proto && *binary:
					return usageError("--proto and --bfbs are two ways")
				case *proto:
					files, read, err := converted(env, args, *dirs, "proto", flatproto.AppendSchema)
					return writeFiles(env, *out, files, read, err)
				case *binary:
					files, read, err := converted(env, args, *dirs, "bfbs", fbsidl.AppendBinary)
					return writeFiles(env, *out, files, read, err)
				}
				opts := []gen.Option{gen.ImportPrefix(*prefix), gen.GoPackage(*goPackage)}
				for i, s := range switches {
					opts = append(opts, s.option(*values[i]))
				}
				files, read, err := generated(env, args, *dirs, opts)
				return writeFiles(env, *out, files, read, err)
			}
		},
	}
}

// importPath matches what may stand in an import declaration.
var importPath = regexp.MustCompile(`^/*[\w.~+-]+(/[\w.~+-]+)*/*$`)

// writeFiles writes files below a directory and prints their paths, or shows why there are none. It
// writes nothing if one of them would replace a file that was read.
func writeFiles(env *environment, out string, files []gen.File, read []string, err error) error {
	if list := (diag.List)(nil); errors.As(err, &list) { // what cannot be said, with its places
		return shown(env.stderr, list)
	}
	if err != nil {
		return err
	}
	var paths []string
	for _, g := range files {
		paths = append(paths, filepath.Join(out, filepath.FromSlash(g.Path)))
	}
	if err := spare(read, paths...); err != nil {
		return fmt.Errorf("%w; write below another directory with -o", err)
	}
	if err := gen.Write(out, files); err != nil {
		return err
	}
	for _, path := range paths {
		if _, err := fmt.Fprintln(env.stdout, path); err != nil {
			return err
		}
	}
	return nil
}

// converted returns what convert makes of each .fbs file, with that ending, and the paths of what was read.
func converted(env *environment, paths, dirs []string, ending string, convert func([]byte, *schema.File) ([]byte, error)) (files []gen.File, read []string, err error) {
	if !isFBS(paths[0]) {
		return nil, nil, usageError("--" + ending + " is for .fbs and .bfbs files")
	}
	loaded, err := loadFlat(env.stderr, paths, dirs)
	if err != nil {
		return nil, nil, err
	}
	for i, f := range loaded {
		text, err := convert(nil, f)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", paths[i], err)
		}
		name := strings.TrimSuffix(filepath.Base(paths[i]), filepath.Ext(paths[i])) + "." + ending
		if k := slices.IndexFunc(files, func(f gen.File) bool { return f.Path == name }); k >= 0 {
			return nil, nil, usageError(fmt.Sprintf("%s and %s would both be written to %s; write them below different directories", paths[k], paths[i], name))
		}
		files = append(files, gen.File{Path: name, Content: text})
	}
	return files, pathsRead(paths, loaded), nil
}

// generated returns the Go for files of one language, one of Thrift or some of FlatBuffers, and the
// paths of what was read.
func generated(env *environment, paths, dirs []string, opts []gen.Option) (files []gen.File, read []string, err error) {
	if isFBS(paths[0]) {
		loaded, err := loadFlat(env.stderr, paths, dirs)
		if err != nil {
			return nil, nil, err
		}
		files, err = gen.FlatBuffers(loaded, opts...)
		return files, pathsRead(paths, loaded), err
	}
	if len(paths) > 1 {
		return nil, nil, usageError("Thrift IDL is written one file at a time")
	}
	f, err := loadThrift(env.stderr, paths[0], dirs)
	if err != nil {
		return nil, nil, err
	}
	files, err = gen.Go(f, opts...)
	return files, pathsRead(paths, []*schema.File{f}), err
}

// pathsRead returns the paths of the files that were read for those that the user named.
func pathsRead(paths []string, loaded []*schema.File) []string {
	for _, f := range loaded {
		for _, included := range f.WithIncludes() {
			paths = append(paths, included.Path())
		}
	}
	return paths
}
