package flat_test

// Google's compiler as the other side: it reads what generated code writes, and
// the reverse.

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/thrum-rpc/thrum/gen/internal/golden/flat/golden/kinds"
)

// compiler returns flatc, which internal/interop/setup.sh installs.
func compiler(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "thrum-interop", "flatc", "bin", "flatc")
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("flatc is missing: run internal/interop/setup.sh")
	}
	return path
}

func TestFlatcAndGeneratedCodeReadEachOther(t *testing.T) {
	flatc := compiler(t)
	schema, err := filepath.Abs("../../../testdata/fbs/kinds.fbs")
	if err != nil {
		t.Fatal(err)
	}
	run := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command(flatc, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("flatc %v: %v\n%s", args, err, out)
		}
	}
	full := fullKinds()
	full.Self.DNan = 1 // JSON has no infinity that flatc reads back exactly
	full.Boxed = nil   // flatc ends with an assertion on keys that are structs
	// flatc's JSON knows no vectors of 64 bits.
	full.FarText, full.Far, full.LongInts, full.LongData, full.LongPoints = "", nil, nil, nil, nil
	for name, want := range map[string]*kinds.KindsT{"full": full, "small": {Required: "r", DNan: 1, DText: "x"}} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.bin"), pack(want), 0o666); err != nil {
			t.Fatal(err)
		}
		run(dir, "--json", "--strict-json", "--defaults-json", schema, "--", "a.bin")
		run(dir, "--binary", schema, "a.json")
		back, err := os.ReadFile(filepath.Join(dir, "a.bin"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := kinds.UnmarshalKinds(back)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		// The FlexBuffer travels as JSON, the bytes of the nested buffer are flatc's.
		if want.Flex != nil {
			if v := kinds.GetRootAsKinds(back, 0).FlexFlexRoot().Int(); v != 42 {
				t.Errorf("%s: the FlexBuffer is %d", name, v)
			}
			inner := kinds.GetRootAsKinds(back, 0).NestedNestedRoot().UnPack()
			if *inner != (kinds.StatT{Name: "inner", Count: 1}) {
				t.Errorf("%s: the nested buffer is %+v", name, inner)
			}
		}
		got.Flex, got.Nested = want.Flex, want.Nested
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v\n%+v", name, got, want)
		}
	}
}
