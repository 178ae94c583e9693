package interop

// flatc --conform as the oracle for schema/evolution.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestFlatcAgreesOnWhatBreaksOldMessages(t *testing.T) {
	compiler := flatc(t)
	text, err := os.ReadFile("../../schema/evolution/testdata/flatbuffers.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "\n=== ")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		verdict, name, _ := strings.Cut(head, ": ")
		schemas := strings.Split(body, "\n---")
		dir := t.TempDir()
		old, current := filepath.Join(dir, "old.fbs"), filepath.Join(dir, "new.fbs")
		for i, path := range []string{old, current} {
			if err := os.WriteFile(path, []byte(schemas[i]+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(compiler, "--schema", "-b", "-o", dir, "--conform", old, current)
		output, err := cmd.CombinedOutput()
		if want := strings.HasPrefix(verdict, "breaks"); (err != nil) != want {
			t.Errorf("%s: %s: flatc: %s", verdict, name, output)
		}
	}
}
