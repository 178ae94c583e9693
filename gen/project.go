package gen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/gen/internal/fbs"
	"github.com/thrum-rpc/thrum/gen/internal/gofile"
	"github.com/thrum-rpc/thrum/gen/internal/skeleton"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds whole projects: generated code, and what a user goes on with.

// Project says what a project is called.
type Project struct {
	Name string // of the server's program, for its documentation
	Path string // import path of the project's directory
	// StubsOnly leaves out all but generated code.
	StubsOnly bool
	// Schema appends the binary schema of a file of FlatBuffers to dst, as AppendBinary of package
	// fbsidl does. With it the project embeds its schema, and its services take JSON
	// and Protobuf, too.
	Schema func(dst []byte, f *schema.File) ([]byte, error)
	// Handlers are those that the project has already, by the full names of their services, which keep them
	// when a service comes whose handler would be called the same.
	Handlers map[string]Handler
}

// Handler is the type that serves a service in a project, and the file of that type without its ending.
type Handler struct{ Type, File string }

// handlers returns the handlers that are there.
func (p Project) handlers() map[string]skeleton.Handler {
	there := make(map[string]skeleton.Handler)
	for service, h := range p.Handlers {
		there[service] = skeleton.Handler(h)
	}
	return there
}

// ProjectFile is a file of a project.
type ProjectFile struct {
	File
	// Keep says that the file is its user's once it is there, and must not be overwritten.
	Keep bool
}

// stubs is the directory of generated code in a project.
const stubs = "stub"

// ThriftProject returns a project that serves the services of f and, if it
// declares none, fails to. Generated code lies below stub/ and is written with the
// options and [Forms]. The project builds, and its tests pass, as it is: each service has a file with
// a handler, whose methods answer with empty values, and a test. Calls name a service without its
// file: of several with one name f's own is served, or that which is included first.
func ThriftProject(f *schema.File, p Project, opts ...Option) ([]ProjectFile, error) {
	opts = append(opts, ImportPrefix(p.Path+"/"+stubs), Forms(true), func(o *options) { o.project = true })
	files, err := Go(f, opts...)
	if err != nil {
		return nil, err
	}
	g := newGenerator(f, newOptions(opts))
	g.nameAliases(skeleton.Taken()...)
	s := &skeleton.Project{Name: p.Name, Path: p.Path}
	served := make(map[string]*schema.Service)
	for _, file := range f.WithIncludes() {
		for _, service := range file.Services() {
			if served[service.Name()] == nil {
				served[service.Name()] = service
			}
		}
	}
	names := skeleton.NewNames(slices.Collect(maps.Keys(served)), p.handlers())
	for _, gf := range g.files {
		for _, service := range gf.services {
			if served[service.Service.Name()] != service.Service {
				continue
			}
			s.Services = append(s.Services, service.skeleton(p.Path, names))
		}
	}
	return project(s, p, files)
}

// FlatBuffersProject is [ThriftProject] for files of FlatBuffers and all services that they and
// the files that they include declare, which are served over tRPC.
func FlatBuffersProject(files []*schema.File, p Project, opts ...Option) ([]ProjectFile, error) {
	opts = append(opts, ImportPrefix(p.Path+"/"+stubs))
	out, err := FlatBuffers(files, opts...)
	if err != nil {
		return nil, err
	}
	o := newOptions(opts)
	s := &skeleton.Project{Name: p.Name, Path: p.Path, Messages: true}
	s.Services, err = fbs.Skeletons(files, p.Path, p.handlers(), fbs.Options{Prefix: o.prefix, Package: o.goPackage, Includes: o.includes, Services: true, Mocks: o.mocks})
	if err != nil {
		return nil, err
	}
	binary, err := p.schemas(files)
	if err != nil {
		return nil, err
	}
	for _, f := range binary {
		s.Schemas = append(s.Schemas, stubs+"/"+f.Path)
	}
	return project(s, p, append(out, binary...))
}

// schemas returns binary schemas that together have all services of the files and what they include.
func (p Project) schemas(files []*schema.File) (out []File, err error) {
	if p.Schema == nil || p.StubsOnly {
		return nil, nil
	}
	seen := make(map[*schema.File]bool)
	for _, f := range files {
		if !newServices(f, seen) {
			continue
		}
		name := "schema.bfbs"
		if len(out) > 0 {
			name = fmt.Sprintf("schema%d.bfbs", len(out)+1)
		}
		content, err := p.Schema(nil, f)
		if err != nil {
			return nil, err
		}
		out = append(out, File{Path: name, Content: content})
	}
	return out, nil
}

// newServices reports whether f, or a file that it includes, has services and is not in seen, and
// adds them all to seen.
func newServices(f *schema.File, seen map[*schema.File]bool) (found bool) {
	for _, file := range f.WithIncludes() {
		found = found || !seen[file] && len(file.Services()) > 0
		seen[file] = true
	}
	return found
}

// project joins generated code and what is around it.
func project(s *skeleton.Project, p Project, generated []File) (all []ProjectFile, err error) {
	for _, f := range generated {
		all = append(all, ProjectFile{File: File{Path: stubs + "/" + f.Path, Content: f.Content}})
	}
	if p.StubsOnly || len(s.Services) == 0 {
		return all, nil
	}
	files, err := s.Files()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		all = append(all, ProjectFile{File: File{Path: f.Path, Content: f.Content}, Keep: f.Keep})
	}
	return all, nil
}

// outside returns a file of the project, which is none of g's, to ask for types as
// it has to write them.
func (g *generator) outside(path string) *goFile {
	pkg := &goPackage{importPath: path, name: "main", alias: "main", names: gofile.Scope{}, imports: make(map[*goPackage]bool)}
	return &goFile{generator: g, pkg: pkg, imports: imports{}}
}

// skeleton describes the service as the project in path sees it.
func (s *goService) skeleton(path string, names *skeleton.Names) *skeleton.Service {
	handler, client := s.generator.outside(path), s.generator.outside(path)
	out := &skeleton.Service{
		Full:  s.Service.Name(),
		Embed: handler.qualified(s.pkg, s.Unimplemented), New: handler.qualified(s.pkg, s.NewService), NewClient: client.qualified(s.pkg, s.NewClient),
	}
	out.Type, out.File = names.Add(s.Name, s.Service.Name())
	for _, c := range s.All() {
		inHandler, inClient := goCall{c.goMethod, handler, "", s}, goCall{c.goMethod, client, "", s}
		m := &skeleton.Method{Name: c.Name, Doc: gofile.Comment(c.Doc()), Signature: inHandler.Signature()}
		if c.Mode != "" {
			m.Body = inHandler.emptyStream(s.Unimplemented)
			m.Stream = strings.ToLower(c.Mode)
			m.Request, m.Call = inClient.streamArguments()
		} else {
			m.Value = c.Success() != nil
			m.Body = inHandler.emptyAnswer(s.Unimplemented)
			m.Call = inClient.emptyArguments()
			if s.opts.mocks && m.Call != "-" && !c.Oneway() { // a mock may be called after a oneway call returns
				m.Mock = "func" + strings.TrimPrefix(inClient.Signature(), c.Name) + "{\n" + strings.Join(inClient.emptyAnswer(""), "\n") + "\n}"
			}
		}
		out.Methods = append(out.Methods, m)
	}
	if s.opts.mocks {
		s.mockSkeleton(out, client)
	}
	out.Handler, out.Client = skeleton.Imports(handler.imports), skeleton.Imports(client.imports)
	return out
}

// mockSkeleton names what the project's test of the service's mock uses.
func (s *goService) mockSkeleton(out *skeleton.Service, in *goFile) {
	mock := s.mock(s.goFile.mockFile())
	out.NewMock, out.ClientOf = in.qualified(mock.file.pkg, mock.Constructor()), mock.ClientOf()
	for i, c := range mock.Calls {
		out.Methods[i].MockFunc, out.Methods[i].MockCalls = c.FuncField, c.RecordsField
	}
}

// emptyAnswer returns the statements of a method that answers with an empty
// value or, where none can be sent, as unknown.
func (c goCall) emptyAnswer(unimplemented string) []string {
	success := c.Success()
	switch {
	case success == nil:
		return []string{"return nil"}
	case success.valueType().Kind() != schema.Struct:
		return []string{"return r, nil"}
	}
	if value, ok := c.in.sample(success.valueType(), 0); ok {
		return []string{"return " + value + ", nil"}
	}
	return []string{"return s." + unimplemented + "." + c.Name + "(" + strings.Join(c.arguments(), ", ") + ")"}
}

// arguments returns the names of what the method takes.
func (c goCall) arguments() []string {
	args := []string{"ctx"}
	switch {
	case c.Mode == "Server":
		args = append(args, c.ReqName, "stream")
	case c.Mode != "":
		args = append(args, "stream")
	}
	for _, p := range c.Params {
		args = append(args, p.Name)
	}
	return args
}

// emptyStream is emptyAnswer for a method that streams: it answers each request with an
// empty message, or all of them with one.
func (c goCall) emptyStream(unimplemented string) []string {
	reply, ok := c.in.sample(c.Response, 0)
	if !ok {
		return []string{"return s." + unimplemented + "." + c.Name + "(" + strings.Join(c.arguments(), ", ") + ")"}
	}
	if c.Mode == "Server" {
		return []string{"return stream.Send(ctx, " + reply + ")"}
	}
	body := []string{"for {", "if _, err := stream.Recv(ctx); err == " + c.in.Use("io") + ".EOF {"}
	if c.Mode == "Client" {
		return append(body, "return stream.SendAndClose(ctx, "+reply+")", "} else if err != nil {", "return err", "}", "}")
	}
	return append(body, "return nil", "} else if err != nil {", "return err", "}",
		"if err := stream.Send(ctx, "+reply+"); err != nil {", "return err", "}", "}")
}

// streamArguments returns a request to send by a stream, and what emptyArguments does.
func (c goCall) streamArguments() (request, call string) {
	request, ok := c.in.sample(c.Request, 0)
	if _, answered := c.in.sample(c.Response, 0); !ok || !answered {
		return "", "-"
	}
	if c.Mode == "Server" {
		return request, ", " + request
	}
	return request, ""
}

// emptyArguments returns arguments for a call, or "-" if there are none that can
// be sent, or an answer cannot.
func (c goCall) emptyArguments() string {
	var b strings.Builder
	if s := c.Success(); s != nil {
		if _, ok := c.in.sample(s.valueType(), 0); !ok {
			return "-"
		}
	}
	for _, p := range c.Params {
		value, ok := c.in.sample(p.Field.valueType(), 0)
		if !ok {
			return "-"
		}
		b.WriteString(", " + value)
	}
	return b.String()
}

// maxSample bounds the nesting of structs in samples.
const maxSample = 8

// sample returns an expression for the emptiest value of t that can be sent,
// and whether there is one.
func (f *goFile) sample(t *schema.Type, depth int) (string, bool) {
	switch t.Kind() {
	case schema.Struct:
	case schema.Bool:
		return "false", true
	case schema.String:
		return `""`, true
	case schema.UUID:
		return f.goType(t) + "{}", true
	case schema.Binary, schema.List, schema.Set, schema.Map:
		return "nil", true
	default:
		return "0", true
	}
	s := f.generator.structs[t.Struct()]
	if depth == maxSample {
		return "", false
	}
	if s.IsUnion() {
		return f.sampleUnion(s, t, depth)
	}
	var set []string
	for _, field := range s.Fields {
		if field.optional() || field.valueType().Kind() != schema.Struct {
			continue
		}
		value, ok := f.sample(field.valueType(), depth+1)
		if !ok {
			return "", false
		}
		set = append(set, field.Name+": "+value)
	}
	if len(set) == 0 {
		return f.qualified(s.pkg, s.New) + "()", true
	}
	return "&" + f.structType(t) + "{" + strings.Join(set, ", ") + "}", true
}

// sampleUnion is sample for a union with a field that is no pointer to a scalar.
func (f *goFile) sampleUnion(s *goStruct, t *schema.Type, depth int) (string, bool) {
	for _, field := range s.Fields {
		k := field.valueType().Kind()
		if !k.IsContainer() && k != schema.Struct {
			continue
		}
		value := f.goType(field.valueType()) + "{}"
		if k == schema.Struct {
			var ok bool
			if value, ok = f.sample(field.valueType(), depth+1); !ok {
				continue
			}
		}
		return "&" + f.structType(t) + "{" + field.Name + ": " + value + "}", true
	}
	return "", false
}
