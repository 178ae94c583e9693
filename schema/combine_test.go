package schema_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

func service(name string, extends *schema.Service, methods ...string) *schema.Service {
	s := schema.NewService(schema.DeclSpec{Name: name})
	var list []*schema.Method
	for _, m := range methods {
		list = append(list, schema.NewMethod(schema.MethodSpec{DeclSpec: schema.DeclSpec{Name: m}, Args: schema.NewStruct(schema.DeclSpec{}, schema.PlainStruct)}))
	}
	s.Complete(extends, list)
	return s
}

func TestCombinedServicesHaveAllMethodsOnce(t *testing.T) {
	base := service("Base", nil, "ping")
	a, b := service("A", base, "a"), service("B", base, "b")
	all, err := schema.CombineServices(schema.DeclSpec{Name: "All"}, a, b)
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, m := range all.Methods() {
		names += m.Name() + " "
		if m.Service() != all || all.Method(m.Name()) != m {
			t.Errorf("%s is of %s", m.Name(), m.Service().Name())
		}
	}
	if names != "ping a b " || a.Method("a").Service() != a || all.Method("a").Args() != a.Method("a").Args() {
		t.Errorf("methods %s", names)
	}
	if _, err := schema.CombineServices(schema.DeclSpec{Name: "All"}, a, service("C", nil, "a")); diag.CodeOf(err) != diag.DuplicateKey {
		t.Errorf("two methods of one name: %v", err)
	}
}
