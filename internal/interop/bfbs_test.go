package interop

// Binary schemas: what flatc makes of a schema and what idl/fbsidl makes of it
// say the same, and reading flatc's gives what reading the schema gives.

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// facts prints a table of a FlatBuffer by its schema: every field with its
// value, also if that is the default.
func facts(b []byte, pos int, s *schema.StructDef, indent string) string {
	var out strings.Builder
	for _, f := range s.Fields() {
		if f.Deprecated() {
			continue
		}
		at := flatwire.Field(b, pos, int(f.ID()))
		fmt.Fprintf(&out, "%s%s: %s\n", indent, f.Name(), fact(b, at, f, indent))
	}
	return out.String()
}

func fact(b []byte, at int, f *schema.Field, indent string) string {
	t := f.Type()
	switch {
	case t.Kind() == schema.Struct && at != 0:
		// What is used in several places is named there.
		if target := flatwire.Follow(b, at); t.Struct().Name() == "Object" {
			return string(flatwire.Bytes(b, flatwire.Follow(b, flatwire.Field(b, target, 0))))
		} else {
			return "\n" + facts(b, target, t.Struct(), indent+"  ")
		}
	case t.Kind() == schema.String && at != 0:
		return fmt.Sprintf("%q", flatwire.Bytes(b, flatwire.Follow(b, at)))
	case t.Kind() == schema.List && at != 0:
		return elements(b, flatwire.Follow(b, at), t.Elem(), f.Name(), indent)
	case at == 0 && f.Default() != nil:
		return fmt.Sprint(f.Default().Int)
	case at == 0:
		return "0"
	}
	switch t.InlineSize() {
	case 1:
		return fmt.Sprint(flatwire.I8(b, at))
	case 2:
		return fmt.Sprint(flatwire.U16(b, at))
	case 4:
		return fmt.Sprint(flatwire.I32(b, at))
	}
	if t.Kind() == schema.Double {
		if v := flatwire.F64(b, at); v != 0 || math.Signbit(v) {
			return fmt.Sprint(v)
		}
		return "0"
	}
	return fmt.Sprint(flatwire.I64(b, at))
}

func elements(b []byte, at int, elem *schema.Type, name, indent string) string {
	start, n := flatwire.Vector(b, at, 4)
	if n == 0 {
		return "0" // flatc writes some empty vectors, and leaves out others
	}
	var out strings.Builder
	for i := range n {
		target := flatwire.Follow(b, start+4*i)
		if elem.Kind() == schema.String {
			text := string(flatwire.Bytes(b, target))
			if name == "documentation" {
				text = strings.TrimPrefix(text, " ")
			}
			fmt.Fprintf(&out, "\n%s  %q", indent, text)
		} else {
			fmt.Fprintf(&out, "\n%s- %s", indent, strings.TrimLeft(facts(b, target, elem.Struct(), indent+"  "), " "))
		}
	}
	return out.String()
}

// reflection is the schema of binary schemas, from FlatBuffers itself.
func reflection(t *testing.T) *schema.StructDef {
	t.Helper()
	root, _ := googleSchemas(t)
	f, list := fbsidl.Load(filepath.Join(root, "reflection", "reflection.fbs"))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return f.Root()
}

// theirs compiles a schema and returns its binary form, or nil if flatc refuses it.
func theirs(t *testing.T, compiler, path string, args ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	if _, ok := compile(compiler, dir, append(args, path)...); !ok {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), ".fbs")+".bfbs"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// agree holds the binary form of a schema to flatc's.
func agree(t *testing.T, root *schema.StructDef, path string, file *schema.File, flatcs []byte) {
	t.Helper()
	ours, err := fbsidl.AppendBinary(nil, file)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	got, want := facts(ours, flatwire.Root(ours), root, ""), facts(flatcs, flatwire.Root(flatcs), root, "")
	got, want = settled(got), settled(want)
	if got != want {
		t.Errorf("%s: the binary schemas differ: %s", path, firstDifference(got, want))
	}
	back, list := fbsidl.DecodeBinary("theirs.bfbs", flatcs)
	if err := list.Err(); err != nil {
		t.Errorf("%s: reading flatc's: %v", path, err)
		return
	}
	again, err := fbsidl.AppendBinary(nil, back)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	// That a string has a default is known from a flag for the whole schema only.
	features := regexp.MustCompile(`advanced_features: \d+`)
	got, want = settled(facts(again, flatwire.Root(again), root, "")), features.ReplaceAllString(want, "")
	if got = features.ReplaceAllString(got, ""); got != want {
		t.Errorf("%s: what was read from flatc's says something else: %s", path, firstDifference(got, want))
	}
}

// settled takes out what is known to differ: the files that include themselves or in a
// circle, which the schema leaves out, and what a ulong beyond the signed
// numbers has as its default, for which flatc writes 0; so do we for enums, with
// the number in an attribute, as that of a string is.
func settled(text string) string {
	if i := strings.Index(text, "\nfbs_files:"); i >= 0 {
		text = text[:i]
	}
	text = regexp.MustCompile(`\n *- key: "thrum_default"\n *value: "[^"\n]*"\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`attributes: \n( *documentation)`).ReplaceAllString(text, "attributes: 0\n$1")
	return regexp.MustCompile(`default_integer: -1\n`).ReplaceAllString(text, "default_integer: 0\n")
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			from := max(0, i-12)
			return fmt.Sprintf("%s\nours   %s\ntheirs %s", strings.Join(a[from:i], "\n"), a[i], b[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(a), len(b))
}

func TestBinarySchemasSayWhatFlatcsSay(t *testing.T) {
	compiler := flatc(t)
	reflected := reflection(t)
	root, paths := googleSchemas(t)
	searched := []string{root, filepath.Join(root, "tests"), filepath.Join(root, "tests", "include_test")}
	var args []string
	for _, d := range searched {
		args = append(args, "-I", d)
	}
	compared := 0
	for _, path := range paths {
		file, list := fbsidl.Load(path, fbsidl.IncludeDirs(searched...))
		b := theirs(t, compiler, path, args...)
		if list.Err() != nil || b == nil {
			continue // which another test compares
		}
		agree(t, reflected, path, file, b)
		compared++
	}
	for _, r := range fbsRules(t) {
		switch {
		case r.verdict != "accept":
			continue
		case r.name == "a number for a bool": // flatc writes the number
			continue
		case r.name == "defaults beyond the signed numbers, of an enum without 0": // flatc loses them: what it writes is refused
			continue
		}
		dir := t.TempDir()
		r.write(t, dir)
		path := filepath.Join(dir, "main.fbs")
		file, list := fbsidl.Load(path)
		if err := list.Err(); err != nil {
			t.Fatal(err)
		}
		agree(t, reflected, r.name, file, theirs(t, compiler, path))
		compared++
	}
	if compared < 150 {
		t.Errorf("only %d schemas compared", compared)
	}
}

func TestFlatcReadsOurBinarySchemas(t *testing.T) {
	compiler := flatc(t)
	dir := t.TempDir()
	for _, r := range fbsRules(t) {
		if r.verdict != "accept" {
			continue
		}
		from := t.TempDir()
		r.write(t, from)
		file, list := fbsidl.Load(filepath.Join(from, "main.fbs"))
		if err := list.Err(); err != nil {
			t.Fatal(err)
		}
		b, err := fbsidl.AppendBinary(nil, file)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "main.bfbs")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		output, ok := compiles(compiler, filepath.Join(dir, "out"), path)
		if ok {
			continue
		}
		// It cannot read its own of vectors of structs with 64-bit lengths.
		if err := os.WriteFile(path, theirs(t, compiler, filepath.Join(from, "main.fbs")), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, own := compiles(compiler, filepath.Join(dir, "out"), path); own {
			t.Errorf("%s: flatc cannot read it: %s", r.name, output)
		}
	}
}

// compiles compiles a binary schema to one again, and to C++, which looks its defaults up.
func compiles(compiler, dir, path string) (output string, ok bool) {
	if output, ok = compile(compiler, dir, path); !ok {
		return output, false
	}
	cpp, err := exec.Command(compiler, "--cpp", "-o", dir, path).CombinedOutput()
	return string(cpp), err == nil
}
