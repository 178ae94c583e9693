package fbsidl_test

import (
	"os"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/schema"
)

// rule is a case of testdata/rules.txt. internal/interop holds flatc to the same.
type rule struct {
	verdict, code, name string
	files               map[string][]byte
}

func rules(t testing.TB) []rule {
	t.Helper()
	text, err := os.ReadFile("testdata/rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, part := range strings.Split(string(text), "\n=== ")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		verdict, name, ok := strings.Cut(head, ": ")
		if !ok {
			t.Fatalf("no verdict: %s", head)
		}
		r := rule{name: name, files: map[string][]byte{}}
		r.verdict, r.code, _ = strings.Cut(verdict, " ")
		for i, file := range strings.Split(body, "\n--- ") {
			path := "main.fbs"
			if i > 0 {
				path, file, _ = strings.Cut(file, "\n")
			}
			r.files[path] = []byte(strings.TrimSuffix(file, "\n") + "\n")
		}
		all = append(all, r)
	}
	if len(all) < 200 {
		t.Fatalf("%d rules only", len(all))
	}
	return all
}

// accepted reports whether the front end accepts the case.
func (r rule) accepted() bool { return r.verdict == "accept" || r.verdict == "lenient" }

func (r rule) load() (*schema.File, diag.List) {
	return fbsidl.Load("main.fbs", fbsidl.Sources(r.files), fbsidl.MemoryOnly())
}

func TestTheRulesHold(t *testing.T) {
	for _, r := range rules(t) {
		file, list := r.load()
		if (file != nil) != r.accepted() || (list.Err() == nil) != r.accepted() {
			t.Errorf("%s: %s\n%s", r.verdict, r.name, render(t, list))
			continue
		}
		severity := diag.Warning
		if !r.accepted() {
			severity = diag.Error
		}
		found := r.code == ""
		for _, d := range list {
			found = found || d.Code == r.code && d.Severity == severity
		}
		if !found {
			t.Errorf("%s: %s: no %s\n%s", r.verdict, r.name, r.code, render(t, list))
		}
		if r.code == "" && len(list) > 0 {
			t.Errorf("%s: %s\n%s", r.verdict, r.name, render(t, list))
		}
	}
}

func render(t testing.TB, list diag.List) string {
	t.Helper()
	var b strings.Builder
	if err := list.Render(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
