package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/idl/protoidl"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
)

// This file loads IDL for the commands that need a schema.

// loadThrift reads path. What is wrong with it is shown on stderr.
func loadThrift(stderr io.Writer, path string, dirs []string) (*schema.File, error) {
	if path == "" {
		return nil, usageError("--idl is missing: it names the .thrift file")
	}
	if isFBS(path) || isProto(path) {
		return nil, foreign(path)
	}
	f, list := thriftidl.Load(path, thriftidl.IncludeDirs(dirs...))
	if list.Err() != nil && !strings.HasSuffix(path, ".thrift") { // it may be no IDL at all
		list = list[:min(len(list), 3)]
	}
	return f, withHint(shown(stderr, list), stderr, path)
}

// withHint returns err and, if IDL of that path was refused for what the path may be to blame
// for, says so on stderr.
func withHint(err error, stderr io.Writer, path string) error {
	if err != errReported {
		return err
	}
	_, statErr := os.Stat(path)
	switch ext := filepath.Ext(path); {
	case errors.Is(statErr, fs.ErrNotExist):
		if near := nearFile(path); near != "" {
			fmt.Fprintf(stderr, "hint: did you mean %s?\n", near)
		}
	case statErr == nil && ext != ".thrift" && !isFBS(path) && !isProto(path):
		fmt.Fprintf(stderr, "hint: %s was read as Thrift IDL, whose files end in .thrift\n", path)
	}
	return err
}

// nearFile returns the file of IDL whose name is nearest to that of a path that is not there,
// or "" if none is near.
func nearFile(path string) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && (strings.HasSuffix(name, ".thrift") || isFBS(name) || isProto(name)) {
			names = append(names, name)
		}
	}
	near := diag.Nearest(filepath.Base(path), names)
	if near == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(path), near)
}

// loadFlat reads schemas of FlatBuffers, in text or binary form; of the latter one
// at a time.
func loadFlat(stderr io.Writer, paths, dirs []string) ([]*schema.File, error) {
	for _, path := range paths {
		if !isFBS(path) {
			return nil, usageError(path + " is no FlatBuffers IDL, as the other files are")
		}
		if !strings.HasSuffix(path, ".bfbs") {
			continue
		}
		if len(paths) > 1 {
			return nil, usageError("binary schemas are read one at a time")
		}
		f, list := loadBinary(path)
		return []*schema.File{f}, withHint(shown(stderr, list), stderr, path)
	}
	files, list := fbsidl.LoadAll(paths, fbsidl.IncludeDirs(dirs...))
	return files, withHint(shown(stderr, list), stderr, paths[0])
}

// foreign is the error of a command that has no use for IDL of another language than Thrift.
func foreign(path string) error {
	language := "FlatBuffers"
	if isProto(path) {
		language = "Protobuf"
	}
	return usageError(path + " is " + language + " IDL, of which this command knows nothing")
}

// shown shows errors of IDL on stderr and returns errReported if there are any.
func shown(stderr io.Writer, list diag.List) error {
	if list.Err() == nil {
		return nil
	}
	if err := list.Render(stderr); err != nil {
		return err
	}
	return errReported
}

// loadAny reads path as the IDL that its extension names.
func loadAny(path string, dirs []string) (*schema.File, diag.List) {
	switch {
	case isProto(path):
		return protoidl.Load(path, protoidl.IncludeDirs(dirs...))
	case strings.HasSuffix(path, ".bfbs"):
		return loadBinary(path)
	case isFBS(path):
		return fbsidl.Load(path, fbsidl.IncludeDirs(dirs...))
	}
	return thriftidl.Load(path, thriftidl.IncludeDirs(dirs...))
}

// loadBinary reads a binary schema of FlatBuffers.
func loadBinary(path string) (*schema.File, diag.List) {
	b, err := os.ReadFile(path)
	if err != nil {
		why := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			why = "there is no such file"
		}
		return nil, diag.List{{Code: "file-unreadable", Span: diag.Span{Source: diag.NewSource(path, nil)}, Message: "cannot read the file: " + why}}
	}
	return fbsidl.DecodeBinary(path, b)
}

// isProto reports whether the name of an IDL file says that it is Protobuf's.
func isProto(path string) bool { return strings.HasSuffix(path, ".proto") }

// isFBS is isProto for FlatBuffers.
func isFBS(path string) bool {
	return strings.HasSuffix(path, ".fbs") || strings.HasSuffix(path, ".bfbs")
}

// methodFlags name the IDL of methods.
type methodFlags struct {
	idl  string
	dirs *listFlag
}

func (f *methodFlags) declare(flags *flag.FlagSet) {
	f.dirs = includeFlag(flags)
	flags.StringVar(&f.idl, "idl", "", "the .thrift `file` that declares the service, or a directory of such files; or a .fbs or .bfbs file")
}

// find finds Service.method.
func (f *methodFlags) find(stderr io.Writer, name string) (*schema.Service, *schema.Method, error) {
	if f.idl == "" {
		return nil, nil, usageError("--idl is missing: it names the .thrift or .fbs file")
	}
	if isFBS(f.idl) {
		files, err := loadFlat(stderr, []string{f.idl}, *f.dirs)
		if err != nil {
			return nil, nil, err
		}
		return findMethod(files[0], name)
	}
	if info, err := os.Stat(f.idl); err == nil && info.IsDir() {
		return findBelow(stderr, f.idl, *f.dirs, name)
	}
	file, err := loadThrift(stderr, f.idl, *f.dirs)
	if err != nil {
		return nil, nil, err
	}
	return findMethod(file, name)
}

// findMethod finds Service.method in f or, where the service is unknown there,
// in the files that it includes.
func findMethod(f *schema.File, name string) (*schema.Service, *schema.Method, error) {
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return nil, nil, noMethod(name, f.WithIncludes())
	}
	service, method := name[:at], name[at+1:]
	s := findService(f, service)
	if s == nil {
		return nil, nil, fmt.Errorf("%s has no service %s%s", f.Path(), service, instead(service, serviceNames(f)))
	}
	m := s.Method(method)
	if m == nil {
		return nil, nil, fmt.Errorf("service %s has no method %s%s", service, method, instead(method, methodNames(s)))
	}
	return s, m, nil
}

// noMethod is the error of a name without a dot; what it can mean in files it says.
func noMethod(name string, files []*schema.File) error {
	var methods []string
	for _, f := range files {
		for _, s := range f.Services() {
			methods = append(methods, methodNames(s)...)
		}
	}
	near := diag.Nearest(name, methods)
	if slices.Contains(methods, name) {
		near = name
	}
	var full []string
	for _, f := range files {
		for _, s := range f.Services() {
			if s.Method(near) != nil {
				full = append(full, s.Name()+"."+near)
			}
		}
	}
	text := fmt.Sprintf("%q is no Service.method", name)
	if len(full) > 0 {
		text += "; did you mean " + strings.Join(full, " or ") + "?"
	}
	return usageError(text)
}

// findBelow finds Service.method in the files of a directory. Where several have
// the service, its file stands before it: v2/shop.thrift:Shop.get.
func findBelow(stderr io.Writer, dir string, dirs []string, name string) (*schema.Service, *schema.Method, error) {
	source, err := idl.Open(idl.Dir(dir, thriftidl.IncludeDirs(dirs...)))
	var list diag.List
	if errors.As(err, &list) {
		return nil, nil, shown(stderr, list)
	}
	if err != nil {
		return nil, nil, err
	}
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return nil, nil, noMethod(name, source.Set().Files())
	}
	s, err := source.Set().Service(name[:at])
	if err != nil {
		return nil, nil, err
	}
	if path := s.File().Path(); isFBS(path) { // which go another way, for which the flag's value decides
		return nil, nil, usageError(fmt.Sprintf("service %s is FlatBuffers', so --idl must name its file: --idl %s", s.Name(), path))
	}
	m := s.Method(name[at+1:])
	if m == nil {
		return nil, nil, fmt.Errorf("service %s has no method %s%s", s.Name(), name[at+1:], known(methodNames(s)))
	}
	return s, m, nil
}

// findService finds a service in f or in what it includes, by its name or full name.
func findService(f *schema.File, name string) *schema.Service {
	for _, file := range f.WithIncludes() {
		if s := file.Service(name); s != nil {
			return s
		}
		for _, s := range file.Services() {
			if s.FullName() == name {
				return s
			}
		}
	}
	return nil
}

// instead says which name was meant or, if that cannot be guessed, which there are.
func instead(name string, names []string) string {
	if near := suggest(name, names); near != "" {
		return near
	}
	return known(names)
}

func known(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; it has " + strings.Join(names, ", ")
}

func serviceNames(f *schema.File) (names []string) {
	for _, s := range f.Services() {
		names = append(names, s.Name())
	}
	return names
}

func methodNames(s *schema.Service) (names []string) {
	for _, m := range s.AllMethods() {
		names = append(names, m.Name())
	}
	return names
}
