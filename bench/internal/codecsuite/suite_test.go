package codecsuite

import (
	"math"
	"testing"
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
