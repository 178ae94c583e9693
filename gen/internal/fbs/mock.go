package fbs

// Mocks of services, for tests: each package with services has one of mocks below it.

import (
	"path"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/gen/internal/gofile"
	"github.com/thrum-rpc/thrum/gen/internal/skeleton"
)

// mockSuffixes are what stands behind the service's name in the names of its mocks: of the
// handler on objects, of that on messages, and of the client's interface.
var mockSuffixes = []string{"", "Handler", "Client"}

// mock is one of the mocks of a service.
type mock struct {
	*service // as the file of the mock sees it
	of       *service
	Suffix   string
	Calls    []mockCall
}

// mockCall is a method of a mock.
type mockCall struct {
	*method                 // as the file of the mock sees it
	Sig                     string
	FuncField, RecordsField string
	suffix                  string
}

// mockFile returns the file of the mocks of u's services.
func (u *unit) mockFile() *unit {
	dir := path.Join(u.pkg.dir, strings.TrimRight(u.pkg.name, "_")+"mock")
	for slices.ContainsFunc(u.packages, func(p *goPackage) bool { return p.dir == dir }) {
		dir += "_"
	}
	out := u.outside(strings.TrimSuffix(u.pkg.importPath, u.pkg.dir) + dir)
	out.pkg.dir, out.pkg.name = dir, path.Base(dir)
	out.pkg.names.Reserve("rpctest", "testing", "tb", "in", "recv", "send")
	out.src, out.name = u.src, u.name
	return out
}

// renderMocks returns the mocks of u's services, or nothing if it has none.
func (u *unit) renderMocks() ([]File, error) {
	if len(u.services) == 0 {
		return nil, nil
	}
	file := u.mockFile()
	var mocks []*mock
	for _, s := range u.services {
		for _, suffix := range mockSuffixes {
			mocks = append(mocks, s.mock(file, suffix))
		}
	}
	content, err := file.execute("mock.tmpl", mocks, comment("Package "+file.pkg.name+" has mocks of the services of package "+u.pkg.name+"."))
	return []File{{Path: file.pkg.dir + "/" + file.name, Content: content}}, err
}

// mock describes a mock of s as file declares it.
func (s *service) mock(file *unit, suffix string) *mock {
	m := &mock{service: &service{unit: file, Service: s.Service}, of: s, Suffix: suffix}
	names := gofile.Scope{}
	names.Reserve("Client", "MessageClient")
	for _, c := range s.Methods {
		names.Reserve(c.Name)
	}
	for _, c := range s.Methods {
		seen := *c
		seen.service = m.service
		call := mockCall{method: &seen, FuncField: names.Add(c.Name + "Func"), RecordsField: names.Add(c.Name + "Calls"), suffix: suffix}
		switch suffix {
		case "":
			call.Sig = seen.HandlerOfObjects()
		case "Handler":
			call.Sig = seen.Handler()
		default:
			call.Sig = seen.Caller()
		}
		m.Calls = append(m.Calls, call)
	}
	return m
}

// Type and Constructor return the names of the mock and of the function that makes it.
func (m *mock) Type() string        { return m.of.mocks[m.Suffix] }
func (m *mock) Constructor() string { return "New" + m.Type() }

// ClientOf and MessageClient return the names of the methods that serve the mock and return
// clients of it.
func (m *mock) ClientOf() string      { return m.method("Client") }
func (m *mock) MessageClient() string { return m.method("MessageClient") }

// method returns a name that no method of the service has.
func (m *mock) method(name string) string {
	names := gofile.Scope{}
	for _, c := range m.of.Methods {
		names.Reserve(c.Name)
	}
	return names.Add(name)
}

// Interface returns what the mock implements.
func (m *mock) Interface() string {
	n := m.of.names
	return m.service.qualified(m.of.unit, map[string]string{"": n.Objects, "Handler": n.Handler, "Client": n.Client}[m.Suffix])
}

// Service returns the function that makes the service of the mock.
func (m *mock) New() string {
	if m.Suffix == "" {
		return m.service.qualified(m.of.unit, m.of.names.NewObjects)
	}
	return m.service.qualified(m.of.unit, m.of.names.New)
}

// Of returns what the service's package calls its clients, and what makes them.
func (m *mock) Of() serviceNames {
	n, in := m.of.names, func(name string) string { return m.service.qualified(m.of.unit, name) }
	return serviceNames{Client: in(n.Client), NewClient: in(n.NewClient), ObjectsClient: in(n.ObjectsClient), NewObjectClient: in(n.NewObjectClient)}
}

// Test imports package rpctest and returns its name, and TB the type of tests.
func (m *mock) Test() string { return m.service.Use("github.com/thrum-rpc/thrum/rpc/rpctest") }
func (m *mock) TB() string   { return m.service.Use("testing") + ".TB" }

// request reports whether the method takes a request beside ctx.
func (c mockCall) request() bool { return c.Kind() == "unary" || c.Kind() == "server" }

// Recorded returns the type of what is recorded of a call, and Record its value.
func (c mockCall) Recorded() string {
	if c.request() {
		return "*" + c.InObject()
	}
	return "struct{}"
}

func (c mockCall) Record() string {
	switch {
	case !c.request():
		return "struct{}{}"
	case c.suffix == "":
		return "req"
	case c.suffix == "Handler":
		return "req.UnPack()"
	}
	return c.service.qualified(c.Req.unit, c.Req.names.GetRoot) + "(req.FinishedBytes(), 0).UnPack()"
}

// Arguments returns what the method passes on.
func (c mockCall) Arguments() string {
	if c.suffix == "Client" {
		if c.request() {
			return "ctx, req"
		}
		return "ctx"
	}
	names := map[string]string{"unary": "ctx, req", "server": "ctx, req, out", "client": "ctx, in", "bidi": "ctx, in, out"}
	if c.suffix == "" {
		names = map[string]string{"unary": "ctx, req", "server": "ctx, req, send", "client": "ctx, recv", "bidi": "ctx, recv, send"}
	}
	return names[c.Kind()]
}

// Zero returns what stands before the error of a method that fails.
func (c mockCall) Zero() string {
	if c.suffix == "Client" || c.Kind() == "unary" || c.Kind() == "client" {
		return "nil, "
	}
	return ""
}

// mockSkeleton names what the project's test of the service's mock uses.
func (s *service) mockSkeleton(out *skeleton.Service, outside *unit) {
	m := s.mock(s.unit.mockFile(), "")
	out.NewMock, out.ClientOf = outside.qualified(m.service.unit, m.Constructor()), m.ClientOf()
	for i, c := range m.Calls {
		method := out.Methods[i]
		method.MockFunc, method.MockCalls = c.FuncField, c.RecordsField
		if reply, ok := outside.sample(c.Rep, 0); ok && c.Kind() == "unary" {
			seen := *s.Methods[i]
			seen.service = &service{unit: outside, Service: s.Service}
			method.Mock = "func" + seen.HandlerOfObjects() + " {\nreturn " + reply + ", nil\n}"
		}
	}
}
