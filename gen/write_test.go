package gen_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/thrum-rpc/thrum/gen"
)

func TestWriteMakesDirectoriesAndReplacesFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	for _, text := range []string{"one", "two"} {
		if err := gen.Write(dir, []gen.File{{Path: "a/b/c.go", Content: []byte(text)}}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "a", "b", "c.go")); err != nil || string(got) != text {
			t.Errorf("%s, %v", got, err)
		}
	}
}

func TestWriteStaysInItsDirectory(t *testing.T) {
	for _, path := range []string{"../x.go", "/x.go", "a/../../x.go", ""} {
		if err := gen.Write(t.TempDir(), []gen.File{{Path: path}}); err == nil {
			t.Errorf("%q is written", path)
		}
	}
}

func TestNamespacesStayInTheOutput(t *testing.T) {
	files := compiles(t, map[string]string{"main.thrift": "namespace go a.b.C\nstruct S {}"})
	if files[0].Path != "a/b/C/main.go" {
		t.Errorf("path %s", files[0].Path)
	}
}
