package gen_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/thrum-rpc/thrum/gen"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
)

var rewrite = flag.Bool("rewrite", false, "write the golden packages anew")

// everything is what options.thrift is written with.
var everything = []gen.Option{
	gen.Setters(true), gen.DeepEqual(true), gen.EnumInt32(true), gen.StructValues(true), gen.EnumText(true),
	gen.KeepUnknownFields(true), gen.Pretouch(true),
}

// goldens are the roots whose output lies below internal/, as packages that
// the build of the module compiles and vets and golden_test.go there uses.
var goldens = []struct {
	idl  string
	dir  string // below internal
	opts []gen.Option
}{
	{"types.thrift", "", nil},
	{"names.thrift", "", nil},
	{"options.thrift", "", everything},
	{"types.thrift", "golden/static", []gen.Option{gen.Static(true), gen.DeepEqual(true)}},
	{"options.thrift", "golden/static", append(everything, gen.Static(true))},
	{"forms.thrift", "", []gen.Option{gen.Forms(true), gen.Mocks(true)}},
	{"streams.thrift", "", []gen.Option{gen.Forms(true), gen.Pretouch(true), gen.Mocks(true)}},
}

const goldenPrefix = "github.com/thrum-rpc/thrum/gen/internal/"

func load(t testing.TB, path string) *schema.File {
	t.Helper()
	f, list := thriftidl.Load(path)
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOutputIsTheGoldenPackages(t *testing.T) {
	for _, g := range goldens {
		opts := append([]gen.Option{gen.ImportPrefix(goldenPrefix + g.dir)}, g.opts...)
		files, err := gen.Go(load(t, "testdata/"+g.idl), opts...)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join("internal", g.dir)
		if *rewrite {
			if err := gen.Write(dir, files); err != nil {
				t.Fatal(err)
			}
		}
		compareFiles(t, dir, files)
	}
}

// compareFiles compares generated files with those in dir.
func compareFiles(t *testing.T, dir string, files []gen.File) {
	t.Helper()
	for _, f := range files {
		want, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(f.Content, want) {
			t.Errorf("%s/%s has changed; if that is meant, run go test ./gen -rewrite and look at the difference", dir, f.Path)
		}
	}
}
