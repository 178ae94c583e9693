package main

import (
	"encoding/base64"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
)

// This file holds what commands that read values share: their input, the type
// of it, and flags with a choice.

// decodeHex reads pairs of digits with white space or colons anywhere between,
// and with 0x before them.
func decodeHex(text []byte) ([]byte, error) {
	digits := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n:", r) {
			return -1
		}
		return r
	}, string(text))
	b, err := hex.DecodeString(strings.TrimPrefix(digits, "0x"))
	if err != nil {
		return nil, errNoHex
	}
	return b, nil
}

// decodeBase64 reads base64 of either alphabet, with or without padding and
// with white space anywhere.
func decodeBase64(text []byte) ([]byte, error) {
	s := strings.TrimRight(strings.Join(strings.Fields(string(text)), ""), "=")
	s = strings.NewReplacer("-", "+", "_", "/").Replace(s)
	b, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("the input is not base64: %w", err)
	}
	return b, nil
}

// choose returns what the word of a flag stands for.
func choose[T any](name, word string, choices map[string]T) (v T, err error) {
	v, ok := choices[word]
	if !ok {
		words := make([]string, 0, len(choices))
		for w := range choices {
			words = append(words, w)
		}
		slices.Sort(words)
		return v, usageError(fmt.Sprintf("--%s is %q; it can be %s", name, word, strings.Join(words, ", ")))
	}
	return v, nil
}

// colored decides whether to use colours.
func colored(word string, env *environment) (bool, error) {
	return choose("color", word, map[string]bool{
		"always": true, "never": false,
		"auto": isTerminal(env.stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	})
}

// isTerminal reports whether a file or stream is a device that people look at.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// idlFlags name a type of an IDL file.
type idlFlags struct {
	dirs *listFlag
	path string
	name string
}

func (f *idlFlags) declare(fs *flag.FlagSet) {
	f.dirs = includeFlag(fs)
	fs.StringVar(&f.path, "idl", "", "the .thrift, .proto or .fbs `file` that declares the type")
	fs.StringVar(&f.name, "type", "", "the `name` of the type: a struct, message or table, or include.NAME")
}

// load reads the file, whose errors are shown on stderr.
func (f *idlFlags) load(stderr io.Writer) (*schema.File, error) {
	if isFBS(f.path) {
		return nil, foreign(f.path)
	}
	file, list := loadAny(f.path, *f.dirs)
	return file, shown(stderr, list)
}

// find returns the type in the file that load returned.
func (f *idlFlags) find(file *schema.File) (*schema.StructDef, error) {
	def := findStruct(file, f.name)
	if def == nil {
		return nil, fmt.Errorf("%s has no struct %s%s", file.Path(), f.name, suggest(f.name, structNames(file)))
	}
	return def, nil
}

// findTable finds a table of FlatBuffers by its name with or without the
// namespace, in f or in what it includes.
func findTable(f *schema.File, name string) (*schema.StructDef, error) {
	var names []string
	var found []*schema.StructDef
	for _, file := range f.WithIncludes() {
		for _, s := range file.Structs() {
			if s.Flavor() != schema.PlainStruct || s.Fixed() {
				continue
			}
			names = append(names, s.FullName(), s.Name())
			if s.FullName() == name {
				return s, nil
			}
			if s.Name() == name {
				found = append(found, s)
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%s has no table %s%s", f.Path(), name, suggest(name, names))
	case 1:
		return found[0], nil
	default:
		return nil, fmt.Errorf("%s and %s are both called %s: name the namespace, too", found[0].FullName(), found[1].FullName(), name)
	}
}

func structNames(f *schema.File) (names []string) {
	for _, s := range f.Structs() {
		names = append(names, s.Name())
	}
	for _, i := range f.Includes() {
		for _, s := range i.File.Structs() {
			names = append(names, i.Alias+"."+s.Name())
		}
	}
	return names
}
