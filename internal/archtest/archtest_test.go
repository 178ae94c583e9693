package archtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files under testdata")

type check func(*Tree, *Rules) []Violation

var checks = []struct {
	name string
	run  check
}{
	{"every-package-stands-in-a-room", CheckRooms},
	{"imports-run-downwards", CheckImports},
	{"unsafe-is-fenced", CheckUnsafe},
	{"fences-number-their-invariants", CheckInvariants},
	{"assembly-is-fenced", CheckAssembly},
	{"nothing-is-linknamed", CheckLinkname},
	{"nothing-happens-on-import", CheckInit},
	{"no-environment-switches", CheckEnv},
	{"package-variables-do-not-change", CheckVariables},
	{"every-package-says-what-it-is", CheckPackageDoc},
	{"every-public-package-has-an-example", CheckExamples},
	{"every-exported-name-has-a-comment", CheckDocs},
	{"nothing-unfinished-is-committed", CheckText},
	{"files-are-short", CheckLength},
	{"the-licence-is-there", CheckLicense},
}

// TestHouse holds this repository to its rules.
func TestHouse(t *testing.T) {
	tree, err := Load(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if tree.Module != "github.com/thrum-rpc/thrum" || len(tree.Packages) < 3 {
		t.Fatalf("module %s with %d packages: this is not the tree that was meant", tree.Module, len(tree.Packages))
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			for _, v := range c.run(tree, &House) {
				t.Error(v)
			}
		})
	}
}

// fakeRules are the rules of the fake house under testdata.
var fakeRules = Rules{
	Rooms: []Room{
		{"wire", nil},
		{"fence", nil},
		{"gadget", nil},
		{"engine", []string{"wire"}},
		{"codec", []string{"engine", "wire/..."}},
		{"cmd/...", []string{anything}},
	},
	Restricted: map[string][]string{"net": {"cmd/..."}, "reflect": nil},
	Oracles:    []string{"example.org/oracle"},
	Modules:    map[string][]string{"example.org/chosen": {"engine"}},
	Unsafe:     []string{"fence", "wire"},
	Assembly:   []string{"fence"},
	Programs:   []string{"nested/native"},
	Env:        []string{"cmd/..."},
	Variables: []Variable{
		{"codec", "allowed", "shows an allowance"},
		{"codec", "gone", "shows an allowance that has outlived its variable"},
	},
	Long: map[string]string{
		"gadget/allowed.go": "shows an allowance",
		"gadget/gone.go":    "shows an allowance that has outlived its file",
	},
}

// TestRulesFindWhatBreaksThem runs every rule on a fake house that breaks it.
func TestRulesFindWhatBreaksThem(t *testing.T) {
	tree, err := Load(filepath.Join("testdata", "house"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			for _, v := range c.run(tree, &fakeRules) {
				b.WriteString(v.String() + "\n")
			}
			if b.Len() == 0 {
				t.Error("the rule found nothing in a house made to break it")
			}
			golden := filepath.Join("testdata", c.name+".golden")
			if *rewrite {
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if b.String() != string(want) {
				t.Errorf("found:\n%s\nwant:\n%s", b.String(), want)
			}
		})
	}
}

func TestNarrowestRoomDescribesAPackage(t *testing.T) {
	r := Rules{Rooms: []Room{{"a/...", nil}, {"a/b", nil}, {"a/b/...", nil}, {"a/bc", nil}}}
	for dir, want := range map[string]string{
		"a": "a/...", "a/x": "a/...", "a/b": "a/b", "a/b/c": "a/b/...", "a/bc": "a/bc", "a/bcd": "a/...",
	} {
		if got := r.room(dir); got == nil || got.Dir != want {
			t.Errorf("room of %s: got %v, want %s", dir, got, want)
		}
	}
	if got := r.room("b"); got != nil {
		t.Errorf("room of b: got %v, want none", got)
	}
}
