package codec

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/thrum-rpc/thrum/internal/lower"
	"github.com/thrum-rpc/thrum/internal/plan"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the goldens")

// TestPlans holds the programs of a few types as text.
func TestPlans(t *testing.T) {
	if ^uint(0)>>63 == 0 {
		t.Skip("the goldens hold the offsets of a 64-bit machine")
	}
	for name, typ := range map[string]reflect.Type{
		"node": reflect.TypeFor[node](), "defaults": reflect.TypeFor[holdsDefaults](), "everything": reflect.TypeFor[everything](),
	} {
		layout, binding, err := layoutOf(typ)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, job := range []plan.Job{plan.Encode, plan.Size, plan.Decode} {
			p, err := lower.Struct(job, layout, len(binding.Slots))
			if err != nil {
				t.Fatal(err)
			}
			text += plan.Format(p) + "\n"
			back, err := plan.Parse(plan.Format(p))
			if err != nil {
				t.Fatal(err)
			}
			if err := back.Verify(); err != nil {
				t.Fatalf("the text form of %s does not verify: %v", name, err)
			}
			if !reflect.DeepEqual(p, back) {
				t.Fatalf("the text form of %s loses something", name)
			}
		}
		file := filepath.Join("testdata", "plan", name+".txt")
		if *rewrite {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != text {
			t.Errorf("%s: got\n%s\nwant\n%s", name, text, want)
		}
	}
}
