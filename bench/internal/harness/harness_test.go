package harness

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestRatioLineIsTheOneOfTheContract(t *testing.T) {
	r := Ratio{Case: "codec/unmarshal/small/copy/interp/binary", Peer: "frugal", Ours: 120, Other: 262, Ratio: 262.0 / 120}
	const want = "RATIO codec/unmarshal/small/copy/interp/binary frugal ours=120 peer=262 ratio=2.18"
	if got := r.String(); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	back, ok := ParseRatio(want)
	if !ok || back.Case != r.Case || back.Peer != r.Peer || back.Ours != 120 || back.Other != 262 || back.Ratio != 2.18 {
		t.Errorf("parsed: %+v, %v", back, ok)
	}
	for _, line := range []string{"", "TIME a b ns=1", "RATIO a b ours=x peer=2 ratio=3", want + " more"} {
		if _, ok := ParseRatio(line); ok {
			t.Errorf("parsed %q", line)
		}
	}
}

func TestRatioIsPeerDividedByOurs(t *testing.T) {
	g := Group{Work: "w", Shape: "s", Parallel: true, Pairs: []Pair{{"copy", "p", "peer"}}}
	got := g.Ratios("suite", []Result{{Name: "copy", NS: 50}, {Name: "p", NS: 100}})
	if len(got) != 1 || got[0].Ratio != 2 || got[0].Case != "suite/w/s/copy/parallel" || got[0].Peer != "peer" {
		t.Errorf("%+v", got)
	}
}

// group counts the operations of two contestants.
func group(counts map[string]int) Group {
	contestant := func(name string) Contestant {
		return Contestant{Name: name, New: func() (Worker, error) {
			return func(n int) error {
				counts[name] += n
				time.Sleep(time.Microsecond)
				return nil
			}, nil
		}}
	}
	return Group{
		Work: "w", Shape: "s", Bytes: 10,
		Contestants: []Contestant{contestant("ours"), contestant("a"), contestant("b")},
		Pairs:       []Pair{{"ours", "a", "a"}, {"ours", "b", "b"}},
	}
}

func TestEveryContestantHasASamplePerRound(t *testing.T) {
	g := group(map[string]int{})
	results, err := g.Measure(Timing{Rounds: 4, Slice: 50 * time.Microsecond, Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if len(r.Samples) != 4 || r.NS <= 0 || r.Memory == nil {
			t.Errorf("%+v", r)
		}
	}
}

func TestSelectionRunsOnlyWhatTheRatioNeeds(t *testing.T) {
	counts := map[string]int{}
	s := Suite{Name: "suite", Groups: func() ([]Group, error) { return []Group{group(counts)}, nil }}
	var out bytes.Buffer
	_, err := s.Run(&out, Options{Timing: Timing{Rounds: 1, Slice: time.Microsecond}, Match: regexp.MustCompile(" b$")})
	if err != nil {
		t.Fatal(err)
	}
	if counts["a"] != 0 || counts["b"] == 0 || counts["ours"] == 0 {
		t.Errorf("operations: %v", counts)
	}
	if strings.Count(out.String(), "RATIO ") != 1 {
		t.Errorf("printed:\n%s", out.String())
	}
}

func TestDifferentWorkIsNotTimed(t *testing.T) {
	counts := map[string]int{}
	g := group(counts)
	different := errors.New("different work")
	g.Check = func() error { return different }
	if _, err := g.Measure(Timing{Rounds: 1}); !errors.Is(err, different) {
		t.Errorf("error %v", err)
	}
	if len(counts) != 0 {
		t.Errorf("operations: %v", counts)
	}
}

func TestAFailingContestantEndsTheRun(t *testing.T) {
	broken := errors.New("broken")
	for _, parallel := range []bool{false, true} {
		g := Group{Parallel: parallel, Contestants: []Contestant{{Name: "x", New: func() (Worker, error) {
			return func(int) error { return broken }, nil
		}}}}
		if _, err := g.Measure(Timing{Rounds: 1, Slice: time.Microsecond}); !errors.Is(err, broken) {
			t.Errorf("parallel %v: error %v", parallel, err)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		want    float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := Median(c.samples); got != c.want {
			t.Errorf("Median(%v) = %v", c.samples, got)
		}
	}
}

func TestSingleCasesPrintTheMarksThatTheyMeasured(t *testing.T) {
	s := Suite{
		Name:   "suite",
		Groups: func() ([]Group, error) { return []Group{group(map[string]int{})}, nil },
		Marks: func(r *Report) []Mark {
			return []Mark{{What: "groups", Figure: float64(len(r.Groups)), Bound: 1, Measured: true}, {What: "other"}}
		},
	}
	for match, want := range map[*regexp.Regexp]int{nil: 2, regexp.MustCompile(" b$"): 1} {
		var out bytes.Buffer
		r, err := s.Run(&out, Options{Timing: Timing{Rounds: 1, Slice: time.Microsecond}, Match: match})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(out.String(), "MARK ") != want || len(r.Marks) != want || !strings.Contains(out.String(), "MARK groups: 1 <= 1 met") {
			t.Errorf("printed:\n%s", out.String())
		}
	}
}

func TestAMarkIsMetOnItsOwnSideOfTheBound(t *testing.T) {
	for _, c := range []struct {
		mark Mark
		want string
	}{
		{Mark{"cost", 2, 3, false, true}, "MARK cost: 2 <= 3 met"},
		{Mark{"cost", 4, 3, false, true}, "MARK cost: 4 <= 3 missed"},
		{Mark{"gain", 4, 3, true, true}, "MARK gain: 4 >= 3 met"},
		{Mark{"gain", 2.5, 3, true, true}, "MARK gain: 2.5 >= 3 missed"},
		{Mark{"gain", 0, 3, true, false}, "MARK gain: not measured (>= 3)"},
	} {
		if got := c.mark.String(); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
