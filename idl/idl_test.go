package idl_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
)

// patience is how long a test waits for what must happen before it fails.
const patience = 30 * time.Second

// write makes or changes files below dir.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		// In one step, as an editor or a deployment does.
		if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t *testing.T, o idl.Origin, opts ...idl.Option) *idl.Source {
	t.Helper()
	s, err := idl.Open(o, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// methods returns the names of a service's methods.
func methods(t *testing.T, set *idl.Set, service string) string {
	t.Helper()
	s, err := set.Service(service)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, m := range s.AllMethods() {
		all = append(all, m.Name())
	}
	return strings.Join(all, " ")
}

func memory(text string) idl.Origin {
	return idl.Memory(map[string][]byte{"a.thrift": []byte(text)})
}

func TestServicesAreFoundWhereverTheyAre(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"v1/shop.thrift":    `include "common.thrift" service Shop { void one() } service Old {}`,
		"v2/shop.thrift":    `include "common.thrift" service Shop extends common.Base { void two() }`,
		"common.thrift":     `service Base { void ping() }`,
		".hidden/no.thrift": `what`,
		"v1/.no.thrift":     `what`,
		"v1/notes.txt":      `what`,
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, test := range []struct {
		origin        idl.Origin
		service, want string
	}{
		{idl.Dir(dir), "Base", "ping"},
		{idl.Dir(dir), "Old", ""},
		{idl.Dir(dir), "Shop", `idl: service "Shop" is in ` + at("v1/shop.thrift") + ", " + at("v2/shop.thrift")},
		{idl.Dir(dir), "v2/shop.thrift:Shop", "ping two"},
		{idl.Dir(dir), at("v1/shop.thrift") + ":Shop", "one"},
		{idl.Dir(dir), "None", `idl: no service "None"; there are Base, Old, Shop`},
		{idl.File(at("v2/shop.thrift"), thriftidl.IncludeDirs(dir)), "Shop", "ping two"},
		{idl.File(at("v2/shop.thrift"), thriftidl.IncludeDirs(dir)), "Base", "ping"},
		{memory(`service A { void a() }`), "A", "a"},
		{idl.Memory(map[string][]byte{"a.fbs": []byte(`namespace x.y; table T {} rpc_service A { a(T):T; } rpc_service C { c(T):T; }`), "b.thrift": []byte(`service B { void b() }`)}), "A", "a"},
		{idl.Memory(map[string][]byte{"a.fbs": []byte(`namespace x; table T {} rpc_service A { a(T):T; } namespace y; rpc_service A { b(x.T):x.T; }`)}), "y.A", "b"},
		{idl.Memory(map[string][]byte{"a.fbs": []byte(`table T {} rpc_service A { a(T):T; }`), "b.thrift": []byte(`service B { void b() }`)}), "B", "b"},
		{memory(`struct A {}`), "A", `idl: no service "A"; there are none`},
	} {
		if got := methods(t, open(t, test.origin).Set(), test.service); got != test.want {
			t.Errorf("%s: %q instead of %q", test.service, got, test.want)
		}
	}
	if n := len(open(t, idl.Dir(dir)).Set().Files()); n != 3 {
		t.Errorf("%d files", n)
	}
}

func TestIDLThatIsWrongIsAnError(t *testing.T) {
	empty := t.TempDir()
	for name, o := range map[string]idl.Origin{
		"syntax": memory(`service {`), "no file": idl.File(filepath.Join(empty, "a.thrift")),
		"no directory": idl.Dir(filepath.Join(empty, "none")), "empty": idl.Dir(empty),
	} {
		if s, err := idl.Open(o); err == nil || s != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := idl.Open(memory(`service {`))
	var list diag.List
	if !errors.As(err, &list) || list[0].Span.Position().Line != 1 {
		t.Errorf("%#v", err)
	}
	if w := open(t, memory("struct A { string name }")).Set().Warnings(); len(w) == 0 {
		t.Error("a field without an id is no warning")
	}
}

func TestReplacingIsSeenByFollowersAndNothingWrongIs(t *testing.T) {
	s := open(t, memory(`service A { void one() }`))
	var seen []string
	refuse := errors.New("not this one")
	stop, err := s.Follow(func(set *idl.Set) error {
		seen = append(seen, methods(t, set, "A"))
		if len(seen) == 3 {
			return refuse
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Follow(func(*idl.Set) error { return refuse }); err != refuse {
		t.Error("a follower that refuses the first set:", err)
	}
	old := s.Set()
	if err := s.Replace(memory(`service A {`)); err == nil || s.Set() != old {
		t.Error("IDL that is wrong replaced something:", err)
	}
	if err := s.Reload(); err != nil || s.Set() == old {
		t.Error("the old origin is lost:", err)
	}
	if err := s.Replace(memory(`service A { void two() }`)); !errors.Is(err, refuse) || methods(t, s.Set(), "A") != "two" {
		t.Error(err)
	}
	stop()
	if err := s.Replace(memory(`service A { void three() }`)); err != nil {
		t.Error(err)
	}
	if got := strings.Join(seen, ","); got != "one,one,two" {
		t.Errorf("seen: %s", got)
	}
	if methods(t, old, "A") != "one" {
		t.Error("an old set has changed")
	}
}

// watching runs Watch until the test ends and returns what it reports.
func watching(t *testing.T, s *idl.Source) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Watch(ctx, 0)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestChangedFilesAreLoaded(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.thrift": `include "lib/b.thrift" service A extends b.B {}`, "lib/b.thrift": `service B { void one() }`})
	var reports atomic.Int32
	var last atomic.Value
	s := open(t, idl.Dir(dir), idl.Report(func(err error) {
		last.Store(err.Error())
		reports.Add(1)
	}))
	watching(t, s)
	has := func(service, want string) func() bool {
		return func() bool { return methods(t, s.Set(), service) == want }
	}
	write(t, dir, map[string]string{"lib/b.thrift": `service B { void two() }`}) // as long as before
	eventually(t, "an included file is loaded", has("A", "two"))
	write(t, dir, map[string]string{"new/c.thrift": `service C { void c() }`})
	eventually(t, "a new file is loaded", has("C", "c"))
	write(t, dir, map[string]string{"a.thrift": `include "none.thrift"`})
	eventually(t, "an error is reported", func() bool { return reports.Load() == 1 })
	if text := last.Load().(string); !strings.Contains(text, "none.thrift") || !has("A", "two")() {
		t.Errorf("%s; A has %s", text, methods(t, s.Set(), "A"))
	}
	write(t, dir, map[string]string{"none.thrift": `service N { void n() }`})
	eventually(t, "what was missing is loaded", has("N", "n"))
	if err := os.RemoveAll(filepath.Join(dir, "new")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a file is gone", func() bool { return strings.HasPrefix(methods(t, s.Set(), "C"), "idl: no service") })
	// All files at once: removed one by one, those that are left are an IDL too.
	if err := os.Rename(dir, dir+".gone"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an error is reported", func() bool { return reports.Load() > 1 })
	if !has("N", "n")() {
		t.Error("the schema is gone with its files")
	}
}

func TestFilesWithTheSameTextAreNotLoadedAgain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.thrift")
	write(t, dir, map[string]string{"a.thrift": `service A { void one() }`})
	s := open(t, idl.File(path))
	first := s.Set()
	old := time.Now().Add(-time.Hour)
	for range 3 { // with times that are far back, so that they are believed the second time
		old = old.Add(time.Minute)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := idl.Poll(s); err != nil || s.Set() != first {
				t.Fatalf("the same text was loaded again, %v", err)
			}
		}
	}
	write(t, dir, map[string]string{"a.thrift": `service A { void two() }`})
	if err := idl.Poll(s); err != nil || methods(t, s.Set(), "A") != "two" {
		t.Error(err)
	}
}

func TestAFollowersErrorIsReportedOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.thrift": `service A { void one() }`})
	var reports, sets atomic.Int32
	s := open(t, idl.File(filepath.Join(dir, "a.thrift")), idl.Report(func(error) { reports.Add(1) }))
	if _, err := s.Follow(func(*idl.Set) error {
		if sets.Add(1) > 1 {
			return errors.New("refused")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	watching(t, s)
	write(t, dir, map[string]string{"a.thrift": `service A { void two() }`})
	eventually(t, "it is reported", func() bool { return reports.Load() == 1 })
	time.Sleep(20 * time.Millisecond)
	if reports.Load() != 1 || sets.Load() != 2 {
		t.Errorf("%d reports, %d sets", reports.Load(), sets.Load())
	}
}

func TestALinkToAnotherReleaseIsAChange(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"1/a.thrift": `include "b.thrift" service A extends b.B {}`, "1/b.thrift": `service B { void one() }`,
		"2/a.thrift": `include "b.thrift" service A extends b.B {}`, "2/b.thrift": `service B { void two() }`,
	})
	current := filepath.Join(dir, "current")
	link := func(release string) {
		if err := os.Symlink(release, current+".new"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(current+".new", current); err != nil {
			t.Fatal(err)
		}
	}
	link("1")
	sources := map[string]*idl.Source{
		"directory": open(t, idl.Dir(current)), "file": open(t, idl.File(filepath.Join(current, "a.thrift"))),
	}
	link("2")
	for name, s := range sources {
		if err := idl.Poll(s); err != nil || methods(t, s.Set(), "A") != "two" {
			t.Errorf("%s: %v, %v", name, err, methods(t, s.Set(), "A"))
		}
	}
}
