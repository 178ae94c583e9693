package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/gen"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
)

// This file is "thrum new".

// thrumModule is the module that projects need.
const thrumModule = "github.com/thrum-rpc/thrum"

// newFlags are the flags of "thrum new".
type newFlags struct {
	fbs, thrift   *listFlag
	dirs, fbsDirs *listFlag
	out, mod      string
	replace       string
	goPackage     string
	stubsOnly     bool
	mocks         bool
	built         bool // whether replace is where this program was built, and not what the user says
}

func newCommand() *command {
	return &command{
		name: "new", args: "FILE... -o DIR [--mod PATH]",
		summary: "start a project: server, client and tests for the services of an IDL file",
		help: "FILE is one .thrift file, or .fbs and .bfbs files, which --thrift and --fbs name, too.\n" +
			"Writes into DIR: main.go, config.go and config.json; a file with a handler and one\n" +
			"with tests for each service; cmd/client; and below stub/ what thrum gen writes.\n" +
			"Run again after the IDL has changed: stub/ and services.go are written anew, all\n" +
			"other files that are there stay as they are.\n\n" +
			"PATH is the module of DIR, whose go.mod is written if there is none; without it DIR\n" +
			"belongs to the module of the go.mod found there or above. A go.mod that is written\n" +
			"takes Thrum from the checkout that this program was built from, if it was; --replace=\n" +
			"takes a release instead. Services of .fbs are served over tRPC and gRPC, several on one\n" +
			"server, to clients that send FlatBuffers, JSON or Protobuf.",
		examples: []string{
			"thrum new greeter.fbs -o greeter --mod example.com/greeter",
			"thrum new shop.thrift -o cmd/shop",
			"thrum new --fbs a.fbs --fbs b.fbs --fbsdir schemas -o out --rpconly",
		},
		setup: func(fs *flag.FlagSet) func(*environment, []string) error {
			f := newFlags{dirs: includeFlag(fs), fbs: new(listFlag), thrift: new(listFlag), fbsDirs: new(listFlag)}
			fs.Var(f.fbs, "fbs", "serve the services of this FlatBuffers `file`; may be given several times")
			fs.Var(f.thrift, "thrift", "serve the services of this Thrift `file`")
			fs.Var(f.fbsDirs, "fbsdir", "the same as -I, for `dir` of .fbs files")
			fs.StringVar(&f.out, "o", "", "write into `dir`")
			fs.StringVar(&f.mod, "mod", "", "the `path` of the module, if not that of a go.mod found")
			fs.StringVar(&f.replace, "replace", "", "take Thrum from the checkout in `dir`, without a network")
			fs.StringVar(&f.goPackage, "go-package", "", "the Go `package` of .fbs files that name none")
			fs.BoolVar(&f.stubsOnly, "rpconly", false, "write generated code only")
			fs.BoolVar(&f.mocks, "mocks", true, "write mocks of the services, and a test that shows their use")
			return func(env *environment, args []string) error {
				for _, path := range args {
					list := f.thrift
					if isFBS(path) {
						list = f.fbs
					} else if isProto(path) {
						return foreign(path)
					}
					*list = append(*list, path)
				}
				f.built = true
				fs.Visit(func(given *flag.Flag) { f.built = f.built && given.Name != "replace" })
				if f.built {
					f.replace = ownCheckout()
				}
				return f.run(env)
			}
		},
	}
}

func (f *newFlags) run(env *environment) error {
	switch {
	case f.out == "":
		return usageError("-o is missing: it names the directory of the project")
	case (len(*f.fbs) == 0) == (len(*f.thrift) == 0):
		return usageError("a .thrift file is needed, or some .fbs files, and not both")
	case len(*f.thrift) > 1:
		return usageError("Thrift IDL is taken one file at a time")
	}
	importPath, module, err := f.module()
	if err != nil {
		return err
	}
	files, err := f.files(env, importPath)
	if list := (diag.List)(nil); errors.As(err, &list) { // what Go cannot express, with its places
		if err := list.Render(env.stderr); err != nil {
			return err
		}
		return errReported
	}
	if err != nil {
		return err
	}
	if len(files) == 0 || !f.stubsOnly && !hasServer(files) {
		return errors.New("the IDL declares no service; thrum gen writes code for its types")
	}
	begun, err := f.write(env, files)
	if err != nil {
		return err
	}
	if module != nil {
		if err := f.writeModule(env, module); err != nil {
			return err
		}
	}
	f.sayNext(env.stdout, begun, module == nil)
	return nil
}

// sayNext says what to do with a project that is begun, and what the go.mod that was there lacks.
func (f *newFlags) sayNext(w io.Writer, begun, found bool) {
	var steps []string
	if found && !f.requires() {
		add := "go get " + thrumModule + "@latest"
		if f.replace != "" {
			add = fmt.Sprintf("go mod edit -require %[1]s@v0.0.0 -replace %[1]s=%[2]s", thrumModule, inShell(f.replace))
		}
		steps = append(steps, "  "+add+" && go mod tidy     # your go.mod does not know Thrum\n")
	}
	if begun {
		steps = append(steps, fmt.Sprintf("  cd %s && go test ./... && go run .\n  cd %[1]s && go run ./cmd/client     # in another terminal\n", inShell(f.out)),
			"Handlers answer with empty values until you write them. Run thrum new again when the IDL has changed.\n")
	}
	if len(steps) > 0 {
		fmt.Fprint(w, "\nNext:\n", strings.Join(steps, ""))
	}
}

// requires reports whether the go.mod that the project belongs to names Thrum, or is Thrum's.
func (f *newFlags) requires() bool {
	dir, err := filepath.Abs(f.out)
	if err != nil {
		return true // what is wrong has been said
	}
	_, root := findModule(dir)
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	return err != nil || strings.Contains(string(text), thrumModule)
}

func hasServer(files []gen.ProjectFile) bool {
	for _, p := range files {
		if p.Path == "main.go" {
			return true
		}
	}
	return false
}

// files returns the project's files but for go.mod.
func (f *newFlags) files(env *environment, importPath string) ([]gen.ProjectFile, error) {
	p := gen.Project{Name: path.Base(importPath), Path: importPath, StubsOnly: f.stubsOnly, Schema: fbsidl.AppendBinary, Handlers: handlersIn(f.out)}
	if len(*f.thrift) > 0 {
		file, err := loadThrift(env.stderr, (*f.thrift)[0], *f.dirs)
		if err != nil {
			return nil, err
		}
		return gen.ThriftProject(file, p, gen.Mocks(f.mocks))
	}
	roots, err := loadFlat(env.stderr, *f.fbs, append(*f.dirs, *f.fbsDirs...))
	if err != nil {
		return nil, err
	}
	files, err := gen.FlatBuffersProject(roots, p, gen.GoPackage(f.goPackage), gen.Mocks(f.mocks))
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, p := range files {
		paths = append(paths, filepath.Join(f.out, filepath.FromSlash(p.Path)))
	}
	return files, spare(pathsRead(*f.fbs, roots), paths...)
}

// checkGenerated refuses to write over a file that thrum has not written.
func (f *newFlags) checkGenerated(files []gen.ProjectFile) error {
	for _, p := range files {
		name := filepath.Join(f.out, filepath.FromSlash(p.Path))
		generated := func(text []byte) bool { return bytes.HasPrefix(text, []byte("// Code generated by thrum ")) }
		if path.Ext(p.Path) == ".bfbs" { // which has no comments
			generated = func(text []byte) bool { return len(text) >= 8 && string(text[4:8]) == "BFBS" }
		}
		if text, err := os.ReadFile(name); err == nil && !p.Keep && !generated(text) {
			return fmt.Errorf("%s is there and not generated: it would be overwritten", name)
		}
	}
	return nil
}

// write writes the files but those that are there and are the user's. It reports whether the
// project was not there before.
func (f *newFlags) write(env *environment, files []gen.ProjectFile) (begun bool, err error) {
	if err := f.checkGenerated(files); err != nil {
		return false, err
	}
	var lacking []string
	for _, p := range files {
		name, done := filepath.Join(f.out, filepath.FromSlash(p.Path)), "wrote"
		_, err := os.Lstat(name)
		if err != nil && p.Keep {
			if path := moved(name, p.Content); path != "" {
				name, err = path, nil
			}
		}
		if err == nil && p.Keep {
			done = "kept "
			lacking = append(lacking, lacks(name, p.Content)...)
		} else if err := gen.Write(f.out, []gen.File{p.File}); err != nil {
			return false, err
		}
		begun = begun || done == "wrote" && p.Path == "main.go"
		if _, err := fmt.Fprintln(env.stdout, done, name); err != nil {
			return false, err
		}
	}
	if len(lacking) > 0 {
		fmt.Fprintf(env.stdout, "\nMethods that your handlers lack, which are answered as unknown:\n  %s\n", strings.Join(lacking, "\n  "))
	}
	return begun, nil
}

// handlerType matches the type of a handler as it is generated, with the service that it is said to serve.
var handlerType = regexp.MustCompile(`(?m)^// (\w+) serves ([\w.]+?)\.(?: .*)?\n(?://.*\n)*type (\w+) struct\b`)

// handlersIn returns the handlers that a project in dir has where they were written, by the services that they serve.
func handlersIn(dir string) map[string]gen.Handler {
	all := make(map[string]gen.Handler)
	paths, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		file := strings.TrimSuffix(filepath.Base(path), ".go")
		m := handlerType.FindSubmatch(text)
		if m != nil && string(m[1]) == string(m[3]) && strings.HasPrefix(file, strings.ToLower(strings.TrimRight(string(m[3]), "_"))) {
			all[string(m[2])] = gen.Handler{Type: string(m[3]), File: file}
		}
	}
	return all
}

// moved returns the file beside name to which its user has moved the handler that a new name would have, or "".
func moved(name string, content []byte) string {
	m := handlerType.FindSubmatch(content)
	if m == nil {
		return ""
	}
	declared := regexp.MustCompile(`(?m)^(type[ \t]+|\t)` + string(m[3]) + `[ \t]+struct\b`)
	paths, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "*.go"))
	for _, path := range paths {
		if text, _ := os.ReadFile(path); declared.Match(text) {
			return path
		}
	}
	return ""
}

// handlerMethod matches a method of a handler as it is generated.
var handlerMethod = regexp.MustCompile(`(?m)^func \(s (\*\w+)\) (\w+)\(.*\{$`)

// lacks returns the methods of a new handler that the package of the user's file name has not.
func lacks(name string, content []byte) (list []string) {
	var all []byte
	paths, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "*.go"))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		all = append(all, text...)
	}
	for _, m := range handlerMethod.FindAllSubmatch(content, -1) {
		have := regexp.MustCompile(`(?m)^func \(\w* ?\*?` + strings.TrimPrefix(string(m[1]), "*") + `\) ` + string(m[2]) + `(Callback|Future)?\(`)
		if !have.Match(all) {
			list = append(list, strings.TrimSuffix(string(m[0]), " {"))
		}
	}
	return list
}

// modulePath matches what the go command takes as the path of a module that it builds, but for
// what reserved matches: the devices of Windows and such, and directories with a meaning of their own.
var (
	modulePath = regexp.MustCompile(`^\w([\w.~+-]*[\w~+-])?(/\w([\w.~+-]*[\w~+-])?)*$`)
	reserved   = regexp.MustCompile(`(^|/)(((?i:con|prn|aux|nul|com[1-9]|lpt[1-9])|[^/.]*~\d+)(\.[^/]*)?|vendor)(/|$)|^cmd(/|$)|^(go|std)$`)
)

// moduleFit reports whether the go command builds a module of that path, beside Thrum's.
func moduleFit(module string) bool {
	if !modulePath.MatchString(module) || reserved.MatchString(module) || module == thrumModule {
		return false
	}
	p, err := build.Default.Import(module, "", build.FindOnly|build.IgnoreVendor)
	return err != nil || !p.Goroot // Go's own packages come before those of a module
}

// special reports whether a character needs quotes, in go.mod and in a shell.
func special(r rune) bool {
	return r < 0x80 && !strings.ContainsRune("/._-+=:,@%", r) && !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
}

// inShell returns a word as it is written in a command for a shell.
func inShell(word string) string {
	if word == "" || strings.ContainsFunc(word, special) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// module returns the import path of the project and, if it is to be a module of
// its own, what its go.mod says.
func (f *newFlags) module() (importPath string, text []byte, err error) {
	dir, err := filepath.Abs(f.out)
	if err != nil {
		return "", nil, err
	}
	found, root := findModule(dir)
	switch {
	case f.mod == "" && found == "":
		return "", nil, usageError("--mod is missing, and there is no go.mod in " + f.out + " or above")
	case f.mod == "" || found == f.mod && root == dir:
		rest, err := filepath.Rel(root, dir)
		return path.Join(found, filepath.ToSlash(rest)), nil, err
	case root == dir:
		return "", nil, usageError("--mod is " + f.mod + ", go.mod in " + f.out + " says " + found)
	}
	if _, err := os.Lstat(filepath.Join(dir, "go.mod")); err == nil { // one that findModule cannot read
		return "", nil, usageError("--mod is " + f.mod + ", and there is a go.mod in " + f.out + " already")
	}
	if !moduleFit(f.mod) {
		return "", nil, usageError(fmt.Sprintf("--mod is %q, which no Go module can be called", f.mod))
	}
	text, err = f.moduleText()
	return f.mod, text, err
}

// findModule returns the module that dir is in, and its directory.
func findModule(dir string) (module, root string) {
	for {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil {
			if module := moduleName(string(text)); module != "" {
				return module, dir
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", ""
		}
		dir = up
	}
}

// moduleName returns the path of the module whose go.mod says text, "" if it says none.
func moduleName(text string) string {
	stated := false
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(strings.NewReplacer("(", " ", ")", " ", `"`, " ", "`", " ").Replace(line))
		if !stated && len(words) > 0 && words[0] == "module" {
			stated, words = true, words[1:]
		}
		if stated && len(words) > 0 { // after the word, or in the block that it begins
			return words[0]
		}
	}
	return ""
}

// ownCheckout returns the checkout that this program was built from, "" if it was built from
// a release or elsewhere.
func ownCheckout() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) { // built with -trimpath
		return ""
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || strings.Contains(filepath.Base(root), "@") || !strings.HasPrefix(string(text), "module "+thrumModule+"\n") {
		return "" // "@" is in the names of Go's module cache
	}
	return root
}

// moduleText returns the text of go.mod.
func (f *newFlags) moduleText() ([]byte, error) {
	head := "module " + f.mod + "\n\n"
	if f.replace == "" {
		version := "latest"
		if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path == thrumModule && strings.HasPrefix(info.Main.Version, "v") && !strings.HasSuffix(info.Main.Version, "+dirty") {
			version = info.Main.Version
		}
		return []byte(head + "go 1.25\n\nrequire " + thrumModule + " " + version + "\n"), nil
	}
	checkout, err := filepath.Abs(f.replace)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("--replace: %w", err)
	}
	_, rest, ok := strings.Cut(string(text), "module "+thrumModule+"\n")
	if !ok {
		return nil, fmt.Errorf("--replace: %s is no checkout of %s", f.replace, thrumModule)
	}
	if strings.ContainsFunc(checkout, special) {
		checkout = strconv.Quote(checkout)
	}
	// The checkout's requirements are the project's, so that no network is needed.
	return []byte(head + strings.TrimLeft(rest, "\n") + "\nrequire " + thrumModule + " v0.0.0\n\nreplace " + thrumModule + " => " + checkout + "\n"), nil
}

// writeModule writes go.mod, and completes it: from the checkout, or by the go
// command from the network.
func (f *newFlags) writeModule(env *environment, text []byte) error {
	files := []gen.File{{Path: "go.mod", Content: text}}
	if f.replace != "" {
		sums, err := os.ReadFile(filepath.Join(f.replace, "go.sum"))
		if err != nil {
			return err
		}
		files = append(files, gen.File{Path: "go.sum", Content: sums})
	}
	if err := gen.Write(f.out, files); err != nil {
		return err
	}
	for _, w := range files {
		if _, err := fmt.Fprintln(env.stdout, "wrote", filepath.Join(f.out, w.Path)); err != nil {
			return err
		}
	}
	if f.built && f.replace != "" {
		fmt.Fprintf(env.stdout, "go.mod takes Thrum from %s, where this program was built; --replace= takes a release\n", f.replace)
	}
	if f.replace != "" {
		return nil
	}
	cmd := exec.CommandContext(env.ctx, "go", "mod", "tidy")
	cmd.Dir, cmd.Stdout, cmd.Stderr = f.out, env.stderr, env.stderr
	if err := cmd.Run(); err != nil { // a go.mod that is there would be taken for the user's
		os.Remove(filepath.Join(f.out, "go.mod"))
		os.Remove(filepath.Join(f.out, "go.sum"))
		return fmt.Errorf("go mod tidy in %s: %w, so go.mod is taken back; run it again with --replace, which takes Thrum from a checkout", f.out, err)
	}
	return nil
}
