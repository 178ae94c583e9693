package dynamic_test

import (
	"math"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
)

func TestStepsOfOtherFormatsLeadNowhereInThrift(t *testing.T) {
	s := structOf("S", field(1<<20, "far", tI32), field(1, "map", schema.MapOf(tI64, tI32)))
	v := dynamic.NewValue(s.Type(), []byte{0})
	for name, step := range map[string]dynamic.Step{"far by number": dynamic.FieldNumber(1 << 20), "far by name": dynamic.Name("far")} {
		if _, err := v.Get(step); diag.CodeOf(err) != diag.Unsupported {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := v.Node.Get(dynamic.FieldNumber(1 << 20)); diag.CodeOf(err) != diag.TypeMismatch {
		t.Error(err)
	}
	if _, err := dynamic.Compile(nil, dynamic.FieldNumber(1<<20)); diag.CodeOf(err) != diag.Unsupported {
		t.Error(err)
	}
	if _, err := v.Get(dynamic.Field(1), dynamic.UintKey(math.MaxUint64)); diag.CodeOf(err) != diag.TypeMismatch {
		t.Error(err)
	}
}

func TestStepsTellWhatTheyAre(t *testing.T) {
	node := dynamic.NodeKey(dynamic.NewI8(7))
	for _, c := range []struct {
		step   dynamic.Step
		kind   dynamic.StepKind
		number int64
		text   string
	}{
		{dynamic.Step{}, dynamic.NoStep, 0, ""},
		{dynamic.Field(7), dynamic.FieldStep, 7, ""}, {dynamic.FieldNumber(-1), dynamic.FieldStep, -1, ""},
		{dynamic.FieldNumber(1 << 20), dynamic.FieldStep, 1 << 20, ""}, {dynamic.Name("a"), dynamic.NameStep, 0, "a"},
		{dynamic.Index(3), dynamic.IndexStep, 3, ""}, {dynamic.Before(3), dynamic.BeforeStep, 3, ""}, {dynamic.End(), dynamic.EndStep, math.MaxInt64, ""},
		{dynamic.Key("k"), dynamic.StringKeyStep, 0, "k"}, {dynamic.IntKey(-3), dynamic.IntKeyStep, -3, ""},
		{dynamic.UintKey(3), dynamic.IntKeyStep, 3, ""}, {dynamic.UintKey(math.MaxUint64), dynamic.UintKeyStep, -1, ""},
		{dynamic.BoolKey(true), dynamic.BoolKeyStep, 1, ""}, {dynamic.DoubleKey(1), dynamic.DoubleKeyStep, 0x3ff << 52, ""},
		{node, dynamic.NodeKeyStep, 3, "\x07"},
	} {
		if c.step.Kind() != c.kind || c.step.Number() != c.number || c.step.Text() != c.text {
			t.Errorf("%s is %d, %d, %q", c.step, c.step.Kind(), c.step.Number(), c.step.Text())
		}
		if c.kind == dynamic.NoStep || c.kind == dynamic.FieldStep && c.number < 0 {
			continue
		}
		again, err := dynamic.ParsePath(c.step.String()[btoi(c.step.String()[0] == '.'):])
		if err != nil || len(again) != 1 || again[0].String() != c.step.String() {
			t.Errorf("%s is read as %v, %v", c.step, again, err)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
