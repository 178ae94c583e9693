package main

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file is "thrum convert".

func convertCommand() *command {
	return &command{
		name: "convert", args: "json|thrift --idl FILE --type NAME",
		summary: "convert a value between JSON and Thrift's binary protocol",
		help: "Reads the value from standard input and writes it, converted to what the argument\n" +
			"names, to standard output. NAME is a struct, union or exception of the file, or\n" +
			"include.NAME for one of a file that it includes.",
		setup: func(fs *flag.FlagSet) func(*environment, []string) error {
			dirs := includeFlag(fs)
			idl := fs.String("idl", "", "the .thrift `file` that declares the type")
			name := fs.String("type", "", "the `name` of the type")
			return func(env *environment, args []string) error {
				if len(args) != 1 || args[0] != "json" && args[0] != "thrift" {
					return usageError("one argument is needed, json or thrift")
				}
				f, err := load(env.stderr, *idl, *dirs)
				if err != nil {
					return err
				}
				return convert(env, f, *name, args[0])
			}
		},
	}
}

func convert(env *environment, f *schema.File, name, to string) error {
	def := findStruct(f, name)
	if def == nil {
		return fmt.Errorf("%s has no struct %s", f.Path(), name)
	}
	conv, err := transcode.New(def, transcode.NonFinite(transcode.NonFiniteStrings))
	if err != nil {
		return err
	}
	in, err := io.ReadAll(env.stdin)
	if err != nil {
		return err
	}
	var out []byte
	if to == "thrift" {
		out, err = conv.AppendThrift(nil, in)
	} else {
		var n int
		out, n, err = conv.AppendJSON(nil, in)
		out = append(out, '\n')
		if err == nil && n < len(in) {
			err = fmt.Errorf("%s follow the value", count(len(in)-n, "byte"))
		}
	}
	if err != nil {
		return err
	}
	_, err = env.stdout.Write(out)
	return err
}

// findStruct finds Name or include.Name.
func findStruct(f *schema.File, name string) *schema.StructDef {
	for _, i := range f.Includes() {
		if rest, ok := strings.CutPrefix(name, i.Alias+"."); ok {
			return i.File.Struct(rest)
		}
	}
	return f.Struct(name)
}
