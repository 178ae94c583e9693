package codecsuite

import (
	"math"
	"testing"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

func TestValuesHaveTheSizesThatFrugalPublishesFiguresOn(t *testing.T) {
	for name, c := range map[string]struct{ got, want int }{
		"small":  {small().BLength(), 583},
		"medium": {medium().BLength(), 17_518},
		"large":  {large().BLength(), 303_588},
	} {
		if off := math.Abs(float64(c.got)/float64(c.want) - 1); off > 0.02 {
			t.Errorf("%s has %d bytes, not %d", name, c.got, c.want)
		}
	}
}

func TestLimitMeasuresWhatItWrites(t *testing.T) {
	v := large()
	b := make([]byte, treeSize(v))
	if n := putTree(b, v); n != len(b) || n != v.BLength() {
		t.Errorf("size %d, written %d, FastCodec %d", len(b), n, v.BLength())
	}
}

func TestMarksReadTheFiguresThatTheyName(t *testing.T) {
	r := &harness.Report{Groups: []harness.GroupReport{
		{Work: "unmarshal", Shape: "large", Results: []harness.Result{
			{Name: "alias/jit/binary", NS: 10, Memory: &harness.Memory{Allocs: 1, Bytes: 5}},
			{Name: "apache", NS: 100, Memory: &harness.Memory{Allocs: 10, Bytes: 100}},
			{Name: "fastcodec", NS: 25},
		}},
		{Work: "unmarshal", Shape: "large", Parallel: true, Results: []harness.Result{{Name: "alias/jit/binary", NS: 10}, {Name: "apache", NS: 120}}},
	}}
	got := map[string]bool{}
	for _, m := range marks(r) {
		if m.Measured {
			got[m.String()] = true
		}
	}
	for _, want := range []string{
		"MARK unmarshal large, fastcodec ÷ alias/jit/binary: 2.5 >= 3 missed",
		"MARK unmarshal large, apache ÷ alias/jit/binary, parallel: 12 >= 11 met",
		"MARK unmarshal large, allocations of alias ÷ apache: 0.1 <= 0.16 met",
		"MARK unmarshal large, bytes of alias ÷ apache: 0.05 <= 0.1 met",
	} {
		if !got[want] {
			t.Errorf("%q is not among %v", want, got)
		}
	}
	if len(got) != 4 {
		t.Errorf("measured: %v", got)
	}
}
