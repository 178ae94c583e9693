package gen_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/gen"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
)

// FuzzGo generates whatever IDL the front end accepts: the output compiles, or
// the error says what Go cannot express.
func FuzzGo(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.thrift")
	if err != nil {
		f.Fatal(err)
	}
	includes := make(map[string][]byte)
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		includes[filepath.Base(p)] = text
		f.Add(text)
	}
	f.Add([]byte(`typedef i64 A (go.type = "0.A")`))
	f.Add([]byte("struct S { 1: optional i32 ref }"))
	f.Add([]byte("namespace go a\nconst double d = -0.0\nconst map<bool, set<double>> m = {true: [1, 1.0], true: []}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		sources := map[string][]byte{"main.thrift": text}
		for name, text := range includes {
			sources[name] = text
		}
		file, list := thriftidl.Load("main.thrift", thriftidl.Sources(sources), thriftidl.MemoryOnly())
		if list.Err() != nil {
			return
		}
		for _, opts := range everyOption {
			files, err := gen.Go(file, append([]gen.Option{gen.ImportPrefix(compilePrefix)}, opts...)...)
			if err != nil {
				if _, ok := err.(diag.List); !ok {
					t.Fatal(err)
				}
				continue
			}
			h := newHouse(files)
			for p := range h.source {
				// A go.type names what the program has, which a fuzzer's has not.
				if _, err := h.Import(p); err != nil && !bytes.Contains(text, []byte("go.type")) {
					t.Fatalf("%s: %v", p, err)
				}
			}
		}
	})
}
