package gen

// Mocks of services, for tests: each package with services has one of mocks below it.

import (
	"path"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/gen/internal/gofile"
)

// goMock is the mock of a service, in a file of its own package.
type goMock struct {
	*goService
	file  *goFile
	names gofile.Scope // of its fields and methods
	Calls []mockCall
}

// mockCall is a method of a mock.
type mockCall struct {
	goCall
	Mock                    *goMock
	FuncField, RecordsField string
}

// mockFile returns the file of the mocks of f's services.
func (f *goFile) mockFile() *goFile {
	pkg := f.pkg
	dir := path.Join(pkg.dir, strings.TrimRight(pkg.name, "_")+"mock")
	for slices.ContainsFunc(f.generator.packages, func(p *goPackage) bool { return p.dir == dir }) {
		dir += "_"
	}
	alias := pkg.alias + "mock"
	for slices.ContainsFunc(f.generator.packages, func(p *goPackage) bool { return p.alias == alias }) {
		alias += "_"
	}
	out := f.outside(path.Join(f.opts.prefix, dir))
	out.src, out.name = f.src, f.name
	out.pkg.dir, out.pkg.name, out.pkg.alias = dir, path.Base(dir), alias
	return out
}

// renderMocks returns the mocks of f's services, or nothing if it has none.
func (f *goFile) renderMocks() ([]File, error) {
	if len(f.services) == 0 {
		return nil, nil
	}
	file := f.mockFile()
	mocks := make([]*goMock, len(f.services))
	for i, s := range f.services {
		mocks[i] = s.mock(file)
	}
	content, err := file.execute("mock.tmpl", mocks, gofile.Comment("Package "+file.pkg.name+" has mocks of the services of package "+f.pkg.name+"."))
	return []File{{Path: file.pkg.dir + "/" + file.name, Content: content}}, err
}

// mock describes the mock of s as file declares it.
func (s *goService) mock(file *goFile) *goMock {
	m := &goMock{goService: s, file: file, names: gofile.Scope{}}
	for _, c := range s.All() {
		m.names.Reserve(c.Name)
	}
	for _, c := range s.All() {
		m.Calls = append(m.Calls, mockCall{goCall{c.goMethod, file, "", s}, m, m.names.Add(c.Name + "Func"), m.names.Add(c.Name + "Calls")})
	}
	return m
}

// Type and Constructor return the names of the mock and of the function that makes it.
func (m *goMock) Type() string        { return "Mock" + m.goService.Name }
func (m *goMock) Constructor() string { return "NewMock" + m.goService.Name }

// ClientOf returns the name of the method that serves the mock and returns a client of it.
func (m *goMock) ClientOf() string { return m.names.Clone().Add("Client") }

// Of returns a name of the package of the service.
func (m *goMock) Of(name string) string { return m.file.qualified(m.pkg, name) }

// Test imports package rpctest and returns its name, and TB the type of tests.
func (m *goMock) Test() string { return m.file.Use("github.com/thrum-rpc/thrum/rpc/rpctest") }
func (m *goMock) TB() string   { return m.file.Use("testing") + ".TB" }

// FuncType returns the type of the function that answers.
func (c mockCall) FuncType() string { return "func" + strings.TrimPrefix(c.Signature(), c.Name) }

// Recorded returns the type of what is recorded of a call, and Record its value.
func (c mockCall) Recorded() string {
	switch c.Mode {
	case "":
		return c.ArgsType()
	case "Server":
		return "*" + c.RequestType()
	}
	return "struct{}"
}

func (c mockCall) Record() string {
	switch c.Mode {
	case "":
		return c.ArgsValue()
	case "Server":
		return c.ReqName
	}
	return "struct{}{}"
}

// Arguments returns what the method passes on.
func (c mockCall) Arguments() string { return strings.Join(c.arguments(), ", ") }
