package interop

// FlatBuffers' compiler as the oracle for idl/fbsidl: both accept and refuse the
// same schemas, those that come with FlatBuffers and the rules of our own tests.

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/idl/fbsidl"
)

// flatc returns the compiler.
func flatc(t *testing.T) string {
	t.Helper()
	return need(t, filepath.Join(cache(t), "flatc", "bin", "flatc"), setup)
}

// compile runs the compiler on a schema, with its binary form into dir.
func compile(compiler, dir string, args ...string) (output string, ok bool) {
	cmd := exec.Command(compiler, append([]string{"--schema", "-b", "--bfbs-comments", "--bfbs-builtins", "-o", dir}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// googleSchemas returns the schemas that come with FlatBuffers.
func googleSchemas(t *testing.T) (root string, paths []string) {
	t.Helper()
	root = filepath.Join(cache(t), "schemas")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".fbs") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) < 80 {
		missing := "FlatBuffers' schemas are missing: " + setup
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return root, paths
}

func TestFlatcAgreesOnItsOwnSchemas(t *testing.T) {
	compiler := flatc(t)
	root, paths := googleSchemas(t)
	dir := t.TempDir()
	accepted := 0
	for _, searched := range [][]string{nil, {root, filepath.Join(root, "tests"), filepath.Join(root, "tests", "include_test")}} {
		var args []string
		for _, d := range searched {
			args = append(args, "-I", d)
		}
		for _, path := range paths {
			output, theirs := compile(compiler, dir, append(args, path)...)
			_, list := fbsidl.Load(path, fbsidl.IncludeDirs(searched...))
			if ours := list.Err() == nil; ours != theirs {
				t.Errorf("%s: flatc accepts it: %t, Thrum does: %t\n%s%v", path, theirs, ours, output, list)
			} else if ours {
				accepted++
			}
		}
	}
	if accepted < 140 {
		t.Errorf("only %d accepted", accepted)
	}
}

// fbsRule is a case of the rules of idl/fbsidl.
type fbsRule struct {
	verdict, code, name string
	files               map[string]string
}

func fbsRules(t *testing.T) []fbsRule {
	t.Helper()
	text, err := os.ReadFile("../../idl/fbsidl/testdata/rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []fbsRule
	for _, part := range strings.Split(string(text), "\n=== ")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		verdict, name, _ := strings.Cut(head, ": ")
		verdict, code, _ := strings.Cut(verdict, " ")
		r := fbsRule{verdict: verdict, code: code, name: name, files: map[string]string{}}
		for i, file := range strings.Split(body, "\n--- ") {
			path := "main.fbs"
			if i > 0 {
				path, file, _ = strings.Cut(file, "\n")
			}
			r.files[path] = file
		}
		all = append(all, r)
	}
	return all
}

// write puts the files of a case below dir.
func (r fbsRule) write(t *testing.T, dir string) {
	t.Helper()
	for path, text := range r.files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.TrimSuffix(text, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFlatcAgreesOnTheRules(t *testing.T) {
	compiler := flatc(t)
	for _, r := range fbsRules(t) {
		dir := t.TempDir()
		r.write(t, dir)
		output, theirs := compile(compiler, dir, filepath.Join(dir, "main.fbs"))
		if want := r.verdict == "accept" || r.verdict == "strict"; theirs != want {
			t.Errorf("%s: %s: flatc accepts it: %t\n%s\n%s", r.verdict, r.name, theirs, output, bytes.TrimSpace([]byte(r.files["main.fbs"])))
		}
	}
}
