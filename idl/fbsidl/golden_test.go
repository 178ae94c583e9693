package fbsidl_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/idl/fbsidl"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files in testdata")

// compareGolden compares got with the golden file at path.
func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with -rewrite and look at the change)\ngot:\n%s", path, got)
	}
}

func fbsFiles(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.fbs"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	return files
}

func golden(path string) string { return strings.TrimSuffix(path, ".fbs") + ".golden" }

func TestDiagnosticsAreRenderedAsTheGoldensShow(t *testing.T) {
	for _, path := range fbsFiles(t, "testdata/diagnostics") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			file, list := fbsidl.Load(filepath.ToSlash(path))
			if file != nil || list.Err() == nil {
				t.Error("nothing is wrong")
			}
			compareGolden(t, golden(path), render(t, list))
		})
	}
}

func TestTheSchemaIsAsTheGoldensShow(t *testing.T) {
	for _, path := range fbsFiles(t, "testdata/accepted") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			file, list := fbsidl.Load(filepath.ToSlash(path))
			if err := list.Err(); err != nil {
				t.Fatal(render(t, list))
			}
			compareGolden(t, golden(path), dump(file))
		})
	}
}

// Codes that need generated input, which limits_test.go provides, or the disk.
var codesTestedElsewhere = map[string]bool{
	"file-unreadable": true, "file-too-large": true, "include-depth": true, "nesting-depth": true, "name-too-long": true,
	"too-many-fields": true, "binary-schema": true,
}

func TestEveryCodeStandsInARule(t *testing.T) {
	source, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]string{}
	for _, r := range rules(t) {
		if r.code != "" {
			used[r.code] = r.verdict
		}
	}
	for _, m := range regexp.MustCompile(`= +"([a-z0-9-]+)"(.*)`).FindAllStringSubmatch(string(source), -1) {
		code, warning := m[1], strings.Contains(m[2], "warning")
		if codesTestedElsewhere[code] {
			continue
		}
		if verdict := used[code]; verdict == "" || (verdict == "accept" || verdict == "lenient") != warning {
			t.Errorf("no rule has the code %s, or another severity", code)
		}
	}
}
