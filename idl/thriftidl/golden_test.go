package thriftidl_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files in testdata")

// compareGolden compares got with the golden file at path.
func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (run with -rewrite and look at the change)\ngot:\n%s", path, got)
	}
}

func render(t *testing.T, list diag.List) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := list.Render(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func thriftFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.thrift"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	return files
}

func TestDiagnosticsAreRenderedAsTheGoldensShow(t *testing.T) {
	for _, path := range thriftFiles(t, "testdata/diagnostics") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			file, list := thriftidl.Load(filepath.ToSlash(path))
			if (file == nil) != (list.Err() != nil) {
				t.Errorf("file = %v with the error %v", file, list.Err())
			}
			golden := strings.TrimSuffix(path, ".thrift") + ".golden"
			compareGolden(t, golden, render(t, list))
		})
	}
}

// Codes that need generated input, which limits_test.go provides.
var codesTestedElsewhere = map[string]bool{
	"file-unreadable": true, "file-too-large": true, "include-depth": true,
	"nesting-depth": true, "name-too-long": true, "type-too-large": true, "constant-too-large": true, "service-depth": true,
}

func TestEveryCodeStandsInAGolden(t *testing.T) {
	source, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	goldens, err := filepath.Glob("testdata/diagnostics/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, g := range goldens {
		text, err := os.ReadFile(g)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	for _, m := range regexp.MustCompile(`= +"([a-z0-9-]+)"(.*)`).FindAllStringSubmatch(string(source), -1) {
		code, severity := m[1], "error"
		if strings.Contains(m[2], "warning") {
			severity = "warning"
		}
		if codesTestedElsewhere[code] {
			continue
		}
		found := false
		for _, line := range strings.Split(string(all), "\n") {
			if strings.HasSuffix(line, "["+code+"]") {
				found = true
				if !strings.Contains(line, ": "+severity+": ") {
					t.Errorf("codes.go has %s as an %s, but: %s", code, severity, line)
				}
			}
		}
		if !found {
			t.Errorf("no golden holds the code %s", code)
		}
	}
}
