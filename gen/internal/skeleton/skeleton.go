// Package skeleton renders the project around generated code: a server with a
// file for each service, a client, tests and configuration. It is told names and
// Go expressions, and knows no schema and no IDL.
package skeleton

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// Project is what all files share.
type Project struct {
	Name     string // of the server
	Path     string // import path of the project's directory
	Messages bool   // whether services are FlatBuffers'
	Mocks    bool   // whether there are mocks, of which tests are to show the use
	Services []*Service
	// Schemas are the paths of the binary schemas by which services of FlatBuffers take JSON and
	// Protobuf; without any they do not.
	Schemas []string
}

// Service is one service. The expressions are Go as the project's packages
// write it.
type Service struct {
	Type  string // of the handler
	File  string // of the handler, without ending
	Full  string // name of the service
	Embed string // type of which the handler inherits what it lacks
	New   string // function that makes the service of a handler
	// NewClient is the function that makes a client, of tests and of the client program.
	NewClient string
	NewMock   string // function that makes the mock, of tests; "" without
	ClientOf  string // method of the mock that returns a client of it
	Methods   []*Method
	// What the expressions import: of the handler's file, and of its test and the client.
	Handler, Client Imports
}

// Method is a method of a service.
type Method struct {
	Name      string
	Doc       string // as lines of Go
	Signature string // without func and receiver
	Body      []string
	Call      string // arguments after ctx, each with a comma before it; "-" for one that cannot be called by itself
	Value     bool   // whether it returns something
	// Stream says how a client gets a stream object by the call: "server", "client" or "bidi"; "" if
	// it gets none. Request is then what to send by it, and Finish, of FlatBuffers, the
	// function that finishes its message.
	Stream, Request, Finish string
	// Each is what the replies are that the call gives to a function, its last argument; "" if it has none.
	Each string
	// Path is what the method is called as, if it is unary and takes an empty JSON object; "" if not.
	Path string
	// Mock is a function for the method's mock, as lines of Go; MockFunc and MockCalls are
	// the mock's fields. "" where the example of a mock cannot have the method.
	Mock                string
	MockFunc, MockCalls string
}

// Step is a method as a client or a test uses it, with what it does with errors and replies.
type Step struct {
	*Method
	Messages   bool
	Fail, Show string
}

// Step returns the method with what is to be done with errors and replies.
func (m *Method) Step(messages bool, fail, show string) Step { return Step{m, messages, fail, show} }

// Imports are import paths with the names that they have.
type Imports map[string]string

// File is a file of the project. Keep says that it is the user's from then on, and is not
// to be overwritten.
type File struct {
	Path    string
	Content []byte
	Keep    bool
}

//go:embed templates/*.tmpl
var templateFiles embed.FS

var templates = template.Must(template.New("").ParseFS(templateFiles, "templates/*.tmpl"))

// Files returns the files, in the order of their paths.
func (p *Project) Files() ([]File, error) {
	base := Imports{p.rpc(): "rpc"}
	files := []struct {
		path, template string
		data           any
		imports        []Imports
		keep           bool
	}{
		{"main.go", "main.tmpl", p, []Imports{std("context", "errors", "flag", "log", "net", "os", "os/signal", "syscall", "time"), base}, true},
		{"config.go", "config.tmpl", p, []Imports{std("encoding/json", "fmt", "os", "time"), base}, true},
		{"services.go", "services.tmpl", p, []Imports{p.schemaImports(), base}, false},
		{"server_test.go", "server_test.tmpl", p, []Imports{p.testImports(), base}, true},
		{"cmd/client/main.go", "client.tmpl", p, append(p.all(func(s *Service) Imports { return s.Client }), std("context", "encoding/json", "flag", "fmt", "io", "log", "os", "time"), base), true},
	}
	out := []File{{Path: "config.json", Content: []byte(config), Keep: true}}
	for _, s := range p.Services {
		one := struct {
			*Project
			*Service
		}{p, s}
		handler, err := render("service.tmpl", one, s.Handler, base)
		if err != nil {
			return nil, err
		}
		test, err := render("service_test.tmpl", one, s.Client, std("context", "io", "testing"), p.bodyImports(), base)
		if err != nil {
			return nil, err
		}
		out = append(out, File{s.File + ".go", handler, true}, File{s.File + "_test.go", test, true})
	}
	for _, f := range files {
		content, err := render(f.template, f.data, f.imports...)
		if err != nil {
			return nil, err
		}
		out = append(out, File{f.path, content, f.keep})
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// config is what a server starts with.
const config = `{
  "listen": "127.0.0.1:8000",
  "timeout": "5s",
  "maxInFlight": 10000,
  "grace": "10s"
}
`

func (p *Project) rpc() string { return "github.com/thrum-rpc/thrum/rpc" }

func (p *Project) testImports() Imports {
	i := std("testing")
	i["github.com/thrum-rpc/thrum/rpc/rpctest"] = "rpctest"
	return i
}

// schemaImports are what reads the schemas.
func (p *Project) schemaImports() Imports {
	i := std("embed", "sync")
	for _, path := range []string{"idl/fbsidl", "rpc/flatgeneric", "rpc/flatrpc", "schema"} {
		i["github.com/thrum-rpc/thrum/"+path] = path[strings.LastIndexByte(path, '/')+1:]
	}
	return i
}

// bodyImports are what calls with JSON need.
func (p *Project) bodyImports() Imports { return Imports{p.rpc() + "/transport": "transport"} }

func (p *Project) all(of func(*Service) Imports) (list []Imports) {
	for _, s := range p.Services {
		list = append(list, of(s))
	}
	return list
}

// Several reports whether the server has more than one service.
func (p *Project) Several() bool { return len(p.Services) > 1 }

// Streams reports whether a client of Thrift must be able to open streams.
func (p *Project) Streams() bool {
	return !p.Messages && slices.ContainsFunc(p.Services, func(s *Service) bool {
		return slices.ContainsFunc(s.Methods, func(m *Method) bool { return m.Stream != "" })
	})
}

// Mocked returns the method that the example of the service's mock calls, or nil.
func (s *Service) Mocked() *Method {
	for _, m := range s.Methods {
		if s.NewMock != "" && m.Mock != "" && m.Call != "-" {
			return m
		}
	}
	return nil
}

// JSON returns the method that the example of a call with JSON calls, or nil.
func (s *Service) JSON() *Method {
	for _, m := range s.Methods {
		if m.Path != "" {
			return m
		}
	}
	return nil
}

// Callable returns the methods that can be called by themselves.
func (s *Service) Callable() (list []*Method) {
	for _, m := range s.Methods {
		if m.Call != "-" {
			list = append(list, m)
		}
	}
	return list
}

// Handler names the handler of a service, and its file without ending.
type Handler struct{ Type, File string }

// Names gives out the names of handlers and their files, each once.
type Names struct {
	taken map[string]bool
	there map[string]Handler
}

// NewNames returns the names for services by their full names. Those that have a handler
// in there keep its names, whatever services come beside them.
func NewNames(services []string, there map[string]Handler) *Names {
	n := &Names{
		taken: map[string]bool{"Server": true, "main": true, "config": true, "services": true, "server": true},
		there: make(map[string]Handler),
	}
	for _, s := range services {
		if h, ok := there[s]; ok && !n.taken[h.Type] && !n.taken[h.File] {
			n.there[s], n.taken[h.Type], n.taken[h.File] = h, true, true
		}
	}
	return n
}

// Add names the handler of a service, and its file.
func (n *Names) Add(service, full string) (typ, file string) {
	if h, ok := n.there[full]; ok {
		return h.Type, h.File
	}
	if service[0] == '_' { // the go tool leaves such files out
		service = "Service" + service
	}
	typ = strings.ToUpper(service[:1]) + service[1:]
	for n.taken[typ] {
		typ += "_"
	}
	file = strings.ToLower(service)
	if strings.ContainsRune(file, '_') { // the go tool reads more into some endings
		file += "_service"
	}
	for n.taken[file] {
		file += "_service"
	}
	n.taken[typ], n.taken[file] = true, true
	return typ, file
}

func std(paths ...string) Imports {
	i := Imports{}
	for _, p := range paths {
		i[p] = path.Base(p)
	}
	return i
}

// render returns a formatted file with those of the imports that it uses.
func render(name string, data any, imports ...Imports) ([]byte, error) {
	var body bytes.Buffer
	if err := templates.ExecuteTemplate(&body, name, data); err != nil {
		return nil, fmt.Errorf("gen: %w", err)
	}
	head, rest, _ := strings.Cut(body.String(), "//imports\n")
	words := qualifiers(rest)
	all := Imports{}
	for _, list := range imports {
		for p, n := range list {
			if words[n] {
				all[p] = n
			}
		}
	}
	src, err := format.Source([]byte(head + all.declaration() + rest))
	if err != nil {
		return nil, fmt.Errorf("gen: %s: the output is not Go, which is a defect of the generator: %w\n%s%s", name, err, head, rest)
	}
	return src, nil
}

// qualifier is a comment, a string, or a name with a dot behind it.
var qualifier = regexp.MustCompile(`//[^\n]*|"(?:[^"\\\n]|\\.)*"|\b(\w+)\.`)

// qualifiers returns the names before dots in Go code, its comments and strings left out.
func qualifiers(code string) map[string]bool {
	words := make(map[string]bool)
	for _, m := range qualifier.FindAllStringSubmatch(code, -1) {
		words[m[1]] = true
	}
	return words
}

// Taken returns the names that the files of a project use and declare, under which nothing
// else is to be imported.
func Taken() []string {
	return strings.Fields(`context errors flag fmt io json log net os rpc rpctest signal transport syscall testing time flatbuf flatrpc
		bodies config declared defaults dial duration init main options readConfig run schemas services show
		addr b c call cancel conn ctx d do done err f grace in l m message method n out path reply req s server stop stream t text v`)
}

// declaration returns the import declaration, the standard library first.
func (i Imports) declaration() string {
	var std, other []string
	for p, n := range i {
		line := strconv.Quote(p)
		if path.Base(p) != n {
			line = n + " " + line
		}
		if strings.Contains(p, ".") {
			other = append(other, line)
		} else {
			std = append(std, line)
		}
	}
	slices.Sort(std)
	slices.Sort(other)
	if len(std) > 0 && len(other) > 0 {
		std = append(std, "")
	}
	return "import (\n" + strings.Join(append(std, other...), "\n") + "\n)\n"
}
