package interop

// FlatBuffers' own tests of its Go runtime and generated Go, run on ours: another import is all
// that changes.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/gen"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/schema"
)

// goTested are the schemas whose generated code FlatBuffers' tests use, with where their includes are.
var goTested = [][2]string{
	{"monster_test.fbs", "include_test"}, {"optional_scalars.fbs", ""}, {"required_strings.fbs", ""}, {"include_test/order.fbs", "include_test/sub"},
}

func TestGooglesOwnTestsPass(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program")
	}
	root, _ := googleSchemas(t)
	tests := filepath.Join(root, "tests")
	text, err := os.ReadFile(filepath.Join(tests, "go_test.go"))
	if err != nil {
		t.Skip("FlatBuffers' schemas here come without their tests")
	}
	files := module(t, "example.com/google")
	for _, g := range goTested {
		f, list := fbsidl.Load(filepath.Join(tests, g[0]), fbsidl.IncludeDirs(filepath.Join(tests, g[1])))
		if err := list.Err(); err != nil {
			t.Fatal(err)
		}
		out, err := gen.FlatBuffers([]*schema.File{f}, gen.ImportPrefix("example.com/google"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, out...)
	}
	imports := []string{`"github.com/google/flatbuffers/go"`, `"github.com/thrum-rpc/thrum/flatbuf"`}
	for _, p := range []string{"MyGame", "MyGame/Example", "optional_scalars", "required_strings", "order"} {
		imports = append(imports, ` "`+p+`"`, ` "example.com/google/`+p+`"`)
	}
	imports = append(imports, ` "Pizza"`, ` "example.com/google/no_namespace"`) // which flatc names by hand
	files = append(files, gen.File{Path: "own/go_test.go", Content: []byte(strings.NewReplacer(imports...).Replace(string(text)))})
	dir := t.TempDir()
	if err := gen.Write(dir, files); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-mod=mod", "./own", "--cpp_data="+filepath.Join(tests, "monsterdata_test.mon"),
		"--out_data="+filepath.Join(dir, "monsterdata_go_wire.mon"), "--fuzz=true", "--fuzz_fields=4", "--fuzz_objects=2000")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
